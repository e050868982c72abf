// Tests of the page in headless Chromium: browser.mjs DIR [PATTERN]. DIR holds NAME.html and NAME.json of each session;
// what the page shows is held against the JSON. Prints "ok NAME" or "FAIL NAME", and for each made-up recording how
// large the page is and how soon it can be used.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(new URL("../../userspace/output/page/package.json", import.meta.url));
const puppeteer = require("puppeteer-core");
const [dir, pattern = ""] = process.argv.slice(2);
const chromium = process.env.CHROMIUM ?? "/usr/bin/chromium";

const tests = [];
const test = (name, run) => tests.push({ name, run });
const report = (name) => JSON.parse(readFileSync(join(dir, `${name}.json`), "utf8"));
const games = readdirSync(dir)
  .filter((name) => /^game-\d+\.html$/.test(name))
  .map((name) => name.slice(0, -5))
  .sort((a, b) => a.length - b.length || (a < b ? -1 : 1));
const game = games[0];
const longest = games.at(-1);

const browser = await puppeteer.launch({
  executablePath: chromium,
  args: ["--no-sandbox", "--disable-gpu", "--hide-scrollbars"],
});

/** A page that complains about anything that is not as it should be. */
async function open(name, { width = 1400, height = 900, scheme = "light" } = {}) {
  const page = await browser.newPage();
  page.troubles = [];
  page.on("pageerror", (error) => page.troubles.push(error.message));
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warn") page.troubles.push(message.text());
  });
  page.on("request", (request) => {
    if (!/^(file|data|blob):/.test(request.url())) page.troubles.push(`asks for ${request.url()}`);
  });
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(pathToFileURL(join(dir, `${name}.html`)).href);
  await page.waitForSelector("html[data-complete]", { timeout: 60000 });
  return page;
}

const text = (page, selector) => page.$eval(selector, (element) => element.textContent);
const plain = (value) => value.replace(/[\u2009\u202f\u00a0]/g, " ");
const view = (page) => page.$eval("#timeline", (element) => ({ from: +element.dataset.from, to: +element.dataset.to }));
const settle = (page) =>
  page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
const near = (a, b, by, what) => assert.ok(Math.abs(a - b) <= by, `${what ?? ""} ${a} is not ${b}`);

async function box(page, selector) {
  await page.$eval(selector, (element) => element.scrollIntoView({ block: "center" }));
  await settle(page);
  return (await page.$(selector)).boundingBox();
}

/** Milliseconds as the page writes them, back to ns, with the error that rounding may have made. */
function readMs(shown) {
  if (shown === "–") return [0, 0];
  if (shown === "<0.01") return [2500, 2500];
  const value = shown.replace(/,/g, "").replace("−", "-").replace("+", "");
  const digits = value.split(".")[1]?.length ?? 0;
  return [Number(value) * 1e6, 0.5001 * 10 ** (6 - digits)];
}

function equalMs(shown, ns, what) {
  const [value, error] = readMs(shown);
  near(value, ns, error, `${what}: ${shown}`);
}

// ---- numbers ----

async function topNumbers(name) {
  const page = await open(name);
  const { frames, causes, quality } = report(name);
  const shown = await page.$$eval("#frame-stats .stat", (stats) =>
    stats.map((stat) => [stat.querySelector("span").textContent, stat.querySelector("b").textContent]),
  );
  const of = new Map(shown);
  for (const [label, key] of [["p50 ms", "p50"], ["p90 ms", "p90"], ["p95 ms", "p95"], ["p99 ms", "p99"], ["max ms", "max"]])
    equalMs(of.get(label), frames.time_ns[key], label);
  const number = (value) => Number(value.replace(/,/g, ""));
  near(number(of.get("fps")), frames.fps_mean, 0.051);
  near(number(of.get("1 % low fps")), frames.low_1pct_fps, 0.051);
  near(number(of.get("0.1 % low fps")), frames.low_01pct_fps, 0.051);
  near(number(of.get("hitches / min")), frames.hitches_per_min, 0.051);
  assert.equal(number(shown.find(([label]) => label.startsWith("slow of"))[1]), frames.slow);
  assert.equal(of.get("jank / big"), `${frames.jank} / ${frames.big_jank}`);
  const rows = await page.$$eval("#causes li", (list) => list.map((li) => [li.dataset.cause, li.textContent]));
  assert.deepEqual(rows.map(([cause]) => cause), causes.map(({ cause }) => cause));
  rows.forEach(([, words], i) => assert.ok(words.includes(`${causes[i].frames} frame`), words));
  assert.ok((await text(page, "#quality")).includes(quality.samples.toLocaleString("en")));
  assert.deepEqual(page.troubles, []);
  await page.close();
}

