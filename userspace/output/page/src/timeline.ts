// The timeline: frame times, lanes of threads, and below them clocks and counters, over one axis of time.
import { fitCanvas, h, hideTip, replace, scheduler, showTip, type Child } from "./dom";
import { Extremes } from "./extremes";
import { hatch } from "./flame";
import { duration, moment, threadName } from "./format";
import { laneColumns, laneState, paintLane } from "./lanes";
import type { Lanes, Model } from "./model";
import { lowerBound } from "./profile";
import { Series } from "./series";
import { ABSENT, STATES, UNKNOWN, causeName, causeState } from "./states";
import type { Range, Store } from "./store";
import { theme } from "./theme";

const OVERVIEW = 34;
const RULER = 20;
const MARKS = 12;
const LANE = 17;
const LANE_GAP = 3;
const LANES_SHOWN = 8;

function chartHeight(): number {
  return window.innerWidth < 600 ? 130 : 170;
}

/** Steps of an axis: 1, 2 or 5 times a power of ten, at least `least`. */
export function niceStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5]) if (factor * power >= least) return factor * power;
  return 10 * power;
}

export class Timeline {
  readonly element: HTMLElement;
  private overview: HTMLCanvasElement;
  private canvas: HTMLCanvasElement;
  private lanesCanvas: HTMLCanvasElement;
  private labels: HTMLElement;
  private note: HTMLElement;
  private body: HTMLElement;
  private seriesBox: HTMLElement;
  private more: HTMLButtonElement;
  private lanes: Lanes | null = null;
  private times: Float64Array;
  private extremes: Extremes;
  private full = false;
  private allLanes = false;
  private dragRange: Range | null = null;
  private yMax = 1;
  private redraw = scheduler(() => {
    this.draw();
  });

  constructor(
    private model: Model,
    private store: Store,
  ) {
    const { start, end, count } = model.frames;
    this.times = new Float64Array(count);
    for (let i = 0; i < count; i++) this.times[i] = end[i] - start[i];
    this.extremes = new Extremes(this.times);
    this.overview = h("canvas", {
      class: "overview",
      role: "img",
      "aria-label": "The whole recording; drag to choose the part below",
    });
    this.canvas = h("canvas", { class: "frames-canvas", role: "img", "aria-label": this.describeFrames() });
    this.lanesCanvas = h("canvas", { role: "img", "aria-label": "States of threads over time" });
    this.labels = h("div", { class: "lane-labels" });
    this.note = h("div", { class: "note" });
    this.seriesBox = h("div", { class: "series" });
    this.more = h("button", {
      type: "button",
      click: () => {
        this.allLanes = !this.allLanes;
        this.layoutLanes();
      },
    });
    this.body = h(
      "div",
      {
        class: "tl-body",
        tabindex: 0,
        role: "group",
        "aria-label":
          "Timeline. Plus and minus zoom, left and right move, N and P go to the next and previous slow frame, 0 shows everything.",
      },
      h("div", { class: "tl-row" }, h("div", { class: "tl-side" }, "frame time"), this.canvas),
      h("div", { class: "tl-row" }, this.labels, this.lanesCanvas),
      this.seriesBox,
    );
    this.element = h(
      "section",
      { class: "panel timeline", id: "timeline", "aria-label": "Timeline" },
      this.toolbar(),
      h("div", { class: "tl-row" }, h("div", { class: "tl-side" }), this.overview),
      this.body,
      h("div", { class: "tl-foot" }, this.more, this.note),
    );
    this.listen();
    store.on("view", this.redraw);
    store.on("frame", () => {
      this.reveal();
      this.redraw();
    });
    store.on("range", this.redraw);
    store.on("theme", this.redraw);
    new ResizeObserver(this.redraw).observe(this.element);
  }

  setLanes(lanes: Lanes): void {
    this.lanes = lanes;
    this.layoutLanes();
    for (const series of Series.all(lanes, this.model, this.store)) this.seriesBox.append(series.element);
  }

