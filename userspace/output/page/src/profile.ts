// Where time went: weights of stacks for a choice of time, and the trees and lists made from them.
import { SPECIAL, type Lanes, type Model, type StackTimes, type ThreadSamples, type Tree } from "./model";
import { BLOCKED } from "./states";

export type Span = "all" | "slow" | "diff" | "range" | "frame";

/** "cpu": running; "off": blocked of any kind; a number: waiting in that state. */
export type TimeKind = "cpu" | "off" | number;

export interface Choice {
  span: Span;
  time: TimeKind;
  thread: number; // -1: all
  from: number; // of a range or frame, us
  to: number;
}

export interface Weights {
  /** ns by stack. */
  ns: Float64Array;
  /** For comparisons: what to compare with, scaled to the same length of time. */
  base: Float64Array | null;
  total: number;
  /** Of a range: the share of it of which waits are kept. */
  kept?: number;
}

function wanted(choice: Choice, state: number): boolean {
  if (choice.time === "cpu") return state === 0;
  if (choice.time === "off") return BLOCKED.includes(state);
  return state === choice.time;
}

function addTimes(times: StackTimes, choice: Choice, stacks: number): { all: Float64Array; slow: Float64Array } {
  const all = new Float64Array(stacks);
  const slow = new Float64Array(stacks);
  for (let i = 0; i < times.ns.length; i++) {
    if (!wanted(choice, times.state[i])) continue;
    if (choice.thread >= 0 && times.thread[i] !== choice.thread) continue;
    all[times.stack[i]] += times.ns[i];
    slow[times.stack[i]] += times.slowNs[i];
  }
  return { all, slow };
}

/** First index whose time is not before `us`. */
export function lowerBound(times: ArrayLike<number>, us: number): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] < us) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function addSamples(out: Float64Array, samples: ThreadSamples[], from: number, to: number, thread = -1): void {
  for (const one of samples) {
    if (thread >= 0 && one.thread !== thread) continue;
    const end = lowerBound(one.time, to);
    for (let i = lowerBound(one.time, from); i < end; i++) out[one.stack[i]] += one.weight[i];
  }
}

/** Adds waits of a part of time; returns how much of that part is kept piece by piece, us. */
export function addWaits(out: Float64Array, lanes: Lanes, choice: Choice): number {
  for (const lane of lanes.lanes) {
    if (choice.thread >= 0 && lane.thread !== choice.thread) continue;
    for (const pieces of lane.windows) {
      if (pieces.to <= choice.from || pieces.from >= choice.to) continue;
      for (let i = lowerBound(pieces.end, choice.from); i < pieces.end.length; i++) {
        const start = i ? pieces.end[i - 1] : pieces.from;
        if (start >= choice.to) break;
        if (pieces.stack[i] < 0 || !wanted(choice, pieces.state[i])) continue;
        out[pieces.stack[i]] += Math.max(0, Math.min(choice.to, pieces.end[i]) - Math.max(choice.from, start)) * 1000;
      }
    }
  }
  let kept = 0;
  lanes.windowFrom.forEach(
    (from, i) => (kept += Math.max(0, Math.min(choice.to, lanes.windowTo[i]) - Math.max(choice.from, from))),
  );
  return kept;
}

function sum(values: Float64Array): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/** Time in slow frames and in ordinary ones, us. */
function frameTimes(model: Model): { slow: number; ordinary: number } {
  const { start, end, slow, count } = model.frames;
  const times = { slow: 0, ordinary: 0 };
  for (let i = 0; i < count; i++) times[slow[i] ? "slow" : "ordinary"] += end[i] - start[i];
  return times;
}

export function weigh(model: Model, samples: ThreadSamples[], lanes: Lanes | null, choice: Choice): Weights {
  const stacks = model.tree.leaf.length;
  if (choice.span === "range" || choice.span === "frame") {
    const ns = new Float64Array(stacks);
    let kept = choice.to - choice.from;
    if (choice.time === "cpu") addSamples(ns, samples, choice.from, choice.to, choice.thread);
    else kept = lanes ? addWaits(ns, lanes, choice) : 0;
    return { ns, base: null, total: sum(ns), kept: kept / Math.max(1, choice.to - choice.from) };
  }
  const { all, slow } = addTimes(model.times, choice, stacks);
  if (choice.span === "all") return { ns: all, base: null, total: sum(all) };
  if (choice.span === "slow") return { ns: slow, base: null, total: sum(slow) };
  const times = frameTimes(model);
  const scale = times.ordinary > 0 ? times.slow / times.ordinary : 0;
  const base = all.map((ns, i) => Math.max(0, ns - slow[i]) * scale);
  return { ns: slow, base, total: sum(slow) };
}

/** A call tree with times; node 0 is the root, parents come before children. */
export interface CallTree {
  parent: ArrayLike<number>;
  func: ArrayLike<number>; // of the root: -1 or nothing
  total: Float64Array;
  self: Float64Array;
  base: Float64Array | null;
  count: number;
}

function spread(tree: Tree, stackNs: Float64Array): { self: Float64Array; total: Float64Array } {
  const self = new Float64Array(tree.count);
  for (let i = 0; i < stackNs.length; i++) self[tree.leaf[i]] += stackNs[i];
  const total = self.slice();
  for (let i = tree.count - 1; i > 0; i--) total[tree.parent[i]] += total[i];
  return { self, total };
}

export function callTree(tree: Tree, weights: Weights): CallTree {
  const { self, total } = spread(tree, weights.ns);
  return {
    parent: tree.parent,
    func: tree.func,
    self,
    total,
    base: weights.base ? spread(tree, weights.base).total : null,
    count: tree.count,
  };
}

