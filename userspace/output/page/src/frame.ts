// One frame: the verdict, the critical chain, ledgers, what differs from ordinary frames, its samples.
import { chainRows, chainSteps, drawChain } from "./chain";
import { h, replace, type Child } from "./dom";
import { Flame } from "./flame";
import { duration, ms, share, signedMs, threadName, visible } from "./format";
import type { FrameDetail, Lanes, LedgerRow, Model, ThreadSamples } from "./model";
import { addSamples, callTree, differences, type Weights } from "./profile";
import { STATES, UNKNOWN, causeName, causeState } from "./states";
import type { Store } from "./store";
import type { ModuleColours } from "./theme";
import { swatch } from "./timeline";

const NEIGHBOURS = 24; // as in userspace/analyze/baseline.c
const LEDGER_ROWS = 12;
const CALM = new Set([8, 9]); // sleeping, waiting for an event

export interface FrameData {
  details: Map<number, FrameDetail> | null;
  samples: ThreadSamples[] | null;
  lanes: Lanes | null;
}

export class FramePanel {
  readonly element: HTMLElement;
  private allRows = false;

  constructor(
    private model: Model,
    private store: Store,
    private data: FrameData,
    private colours: ModuleColours,
    private step: (direction: 1 | -1) => void,
  ) {
    this.element = h("section", { class: "panel frame", id: "frame", "aria-label": "Frame", tabindex: -1 });
    this.element.hidden = true;
    store.on("frame", () => {
      this.show();
    });
    store.on("samples", () => {
      this.show();
    });
  }

  show(): void {
    const { frame } = this.store;
    this.element.hidden = frame < 0;
    if (frame < 0) return;
    const detail = this.data.details?.get(frame);
    replace(
      this.element,
      this.head(frame),
      this.verdict(frame),
      detail?.chain.length ? this.chain(frame, detail) : null,
      h(
        "div",
        { class: "columns" },
        this.differences(frame, detail),
        detail?.ledger.length ? this.ledger(detail) : this.presenting(frame),
      ),
      this.samples(frame),
    );
  }

  private head(frame: number): Child {
    const button = (text: string, title: string, act: () => void): HTMLElement =>
      h("button", { type: "button", title, "aria-label": title, click: act }, text);
    const time = this.model.frameNs(frame);
    const slow = this.model.slowIndex.get(frame);
    const active = slow === undefined ? this.model.frames.active[frame] * 1000 : this.model.slowFrames[slow].active_ns;
    return h(
      "header",
      { class: "panel-head" },
      h("h2", null, `Frame ${frame}`),
      h(
        "div",
        { class: "facts grow" },
        h("b", { id: "frame-time" }, duration(time)),
        active < time ? ` · active for ${duration(active)}` : null,
        ` · ${duration(this.model.frames.start[frame] * 1000)} after the start`,
      ),
      h(
        "div",
        { class: "tools" },
        button("‹ slow", "Previous slow frame", () => {
          this.step(-1);
        }),
        button("slow ›", "Next slow frame", () => {
          this.step(1);
        }),
        button("✕", "Close the frame", () => {
          this.store.setFrame(-1);
        }),
      ),
    );
  }

  private verdict(frame: number): Child {
    const slow = this.model.slowIndex.get(frame);
    const verdict = slow === undefined ? null : this.model.slowFrames[slow].verdict;
    if (!verdict)
      return h(
        "p",
        { class: "verdict" },
        "An ordinary frame: it is not over the budget, so there is nothing to explain.",
      );
    return h(
      "p",
      { class: "verdict", id: "verdict" },
      h("span", { class: `cause s${causeState(verdict.cause)}` }, causeName(verdict.cause)),
      visible(verdict.text) || "no words for this cause",
      verdict.share === null ? null : h("span", { class: "dim" }, ` (${share(verdict.share)} of the excess)`),
    );
  }

