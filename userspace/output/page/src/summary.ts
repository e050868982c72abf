// The top of the page: what was recorded, on what, how the frames did, and what it cost.
import { h, type Child } from "./dom";
import { bytes, count, duration, fps, ms, share, visible } from "./format";
import type { Model } from "./model";
import type { Report } from "./report";
import { CAUSES, causeName, causeState } from "./states";
import { swatch } from "./timeline";

function started(report: Report): string {
  const at = report.session.started_unix_ns;
  return at === null ? "" : new Date(at / 1e6).toISOString().slice(0, 16).replace("T", " ") + " UTC";
}

export function sessionTitle(report: Report): string {
  return visible(report.session.target.name) || "a session";
}

function stat(value: string, label: string, title: string, kind = ""): HTMLElement {
  return h("div", { class: `stat ${kind}`, title }, h("b", null, value), h("span", null, label));
}

/** What sessions without events do not hold, so that nothing that is missing looks like nothing that happened. */
function levelNote(report: Report): Child {
  const notes: Record<number, string> = {
    0: "Level 0: only sums over the whole recording are kept, no single frames, verdicts, functions or threads. `frameperf record --level 1` or 2 keeps them.",
    1: "Level 1: frames, verdicts and ledgers are kept, but no critical chains and no stacks, and functions over the whole recording only. `frameperf record --level 2` keeps everything.",
  };
  const level = report.session.level ?? 2;
  return Object.hasOwn(notes, level) ? h("p", { class: "nothing", id: "level" }, notes[level]) : null;
}

function frameStats(report: Report): Child {
  const frames = report.frames;
  if (!frames?.time_ns)
    return h(
      "p",
      { class: "nothing" },
      report.frames
        ? "This session holds no two frame boundaries, so no frame has a time."
        : "No frame boundaries were recorded: what follows is about threads and functions, not about frames.",
    );
  const time = frames.time_ns;
  return h(
    "div",
    { class: "stats", id: "frame-stats" },
    stat(fps(frames.fps_mean), "fps", `${count(frames.count)} frames, mean rate from the first to the last`),
    stat(ms(time.p50), "p50 ms", "half of the frames took no longer"),
    stat(ms(time.p90), "p90 ms", "90 % of the frames took no longer"),
    stat(ms(time.p95), "p95 ms", "95 % of the frames took no longer"),
    stat(ms(time.p99), "p99 ms", "99 % of the frames took no longer"),
    stat(ms(time.max), "max ms", "the longest frame"),
    stat(fps(frames.low_1pct_fps), "1 % low fps", "rate of the slowest hundredth of the frames"),
    stat(fps(frames.low_01pct_fps), "0.1 % low fps", "rate of the slowest thousandth of the frames"),
    stat(
      count(frames.slow),
      `slow of ${count(frames.count)}`,
      `frames over the budget of ${duration(frames.budget_ns ?? 0)}`,
      frames.slow ? "bad" : "good",
    ),
    stat(fps(frames.hitches_per_min), "hitches / min", "slow frames per minute"),
    stat(
      `${count(frames.jank)} / ${count(frames.big_jank)}`,
      "jank / big",
      "over twice the mean of the last three frames and 84 ms, 125 ms",
    ),
  );
}

function causes(report: Report): Child {
  const whole = report.causes.reduce((sum, cause) => sum + cause.excess_ns, 0);
  if (!whole) return null;
  return h(
    "div",
    { class: "causes", id: "causes" },
    h("h3", null, "Lost time by cause"),
    h(
      "div",
      { class: "cause-bar", role: "img", "aria-label": "Shares of the lost time; the list has the numbers" },
      report.causes.map((cause) =>
        h("i", {
          class: `s${causeState(cause.cause)}`,
          style: `flex-grow:${cause.excess_ns}`,
          title: `${causeName(cause.cause)}: ${duration(cause.excess_ns)}`,
        }),
      ),
    ),
    h(
      "ul",
      null,
      report.causes.map((cause) =>
        h(
          "li",
          { "data-cause": Object.hasOwn(CAUSES, cause.cause) ? cause.cause : "unknown" },
          swatch(causeState(cause.cause)),
          h("span", { class: "grow" }, causeName(cause.cause)),
          h("b", null, duration(cause.excess_ns)),
          h(
            "span",
            { class: "dim" },
            `${share(cause.excess_ns / whole)} · ${cause.frames} frame${cause.frames === 1 ? "" : "s"}`,
          ),
        ),
      ),
    ),
  );
}

const LOSS_WORDS: Record<string, string> = {
  ring_full: "the recorder was too slow (ring full)",
  map_full: "too many threads (map full)",
  stack_skipped: "stacks not taken at switches: budget",
  memory: "out of the recorder's memory",
  write: "could not be written",
  time_order: "clocks of two CPUs disagreed",
  sideband: "mappings lost by the kernel",
  chunk: "damaged chunk of the file",
  throttled: "sampling throttled by the kernel",
  table_full: "a table of the recorder was full",
};

