// The session as the page holds it: what userspace/output/html*.c wrote, in arrays.
import { loadBlock, type Block } from "./block";
import type { Report, SlowFrame, ThreadRef } from "./report";
import { RUNNABLE, STATE_COUNT, UNKNOWN } from "./states";

export interface Thread extends ThreadRef {
  target: boolean;
}

export const KERNEL = 1;
export const OWN = 2;
export const NAMELESS = 4;
export const SPECIAL = 8;

export interface Func {
  name: string;
  module: string;
  flags: number;
}

/** All frames; times in us since the start of the recording. */
export interface Frames {
  count: number;
  start: Float64Array;
  end: Float64Array;
  active: Float64Array;
  slow: Uint8Array;
  thread: Float64Array;
  /** By state: share of the frame, 0..255; null: no frame has any of it. */
  shares: (Uint8Array | null)[];
}

/** Call tree of all stacks: parents have smaller numbers than their children, 0 is the root. */
export interface Tree {
  count: number;
  parent: Uint32Array;
  func: Uint32Array;
  inlined: Uint8Array;
  /** Node of the innermost stack frame, by stack. */
  leaf: Uint32Array;
}

/** CPU time (state 0) and waiting time by state, thread and stack. */
export interface StackTimes {
  state: Float64Array;
  thread: Float64Array;
  stack: Float64Array;
  ns: Float64Array;
  slowNs: Float64Array;
  count: Float64Array;
}

interface CoreHead {
  report: Report;
  threads: Thread[];
  functions: [name: string, module: number, flags: number][];
  modules: (string | null)[];
}

export interface Pieces {
  /** End of each piece in us, and its state; they begin where the one before ends, the first at `from`. */
  from: number;
  to: number;
  end: Float64Array;
  state: Uint8Array;
  /** Where it waited; -1 of pieces that are no waits. */
  stack: Int32Array;
}

export interface Lane {
  thread: number;
  /** [step][state] shares of a step, 0..levels, by level of detail: each has a quarter of the steps of the one before. */
  levels: Uint8Array[];
  windows: Pieces[];
  queue: Float64Array;
}

export interface Pair {
  state: number;
  thread: number;
  by: number;
  count: number;
  ns: number;
}

export interface Lanes {
  stepUs: number;
  steps: number;
  shareLevels: number;
  lanes: Lane[];
  windowFrom: Float64Array;
  windowTo: Float64Array;
  pairs: Pair[];
  clusters: { maxKhz: number; cpus: number[]; low: Float64Array; high: Float64Array; mean: Float64Array }[];
  counters: { counter: number; index: number; time_us: number[]; value: number[] }[];
}

interface LanesHead {
  step_ns: number;
  levels: number;
  lanes_max: number;
  detail_max: number;
  queue_bins: number;
  cluster_steps: number;
  clusters: { max_khz: number; cpus: number[] }[];
  counters: Lanes["counters"];
}

export interface ThreadSamples {
  thread: number;
  time: Float64Array; // us
  weight: Float64Array; // ns
  stack: Uint32Array;
}

export interface ChainLink {
  from: number; // ns since the start of the frame
  to: number;
  state: number;
  thread: number;
  place: number; // function, -1: not known
  by: number; // thread, -1: nobody or not known
}

export interface LedgerRow {
  thread: number;
  ns: number[];
  usual: number[];
  residual: number;
}

export interface FrameDetail {
  chain: ChainLink[];
  ledger: LedgerRow[];
}

export class Model {
  readonly report: Report;
  /** Of the report; none where the session keeps no single frames. */
  readonly slowFrames: SlowFrame[];
  readonly threads: Thread[];
  readonly functions: Func[];
  readonly frames: Frames;
  readonly tree: Tree;
  readonly times: StackTimes;
  /** Times of which the recording keeps nothing, us. */
  readonly gaps: { from: number; to: number }[];
  /** Length of the recording, us. */
  readonly length: number;
  /** Index into report.slow_frames by frame. */
  readonly slowIndex = new Map<number, number>();

  constructor(core: Block<CoreHead>) {
    this.report = core.head.report;
    this.slowFrames = this.report.slow_frames ?? [];
    this.threads = core.head.threads;
    this.functions = core.head.functions.map(([name, module, flags]) => ({
      name,
      module: core.head.modules[module] ?? "",
      flags,
    }));
    this.frames = readFrames(core);
    this.tree = readTree(core);
    const gapTo = core.column("gap_to");
    this.gaps = Array.from(core.column("gap_from"), (from, i) => ({ from, to: gapTo[i] }));
    this.times = {
      state: core.column("time_state"),
      thread: core.column("time_thread"),
      stack: core.column("time_stack"),
      ns: core.column("time_ns"),
      slowNs: core.column("time_slow_ns"),
      count: core.column("time_count"),
    };
    const last = this.frames.count ? this.frames.end[this.frames.count - 1] : 0;
    this.length = Math.max(1, (this.report.session.duration_ns ?? 0) / 1000, last);
    this.slowFrames.forEach((frame, index) => this.slowIndex.set(frame.index, index));
  }