  private toolbar(): HTMLElement {
    const button = (text: string, title: string, act: () => void): HTMLElement =>
      h("button", { type: "button", title, "aria-label": title, click: act }, text);
    const full = h(
      "button",
      {
        type: "button",
        "aria-pressed": "false",
        title: "Scale the frame times up to the longest in view",
        click: () => {
          this.full = !this.full;
          full.setAttribute("aria-pressed", String(this.full));
          this.redraw();
        },
      },
      "full height",
    );
    return h(
      "header",
      { class: "panel-head" },
      h("h2", null, "Timeline"),
      h("div", { class: "legend" }, legend()),
      h(
        "div",
        { class: "tools" },
        button("‹ slow", "Previous slow frame (P)", () => {
          this.step(-1);
        }),
        button("slow ›", "Next slow frame (N)", () => {
          this.step(1);
        }),
        full,
        button("−", "Zoom out (−)", () => {
          this.zoomMiddle(1.6);
        }),
        button("+", "Zoom in (+)", () => {
          this.zoomMiddle(1 / 1.6);
        }),
        button("all", "Show everything (0)", () => {
          this.store.setView(0, this.store.length);
        }),
      ),
    );
  }

  private describeFrames(): string {
    const frames = this.model.report.frames;
    if (!frames?.time_ns) return "Frame times: none were recorded";
    return `Frame times of ${frames.count} frames, ${frames.slow ?? 0} of them slow; the slow frames are also in the list below`;
  }

  // ---- moving ----

  private zoomMiddle(factor: number): void {
    const { from, to } = this.store.view;
    this.store.zoom((from + to) / 2, factor);
  }

  /** To the next slow frame after the selected one, or in view. */
  step(direction: 1 | -1): void {
    const { slow, count, start } = this.model.frames;
    let at = this.store.frame;
    if (at < 0)
      at = lowerBound(start, direction > 0 ? this.store.view.from : this.store.view.to) - (direction > 0 ? 1 : 0);
    for (at += direction; at >= 0 && at < count; at += direction) {
      if (slow[at]) {
        this.store.setFrame(at);
        return;
      }
    }
  }

  /** Moves and zooms so that the selected frame can be seen as such. */
  private reveal(): void {
    const frame = this.store.frame;
    if (frame < 0) return;
    const from = this.model.frames.start[frame];
    const to = this.model.frames.end[frame];
    const { view } = this.store;
    const span = view.to - view.from;
    if (from >= view.from && to <= view.to && (to - from) / span > 0.004) return;
    const wide = (to - from) / span > 0.004 ? span : (to - from) * 24;
    this.store.setView((from + to) / 2 - wide / 2, (from + to) / 2 + wide / 2);
  }

  private timeAt(canvas: HTMLElement, clientX: number): number {
    const box = canvas.getBoundingClientRect();
    const { from, to } = this.store.view;
    return from + ((clientX - box.left) / box.width) * (to - from);
  }

