// Threads: how much they ran, how long they waited for a core, who took it from them, who woke whom.
import { h, replace, type Child } from "./dom";
import { count, duration, share, threadName } from "./format";
import type { Lane, Lanes, Model, Pair } from "./model";
import { BLOCKED, PREEMPTED, RUNNABLE, STATES } from "./states";
import { swatch } from "./timeline";

const ROWS = 16;
const PAIRS = 12;

/** Lower edge of a bin of the histogram, ns: four bins to an octave. */
export function binStart(bin: number): number {
  return bin === 0 ? 0 : 2 ** Math.floor(bin / 4) * (1 + (bin % 4) / 4);
}

export class Threads {
  readonly element: HTMLElement;
  private all = false;
  private table = h("div", { class: "scroll" });
  private queue = h("div", { class: "block" });
  private pairs = h("div", { class: "columns" });
  private chosen = -1;

  constructor(
    private model: Model,
    private data: { lanes: Lanes | null },
  ) {
    this.element = h(
      "section",
      { class: "panel threads", id: "threads", "aria-label": "Threads" },
      h(
        "header",
        { class: "panel-head" },
        h("h2", null, "Threads"),
        h("span", { class: "dim grow" }, "choose one to see its own waits below"),
      ),
      this.table,
      this.queue,
      this.pairs,
    );
    this.fill();
  }

  fill(): void {
    replace(this.table, this.threadTable());
    const lanes = this.data.lanes;
    if (!lanes) return;
    replace(this.queue, this.histogram(lanes));
    replace(
      this.pairs,
      this.pairTable(lanes, "Who put us aside", (pair) => pair.state === PREEMPTED, "thread", "the core went to"),
      this.pairTable(
        lanes,
        "Who had the core while we were ready",
        (pair) => pair.state === RUNNABLE,
        "thread",
        "which ran",
      ),
      this.pairTable(lanes, "Who woke whom", (pair) => BLOCKED.includes(pair.state), "woken", "by"),
    );
  }

