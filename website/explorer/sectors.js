// A warp's request to global memory: lanes, the lines of 128 bytes that they touch, and the sectors of these.

import { distinctBytes, LINE, SECTOR, sectors, WORD, wordsOf } from "explorer/banks";
import { grouped } from "explorer/dom";
import { hatching, laneStrip, numbered, placeName } from "explorer/memory";
import { box, count, marked, picture, shade, svg, text } from "explorer/picture";

/** @typedef {import("explorer/payload").HistoryArray} HistoryArray */
/** @typedef {{array: HistoryArray, lanes: number[], offsets: number[], width: number}} Touching */

const HIGH = 24, GAP = 12;
const LINE_WORDS = LINE / WORD, SECTOR_WORDS = SECTOR / WORD;

/**
 * What it says in words: sectors, the ideal, bytes.
 * @param {Touching} request
 */
export function figures(request) {
  const found = sectors(request.offsets, request.width);
  const used = distinctBytes(request.offsets, request.width);
  const lines = new Set(found.map((sector) => Math.floor((sector * SECTOR) / LINE))).size;
  return { sectors: found, lines, ideal: Math.ceil(used / SECTOR), used, moved: found.length * SECTOR };
}

/**
 * @param {Touching} request @param {number} lane
 * @returns {string} "A[0][5], bytes 20–23, sector 1"
 */
export function laneWords(request, lane) {
  const index = request.lanes.indexOf(lane);
  if (index < 0) return "takes no part";
  const offset = request.offsets[index];
  const all = sectors(request.offsets, request.width);
  const mine = sectors([offset], request.width).map((sector) => all.indexOf(sector) + 1);
  const bytes = request.width === 1
    ? `byte ${grouped(offset)}`
    : `bytes ${grouped(offset)}–${grouped(offset + request.width - 1)}`;
  return `${placeName(request.array, offset, request.width)}, ${bytes}, ${numbered("sector", mine)}`;
}

/**
 * @param {Touching} request @param {number} width pixels @param {number | null} lane chosen
 * @param {(lane: number) => void} choose
 * @returns {SVGSVGElement}
 */
export function draw(request, width, lane, choose) {
  const { sectors: all, lines: lineCount, used, moved } = figures(request);
  const rows = [...new Set(all.map((sector) => Math.floor((sector * SECTOR) / LINE)))];
  const left = 66, right = width >= 700 ? 8 : 2;
  const inner = width - left - right, word = inner / LINE_WORDS;
  const root = picture(
    width,
    10,
    `${count(request.lanes.length, "lane")} of ${request.array.name}: ${count(all.length, "sector")} in ${
      count(lineCount, "line")
    } of 128 bytes, ${used} of ${moved} bytes used`,
  );
  root.setAttribute("role", "group");
  root.append(text(left, 12, "lanes, and the sector of each", { class: "soft" }));
  const strip = laneStrip(
    root,
    left,
    inner,
    18,
    (which) => {
      const index = request.lanes.indexOf(which);
      if (index < 0) return { words: "takes no part", shade: null, note: "" };
      const mine = sectors([request.offsets[index]], request.width).map((sector) => all.indexOf(sector));
      return { words: laneWords(request, which), shade: mine[0], note: mine.length === 1 ? `${mine[0] + 1}` : `${mine[0] + 1}+` };
    },
    lane,
    choose,
  );
  const fan = strip.oneRow && rows.length <= 2 ? 44 : 16;
  const y = strip.bottom + fan + 16;
  const links = svg("g", { "aria-hidden": "true" });
  const memory = svg("g", { "aria-hidden": "true" });
  root.append(links, memory);
  memory.append(text(left - 6, y - 6, "byte", { "text-anchor": "end", class: "soft" }));
  const { places, bottom } = lines(root, memory, request, all, rows, left, word, y);
  join(links, memory, request, lane, strip, places, left, word, rows.length <= 2);
  root.setAttribute("height", String(bottom + 4));
  root.setAttribute("viewBox", `0 0 ${width} ${bottom + 4}`);
  return root;
}

/**
 * A row for each line of 128 bytes, with its sectors.
 * @param {SVGSVGElement} root @param {SVGGElement} memory that they come to @param {Touching} request
 * @param {number[]} all the sectors, in order @param {number[]} rows the lines @param {number} left @param {number} word pixels @param {number} y
 * @returns {{places: Map<number, number>, bottom: number}} places: word of the array -> y of its row
 */
function lines(root, memory, request, all, rows, left, word, y) {
  const hatch = hatching(root);
  /** @type {Map<number, number>} */
  const places = new Map();
  rows.forEach((row, place) => {
    if (place > 0 && row !== rows[place - 1] + 1) {
      memory.append(text(left - 6, y + 9, "⋮", { "text-anchor": "end" }));
      y += GAP;
    }
    memory.append(text(left - 6, y + HIGH / 2 + 4, grouped(row * LINE), { "text-anchor": "end", "font-size": 11 }));
    const used = new Set();
    request.offsets.forEach((offset) => wordsOf(offset, request.width).forEach((wanted) => used.add(wanted)));
    for (let sector = row * 4; sector < row * 4 + 4; ++sector) {
      const number = all.indexOf(sector);
      const x = left + (sector % 4) * SECTOR_WORDS * word;
      if (number < 0) {
        memory.append(box(x, y, SECTOR_WORDS * word, HIGH, { class: "cell" }));
        continue;
      }
      for (let at = 0; at < SECTOR_WORDS; ++at) {
        const wanted = sector * SECTOR_WORDS + at;
        if (used.has(wanted)) {
          memory.append(box(x + at * word, y, word, HIGH, { class: `cell ${shade(number)}` }));
          places.set(wanted, y);
        } else memory.append(box(x + at * word, y, word, HIGH, { class: "cell", style: `fill: ${hatch}` }));
      }
      memory.append(box(x, y, SECTOR_WORDS * word, HIGH, { class: "cell none strong" }));
      memory.append(
        text(x + (SECTOR_WORDS * word) / 2, y + HIGH / 2 + 5, String(number + 1), {
          "text-anchor": "middle",
          class: "chart-label",
          "font-size": 13,
        }),
      );
    }
    y += HIGH;
  });
  return { places, bottom: y };
}

/**
 * Lines from lanes to their words, an outline around the chosen lane's.
 * @param {SVGGElement} links @param {SVGGElement} memory @param {Touching} request @param {number | null} lane chosen
 * @param {ReturnType<typeof laneStrip>} strip @param {Map<number, number>} places word -> y @param {number} left @param {number} word pixels
 * @param {boolean} few rows, so that all lanes have room for their lines
 */
function join(links, memory, request, lane, strip, places, left, word, few) {
  request.lanes.forEach((which, index) => {
    if (which !== lane && !(strip.oneRow && few)) return;
    const mine = wordsOf(request.offsets[index], request.width).filter((wanted) => places.has(wanted));
    if (!mine.length) return;
    const middle = left + (((mine[0] % LINE_WORDS) + (mine[mine.length - 1] % LINE_WORDS) + 1) / 2) * word;
    const top = places.get(mine[0]) ?? 0;
    if (which === lane) {
      mine.forEach((wanted) =>
        memory.append(marked(left + (wanted % LINE_WORDS) * word, places.get(wanted) ?? 0, word, HIGH))
      );
    }
    if (strip.oneRow) {
      links.append(
        svg("line", {
          x1: strip.middle(which),
          y1: strip.bottom,
          x2: middle,
          y2: top,
          class: `thread-line ${which === lane ? "chosen" : ""}`,
        }),
      );
    }
  });
}