  private key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const span = this.store.view.to - this.store.view.from;
    const actions: Record<string, () => void> = {
      "+": () => {
        this.zoomMiddle(1 / 1.6);
      },
      "-": () => {
        this.zoomMiddle(1.6);
      },
      ArrowLeft: () => {
        this.store.pan(-span * 0.15);
      },
      ArrowRight: () => {
        this.store.pan(span * 0.15);
      },
      Home: () => {
        this.store.setView(0, span);
      },
      End: () => {
        this.store.setView(this.store.length - span, this.store.length);
      },
      "0": () => {
        this.store.setView(0, this.store.length);
      },
      n: () => {
        this.step(1);
      },
      p: () => {
        this.step(-1);
      },
      Escape: () => {
        this.store.setRange(null);
        this.store.setFrame(-1);
      },
    };
    actions["="] = actions.w = actions["+"];
    actions._ = actions.s = actions["-"];
    actions.a = actions.ArrowLeft;
    actions.d = actions.ArrowRight;
    const action = Object.hasOwn(actions, event.key) ? actions[event.key] : undefined;
    if (!action) return;
    event.preventDefault();
    action();
  }

  private wheel(event: WheelEvent, canvas: HTMLElement): void {
    event.preventDefault();
    const scale = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 20 : 1;
    const sideways = event.shiftKey ? event.deltaY : event.deltaX;
    if (Math.abs(sideways) > Math.abs(event.shiftKey ? 0 : event.deltaY)) {
      const { from, to } = this.store.view;
      this.store.pan(((sideways * scale) / canvas.clientWidth) * (to - from));
    } else {
      this.store.zoom(this.timeAt(canvas, event.clientX), Math.exp(event.deltaY * scale * 0.0018));
    }
  }

  private listen(): void {
    this.body.addEventListener("keydown", (event) => {
      this.key(event);
    });
    for (const canvas of [this.canvas, this.lanesCanvas]) {
      canvas.addEventListener(
        "wheel",
        (event) => {
          this.wheel(event, canvas);
        },
        { passive: false },
      );
      this.drags(canvas);
      canvas.addEventListener("mouseleave", hideTip);
    }
    this.canvas.addEventListener("mousemove", (event) => {
      this.frameTip(event);
    });
    this.lanesCanvas.addEventListener("mousemove", (event) => {
      this.laneTip(event);
    });
    this.overviewDrags();
  }

  /** One pointer pans, with Shift or on the ruler it selects a range; two pointers zoom. A click selects a frame. */
  private drags(canvas: HTMLCanvasElement): void {
    const pointers = new Map<number, number>();
    let moved = 0;
    let selectFrom: number | null = null;
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, event.clientX);
      moved = 0;
      const onRuler = canvas === this.canvas && event.offsetY < RULER;
      selectFrom = event.shiftKey || onRuler ? this.timeAt(canvas, event.clientX) : null;
      this.body.focus({ preventScroll: true });
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (before === undefined) return;
      const { from, to } = this.store.view;
      moved += Math.abs(event.clientX - before);
      if (selectFrom !== null) {
        const here = this.timeAt(canvas, event.clientX);
        this.dragRange = { from: Math.max(0, Math.min(selectFrom, here)), to: Math.max(selectFrom, here) };
        this.redraw();
      } else if (pointers.size === 1) {
        if (moved > 3) this.store.pan(((before - event.clientX) / canvas.clientWidth) * (to - from));
      } else {
        const other = [...pointers].find(([id]) => id !== event.pointerId);
        if (other) {
          const gap = Math.max(10, Math.abs(before - other[1]));
          const now = Math.max(10, Math.abs(event.clientX - other[1]));
          this.store.zoom(this.timeAt(canvas, (event.clientX + other[1]) / 2), gap / now);
        }
      }
      pointers.set(event.pointerId, event.clientX);
    });
    const end = (event: PointerEvent): void => {
      if (!pointers.delete(event.pointerId)) return;
      if (selectFrom !== null && moved > 3) this.store.setRange(this.dragRange);
      else if (moved <= 3 && event.type === "pointerup") this.click(canvas, event);
      this.dragRange = null;
      selectFrom = null;
      this.redraw();
    };
    canvas.addEventListener("pointerup", end);
    canvas.addEventListener("pointercancel", end);
  }

  private overviewDrags(): void {
    let from: number | null = null;
    const at = (event: PointerEvent): number => {
      const box = this.overview.getBoundingClientRect();
      return ((event.clientX - box.left) / box.width) * this.store.length;
    };
    this.overview.addEventListener("pointerdown", (event) => {
      this.overview.setPointerCapture(event.pointerId);
      from = at(event);
    });
    this.overview.addEventListener("pointermove", (event) => {
      if (from === null) return;
      const here = at(event);
      const least = (this.store.length / Math.max(1, this.overview.clientWidth)) * 3;
      if (Math.abs(here - from) > least) this.store.setView(Math.min(from, here), Math.max(from, here));
    });
    this.overview.addEventListener("pointerup", (event) => {
      const here = at(event);
      const least = (this.store.length / Math.max(1, this.overview.clientWidth)) * 3;
      const span = this.store.view.to - this.store.view.from;
      if (from !== null && Math.abs(here - from) <= least) this.store.setView(here - span / 2, here + span / 2);
      from = null;
    });
  }

  private click(canvas: HTMLCanvasElement, event: PointerEvent): void {
    const frame = this.pick(canvas, event.clientX);
    if (frame >= 0) this.store.setFrame(frame);
  }

  /** The frame that is drawn at a place: where many share a pixel, the one that took longest. */
  private pick(canvas: HTMLCanvasElement, clientX: number): number {
    const { from, to } = this.store.view;
    const columnUs = (to - from) / Math.max(1, canvas.clientWidth);
    const at = this.timeAt(canvas, clientX);
    const exact = this.model.frameAt(at);
    if (exact >= 0 && this.times[exact] > columnUs * 3) return exact;
    const { start } = this.model.frames;
    const worst = this.extremes.highest(lowerBound(start, at - columnUs * 2), lowerBound(start, at + columnUs * 2));
    return worst >= 0 ? worst : exact;
  }

  // ---- tooltips ----

  private frameTip(event: MouseEvent): void {
    const frame = this.pick(this.canvas, event.clientX);
    if (frame < 0) {
      hideTip();
      return;
    }
    const { model } = this;
    const slow = model.slowIndex.get(frame);
    const verdict = slow === undefined ? null : model.slowFrames[slow].verdict;
    const time = model.frameNs(frame);
    const active = model.frames.active[frame] * 1000;
    const parts: Child[] = [];
    for (let state = 0; state < UNKNOWN; state++) {
      const part = ((model.frames.shares[state]?.[frame] ?? 0) / 255) * time;
      if (part >= time * 0.01)
        parts.push(h("div", { class: "tip-part" }, swatch(state), `${STATES[state].name} ${duration(part)}`));
    }
    showTip(
      event.clientX,
      event.clientY,
      h("div", { class: "tip-title" }, `frame ${frame} · ${duration(time)}`),
      active < time * 0.98 ? h("div", { class: "tip-dim" }, `active for ${duration(active)}`) : null,
      parts,
      verdict ? h("div", { class: "tip-verdict" }, causeName(verdict.cause)) : null,
    );
  }

  private laneTip(event: MouseEvent): void {
    const row = Math.floor(event.offsetY / (LANE + LANE_GAP));
    const lane = this.lanes?.lanes[row];
    if (!lane) {
      hideTip();
      return;
    }
    const found = laneState(lane, this.timeAt(this.lanesCanvas, event.clientX));
    showTip(
      event.clientX,
      event.clientY,
      h("div", { class: "tip-title" }, threadName(this.model.threads[lane.thread])),
      found
        ? h(
            "div",
            { class: "tip-part" },
            swatch(found.state),
            `${STATES[found.state].name} for ${duration((found.to - found.from) * 1000)}`,
          )
        : h("div", { class: "tip-dim" }, "shares of a longer step; zoom in on a slow frame for each piece"),
    );
  }

  // ---- drawing ----

  private shownLanes(): number {
    const count = this.lanes?.lanes.length ?? 0;
    return this.allLanes ? count : Math.min(count, LANES_SHOWN);
  }

  private layoutLanes(): void {
    const lanes = this.lanes;
    if (!lanes) return;
    const count = this.shownLanes();
    replace(
      this.labels,
      lanes.lanes.slice(0, count).map((lane) => {
        const thread = this.model.threads[lane.thread];
        return h(
          "div",
          { class: "lane-label", title: `${threadName(thread)}, tid ${thread.tid} of process ${thread.pid}` },
          threadName(thread),
        );
      }),
    );
    const hidden = lanes.lanes.length - LANES_SHOWN;
    this.more.hidden = hidden <= 0;
    this.more.textContent = this.allLanes ? "fewer threads" : `${hidden} more threads`;
    const partly = lanes.windowFrom.length !== 1 || lanes.windowTo[0] - lanes.windowFrom[0] < this.store.length * 0.999;
    this.note.textContent = !lanes.lanes.length
      ? `States of threads over time were not ${this.model.kept}.`
      : partly
        ? `Piece by piece around the slowest frames; elsewhere in steps of ${duration(lanes.stepUs * 1000)}.`
        : "";
    this.redraw();
  }

  private draw(): void {
    const width = this.overview.clientWidth;
    if (!width) return;
    this.element.dataset.from = String(this.store.view.from);
    this.element.dataset.to = String(this.store.view.to);
    this.drawOverview(width);
    this.drawFrames(width);
    this.drawLanes(width);
  }

  private drawOverview(width: number): void {
    const context = fitCanvas(this.overview, width, OVERVIEW);
    const colours = theme();
    const { start, slow } = this.model.frames;
    const columnUs = this.store.length / width;
    const high = Math.max(1, this.scaleMax(0, this.times.length));
    context.clearRect(0, 0, width, OVERVIEW);
    for (let x = 0; x < width; x++) {
      const first = lowerBound(start, x * columnUs);
      const worst = this.extremes.highest(first, lowerBound(start, (x + 1) * columnUs));
      if (worst < 0) continue;
      const size = Math.max(1, Math.min(1, this.times[worst] / high) * (OVERVIEW - 3));
      context.fillStyle = slow[worst] ? colours.bad : colours.faint;
      context.fillRect(x, OVERVIEW - size, 1, size);
    }
    const from = (this.store.view.from / this.store.length) * width;
    const to = (this.store.view.to / this.store.length) * width;
    context.fillStyle = colours.sunken;
    context.globalAlpha = 0.72;
    context.fillRect(0, 0, from, OVERVIEW);
    context.fillRect(to, 0, width - to, OVERVIEW);
    context.globalAlpha = 1;
    context.strokeStyle = colours.accent;
    context.lineWidth = 1.5;
    context.strokeRect(from + 0.75, 0.75, Math.max(2, to - from - 1.5), OVERVIEW - 1.5);
  }

  /** Top of the axis of frame times, us: what most frames need, or the longest in view. */
  private scaleMax(first: number, last: number): number {
    const worst = this.extremes.highest(first, last);
    const longest = worst < 0 ? 1 : this.times[worst];
    const budget = (this.model.report.frames?.budget_ns ?? 0) / 1000;
    if (this.full || !budget) return longest * 1.08;
    return Math.min(longest * 1.08, budget * 3.2) || 1;
  }

  private drawFrames(width: number): void {
    const chart = chartHeight();
    const height = RULER + MARKS + chart;
    const context = fitCanvas(this.canvas, width, height);
    const colours = theme();
    const { view } = this.store;
    const { start, end } = this.model.frames;
    const scale = width / (view.to - view.from);
    const first = lowerBound(end, view.from + 1e-6);
    const last = lowerBound(start, view.to);
    context.clearRect(0, 0, width, height);
    this.yMax = Math.max(this.scaleMax(first, last), ((this.model.report.frames?.budget_ns ?? 0) / 1000) * 1.25);
    this.drawRuler(context, width, height);
    this.drawGaps(context, width, RULER + MARKS, height);
    if (last - first > width) this.drawColumns(context, width, first, last, scale, height, chart);
    else
      for (let i = first; i < last; i++)
        this.drawFrame(context, i, (start[i] - view.from) * scale, (end[i] - start[i]) * scale, height, chart);
    this.drawBudget(context, width, height, chart);
    this.drawMarks(context, first, last, scale);
    this.drawSelection(context, scale, height);
    context.fillStyle = colours.grid;
    context.fillRect(0, height - 1, width, 1);
    if (!this.times.length) {
      context.fillStyle = colours.dim;
      context.font = "13px system-ui, sans-serif";
      context.fillText(`No single frames were ${this.model.kept}.`, 12, height / 2);
    }
  }

  private drawRuler(context: CanvasRenderingContext2D, width: number, height: number): void {
    const colours = theme();
    const { from, to } = this.store.view;
    const step = niceStep(((to - from) / width) * 90);
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (let at = Math.ceil(from / step) * step; at < to; at += step) {
      const x = Math.round(((at - from) / (to - from)) * width);
      context.fillStyle = colours.grid;
      context.fillRect(x, RULER - 5, 1, height - RULER + 5);
      context.fillStyle = colours.dim;
      context.fillText(moment(at, step), x + 4, RULER / 2);
    }
  }

  /** Where the recording keeps nothing, nothing is drawn but that. */
  private drawGaps(context: CanvasRenderingContext2D, width: number, top: number, bottom: number): void {
    const { view } = this.store;
    const scale = width / (view.to - view.from);
    for (const gap of this.model.gaps) {
      const from = Math.max(0, (gap.from - view.from) * scale);
      const to = Math.min(width, (gap.to - view.from) * scale);
      if (to <= from) continue;
      context.clearRect(from, top, to - from, bottom - top);
      hatch(context, from, top, to - from, bottom - top, theme().faint);
      if (to - from < 90 || bottom - top < 40) continue;
      context.font = "11px system-ui, sans-serif";
      this.axisText(context, "not kept", (from + to) / 2 - 22, (top + bottom) / 2, theme().dim);
    }
  }

  /** Many frames to a pixel: each column shows the one that took longest, and how short the shortest was. */
  private drawColumns(
    context: CanvasRenderingContext2D,
    width: number,
    first: number,
    last: number,
    scale: number,
    height: number,
    chart: number,
  ): void {
    const { start } = this.model.frames;
    const { view } = this.store;
    const colours = theme();
    let at = first;
    for (let x = 0; x < width && at < last; x++) {
      const next = Math.min(last, lowerBound(start, view.from + (x + 1) / scale));
      const worst = this.extremes.highest(at, next);
      if (worst >= 0) {
        this.drawFrame(context, worst, x, 1, height, chart);
        const low = this.extremes.lowest(at, next);
        context.fillStyle = colours.text;
        context.globalAlpha = 0.35;
        context.fillRect(x, height - (this.times[low] / this.yMax) * chart, 1, 1);
        context.globalAlpha = 1;
      }
      at = Math.max(at, next);
    }
  }

  private drawFrame(
    context: CanvasRenderingContext2D,
    frame: number,
    x: number,
    width: number,
    height: number,
    chart: number,
  ): void {
    const colours = theme();
    const { shares, active } = this.model.frames;
    const gap = width > 5 ? 1 : 0;
    const w = Math.max(0.7, width - gap);
    const size = Math.min(chart, (this.times[frame] / this.yMax) * chart);
    let y = height;
    let known = 0;
    for (let state = 0; state < ABSENT; state++) {
      const part = ((shares[state]?.[frame] ?? 0) / 255) * (this.times[frame] / this.yMax) * chart;
      if (part <= 0) continue;
      known += part;
      context.fillStyle = colours.states[state];
      const top = Math.max(height - size, y - part);
      context.fillRect(x, top, w, y - top);
      y = top;
    }
    if (known < size - 1) {
      context.fillStyle = colours.states[UNKNOWN];
      context.fillRect(x, height - size, w, Math.max(0, y - (height - size)));
    }
    if (active[frame] < this.times[frame] * 0.98) {
      context.fillStyle = colours.text;
      context.fillRect(x, Math.max(height - size, height - (active[frame] / this.yMax) * chart) - 0.75, w, 1.5);
    }
    if (this.times[frame] > this.yMax) {
      context.fillStyle = colours.bad;
      context.fillRect(x, height - chart - 2, Math.max(w, 2), 3);
    }
  }

  private drawBudget(context: CanvasRenderingContext2D, width: number, height: number, chart: number): void {
    const colours = theme();
    const budget = (this.model.report.frames?.budget_ns ?? 0) / 1000;
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "bottom";
    const step = niceStep(this.yMax / 4);
    for (let at = step; at < this.yMax; at += step) {
      const y = Math.round(height - (at / this.yMax) * chart);
      context.fillStyle = colours.grid;
      context.fillRect(0, y, width, 1);
      this.axisText(context, duration(at * 1000), 3, y - 1, colours.dim);
    }
    if (!budget || budget > this.yMax) return;
    const y = height - (budget / this.yMax) * chart;
    context.strokeStyle = colours.bad;
    context.setLineDash([5, 4]);
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(0, y);
    context.lineTo(width, y);
    context.stroke();
    context.setLineDash([]);
    const text = `budget ${duration(budget * 1000)}`;
    this.axisText(context, text, width - context.measureText(text).width - 5, y - 2, colours.bad);
  }

  /** Text that stays readable above bars. */
  private axisText(context: CanvasRenderingContext2D, text: string, x: number, y: number, colour: string): void {
    context.strokeStyle = theme().surface;
    context.lineWidth = 3;
    context.lineJoin = "round";
    context.strokeText(text, x, y);
    context.fillStyle = colour;
    context.fillText(text, x, y);
  }

  private drawMarks(context: CanvasRenderingContext2D, first: number, last: number, scale: number): void {
    const colours = theme();
    const { start, end, slow } = this.model.frames;
    let before = -10;
    for (let i = first; i < last; i++) {
      if (!slow[i]) continue;
      const x = ((start[i] + end[i]) / 2 - this.store.view.from) * scale;
      if (x - before < 2) continue;
      before = x;
      const verdict = this.model.slowFrames[this.model.slowIndex.get(i) ?? -1]?.verdict;
      context.fillStyle = colours.states[causeState(verdict?.cause ?? "unknown")];
      context.beginPath();
      context.moveTo(x - 4, RULER + 2);
      context.lineTo(x + 4, RULER + 2);
      context.lineTo(x, RULER + MARKS - 2);
      context.fill();
    }
  }

  private drawSelection(context: CanvasRenderingContext2D, scale: number, height: number): void {
    const colours = theme();
    const { view, frame } = this.store;
    const range = this.dragRange ?? this.store.range;
    if (range) {
      context.fillStyle = colours.accent;
      context.globalAlpha = 0.16;
      context.fillRect((range.from - view.from) * scale, 0, (range.to - range.from) * scale, height);
      context.globalAlpha = 1;
    }
    if (frame < 0) return;
    const x = (this.model.frames.start[frame] - view.from) * scale;
    const width = Math.max(3, (this.model.frames.end[frame] - this.model.frames.start[frame]) * scale);
    context.strokeStyle = colours.accent;
    context.lineWidth = 2;
    context.strokeRect(x, RULER + 1, width, height - RULER - 2);
  }

  private drawLanes(width: number): void {
    const lanes = this.lanes;
    if (!lanes) return;
    const count = this.shownLanes();
    const height = Math.max(1, count * (LANE + LANE_GAP));
    const context = fitCanvas(this.lanesCanvas, width, height);
    const pixels = this.lanesCanvas.width;
    const ratio = this.lanesCanvas.height / height;
    const image = context.createImageData(pixels, this.lanesCanvas.height);
    for (let i = 0; i < count; i++)
      paintLane(
        image,
        Math.round(i * (LANE + LANE_GAP) * ratio),
        Math.round(LANE * ratio),
        laneColumns(lanes.lanes[i], lanes, this.store.view, pixels),
      );
    context.putImageData(image, 0, 0);
    this.drawGaps(context, width, 0, height);
    const { view, frame } = this.store;
    const scale = width / (view.to - view.from);
    const range = this.dragRange ?? this.store.range;
    const colours = theme();
    context.fillStyle = colours.accent;
    if (range) {
      context.globalAlpha = 0.16;
      context.fillRect((range.from - view.from) * scale, 0, (range.to - range.from) * scale, height);
      context.globalAlpha = 1;
    }
    if (frame >= 0)
      for (const edge of [this.model.frames.start[frame], this.model.frames.end[frame]])
        context.fillRect((edge - view.from) * scale - 0.5, 0, 1, height);
  }
}

export function swatch(state: number): HTMLElement {
  return h("span", { class: `swatch s${state}`, "aria-hidden": "true" });
}

function legend(): Child[] {
  return STATES.slice(0, ABSENT).map((state, i) => h("span", { class: "legend-item" }, swatch(i), state.name));
}
