// Small things that every view needs: elements, canvases, colours, hatching.

/** @typedef {Record<string, string | number | boolean | null | undefined | EventListener>} Attributes `onclick` and the like take functions; true: present; false, null, undefined: absent */
/** @typedef {Node | string | null | undefined | false | any[]} Child a list has more of them; null, undefined and false: none */

export const SMALL = '12px "DejaVu Sans", Verdana, sans-serif'; // the font of most words on a canvas

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag @param {Attributes} [attributes] @param {Child[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  fill(made, attributes, children);
  return made;
}

/**
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag @param {Attributes} [attributes] @param {Child[]} children
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(made, attributes, children);
  return made;
}

/** @param {Element} made @param {Attributes} attributes @param {Child[]} children */
function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.replace(/^on/, ""), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, String(value));
  }
  const all = /** @type {Child[]} */ (children.flat(Infinity));
  made.append(.../** @type {(Node | string)[]} */ (all.filter((child) => child || child === "")));
}

/**
 * A table of the elements' contents.
 * @param {Attributes} attributes @param {Child} caption @param {string[]} head @param {Child[]} rows `tr`s
 */
export const table = (attributes, caption, head, rows) =>
  el("table", attributes, caption,
    el("thead", {}, el("tr", {}, head.map((words) => el("th", { scope: "col" }, words)))), el("tbody", {}, rows));

/** @param {string | null} words said, not shown */
export const spoken = (words) => el("caption", { class: "spoken" }, words);

/** @param {Child[]} cells */
export const row = (...cells) => el("tr", {}, cells.map((cell) => el("td", {}, cell)));

/** @param {Child} words @param {() => void} act @param {Attributes} [attributes] */
export const button = (words, act, attributes = {}) => el("button", { type: "button", ...attributes, onclick: act }, words);

/**
 * What the page's colours are now, by the names of style.css.
 * @typedef {"paper" | "ink" | "grey" | "strong" | "on-strong" | "mid" | "on-mid" | "light" | "pale" | "mark" | "bad" |
 *   "t-product" | "t-copy" | "t-store" | "t-load" | "t-shared" | "t-wait" | "t-on-dark" | "t-on-light"} Colour
 * @returns {Record<Colour, string>}
 */
export function colours() {
  const style = getComputedStyle(document.documentElement);
  const names = /** @type {Colour[]} */ ([
    "paper", "ink", "grey", "strong", "on-strong", "mid", "on-mid", "light", "pale", "mark", "bad",
    "t-product", "t-copy", "t-store", "t-load", "t-shared", "t-wait", "t-on-dark", "t-on-light",
  ]);
  return /** @type {Record<Colour, string>} */ (
    Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]))
  );
}

/**
 * Makes a canvas as sharp as the screen. Its context counts in CSS pixels; what was drawn is gone.
 * @param {HTMLCanvasElement} canvas @param {number} width CSS pixels @param {number} height the same
 * @returns {CanvasRenderingContext2D}
 */
export function sharp(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return context;
}

/**
 * Lines or dots in front of a colour, so that a meaning needs no colour.
 * @param {CanvasRenderingContext2D} context @param {"/" | "."} kind @param {string} back @param {string} front
 * @returns {CanvasPattern}
 */
export function hatch(context, kind, back, front) {
  const size = 8;
  const tile = document.createElement("canvas");
  tile.width = tile.height = size;
  const brush = /** @type {CanvasRenderingContext2D} */ (tile.getContext("2d"));
  brush.fillStyle = back;
  brush.fillRect(0, 0, size, size);
  brush.strokeStyle = brush.fillStyle = front;
  brush.lineWidth = 1.2;
  brush.beginPath();
  if (kind === "/") for (const shift of [-size, 0, size]) brush.moveTo(shift, size), brush.lineTo(shift + size, 0);
  else brush.fillRect(3, 3, 2, 2);
  brush.stroke();
  return /** @type {CanvasPattern} */ (context.createPattern(tile, "repeat"));
}

/**
 * An entry of a legend: what `paint` makes of 26×18 pixels, and what it stands for.
 * @param {string} words @param {(context: CanvasRenderingContext2D) => void} paint
 */
export function swatch(words, paint) {
  const canvas = el("canvas", { "aria-hidden": "true" });
  paint(sharp(canvas, 26, 18));
  return el("li", {}, canvas, words);
}

/**
 * An outline around what is chosen, as picture.js has it: the paper shows on both sides.
 * @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {number} width @param {number} height
 */
export function outlined(context, x, y, width, height) {
  const { paper, mark } = colours();
  framed(context, paper, 6, x, y, width, height);
  framed(context, mark, 2.5, x, y, width, height);
}

/**
 * @param {CanvasRenderingContext2D} context @param {string | CanvasPattern} fill
 * @param {number} x @param {number} y @param {number} width @param {number} height
 */
export function filled(context, fill, x, y, width, height) {
  context.fillStyle = fill;
  context.fillRect(x, y, width, height);
}

/**
 * @param {CanvasRenderingContext2D} context @param {string} stroke @param {number} wide pixels of the line
 * @param {number} x @param {number} y @param {number} width @param {number} height
 */
export function framed(context, stroke, wide, x, y, width, height) {
  context.strokeStyle = stroke;
  context.lineWidth = wide;
  context.strokeRect(x, y, width, height);
}

/** @param {CanvasRenderingContext2D} context @param {string} fill @param {string} words @param {number} x @param {number} y */
export function written(context, fill, words, x, y) {
  context.fillStyle = fill;
  context.fillText(words, x, y);
}

/** @param {HTMLElement} element a live region, which speaks only when something is different @param {string[]} sentences */
export function tell(element, sentences) {
  const text = sentences.join("\n");
  if (element.dataset.text === text) return;
  element.dataset.text = text;
  element.replaceChildren(...sentences.map((sentence) => el("p", {}, sentence)));
}

/**
 * Calls `draw` with the width that there is, as soon as there is one, and whenever it becomes another.
 * @param {HTMLElement} element @param {(width: number) => void} draw
 */
export function whenResized(element, draw) {
  let width = 0;
  new ResizeObserver(() => {
    const now = Math.floor(element.clientWidth);
    if (now > 0 && now !== width) draw(width = now);
  }).observe(element);
}

/**
 * Calls `draw` whenever an element whose height is not its contents' becomes higher or lower.
 * @param {HTMLElement} element @param {() => void} draw
 */
export function whenHigher(element, draw) {
  let height = element.clientHeight;
  new ResizeObserver(() => {
    if (element.clientHeight === height) return;
    height = element.clientHeight;
    draw();
  }).observe(element);
}

/**
 * @param {number} count @param {string} one @param {string} [many]
 * @returns {string} 1 sector, 2 sectors
 */
export function counted(count, one, many = `${one}s`) {
  return `${grouped(count)} ${count === 1 ? one : many}`;
}

/** @param {number} value @returns {string} 1 048 576 */
export function grouped(value) {
  return String(value).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}
