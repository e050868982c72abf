// The list of slow frames, worst first, with their verdicts.
import { h, replace } from "./dom";
import { duration, ms, share, visible } from "./format";
import type { Model } from "./model";
import type { SlowFrame } from "./report";
import { causeName, causeState } from "./states";
import type { Store } from "./store";

const SHOWN = 12;

export class WorstFrames {
  readonly element: HTMLElement;
  private body = h("tbody");
  private more: HTMLButtonElement;
  private shown = SHOWN;
  private cause = "";
  private sorted: SlowFrame[];

  constructor(
    private model: Model,
    private store: Store,
  ) {
    this.sorted = [...model.slowFrames].sort((a, b) => b.time_ns - a.time_ns || a.index - b.index);
    this.more = h("button", {
      type: "button",
      click: () => {
        this.shown *= 4;
        this.fill();
      },
    });
    const filter = h(
      "select",
      {
        "aria-label": "Cause",
        change: () => {
          this.cause = filter.value;
          this.fill();
        },
      },
      h("option", { value: "" }, "all causes"),
      model.report.causes.map((cause) => h("option", { value: cause.cause }, causeName(cause.cause))),
    );
    this.element = h(
      "section",
      { class: "panel worst", id: "worst", "aria-label": "Slow frames" },
      h(
        "header",
        { class: "panel-head" },
        h("h2", null, "Slow frames"),
        h("span", { class: "dim grow" }, "worst first; choose one to see how it came about"),
        filter,
      ),
      h(
        "table",
        { class: "worst-table" },
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            h("th", { class: "num" }, "frame"),
            h("th", { class: "num" }, "took ms"),
            h("th", { class: "num at" }, "at"),
            h("th", null, "why"),
          ),
        ),
        this.body,
      ),
      this.more,
    );
    store.on("frame", () => {
      this.mark();
    });
    this.fill();
  }

  private fill(): void {
    const list = this.sorted.filter((frame) => !this.cause || frame.verdict?.cause === this.cause);
    replace(
      this.body,
      list.slice(0, this.shown).map((frame) => this.row(frame)),
    );
    this.more.hidden = list.length <= this.shown;
    this.more.textContent = `show more of ${list.length}`;
    this.mark();
  }

  private row(frame: SlowFrame): HTMLElement {
    const verdict = frame.verdict;
    const choose = (): void => {
      this.store.setFrame(frame.index);
      document.getElementById("frame")?.scrollIntoView({ block: "nearest", behavior: "smooth" });
    };
    return h(
      "tr",
      { "data-frame": frame.index, click: choose },
      h(
        "td",
        { class: "num" },
        h("button", { type: "button", class: "link", "aria-label": `Frame ${frame.index}` }, frame.index),
      ),
      h("td", { class: "num strong" }, ms(frame.time_ns)),
      h("td", { class: "num dim at" }, duration(this.model.frames.start[frame.index] * 1000)),
      h(
        "td",
        { class: "why" },
        verdict
          ? [
              h("span", { class: `cause s${causeState(verdict.cause)}` }, causeName(verdict.cause)),
              visible(verdict.text),
              verdict.share === null ? null : h("span", { class: "dim" }, ` ${share(verdict.share)}`),
            ]
          : "",
      ),
    );
  }

  private mark(): void {
    for (const row of this.body.rows) {
      const chosen = Number(row.dataset.frame) === this.store.frame;
      row.classList.toggle("chosen", chosen);
      row.setAttribute("aria-selected", String(chosen));
    }
  }
}
