// A flame graph on a canvas: of a call tree, from the root up (flame) or down (icicle).
import { fitCanvas, h, hideTip, scheduler, showTip } from "./dom";
import { duration, share, visible } from "./format";
import { SPECIAL, type Func } from "./model";
import type { CallTree } from "./profile";
import { mix, theme, type ModuleColours } from "./theme";

const ROW = 19;
const MIN_WIDTH = 0.8; // px: narrower boxes are left out
const HEIGHT = 560; // px: higher graphs scroll

interface Box {
  node: number;
  x: number;
  width: number;
  row: number;
}

export interface FlameOptions {
  functions: Func[];
  colours: ModuleColours;
  label: string;
  upwards?: boolean;
  onPick?: (func: number) => void;
}

/** Children of each node, greatest first, as one array with offsets. */
function childLists(tree: CallTree): { offset: Uint32Array; list: Uint32Array } {
  const offset = new Uint32Array(tree.count + 1);
  const shown = (i: number): boolean => tree.total[i] > 0 || (tree.base !== null && tree.base[i] > 0);
  for (let i = 1; i < tree.count; i++) if (shown(i)) offset[tree.parent[i] + 1]++;
  for (let i = 0; i < tree.count; i++) offset[i + 1] += offset[i];
  const fill = offset.slice();
  const list = new Uint32Array(offset[tree.count]);
  for (let i = 1; i < tree.count; i++) if (shown(i)) list[fill[tree.parent[i]]++] = i;
  for (let i = 0; i < tree.count; i++)
    if (offset[i + 1] - offset[i] > 1)
      list.subarray(offset[i], offset[i + 1]).sort((a, b) => tree.total[b] - tree.total[a]);
  return { offset, list };
}

export class Flame {
  readonly element: HTMLElement;
  upwards: boolean;
  private canvas: HTMLCanvasElement;
  private live: HTMLElement;
  private tree: CallTree | null = null;
  private offset = new Uint32Array(1);
  private list = new Uint32Array(0);
  private zoomed = 0;
  private focus = -1;
  private hover = -1;
  private boxes: Box[] = [];
  private rows = 1;
  private rowsBefore = 0;
  private query = "";
  private matches: Uint8Array | null = null;
  private redraw = scheduler(() => {
    this.draw();
  });

  constructor(private options: FlameOptions) {
    this.upwards = options.upwards ?? false;
    this.canvas = h("canvas", {
      class: "flame-canvas",
      tabindex: 0,
      role: "img",
      "aria-label": `${options.label}. Arrow keys move, Enter zooms, Escape zooms out.`,
    });
    this.live = h("div", { class: "sr-only", "aria-live": "polite" });
    this.element = h("div", { class: "flame" }, this.canvas, this.live);
    this.canvas.addEventListener("click", (event) => {
      const box = this.boxAt(event);
      if (box) this.zoom(box.node === this.zoomed ? this.tree!.parent[box.node] : box.node);
    });
    this.canvas.addEventListener("dblclick", (event) => {
      const box = this.boxAt(event);
      if (box?.node) this.options.onPick?.(this.tree!.func[box.node]);
    });
    this.canvas.addEventListener("mousemove", (event) => {
      this.moved(event);
    });
    this.canvas.addEventListener("mouseleave", () => {
      this.hover = -1;
      hideTip();
      this.redraw();
    });
    this.canvas.addEventListener("keydown", (event) => {
      this.key(event);
    });
    new ResizeObserver(() => {
      this.redraw();
    }).observe(this.element);
  }

  show(tree: CallTree): void {
    this.tree = tree;
    const children = childLists(tree);
    this.offset = children.offset;
    this.list = children.list;
    this.zoomed = 0;
    this.focus = -1;
    this.hover = -1;
    this.search(this.query);
  }

  /** Marks functions whose name or module contains the text; returns their share of the time. */
  search(query: string): number {
    this.query = query.toLowerCase();
    this.matches = null;
    let matched = 0;
    if (this.query && this.tree) {
      const functions = this.options.functions.map(
        (func) => func.name.toLowerCase().includes(this.query) || func.module.toLowerCase().includes(this.query),
      );
      this.matches = new Uint8Array(this.tree.count);
      const inside = new Uint8Array(this.tree.count);
      for (let i = 1; i < this.tree.count; i++) {
        this.matches[i] = functions[this.tree.func[i]] ? 1 : 0;
        inside[i] = inside[this.tree.parent[i]] | this.matches[i];
        if (inside[i] && !inside[this.tree.parent[i]]) matched += this.tree.total[i];
      }
    }
    this.redraw();
    return this.tree?.total[0] ? matched / this.tree.total[0] : 0;
  }