async function hotRows(page) {
  return page.$$eval("#hot tbody tr", (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent)));
}

async function hotNumbers(name) {
  const page = await open(name);
  const { hot, hot_slow: slow } = report(name);
  await page.click("#tab-hot");
  for (const [span, list] of [["all", hot], ["slow", slow]]) {
    await page.select("#span", span);
    const rows = await hotRows(page);
    assert.equal(rows.length, Math.min(60, list.length));
    rows.forEach((row, i) => {
      equalMs(row[1], list[i].self_ns, `self of row ${i}`);
      near(Number(plain(row[0]).replace("<", "").split(" ")[0]), list[i].self_share * 100, 0.0501);
    });
    const shown = new Map(rows.map((row) => [`${row[4]} ${row[5]}`, row]));
    for (const one of list.slice(0, 40)) {
      const row = shown.get(`${one.function} ${one.module}`);
      // rows of equal time may change places at the end of the list
      if (!row) assert.ok(one.self_ns <= list[Math.min(59, list.length - 1)].self_ns, one.function);
      else equalMs(row[3], one.total_ns, `total of ${one.function}`);
    }
  }
  assert.deepEqual(page.troubles, []);
  await page.close();
}

for (const name of games) {
  test(`numbers at the top equal the report: ${name}`, () => topNumbers(name));
  test(`hot functions equal the report: ${name}`, () => hotNumbers(name));
}

test("threads equal the report", async () => {
  const page = await open(longest);
  const { threads } = report(longest);
  const rows = await page.$$eval("#thread-table tbody tr", (list) => list.map((row) => [...row.cells].map((cell) => cell.textContent)));
  assert.equal(rows.length, Math.min(16, threads.length));
  rows.forEach((row, i) => {
    assert.equal(row[0], threads[i].name);
    assert.equal(Number(row[1]), threads[i].tid);
    assert.equal(row[3], threads[i].samples.toLocaleString("en"));
    assert.equal(row[4], threads[i].switches.toLocaleString("en"));
  });
  const words = await text(page, "#threads");
  for (const expected of ["Who put us aside", "Who woke whom", "Run-queue latency"]) assert.ok(words.includes(expected), expected);
  await page.click("#thread-table tbody tr button");
  assert.ok((await text(page, "#threads")).includes(`from woken to running, ${threads[0].name}`));
  await page.close();
});

// ---- frames ----

async function clickFrame(page, start, time) {
  const canvas = await box(page, ".frames-canvas");
  const { from, to } = await view(page);
  await page.mouse.click(canvas.x + ((start + time / 2 - from) / (to - from)) * canvas.width, canvas.y + canvas.height - 12);
  await settle(page);
}

