// The critical chain of a frame, drawn across threads, with arrows from who woke whom.
import { h, hideTip, showTip } from "./dom";
import { duration, ms, threadName, visible } from "./format";
import { laneState } from "./lanes";
import type { ChainLink, FrameDetail, Lanes, Model } from "./model";
import { ABSENT, BLOCKED, STATES } from "./states";
import { swatch } from "./timeline";

const ROW = 26;
const BAR = 14;
const ROWS_MAX = 14;
const SVG = "http://www.w3.org/2000/svg";

function svg(tag: string, attributes: Record<string, string | number>, text?: string): SVGElement {
  const element = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  if (text !== undefined) element.textContent = text;
  return element;
}

/** Who ended a wait. Who had the core meanwhile is in the list of steps; as arrows it would hide the wakers. */
function wokenBy(link: ChainLink): boolean {
  return link.by >= 0 && link.by !== link.thread && BLOCKED.includes(link.state);
}

/** Threads in the order in which the chain reaches them, then those that kept it waiting. */
export function chainRows(chain: ChainLink[]): number[] {
  const rows = new Set(chain.map((link) => link.thread));
  for (const link of chain) if (wokenBy(link)) rows.add(link.by);
  return [...rows].slice(0, ROWS_MAX);
}

function place(model: Model, link: ChainLink): string {
  return link.place < 0 ? "" : visible(model.functions[link.place].name);
}

function linkTip(model: Model, link: ChainLink, event: MouseEvent): void {
  const where = place(model, link);
  showTip(
    event.clientX,
    event.clientY,
    h("div", { class: "tip-title" }, threadName(model.threads[link.thread])),
    h(
      "div",
      { class: "tip-part" },
      swatch(link.state),
      `${STATES[link.state].name} for ${duration(link.to - link.from)}`,
    ),
    where ? h("div", null, `in ${where}`) : null,
    link.by >= 0 ? h("div", { class: "tip-dim" }, `kept by ${threadName(model.threads[link.by])}`) : null,
    h("div", { class: "tip-dim" }, `${duration(link.from)} after the frame began`),
  );
}

/** Links that are too short to see are drawn as part of the one before. */
function drawable(chain: ChainLink[], scale: number): ChainLink[] {
  const out: ChainLink[] = [];
  for (const link of chain) {
    const last = out.at(-1);
    if (last && (link.to - link.from) * scale < 0.6 && last.thread === link.thread) last.to = link.to;
    else out.push({ ...link });
  }
  return out;
}

/** What the other threads did meanwhile, quietly. */
function background(
  root: SVGElement,
  lanes: Lanes,
  thread: number,
  from: number,
  to: number,
  y: number,
  width: number,
): void {
  const lane = lanes.lanes.find((one) => one.thread === thread);
  if (!lane) return;
  const scale = width / (to - from);
  let at = from;
  for (let guard = 0; at < to && guard < 2000; guard++) {
    const piece = laneState(lane, at);
    if (!piece) break;
    const end = Math.min(to, Math.max(piece.to, at + 1));
    const size = (end - at) * scale;
    if (size > 0.4 && piece.state !== ABSENT)
      root.append(
        svg("rect", {
          class: `fill-s${piece.state}`,
          x: (at - from) * scale,
          y: y + (ROW - BAR) / 2 + 4,
          width: size,
          height: BAR - 8,
          opacity: 0.45,
        }),
      );
    at = end;
  }
}

function arrow(root: SVGElement, x: number, fromRow: number, toRow: number, width: number): void {
  const down = toRow > fromRow;
  const y1 = fromRow * ROW + ROW / 2 + (down ? BAR / 2 : -BAR / 2);
  const y2 = toRow * ROW + ROW / 2 + (down ? -BAR / 2 : BAR / 2);
  const at = Math.min(width - 2, Math.max(2, x));
  root.append(svg("path", { class: "wake", d: `M${at} ${y1}L${at} ${y2}`, "marker-end": "url(#wake-head)" }));
}

