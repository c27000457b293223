// The kernel's source; a line that accesses memory can be chosen.

import { line as chooseLine } from "explorer/choosing";
import { button, el } from "explorer/dom";

/**
 * @param {HTMLElement} element
 * @param {import("explorer/payload").Data} data
 * @param {import("explorer/state").State} state
 */
export function mount(element, data, state) {
  /** @type {Map<string, HTMLLIElement>} */
  const rows = new Map();
  const files = data.sources.filter(({ file }) => data.lines.some((line) => line.file === file));
  for (const { file, lines } of files.length ? files : data.sources.slice(0, 1)) {
    const list = el("ol");
    lines.forEach((text, index) => {
      const number = index + 1;
      const here = data.lines.findIndex((line) => line.file === file && line.line === number);
      const indent = text.length - text.trimStart().length;
      const code = here < 0 ? text
        : button(text.slice(indent), () => state.set(chooseLine(data, state.selection, here)));
      const row = el("li", {}, el("span", { class: "number" }, String(number)), el("span", {}, here < 0 ? "" : text.slice(0, indent)), code);
      rows.set(`${file} ${number}`, row);
      list.append(row);
    });
    element.append(el("h3", {}, file), el("div", { class: "source", tabindex: 0, role: "region", "aria-label": `Source of ${file}` }, list));
  }
  const note = el("p", { class: "note", "aria-live": "polite" });
  element.append(note);
  state.subscribe((now) => {
    for (const row of rows.values()) {
      row.classList.remove("chosen", "event");
      row.removeAttribute("aria-current");
    }
    const line = now.line === null ? null : data.lines[now.line];
    const chosen = line && rows.get(`${line.file} ${line.line}`);
    const place = now.event === null ? null : data.blocks[now.block]?.placeOf(now.event);
    const at = place && rows.get(`${place.file} ${place.line}`);
    at?.classList.add("event");
    if (chosen) {
      chosen.classList.add("chosen");
      chosen.setAttribute("aria-current", "true");
    }
    const shown = chosen ?? at;
    if (shown) {
      const box = /** @type {HTMLElement} */ (shown.closest(".source"));
      const top = shown.getBoundingClientRect().top - box.getBoundingClientRect().top;
      if (top < 20 || top > box.clientHeight - 60) box.scrollTop += top - box.clientHeight / 2;
    }
    note.textContent = line ? `Line ${line.line}: ${line.op === "load" ? "loads from" : "stores to"} ${line.array}.` : "Underlined lines access memory; choose one.";
  });
}
