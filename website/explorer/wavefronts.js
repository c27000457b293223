// A warp's request to shared memory: wavefront by wavefront which bank serves which lanes, and a map of the array.

import { BANKS, copyWavefronts, distinctBytes, idealWavefronts, LINE, mostOfABank, wavefronts, WORD, wordsOf } from "explorer/banks";
import { counted, grouped, svg } from "explorer/dom";
import { columns, hatching, inRows, laneStrip, LEFT, touchedWords } from "explorer/memory";
import { box, centred, ending, marked, named, picture, shade, spans, tall, text } from "explorer/picture";

/** @typedef {import("explorer/banks").Wavefront} Wavefront */
/**
 * @typedef {object} Touching
 * @property {gemm.HistoryArray} array
 * @property {number[]} lanes
 * @property {number[]} offsets bytes from the array's start
 * @property {number} width bytes a lane
 * @property {"load" | "store"} op
 * @property {boolean} matrix by ldmatrix
 * @property {Map<number, number> | null} copied of cp.async: lane -> where it reads global memory
 * @property {number} units wavefronts as the tracer counts them
 */

const MOST_ROWS = 48; // of a map

/** @param {Touching} request */
const start = (request) => request.array.offset ?? 0;

/**
 * How the request is served; null where this rule and the tracer's count differ, so that the split is not known.
 * @param {Touching} request
 * @returns {Wavefront[] | null}
 */
export function split(request) {
  const at = request.offsets.map((offset) => offset + start(request));
  const found = request.copied
    ? copyWavefronts(request.lanes, at, request.copied, request.width)
    : wavefronts(request.lanes, at, request.width, request.op === "store" || request.matrix);
  return found.length === request.units ? found : null;
}

/** @param {Touching} request */
export function figures(request) {
  const used = distinctBytes(request.offsets, request.width);
  return {
    wavefronts: request.units,
    ideal: idealWavefronts(request.lanes, request.offsets, request.width),
    used,
    most: mostOfABank(request.offsets.map((offset) => offset + start(request)), request.width),
  };
}

/** @param {Wavefront[]} served @param {number} lane */
const turnsOf = (served, lane) => served.flatMap((front, turn) => (front.some((entry) => entry.lane === lane) ? [turn] : []));

/** @param {number[]} numbers @returns {string} 3, 1–4 */
const ends = (numbers) => (numbers.length > 1 ? `${numbers[0]}–${numbers[numbers.length - 1]}` : numbers.join());

/**
 * @param {Touching} request @param {number} lane
 * @returns {string} "As + 132 B, bank 1, wavefront 1"
 */
export function laneWords(request, lane) {
  const index = request.lanes.indexOf(lane);
  if (index < 0) return "takes no part";
  const offset = request.offsets[index];
  const served = split(request);
  const banks = wordsOf(offset + start(request), request.width).map((word) => word % BANKS);
  const where = `${request.array.name} + ${grouped(offset)} B, ${named(banks, "bank")}`;
  return served ? `${where}, ${named(turnsOf(served, lane).map((turn) => turn + 1), "wavefront")}` : where;
}

/**
 * A row a wavefront, a column a bank, and in it the lanes that the wavefront serves there.
 * @param {SVGSVGElement} root @param {Wavefront[]} served @param {number} inner pixels for the banks
 * @param {number} y where they begin @param {number | null} lane chosen
 * @returns {number} where they end
 */
function fronts(root, served, inner, y, lane) {
  const across = inner >= 24 * BANKS ? BANKS : BANKS / 2; // banks side by side
  const cell = inner / across, high = 20;
  /** @type {Node[]} */
  const marks = [];
  const list = svg("g", { role: "list", "aria-label": "Wavefronts" });
  const head = inner >= 410 ? "banks, and in each wavefront the lanes that it serves" : "banks, and the lanes that they serve";
  root.append(text(LEFT, y - 14, head, { class: "soft" }));
  for (let bank = 0; bank < BANKS; ++bank) {
    root.append(centred(LEFT + ((bank % across) + 0.5) * cell, y + (bank < across ? 0 : 11), bank, 10, { class: "soft" }));
  }
  y += across < BANKS ? 16 : 5;
  served.forEach((front, turn) => {
    /** @type {Map<number, number[]>} */
    const lanes = new Map();
    for (const entry of front) lanes.set(entry.word % BANKS, [...(lanes.get(entry.word % BANKS) ?? []), entry.lane]);
    const all = named(front.map((entry) => entry.lane));
    const label = `wavefront ${turn + 1}: ${all}, ${counted(lanes.size, "bank")}`;
    const row = svg("g", { role: "listitem", "aria-label": label, class: shade(turn), "data-wavefront": turn + 1 });
    row.append(ending(LEFT - 6, y + 14, turn + 1, undefined, { "font-weight": "bold", style: "fill: var(--ink)" }));
    for (let bank = 0; bank < BANKS; ++bank) {
      const x = LEFT + (bank % across) * cell, top = y + Math.floor(bank / across) * high;
      const here = lanes.get(bank);
      row.append(box(x, top, cell, high, { class: `cell ${here ? "shade" : ""}` }));
      if (!here) continue;
      const few = spans(here);
      const words = here.length === 1 || (few.length <= 4 && cell >= 26) ? few : `${here[0]}+`;
      row.append(centred(x + cell / 2, top + 14, words, cell >= 22 ? 10 : 9), svg("title", {}, `wavefront ${turn + 1}: ${all}`));
      if (lane !== null && here.includes(lane)) marks.push(marked(x, top, cell, high));
    }
    y += (BANKS / across) * high + 3;
    list.append(row);
  });
  root.append(list, ...marks);
  return y;
}