  /** "recorded", or, where the session's level drops what was recorded, "kept at level N". */
  get kept(): string {
    const level = this.report.session.level ?? 2;
    return level < 2 ? `kept at level ${level}` : "recorded";
  }

  /** The frame at a moment, -1: none. */
  frameAt(us: number): number {
    const { start, end, count } = this.frames;
    let low = 0;
    let high = count;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (end[middle] <= us) low = middle + 1;
      else high = middle;
    }
    return low < count && start[low] <= us ? low : -1;
  }

  /** Exact where the report tells, else rounded to us. */
  frameNs(frame: number): number {
    const slow = this.slowIndex.get(frame);
    return slow === undefined
      ? (this.frames.end[frame] - this.frames.start[frame]) * 1000
      : this.slowFrames[slow].time_ns;
  }

  /** The nearest ordinary frames, as many before as after where there are. */
  ordinaryAround(frame: number, wanted: number): number[] {
    const found: number[] = [];
    let before = frame - 1;
    let after = frame + 1;
    while (found.length < wanted && (before >= 0 || after < this.frames.count)) {
      while (before >= 0 && this.frames.slow[before]) before--;
      if (before >= 0) found.push(before--);
      while (after < this.frames.count && this.frames.slow[after]) after++;
      if (after < this.frames.count && found.length < wanted) found.push(after++);
    }
    return found;
  }
}

function readFrames(core: Block<unknown>): Frames {
  const gap = core.column("frame_gap_us");
  const time = core.column("frame_us");
  const rest = core.column("frame_rest_us");
  const count = time.length;
  const start = new Float64Array(count);
  const end = new Float64Array(count);
  const active = new Float64Array(count);
  let at = 0;
  for (let i = 0; i < count; i++) {
    start[i] = at + gap[i];
    end[i] = start[i] + time[i];
    active[i] = time[i] - rest[i];
    at = end[i];
  }
  const shares = Array.from({ length: STATE_COUNT }, (_, state) => {
    const column = core.bytes(`frame_s${state}`);
    return column.length === count && count ? column : null;
  });
  return { count, start, end, active, slow: core.bytes("frame_slow"), thread: core.column("frame_thread"), shares };
}

function readTree(core: Block<unknown>): Tree {
  const parents = core.column("node_parent");
  const functions = core.column("node_function");
  const count = parents.length + 1;
  const parent = new Uint32Array(count);
  const func = new Uint32Array(count);
  const inlined = new Uint8Array(count);
  for (let i = 1; i < count; i++) {
    parent[i] = parents[i - 1];
    func[i] = Math.floor(functions[i - 1] / 2);
    inlined[i] = functions[i - 1] % 2;
  }
  return { count, parent, func, inlined, leaf: Uint32Array.from(core.column("stack_node")) };
}

// ---- lanes ----

/** Shares of a quarter of the steps: means, but never nothing for what was there. */
function coarser(fine: Uint8Array): Uint8Array {
  const steps = fine.length / STATE_COUNT;
  const count = Math.ceil(steps / 4);
  const out = new Uint8Array(count * STATE_COUNT);
  for (let step = 0; step < count; step++) {
    const parts = Math.min(4, steps - step * 4);
    for (let state = 0; state < STATE_COUNT; state++) {
      let sum = 0;
      for (let k = 0; k < parts; k++) sum += fine[(step * 4 + k) * STATE_COUNT + state];
      out[step * STATE_COUNT + state] = sum > 0 ? Math.max(1, Math.round(sum / parts)) : 0;
    }
  }
  return out;
}

function readLevels(bytes: Uint8Array, steps: number): Uint8Array[] {
  const fine = new Uint8Array(steps * STATE_COUNT);
  for (let state = 0; state < STATE_COUNT; state++)
    for (let step = 0; step < steps; step++) fine[step * STATE_COUNT + state] = bytes[state * steps + step];
  const levels = [fine];
  while (levels[levels.length - 1].length > 256 * STATE_COUNT) levels.push(coarser(levels[levels.length - 1]));
  return levels;
}

function readClusters(block: Block<LanesHead>): Lanes["clusters"] {
  const steps = block.head.cluster_steps;
  const khz = block.column("cluster_khz");
  return block.head.clusters.map((cluster, index) => {
    const at = index * 3 * steps;
    return {
      maxKhz: cluster.max_khz,
      cpus: cluster.cpus,
      low: khz.subarray(at, at + steps),
      high: khz.subarray(at + steps, at + 2 * steps),
      mean: khz.subarray(at + 2 * steps, at + 3 * steps),
    };
  });
}

function waitStacks(states: Uint8Array, stacks: Float64Array): Int32Array {
  const out = new Int32Array(states.length).fill(-1);
  let wait = 0;
  for (let i = 0; i < states.length; i++) if (states[i] >= RUNNABLE && states[i] < UNKNOWN) out[i] = stacks[wait++];
  return out;
}

