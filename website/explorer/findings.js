// Findings, each drawn where it is: both lines, both threads, the address; a hang as its autopsy.

import * as autopsy from "explorer/autopsy";
import { BANKS, LINE, WORD } from "explorer/banks";
import { button, el, grouped, svg, whenResized } from "explorer/dom";
import { columns, hatching, inRows, LEFT } from "explorer/memory";
import { box, centred, ending, marked, picture, roving, shade, text } from "explorer/picture";
import { resultOf } from "explorer/payload";
import { racing, rounds, touching } from "explorer/racing";
import { grid, linear, where } from "explorer/threads";

/** @typedef {import("explorer/state").Selection} Selection */

const AROUND = 2; // lines of source above and below

/** @param {string} id */
const inWords = (id) => id.replaceAll("_", " ");

/** @param {gemm.Finding} finding */
function placeOf(finding) {
  if (!finding.array) return "memory";
  return finding.row !== null
    ? `${finding.array}[${finding.row}][${finding.column}]`
    : `${finding.array} + ${grouped(finding.offset)} bytes`;
}

/**
 * What is said of a line of source under it: with their numbers in the list, the findings that it has a part in.
 * @param {Data} data @param {string} file @param {number} line
 * @returns {string[]} 1. race: writes As + 132 bytes
 */
export function under(data, file, line) {
  return data.trace.findings.flatMap((finding, index) => {
    const sides = finding.other ? [finding.other, finding] : [finding];
    const mine = sides.filter((side) => side.file === file && side.line === line);
    const does = [...new Set(mine.map(({ access }) => (access === "write" ? "writes" : "reads")))].join(" and ");
    return does ? [`${index + 1}. ${inWords(finding.id)}: ${does} ${placeOf(finding)}`] : [];
  });
}

/** @param {Data} data @param {number[] | null} thread */
const threadOf = (data, thread) => linear(thread, data.descriptor.block, data.trace.threads_per_block);

/**
 * What other views show of it: block, line, thread, and the request that touches the place, where its block's history is kept.
 * @param {Data} data @param {gemm.Finding} finding
 * @returns {Partial<Selection>}
 */
export function selectionOf(data, finding) {
  const thread = threadOf(data, finding.thread);
  const op = finding.access === "write" ? "store" : "load";
  const found = data.lines.findIndex((line) =>
    line.file === finding.file && line.line === finding.line && line.array === finding.array && line.op === op
  );
  const line = found >= 0 ? found : data.lines.findIndex((entry) => entry.file === finding.file && entry.line === finding.line);
  /** @type {Partial<Selection>} */
  const chosen = { line: line < 0 ? null : line, event: null, occurrence: null };
  if (thread !== null) Object.assign(chosen, { thread, warp: Math.floor(thread / 32), lane: thread % 32 });
  if (finding.array === resultOf(data.blocks[0]?.raw.arrays ?? []) && finding.row !== null && finding.column !== null) {
    chosen.element = { row: finding.row, col: finding.column };
  }
  const index = data.blocks.findIndex((block) => block.raw.index === finding.block);
  if (index < 0) return chosen;
  chosen.block = index;
  const block = data.blocks[index];
  if (line < 0 || thread === null) return chosen;
  const event = racing(data, finding)?.second ?? touching(data, block, finding, finding)[0];
  return event === undefined ? chosen : { ...chosen, ...block.selectionOf(event), thread, lane: thread % 32 };
}

