// Findings, each drawn where it is: both lines, both threads, the address; a hang as its autopsy.

import * as autopsy from "explorer/autopsy";
import { BANKS, LINE, WORD } from "explorer/banks";
import { el, grouped, svg, whenResized } from "explorer/dom";
import { hatching } from "explorer/memory";
import { box, marked, picture, roving, shade, text } from "explorer/picture";
import { grid, linear, where } from "explorer/threads";

/** @typedef {import("explorer/payload").Block} Block */
/** @typedef {import("explorer/payload").Data} Data */
/** @typedef {import("explorer/state").Selection} Selection */
/** @typedef {import("explorer/state").State} State */

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
  if (finding.array === "C" && finding.row !== null && finding.column !== null) {
    chosen.element = { row: finding.row, col: finding.column };
  }
  const index = data.blocks.findIndex((block) => block.raw.index === finding.block);
  if (index < 0) return chosen;
  chosen.block = index;
  const block = data.blocks[index];
  if (line < 0 || thread === null) return chosen;
  const touching = block.requests(line, Math.floor(thread / 32)).find((event) => {
    const request = block.request(event), array = request?.array;
    const lane = request?.lanes.indexOf(thread % 32) ?? -1;
    if (!request || !array || lane < 0 || request.box) return false;
    const offset = finding.row !== null && array.pitch && array.element_bytes
      ? (finding.row * array.pitch + (finding.column ?? 0)) * array.element_bytes
      : finding.offset;
    return offset >= request.offsets[lane] && offset < request.offsets[lane] + (request.access?.width ?? 0);
  });
  return touching === undefined ? chosen : { ...chosen, ...block.selectionOf(touching), thread, lane: thread % 32 };
}

/** @param {HTMLElement} element @param {Data} data @param {State} state */
export function mount(element, data, state) {
  const { findings, error, verdict } = data.trace;
  const hang = error?.autopsy;
  if (!findings.length && !error && (!verdict || verdict.passed)) {
    element.append(
      el("p", { "data-findings": 0 }, [
        "Nothing was found: no race, no access outside an array, no hang, and the result is right.",
      ]),
    );
    return;
  }
  if (error && !hang) {
    element.append(el("p", { class: "trouble" }, [el("strong", {}, [`${inWords(error.id)}: `]), error.text]));
  }
  if (verdict && !verdict.passed) {
    element.append(el(
      "div",
      { class: "trouble", "data-verdict": "wrong" },
      verdict.text.split("\n").map((words, index) => el("p", {}, [index === 0 ? `Wrong result: ${words}` : words])),
    ));
  }
  if (hang) {
    const shown = el("div", { class: "autopsy" });
    element.append(el("h3", {}, ["A hang"]), shown);
    const choose = (/** @type {number} */ thread) => state.set({ thread, warp: Math.floor(thread / 32), lane: thread % 32 });
    whenResized(
      shown,
      () => shown.replaceChildren(...autopsy.draw(hang, data.trace.threads_per_block, Math.max(280, shown.clientWidth), choose)),
    );
  }
  if (!findings.length) return;
  const list = el("div", { role: "radiogroup", "aria-label": "Findings", class: "findings" });
  const detail = el("div", { class: "finding" });
  let chosen = 0;
  const buttons = findings.map((finding, index) => {
    const often = finding.count > 1 ? ` ×${grouped(finding.count)}` : "";
    const button = el("button", { type: "button", role: "radio", "aria-checked": "false", "data-finding": index }, [
      `${index + 1}. ${inWords(finding.id)}: ${placeOf(finding)}${often}`,
    ]);
    button.addEventListener("click", () => choose(index));
    list.append(button);
    return button;
  });
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
  element.append(
    el("p", {}, [
      `${
        findings.length === 1 ? "One finding" : `${findings.length} findings`
      }. Choosing one shows its line, thread and address in the other views.`,
    ]),
    list,
    detail,
  );
  whenResized(detail, draw);
}

