// The page: a type's shapes, of the groups that are shown, and what was measured at the one that is chosen. Its address keeps both.

import { button, counted, el, whenResized } from "explorer/dom";
import { follow } from "explorer/theme";
import { rate } from "explorer/occupancy";
import { details } from "atlas/details";
import { nameOf, plane, sample } from "atlas/plane";

/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @type {gemm.AtlasPage} */
const page = JSON.parse(/** @type {string} */ (byId("payload").textContent));
const names = [...new Set(page.atlases.flatMap(({ means }) => means.map(({ group }) => group)))];

let atlas = page.atlases[0];
/** @type {Set<string>} */
let shown = new Set(names);
/** @type {gemm.Point | null} */
let chosen = null;
let width = 0; // of a panel, pixels

/** @param {string} shape "16x4096x4096" */
const find = (shape) => atlas.points.find((point) => nameOf(point) === shape.replaceAll("x", "×")) ?? null;

function address() {
  const asked = new URLSearchParams({ type: atlas.variant });
  if (chosen) asked.set("shape", nameOf(chosen).replaceAll("×", "x"));
  if (shown.size < names.length) asked.set("groups", names.filter((name) => shown.has(name)).join(" "));
  return `#${asked}`;
}

/** What the address asks for; what it asks for in vain is left out. */
function fromAddress() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const shape = asked.get("shape") ?? "";
  atlas = page.atlases.find(({ variant }) => variant === asked.get("type")) ?? page.atlases[0];
  chosen = find(shape);
  const groups = asked.get("groups")?.split(" ") ?? names;
  shown = new Set(names.filter((name) => groups.includes(name) || name === chosen?.group));
  show();
}

/** @param {gemm.Point} point */
function choose(point) {
  chosen = point;
  shown.add(point.group); // another K may have been filtered out
  show();
  /** @type {SVGElement | null} */ (document.querySelector(`[data-shape="${nameOf(point)}"]`))?.focus({ preventScroll: true });
}

/** Draws everything anew. */
function show() {
  for (const one of byId("types").children) one.setAttribute("aria-pressed", String(one.id === atlas.variant));
  for (const one of /** @type {NodeListOf<HTMLInputElement>} */ (byId("groups").querySelectorAll("input"))) one.checked = shown.has(one.value);
  const means = atlas.means.map(({ group, shapes, mean }) => `${group} ${rate(mean)} (${counted(shapes, "shape")})`).join(", ");
  byId("means").textContent = `${atlas.lesson}, speed over cuBLAS’s, geometric means: ${means}. Small marks: cuBLAS takes less than 20 µs.`;
  planes();
  tell();
  history.replaceState(null, "", address());
}

function planes() {
  if (!width) return; // nothing is laid out yet
  const points = atlas.points.filter(({ group }) => shown.has(group));
  byId("planes").replaceChildren(...page.panels.map((title, panel) => {
    const made = plane(page, title, points.filter((point) => point.panel === panel), chosen, width, choose);
    made.style.order = String(2 * panel);
    return made;
  }));
}

/** What was measured; on a phone it comes after the panel of its shape. */
function tell() {
  byId("shape").style.order = String(chosen ? 2 * chosen.panel + 1 : 0);
  byId("shape-title").textContent = chosen ? nameOf(chosen) : "No shape chosen";
  const view = /** @type {HTMLElement} */ (byId("shape").querySelector(".view"));
  view.replaceChildren(...(chosen ? details(page, atlas, chosen, location.href.split("#")[0] + address(), choose)
    : [el("p", {}, "Click a mark, or reach a panel with the Tab key, move with the arrow keys and press Enter.")]));
}

byId("types").append(...page.atlases.map((one) => button(one.label, () => {
  const shape = chosen ? nameOf(chosen) : "";
  atlas = one;
  chosen = find(shape);
  if (chosen) shown.add(chosen.group);
  show();
}, { id: one.variant })));
byId("groups").append(...names.map((name) => {
  const box = el("input", { type: "checkbox", value: name });
  box.addEventListener("change", () => {
    if (box.checked) shown.add(name);
    else shown.delete(name);
    if (chosen && !shown.has(chosen.group)) chosen = null;
    show();
  });
  return el("label", {}, box, name);
}));
byId("legend").append(...page.marks.map((mark) => el("li", {}, sample(mark), mark.words)));
whenResized(byId("atlas"), () => {
  // As wide as style.css makes a panel, which on a phone is main's own column.
  const style = getComputedStyle(byId("planes")), grid = style.display === "contents" ? getComputedStyle(byId("atlas")) : style;
  width = Math.floor(parseFloat(grid.gridTemplateColumns));
  planes();
});
addEventListener("hashchange", fromAddress);
follow();
fromAddress();