  private chain(frame: number, detail: FrameDetail): Child {
    const box = h("div", { class: "chain-box" });
    const labels = chainRows(detail.chain).map((thread) =>
      h("div", { class: "chain-label" }, threadName(this.model.threads[thread])),
    );
    let drawn = 0;
    new ResizeObserver(() => {
      const width = box.clientWidth;
      if (!width || width === drawn) return;
      drawn = width;
      replace(box, drawChain(this.model, this.data.lanes, frame, detail, width));
    }).observe(box);
    return h(
      "div",
      { class: "block" },
      h(
        "h3",
        null,
        "Critical chain",
        h("span", { class: "dim" }, " what the end of the frame waited for; arrows: who woke whom"),
      ),
      h("div", { class: "chain-grid" }, h("div", { class: "chain-labels" }, labels), box),
      h("details", null, h("summary", null, "its steps as a list"), chainSteps(this.model, detail, 14)),
    );
  }

  // ---- differences ----

  private usualWeights(frame: number): Weights | null {
    const near = this.model.ordinaryAround(frame, NEIGHBOURS);
    if (!this.data.samples || !near.length) return null;
    const ns = new Float64Array(this.model.tree.leaf.length);
    for (const other of near)
      addSamples(ns, this.data.samples, this.model.frames.start[other], this.model.frames.end[other]);
    let total = 0;
    for (let i = 0; i < ns.length; i++) total += ns[i] /= near.length;
    return { ns, base: null, total };
  }

  private frameWeights(frame: number): Weights {
    const ns = new Float64Array(this.model.tree.leaf.length);
    if (this.data.samples)
      addSamples(ns, this.data.samples, this.model.frames.start[frame], this.model.frames.end[frame]);
    return { ns, base: this.usualWeights(frame)?.ns ?? null, total: ns.reduce((sum, value) => sum + value, 0) };
  }

  private differences(frame: number, detail: FrameDetail | undefined): Child {
    const rows: { text: Child; ns: number; usual: number }[] = [];
    const waited = new Map<number, number>();
    for (const link of detail?.chain ?? []) {
      const key = link.thread * STATES.length + link.state;
      waited.set(key, (waited.get(key) ?? 0) + link.to - link.from);
    }
    for (const row of detail?.ledger ?? []) {
      for (let state = 0; state < UNKNOWN; state++) {
        const more = row.ns[state] - row.usual[state];
        // that threads without work wait longer in a longer frame tells nothing
        if (CALM.has(state) && waited.size && (waited.get(row.thread * STATES.length + state) ?? 0) < more * 0.3)
          continue;
        if (Math.abs(more) > 200e3)
          rows.push({
            text: [swatch(state), h("b", null, threadName(this.model.threads[row.thread])), ` ${STATES[state].name}`],
            ns: row.ns[state],
            usual: row.usual[state],
          });
      }
    }
    const functions = differences(this.model, this.frameWeights(frame)).map((row) => {
      const func = this.model.functions[row.func];
      return {
        text: [
          h("span", { class: "name" }, visible(func.name)),
          h("span", { class: "dim" }, ` ${visible(func.module)}`),
        ],
        ns: row.ns,
        usual: row.base,
      };
    });
    const byDifference = (a: { ns: number; usual: number }, b: { ns: number; usual: number }): number =>
      Math.abs(b.ns - b.usual) - Math.abs(a.ns - a.usual);
    const table = (title: string, list: typeof rows): Child => {
      const shown = list.sort(byDifference).slice(0, 8);
      return shown.length
        ? h(
            "table",
            { class: "differences" },
            h(
              "thead",
              null,
              h(
                "tr",
                null,
                h("th", null, title),
                h("th", { class: "num" }, "this ms"),
                h("th", { class: "num" }, "usual"),
                h("th", { class: "num" }, "more"),
              ),
            ),
            h(
              "tbody",
              null,
              shown.map((row) =>
                h(
                  "tr",
                  null,
                  h("td", { class: "clip" }, row.text),
                  h("td", { class: "num" }, ms(row.ns)),
                  h("td", { class: "num dim" }, ms(row.usual)),
                  h("td", { class: `num ${row.ns > row.usual ? "more" : "less"}` }, signedMs(row.ns - row.usual)),
                ),
              ),
            ),
          )
        : null;
    };
    return h(
      "div",
      { class: "block" },
      h("h3", null, "What differs", h("span", { class: "dim" }, ` from the ${NEIGHBOURS} ordinary frames around it`)),
      table("state of a thread", rows),
      table(
        "function, with what it calls",
        functions.filter((row) => Math.abs(row.ns - row.usual) > 100e3),
      ),
    );
  }

