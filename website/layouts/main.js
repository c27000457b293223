// The page: reads a layout and an operation, draws the functions, and moves along the result's index. Its address keeps all of it.

import { button, counted, el } from "explorer/dom";
import { follow } from "explorer/theme";
import * as algebra from "layouts/algebra";
import { EXAMPLES, OPERATIONS } from "layouts/operations";
import { layout, Malformed } from "layouts/text";

const DRAWN = 1024; // elements of a grid at most
const COMPUTED = 4096; // of a result
const SHADES = 8;
const EVERY = 700; // ms a step, while it plays

/** @typedef {import("layouts/operations").Grid} Grid @typedef {import("layouts/operations").Made} Made */

/** @param {string} id */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
/** @param {string} id */
const field = (id) => /** @type {HTMLInputElement} */ (document.getElementById(id));

/** @type {{rules: Record<string, string>}} layout.hpp's sentences */
const payload = JSON.parse(/** @type {string} */ (byId("payload").textContent));

/** @type {Made | null} */
let made = null;
let index = 0;
let timer = 0;

const choice = /** @type {HTMLSelectElement} */ (byId("operation"));
choice.append(...Object.entries(OPERATIONS).map(([id, { name }]) => el("option", { value: id }, name)));

/** @param {{a: string, operation: string, b?: string}} asked */
const addressOf = ({ a, operation, b }) => `#${new URLSearchParams({ a, operation, ...(b ? { b } : {}) })}`;
byId("examples").querySelector("ul")?.append(...EXAMPLES.map((one) => el("li", {}, el("a", { href: addressOf(one) }, one.says))));

/** What the address asks for; the first example where it asks for nothing. */
function fromAddress() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const operation = asked.get("operation") ?? "tile";
  field("a").value = asked.get("a") ?? "(4,8):(8,1)";
  choice.value = operation in OPERATIONS ? operation : "show";
  field("b").value = asked.get("b") ?? OPERATIONS[choice.value].example;
  index = Number(asked.get("i")) || 0;
  read();
}

function keep() {
  const { operand } = OPERATIONS[choice.value];
  const asked = { a: field("a").value, operation: choice.value, ...(operand ? { b: field("b").value } : {}) };
  history.replaceState(null, "", `${addressOf(asked)}${index ? `&i=${index}` : ""}`);
}

/** @param {HTMLInputElement} from @param {string} sentence @param {number} position in its text; -1: the operands do not fit */
function complain(from, sentence, position) {
  const text = from.value;
  const mark = position < 0 ? [] : [el("pre", { "aria-hidden": "true" }, `${text}\n${" ".repeat(position)}^`)];
  const where = position < 0 ? "" : `At character ${position + 1} of ${from.id === "a" ? "A" : "the operand"} `;
  byId("trouble").replaceChildren(...mark, el("p", {}, `${where}${sentence}.`));
  byId("trouble").hidden = false;
  if (position >= 0) from.setAttribute("aria-invalid", "true");
}

/** Computes what is asked for. Where that is not possible, what was shown last stays. */
function read() {
  stop();
  const { operand, means, make } = OPERATIONS[choice.value];
  byId("second").hidden = !operand;
  /** @type {HTMLElement} */ (byId("second").querySelector("label")).textContent = operand;
  byId("means").textContent = means;
  for (const id of ["a", "b"]) field(id).removeAttribute("aria-invalid");
  byId("trouble").hidden = true;
  let from = field("a");
  try {
    const a = layout(from.value.replace(/\s/g, ""));
    if (algebra.size(a) > COMPUTED) throw new Malformed(`the layout has more than ${COMPUTED} elements, too many for this page`, 0);
    from = field("b");
    const now = make(a, from.value.replace(/\s/g, ""));
    if (algebra.size(now.result) > COMPUTED) {
      return complain(from, `The result has more than ${COMPUTED} elements, too many for this page; ./gemm layout has no such limit`, -1);
    }
    made = now;
  } catch (error) {
    if (error instanceof Malformed) return complain(from, error.message, error.position);
    if (error instanceof algebra.Undefined) return complain(from, `The operation is not defined (${payload.rules[error.rule]})`, -1);
    throw error;
  }
  show(made);
}