/** @param {HTMLElement} element @param {Data} data @param {State} state */
export function mount(element, data, state) {
  const { findings, error, verdict } = data.trace;
  const hang = error?.autopsy;
  if (!findings.length && !error && (!verdict || verdict.passed)) {
    const nothing = "Nothing was found at this size: no race, no access outside an array, no hang, and the result is right.";
    element.append(el("p", { "data-findings": 0 }, nothing));
    return;
  }
  if (error && !hang) {
    element.append(el("p", { class: "trouble" }, [el("strong", {}, [`${inWords(error.id)}: `]), error.text]));
  }
  if (verdict && !verdict.passed) {
    const lines = `Wrong result: ${verdict.text}`.split("\n").map((words) => el("p", {}, words));
    element.append(el("div", { class: "trouble", "data-verdict": "wrong" }, lines));
  }
  if (hang) {
    const shown = el("div", { class: "autopsy" });
    element.append(el("h3", {}, ["A hang"]), shown);
    const choose = (/** @type {number} */ thread) => state.set({ thread, warp: Math.floor(thread / 32), lane: thread % 32 });
    whenResized(shown, (width) => shown.replaceChildren(...autopsy.draw(hang, data.trace.threads_per_block, Math.max(280, width), choose)));
  }
  if (!findings.length) return;
  const list = el("div", { role: "radiogroup", "aria-label": "Findings", class: "findings" });
  const detail = el("div", { class: "finding" });
  const first = Math.max(findings.findIndex(({ id }) => id === "race"), 0); // what the page's first lines lead to
  let chosen = first;
  const buttons = findings.map((finding, index) => {
    const often = finding.count > 1 ? ` ×${grouped(finding.count)}` : "";
    const words = `${index + 1}. ${inWords(finding.id)}: ${placeOf(finding)}${often}`;
    return button(words, () => choose(index), { role: "radio", "aria-checked": "false", "data-finding": index, ...(index === first ? { "data-first": "" } : {}) });
  });
  list.append(...buttons);
  roving(list, () => buttons, choose);
  /** @param {number} index */
  function choose(index) {
    chosen = index;
    draw();
    state.set(selectionOf(data, findings[index]));
  }
  function draw() {
    buttons.forEach((button, index) => {
      button.setAttribute("aria-checked", String(index === chosen));
      button.tabIndex = index === chosen ? 0 : -1;
    });
    detail.replaceChildren(...shown(data, findings[chosen], Math.max(280, detail.clientWidth)));
  }
  const many = findings.length === 1 ? "One finding" : `${findings.length} findings`;
  element.append(el("p", {}, `${many}. Choosing one shows its line, thread and address in the other views.`), list, detail);
  whenResized(detail, draw);
}

/** @param {Data} data @param {gemm.Finding} finding @param {number} width */
function shown(data, finding, width) {
  const first = finding.other, trace = data.trace;
  const threads = [threadOf(data, first?.thread ?? null), threadOf(data, finding.thread)];
  const kept = !data.blocks.length || data.blocks.some((block) => block.raw.index === finding.block);
  const note = `The history of block ${finding.block} was not kept, so the other views show another block.`;
  const who = threads.flatMap((thread, index) => (thread === null ? [] : [{ thread, index }]));
  /** @param {number} thread */
  const mark = (thread) => {
    const found = who.filter((entry) => entry.thread === thread);
    if (!found.length) return null;
    const label = found.map(({ index }) => (first ? index + 1 : 1)).join("");
    return { shade: !first || found[0].index === 0 ? 0 : 3, label, title: where(thread) };
  };
  const name = who.map(({ thread }) => where(thread)).join("; ");
  const often = finding.count > 1 ? ` It happened ${grouped(finding.count)} times.` : "";
  const pair = racing(data, finding);
  const all = [
    el("p", { role: "status" }, el("strong", {}, `${inWords(finding.id)}: `), `${finding.text}.`, often),
    pair && el("p", { "data-rounds": "" }, `${placeOf(finding)}: ${rounds(data, finding, pair)}.`),
    el("div", { class: "sides" },
      first && side(data, "1", `${first.access === "write" ? "wrote" : "read"} it`, first, threads[0]),
      side(data, first ? "2" : "1", `${finding.access === "write" ? "writes" : "reads"} it`, finding, threads[1])),
    el("h3", {}, `Where: ${placeOf(finding)}`),
    finding.row !== null ? inMatrix(data, finding, width) : inArray(data, finding, width),
    who.length > 0 && el("h3", {}, "Who: the block’s warps and lanes"),
    who.length > 0 && grid(trace.threads_per_block, width, name, mark, true),
    !kept && el("p", { class: "note", "data-kept": "false" }, note),
  ];
  return /** @type {Node[]} */ (all.filter(Boolean));
}