test("a click on a slow frame shows verdict, chain and ledger as in the report", async () => {
  for (const name of ["frames", game]) {
    const page = await open(name);
    const { slow_frames: list, session } = report(name);
    const slow = list.reduce((a, b) => (b.time_ns > a.time_ns ? b : a));
    await clickFrame(page, (slow.start_ns - session.start_ns) / 1000, slow.time_ns / 1000);
    assert.equal(await text(page, "#frame h2"), `Frame ${slow.index}`);
    assert.ok((await text(page, "#verdict")).includes(slow.verdict.text));
    const head = await page.$$eval("#ledger thead th", (cells) => cells.map((cell) => cell.textContent));
    const rows = await page.$$eval("#ledger tbody tr", (list) => list.map((row) => [...row.cells].map((cell) => cell.textContent)));
    assert.equal(rows.length, Math.min(12, slow.ledger.length));
    const value = (ledger, key) => ledger[`${key}_ns`] ?? ledger.blocked_ns[key];
    rows.forEach((row, i) => {
      assert.equal(row[0], slow.ledger[i].name);
      head.forEach((key, column) => {
        if (column > 1) equalMs(row[column], value(slow.ledger[i], key), `${row[0]} ${key}`);
      });
    });
    const threads = await page.$$eval(".chain-label", (labels) => labels.map((label) => label.textContent));
    for (const link of slow.chain) assert.ok(threads.includes(link.name), link.name);
    assert.ok((await page.$$(".chain .link")).length > 0);
    const steps = await page.$$eval(".chain-steps tbody tr:not(.dim)", (list) => list.map((row) => [...row.cells].map((cell) => cell.textContent)));
    const longest = [...slow.chain].sort((a, b) => b.to_ns - b.from_ns - (a.to_ns - a.from_ns))[0];
    const step = steps.find((row) => row[2] === longest.name && Math.abs(readMs(row[1])[0] - (longest.to_ns - longest.from_ns)) <= readMs(row[1])[1]);
    assert.ok(step, "the longest step is not in the list");
    assert.ok(await page.$("#frame .flame-canvas"), "no samples of the frame");
    assert.deepEqual(page.troubles, []);
    await page.close();
  }
});

test("far out, a click finds the longest frame of its column", async () => {
  const page = await open(longest);
  const { slow_frames: list, session } = report(longest);
  const slow = list.reduce((a, b) => (b.time_ns > a.time_ns ? b : a));
  await clickFrame(page, (slow.start_ns - session.start_ns) / 1000, slow.time_ns / 1000);
  assert.equal(await text(page, "#frame h2"), `Frame ${slow.index}`);
  const { from, to } = await view(page);
  near((from + to) / 2, (slow.start_ns + slow.time_ns / 2 - session.start_ns) / 1000, (to - from) / 4, "does not come into view");
  await page.close();
});

test("the list of slow frames has them all, worst first", async () => {
  const page = await open(longest);
  const { slow_frames: list } = report(longest);
  const worst = [...list].sort((a, b) => b.time_ns - a.time_ns || a.index - b.index);
  const rows = await page.$$eval("#worst tbody tr", (rows) => rows.map((row) => [Number(row.dataset.frame), row.cells[1].textContent]));
  assert.deepEqual(rows.map(([index]) => index), worst.slice(0, rows.length).map(({ index }) => index));
  rows.forEach(([, shown], i) => equalMs(shown, worst[i].time_ns, `frame ${worst[i].index}`));
  while (await page.$eval("#worst > button", (button) => !button.hidden)) await page.$eval("#worst > button", (button) => button.click());
  assert.equal((await page.$$("#worst tbody tr")).length, list.length);
  const cause = list[0].verdict.cause;
  await page.select("#worst select", cause);
  assert.ok((await page.$$("#worst tbody tr")).length <= list.filter(({ verdict }) => verdict.cause === cause).length);
  await page.close();
});

// ---- moving ----

test("the wheel zooms around the pointer", async () => {
  const page = await open(game);
  const canvas = await box(page, ".frames-canvas");
  const before = await view(page);
  const at = before.from + (before.to - before.from) * 0.25;
  await page.mouse.move(canvas.x + canvas.width * 0.25, canvas.y + 60);
  await page.mouse.wheel({ deltaY: -600 });
  await settle(page);
  const after = await view(page);
  assert.ok(after.to - after.from < (before.to - before.from) * 0.5, "did not zoom");
  near(after.from + (after.to - after.from) * 0.25, at, (after.to - after.from) * 0.01, "the moment below the pointer");
  await page.mouse.wheel({ deltaY: 9000 });
  await settle(page);
  assert.deepEqual(await view(page), before);
  await page.close();
});

