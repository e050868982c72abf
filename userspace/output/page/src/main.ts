import { h } from "./dom";
import { Explore } from "./explore";
import { FramePanel, type FrameData } from "./frame";
import { visible } from "./format";
import { loadDetails, loadLanes, loadModel, loadSamples } from "./model";
import { Store } from "./store";
import { header, sessionTitle, summary } from "./summary";
import { ModuleColours, forgetTheme } from "./theme";
import { Threads } from "./threads";
import { Timeline } from "./timeline";
import { WorstFrames } from "./worst";

/** Light, dark, or what the system says; kept while the page is open. */
function themeButton(changed: () => void): HTMLElement {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const dark = (): boolean =>
    document.documentElement.dataset.theme === "dark" || (!document.documentElement.dataset.theme && system.matches);
  const button = h(
    "button",
    {
      type: "button",
      id: "theme",
      title: "Light or dark",
      "aria-label": "Light or dark",
      click: () => {
        document.documentElement.dataset.theme = dark() ? "light" : "dark";
        changed();
      },
    },
    "◐",
  );
  system.addEventListener("change", changed);
  return button;
}

/** Lets the browser paint what is there. */
function painted(): Promise<void> {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve, 0));
  });
}

function ready(name: string): void {
  document.documentElement.dataset[name] = performance.now().toFixed(0);
}

async function start(app: HTMLElement): Promise<void> {
  const model = await loadModel();
  const store = new Store(model.length);
  const data: FrameData = { details: null, samples: null, lanes: null };
  const colours = new ModuleColours(model);
  const button = themeButton(() => {
    forgetTheme();
    store.emit("theme");
    explore.update();
  });
  document.title = `${sessionTitle(model.report)} – frameperf`;
  const timeline = new Timeline(model, store);
  const explore = new Explore(model, store, data, colours);
  const threads = new Threads(model, data);
  const frame = new FramePanel(model, store, data, colours, (direction) => {
    timeline.step(direction);
  });
  app.replaceChildren(
    header(model, button),
    h(
      "main",
      null,
      summary(model),
      timeline.element,
      frame.element,
      model.slowFrames.length ? new WorstFrames(model, store).element : "",
      explore.element,
      threads.element,
    ),
    h("footer", null, `session ${visible(model.report.session.id)} · made by frameperf`),
  );
  await painted();
  ready("interactive");
  data.lanes = await loadLanes(model.length);
  timeline.setLanes(data.lanes);
  threads.fill();
  data.details = await loadDetails();
  data.samples = await loadSamples();
  store.emit("samples");
  await painted();
  ready("complete");
}

const app = document.getElementById("app")!;
start(app).catch((error: unknown) => {
  app.replaceChildren(
    h(
      "p",
      { class: "nothing fatal", role: "alert" },
      typeof DecompressionStream === "undefined"
        ? "This browser is too old for the page: it needs Chrome 103, Firefox 113, Safari 16.4 or later."
        : `The page could not be read: ${visible(error instanceof Error ? error.message : String(error))}`,
    ),
  );
});