/** @param {Data} data @param {gemm.Finding} finding @param {number} width */
function shown(data, finding, width) {
  const first = finding.other;
  const threads = [threadOf(data, first?.thread ?? null), threadOf(data, finding.thread)];
  const kept = data.blocks.some((block) => block.raw.index === finding.block);
  const note = !data.blocks.length || kept ? null : el("p", { class: "note", "data-kept": "false" }, [
    `The history of block ${finding.block} was not kept, so that the other views show another block.`,
  ]);
  const who = threads.map((thread, index) => ({ thread, index })).filter(({ thread }) => thread !== null);
  return [
    el("p", { role: "status" }, [
      el("strong", {}, [`${inWords(finding.id)}: `]),
      `${finding.text}.`,
      finding.count > 1 ? ` It happened ${grouped(finding.count)} times.` : "",
    ]),
    el("div", { class: "sides" }, [
      first ? side(data, "1", `${first.access === "write" ? "wrote" : "read"} it`, first.file, first.line, threads[0]) : null,
      side(
        data,
        first ? "2" : "1",
        `${finding.access === "write" ? "writes" : "reads"} it`,
        finding.file,
        finding.line,
        threads[1],
      ),
    ]),
    el("h3", {}, [`Where: ${placeOf(finding)}`]),
    finding.row !== null ? inMatrix(data, finding, width) : inArray(data, finding, width),
    ...(who.length
      ? [
        el("h3", {}, ["Who: the block’s warps and lanes"]),
        grid(
          data.trace.threads_per_block,
          width,
          who.map(({ thread }) => where(/** @type {number} */ (thread))).join("; "),
          (thread) => {
            const found = who.filter((entry) => entry.thread === thread);
            return found.length
              ? {
                shade: !first || found[0].index === 0 ? 0 : 3,
                label: found.map(({ index }) => (first ? index + 1 : 1)).join(""),
                title: where(thread),
              }
              : null;
          },
          true,
        ),
      ]
      : []),
    ...(note ? [note] : []),
  ];
}

/**
 * One of the two accesses: its line among its neighbours, and its thread.
 * @param {Data} data @param {string} number @param {string} does @param {string} file @param {number} line @param {number | null} thread
 */
function side(data, number, does, file, line, thread) {
  const lines = data.sources.find((source) => source.file === file)?.lines ?? [];
  const from = Math.max(1, line - AROUND), to = Math.min(lines.length, line + AROUND);
  const indent = Math.min(
    ...lines.slice(from - 1, to).filter((words) => words.trim()).map((words) => words.length - words.trimStart().length),
  );
  const code = [];
  for (let at = from; at <= to; ++at) {
    code.push(
      el("span", { class: `code-line ${at === line ? "chosen" : ""}` }, [
        el("span", { class: "number" }, [`${at === line ? "▶" : " "}${String(at).padStart(4)}  `]),
        `${lines[at - 1].slice(Number.isFinite(indent) ? indent : 0)}\n`,
      ]),
    );
  }
  return el("figure", { class: "side" }, [
    el("figcaption", {}, [
      svg("svg", { width: 22, height: 18, "aria-hidden": "true", class: shade(number === "1" ? 0 : 3) }, [
        box(1, 1, 20, 16, { class: "cell shade" }),
        text(11, 13, number, { "text-anchor": "middle", "font-size": 12, "font-weight": "bold" }),
      ]),
      ` ${thread === null ? "A thread" : where(thread)} ${does}`,
      el("br"),
      `${file}:${line}`,
    ]),
    el("pre", { tabindex: 0, "aria-label": `${file}, lines ${from} to ${to}` }, code),
  ]);
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
  const root = picture(
    width,
    Math.ceil(down) + 74 + 2 * strip,
    `${finding.array}, ${rows}×${cols}: row ${row}, column ${col}${outside ? ", outside of it" : ""}`,
  );
  const hatch = hatching(root);
  if (outside) {
    if (row >= rows || row < 0) {
      root.append(box(x0, row < 0 ? y0 - strip : y0 + down, across, strip, { class: "cell", style: `fill: ${hatch}` }));
    }
    if (col >= cols || col < 0) {
      root.append(box(col < 0 ? x0 - strip : x0 + across, y0, strip, down, { class: "cell", style: `fill: ${hatch}` }));
    }
  }
  const x = col < 0 ? x0 - strip / 2 : col >= cols ? x0 + across + strip / 2 : x0 + (col + 0.5) * scale;
  const y = row < 0 ? y0 - strip / 2 : row >= rows ? y0 + down + strip / 2 : y0 + (row + 0.5) * scale;
  root.append(
    box(x0, y0, across, down, { class: "cell quiet strong" }),
    text(x0, 14, `${finding.array}: ${rows}×${cols}`),
    svg("line", { x1: x0 - 4, x2: x, y1: y, y2: y, class: "thread-line chosen" }),
    svg("line", { x1: x, x2: x, y1: y0 - 4, y2: y, class: "thread-line chosen" }),
    svg("circle", { cx: x, cy: y, r: 6, class: "bad-fill" }),
    text(x0 - 8, Math.min(y + 4, y0 + down + strip), `row ${row}`, { "text-anchor": "end", "font-size": 11 }),
    text(Math.min(x, width - 70), y0 - 8, `column ${col}`, { "text-anchor": x < x0 + 80 ? "start" : "middle", "font-size": 11 }),
    text(
      x0,
      y0 + down + strip + 20,
      outside
        ? `Hatched: outside of ${finding.array}${beyond ? `, up to ${beyond} past its edge` : ""}`
        : "The element lies inside of it.",
      { "font-size": 11 },
    ),
  );
  return root;
}