test("dragging moves, with Shift it selects a range", async () => {
  const page = await open(game);
  const canvas = await box(page, ".frames-canvas");
  const drag = async (from, to) => {
    await page.mouse.move(canvas.x + canvas.width * from, canvas.y + 100);
    await page.mouse.down();
    await page.mouse.move(canvas.x + canvas.width * to, canvas.y + 100, { steps: 5 });
    await page.mouse.up();
    await settle(page);
  };
  await page.mouse.move(canvas.x + canvas.width / 2, canvas.y + 100);
  await page.mouse.wheel({ deltaY: -900 });
  await settle(page);
  const before = await view(page);
  await drag(0.5, 0.3);
  const after = await view(page);
  near(after.from - before.from, (before.to - before.from) * 0.2, (before.to - before.from) * 0.02, "moved by");
  await page.keyboard.down("Shift");
  await drag(0.2, 0.7);
  await page.keyboard.up("Shift");
  assert.deepEqual(await view(page), after);
  assert.equal(await page.$eval("#span", (select) => select.value), "range");
  const { threads } = report(game);
  assert.ok(threads.length > 0);
  assert.match(plain(await text(page, ".explore .note")), /ms of CPU time|s of CPU time/);
  await page.close();
});

test("the overview chooses the part below", async () => {
  const page = await open(game);
  const overview = await box(page, ".overview");
  const { to: length } = await view(page);
  await page.mouse.move(overview.x + overview.width * 0.5, overview.y + 10);
  await page.mouse.down();
  await page.mouse.move(overview.x + overview.width * 0.75, overview.y + 10, { steps: 4 });
  await page.mouse.up();
  await settle(page);
  const { from, to } = await view(page);
  near(from, length * 0.5, length * 0.01);
  near(to, length * 0.75, length * 0.01);
  await page.close();
});

test("keys zoom, move, and go from slow frame to slow frame", async () => {
  const page = await open(games[1] ?? game);
  const { slow_frames: list } = report(games[1] ?? game);
  await page.focus(".tl-body");
  const all = await view(page);
  const press = async (key) => {
    await page.keyboard.press(key);
    await settle(page);
    return view(page);
  };
  const zoomed = await press("+");
  assert.ok(zoomed.to - zoomed.from < all.to - all.from);
  const moved = await press("ArrowRight");
  assert.ok(moved.from > zoomed.from);
  near(moved.to - moved.from, zoomed.to - zoomed.from, 1);
  assert.ok((await press("ArrowLeft")).from < moved.from);
  assert.equal((await press("Home")).from, 0);
  near((await press("End")).to, all.to, 1);
  assert.ok((await press("-")).to > 0);
  assert.deepEqual(await press("0"), all);
  await press("n");
  assert.equal(await text(page, "#frame h2"), `Frame ${list[0].index}`);
  if (list.length > 1) {
    await press("n");
    assert.equal(await text(page, "#frame h2"), `Frame ${list[1].index}`);
    await press("p");
    assert.equal(await text(page, "#frame h2"), `Frame ${list[0].index}`);
  }
  await press("Escape");
  assert.equal(await page.$eval("#frame", (panel) => panel.hidden), true);
  await page.close();
});

// ---- functions ----

test("flame graphs over every choice, searched and walked by keys", async () => {
  const page = await open(games[1] ?? game);
  for (const span of ["all", "slow", "diff"]) {
    await page.select("#span", span);
    for (const tab of ["flame", "icicle", "callers", "sandwich", "hot"]) {
      await page.click(`#tab-${tab}`);
      await settle(page);
      assert.ok(await page.$(tab === "hot" ? "#hot tbody tr" : ".explore .flame-canvas"), `${span} ${tab} is empty`);
    }
  }
  await page.select("#span", "all");
  await page.click("#tab-icicle");
  await page.focus(".explore .flame-canvas");
  await page.keyboard.press("ArrowDown");
  const first = await text(page, ".explore .flame [aria-live]");
  assert.match(first, /%/);
  await page.keyboard.press("ArrowDown");
  assert.notEqual(await text(page, ".explore .flame [aria-live]"), first);
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await page.type("#search", "libengine");
  assert.match(plain(await text(page, ".explore .note")), /“libengine”: [0-9.]+ % of the time/);
  await page.$eval("#search", (input) => {
    input.value = "";
    input.dispatchEvent(new Event("input"));
  });
  const kinds = await page.$$eval("#kind option", (options) => options.map((option) => option.value));
  assert.ok(kinds.length > 3, kinds.join());
  for (const kind of kinds.slice(1)) {
    await page.select("#kind", kind);
    assert.match(await text(page, ".explore .note"), /of waiting/);
  }
  await page.select("#kind", "cpu");
  const whole = await text(page, ".explore .note");
  await page.select("#thread", await page.$eval("#thread option:nth-child(2)", (option) => option.value));
  assert.notEqual(await text(page, ".explore .note"), whole);
  assert.deepEqual(page.troubles, []);
  await page.close();
});