function lossRows(report: Report): Child[] {
  return Object.entries(report.quality.lost_by_source).flatMap(([source, reasons]) =>
    Object.entries(reasons).map(([reason, lost]) =>
      h(
        "li",
        { class: "warn" },
        `${count(lost)} × ${source}: ${Object.hasOwn(LOSS_WORDS, reason) ? LOSS_WORDS[reason] : reason}`,
      ),
    ),
  );
}

function quality(report: Report): Child {
  const { quality: q } = report;
  const stacks = q.stacks;
  const absent = report.sources.filter((source) => source.state !== "active");
  const losses = lossRows(report);
  const overhead = q.overhead;
  const cost: Child[] = [];
  if (overhead.bpf_ns !== null && report.session.duration_ns)
    cost.push(
      h(
        "li",
        null,
        `eBPF ran for ${duration(overhead.bpf_ns)}, ${share(overhead.bpf_ns / report.session.duration_ns)} of one core`,
      ),
    );
  if (overhead.recorder_cpu_ns !== null && report.session.duration_ns)
    cost.push(
      h(
        "li",
        null,
        `recorder used ${duration(overhead.recorder_cpu_ns)}, ${share(overhead.recorder_cpu_ns / report.session.duration_ns)} of one core`,
      ),
    );
  if (overhead.recorder_max_rss_bytes !== null)
    cost.push(h("li", null, `recorder's memory: ${bytes(overhead.recorder_max_rss_bytes)}`));
  return h(
    "div",
    { class: "quality", id: "quality" },
    h("h3", null, "Quality"),
    h(
      "ul",
      null,
      q.samples === null
        ? h("li", { class: "warn" }, "no samples: this session can't say in which functions time was spent")
        : h(
            "li",
            null,
            `${count(q.samples)} samples`,
            q.sample_period_ns ? `, one every ${duration(q.sample_period_ns)} of CPU time` : null,
          ),
      stacks.complete_share === null
        ? null
        : h(
            "li",
            { class: stacks.complete_share < 0.9 ? "warn" : "" },
            `${share(stacks.complete_share)} of the stacks reach the thread's start`,
          ),
      losses.length ? losses : h("li", null, "nothing was lost"),
      report.session.complete
        ? null
        : h(
            "li",
            { class: "warn" },
            `the file is damaged: ${visible(report.session.damage.first) || "it was not closed"}`,
          ),
      cost,
    ),
    absent.length
      ? h(
          "details",
          null,
          h("summary", null, `${absent.length} source${absent.length === 1 ? "" : "s"} not there`),
          h(
            "ul",
            null,
            absent.map((source) =>
              h(
                "li",
                null,
                h("b", null, source.name),
                ` ${source.state}: ${visible(source.reason) || "no reason given"}`,
              ),
            ),
          ),
        )
      : null,
    h(
      "details",
      null,
      h("summary", null, `${report.sources.length - absent.length} sources active`),
      h(
        "ul",
        null,
        report.sources
          .filter((source) => source.state === "active")
          .map((source) => h("li", null, h("b", null, source.name), ` ${visible(source.reason)}`)),
      ),
    ),
  );
}

export function header(model: Model, themeButton: HTMLElement): HTMLElement {
  const { report } = model;
  const { session } = report;
  const machine = [session.host.model, session.host.kernel ? `Linux ${session.host.kernel}` : null, session.host.arch]
    .filter((text) => text)
    .map((text) => visible(text));
  if (session.host.cpus) machine.push(`${session.host.cpus} CPUs`);
  const labels = Object.entries(session.labels);
  return h(
    "header",
    { class: "top" },
    h(
      "div",
      { class: "top-line" },
      h("span", { class: "brand" }, "frameperf"),
      h("h1", null, sessionTitle(report)),
      session.target.pid ? h("span", { class: "dim" }, `pid ${session.target.pid}`) : null,
      h(
        "span",
        { class: "dim" },
        session.duration_ns === null ? "" : `${duration(session.duration_ns)} recorded ${started(report)}`,
      ),
      h("span", { class: "dim grow" }, machine.join(" · ")),
      themeButton,
    ),
    h(
      "div",
      { class: "chips" },
      report.frames?.marker
        ? h("span", { class: "chip", title: "where the end of a frame was seen" }, visible(report.frames.marker))
        : null,
      session.level !== null ? h("span", { class: "chip" }, `level ${session.level}`) : null,
      session.end_reason ? h("span", { class: "chip" }, visible(session.end_reason)) : null,
      labels.map(([key, value]) => h("span", { class: "chip label" }, `${visible(key)} = ${visible(value)}`)),
      session.complete ? null : h("span", { class: "chip bad" }, "damaged file"),
    ),
  );
}

export function summary(model: Model): HTMLElement {
  const { report } = model;
  return h(
    "section",
    { class: "summary", "aria-label": "Summary" },
    frameStats(report),
    levelNote(report),
    h("div", { class: "summary-row" }, causes(report), quality(report)),
  );
}
