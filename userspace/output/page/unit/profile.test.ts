import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeColumn } from "../src/block";
import { Extremes } from "../src/extremes";
import { SPECIAL, type Lanes, type Model, type Tree } from "../src/model";
import { addSamples, addWaits, callTree, hotList, inverted, lowerBound, sandwich, type TimeKind } from "../src/profile";
import { Store } from "../src/store";

// main > update > (inlined) sort; main > draw; main > update > update (recursion); broken > draw
const tree: Tree = {
  count: 7,
  parent: Uint32Array.of(0, 0, 1, 2, 1, 2, 0),
  func: Uint32Array.of(0, 0, 1, 2, 3, 1, 4),
  inlined: Uint8Array.of(0, 0, 0, 1, 0, 0, 0),
  leaf: Uint32Array.of(3, 4, 5, 6),
};
const functions = ["main", "update", "sort", "draw", "broken"].map((name) => ({
  name,
  module: "game",
  flags: name === "broken" ? SPECIAL : 0,
}));
const model = { tree, functions } as unknown as Model;
const weights = { ns: Float64Array.of(10, 20, 5, 7), base: null, total: 42 };

void test("columns of any size come back", () => {
  assert.deepEqual(
    [...decodeColumn(Uint8Array.of(5, 0x80, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f), 0, 3, false)],
    [5, 128, 2 ** 39 - 1],
  );
  assert.deepEqual([...decodeColumn(Uint8Array.of(20, 3, 0), 0, 3, true)], [10, 8, 8]);
});

void test("own time is that of the function around inlined code, recursion counts once", () => {
  const rows = new Map(hotList(model, weights).map((row) => [functions[row.func].name, row]));
  assert.equal(rows.get("update")!.self, 15);
  assert.equal(rows.get("update")!.total, 15);
  assert.equal(rows.get("sort")!.self, 0);
  assert.equal(rows.get("sort")!.total, 10);
  assert.equal(rows.get("main")!.total, 35);
  assert.ok(!rows.has("broken"));
});

void test("trees add up", () => {
  const calls = callTree(tree, weights);
  assert.equal(calls.total[0], 42);
  assert.equal(calls.total[1], 35);
  assert.equal(calls.total[2], 15);
  assert.equal(inverted(tree, weights.ns).total[0], 42);
  const { callers, callees } = sandwich(tree, weights.ns, 1);
  assert.equal(callers.total[0], 15);
  assert.equal(callees.total[0], 15);
  assert.deepEqual([...Array.from(callers.func)], [-1, 1, 0]);
});

void test("samples are found by time and thread", () => {
  const samples = [
    { thread: 0, time: Float64Array.of(1, 2, 3), weight: Float64Array.of(10, 10, 10), stack: Uint32Array.of(0, 1, 0) },
    { thread: 1, time: Float64Array.of(2.5), weight: Float64Array.of(7), stack: Uint32Array.of(1) },
  ];
  const ns = new Float64Array(2);
  addSamples(ns, samples, 2, 3);
  assert.deepEqual([...ns], [0, 17]);
  addSamples(ns, samples, 0, 9, 1);
  assert.deepEqual([...ns], [0, 24]);
  assert.equal(lowerBound([1, 2, 2, 3], 2), 1);
  assert.equal(lowerBound([], 2), 0);
});

void test("waits are clipped to the part that is asked for", () => {
  const pieces = {
    from: 100,
    to: 200,
    end: Float64Array.of(110, 150, 200),
    state: Uint8Array.of(0, 4, 9),
    stack: Int32Array.of(-1, 0, 1),
  };
  const lanes = {
    lanes: [{ thread: 3, levels: [], windows: [pieces], queue: new Float64Array(0) }],
    windowFrom: Float64Array.of(100),
    windowTo: Float64Array.of(200),
  } as unknown as Lanes;
  const wait = (time: TimeKind, from: number, to: number, thread = -1): number[] => {
    const ns = new Float64Array(2);
    const kept = addWaits(ns, lanes, { span: "range", time, thread, from, to });
    return [...ns, kept];
  };
  assert.deepEqual(wait("off", 0, 1000), [40e3, 50e3, 100]);
  assert.deepEqual(wait(4, 120, 130), [10e3, 0, 10]);
  assert.deepEqual(wait(9, 0, 155), [0, 5e3, 55]);
  assert.deepEqual(wait("off", 0, 1000, 1), [0, 0, 100]);
});

void test("extremes of any part are those of all its values", () => {
  const values = Float64Array.from({ length: 1000 }, (_, i) => Math.sin(i * 12.9898) * 1000);
  const extremes = new Extremes(values);
  for (const [from, to] of [
    [0, 1000],
    [63, 65],
    [64, 128],
    [1, 999],
    [500, 500],
    [130, 700],
  ]) {
    const part = Array.from(values.subarray(from, to));
    const high = extremes.highest(from, to);
    const low = extremes.lowest(from, to);
    assert.equal(high < 0 ? undefined : values[high], part.length ? Math.max(...part) : undefined);
    assert.equal(low < 0 ? undefined : values[low], part.length ? Math.min(...part) : undefined);
  }
});

void test("the view stays inside the recording", () => {
  const store = new Store(1000);
  store.setView(-50, 100);
  assert.deepEqual(store.view, { from: 0, to: 150 });
  store.zoom(75, 0.5);
  assert.deepEqual(store.view, { from: 37.5, to: 112.5 });
  store.pan(1e9);
  assert.deepEqual(store.view, { from: 925, to: 1000 });
  store.zoom(1000, 1e9);
  assert.deepEqual(store.view, { from: 0, to: 1000 });
  store.zoom(500, 1e-9);
  assert.equal(Math.round(store.view.to - store.view.from), 20);
});
