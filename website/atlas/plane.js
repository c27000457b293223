// A panel: shapes with a K in one range, in the plane of N and M. Each is a button.

import { el, svg } from "explorer/dom";
import { box, centred, ending, picture, pressed, roving } from "explorer/picture";
import { rate } from "explorer/occupancy";

const LEFT = 58, RIGHT = 8, TOP = 6, BOTTOM = 40;
const SIZE = 6, TINY = 3.5; // half a mark's, pixels

/** @param {gemm.Point} point */
export const nameOf = ({ m, n, k }) => `${m}×${n}×${k}`;

/** @param {gemm.Axis} side @param {number} from @param {number} to @returns {(value: number) => number} pixels */
function scale(side, from, to) {
  const low = Math.log(side.least), high = Math.log(side.most);
  return (value) => from + ((Math.log(value) - low) / (high - low)) * (to - from);
}

/** @param {gemm.Mark} mark @param {number} x @param {number} y @param {number} r */
function shapeOf(mark, x, y, r) {
  const look = { class: `mark ${mark.shade}` };
  if (mark.marker === "o") return svg("circle", { cx: x, cy: y, r, ...look });
  const up = mark.marker === "^" ? -1 : 1;
  return svg("path", { d: `M${x - r} ${y - up * r}h${2 * r}l${-r} ${up * 2 * r}z`, ...look });
}

/** @param {gemm.Mark} mark for the legend */
export const sample = (mark) => svg("svg", { width: 16, height: 16, "aria-hidden": "true" }, shapeOf(mark, 8, 8, SIZE));

/**
 * The frame, its grid, and the axes' numbers and names.
 * @param {gemm.AtlasPage} page @param {(n: number) => number} x @param {(m: number) => number} y @param {number} width @param {number} height
 */
function frame(page, x, y, width, height) {
  const bottom = height - BOTTOM, right = width - RIGHT;
  return svg("g", { "aria-hidden": "true" },
    page.columns.ticks.map((tick) => [
      svg("line", { x1: x(tick), x2: x(tick), y1: TOP, y2: bottom, class: "chart-grid" }),
      centred(x(tick), bottom + 16, tick),
    ]),
    page.rows.ticks.map((tick) => [
      svg("line", { x1: LEFT, x2: right, y1: y(tick), y2: y(tick), class: "chart-grid" }),
      ending(LEFT - 6, y(tick) + 4, tick),
    ]),
    box(LEFT, TOP, right - LEFT, bottom - TOP, { class: "chart-frame" }),
    centred((LEFT + right) / 2, height - 6, page.columns.label),
    centred(0, 0, page.rows.label, undefined, { transform: `translate(13 ${(TOP + bottom) / 2}) rotate(-90)` }));
}

/**
 * @param {gemm.AtlasPage} page @param {string} title @param {gemm.Point[]} points of this panel @param {gemm.Point | null} chosen
 * @param {number} width pixels @param {(point: gemm.Point) => void} choose
 */
export function plane(page, title, points, chosen, width, choose) {
  const height = Math.round(Math.min(300, Math.max(230, 0.55 * width)));
  const x = scale(page.columns, LEFT, width - RIGHT), y = scale(page.rows, height - BOTTOM, TOP);
  const root = picture(width, height, `Shapes with ${title}: ${points.length}. Arrow keys go from one to the next.`);
  root.setAttribute("role", "group");
  root.append(frame(page, x, y, width, height));
  const at = el("span", { "aria-hidden": "true" }); // what the pointer or the keyboard is at, as its button's name says
  // The arrow keys go from left to right; what is drawn last is on top: the slow ones, as in the static picture, and what is chosen.
  const inOrder = [...points].sort((a, b) => a.n - b.n || a.m - b.m || a.k - b.k);
  const buttons = new Map(inOrder.map((point) => {
    const name = `${nameOf(point)}, ${rate(point.ratio)} of cuBLAS’s speed, ${point.group}`;
    const said = { "aria-label": name, "aria-pressed": String(point === chosen), "data-shape": nameOf(point) };
    const button = svg("g", { role: "button", tabindex: -1, class: "chart-point", ...said },
      svg("circle", { cx: x(point.n), cy: y(point.m), r: 9, class: "chart-reach" }),
      shapeOf(page.marks[point.mark], x(point.n), y(point.m), point.group === "tiny" ? TINY : SIZE));
    pressed(button, () => choose(point));
    for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => (at.textContent = `${nameOf(point)}: ${rate(point.ratio)}`));
    return /** @type {const} */ ([point, button]);
  }));
  const all = [...buttons.values()];
  (chosen && buttons.get(chosen) || all[0])?.setAttribute("tabindex", "0");
  const onTop = [...points].sort((a, b) =>
    Number(a === chosen) - Number(b === chosen) || a.mark - b.mark || Number(a.group === "tiny") - Number(b.group === "tiny"));
  root.append(...onTop.map((point) => /** @type {SVGGElement} */ (buttons.get(point))));
  roving(root, () => all);
  return el("figure", { class: "plane" }, el("figcaption", {}, el("strong", {}, title), at), root);
}