export function readLanes(block: Block<LanesHead>, length: number): Lanes {
  const { head } = block;
  const threads = block.column("thread");
  const windowFrom = block.column("window_from");
  const windowTo = block.column("window_to");
  const counts = block.column("piece_count");
  const durations = block.column("piece_us");
  const states = block.bytes("piece_state");
  const stacks = waitStacks(states, block.column("piece_stack"));
  const queue = block.column("queue");
  const bytes = block.bytes("steps");
  const full = Math.min(threads.length, head.lanes_max);
  const steps = full ? bytes.length / full / STATE_COUNT : 0;
  const lanes: Lane[] = [];
  let piece = 0;
  let run = 0;
  for (let i = 0; i < threads.length; i++) {
    const windows: Pieces[] = [];
    for (let w = 0; i < head.detail_max && w < windowFrom.length; w++) {
      const size = counts[run++];
      const end = new Float64Array(size);
      let at = windowFrom[w];
      for (let k = 0; k < size; k++) end[k] = at += durations[piece + k];
      windows.push({
        from: windowFrom[w],
        to: windowTo[w],
        end,
        state: states.subarray(piece, piece + size),
        stack: stacks.subarray(piece, piece + size),
      });
      piece += size;
    }
    lanes.push({
      thread: threads[i],
      levels: i < full ? readLevels(bytes.subarray(i * steps * STATE_COUNT, (i + 1) * steps * STATE_COUNT), steps) : [],
      windows,
      queue: queue.subarray(i * head.queue_bins, (i + 1) * head.queue_bins),
    });
  }
  const by = block.column("pair_by");
  const pairState = block.bytes("pair_state");
  const pairThread = block.column("pair_thread");
  const pairCount = block.column("pair_count");
  const pairNs = block.column("pair_ns");
  const pairs = Array.from(by, (other, i) => ({
    state: pairState[i],
    thread: pairThread[i],
    by: other - 1,
    count: pairCount[i],
    ns: pairNs[i],
  }));
  return {
    stepUs: Math.min(head.step_ns / 1000, length),
    steps,
    shareLevels: head.levels,
    lanes,
    windowFrom,
    windowTo,
    pairs,
    clusters: readClusters(block),
    counters: head.counters,
  };
}

export function readSamples(block: Block<{ unit_ns: number }>): ThreadSamples[] {
  const unit = block.head.unit_ns;
  const counts = block.column("count");
  const time = block.column("time");
  const weight = block.column("weight");
  const stack = Uint32Array.from(block.column("stack"));
  let at = 0;
  return Array.from(block.column("thread"), (thread, i) => {
    const from = at;
    at += counts[i];
    let sum = 0;
    for (let k = from; k < at; k++) {
      sum += time[k];
      time[k] = (sum * unit + unit / 2) / 1000;
      weight[k] *= unit;
    }
    return {
      thread,
      time: time.subarray(from, at),
      weight: weight.subarray(from, at),
      stack: stack.subarray(from, at),
    };
  });
}

export function readDetails(block: Block<unknown>): Map<number, FrameDetail> {
  const chainColumn = ["ns", "state", "thread", "place", "by"].map((name) => block.column(`chain_${name}`));
  const [ns, state, thread, place, by] = chainColumn;
  const spent = Array.from({ length: UNKNOWN }, (_, i) => block.column(`l${i}`));
  const usual = Array.from({ length: UNKNOWN }, (_, i) => block.column(`u${i}`));
  const ledgerThread = block.column("ledger_thread");
  const residual = block.column("ledger_residual");
  const chainCount = block.column("chain_count");
  const ledgerCount = block.column("ledger_count");
  const details = new Map<number, FrameDetail>();
  let link = 0;
  let row = 0;
  block.column("frame").forEach((frame, i) => {
    const detail: FrameDetail = { chain: [], ledger: [] };
    let at = 0;
    for (let k = 0; k < chainCount[i]; k++, link++) {
      detail.chain.push({
        from: at,
        to: at + ns[link],
        state: state[link],
        thread: thread[link],
        place: place[link] - 1,
        by: by[link] - 1,
      });
      at += ns[link];
    }
    for (let k = 0; k < ledgerCount[i]; k++, row++) {
      detail.ledger.push({
        thread: ledgerThread[row],
        ns: spent.map((column) => column[row]),
        usual: usual.map((column) => column[row]),
        residual: residual[row],
      });
    }
    if (detail.ledger.length || detail.chain.length) details.set(frame, detail);
  });
  return details;
}

export async function loadModel(): Promise<Model> {
  return new Model(await loadBlock<CoreHead>("core"));
}

export async function loadLanes(length: number): Promise<Lanes> {
  return readLanes(await loadBlock<LanesHead>("lanes"), length);
}

export async function loadSamples(): Promise<ThreadSamples[]> {
  return readSamples(await loadBlock<{ unit_ns: number }>("samples"));
}

export async function loadDetails(): Promise<Map<number, FrameDetail>> {
  return readDetails(await loadBlock("frames"));
}
