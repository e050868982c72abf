// What the parts of the page share: the part of time in view, the selected range, the selected frame.

export interface Range {
  from: number; // us
  to: number;
}

export type Topic = "view" | "range" | "frame" | "theme" | "samples";

export class Store {
  view: Range;
  range: Range | null = null;
  frame = -1;
  private listeners = new Map<Topic, (() => void)[]>();

  constructor(readonly length: number) {
    this.view = { from: 0, to: length };
  }

  on(topic: Topic, listener: () => void): void {
    const list = this.listeners.get(topic) ?? [];
    list.push(listener);
    this.listeners.set(topic, list);
  }

  emit(topic: Topic): void {
    for (const listener of this.listeners.get(topic) ?? []) listener();
  }

  /** Moves inside the recording; never closer than 20 us. */
  setView(from: number, to: number): void {
    const span = Math.min(this.length, Math.max(20, to - from));
    const start = Math.min(Math.max(0, from), this.length - span);
    if (start === this.view.from && start + span === this.view.to) return;
    this.view = { from: start, to: start + span };
    this.emit("view");
  }

  /** Zooms around a moment that keeps its place. */
  zoom(at: number, factor: number): void {
    const { from, to } = this.view;
    const span = Math.min(this.length, Math.max(20, (to - from) * factor));
    const place = (at - from) / (to - from);
    this.setView(at - place * span, at + (1 - place) * span);
  }

  pan(by: number): void {
    this.setView(this.view.from + by, this.view.to + by);
  }

  setRange(range: Range | null): void {
    this.range = range && range.to > range.from ? range : null;
    this.emit("range");
  }

  setFrame(frame: number): void {
    if (frame === this.frame) return;
    this.frame = frame;
    this.emit("frame");
  }
}
