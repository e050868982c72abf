// Lanes of states: one row of pixels per thread. Far out, shares of steps; near, each piece.
import type { Lane, Lanes, Pieces } from "./model";
import { lowerBound } from "./profile";
import type { Range } from "./store";
import { ABSENT, STATE_COUNT } from "./states";
import { rgb, theme } from "./theme";

/** Adds shares of the steps of a level to columns of pixels: [column][state]. */
function addSteps(out: Float32Array, columns: number, lane: Lane, lanes: Lanes, view: Range): void {
  if (!lane.levels.length) return;
  const columnUs = (view.to - view.from) / columns;
  let level = 0;
  let stepUs = lanes.stepUs;
  while (level + 1 < lane.levels.length && stepUs * 4 <= columnUs) {
    level++;
    stepUs *= 4;
  }
  const shares = lane.levels[level];
  const steps = shares.length / STATE_COUNT;
  const first = Math.max(0, Math.floor(view.from / stepUs));
  const last = Math.min(steps - 1, Math.floor(view.to / stepUs));
  for (let step = first; step <= last; step++) {
    const from = Math.max(0, (step * stepUs - view.from) / columnUs);
    const to = Math.min(columns, ((step + 1) * stepUs - view.from) / columnUs);
    for (let column = Math.floor(from); column < to; column++) {
      const part = (Math.min(to, column + 1) - Math.max(from, column)) / lanes.shareLevels;
      for (let state = 0; state < STATE_COUNT; state++)
        out[column * STATE_COUNT + state] += shares[step * STATE_COUNT + state] * part;
    }
  }
}

function addPieces(out: Float32Array, columns: number, pieces: Pieces, view: Range): void {
  const columnUs = (view.to - view.from) / columns;
  const firstColumn = Math.max(0, Math.floor((pieces.from - view.from) / columnUs));
  const lastColumn = Math.min(columns, Math.ceil((pieces.to - view.from) / columnUs));
  if (lastColumn <= firstColumn) return;
  // columns that the window fills are drawn from its pieces alone
  const whole = Math.ceil((pieces.from - view.from) / columnUs);
  for (let column = Math.max(0, whole); column < lastColumn; column++)
    out.fill(0, column * STATE_COUNT, (column + 1) * STATE_COUNT);
  let i = lowerBound(pieces.end, Math.max(view.from, pieces.from));
  for (; i < pieces.end.length; i++) {
    const start = i ? pieces.end[i - 1] : pieces.from;
    if (start >= view.to) break;
    const from = Math.max(0, (start - view.from) / columnUs);
    const to = Math.min(columns, (pieces.end[i] - view.from) / columnUs);
    const state = pieces.state[i];
    for (let column = Math.floor(from); column < to; column++)
      out[column * STATE_COUNT + state] += Math.min(to, column + 1) - Math.max(from, column);
  }
}

/** Shares of the states by column of pixels; what is shown piece by piece replaces the steps. */
export function laneColumns(lane: Lane, lanes: Lanes, view: Range, columns: number): Float32Array {
  const out = new Float32Array(columns * STATE_COUNT);
  const columnUs = (view.to - view.from) / columns;
  addSteps(out, columns, lane, lanes, view);
  for (const pieces of lane.windows) {
    if (pieces.to <= view.from || pieces.from >= view.to) continue;
    if (!lane.levels.length || pieces.to - pieces.from >= columnUs) addPieces(out, columns, pieces, view);
  }
  return out;
}

// From the bottom: running, then the waits that nobody wants, then those that are calm.
const ORDER = [0, 1, 2, 3, 4, 5, 6, 7, 10, 9, 8, 11];
const ALWAYS_SEEN = 7; // of ORDER: states that get a pixel however short they are

/** Paints one lane into an image: states stacked in each column. */
export function paintLane(image: ImageData, top: number, height: number, shares: Float32Array): void {
  const pixels = new Uint32Array(image.data.buffer);
  const colours = theme().states.map((colour) => {
    const [r, g, b] = rgb(colour);
    return (255 << 24) | (b << 16) | (g << 8) | r;
  });
  const width = image.width;
  for (let column = 0; column < width; column++) {
    let y = top + height;
    let left = 0;
    const at = column * STATE_COUNT;
    for (let i = 0; i < ORDER.length; i++) {
      const part = shares[at + ORDER[i]];
      if (part <= 0) continue;
      left += part * height;
      let rows = Math.round(left);
      if (rows < 1 && i > 1 && i <= ALWAYS_SEEN) rows = 1;
      left -= rows;
      for (; rows > 0 && y > top; rows--) pixels[--y * width + column] = colours[ORDER[i]];
    }
  }
}

/** State of a lane at a moment, for tooltips; -1 where only shares are known. */
export function laneState(lane: Lane, us: number): { state: number; from: number; to: number } | null {
  for (const pieces of lane.windows) {
    if (us < pieces.from || us >= pieces.to) continue;
    const i = lowerBound(pieces.end, us + 1e-6);
    if (i >= pieces.end.length) return null;
    const state = pieces.state[i];
    return state === ABSENT ? null : { state, from: i ? pieces.end[i - 1] : pieces.from, to: pieces.end[i] };
  }
  return null;
}
