// A warp's request to global memory: lanes, the lines of 128 bytes that they touch, and the sectors of these.

import { distinctBytes, LINE, SECTOR, sectors, WORD, wordsOf } from "explorer/banks";
import { counted, grouped, svg } from "explorer/dom";
import { hatching, inRows, laneStrip, LEFT, placeName } from "explorer/memory";
import { box, centred, ending, marked, named, picture, shade, tall, text } from "explorer/picture";

/** @typedef {{array: gemm.HistoryArray, lanes: number[], offsets: number[], width: number}} Touching */

const HIGH = 24;
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
  return `${placeName(request.array, offset, request.width)}, ${bytes}, ${named(mine, "sector")}`;
}

/**
 * @param {Touching} request @param {number} width pixels @param {number | null} lane chosen
 * @param {(lane: number) => void} choose
 * @returns {SVGSVGElement}
 */
export function draw(request, width, lane, choose) {
  const { sectors: all, lines: lineCount, used, moved } = figures(request);
  const rows = [...new Set(all.map((sector) => Math.floor((sector * SECTOR) / LINE)))];
  const inner = width - LEFT - (width >= 700 ? 8 : 2), word = inner / LINE_WORDS;
  const found = `${counted(all.length, "sector")} in ${counted(lineCount, "line")} of 128 bytes, ${used} of ${moved} bytes used`;
  const root = picture(width, 10, `${counted(request.lanes.length, "lane")} of ${request.array.name}: ${found}`);
  root.setAttribute("role", "group");
  root.append(text(LEFT, 12, "lanes, and the sector of each", { class: "soft" }));
  /** @param {number} which */
  const of = (which) => {
    const index = request.lanes.indexOf(which);
    if (index < 0) return { words: "takes no part", shade: null, note: "" };
    const [first, ...more] = sectors([request.offsets[index]], request.width).map((sector) => all.indexOf(sector));
    return { words: laneWords(request, which), shade: first, note: `${first + 1}${more.length ? "+" : ""}` };
  };
  const strip = laneStrip(root, LEFT, inner, 18, of, lane, choose);
  const y = strip.bottom + 16 + (strip.oneRow && rows.length <= 2 ? 44 : 16);
  const links = svg("g", { "aria-hidden": "true" });
  const memory = svg("g", { "aria-hidden": "true" });
  root.append(links, memory);
  memory.append(ending(LEFT - 6, y - 6, "byte", undefined, { class: "soft" }));
  const { places, bottom } = lines(memory, hatching(root), request, all, rows, word, y);
  join(links, memory, request, lane, strip, places, word, rows.length <= 2);
  return tall(root, bottom + 4);
}

/**
 * A row for each line of 128 bytes, with its sectors.
 * @param {SVGGElement} memory that they come to @param {string} hatch @param {Touching} request
 * @param {number[]} all the sectors, in order @param {number[]} rows the lines @param {number} word pixels @param {number} y
 * @returns {{places: Map<number, number>, bottom: number}} places: word of the array -> y of its row
 */
function lines(memory, hatch, request, all, rows, word, y) {
  /** @type {Map<number, number>} */
  const places = new Map();
  const used = new Set(request.offsets.flatMap((offset) => wordsOf(offset, request.width)));
  const bottom = inRows(memory, rows, { y, high: HIGH }, (row) => grouped(row * LINE), (row, top) => {
    for (let sector = row * 4; sector < row * 4 + 4; ++sector) {
      const number = all.indexOf(sector), wide = SECTOR_WORDS * word, x = LEFT + (sector % 4) * wide;
      if (number < 0) {
        memory.append(box(x, top, wide, HIGH, { class: "cell" }));
        continue;
      }
      for (let at = 0; at < SECTOR_WORDS; ++at) {
        const wanted = sector * SECTOR_WORDS + at, mine = used.has(wanted);
        if (mine) places.set(wanted, top);
        const look = mine ? { class: `cell ${shade(number)}` } : { class: "cell", style: `fill: ${hatch}` };
        memory.append(box(x + at * word, top, word, HIGH, look));
      }
      memory.append(box(x, top, wide, HIGH, { class: "cell none strong" }));
      memory.append(centred(x + wide / 2, top + HIGH / 2 + 5, number + 1, 13, { class: "chart-label" }));
    }
  });
  return { places, bottom };
}

/**
 * Lines from lanes to their words, an outline around the chosen lane's.
 * @param {SVGGElement} links @param {SVGGElement} memory @param {Touching} request @param {number | null} lane chosen
 * @param {ReturnType<typeof laneStrip>} strip @param {Map<number, number>} places word -> y @param {number} word pixels
 * @param {boolean} few rows, so that all lanes have room for their lines
 */
function join(links, memory, request, lane, strip, places, word, few) {
  request.lanes.forEach((which, index) => {
    if (which !== lane && !(strip.oneRow && few)) return;
    const mine = wordsOf(request.offsets[index], request.width).filter((wanted) => places.has(wanted));
    if (!mine.length) return;
    if (which === lane) {
      for (const wanted of mine) {
        memory.append(marked(LEFT + (wanted % LINE_WORDS) * word, places.get(wanted) ?? 0, word, HIGH));
      }
    }
    if (!strip.oneRow) return;
    const x2 = LEFT + (((mine[0] % LINE_WORDS) + (mine[mine.length - 1] % LINE_WORDS) + 1) / 2) * word;
    const ends = { x1: strip.middle(which), y1: strip.bottom, x2, y2: places.get(mine[0]) ?? 0 };
    links.append(svg("line", { ...ends, class: `thread-line ${which === lane ? "chosen" : ""}` }));
  });
}