/**
 * @param {Touching} request @param {number} width pixels @param {number | null} lane chosen
 * @param {(lane: number) => void} choose
 * @returns {SVGSVGElement}
 */
export function draw(request, width, lane, choose) {
  const served = split(request), inner = width - LEFT - 4, lanes = counted(request.lanes.length, "lane");
  const known = served ? `${counted(served.length, "wavefront")} serve ${lanes}` : `${lanes}; the split into wavefronts is not known`;
  const root = picture(width, 10, known);
  root.setAttribute("role", "group");
  root.append(text(LEFT, 12, served ? "lanes, and the wavefront that serves each" : "lanes", { class: "soft" }));
  /** @param {number} which */
  const of = (which) => {
    if (!request.lanes.includes(which)) return { words: "takes no part", shade: null, note: "" };
    const turns = served ? turnsOf(served, which) : [];
    return { words: laneWords(request, which), shade: turns[0] ?? 0, note: ends(turns.map((turn) => turn + 1)) };
  };
  const { bottom } = laneStrip(root, LEFT, inner, 18, of, lane, choose);
  return tall(root, 4 + (served ? fronts(root, served, inner, bottom + 34, lane) : bottom + 34));
}

/**
 * The words that a request touches, with the wavefront that serves each.
 * @param {Touching} request @param {Wavefront[] | null} served @param {number} begin of the array in shared memory
 */
function wantedWords(request, served, begin) {
  /** @type {Map<number, {turn: number, lanes: number[]}>} word of shared memory */
  const wanted = new Map();
  request.lanes.forEach((which, index) => {
    for (const word of wordsOf(request.offsets[index] + begin, request.width)) {
      const known = wanted.get(word) ??
        { turn: served ? served.findIndex((front) => front.some((entry) => entry.word === word)) : 0, lanes: [] };
      known.lanes.push(which);
      wanted.set(word, known);
    }
  });
  return wanted;
}

/**
 * The shared array as rows of 128 bytes, a word of each bank: what this request touches, and what nothing ever does.
 * @param {Block} block @param {Touching} request @param {number} width pixels @param {number | null} lane chosen
 * @returns {SVGSVGElement}
 */
export function map(block, request, width, lane) {
  const { array } = request;
  const served = split(request), begin = start(request), wanted = wantedWords(request, served, begin);
  const rowOf = (/** @type {number} */ word) => Math.floor((word * WORD) / LINE);
  const touching = [...new Set([...wanted.keys()].map(rowOf))];
  const first = rowOf(begin / WORD), last = rowOf((begin + array.bytes - 1) / WORD);
  const near = touching.flatMap((row) => [row - 1, row, row + 1]).filter((row) => row >= first && row <= last);
  const rows = [...new Set(near)].sort((a, b) => a - b);
  const cell = (width - LEFT - 4) / BANKS, high = cell >= 14 ? 17 : 13;
  const label = `${array.name}: ${counted(wanted.size, "word")} of it, in ${counted(touching.length, "row")} of 128 bytes`;
  const root = picture(width, 10, label);
  const hatch = hatching(root), words = touchedWords(block, array);
  columns(root, cell, "byte \\ bank");
  /** @type {Node[]} */
  const marks = [];
  const bottom = inRows(root, rows, { y: 16, high, most: MOST_ROWS }, (row) => grouped(row * LINE - begin), (row, y) => {
    for (let bank = 0; bank < BANKS; ++bank) {
      const word = (row * LINE) / WORD + bank, mine = wanted.get(word), x = LEFT + bank * cell;
      const index = word - begin / WORD;
      if (index < 0 || index >= words.length) continue;
      const untouched = words[index] ? "fill: var(--paper)" : `fill: ${hatch}`;
      root.append(box(x, y, cell, high, mine ? { class: `cell ${shade(mine.turn)}` } : { class: "cell", style: untouched }));
      if (mine && served) {
        const size = cell >= 14 ? 10 : mine.turn >= 9 ? 7 : 9;
        root.append(centred(x + cell / 2, y + high - 4, mine.turn + 1, size, { class: shade(mine.turn) }));
      }
      if (mine && lane !== null && mine.lanes.includes(lane)) marks.push(marked(x, y, cell, high));
    }
  });
  root.append(...marks);
  return tall(root, bottom + 4);
}
