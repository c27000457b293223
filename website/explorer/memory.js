// What the pictures of memory share: names of places, the strip of 32 lanes, memory that a block never touches, and where what
// is stored in shared memory comes from.

import { WARP, WORD, wordsOf } from "explorer/banks";
import { grouped, svg } from "explorer/dom";
import { boxChunks, CHUNK } from "explorer/descriptors";
import { kept } from "explorer/payload";
import { box, centred, ending, marked, pressed, roving, shade, text } from "explorer/picture";

/** @typedef {import("explorer/payload").Block} Block */
/** @typedef {import("explorer/payload").Request} Request */

/**
 * "A[3][16–19]", "As + 132 B".
 * @param {gemm.HistoryArray} array
 * @param {number} offset bytes from its start
 * @param {number} width bytes
 */
export function placeName(array, offset, width) {
  const { element_bytes: size, pitch, cols } = array;
  if (!size || !pitch || cols === null) return `${array.name} + ${grouped(offset)} B`;
  const element = Math.floor(offset / size), row = Math.floor(element / pitch), col = element % pitch;
  const last = col + Math.max(1, Math.floor(width / size)) - 1;
  return `${array.name}[${row}][${col === last ? col : `${col}–${last}`}]${last >= cols ? ", padding" : ""}`;
}

/**
 * Where a warp's store to shared memory has its bytes from, lane -> offset in that array; where the tracer does not say and it
 * is a copy, its own read of global memory, just before it.
 * @param {Block} block @param {Request} request
 * @returns {{array: gemm.HistoryArray, lanes: number[], offsets: number[], event: number | null} | null}
 */
export function sourceOf(block, request) {
  const { access } = request;
  const read = access?.copy && access.op === "store" ? readOf(block, request) : null;
  if (request.from) return { ...request.from, event: read?.event ?? null };
  return read?.array ? { array: read.array, lanes: read.lanes, offsets: read.offsets, event: read.event } : null;
}

/**
 * Of a cp.async's store, lane -> where it reads global memory, of the lanes that read; null of anything else.
 * @param {Block} block @param {Request} request
 */
export function copiedFrom(block, request) {
  if (!request.access?.copy || request.access.op !== "store") return null;
  const source = sourceOf(block, request);
  return new Map(source?.lanes.map((lane, index) => [lane, source.offsets[index]]));
}

/**
 * The read that belongs to a copy's store, or the store that belongs to its read.
 * @param {Block} block @param {Request} request
 * @returns {Request | null}
 */
export function readOf(block, request) {
  const { access, warp } = request;
  if (!access?.copy || request.box) return null;
  const step = access.op === "store" ? -1 : 1;
  for (let event = request.event + step; event >= 0 && event < block.raw.events.length; event += step) {
    if (block.warpOf(event) !== warp || !Array.isArray(block.raw.events[event])) continue;
    const other = block.request(event);
    if (other?.access?.copy && other.access.site === access.site) return other.access.op === access.op ? null : other;
  }
  return null;
}

const touched = kept((/** @type {Block} */ block) => kept((/** @type {gemm.HistoryArray} */ array) => touchedIn(block, array)));

/**
 * The words of a shared array that anything in the block's history touches.
 * @param {Block} block @param {gemm.HistoryArray} array
 * @returns {Uint8Array} 1 for each such word
 */
export const touchedWords = (block, array) => touched(block)(array);

/** @param {Block} block @param {gemm.HistoryArray} array */
function touchedIn(block, array) {
  const index = block.raw.arrays.indexOf(array);
  const words = new Uint8Array(Math.ceil(array.bytes / WORD));
  const { raw } = block;
  const seen = new Set();
  for (const event of raw.events) {
    if (!Array.isArray(event)) continue;
    const access = raw.accesses[event[0]];
    if (access.array !== index) continue;
    const key = `${event[0]} ${event[2]} ${event[3]}`;
    if (seen.has(key)) continue;
    seen.add(key);
    for (const offset of raw.patterns[event[2]][1]) for (const word of wordsOf(event[3] + offset, access.width)) words[word] = 1;
  }
  for (const copy of raw.copies) {
    if (copy.shared !== index) continue;
    const start = array.offset ?? 0;
    for (const chunk of boxChunks(copy.rows, copy.cols * copy.element_bytes, copy.swizzle, start + copy.offset)) {
      for (let word = 0; word < CHUNK / WORD; ++word) words[(chunk.address - start) / WORD + word] = 1;
    }
  }
  return words;
}

