import assert from "node:assert/strict";
import { test } from "node:test";
import { bytes, duration, moment, ms, share, signedMs, threadName, visible } from "../src/format";

const plain = (text: string): string => text.replaceAll("\u202f", " ").replaceAll("\u2009", " ");

void test("durations have three digits and a unit", () => {
  assert.equal(plain(duration(0)), "0 ns");
  assert.equal(plain(duration(850)), "850 ns");
  assert.equal(plain(duration(1_500)), "1.50 µs");
  assert.equal(plain(duration(41_234_567)), "41.2 ms");
  assert.equal(plain(duration(12_345_000_000)), "12.3 s");
  assert.equal(plain(duration(192e9)), "3 min 12 s");
  assert.equal(plain(duration(3_660e9)), "1 h 1 min");
  assert.equal(plain(duration(999_600_000)), "1.00 s");
});

void test("nothing is a dash, little is not nothing", () => {
  assert.equal(ms(0), "–");
  assert.equal(ms(1000), "<0.01");
  assert.equal(ms(16_666_667), "16.7");
  assert.equal(signedMs(-2_000_000), "−2.00");
  assert.equal(share(null), "–");
  assert.equal(plain(share(0)), "0.0 %");
  assert.equal(plain(share(0.00001)), "<0.1 %");
});

void test("axes have the digits that their steps need", () => {
  assert.equal(plain(moment(1_500_000, 500_000)), "1.5 s");
  assert.equal(plain(moment(61_000_000, 1_000_000)), "1:01");
  assert.equal(plain(moment(3_661_500_000, 500_000)), "1:01:01.5");
});

void test("bytes", () => {
  assert.equal(plain(bytes(512)), "512 B");
  assert.equal(plain(bytes(3 * 1024 * 1024)), "3.00 MiB");
});

void test("names show what is in them", () => {
  assert.equal(visible("a\nb\u001b[2J\u202ec"), "a\\nb\\x1b[2J\\u202ec");
  assert.equal(visible(null), "");
  assert.equal(visible("<b>&</b>"), "<b>&</b>");
  assert.equal(threadName({ tid: 7, name: "" }), "tid 7");
});