  private threadTable(): Child {
    const threads = this.model.report.threads;
    if (!threads) return h("p", { class: "nothing" }, "A session of this level keeps no threads.");
    if (!threads.length) return h("p", { class: "nothing" }, "No threads were recorded.");
    const most = Math.max(1, ...threads.map((thread) => thread.cpu_ns ?? 0));
    const shown = this.all ? threads : threads.slice(0, ROWS);
    return [
      h(
        "table",
        { id: "thread-table" },
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            h("th", null, "thread"),
            ["tid", "CPU time", "samples", "switches", "run queue p50", "p99", "max", "stacks complete"].map((name) =>
              h("th", { class: "num" }, name),
            ),
          ),
        ),
        h(
          "tbody",
          null,
          shown.map((thread, index) =>
            h(
              "tr",
              {
                class: index === this.chosen ? "chosen" : "",
                click: () => {
                  this.chosen = this.chosen === index ? -1 : index;
                  this.fill();
                },
              },
              h(
                "td",
                { class: "name" },
                h(
                  "button",
                  { type: "button", class: "link", "aria-pressed": String(index === this.chosen) },
                  threadName(thread),
                ),
              ),
              h("td", { class: "num dim" }, thread.tid),
              h(
                "td",
                { class: "num meter", style: `--share:${(thread.cpu_ns ?? 0) / most}` },
                thread.cpu_ns === null ? "–" : duration(thread.cpu_ns),
              ),
              h("td", { class: "num" }, count(thread.samples)),
              h("td", { class: "num" }, count(thread.switches)),
              ["p50", "p99", "max"].map((key) =>
                h(
                  "td",
                  { class: "num" },
                  thread.run_queue_ns ? duration(thread.run_queue_ns[key as "p50" | "p99" | "max"]) : "–",
                ),
              ),
              h("td", { class: "num" }, share(thread.stacks_complete_share)),
            ),
          ),
        ),
      ),
      threads.length > ROWS
        ? h(
            "button",
            {
              type: "button",
              click: () => {
                this.all = !this.all;
                this.fill();
              },
            },
            this.all ? "fewer" : `${threads.length - ROWS} more threads`,
          )
        : null,
    ];
  }

  private lanesShown(lanes: Lanes): Lane[] {
    return lanes.lanes.filter((lane) => this.chosen < 0 || lane.thread === this.chosen);
  }

  private who(): string {
    return this.chosen < 0 ? "all threads" : threadName(this.model.threads[this.chosen]);
  }

  private histogram(lanes: Lanes): Child {
    const shown = this.lanesShown(lanes);
    const bins = new Float64Array(shown[0]?.queue.length ?? 0);
    for (const lane of shown) lane.queue.forEach((value, bin) => (bins[bin] += value));
    let first = bins.findIndex((value) => value > 0);
    let last = bins.length - 1;
    while (last > 0 && !bins[last]) last--;
    if (first < 0) return h("p", { class: "nothing" }, `No waits for a core are known of ${this.who()}.`);
    first = Math.max(0, first - 1);
    const most = Math.max(...bins);
    const all = bins.reduce((sum, value) => sum + value, 0);
    let sum = 0;
    const columns: Child[] = [];
    for (let bin = first; bin <= last; bin++) {
      sum += bins[bin];
      const text = `${duration(binStart(bin))} to ${duration(binStart(bin + 1))}: ${count(bins[bin])} times; ${share(sum / all)} were no longer`;
      // heights by logarithm: the rare long waits are what matters
      const height = bins[bin] ? (Math.log1p(bins[bin]) / Math.log1p(most)) * 100 : 0;
      columns.push(
        h(
          "div",
          { class: "bin", title: text },
          h("i", { style: `height:${height.toFixed(1)}%`, class: binStart(bin) >= 1e6 ? "late" : "" }),
          bin % 8 === 0 ? h("span", { class: bin > last - 5 ? "end" : "" }, duration(binStart(bin))) : null,
        ),
      );
    }
    return [
      h(
        "h3",
        null,
        "Run-queue latency",
        h(
          "span",
          { class: "dim" },
          ` from woken to running, ${this.who()}, ${count(all)} waits; heights are logarithmic`,
        ),
      ),
      h(
        "div",
        {
          class: "histogram",
          id: "queue",
          role: "img",
          "aria-label": `Histogram of ${count(all)} waits for a core; the table of threads has the percentiles`,
        },
        columns,
      ),
    ];
  }

  private pairTable(lanes: Lanes, title: string, wanted: (pair: Pair) => boolean, one: string, other: string): Child {
    const sums = new Map<string, Pair>();
    for (const pair of lanes.pairs) {
      if (!wanted(pair) || (this.chosen >= 0 && pair.thread !== this.chosen && pair.by !== this.chosen)) continue;
      const key = `${pair.thread} ${pair.by} ${pair.state}`;
      const known = sums.get(key);
      if (known) {
        known.count += pair.count;
        known.ns += pair.ns;
      } else sums.set(key, { ...pair });
    }
    const rows = [...sums.values()].sort((a, b) => b.ns - a.ns);
    if (!rows.length) return null;
    const name = (thread: number, state: number): Child => {
      if (thread < 0)
        return h(
          "span",
          { class: "dim" },
          BLOCKED.includes(state) ? "an interrupt, or not known" : "nobody, or not known",
        );
      const of = this.model.threads[thread];
      return [threadName(of), of.target ? null : h("span", { class: "dim" }, ` pid ${of.pid}`)];
    };
    return h(
      "div",
      { class: "block" },
      h("h3", null, title),
      h(
        "table",
        null,
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            h("th", null, one),
            h("th", null, other),
            h("th", null, ""),
            h("th", { class: "num" }, "times"),
            h("th", { class: "num" }, "for"),
          ),
        ),
        h(
          "tbody",
          null,
          rows
            .slice(0, PAIRS)
            .map((pair) =>
              h(
                "tr",
                null,
                h("td", { class: "clip" }, name(pair.thread, pair.state)),
                h("td", { class: "clip" }, name(pair.by, pair.state)),
                h("td", { title: STATES[pair.state].name }, swatch(pair.state)),
                h("td", { class: "num" }, count(pair.count)),
                h("td", { class: "num" }, duration(pair.ns)),
              ),
            ),
        ),
      ),
      rows.length > PAIRS ? h("div", { class: "dim note" }, `and ${rows.length - PAIRS} more`) : null,
    );
  }
}