/**
 * An array of shared memory: its place in the whole, and in the banks.
 * @param {Data} data @param {gemm.Finding} finding @param {number} width pixels
 */
function inArray(data, finding, width) {
  /** @type {gemm.HistoryArray | undefined} */
  const array = data.blocks.flatMap((block) => block.raw.arrays).find((entry) =>
    entry.name === finding.array && entry.rank === null
  );
  const bytes = array?.bytes ?? null, start = array?.offset ?? 0;
  const { offset } = finding;
  const outside = bytes !== null && (offset < 0 || offset >= bytes);
  const left = 66, inner = width - left - 4, cell = inner / BANKS;
  const word = Math.floor((start + offset) / WORD),
    row = Math.floor((word * WORD) / LINE),
    bank = ((word % BANKS) + BANKS) % BANKS;
  const root = picture(
    width,
    bytes === null ? 92 : 142,
    `${finding.array} + ${offset} bytes: bank ${bank}${outside ? ", outside of the array" : ""}`,
  );
  const hatch = hatching(root);
  for (let at = 0; at < BANKS; at += 4) {
    root.append(text(left + (at + 0.5) * cell, 12, String(at), { "text-anchor": "middle", "font-size": 10, class: "soft" }));
  }
  root.append(text(left - 6, 12, "byte \\ bank", { "text-anchor": "end", "font-size": 10, class: "soft" }));
  /** @type {Node[]} */
  const marks = [];
  for (let line = row - 1; line <= row + 1; ++line) {
    const y = 18 + (line - row + 1) * 20;
    const begin = line * LINE - start;
    root.append(text(left - 6, y + 14, grouped(begin), { "text-anchor": "end", "font-size": 10 }));
    for (let at = 0; at < BANKS; ++at) {
      const here = begin + at * WORD, mine = line === row && at === bank;
      const inside = bytes === null || (here >= 0 && here < bytes);
      root.append(
        box(
          left + at * cell,
          y,
          cell,
          20,
          mine ? { class: "cell bad-fill" } : { class: "cell", style: inside ? "" : `fill: ${hatch}` },
        ),
      );
      if (mine) marks.push(marked(left + at * cell, y, cell, 20));
    }
  }
  root.append(...marks);
  if (bytes !== null) {
    const low = Math.min(0, offset), high = Math.max(bytes, offset + WORD), scale = inner / (high - low);
    root.append(
      box(left - low * scale, 100, bytes * scale, 14, { class: "cell quiet strong" }),
      text(left - 6, 111, finding.array.length > 9 ? "array" : finding.array, { "text-anchor": "end", "font-size": 11 }),
      box(left + (offset - low) * scale - 2, 96, 4, 22, { class: "bad-fill" }),
      text(
        left,
        134,
        `${outside ? "outside of" : "in"} its ${grouped(bytes)} bytes: byte ${grouped(offset)}, bank ${bank}${
          outside ? " (hatched: not the array’s)" : ""
        }`,
        { "font-size": 11 },
      ),
    );
  }
  return root;
}
