// A block's threads, a row a warp, a column a lane.

import { box, picture, shade, svg, text } from "explorer/picture";

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
  const left = 66,
    warps = Math.ceil(count / 32),
    cell = Math.min((width - left - 4) / 32, 26),
    high = Math.max(12, Math.min(18, cell));
  const all = Array.from({ length: warps }, (_, warp) => warp);
  const marked = all.filter((warp) => Array.from({ length: 32 }, (_, lane) => of(warp * 32 + lane)).some(Boolean));
  const rows = few ? all.filter((warp) => marked.some((other) => Math.abs(other - warp) <= 1)) : all;
  const gaps = rows.filter((warp, place) => place > 0 && warp !== rows[place - 1] + 1).length;
  const root = picture(width, 20 + rows.length * high + gaps * 12, name);
  root.append(text(left - 6, 12, "warp \\ lane", { "text-anchor": "end", "font-size": 10, class: "soft" }));
  for (let lane = 0; lane < 32; lane += 4) {
    root.append(text(left + (lane + 0.5) * cell, 12, String(lane), { "text-anchor": "middle", "font-size": 10, class: "soft" }));
  }
  let y = 16 - high;
  rows.forEach((warp, place) => {
    y += high;
    if (place > 0 && warp !== rows[place - 1] + 1) {
      root.append(text(left - 6, y + 8, "⋮", { "text-anchor": "end" }));
      y += 12;
    }
    if (rows.length <= 16 || warp % 4 === 0) {
      root.append(text(left - 6, y + high - 3, String(warp), { "text-anchor": "end", "font-size": 10 }));
    }
    for (let lane = 0; lane < Math.min(32, count - warp * 32); ++lane) {
      const mark = of(warp * 32 + lane), x = left + lane * cell;
      root.append(svg("g", { class: mark ? shade(mark.shade) : "" }, [
        box(x, y, cell, high, { class: `cell ${mark ? (cell < 14 ? "shade" : "shade strong") : ""}` }),
        mark && cell >= 8
          ? text(x + cell / 2, y + high - 3, mark.label, {
            "text-anchor": "middle",
            "font-size": cell < 12 ? 8 : 10,
            "font-weight": "bold",
          })
          : null,
        mark ? svg("title", {}, [mark.title]) : null,
      ]));
    }
  });
  return root;
}