  private zoom(node: number): void {
    this.zoomed = node;
    this.focus = node;
    this.announce(node);
    this.redraw();
  }

  private children(node: number): Uint32Array {
    return this.list.subarray(this.offset[node], this.offset[node + 1]);
  }

  /** The widths of a comparison are those of what is compared; what is gone from it has none. */
  private layout(width: number): void {
    const tree = this.tree!;
    const boxes: Box[] = [];
    const path: number[] = [];
    for (let node = this.zoomed; node; node = tree.parent[node]) path.push(node);
    path.push(0);
    path.reverse();
    path.forEach((node, row) => boxes.push({ node, x: 0, width, row }));
    let rows = path.length;
    const whole = tree.total[this.zoomed];
    const walk: Box[] = [boxes[boxes.length - 1]];
    for (let box = walk.pop(); box && whole > 0; box = walk.pop()) {
      let x = box.x;
      for (const child of this.children(box.node)) {
        const size = (tree.total[child] / whole) * width;
        if (size < MIN_WIDTH) break;
        const next = { node: child, x, width: size, row: box.row + 1 };
        boxes.push(next);
        walk.push(next);
        rows = Math.max(rows, next.row + 1);
        x += size;
      }
    }
    this.boxes = boxes;
    this.rows = rows;
  }

  private y(row: number): number {
    return this.upwards ? (this.rows - 1 - row) * ROW : row * ROW;
  }

  private colour(node: number): string {
    const colours = theme();
    const tree = this.tree!;
    if (node === 0) return colours.sunken;
    const func = this.options.functions[tree.func[node]];
    if (this.matches)
      return this.matches[node] ? colours.select : mix(colours.sunken, this.options.colours.of(func), 0.2);
    if (!tree.base) return this.options.colours.of(func);
    const more = tree.total[node] - tree.base[node];
    const size = Math.min(1, Math.abs(more) / Math.max(tree.total[node], tree.base[node], 1));
    return mix(colours.same, more > 0 ? colours.more : colours.less, Math.sqrt(size));
  }

  private draw(): void {
    const width = this.element.clientWidth;
    if (!width || !this.tree) return;
    this.layout(width);
    const atRoot = this.upwards && this.rows !== this.rowsBefore;
    this.rowsBefore = this.rows;
    const context = fitCanvas(this.canvas, width, this.rows * ROW + 1);
    this.element.style.maxHeight = `${HEIGHT}px`;
    if (atRoot) this.element.scrollTop = this.element.scrollHeight;
    const colours = theme();
    context.clearRect(0, 0, width, this.rows * ROW + 1);
    context.font = "11.5px system-ui, sans-serif";
    context.textBaseline = "middle";
    for (const box of this.boxes) this.drawBox(context, box);
    const marked = this.boxes.find((box) => box.node === this.focus && document.activeElement === this.canvas);
    if (marked) {
      context.strokeStyle = colours.accent;
      context.lineWidth = 2;
      context.strokeRect(marked.x + 1, this.y(marked.row) + 1, Math.max(2, marked.width - 2), ROW - 3);
    }
  }

  private drawBox(context: CanvasRenderingContext2D, box: Box): void {
    const colours = theme();
    const y = this.y(box.row);
    const node = box.node;
    const func = node ? this.options.functions[this.tree!.func[node]] : null;
    const gap = box.width > 2 ? 1 : 0;
    context.globalAlpha = node && this.isAncestor(node) ? 0.6 : 1;
    context.fillStyle = this.colour(node);
    context.fillRect(box.x, y, box.width - gap, ROW - 1);
    if (func && func.flags & SPECIAL) hatch(context, box.x, y, box.width - gap, ROW - 1, colours.bad);
    if (node === this.hover) {
      context.fillStyle = colours.text;
      context.globalAlpha = 0.14;
      context.fillRect(box.x, y, box.width - gap, ROW - 1);
      context.globalAlpha = 1;
    }
    if (box.width > 26) {
      context.fillStyle = node && !this.matches && !(func && func.flags & SPECIAL) ? colours.flameText : colours.text;
      const name = node === 0 ? this.rootText() : visible(func!.name);
      const room = Math.floor((box.width - 7) / 5.4);
      const text = name.length > room * 1.6 ? `${name.slice(0, Math.floor(room * 1.6))}…` : name;
      context.save();
      context.beginPath();
      context.rect(box.x, y, box.width - 4, ROW - 1);
      context.clip();
      context.fillText(text, box.x + 4, y + ROW / 2);
      context.restore();
    }
    context.globalAlpha = 1;
  }

