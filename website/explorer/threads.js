// A block's threads, a row a warp, a column a lane.

import { WARP } from "explorer/banks";
import { svg } from "explorer/dom";
import { columns, inRows, LEFT } from "explorer/memory";
import { box, centred, picture, shade, tall } from "explorer/picture";

/** @typedef {{shade: number, label: string, title: string}} Mark */

/**
 * "thread 37: warp 1, lane 5".
 * @param {number} thread linear in its block
 */
export const where = (thread) => `thread ${thread}: warp ${Math.floor(thread / 32)}, lane ${thread % 32}`;

/**
 * Where a thread is in its block; null where the block's form is not the launch's.
 * @param {number[] | null} thread x, y, z
 * @param {number[]} block its sizes @param {number} threads that were launched
 * @returns {number | null} linear
 */
export function linear(thread, block, threads) {
  if (!thread) return null;
  const [x, y, z] = thread;
  if (block[0] * block[1] * block[2] === threads) return x + block[0] * (y + block[1] * z);
  return y === 0 && z === 0 ? x : null;
}

/**
 * @param {number} count threads of the block @param {number} width pixels @param {string} name
 * @param {(thread: number) => Mark | null} of
 * @param {boolean} [few] only the warps with marks, and those beside them
 * @returns {SVGSVGElement}
 */
export function grid(count, width, name, of, few = false) {
  const warps = Math.ceil(count / WARP), cell = Math.min((width - LEFT - 4) / WARP, 26), high = Math.max(12, Math.min(18, cell));
  const all = Array.from({ length: warps }, (_, warp) => warp);
  const marked = all.filter((warp) => Array.from({ length: WARP }, (_, lane) => of(warp * WARP + lane)).some(Boolean));
  const rows = few ? all.filter((warp) => marked.some((other) => Math.abs(other - warp) <= 1)) : all;
  const root = picture(width, 10, name);
  columns(root, cell, "warp \\ lane", 12);
  const label = (/** @type {number} */ warp) => (rows.length <= 16 || warp % 4 === 0 ? String(warp) : "");
  const bottom = inRows(root, rows, { y: 16, high }, label, (warp, y) => {
    for (let lane = 0; lane < Math.min(WARP, count - warp * WARP); ++lane) {
      const mark = of(warp * WARP + lane), x = LEFT + lane * cell;
      const words = mark && cell >= 8 && centred(x + cell / 2, y + high - 3, mark.label, cell < 12 ? 8 : 10, { "font-weight": "bold" });
      const square = box(x, y, cell, high, { class: `cell ${mark ? (cell < 14 ? "shade" : "shade strong") : ""}` });
      root.append(svg("g", { class: mark ? shade(mark.shade) : "" }, square, words, mark && svg("title", {}, mark.title)));
    }
  });
  return tall(root, bottom + 4);
}
