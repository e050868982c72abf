// Bundles the page: `node build.mjs OUT` writes one HTML file in which `<!--data-->` stands for the data;
// `node build.mjs --unit DIR` bundles the unit tests.
import { readFileSync, writeFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { build } from "esbuild";

const options = {
  bundle: true,
  target: ["chrome103", "firefox113", "safari16.4"],
  charset: "utf8",
  logLevel: "warning",
};

async function bundle(entry, extra) {
  const result = await build({ ...options, ...extra, entryPoints: [entry], write: false });
  return result.outputFiles[0].text;
}

async function page(out) {
  const script = await bundle("src/main.ts", { minify: true, format: "iife" });
  const style = await bundle("src/page.css", { minify: true });
  const whole = readFileSync("src/index.html", "utf8")
    .replace("/*style*/", () => style.replaceAll("</style", "<\\/style"))
    .replace("/*script*/", () => script.replaceAll("</script", "<\\/script"));
  writeFileSync(out, whole);
}

async function unit(dir) {
  const tests = readdirSync("unit").filter((name) => name.endsWith(".test.ts"));
  await build({
    ...options,
    entryPoints: tests.map((name) => join("unit", name)),
    outdir: dir,
    outExtension: { ".js": ".mjs" },
    platform: "node",
    format: "esm",
    target: "node18",
  });
  return tests.map((name) => join(dir, basename(name, ".ts") + ".mjs"));
}

if (process.argv[2] === "--unit") await unit(process.argv[3]);
else await page(process.argv[2]);
