// The greatest of many values over any part, quickly: blocks of 64 keep where their greatest is.

const BLOCK = 64;

export class Extremes {
  private high: Int32Array;
  private low: Int32Array;

  constructor(private values: ArrayLike<number>) {
    const blocks = Math.ceil(values.length / BLOCK);
    this.high = new Int32Array(blocks);
    this.low = new Int32Array(blocks);
    for (let block = 0; block < blocks; block++) {
      const from = block * BLOCK;
      const to = Math.min(values.length, from + BLOCK);
      let high = from;
      let low = from;
      for (let i = from + 1; i < to; i++) {
        if (values[i] > values[high]) high = i;
        if (values[i] < values[low]) low = i;
      }
      this.high[block] = high;
      this.low[block] = low;
    }
  }

  /** Index of the greatest in [from, to); -1 when it is empty. */
  highest(from: number, to: number): number {
    return this.find(from, to, this.high, 1);
  }

  lowest(from: number, to: number): number {
    return this.find(from, to, this.low, -1);
  }

  private find(from: number, to: number, blocks: Int32Array, sign: number): number {
    let best = -1;
    const take = (i: number): void => {
      if (best < 0 || sign * this.values[i] > sign * this.values[best]) best = i;
    };
    let i = from;
    while (i < to && i % BLOCK) take(i++);
    while (i + BLOCK <= to) {
      take(blocks[i / BLOCK]);
      i += BLOCK;
    }
    while (i < to) take(i++);
    return best;
  }
}
