// States of threads, numbered as in userspace/analyze/analysis.h and userspace/output/html.h.

export const STATES = [
  { key: "user", name: "running" },
  { key: "kernel", name: "running in the kernel" },
  { key: "runnable", name: "ready, waits for a core" },
  { key: "preempted", name: "preempted" },
  { key: "lock", name: "blocked: lock" },
  { key: "io", name: "blocked: I/O" },
  { key: "fault", name: "blocked: page fault" },
  { key: "gpu", name: "blocked: GPU" },
  { key: "sleep", name: "sleeping" },
  { key: "event", name: "waits for an event" },
  { key: "other", name: "blocked: unknown" },
  { key: "unknown", name: "nothing known" },
  { key: "absent", name: "does not exist" },
] as const;

export const STATE_COUNT = STATES.length;
export const RUNNABLE = 2;
export const PREEMPTED = 3;
export const UNKNOWN = 11;
export const ABSENT = 12;
/** States in which a thread is blocked, by kind. */
export const BLOCKED = [4, 5, 6, 7, 8, 9, 10];

export const CAUSES: Record<string, { name: string; state: number }> = {
  cpu: { name: "more work", state: 0 },
  lock: { name: "lock", state: 4 },
  io: { name: "file I/O", state: 5 },
  fault: { name: "page faults", state: 6 },
  gpu: { name: "GPU", state: 7 },
  sleep: { name: "sleep", state: 8 },
  event: { name: "event", state: 9 },
  run_queue: { name: "waiting for a core", state: 2 },
  preempted: { name: "preempted", state: 3 },
  frequency: { name: "slower clock", state: 10 },
  unknown: { name: "not explained", state: 11 },
};

export function causeName(cause: string): string {
  return Object.hasOwn(CAUSES, cause) ? CAUSES[cause].name : cause;
}

export function causeState(cause: string): number {
  return Object.hasOwn(CAUSES, cause) ? CAUSES[cause].state : UNKNOWN;
}
