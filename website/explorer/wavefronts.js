// A warp's request to shared memory: wavefront by wavefront which bank serves which lanes, and a map of the array.

import {
  BANKS,
  copyWavefronts,
  distinctBytes,
  idealWavefronts,
  LINE,
  mostOfABank,
  wavefronts,
  WORD,
  wordsOf,
} from "explorer/banks";
import { grouped } from "explorer/dom";
import { hatching, laneStrip, numbered, touchedWords } from "explorer/memory";
import { box, count, marked, named, picture, shade, spans, svg, text } from "explorer/picture";

/** @typedef {import("explorer/payload").Block} Block */
/** @typedef {import("explorer/payload").HistoryArray} HistoryArray */
/** @typedef {import("explorer/banks").Wavefront} Wavefront */
/**
 * @typedef {object} Touching
 * @property {HistoryArray} array
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
  return served ? `${where}, ${numbered("wavefront", turnsOf(served, lane).map((turn) => turn + 1))}` : where;
}

/**
 * A row a wavefront, a column a bank, and in it the lanes that the wavefront serves there.
 * @param {SVGSVGElement} root @param {Wavefront[]} served @param {number} left @param {number} inner pixels for the banks
 * @param {number} width pixels of all @param {number} y where they begin @param {number | null} lane chosen
 * @returns {number} where they end
 */
function fronts(root, served, left, inner, width, y, lane) {
  const across = inner >= 24 * BANKS ? BANKS : BANKS / 2; // banks side by side
  const cell = inner / across, high = 20;
  /** @type {Node[]} */
  const marks = [];
  const picture = svg("g", { role: "list", "aria-label": "Wavefronts" });
  root.append(
    text(
      left,
      y - 14,
      width >= 480 ? "banks, and in each wavefront the lanes that it serves" : "banks, and the lanes that they serve",
      { class: "soft" },
    ),
  );
  for (let bank = 0; bank < BANKS; ++bank) {
    root.append(
      text(left + ((bank % across) + 0.5) * cell, y + (bank < across ? 0 : 11), String(bank), {
        "text-anchor": "middle",
        "font-size": 10,
        class: "soft",
      }),
    );
  }
  if (across < BANKS) y += 11;
  y += 5;
  served.forEach((front, turn) => {
    /** @type {Map<number, number[]>} */
    const lanes = new Map();
    for (const entry of front) lanes.set(entry.word % BANKS, [...(lanes.get(entry.word % BANKS) ?? []), entry.lane]);
    const all = [...new Set(front.map((entry) => entry.lane))];
    const row = svg("g", {
      role: "listitem",
      "aria-label": `wavefront ${turn + 1}: ${named(all)}, ${count(lanes.size, "bank")}`,
      class: shade(turn),
      "data-wavefront": turn + 1,
    });
    row.append(
      text(left - 6, y + 14, String(turn + 1), { "text-anchor": "end", "font-weight": "bold", style: "fill: var(--ink)" }),
    );
    for (let bank = 0; bank < BANKS; ++bank) {
      const x = left + (bank % across) * cell, top = y + Math.floor(bank / across) * high;
      const here = lanes.get(bank);
      row.append(box(x, top, cell, high, { class: `cell ${here ? "shade" : ""}` }));
      if (!here) continue;
      const few = spans(here);
      const label = here.length === 1 ? few : few.length <= 4 && cell >= 26 ? few : `${here[0]}+`;
      row.append(text(x + cell / 2, top + 14, label, { "text-anchor": "middle", "font-size": cell >= 22 ? 10 : 9 }));
      row.append(svg("title", {}, [`wavefront ${turn + 1}: ${named(all)}`]));
      if (lane !== null && here.includes(lane)) marks.push(marked(x, top, cell, high));
    }
    y += (BANKS / across) * high + 3;
    picture.append(row);
  });
  root.append(picture, ...marks);
  return y;
}

/**
 * @param {Touching} request @param {number} width pixels @param {number | null} lane chosen
 * @param {(lane: number) => void} choose
 * @returns {SVGSVGElement}
 */
