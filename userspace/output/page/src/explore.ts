// Where time goes: flame graph, icicle, hot list, callers and callees, over a choice of time, thread and kind.
import { h, replace, type Child } from "./dom";
import { Flame } from "./flame";
import { duration, ms, share, signedMs, threadName, visible } from "./format";
import { SPECIAL, type Lanes, type Model, type ThreadSamples } from "./model";
import {
  callTree,
  hotList,
  inverted,
  sandwich,
  weigh,
  type Choice,
  type HotRow,
  type Span,
  type TimeKind,
  type Weights,
} from "./profile";
import { BLOCKED, PREEMPTED, RUNNABLE, STATES } from "./states";
import type { Store } from "./store";
import type { ModuleColours } from "./theme";

type View = "flame" | "icicle" | "callers" | "hot" | "sandwich";

const VIEWS: [View, string][] = [
  ["flame", "Flame graph"],
  ["icicle", "Icicle"],
  ["callers", "By leaf"],
  ["hot", "Hot list"],
  ["sandwich", "Callers & callees"],
];
const HOT_ROWS = 60;

export class Explore {
  readonly element: HTMLElement;
  private view: View = "flame";
  private choice: Choice = { span: "all", time: "cpu", thread: -1, from: 0, to: 0 };
  private picked = -1;
  private query = "";
  private sort: "self" | "total" | "more" = "self";
  private rows = HOT_ROWS;
  private body = h("div", { class: "explore-body" });
  private status = h("div", { class: "note", "aria-live": "polite" });
  private spanSelect: HTMLSelectElement;
  private tabs = new Map<View, HTMLButtonElement>();
  private flames: Flame[] = [];
  private weights: Weights | null = null;

  constructor(
    private model: Model,
    private store: Store,
    private data: { samples: ThreadSamples[] | null; lanes: Lanes | null },
    private colours: ModuleColours,
  ) {
    this.spanSelect = this.select("Time", this.spans(), (value) => {
      this.choice.span = value as Span;
      this.update();
    });
    this.spanSelect.id = "span";
    this.element = h(
      "section",
      { class: "panel explore", id: "functions", "aria-label": "Functions" },
      this.toolbar(),
      this.status,
      this.body,
      this.legend(),
    );
    store.on("range", () => {
      this.fillSpans();
      if (store.range) this.choose("range");
      else if (this.choice.span === "range") this.choose("all");
    });
    store.on("frame", () => {
      this.fillSpans();
      if (this.choice.span === "frame") this.choose(store.frame >= 0 ? "frame" : "all");
    });
    store.on("samples", () => {
      this.update();
    });
    this.update();
  }

  private spans(): [string, string][] {
    const spans: [string, string][] = [["all", "everything"]];
    if (this.model.slowFrames.length)
      spans.push(["slow", "slow frames only"], ["diff", "slow frames against ordinary"]);
    const { range, frame } = this.store;
    if (range) spans.push(["range", `selected ${duration((range.to - range.from) * 1000)}`]);
    if (frame >= 0) spans.push(["frame", `frame ${frame}`]);
    return spans;
  }

  private fillSpans(): void {
    replace(
      this.spanSelect,
      this.spans().map(([value, text]) => h("option", { value }, text)),
    );
    this.spanSelect.value = this.choice.span;
  }

  private choose(span: Span): void {
    this.choice.span = span;
    this.spanSelect.value = span;
    this.update();
  }

  private select(label: string, options: [string, string][], act: (value: string) => void): HTMLSelectElement {
    const element = h(
      "select",
      {
        "aria-label": label,
        change: () => {
          act(element.value);
        },
      },
      options.map(([value, text]) => h("option", { value }, text)),
    );
    return element;
  }