/** @param {Made} now */
function show(now) {
  const { result } = now;
  byId("written").textContent = now.text;
  const facts = `Size ${algebra.size(result)}, cosize ${algebra.cosize(result)}, rank ${algebra.rank(result)}, depth ${algebra.depth(result)}.`;
  const wrong = now.differs < 0 ? "" : ` This is not A(B(i)): it differs first at i = ${now.differs} (${payload.rules[now.rule]}).`;
  byId("said").textContent = facts + wrong;
  byId("grids").replaceChildren(...now.grids.map(grid));
  slider.max = String(algebra.size(result) - 1);
  go(index);
}

/** @param {Grid} one @param {number} which */
function grid(one, which) {
  const { layout: a, swizzle } = one;
  const count = algebra.size(a);
  const caption = el("figcaption", { class: "code" }, one.name);
  if (count > DRAWN) return el("figure", { class: "grid" }, caption, el("p", { class: "note" }, `${counted(count, "element")}: too many to draw.`));
  const rows = algebra.rank(a) > 1 ? algebra.size(algebra.mode(a, 0)) : 1;
  const columns = count / rows;
  /** @param {number} length @param {(i: number) => Node} each */
  const list = (length, each) => Array.from({ length }, (_, i) => each(i));
  const isResult = made !== null && which === made.grids.length - 1;
  /** @param {number} row @param {number} column */
  const cell = (row, column) => {
    const i = row + column * rows;
    const plainly = algebra.offset(a, i);
    const at = swizzle ? algebra.swizzled(swizzle, plainly) : plainly;
    const shade = one.shade(i, at);
    const looks = shade === null ? {} : { class: `shade shade-${shade % SHADES}` };
    return el("td", { ...looks, "data-cell": i, ...(isResult ? { "data-index": i } : {}) }, String(at));
  };
  const head = el("tr", {}, el("td", { class: "corner", hidden: rows === 1 }), list(columns, (column) => el("th", { scope: "col" }, String(column))));
  const body = list(rows, (row) => el("tr", {}, el("th", { scope: "row", hidden: rows === 1 }, String(row)), list(columns, (column) => cell(row, column))));
  const table = el("table", {}, el("thead", {}, head), el("tbody", {}, body));
  return el("figure", { class: "grid" }, caption, el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": one.name }, table));
}

/** @param {number} wanted an index of the result */
function go(wanted) {
  if (!made) return;
  const last = algebra.size(made.result) - 1;
  index = Math.max(0, Math.min(wanted, last));
  slider.value = String(index);
  back.disabled = index === 0;
  on.disabled = index === last;
  shown.textContent = `${index}, of 0 to ${last}`;
  byId("step").textContent = made.step(index);
  document.querySelectorAll("td.at").forEach((cell) => cell.classList.remove("at"));
  const figures = byId("grids").children;
  made.grids.forEach((one, which) => {
    const at = one.at(index);
    if (at !== null) figures[which].querySelector(`[data-cell="${at}"]`)?.classList.add("at");
  });
  keep();
}

function stop() {
  clearInterval(timer);
  timer = 0;
  play.textContent = "▶ Play";
  play.setAttribute("aria-pressed", "false");
}

const back = button("◀", () => (stop(), go(index - 1)), { "aria-label": "One step back" });
const on = button("▶", () => (stop(), go(index + 1)), { "aria-label": "One step forward" });
const play = button("", () => {
  if (timer) return stop();
  if (on.disabled) go(0);
  play.textContent = "⏸ Pause";
  play.setAttribute("aria-pressed", "true");
  timer = window.setInterval(() => {
    go(index + 1);
    if (on.disabled) stop();
  }, EVERY);
});
const slider = el("input", { type: "range", min: 0, step: 1, value: 0 });
slider.addEventListener("input", () => (stop(), go(Number(slider.value))));
const shown = el("output");
byId("steps").append(back, play, on, el("label", {}, "Index", slider), shown);

for (const id of ["a", "b"]) field(id).addEventListener("input", read);
choice.addEventListener("change", () => {
  field("b").value = OPERATIONS[choice.value].example;
  index = 0;
  read();
});
byId("asked").addEventListener("submit", (event) => event.preventDefault());
byId("grids").addEventListener("click", (event) => {
  const cell = event.target instanceof Element ? event.target.closest("[data-index]") : null;
  if (cell instanceof HTMLElement) stop(), go(Number(cell.dataset.index));
});
addEventListener("hashchange", fromAddress);
follow();
fromAddress();