/**
 * One of the two accesses: its line among its neighbors, and its thread.
 * @param {Data} data @param {string} number @param {string} does @param {{file: string, line: number}} place @param {number | null} thread
 */
function side(data, number, does, { file, line }, thread) {
  const lines = data.sources.find((source) => source.file === file)?.lines ?? [];
  const from = Math.max(1, line - AROUND), to = Math.min(lines.length, line + AROUND);
  const around = lines.slice(from - 1, to);
  const indent = Math.min(...around.filter((words) => words.trim()).map((words) => words.length - words.trimStart().length));
  const code = around.map((words, index) => {
    const at = from + index, mine = at === line;
    const beside = el("span", { class: "number" }, `${mine ? "▶" : " "}${String(at).padStart(4)}  `);
    const code = el("span", { class: "code" }, words.slice(Number.isFinite(indent) ? indent : 0));
    return el("span", { class: `code-line ${mine ? "chosen" : ""}` }, beside, code, "\n");
  });
  const picture = svg("svg", { width: 22, height: 18, "aria-hidden": "true", class: shade(number === "1" ? 0 : 3) },
    box(1, 1, 20, 16, { class: "cell shade" }), centred(11, 13, number, 12, { "font-weight": "bold" }));
  const who = ` ${thread === null ? "A thread" : where(thread)} ${does}`;
  return el("figure", { class: "side" },
    el("figcaption", {}, picture, who, el("br"), `${file}:${line}`),
    el("pre", { tabindex: 0, "aria-label": `${file}, lines ${from} to ${to}` }, code));
}

/** @param {Data} data @param {string} name */
function sizesOf(data, name) {
  const array = data.blocks.flatMap((block) => block.raw.arrays).find((entry) => entry.name === name);
  if (array?.rows != null && array.cols !== null) return { rows: array.rows, cols: array.cols };
  const { m, n, k } = data.trace;
  return { A: { rows: m, cols: k }, B: { rows: k, cols: n } }[name] ?? { rows: m, cols: n };
}

/**
 * The matrix with the element, which may lie outside of it.
 * @param {Data} data @param {gemm.Finding} finding @param {number} width pixels
 */
