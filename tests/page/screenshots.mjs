// Screenshots for the README: screenshots.mjs DEMO.html GAME.html OUT. The demo's page gives an overview and one slow
// frame, the other game's its flame graph in the dark.
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(new URL("../../userspace/output/page/package.json", import.meta.url));
const puppeteer = require("puppeteer-core");
const [demo, game, out] = process.argv.slice(2);
const browser = await puppeteer.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--hide-scrollbars"],
});

async function shot(file, name, { scheme = "light", width = 1280, height = 800, act, at }) {
  const page = await browser.newPage();
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  await page.goto(pathToFileURL(resolve(file)).href);
  await page.waitForSelector("html[data-complete]");
  await act?.(page);
  await new Promise((done) => setTimeout(done, 800));
  if (at) await page.$eval(at, (element) => window.scrollTo(0, element.getBoundingClientRect().top + window.scrollY - 8));
  await new Promise((done) => setTimeout(done, 800));
  await page.screenshot({ path: join(out, name) });
  await page.close();
}

/** The worst frame of a cause that has a story to tell, or else the worst of all. */
async function openFrame(page) {
  for (const cause of ["lock", "event", "io", ""]) {
    const found = await page.$$eval("#worst select option", (options) => options.map((option) => option.value));
    if (!found.includes(cause)) continue;
    await page.select("#worst select", cause);
    break;
  }
  await page.$eval("#worst tbody tr button", (button) => button.click());
}

await shot(demo, "overview.png", {});
await shot(demo, "frame.png", { act: openFrame, at: "#frame", height: 860 });
await shot(game, "flame.png", { scheme: "dark", at: "#functions", height: 712 });
await shot(demo, "phone.png", { width: 390, height: 800, scheme: "dark" });
await browser.close();
