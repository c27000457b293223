// Charts of what was recorded, whose points can be chosen.

import { el, svg } from "explorer/dom";
import { box, centred, ending, picture, pressed, roving } from "explorer/picture";

/**
 * @typedef {object} Point
 * @property {number} x
 * @property {number} y
 * @property {string} name for those who do not see it
 * @property {string} [label] beside it
 * @property {boolean} [aside] the line leaves it out
 * @property {() => void} [chosen]
 */
/**
 * @typedef {object} Series
 * @property {string} name
 * @property {"strong" | "before" | "baseline" | "roof" | "mark"} look
 * @property {Point[]} points
 * @property {boolean} [line] through them
 * @property {boolean} [dots]
 */
/** @typedef {{label: string, low: number, high: number, log: boolean, ticks: number[]}} Axis */
/**
 * @typedef {object} Chart
 * @property {string} name
 * @property {Axis} x
 * @property {Axis} y
 * @property {Series[]} series
 */

const LEFT = 52, RIGHT = 14, TOP = 16, BOTTOM = 46;

/**
 * 0.5, 10, 4096.
 * @param {number} value
 */
const tick = (value) => String(Number(value.toPrecision(4)));

/** @param {Axis} axis @param {number} from @param {number} to @returns {(value: number) => number} */
function scale(axis, from, to) {
  const of = axis.log ? Math.log : (/** @type {number} */ value) => value;
  const low = of(axis.low), high = of(axis.high);
  return (value) => from + ((of(value) - low) / (high - low)) * (to - from);
}

/** @typedef {(value: number) => number} Place pixels */

/**
 * The frame, with its grid and the axes' numbers and names.
 * @param {SVGGElement} frame @param {Chart} chart @param {Place} x @param {Place} y @param {number} width @param {number} height
 */
function axes(frame, chart, x, y, width, height) {
  let lastTick = -Infinity;
  for (const value of chart.x.ticks) {
    frame.append(svg("line", { x1: x(value), x2: x(value), y1: TOP, y2: height - BOTTOM, class: "chart-grid" }));
    if (x(value) - lastTick < 34) continue;
    lastTick = x(value);
    frame.append(centred(x(value), height - BOTTOM + 17, tick(value)));
  }
  for (const value of chart.y.ticks) {
    frame.append(svg("line", { x1: LEFT, x2: width - RIGHT, y1: y(value), y2: y(value), class: "chart-grid" }));
    frame.append(ending(LEFT - 6, y(value) + 4, tick(value)));
  }
  frame.append(box(LEFT, TOP, width - LEFT - RIGHT, height - TOP - BOTTOM, { class: "chart-frame" }));
  frame.append(centred((LEFT + width - RIGHT) / 2, height - 8, chart.x.label));
  frame.append(centred(0, 0, chart.y.label, undefined, { transform: `translate(13 ${(TOP + height - BOTTOM) / 2}) rotate(-90)` }));
}

/**
 * A label beside its point, off others as far as there is room.
 * @param {[number, number][]} taken where labels and the points are; the label's place joins them
 * @param {number} width @param {number} height
 * @param {number} px @param {number} py @param {string} words
 */
function label(taken, width, height, px, py, words) {
  /** @type {[number, number][]} */
  const around = [20, 32, 46, 62, 80].flatMap((away) =>
    [-45, 45, 135, -135, -90, 90, 0, 180].map((angle) => {
      const turn = (angle * Math.PI) / 180;
      return /** @type {[number, number]} */ ([px + away * Math.cos(turn), py + away * 0.8 * Math.sin(turn)]);
    })
  );
  const at = around.find(([ax, ay]) =>
    ax > LEFT + 10 && ax < width - 14 && ay > TOP + 6 && ay < height - BOTTOM - 4 &&
    taken.every(([ox, oy]) => Math.abs(ox - ax) > 27 || Math.abs(oy - ay) > 14)
  ) ?? around[0];
  taken.push(at);
  const far = Math.hypot(at[0] - px, at[1] - py) > 24;
  return svg("g", {}, [
    far ? svg("line", { x1: px, y1: py, x2: at[0], y2: at[1], class: "idle" }) : null,
    centred(at[0], at[1] + 4, words, undefined, { class: "chart-label" }),
  ]);
}