function inMatrix(data, finding, width) {
  const { rows, cols } = sizesOf(data, finding.array);
  const row = finding.row ?? 0, col = finding.column ?? 0;
  const beyond = Math.max(finding.beyond, 0);
  const outside = row < 0 || col < 0 || row >= rows || col >= cols;
  const [top, left] = [Math.min(0, row), Math.min(0, col)];
  const tall = Math.max(rows, row + 1, row >= rows ? rows + beyond : 0) - top,
    wide = Math.max(cols, col + 1, col >= cols ? cols + beyond : 0) - left;
  const inner = Math.min(width, 560) - 120, scale = Math.min(inner / wide, 240 / tall);
  // What lies outside shows even where it is one row of thousands.
  const strip = outside ? 14 : 0;
  const x0 = 66 + (left < 0 ? strip : 0), y0 = 44 + (top < 0 ? strip : 0);
  const across = cols * scale, down = rows * scale;
  const label = `${finding.array}, ${rows}×${cols}: row ${row}, column ${col}${outside ? ", outside of it" : ""}`;
  const root = picture(width, Math.ceil(down) + 74 + 2 * strip, label);
  const hatch = hatching(root);
  const hatched = { class: "cell", style: `fill: ${hatch}` };
  if (row >= rows || row < 0) root.append(box(x0, row < 0 ? y0 - strip : y0 + down, across, strip, hatched));
  if (col >= cols || col < 0) root.append(box(col < 0 ? x0 - strip : x0 + across, y0, strip, down, hatched));
  const x = col < 0 ? x0 - strip / 2 : col >= cols ? x0 + across + strip / 2 : x0 + (col + 0.5) * scale;
  const y = row < 0 ? y0 - strip / 2 : row >= rows ? y0 + down + strip / 2 : y0 + (row + 0.5) * scale;
  const past = beyond ? `, up to ${beyond} past its edge` : "";
  const where = outside ? `Hatched: outside of ${finding.array}${past}` : "The element is inside it.";
  root.append(
    box(x0, y0, across, down, { class: "cell quiet strong" }),
    text(x0, 14, `${finding.array}: ${rows}×${cols}`),
    svg("line", { x1: x0 - 4, x2: x, y1: y, y2: y, class: "thread-line chosen" }),
    svg("line", { x1: x, x2: x, y1: y0 - 4, y2: y, class: "thread-line chosen" }),
    svg("circle", { cx: x, cy: y, r: 6, class: "bad-fill" }),
    ending(x0 - 8, Math.min(y + 4, y0 + down + strip), `row ${row}`, 11),
    text(Math.min(x, width - 70), y0 - 8, `column ${col}`, { "text-anchor": x < x0 + 80 ? "start" : "middle", "font-size": 11 }),
    text(x0, y0 + down + strip + 20, where, { "font-size": 11 }),
  );
  return root;
}

/**
 * An array of shared memory: its place in the whole, and in the banks.
 * @param {Data} data @param {gemm.Finding} finding @param {number} width pixels
 */
function inArray(data, finding, width) {
  const array = data.blocks.flatMap((block) => block.raw.arrays).find((one) => one.name === finding.array && one.rank === null);
  const bytes = array?.bytes ?? null, start = array?.offset ?? 0, { offset } = finding;
  const outside = bytes !== null && (offset < 0 || offset >= bytes);
  const inner = width - LEFT - 4, cell = inner / BANKS;
  const word = Math.floor((start + offset) / WORD), row = Math.floor((word * WORD) / LINE), bank = ((word % BANKS) + BANKS) % BANKS;
  const label = `${finding.array} + ${offset} bytes: bank ${bank}${outside ? ", outside of the array" : ""}`;
  const root = picture(width, bytes === null ? 92 : 142, label);
  const hatch = hatching(root);
  columns(root, cell, "byte \\ bank", 12);
  /** @type {Node[]} */
  const marks = [];
  inRows(root, [row - 1, row, row + 1], { y: 18, high: 20 }, (line) => grouped(line * LINE - start), (line, y) => {
    for (let at = 0; at < BANKS; ++at) {
      const here = line * LINE - start + at * WORD, mine = line === row && at === bank;
      const inside = bytes === null || (here >= 0 && here < bytes);
      const look = mine ? { class: "cell bad-fill" } : { class: "cell", style: inside ? "" : `fill: ${hatch}` };
      root.append(box(LEFT + at * cell, y, cell, 20, look));
      if (mine) marks.push(marked(LEFT + at * cell, y, cell, 20));
    }
  });
  root.append(...marks);
  if (bytes === null) return root;
  const low = Math.min(0, offset), high = Math.max(bytes, offset + WORD), scale = inner / (high - low);
  const words = `${outside ? "outside of" : "in"} its ${grouped(bytes)} bytes: byte ${grouped(offset)}, bank ${bank}`;
  root.append(
    box(LEFT - low * scale, 100, bytes * scale, 14, { class: "cell quiet strong" }),
    ending(LEFT - 6, 111, finding.array.length > 9 ? "array" : finding.array, 11),
    box(LEFT + (offset - low) * scale - 2, 96, 4, 22, { class: "bad-fill" }),
    text(LEFT, 134, words + (outside ? " (hatched: not the array’s)" : ""), { "font-size": 11 }),
  );
  return root;
}