/**
 * The lanes of a warp as cells that one can choose, from the top of `root` on.
 * @param {SVGSVGElement} root @param {number} left @param {number} width pixels @param {number} top
 * @param {(lane: number) => {words: string, shade: number | null, note: string}} of null: the lane takes no part; note: a number under the lane's
 * @param {number | null} chosen @param {(lane: number) => void} choose
 * @returns {{bottom: number, middle: (lane: number) => number, oneRow: boolean}}
 */
export function laneStrip(root, left, width, top, of, chosen, choose) {
  const inRow = width >= 520 ? WARP : WARP / 2;
  const wide = width / inRow, high = 32;
  const group = svg("g", { role: "radiogroup", "aria-label": "Lanes of the warp" });
  /** @type {SVGGElement[]} */
  const cells = [];
  for (let lane = 0; lane < WARP; ++lane) {
    const found = of(lane);
    const x = left + (lane % inRow) * wide, y = top + Math.floor(lane / inRow) * high;
    const cell = svg("g", {
      role: "radio",
      "aria-checked": String(lane === chosen),
      "aria-label": `lane ${lane}: ${found.words}`,
      class: `pick ${found.shade === null ? "" : shade(found.shade)}`,
      tabindex: lane === (chosen ?? 0) ? 0 : -1,
      "data-lane": lane,
    }, [
      box(x, y, wide, high, { class: `cell ${found.shade === null ? "" : "shade"}` }),
      found.shade === null ? svg("path", { d: `M${x} ${y + high}L${x + wide} ${y}`, class: "idle" }) : null,
      centred(x + wide / 2, y + 14, lane, 11),
      centred(x + wide / 2, y + 27, found.note, 10, { "font-weight": "bold" }),
      svg("title", {}, [`lane ${lane}: ${found.words}`]),
    ]);
    pressed(cell, () => choose(lane));
    cells.push(cell);
    group.append(cell);
  }
  if (chosen !== null) {
    const x = left + (chosen % inRow) * wide, y = top + Math.floor(chosen / inRow) * high;
    group.append(marked(x, y, wide, high, { "pointer-events": "none" }));
  }
  roving(group, () => cells, choose, inRow);
  root.append(group);
  return { bottom: top + (WARP / inRow) * high, middle: (lane) => left + ((lane % inRow) + 0.5) * wide, oneRow: inRow === WARP };
}

export const LEFT = 66; // pixels beside pictures of memory, for the rows' names

/**
 * The numbers of columns, every fourth, and what rows and columns are.
 * @param {SVGElement} to @param {number} cell pixels a column @param {string} corner "byte \\ bank" @param {number} [y]
 */
export function columns(to, cell, corner, y = 11) {
  for (let at = 0; at < WARP; at += 4) to.append(centred(LEFT + (at + 0.5) * cell, y, at, 10, { class: "soft" }));
  to.append(ending(LEFT - 6, y, corner, 10, { class: "soft" }));
}

/**
 * Rows below each other, with their names; ⋮ stands where some in between are left out.
 * @param {SVGElement} to @param {number[]} rows ascending @param {{y: number, high: number, most?: number}} at where the first is, pixels a row, and how many are drawn
 * @param {(row: number) => string} name @param {(row: number, y: number) => void} draw
 * @returns {number} where they end
 */
export function inRows(to, rows, { y, high, most = rows.length }, name, draw) {
  rows.slice(0, most).forEach((row, place) => {
    if (place > 0 && row !== rows[place - 1] + 1) {
      to.append(ending(LEFT - 6, y + 9, "⋮"));
      y += 12;
    }
    to.append(ending(LEFT - 6, y + high / 2 + 4, name(row), 10));
    draw(row, y);
    y += high;
  });
  if (rows.length <= most) return y;
  to.append(text(LEFT, y + 14, `and ${rows.length - most} more rows`, { class: "soft" }));
  return y + 18;
}

let patterns = 0;

/**
 * Hatching, for memory that nothing touches.
 * @param {SVGSVGElement} root
 * @returns {string} what `fill` says
 */
export function hatching(root) {
  const id = `hatching-${++patterns}`;
  const line = svg("line", { x1: 0, x2: 0, y1: 0, y2: 6, class: "idle" });
  const pattern = { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" };
  root.append(svg("defs", {}, svg("pattern", pattern, line)));
  return `url(#${id})`;
}
