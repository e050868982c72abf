// Elements from data. Text always becomes a text node, never markup.

export type Child = Node | string | number | null | undefined | false | Child[];
type Handler = (event: never) => void;
export type Attributes = Record<string, string | number | boolean | null | undefined | Handler>;

function append(parent: Node, child: Child): void {
  if (child === null || child === undefined || child === false) return;
  if (Array.isArray(child)) for (const one of child) append(parent, one);
  else parent.appendChild(child instanceof Node ? child : document.createTextNode(String(child)));
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes?: Attributes | null,
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(key, value as EventListener);
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

export function replace(parent: Element, ...children: Child[]): void {
  parent.replaceChildren();
  append(parent, children);
}

/** Sizes a canvas to its box in device pixels; draw in CSS pixels. */
export function fitCanvas(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D {
  const ratio = window.devicePixelRatio || 1;
  const w = Math.max(1, Math.round(width * ratio));
  const hgt = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== w || canvas.height !== hgt) {
    canvas.width = w;
    canvas.height = hgt;
  }
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d", { alpha: true })!;
  context.setTransform(w / Math.max(1, width), 0, 0, hgt / Math.max(1, height), 0, 0);
  return context;
}

/** Calls `draw` once in the next animation frame, however often it was asked for. */
export function scheduler(draw: () => void): () => void {
  let pending = false;
  return () => {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => {
      pending = false;
      draw();
    });
  };
}

let tip: HTMLElement | null = null;

/** The one tooltip of the page, near the pointer and inside the window. */
export function showTip(x: number, y: number, ...children: Child[]): void {
  if (!tip) {
    tip = h("div", { class: "tip", role: "tooltip" });
    document.body.appendChild(tip);
  }
  replace(tip, ...children);
  tip.style.display = "block";
  const box = tip.getBoundingClientRect();
  const left = x + 14 + box.width > window.innerWidth ? Math.max(4, x - box.width - 10) : x + 14;
  const top = y + 16 + box.height > window.innerHeight ? Math.max(4, y - box.height - 10) : y + 16;
  tip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}

export function hideTip(): void {
  if (tip) tip.style.display = "none";
}