  // ---- ledgers ----

  private ledger(detail: FrameDetail): Child {
    const columns = Array.from({ length: UNKNOWN }, (_, state) => state).filter((state) =>
      detail.ledger.some((row) => row.ns[state] >= 5000),
    );
    const rows = this.allRows ? detail.ledger : detail.ledger.slice(0, LEDGER_ROWS);
    return h(
      "div",
      { class: "block" },
      h("h3", null, "Ledger", h("span", { class: "dim" }, " ms by thread; the thin bar is usual")),
      h(
        "div",
        { class: "scroll" },
        h(
          "table",
          { class: "ledger", id: "ledger" },
          h(
            "thead",
            null,
            h(
              "tr",
              null,
              h("th", null, "thread"),
              h("th", null),
              columns.map((state) =>
                h("th", { class: "num", title: STATES[state].name }, swatch(state), STATES[state].key),
              ),
            ),
          ),
          h(
            "tbody",
            null,
            rows.map((row) =>
              h(
                "tr",
                null,
                h("td", null, threadName(this.model.threads[row.thread])),
                h("td", null, this.bars(row)),
                columns.map((state) => h("td", { class: "num" }, ms(row.ns[state]))),
              ),
            ),
          ),
        ),
      ),
      detail.ledger.length > LEDGER_ROWS
        ? h(
            "button",
            {
              type: "button",
              click: () => {
                this.allRows = !this.allRows;
                this.show();
              },
            },
            this.allRows ? "fewer" : `${detail.ledger.length - LEDGER_ROWS} more threads`,
          )
        : null,
    );
  }

  private bars(row: LedgerRow): HTMLElement {
    const whole = Math.max(1, row.ns.reduce((a, b) => a + b, 0) + Math.max(0, row.residual));
    const bar = (values: number[], kind: string): HTMLElement =>
      h(
        "div",
        { class: `bar ${kind}` },
        values.map((ns, state) =>
          ns / whole > 0.002
            ? h("i", { class: `s${state}`, style: `width:${Math.min(100, (ns / whole) * 100).toFixed(2)}%` })
            : null,
        ),
      );
    return h("div", { class: "bars" }, bar(row.ns, ""), bar(row.usual, "thin"));
  }

  /** Frames that have no ledger: what is known of the presenting thread. */
  private presenting(frame: number): Child {
    const { shares, thread } = this.model.frames;
    const time = this.model.frameNs(frame);
    const parts: Child[] = [];
    for (let state = 0; state < UNKNOWN; state++) {
      const ns = ((shares[state]?.[frame] ?? 0) / 255) * time;
      if (ns > time * 0.004) parts.push(h("li", null, swatch(state), `${STATES[state].name} ${duration(ns)}`));
    }
    if (!parts.length) return null;
    const name = threadName(this.model.threads[thread[frame]]);
    return h(
      "div",
      { class: "block" },
      h("h3", null, name, h("span", { class: "dim" }, " presented it; about")),
      h("ul", { class: "plain" }, parts),
    );
  }

  private samples(frame: number): Child {
    if (!this.data.samples) return h("p", { class: "dim" }, "Reading samples …");
    const weights = this.frameWeights(frame);
    if (!weights.total)
      return h(
        "p",
        { class: "nothing" },
        this.model.tree.leaf.length ? "No sample fell into this frame." : `No samples were ${this.model.kept}.`,
      );
    const flame = new Flame({
      functions: this.model.functions,
      colours: this.colours,
      label: `Samples of frame ${frame}`,
    });
    flame.show(callTree(this.model.tree, { ns: weights.ns, base: null, total: weights.total }));
    return h(
      "div",
      { class: "block" },
      h(
        "h3",
        null,
        "Samples of this frame",
        h("span", { class: "dim" }, ` ${duration(weights.total)} of CPU time over all threads`),
      ),
      flame.element,
    );
  }
}
