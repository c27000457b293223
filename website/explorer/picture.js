// Elements of pages and pictures, and what the views' pictures share.

import { el, svg } from "explorer/dom";

/** @typedef {import("explorer/dom").Attributes} Attributes */
/** @typedef {import("explorer/dom").Child} Child */

/**
 * A picture with a name, in pixels. It is as wide as it says: whoever draws asks how much room there is.
 * @param {number} width @param {number} height @param {string} label @param {Child[]} [children]
 */
export function picture(width, height, label, children = []) {
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label, class: "picture" },
    children,
  );
}

/** @param {number} x @param {number} y @param {string} words @param {Attributes} [attributes] */
export const text = (x, y, words, attributes = {}) => svg("text", { x, y, ...attributes }, words);

/**
 * Words around x, as in a cell or above a column.
 * @param {number} x @param {number} y @param {string | number} words @param {number} [size] of the font, pixels @param {Attributes} [attributes]
 */
export const centred = (x, y, words, size, attributes = {}) =>
  text(x, y, String(words), { "text-anchor": "middle", "font-size": size, ...attributes });

/**
 * Words that end at x, as beside a row.
 * @param {number} x @param {number} y @param {string | number} words @param {number} [size] of the font, pixels @param {Attributes} [attributes]
 */
export const ending = (x, y, words, size, attributes = {}) =>
  text(x, y, String(words), { "text-anchor": "end", "font-size": size, ...attributes });

/** @param {SVGSVGElement} root a picture that has turned out to be so high @param {number} height */
export function tall(root, height) {
  root.setAttribute("height", String(height));
  root.setAttribute("viewBox", `0 0 ${root.getAttribute("width")} ${height}`);
  return root;
}

/** @param {number} x @param {number} y @param {number} width @param {number} height @param {Attributes} [attributes] */
export const box = (x, y, width, height, attributes = {}) => svg("rect", { x, y, width, height, ...attributes });

/**
 * An outline around what is chosen. The paper shows on both sides of it, so that it stands out from every shade without its colour.
 * @param {number} x @param {number} y @param {number} width @param {number} height @param {Attributes} [attributes]
 */
export const marked = (x, y, width, height, attributes = {}) =>
  svg("g", attributes, [box(x, y, width, height, { class: "halo" }), box(x, y, width, height, { class: "marked" })]);

/**
 * Which of the eight shades, told apart by lightness and by the number that stands in them, is that of `index`.
 * @param {number} index
 */
export const shade = (index) => `shade shade-${((index % 8) + 8) % 8}`;

/**
 * 0, 1, 2, 5 -> "0–2, 5".
 * @param {number[]} numbers
 */
export function spans(numbers) {
  /** @type {number[][]} */
  const parts = [];
  for (const number of [...new Set(numbers)].sort((a, b) => a - b)) {
    const last = parts[parts.length - 1];
    if (last && number === last[1] + 1) last[1] = number;
    else parts.push([number, number]);
  }
  return parts.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`)).join(", ");
}

/**
 * "lane 5", "lanes 0–31".
 * @param {number[]} lanes @param {string} [word]
 */
export const named = (lanes, word = "lane") => `${word}${new Set(lanes).size === 1 ? "" : "s"} ${spans(lanes)}`;

/**
 * A slider and a field for the same number, both with the name `label`.
 * @param {string} label @param {{min: number, max: number, value: number, step?: number, list?: number[]}} range
 *   list: the values that the slider steps through; the field takes others as well, and says what it refuses
 * @param {(value: number) => void} changed
 * @returns {{element: HTMLElement, set: (value: number, max?: number) => void}}
 */
export function slider(label, range, changed) {
  const { list } = range;
  /** @param {number} value */
  const place = (value) => {
    if (!list) return value;
    const found = list.findIndex((entry) => entry >= value);
    return found < 0 ? list.length - 1 : found;
  };
  const bar = el("input", {
    type: "range",
    min: list ? 0 : range.min,
    max: list ? list.length - 1 : range.max,
    step: list ? 1 : range.step ?? 1,
    "aria-label": `${label}, slider`,
  });
  const field = el("input", {
    type: "number",
    min: range.min,
    max: range.max,
    step: range.step ?? 1,
    "aria-label": label,
    inputmode: "numeric",
  });
  const refused = el("span", { class: "refused", role: "alert" });
  const element = el("div", { class: "slider" }, [
    el("span", { class: "slider-name", "aria-hidden": "true" }, [label]),
    bar,
    field,
    refused,
  ]);
  let max = range.max;
  let now = range.value; // the last one that was not refused
  /** @param {number} value */
  const show = (value) => {
    bar.value = String(place(value));
    if (list) bar.setAttribute("aria-valuetext", String(value));
    if (document.activeElement !== field || field.value === "") field.value = String(value);
  };
  /** @param {number} value */
  const take = (value) => {
    now = value;
    refused.textContent = "";
    field.removeAttribute("aria-invalid");
    changed(value);
  };
  bar.addEventListener("input", () => {
    const value = list ? list[Number(bar.value)] : Number(bar.value);
    field.value = String(value);
    if (list) bar.setAttribute("aria-valuetext", String(value));
    take(value);
  });
  field.addEventListener("input", () => {
    const value = Number(field.value);
    if (field.value === "" || !Number.isInteger(value) || value < range.min || value > max) {
      refused.textContent = `${label} is a whole number from ${range.min} to ${max}${field.value === "" ? "" : `, not ${field.value}`}.`;
      return field.setAttribute("aria-invalid", "true");
    }
    bar.value = String(place(value));
    take(value);
  });
  field.addEventListener("change", () => {
    if (!field.hasAttribute("aria-invalid")) return;
    field.value = String(now); // what was refused does not stay as if it counted
    field.removeAttribute("aria-invalid");
  });
  show(range.value);
  return {
    element,
    set(value, most) {
      if (most !== undefined) {
        max = most;
        bar.max = field.max = String(most);
        bar.disabled = field.disabled = most <= range.min;
      }
      now = value;
      if (document.activeElement !== field || Number(field.value) !== value) field.value = String(value);
      field.removeAttribute("aria-invalid");
      bar.value = String(place(value));
    },
  };
}

/**
 * Calls `act` when the element is clicked, or Enter or the space bar is pressed at it.
 * @param {SVGElement} element @param {() => void} act
 */
export function pressed(element, act) {
  element.addEventListener("click", act);
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    act();
  });
}

/**
 * One stop of the tab key for a group of things that one chooses among: the arrow keys, Home and End go on.
 * @param {Element} group @param {() => (HTMLElement | SVGElement)[]} members in order @param {(index: number) => void} [chosen]
 * @param {number} [columns] members in a row: the arrows up and down go so many on
 */
export function roving(group, members, chosen = () => {}, columns = 1) {
  group.addEventListener("keydown", (event) => {
    const key = /** @type {KeyboardEvent} */ (event).key;
    const all = members();
    const now = all.findIndex((member) => member === document.activeElement);
    if (now < 0) return;
    const steps = /** @type {Record<string, number>} */ ({
      ArrowRight: 1,
      ArrowDown: columns,
      ArrowLeft: -1,
      ArrowUp: -columns,
      Home: -now,
      End: all.length - 1 - now,
    });
    if (!(key in steps)) return;
    event.preventDefault();
    const next = Math.min(Math.max(now + steps[key], 0), all.length - 1);
    all.forEach((member, index) => member.setAttribute("tabindex", index === next ? "0" : "-1"));
    all[next].focus();
    chosen(next);
  });
}