  private toolbar(): HTMLElement {
    const { times, threads } = this.model;
    const states = new Set(times.state);
    const kinds: [string, string][] = [["cpu", "CPU time"]];
    if (BLOCKED.some((state) => states.has(state))) kinds.push(["off", "blocked, all kinds"]);
    for (const state of [...BLOCKED, RUNNABLE, PREEMPTED])
      if (states.has(state)) kinds.push([String(state), STATES[state].name]);
    const used = [...new Set(times.thread)].sort((a, b) => a - b);
    const thread = this.select(
      "Thread",
      [["-1", "all threads"], ...used.map((one): [string, string] => [String(one), threadName(threads[one])])],
      (value) => {
        this.choice.thread = Number(value);
        this.update();
      },
    );
    thread.id = "thread";
    const kind = this.select("Kind of time", kinds, (value) => {
      this.choice.time = value === "cpu" || value === "off" ? value : (Number(value) as TimeKind);
      this.update();
    });
    kind.id = "kind";
    const search = h("input", {
      type: "search",
      id: "search",
      placeholder: "search functions and modules",
      "aria-label": "Search functions and modules",
      input: () => {
        this.query = search.value;
        this.find();
      },
    });
    const tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "View" });
    for (const [view, text] of VIEWS) {
      const tab = h(
        "button",
        {
          type: "button",
          role: "tab",
          id: `tab-${view}`,
          "aria-selected": String(view === this.view),
          click: () => {
            this.show(view);
          },
        },
        text,
      );
      this.tabs.set(view, tab);
      tabs.append(tab);
    }
    return h(
      "header",
      { class: "panel-head" },
      h("h2", null, "Functions"),
      tabs,
      h("div", { class: "tools" }, this.spanSelect, kind, thread, search),
    );
  }

  private show(view: View): void {
    this.view = view;
    for (const [name, tab] of this.tabs) tab.setAttribute("aria-selected", String(name === view));
    this.draw();
  }

  private pick(func: number): void {
    this.picked = func;
    this.show("sandwich");
  }

  update(): void {
    const { range, frame } = this.store;
    if (this.choice.span === "range" && range) Object.assign(this.choice, range);
    if (this.choice.span === "frame" && frame >= 0) {
      this.choice.from = this.model.frames.start[frame];
      this.choice.to = this.model.frames.end[frame];
    }
    this.rows = HOT_ROWS;
    this.weights = weigh(this.model, this.data.samples ?? [], this.data.lanes, this.choice);
    this.draw();
  }

  private nothing(): Child {
    const ranged = this.choice.span === "range" || this.choice.span === "frame";
    if (ranged && (this.weights?.kept ?? 1) < 0.01)
      return h(
        "p",
        { class: "nothing" },
        "In a recording this long, single waits are kept around its slowest frames only.",
      );
    if (ranged && !this.data.samples) return h("p", { class: "dim" }, "Reading samples …");
    return h(
      "p",
      { class: "nothing" },
      this.model.tree.leaf.length ? "No such time here." : `No samples were ${this.model.kept}.`,
    );
  }

  private draw(): void {
    const weights = this.weights;
    this.flames = [];
    if (!this.model.tree.leaf.length && this.model.report.hot?.length) {
      replace(this.body, this.kept());
      this.status.textContent = "This session keeps functions over the whole recording, and no stacks.";
      return;
    }
    if (!weights || (weights.total <= 0 && !weights.base)) {
      replace(this.body, this.nothing());
      this.status.textContent = "";
      return;
    }
    if (this.view === "hot") replace(this.body, this.hot(weights));
    else if (this.view === "sandwich") replace(this.body, this.sandwich(weights));
    else {
      const tree = this.view === "callers" ? inverted(this.model.tree, weights.ns) : callTree(this.model.tree, weights);
      const flame = this.flame(VIEWS.find(([view]) => view === this.view)![1], this.view === "flame");
      flame.show(tree);
      replace(this.body, flame.element);
    }
    this.find();
  }

  private flame(label: string, upwards: boolean): Flame {
    const flame = new Flame({
      functions: this.model.functions,
      colours: this.colours,
      label,
      upwards,
      onPick: (func) => {
        this.pick(func);
      },
    });
    this.flames.push(flame);
    return flame;
  }

  private find(): void {
    if (!this.model.tree.leaf.length && this.model.report.hot?.length) {
      replace(this.body, this.kept());
      return;
    }
    const shares = this.flames.map((flame) => flame.search(this.query));
    if (this.query && this.flames.length)
      this.status.textContent = `“${visible(this.query)}”: ${share(shares[0])} of the time`;
    else this.status.textContent = this.explain();
    if (this.view === "hot") replace(this.body, this.hot(this.weights!));
  }

  /** Functions of a session without stacks. */
  private kept(): Child {
    const query = this.query.toLowerCase();
    const list = (this.choice.span === "slow" ? this.model.report.hot_slow : this.model.report.hot) ?? [];
    const rows = list.filter(
      (row) => row.function.toLowerCase().includes(query) || row.module.toLowerCase().includes(query),
    );
    return h(
      "div",
      { class: "scroll" },
      h(
        "table",
        { class: "hot", id: "hot" },
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            ["self", "self ms", "total", "total ms"].map((name) => h("th", { class: "num" }, name)),
            h("th", null, "function"),
            h("th", null, "module"),
          ),
        ),
        h(
          "tbody",
          null,
          rows
            .slice(0, HOT_ROWS * 4)
            .map((row) =>
              h(
                "tr",
                null,
                h("td", { class: "num meter", style: `--share:${Math.min(1, row.self_share)}` }, share(row.self_share)),
                h("td", { class: "num" }, ms(row.self_ns)),
                h("td", { class: "num" }, share(row.total_share)),
                h("td", { class: "num" }, ms(row.total_ns)),
                h("td", { class: "name" }, visible(row.function)),
                h("td", { class: "dim" }, visible(row.module)),
              ),
            ),
        ),
      ),
    );
  }

  private explain(): string {
    const weights = this.weights!;
    const what = this.choice.time === "cpu" ? "CPU time" : "waiting";
    if (weights.base)
      return `${duration(weights.total)} of ${what} in slow frames; red: more of it than ordinary frames have in as much time, blue: less.`;
    if ((weights.kept ?? 1) < 0.99)
      return `${duration(weights.total)} of ${what}, in the ${share(weights.kept)} of this range of which single waits are kept.`;
    return `${duration(weights.total)} of ${what}. Click zooms, double click shows callers and callees.`;
  }

  // ---- lists ----

  private matching(rows: HotRow[]): HotRow[] {
    const query = this.query.toLowerCase();
    if (!query) return rows;
    return rows.filter((row) => {
      const func = this.model.functions[row.func];
      return func.name.toLowerCase().includes(query) || func.module.toLowerCase().includes(query);
    });
  }

  private hot(weights: Weights): HTMLElement {
    const compare = weights.base !== null;
    const sort = this.sort === "more" && !compare ? "self" : this.sort;
    const value = (row: HotRow): number =>
      sort === "self" ? row.self : sort === "total" ? row.total : Math.abs(row.total - row.baseTotal);
    const rows = this.matching(hotList(this.model, weights)).sort(
      (a, b) => value(b) - value(a) || b.total - a.total || a.func - b.func,
    );
    const head = (key: "self" | "total" | "more", text: string): HTMLElement =>
      h(
        "th",
        { class: "num", "aria-sort": sort === key ? "descending" : "none" },
        h(
          "button",
          {
            type: "button",
            class: "link",
            click: () => {
              this.sort = key;
              this.draw();
            },
          },
          text,
        ),
      );
    const columns = [
      head("self", "self"),
      h("th", { class: "num" }, "self ms"),
      head("total", "total"),
      h("th", { class: "num" }, "total ms"),
    ];
    if (compare) columns.push(h("th", { class: "num" }, "ordinary"), head("more", "more"));
    return h(
      "div",
      { class: "scroll" },
      h(
        "table",
        { class: "hot", id: "hot" },
        h("thead", null, h("tr", null, columns, h("th", null, "function"), h("th", null, "module"))),
        h(
          "tbody",
          null,
          rows.slice(0, this.rows).map((row) => this.hotRow(row, weights, compare)),
        ),
      ),
      rows.length > this.rows
        ? h(
            "button",
            {
              type: "button",
              click: () => {
                this.rows *= 4;
                this.draw();
              },
            },
            `show more of ${rows.length}`,
          )
        : null,
    );
  }

  private hotRow(row: HotRow, weights: Weights, compare: boolean): HTMLElement {
    const func = this.model.functions[row.func];
    const whole = weights.total || 1;
    const gone = row.total === 0 ? " (gone)" : row.baseTotal === 0 ? " (new)" : "";
    return h(
      "tr",
      {
        click: () => {
          this.pick(row.func);
        },
      },
      h("td", { class: "num meter", style: `--share:${Math.min(1, row.self / whole)}` }, share(row.self / whole)),
      h("td", { class: "num" }, ms(row.self)),
      h("td", { class: "num" }, share(row.total / whole)),
      h("td", { class: "num" }, ms(row.total)),
      compare
        ? [
            h("td", { class: "num dim" }, ms(row.baseTotal)),
            h(
              "td",
              { class: `num ${row.total > row.baseTotal ? "more" : "less"}` },
              signedMs(row.total - row.baseTotal) + gone,
            ),
          ]
        : null,
      h("td", { class: "name" }, h("button", { type: "button", class: "link" }, visible(func.name))),
      h(
        "td",
        { class: "dim" },
        h("span", { class: "dot", style: `background:${this.colours.of(func)}` }),
        visible(func.module),
      ),
    );
  }

  private sandwich(weights: Weights): Child {
    const rows = hotList(this.model, weights).sort((a, b) => b.self - a.self || b.total - a.total);
    if (!rows.some((row) => row.func === this.picked)) this.picked = rows[0]?.func ?? -1;
    if (this.picked < 0) return this.nothing();
    const func = this.model.functions[this.picked];
    const row = rows.find((one) => one.func === this.picked)!;
    const { callers, callees } = sandwich(this.model.tree, weights.ns, this.picked);
    const above = this.flame(`Callers of ${visible(func.name)}`, true);
    const below = this.flame(`What ${visible(func.name)} calls`, false);
    above.show(callers);
    below.show(callees);
    const options = rows
      .filter((one) => !(this.model.functions[one.func].flags & SPECIAL))
      .slice(0, 400)
      .map((one) => h("option", { value: one.func }, visible(this.model.functions[one.func].name).slice(0, 120)));
    const select = h(
      "select",
      {
        "aria-label": "Function",
        change: () => {
          this.picked = Number(select.value);
          this.draw();
        },
      },
      options,
    );
    select.value = String(this.picked);
    return [
      h(
        "div",
        { class: "sandwich-head" },
        select,
        h("b", { class: "name" }, visible(func.name)),
        h(
          "span",
          { class: "dim" },
          ` ${visible(func.module)} · self ${duration(row.self)}, total ${duration(row.total)}`,
        ),
      ),
      h("h3", null, "Callers"),
      above.element,
      h("h3", null, "Callees"),
      below.element,
    ];
  }

  private legend(): HTMLElement {
    const busiest = this.colours.ranked.slice(0, 10);
    return h(
      "div",
      { class: "legend modules", "aria-label": "Colours of modules" },
      busiest.map(({ module, share: part }) =>
        h(
          "span",
          { class: "legend-item" },
          h("span", { class: "dot", style: `background:${this.colours.module(module)}` }),
          `${visible(module)} ${share(part)}`,
        ),
      ),
      h(
        "span",
        { class: "legend-item" },
        h("span", { class: "dot hatched" }),
        "stack does not reach the thread's start",
      ),
    );
  }
}