/** Grows a tree by paths; equal paths are one. */
class TreeBuilder {
  parent = [0];
  func = [-1];
  self = [0];
  private index = new Map<number, number>();

  child(node: number, func: number): number {
    const key = node * 67108864 + func; // 2^26 functions are enough for anybody
    const known = this.index.get(key);
    if (known !== undefined) return known;
    const made = this.parent.length;
    this.parent.push(node);
    this.func.push(func);
    this.self.push(0);
    this.index.set(key, made);
    return made;
  }

  finish(): CallTree {
    const self = Float64Array.from(this.self);
    const total = self.slice();
    for (let i = total.length - 1; i > 0; i--) total[this.parent[i]] += total[i];
    return { parent: this.parent, func: this.func, self, total, base: null, count: total.length };
  }
}

/** Callers of a function (root: the function itself, children call it), and what it calls. */
export function sandwich(tree: Tree, ns: Float64Array, func: number): { callers: CallTree; callees: CallTree } {
  const callers = new TreeBuilder();
  const callees = new TreeBuilder();
  for (let stack = 0; stack < ns.length; stack++) {
    if (!ns[stack]) continue;
    let outermost = -1;
    const path: number[] = [];
    for (let node = tree.leaf[stack]; node; node = tree.parent[node]) {
      path.push(node);
      if (tree.func[node] === func) outermost = path.length - 1;
    }
    if (outermost < 0) continue;
    let up = callers.child(0, func);
    for (let i = outermost + 1; i < path.length; i++) up = callers.child(up, tree.func[path[i]]);
    callers.self[up] += ns[stack];
    let down = 0;
    for (let i = outermost; i >= 0; i--) down = callees.child(down, tree.func[path[i]]);
    callees.self[down] += ns[stack];
  }
  return { callers: callers.finish(), callees: callees.finish() };
}

/** All stacks from the leaf: who spends the time, and by whom it was called. */
export function inverted(tree: Tree, ns: Float64Array): CallTree {
  const builder = new TreeBuilder();
  for (let stack = 0; stack < ns.length; stack++) {
    if (!ns[stack]) continue;
    let at = 0;
    for (let node = tree.leaf[stack]; node; node = tree.parent[node]) at = builder.child(at, tree.func[node]);
    builder.self[at] += ns[stack];
  }
  return builder.finish();
}

export interface HotRow {
  func: number;
  self: number;
  total: number;
  baseSelf: number;
  baseTotal: number;
}

/** As userspace/analyze/hot.c counts: a function's own time is that of the function that the innermost code is in, what
 * was inlined there has a total only; recursion counts once. */
export function hotList(model: Model, weights: Weights): HotRow[] {
  const { tree, functions } = model;
  const self = [new Float64Array(functions.length), new Float64Array(functions.length)];
  const total = [new Float64Array(functions.length), new Float64Array(functions.length)];
  const seen = new Int32Array(functions.length).fill(-1);
  for (let stack = 0; stack < weights.ns.length; stack++) {
    const ns = weights.ns[stack];
    const base = weights.base ? weights.base[stack] : 0;
    if (!ns && !base) continue;
    let leaf = true;
    for (let node = tree.leaf[stack]; node; node = tree.parent[node]) {
      const func = tree.func[node];
      if (functions[func].flags & SPECIAL) continue;
      if (leaf && !tree.inlined[node]) {
        self[0][func] += ns;
        self[1][func] += base;
        leaf = false;
      }
      if (seen[func] === stack) continue;
      seen[func] = stack;
      total[0][func] += ns;
      total[1][func] += base;
    }
  }
  const rows: HotRow[] = [];
  for (let func = 0; func < functions.length; func++) {
    if (total[0][func] || total[1][func])
      rows.push({
        func,
        self: self[0][func],
        total: total[0][func],
        baseSelf: self[1][func],
        baseTotal: total[1][func],
      });
  }
  return rows;
}

/** Where two trees differ: the innermost functions that hold most of a difference, greatest first. */
export function differences(model: Model, weights: Weights): { func: number; ns: number; base: number }[] {
  const tree = callTree(model.tree, weights);
  if (!tree.base) return [];
  const more = tree.total.map((ns, i) => ns - tree.base![i]);
  const children = new Map<number, number[]>();
  for (let i = 1; i < tree.count; i++) {
    if (!tree.total[i] && !tree.base[i]) continue;
    const list = children.get(tree.parent[i]);
    if (list) list.push(i);
    else children.set(tree.parent[i], [i]);
  }
  const found = new Map<number, { func: number; ns: number; base: number }>();
  const least = Math.max(50e3, Math.abs(more[0]) * 0.04);
  const open = [0];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const below = children.get(node) ?? [];
    const greatest = below.reduce(
      (best, child) => (Math.abs(more[child]) > Math.abs(more[best]) ? child : best),
      below.length ? below[0] : node,
    );
    if (below.length && Math.abs(more[greatest]) >= 0.75 * Math.abs(more[node])) {
      open.push(...below.filter((child) => child === greatest || Math.abs(more[child]) >= least));
      continue;
    }
    if (node && !(model.functions[tree.func[node]].flags & SPECIAL)) {
      const func = tree.func[node];
      const known = found.get(func) ?? { func, ns: 0, base: 0 };
      known.ns += tree.total[node];
      known.base += tree.base[node];
      found.set(func, known);
    } else open.push(...below.filter((child) => Math.abs(more[child]) >= least));
  }
  return [...found.values()].sort((a, b) => Math.abs(b.ns - b.base) - Math.abs(a.ns - a.base));
}
