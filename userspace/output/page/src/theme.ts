// Colours come from the style sheet, so that light and dark are said in one place.
import { KERNEL, NAMELESS, SPECIAL, type Func, type Model } from "./model";
import { STATE_COUNT } from "./states";

export interface Theme {
  text: string;
  dim: string;
  faint: string;
  grid: string;
  surface: string;
  sunken: string;
  accent: string;
  bad: string;
  select: string;
  states: string[];
  modules: string[];
  kernel: string;
  nameless: string;
  broken: string;
  flameText: string;
  more: string;
  less: string;
  same: string;
}

let current: Theme | null = null;

export function theme(): Theme {
  if (current) return current;
  const style = getComputedStyle(document.documentElement);
  const get = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  current = {
    text: get("text"),
    dim: get("dim"),
    faint: get("faint"),
    grid: get("grid"),
    surface: get("surface"),
    sunken: get("sunken"),
    accent: get("accent"),
    bad: get("bad"),
    select: get("select"),
    states: Array.from({ length: STATE_COUNT }, (_, i) => get(`s${i}`)),
    modules: Array.from({ length: 12 }, (_, i) => get(`m${i}`)),
    kernel: get("kernel"),
    nameless: get("nameless"),
    broken: get("broken"),
    flameText: get("flame-text"),
    more: get("more"),
    less: get("less"),
    same: get("same"),
  };
  return current;
}

export function forgetTheme(): void {
  current = null;
}

/** "#rrggbb" to its parts. */
export function rgb(colour: string): [number, number, number] {
  const value = Number.parseInt(colour.slice(1), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
}

export function mix(a: string, b: string, share: number): string {
  const from = rgb(a);
  const to = rgb(b);
  const part = (i: number): string =>
    Math.round(from[i] + (to[i] - from[i]) * share)
      .toString(16)
      .padStart(2, "0");
  return `#${part(0)}${part(1)}${part(2)}`;
}

/** Which colour a module has: the busiest have colours of their own. */
export class ModuleColours {
  private index = new Map<string, number>();
  /** Modules by CPU time, busiest first, with their share. */
  readonly ranked: { module: string; share: number }[];

  constructor(model: Model) {
    const { tree, functions, times } = model;
    const sums = new Map<string, number>();
    let whole = 0;
    for (let i = 0; i < times.ns.length; i++) {
      if (times.state[i] !== 0) continue;
      const node = tree.leaf[times.stack[i]];
      const func = node ? functions[tree.func[node]] : undefined;
      const module = func && !(func.flags & SPECIAL) ? func.module : "";
      sums.set(module, (sums.get(module) ?? 0) + times.ns[i]);
      whole += times.ns[i];
    }
    sums.delete("");
    this.ranked = [...sums]
      .sort((a, b) => b[1] - a[1])
      .map(([module, ns]) => ({ module, share: whole ? ns / whole : 0 }));
    let next = 0;
    for (const { module } of this.ranked) if (!module.startsWith("[")) this.index.set(module, next++ % 12);
  }

  of(func: Func): string {
    const colours = theme();
    if (func.flags & SPECIAL) return colours.broken;
    if (func.flags & KERNEL) return colours.kernel;
    return this.module(func.module, Boolean(func.flags & NAMELESS));
  }

  module(module: string, nameless = false): string {
    const colours = theme();
    if (module === "[kernel]") return colours.kernel;
    if (module.startsWith("[")) return colours.nameless;
    let place = this.index.get(module);
    if (place === undefined) {
      place = this.index.size % 12;
      this.index.set(module, place);
    }
    const colour = colours.modules[place];
    return nameless ? mix(colour, colours.sunken, 0.45) : colour;
  }
}