/**
 * A point that can be chosen.
 * @param {Point} point @param {SVGElement} dot @param {Node | null} beside its label @param {number} px @param {number} py
 * @param {SVGGElement[]} targets of the chart; this one joins them
 */
function choosable(point, dot, beside, px, py, targets) {
  const attributes = { role: "button", "aria-label": point.name, tabindex: targets.length ? -1 : 0, class: "chart-point" };
  const target = svg("g", attributes, svg("circle", { cx: px, cy: py, r: 12, class: "chart-reach" }), dot, beside);
  const choose = () => {
    targets.forEach((other) => other.setAttribute("aria-pressed", String(other === target)));
    point.chosen?.();
  };
  pressed(target, choose);
  target.addEventListener("focus", choose);
  targets.push(target);
  return target;
}

/**
 * @param {Chart} chart @param {number} width pixels @param {number} height
 * @returns {HTMLElement}
 */
export function draw(chart, width, height) {
  const x = scale(chart.x, LEFT, width - RIGHT), y = scale(chart.y, height - BOTTOM, TOP);
  const root = picture(width, height, chart.name);
  root.setAttribute("role", "group");
  const frame = svg("g", { "aria-hidden": "true" });
  root.append(frame);
  axes(frame, chart, x, y, width, height);
  /** @type {SVGGElement[]} */
  const targets = [];
  const taken = chart.series.filter((series) => series.dots !== false).flatMap((series) =>
    series.points.map((point) => /** @type {[number, number]} */ ([x(point.x), y(point.y)]))
  );
  for (const series of chart.series) {
    if (series.line) {
      const points = series.points.filter((point) => !point.aside).map((point) => `${x(point.x)},${y(point.y)}`).join(" ");
      frame.append(svg("polyline", { points, class: `chart-line ${series.look}` }));
    }
    for (const point of series.dots === false ? [] : series.points) {
      const [px, py] = [x(point.x), y(point.y)];
      const dot = dotOf(series, px, py, 5.5);
      if (!point.chosen) frame.append(dot);
      else {
        const beside = point.label ? label(taken, width, height, px, py, point.label) : null;
        root.append(choosable(point, dot, beside, px, py, targets));
      }
    }
  }
  roving(root, () => targets);
  const named = chart.series.filter((series) => series.name);
  const legend = named.map((series) => el("span", { class: "legend-entry" }, sample(series), ` ${series.name}`));
  return el("div", { class: "chart" }, root, el("p", { class: "legend" }, legend));
}

/** @param {Series} series @param {number} x @param {number} y @param {number} r */
const dotOf = ({ look }, x, y, r) =>
  look === "baseline"
    ? svg("path", { d: `M${x} ${y - 6}l6 6l-6 6l-6 -6z`, class: "chart-dot baseline" })
    : svg("circle", { cx: x, cy: y, r, class: `chart-dot ${look}` });

/** @param {Series} series for the legend */
function sample(series) {
  const line = series.line && svg("line", { x1: 1, x2: 29, y1: 7, y2: 7, class: `chart-line ${series.look}` });
  return svg("svg", { width: 30, height: 14, "aria-hidden": "true" }, line, series.dots !== false && dotOf(series, 15, 7, 5));
}

/**
 * 1, 3, 10, 30 … between the two.
 * @param {number} low @param {number} high
 */
export function decades(low, high) {
  const found = [];
  for (let power = -3; power < 6; ++power) {
    for (const step of [1, 3]) if (step * 10 ** power >= low && step * 10 ** power <= high) found.push(step * 10 ** power);
  }
  return found;
}

/**
 * About five round numbers from 0 on.
 * @param {number} high
 */
export function rounds(high) {
  const rough = high / 5, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((value) => value >= rough) ?? rough;
  return Array.from({ length: Math.floor(high / step) + 1 }, (_, index) => index * step);
}