export function draw(request, width, lane, choose) {
  const served = split(request);
  const left = 66, right = 4, inner = width - left - right;
  const root = picture(
    width,
    10,
    served
      ? `${count(served.length, "wavefront")} serve ${count(request.lanes.length, "lane")}`
      : `${count(request.lanes.length, "lane")}; the split into wavefronts is not known`,
  );
  root.setAttribute("role", "group");
  root.append(text(left, 12, served ? "lanes, and the wavefront that serves each" : "lanes", { class: "soft" }));
  const strip = laneStrip(
    root,
    left,
    inner,
    18,
    (which) => {
      if (!request.lanes.includes(which)) return { words: "takes no part", shade: null, note: "" };
      const turns = served ? turnsOf(served, which) : [];
      return {
        words: laneWords(request, which),
        shade: turns[0] ?? 0,
        note: turns.length > 1 ? `${turns[0] + 1}–${turns[turns.length - 1] + 1}` : turns.length ? `${turns[0] + 1}` : "",
      };
    },
    lane,
    choose,
  );
  const y = served ? fronts(root, served, left, inner, width, strip.bottom + 34, lane) : strip.bottom + 34;
  root.setAttribute("height", String(y + 4));
  root.setAttribute("viewBox", `0 0 ${width} ${y + 4}`);
  return root;
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
  const served = split(request);
  const begin = start(request);
  const wanted = wantedWords(request, served, begin);
  const rowOf = (/** @type {number} */ word) => Math.floor((word * WORD) / LINE);
  const first = rowOf(begin / WORD), last = rowOf((begin + request.array.bytes - 1) / WORD);
  const rows = [...new Set([...wanted.keys()].flatMap((word) => [rowOf(word) - 1, rowOf(word), rowOf(word) + 1]))].filter((row) =>
    row >= first && row <= last
  ).sort((a, b) => a - b);
  const shown = rows.slice(0, MOST_ROWS);
  const left = 66, cell = (width - left - 4) / BANKS, high = cell >= 14 ? 17 : 13;
  const root = picture(
    width,
    10,
    `${request.array.name}: ${count(wanted.size, "word")} of it, in ${
      count(new Set([...wanted.keys()].map(rowOf)).size, "row")
    } of 128 bytes`,
  );
  const hatch = hatching(root);
  const words = touchedWords(block, request.array);
  let y = 16;
  for (let bank = 0; bank < BANKS; bank += 4) {
    root.append(text(left + (bank + 0.5) * cell, 11, String(bank), { "text-anchor": "middle", "font-size": 10, class: "soft" }));
  }
  root.append(text(left - 6, 11, "byte \\ bank", { "text-anchor": "end", "font-size": 10, class: "soft" }));
  /** @type {Node[]} */
  const marks = [];
  shown.forEach((row, place) => {
    if (place > 0 && row !== shown[place - 1] + 1) {
      root.append(text(left - 6, y + 9, "⋮", { "text-anchor": "end" }));
      y += 12;
    }
    root.append(text(left - 6, y + high - 4, grouped(row * LINE - begin), { "text-anchor": "end", "font-size": 10 }));
    for (let bank = 0; bank < BANKS; ++bank) {
      const word = (row * LINE) / WORD + bank, mine = wanted.get(word), x = left + bank * cell;
      const index = word - begin / WORD;
      const inside = index >= 0 && index < words.length;
      if (!inside) continue;
      root.append(
        box(
          x,
          y,
          cell,
          high,
          mine
            ? { class: `cell ${shade(mine.turn)}` }
            : { class: "cell", style: words[index] ? "fill: var(--paper)" : `fill: ${hatch}` },
        ),
      );
      if (mine && served) {
        const label = String(mine.turn + 1);
        root.append(
          text(x + cell / 2, y + high - 4, label, {
            "text-anchor": "middle",
            "font-size": cell >= 14 ? 10 : label.length > 1 ? 7 : 9,
            class: shade(mine.turn),
          }),
        );
      }
      if (mine && lane !== null && mine.lanes.includes(lane)) marks.push(marked(x, y, cell, high));
    }
    y += high;
  });
  root.append(...marks);
  if (rows.length > shown.length) {
    root.append(text(left, y + 14, `and ${rows.length - shown.length} more rows`, { class: "soft" }));
    y += 18;
  }
  root.setAttribute("height", String(y + 4));
  root.setAttribute("viewBox", `0 0 ${width} ${y + 4}`);
  return root;
}