  private isAncestor(node: number): boolean {
    if (node === this.zoomed) return false;
    for (let up = this.zoomed; up; up = this.tree!.parent[up]) if (this.tree!.parent[up] === node) return true;
    return false;
  }

  private rootText(): string {
    return `all · ${duration(this.tree!.total[0])}`;
  }

  describe(node: number): string {
    const tree = this.tree!;
    const name = node === 0 ? "all" : visible(this.options.functions[tree.func[node]].name);
    const module = node === 0 ? "" : visible(this.options.functions[tree.func[node]].module);
    const of = tree.total[0] ? tree.total[node] / tree.total[0] : 0;
    return `${name}${module ? `, ${module}` : ""}: ${duration(tree.total[node])}, ${share(of)}`;
  }

  private announce(node: number): void {
    this.live.textContent = this.describe(node);
  }

  private boxAt(event: MouseEvent): Box | undefined {
    const bounds = this.canvas.getBoundingClientRect();
    const x = event.clientX - bounds.left;
    const y = event.clientY - bounds.top;
    return this.boxes.find((box) => {
      const top = this.y(box.row);
      return y >= top && y < top + ROW && x >= box.x && x < box.x + box.width;
    });
  }

  private moved(event: MouseEvent): void {
    const box = this.boxAt(event);
    const node = box ? box.node : -1;
    if (node !== this.hover) {
      this.hover = node;
      this.redraw();
    }
    this.canvas.style.cursor = box ? "pointer" : "default";
    if (!box || !this.tree) {
      hideTip();
      return;
    }
    const tree = this.tree;
    const func = node ? this.options.functions[tree.func[node]] : null;
    const whole = tree.total[0] || 1;
    showTip(
      event.clientX,
      event.clientY,
      h("div", { class: "tip-title" }, func ? visible(func.name) : "all"),
      func?.module ? h("div", { class: "tip-dim" }, visible(func.module)) : null,
      h(
        "div",
        null,
        `${duration(tree.total[node])} · ${share(tree.total[node] / whole)}`,
        tree.self[node] > 0 ? ` · self ${duration(tree.self[node])}` : null,
      ),
      tree.base
        ? h(
            "div",
            null,
            `ordinary frames: ${duration(tree.base[node])} (${tree.base[node] < tree.total[node] ? "+" : "−"}${duration(Math.abs(tree.total[node] - tree.base[node]))})`,
          )
        : null,
    );
  }

  private key(event: KeyboardEvent): void {
    const tree = this.tree;
    if (!tree) return;
    const at = this.focus < 0 ? this.zoomed : this.focus;
    const siblings = at ? this.children(tree.parent[at]) : new Uint32Array(0);
    const place = siblings.indexOf(at);
    const deeper = this.upwards ? "ArrowUp" : "ArrowDown";
    const back = this.upwards ? "ArrowDown" : "ArrowUp";
    let next = at;
    if (event.key === deeper) next = this.children(at).at(0) ?? at;
    else if (event.key === back) next = tree.parent[at];
    else if (event.key === "ArrowRight") next = siblings.at(place + 1) ?? at;
    else if (event.key === "ArrowLeft") next = place > 0 ? siblings[place - 1] : at;
    else if (event.key === "Enter") {
      this.zoom(at);
      event.preventDefault();
      return;
    } else if (event.key === "Escape") {
      this.zoom(tree.parent[this.zoomed]);
      event.preventDefault();
      return;
    } else return;
    event.preventDefault();
    this.focus = next;
    this.announce(next);
    this.redraw();
  }
}

/** Diagonal lines: this is no function. */
export function hatch(
  context: CanvasRenderingContext2D,
  x: number,
  y: number,
  width: number,
  height: number,
  colour: string,
): void {
  if (width < 2) return;
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = colour;
  context.globalAlpha = 0.55;
  context.lineWidth = 1;
  context.beginPath();
  for (let at = x - height; at < x + width; at += 6) {
    context.moveTo(at, y + height);
    context.lineTo(at + height, y);
  }
  context.stroke();
  context.restore();
}
