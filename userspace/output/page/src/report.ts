// `frameperf report --json`, as far as the page shows it.

export interface ThreadRef {
  pid: number;
  tid: number;
  name: string;
}

export interface Place {
  function: string | null;
  module: string | null;
}

export interface Verdict {
  cause: string;
  thread: ThreadRef;
  place: Place;
  leaf: Place;
  by: (ThreadRef & { function: string | null }) | null;
  excess_ns: number;
  share: number | null;
  text: string | null;
}

export interface SlowFrame {
  index: number;
  start_ns: number;
  time_ns: number;
  active_ns: number;
  verdict: Verdict | null;
}

export interface FramesSummary {
  surface: string | null;
  marker: string | null;
  count: number;
  timed?: number;
  duration_ns?: number;
  fps_mean?: number | null;
  time_ns?: { mean: number; p50: number; p90: number; p95: number; p99: number; max: number };
  low_1pct_fps?: number | null;
  low_01pct_fps?: number | null;
  budget_ns?: number | null;
  slow?: number;
  hitches_per_min?: number | null;
  jank?: number;
  big_jank?: number;
}

export interface HotFunction {
  function: string;
  module: string;
  self_ns: number;
  total_ns: number;
  self_share: number;
  total_share: number;
}

export interface ThreadStats extends ThreadRef {
  cpu_ns: number | null;
  samples: number | null;
  switches: number | null;
  run_queue_ns: { p50: number; p99: number; max: number } | null;
  stacks_complete_share: number | null;
}

export interface Report {
  session: {
    id: string | null;
    started_unix_ns: number | null;
    start_ns: number | null;
    duration_ns: number | null;
    end_reason: string | null;
    complete: boolean;
    level: number | null;
    host: { kernel: string | null; arch: string | null; cpus: number | null; model: string | null };
    target: { pid: number | null; name: string | null; exe: string | null };
    labels: Record<string, string>;
    damage: { first: string | null };
  };
  sources: { name: string; state: string; reason: string | null }[];
  quality: {
    samples: number | null;
    sample_period_ns: number | null;
    sample_event: string | null;
    stacks: { count: number; complete_share: number | null; by_reason: Record<string, number> };
    lost: Record<string, number>;
    lost_by_source: Record<string, Record<string, number>>;
    overhead: { bpf_ns: number | null; recorder_cpu_ns: number | null; recorder_max_rss_bytes: number | null };
  };
  frames: FramesSummary | null;
  slow_frames: SlowFrame[] | null;
  causes: { cause: string; frames: number; excess_ns: number }[];
  /** Not where the page has stacks to count them from. */
  hot?: HotFunction[] | null;
  hot_slow?: HotFunction[] | null;
  threads: ThreadStats[] | null;
  freq:
    | {
        cpu: number;
        min_khz: number | null;
        max_khz: number | null;
        mean_khz: number | null;
        transitions: number;
        time_below_max_share: number | null;
      }[]
    | null;
}