test("waits of one frame by kind are those of its ledgers", async () => {
  const page = await open(game);
  const { slow_frames: list } = report(game);
  const slow = list.reduce((a, b) => (b.time_ns > a.time_ns ? b : a));
  await page.$eval(`#worst [data-frame="${slow.index}"] button`, (button) => button.click());
  await page.select("#span", "frame");
  // of one thread: ledgers leave out threads to which nothing happened
  const row = slow.ledger.find(({ name }) => name === slow.verdict.thread.name);
  const options = await page.$$eval("#thread option", (list) => list.map((option) => [option.textContent, option.value]));
  await page.select("#thread", options.find(([name]) => name === row.name)[1]);
  const states = { 2: "runnable", 3: "preempted", 4: "lock", 5: "io", 9: "event" };
  let checked = 0;
  for (const kind of await page.$$eval("#kind option", (options) => options.map((option) => option.value))) {
    const key = states[kind];
    const whole = row[`${key}_ns`] ?? row.blocked_ns[key] ?? 0;
    if (!key || whole < 2e5) continue;
    await page.select("#kind", kind);
    const shown = plain(await text(page, ".explore .note")).match(/^([0-9.]+) (µs|ms|s) of waiting/);
    assert.ok(shown, key);
    near(Number(shown[1]) * { µs: 1e3, ms: 1e6, s: 1e9 }[shown[2]], whole, whole * 0.006 + 2e4, key);
    checked++;
  }
  assert.ok(checked >= 2, `${checked} kinds`);
  assert.deepEqual(page.troubles, []);
  await page.close();
});

test("a click zooms into a flame graph, a double click shows callers and callees", async () => {
  const page = await open(game);
  await page.click("#tab-icicle");
  const canvas = await box(page, ".explore .flame-canvas");
  await page.mouse.click(canvas.x + 40, canvas.y + 19 * 2.5);
  assert.match(await text(page, ".explore .flame [aria-live]"), /%/);
  await page.mouse.click(canvas.x + 40, canvas.y + 19 * 2.5, { count: 2 });
  await page.waitForSelector(".sandwich-head");
  await page.close();
});

// ---- looks ----

test("light and dark, wide and on a phone: nothing sticks out", async () => {
  for (const name of [game, "hostile", "empty", "frames"]) {
    for (const width of [1400, 390]) {
      const page = await open(name, { width, scheme: width === 390 ? "dark" : "light" });
      const row = await page.$("#worst tbody tr button");
      if (row) await row.evaluate((button) => button.click());
      await settle(page);
      for (const tab of ["hot", "sandwich", "flame"]) {
        await page.$eval(`#tab-${tab}`, (button) => button.click());
        await settle(page);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(wide <= width, `${name}, ${tab}: ${wide} wide at ${width}`);
      }
      const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      const before = await paper();
      await page.$eval("#theme", (button) => button.click());
      assert.notEqual(await paper(), before);
      assert.deepEqual(page.troubles, []);
      await page.close();
    }
  }
});

