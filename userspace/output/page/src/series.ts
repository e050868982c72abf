// Clocks of CPU clusters and counters, each with its own unit and axis, over the timeline's part of time.
import uPlot from "uplot";
import { h } from "./dom";
import { bytes, hertz, moment } from "./format";
import type { Lanes, Model } from "./model";
import type { Store } from "./store";
import { theme } from "./theme";

const HEIGHT = 74;

interface Line {
  label: string;
  values: (number | null)[];
  colour: number; // of the modules
  step: boolean;
}

interface Chart {
  name: string;
  x: number[];
  lines: Line[];
  unit: (value: number) => string;
  zero: boolean;
}

function clocks(lanes: Lanes, length: number): Chart[] {
  if (!lanes.clusters.length) return [];
  const steps = lanes.clusters[0].mean.length;
  const x = Array.from({ length: steps }, (_, i) => ((i + 0.5) / steps) * length);
  const known = (values: Float64Array): (number | null)[] => Array.from(values, (khz) => (khz > 0 ? khz : null));
  return [
    {
      name: "CPU clock",
      x,
      unit: hertz,
      zero: true,
      lines: lanes.clusters.flatMap((cluster, i) => {
        const cpus = cluster.cpus.length > 4 ? `${cluster.cpus.length} CPUs` : `CPU ${cluster.cpus.join(", ")}`;
        return [
          { label: `${cpus} (up to ${hertz(cluster.maxKhz)})`, values: known(cluster.mean), colour: i * 2, step: true },
          { label: `${cpus}, lowest`, values: known(cluster.low), colour: i * 2, step: true },
        ];
      }),
    },
  ];
}

const COUNTERS: { name: string; unit: (value: number) => string; line: (index: number, model: Model) => string }[] = [
  { name: "memory", unit: bytes, line: (index) => `resident, process ${index}` },
  { name: "temperature", unit: (value) => `${(value / 1000).toFixed(1)} °C`, line: (index) => `zone ${index}` },
  { name: "power", unit: (value) => `${(value / 1e6).toFixed(2)} W`, line: (index) => `rail ${index}` },
];

function counters(lanes: Lanes, model: Model): Chart[] {
  const charts: Chart[] = [];
  COUNTERS.forEach((kind, number) => {
    const of = lanes.counters.filter((counter) => counter.counter === number);
    if (!of.length) return;
    const x = [...new Set(of.flatMap((counter) => counter.time_us))].sort((a, b) => a - b);
    const place = new Map(x.map((time, i) => [time, i]));
    charts.push({
      name: kind.name,
      x,
      unit: kind.unit,
      zero: number !== 1,
      lines: of.slice(0, 8).map((counter, i) => {
        const values: (number | null)[] = new Array<null>(x.length).fill(null);
        counter.time_us.forEach((time, k) => (values[place.get(time)!] = counter.value[k]));
        return { label: kind.line(counter.index, model), values, colour: i, step: false };
      }),
    });
  });
  return charts;
}

export class Series {
  readonly element: HTMLElement;
  private plot: uPlot | null = null;
  private box: HTMLElement;

  static all(lanes: Lanes, model: Model, store: Store): Series[] {
    return [...clocks(lanes, store.length), ...counters(lanes, model)].map((chart) => new Series(chart, store));
  }

  private constructor(
    private chart: Chart,
    private store: Store,
  ) {
    this.box = h("div", { class: "series-plot", role: "img", "aria-label": this.describe() });
    this.element = h("div", { class: "tl-row" }, h("div", { class: "tl-side" }, chart.name), this.box);
    new ResizeObserver(() => {
      this.build();
    }).observe(this.box);
    store.on("view", () => {
      this.plot?.setScale("x", { min: store.view.from, max: store.view.to });
    });
    store.on("theme", () => {
      this.plot?.destroy();
      this.plot = null;
      this.build();
    });
  }

  private describe(): string {
    const ranges = this.chart.lines.map((line) => {
      const known = line.values.filter((value) => value !== null);
      const low = known.reduce((a, b) => Math.min(a, b), Infinity);
      const high = known.reduce((a, b) => Math.max(a, b), -Infinity);
      return known.length ? `${line.label} from ${this.chart.unit(low)} to ${this.chart.unit(high)}` : line.label;
    });
    return `${this.chart.name}: ${ranges.join("; ")}`;
  }

  private build(): void {
    const width = this.box.clientWidth;
    if (!width) return;
    if (this.plot) {
      this.plot.setSize({ width, height: HEIGHT });
      return;
    }
    const colours = theme();
    const { chart } = this;
    const axis = { stroke: colours.dim, grid: { stroke: colours.grid, width: 1 }, ticks: { show: false } };
    this.plot = new uPlot(
      {
        width,
        height: HEIGHT,
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, y: false },
        padding: [4, 0, 4, 0],
        scales: {
          x: { time: false, min: this.store.view.from, max: this.store.view.to, auto: false },
          y: { range: (_, low, high) => [chart.zero ? 0 : low - (high - low) * 0.1 - 1, high * 1.06 + 1] },
        },
        axes: [
          { ...axis, show: false },
          { ...axis, side: 1, size: 0, values: () => [], space: 24 },
        ],
        series: [
          { value: (_, us: number | null) => (us === null ? "" : moment(us, 1000)) },
          ...chart.lines.map((line) => ({
            label: line.label,
            stroke: colours.modules[line.colour % colours.modules.length],
            width: line.label.endsWith("lowest") ? 0.6 : 1.4,
            spanGaps: !line.step,
            points: { show: line.values.filter((value) => value !== null).length < 3 },
            ...(line.step && uPlot.paths.stepped ? { paths: uPlot.paths.stepped({ align: 1 }) } : {}),
          })),
        ],
        hooks: {
          draw: [
            (plot) => {
              this.drawAxis(plot);
            },
          ],
        },
      },
      [chart.x, ...chart.lines.map((line) => line.values)],
      this.box,
    );
  }

  /** The axis is written inside, so that all rows of the timeline share one width. */
  private drawAxis(plot: uPlot): void {
    const colours = theme();
    const { max } = plot.scales.y;
    if (max === undefined) return;
    const ratio = window.devicePixelRatio || 1;
    plot.ctx.save();
    plot.ctx.font = `${11 * ratio}px system-ui, sans-serif`;
    plot.ctx.fillStyle = colours.dim;
    plot.ctx.textBaseline = "top";
    plot.ctx.fillText(this.chart.unit(max / 1.06), 3 * ratio, plot.bbox.top + 2);
    plot.ctx.textAlign = "right";
    this.chart.lines
      .filter((line) => !line.label.endsWith("lowest"))
      .slice(0, 4)
      .forEach((line, i) => {
        const right = plot.bbox.left + plot.bbox.width - 4 * ratio;
        const top = plot.bbox.top + (2 + i * 13) * ratio;
        plot.ctx.lineWidth = 3 * ratio;
        plot.ctx.strokeStyle = colours.surface;
        plot.ctx.strokeText(line.label, right - 12 * ratio, top);
        plot.ctx.fillStyle = colours.text;
        plot.ctx.fillText(line.label, right - 12 * ratio, top);
        plot.ctx.fillStyle = colours.modules[line.colour % colours.modules.length];
        plot.ctx.fillRect(right - 8 * ratio, top + 2 * ratio, 8 * ratio, 8 * ratio);
      });
    plot.ctx.restore();
  }
}
