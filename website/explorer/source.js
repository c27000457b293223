// The kernel's source: the expressions that access memory can be chosen, and stand beside what they cost.

import { inUnits, means, ratio, ratioWords } from "explorer/access";
import { line as chooseLine } from "explorer/choosing";
import { expressions, lineOf, pieces, tokens } from "explorer/code";
import { button, el } from "explorer/dom";
import { under } from "explorer/findings";

/** @param {gemm.Line} line @returns {string} load of A: 32 sectors a request, ideal 4 */
function cost(line) {
  const { units, ideal } = means(line);
  return `${line.op} of ${line.array}: ${inUnits(line, units)} a request, ideal ${ideal}`;
}

/**
 * How much more than the ideal the worst access of a source line moves; nothing where it has none.
 * @param {Data} data @param {number[]} entries
 */
function margin(data, entries) {
  const worst = entries.map((entry) => ratio(data.lines[entry])).reduce((most, one) => (one !== null && one > (most ?? 0) ? one : most), null);
  const words = worst === null ? "" : ratioWords(worst);
  return el("span", { class: `ratio ${worst !== null && worst >= 1.5 ? "far" : ""}`, title: words && entries.map((entry) => cost(data.lines[entry])).join("\n") }, words);
}

/** @param {HTMLElement} element @param {Data} data @param {State} state */
export function mount(element, data, state) {
  /** @type {Map<string, HTMLLIElement>} */
  const rows = new Map();
  /** @type {HTMLButtonElement[]} */
  const buttons = [];
  /** @param {(Node | string)[]} words @param {number} entry @param {string} [look] @param {string} [end] what stands behind them */
  const access = (words, entry, look = "", end = "") => {
    const far = (ratio(data.lines[entry]) ?? 0) >= 1.5;
    const made = button([el("span", { class: "expression" }, words), end], () => state.set(chooseLine(data, state.selection, entry)), {
      class: `access ${far ? "far" : ""} ${look}`, "data-entry": entry, "aria-pressed": "false", title: cost(data.lines[entry]),
    });
    buttons.push(made);
    return made;
  };
  /** @type {{file: string, tab: HTMLButtonElement, box: HTMLElement}[]} */
  const shownFiles = [];
  /** @param {string} file the one of several that is in sight */
  const turn = (file) => {
    for (const one of shownFiles) {
      one.box.hidden = one.file !== file;
      one.tab.setAttribute("aria-pressed", String(one.file === file));
    }
  };
  const files = data.sources.filter(({ file }) => data.lines.some((line) => line.file === file));
  for (const { file, lines } of files.length ? files : data.sources.slice(0, 1)) {
    const list = el("ol");
    let within = false;
    const places = data.lines.map((line) => (line.file === file ? lineOf(lines, line.line, line.array) : 0));
    lines.forEach((line, index) => {
      const number = index + 1, text = line.trimStart(); // how far it is indented is the row's look, in a narrow window less
      const entries = data.lines.flatMap((one, entry) => (one.file === file && one.line === number ? [entry] : []));
      const found = tokens(text, within);
      within = found.within;
      const expressed = data.lines.flatMap((one, entry) => (places[entry] === number ? [{ entry, array: one.array, op: one.op }] : []));
      const { ranges, others } = expressions(text, expressed);
      /** @type {Node[]} */
      const code = [];
      const all = pieces(found.tokens, ranges);
      for (let at = 0; at < all.length; at++) {
        const { entry } = all[at];
        /** @param {import("explorer/code").Piece} piece */
        const shown = ({ text: words, look }) => (look ? el("span", { class: `code-${look}` }, words) : document.createTextNode(words));
        if (entry === null) {
          code.push(shown(all[at]));
          continue;
        }
        /** @type {Node[]} */
        const words = [];
        for (; at < all.length && all[at].entry === entry; at++) words.push(shown(all[at]));
        at -= 1;
        const next = all[at + 1];
        const end = next?.entry === null ? /^[;,)\]]{1,3}/.exec(next.text)?.[0] ?? "" : ""; // which must not begin a line of its own
        if (end) next.text = next.text.slice(end.length);
        code.push(access(words, entry, "", end));
      }
      for (const entry of others) code.push(document.createTextNode(" "), access([`${data.lines[entry].op} ${data.lines[entry].array}`], entry, "beside"));
      const indent = line.length - text.length;
      const row = el("li", {}, el("span", { class: "number" }, String(number)), margin(data, entries),
        el("span", { class: "code", style: `--indent: ${indent}` }, code),
        under(data, file, number).map((words) => el("span", { class: "found" }, words)));
      rows.set(`${file} ${number}`, row);
      list.append(row);
    });
    const tab = button(file.split("/").slice(-2).join("/"), () => turn(file), { title: file });
    shownFiles.push({ file, tab, box: el("div", { class: "source", tabindex: 0, role: "region", "aria-label": `Source of ${file}` }, list) });
  }
  if (shownFiles.length > 1) element.append(el("div", { class: "buttons files", role: "group", "aria-label": "Files" }, shownFiles.map(({ tab }) => tab)));
  element.append(...shownFiles.map(({ box }) => box));
  if (shownFiles.length) turn(shownFiles[0].file);
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
    for (const one of buttons) one.setAttribute("aria-pressed", String(one.dataset.entry === String(now.line)));
    if (chosen) {
      chosen.classList.add("chosen");
      chosen.setAttribute("aria-current", "true");
    }
    const shown = chosen ?? at;
    const file = chosen ? line?.file : at ? place?.file : undefined;
    if (file !== undefined) turn(file);
    if (shown) {
      const box = /** @type {HTMLElement} */ (shown.closest(".source"));
      const top = shown.getBoundingClientRect().top - box.getBoundingClientRect().top;
      if (top < 20 || top > box.clientHeight - 60) box.scrollTop += top - box.clientHeight / 2;
    }
    note.textContent = line ? `Line ${line.line}, ${cost(line)}.` : "Framed expressions access memory; choose one. Beside them: how much more than the ideal they move.";
  });
}