test("everything that can be used has a name", async () => {
  const page = await open(game);
  await page.$eval("#worst tbody tr button", (button) => button.click());
  const nameless = await page.$$eval("button, select, input, canvas, svg[role], [tabindex='0']", (elements) =>
    elements
      .filter((element) => !element.hidden && !element.parentElement.closest("[role=img]") && !(element.getAttribute("aria-label") || element.textContent.trim()))
      .map((element) => element.outerHTML.slice(0, 120)),
  );
  assert.deepEqual(nameless, []);
  const headings = await page.$$eval("h1, h2", (list) => list.map((heading) => heading.textContent));
  assert.ok(headings.length >= 5 && headings.every((heading) => heading), headings.join());
  await page.close();
});

// ---- odd sessions ----

test("hostile names are shown, and stay text", async () => {
  const page = await open("hostile");
  const { session } = report("hostile");
  assert.ok(session.target.name.includes("\u001b"));
  const title = await text(page, "h1");
  assert.ok(title.includes("\\x1b[2J") && title.includes("\\u202e"), title);
  // eslint-disable-next-line no-control-regex
  assert.doesNotMatch(await page.evaluate(() => document.body.innerText), /[\u0000-\u0008\u000b-\u001f\u202e]/);
  assert.deepEqual(await page.$$eval("img, iframe, object, script[src], a", (list) => list.length), 0);
  await page.close();
});

test("an empty session says what it lacks", async () => {
  const page = await open("empty");
  const words = await text(page, "#app");
  for (const expected of ["No frame boundaries were recorded", "no samples", "No samples were recorded", "perf_event_open: not permitted"])
    assert.ok(words.includes(expected), expected);
  assert.doesNotMatch(words, /NaN|undefined|Infinity|null/);
  assert.deepEqual(page.troubles, []);
  await page.close();
});

test("a damaged session is shown as such", async () => {
  const page = await open("cut");
  assert.ok((await text(page, ".top")).includes("damaged file"));
  assert.deepEqual(page.troubles, []);
  await page.close();
});

test("a page that was cut says so", async () => {
  const page = await browser.newPage();
  const whole = readFileSync(join(dir, "frames.html"), "utf8");
  await page.setContent(whole.replace(/id="data-core"/, 'id="gone"'));
  await page.waitForSelector(".fatal");
  assert.match(await text(page, ".fatal"), /lacks its data/);
  await page.close();
});

// ---- how soon ----

for (const name of games) {
  test(`soon ready: ${name}`, async () => {
    const times = [];
    for (let i = 0; i < 3; i++) {
      const page = await open(name);
      times.push(await page.$eval("html", (html) => [Number(html.dataset.interactive), Number(html.dataset.complete)]));
      await page.close();
    }
    const middle = (column) => times.map((time) => time[column]).sort((a, b) => a - b)[1];
    const page = await open(name);
    const canvas = await box(page, ".frames-canvas");
    await page.mouse.move(canvas.x + 400, canvas.y + 60);
    const draws = await page.evaluate(async () => {
      const canvas = document.querySelector(".frames-canvas");
      const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)));
      const spent = [];
      for (let i = 0; i < 40; i++) {
        const began = performance.now();
        canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: i % 20 < 10 ? -150 : 150, clientX: 500, clientY: 300, cancelable: true }));
        await frame();
        spent.push(performance.now() - began);
      }
      return spent.sort((a, b) => a - b);
    });
    await page.close();
    const bytes = statSync(join(dir, `${name}.html`)).size;
    console.log(
      `     ${name}: ${bytes} bytes, interactive after ${middle(0)} ms, complete after ${middle(1)} ms, a zoom step takes ${draws[20].toFixed(0)} ms`,
    );
    // wide bounds: the machine that tests may do other things meanwhile
    assert.ok(middle(0) < 5000, `${middle(0)} ms`);
    if (name === "game-600") assert.ok(bytes <= 3e6, `${bytes} bytes for ten minutes`);
  });
}

let failures = 0;
for (const { name, run } of tests) {
  if (!new RegExp(pattern).test(name)) continue;
  try {
    await run();
    console.log(`ok   ${name}`);
  } catch (error) {
    failures++;
    console.log(`     | ${String(error.stack ?? error).split("\n").slice(0, 8).join("\n     | ")}`);
    console.log(`FAIL ${name}`);
  }
}
await browser.close();
process.exitCode = failures ? 1 : 0;