export function drawChain(
  model: Model,
  lanes: Lanes | null,
  frame: number,
  detail: FrameDetail,
  width: number,
): Element {
  const time = model.frameNs(frame);
  const rows = chainRows(detail.chain);
  const row = new Map(rows.map((thread, i) => [thread, i]));
  const height = rows.length * ROW + 20;
  const scale = width / time;
  const root = svg("svg", {
    class: "chain",
    width,
    height,
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": `Critical chain of frame ${frame} across ${rows.length} threads; the list below has its steps`,
  });
  const head = svg("marker", {
    id: "wake-head",
    viewBox: "0 0 8 8",
    refX: 6,
    refY: 4,
    markerWidth: 7,
    markerHeight: 7,
    orient: "auto",
  });
  head.append(svg("path", { class: "wake-head", d: "M0 0L8 4L0 8z" }));
  root.append(head);
  rows.forEach((thread, i) => {
    root.append(svg("line", { class: "chain-row", x1: 0, x2: width, y1: i * ROW + ROW / 2, y2: i * ROW + ROW / 2 }));
    if (lanes) background(root, lanes, thread, model.frames.start[frame], model.frames.end[frame], i * ROW, width);
  });
  const links = drawable(detail.chain, scale);
  links.forEach((link, i) => {
    const at = row.get(link.thread);
    if (at === undefined) return;
    const bar = svg("rect", {
      class: `link fill-s${link.state}`,
      x: link.from * scale,
      y: at * ROW + (ROW - BAR) / 2,
      width: Math.max(0.8, (link.to - link.from) * scale),
      height: BAR,
      rx: 1.5,
    });
    bar.addEventListener("mousemove", (event) => {
      linkTip(model, link, event);
    });
    bar.addEventListener("mouseleave", hideTip);
    root.append(bar);
    const size = (link.to - link.from) * scale;
    const name = place(model, link);
    if (size > 60 && name)
      root.append(
        svg(
          "text",
          { class: "link-text", x: link.from * scale + 4, y: at * ROW + ROW / 2 + 4 },
          name.length * 6 > size - 8 ? `${name.slice(0, Math.max(1, Math.floor((size - 14) / 6)))}…` : name,
        ),
      );
    const next = links.at(i + 1);
    const nextRow = next ? row.get(next.thread) : undefined;
    if (next && nextRow !== undefined && nextRow !== at) arrow(root, link.to * scale, at, nextRow, width);
    const by = wokenBy(link) ? row.get(link.by) : undefined;
    if (by !== undefined && size > 2 && (!next || next.thread === link.thread))
      arrow(root, link.to * scale, by, at, width);
  });
  const labels = Math.max(2, Math.floor(width / 140));
  for (let i = 0; i <= labels; i++)
    root.append(
      svg(
        "text",
        {
          class: "chain-axis",
          x: (i / labels) * width,
          y: height - 4,
          "text-anchor": i === 0 ? "start" : i === labels ? "end" : "middle",
        },
        i ? duration((i / labels) * time) : "0",
      ),
    );
  return root;
}

/** The longest steps of the chain in order of time. */
export function chainSteps(model: Model, detail: FrameDetail, limit: number): HTMLElement {
  const longest = [...detail.chain].sort((a, b) => b.to - b.from - (a.to - a.from)).slice(0, limit);
  const shown = detail.chain.filter((link) => longest.includes(link));
  const rest = detail.chain.filter((link) => !longest.includes(link));
  const restNs = rest.reduce((sum, link) => sum + link.to - link.from, 0);
  return h(
    "div",
    { class: "scroll" },
    h(
      "table",
      { class: "chain-steps" },
      h(
        "thead",
        null,
        h(
          "tr",
          null,
          ["at ms", "for ms", "thread", "", "in", "kept by"].map((name, i) =>
            h("th", { class: i < 2 ? "num" : "" }, name),
          ),
        ),
      ),
      h(
        "tbody",
        null,
        shown.map((link) =>
          h(
            "tr",
            null,
            h("td", { class: "num" }, ms(link.from)),
            h("td", { class: "num" }, ms(link.to - link.from)),
            h("td", null, threadName(model.threads[link.thread])),
            h("td", null, swatch(link.state), STATES[link.state].name),
            h("td", { class: "name" }, place(model, link)),
            h("td", null, link.by >= 0 ? threadName(model.threads[link.by]) : ""),
          ),
        ),
        rest.length
          ? h(
              "tr",
              { class: "dim" },
              h("td", null),
              h("td", { class: "num" }, ms(restNs)),
              h("td", { colspan: 4 }, `in ${rest.length} shorter step${rest.length === 1 ? "" : "s"}`),
            )
          : null,
      ),
    ),
  );
}
