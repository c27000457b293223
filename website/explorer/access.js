// A warp's access: a source line, one of its requests, and what its 32 lanes touch. The numbers are the tracer's.

import { button, counted, el, grouped, row, spoken, table, whenResized } from "explorer/dom";
import { WARP } from "explorer/banks";
import * as copies from "explorer/copies";
import { rate, size } from "explorer/occupancy";
import { named, slider } from "explorer/picture";
import { copiedFrom, placeName, readOf, sourceOf } from "explorer/memory";
import * as sectors from "explorer/sectors";
import * as wavefronts from "explorer/wavefronts";

/** @typedef {import("explorer/payload").Request} Request */
/** @typedef {import("explorer/state").Selection} Selection */

/**
 * What is shown: a request (or a box of the copy engine), or a wgmma.
 * @typedef {object} Shown
 * @property {number | null} line index into the trace's lines
 * @property {number | null} wgmma index into the trace's wgmma
 * @property {number} warp
 * @property {readonly number[]} events the requests of that line by that warp
 * @property {number} place in events
 */

/**
 * The wgmma of one of the trace's lines that a warp issues, in order.
 * @param {Block} block @param {number} wgmma @param {number} warp
 */
function multiplications(block, wgmma, warp) {
  const issues = (/** @type {number} */ event) => block.warpOf(event) === warp || block.warpsOf(event).includes(warp);
  return [...block.raw.events.keys()].filter((event) => block.multiplyOf(event)?.wgmma === wgmma && issues(event));
}

/**
 * @param {Data} data @param {Block} block @param {Readonly<Selection>} selection
 * @returns {Shown}
 */
function shownOf(data, block, selection) {
  const event = selection.event !== null ? block.raw.events[selection.event] : undefined;
  if (selection.event !== null && selection.line === null && event && !Array.isArray(event) && event.e === "wgmma") {
    const multiply = block.raw.multiplies[event.multiply ?? -1];
    const wgmma = multiply?.wgmma ?? null;
    const four = block.warpsOf(selection.event);
    const warp = selection.warp !== null && four.includes(selection.warp) ? selection.warp : event.warp ?? four[0] ?? 0;
    const events = wgmma === null ? [selection.event] : multiplications(block, wgmma, warp);
    return { line: null, wgmma, warp, events, place: Math.max(0, events.indexOf(selection.event)) };
  }
  const own = selection.event !== null ? block.lineOf(selection.event) : null;
  const line = selection.line ?? own ?? data.lines.findIndex((_, index) => warpsOf(block, index).length);
  const warp = selection.warp ?? warpsOf(block, line)[0] ?? 0;
  const events = block.requests(line, warp);
  const at = selection.event !== null && own === line ? events.indexOf(selection.event) : -1;
  return {
    line,
    wgmma: null,
    warp,
    events,
    place: at >= 0 ? at : Math.min(selection.occurrence ?? 0, Math.max(events.length - 1, 0)),
  };
}

/**
 * The warps that have requests of this line in the block's history.
 * @param {Block} block @param {number} line
 */
const warpsOf = (block, line) =>
  Array.from({ length: block.warps }, (_, warp) => warp).filter((warp) => block.requests(line, warp).length);

/** @param {gemm.Line} line */
const unitOf = (line) => (line.space === "global" ? "sector" : "wavefront");

/** @param {gemm.Line} line @param {string} number of its sectors or wavefronts */
export const inUnits = (line, number) => `${number} ${unitOf(line)}${number === "1" ? "" : "s"}`;

/**
 * The means of all of a line's requests, as the table of `./gemm inspect` has them.
 * @param {gemm.Line} line
 */
export function means(line) {
  const [all, ideal] = line.space === "global" ? [line.sectors, line.ideal_sectors] : [line.wavefronts, line.ideal_wavefronts];
  const guess = line.diverged ? "≈ " : "";
  return line.requests
    ? { units: guess + rate(all / line.requests), ideal: guess + rate(ideal / line.requests) }
    : { units: "–", ideal: "–" };
}

/**
 * How many times the ideal all of a line's requests take; null where that is not known.
 * @param {gemm.Line} line
 */
export function ratio(line) {
  const [all, ideal] = line.space === "global" ? [line.sectors, line.ideal_sectors] : [line.wavefronts, line.ideal_wavefronts];
  return line.requests && ideal ? all / ideal : null;
}

/** @param {number} times @returns {string} 8×, 1.5× */
export const ratioWords = (times) => `${times >= 9.95 ? Math.round(times) : Number(times.toPrecision(2))}×`;

/**
 * What the chosen request costs, so that bad looks bad.
 * @param {HTMLElement} element @param {gemm.Line | null} line @param {number} units @param {number} ideal
 */
function headline(element, line, units, ideal) {
  element.hidden = !line || !ideal;
  if (!line || !ideal) return;
  const far = units / ideal >= 1.5;
  element.replaceChildren(
    el("span", {}, `${line.op} ${line.array}`), el("strong", {}, counted(units, unitOf(line))), el("span", {}, `ideal ${ideal}`),
    el("strong", { class: far ? "far" : "" }, ratioWords(units / ideal)),
  );
}

/**
 * The kernel's accesses as a table, a row for each line, array, width, and load or store; wgmma at its end.
 * @param {Data} data @param {(line: number) => void} chooseLine @param {(wgmma: number) => void} chooseWgmma
 * @returns {{element: HTMLElement, buttons: HTMLButtonElement[]}}
 */
function listed(data, chooseLine, chooseWgmma) {
  const lines = data.lines.map((line, index) => {
    const mean = means(line), width = line.width ? `${line.width} B` : "box", requests = grouped(line.requests);
    const label = `line ${line.line}: ${line.op} of ${line.array}, ${width}, ${requests} requests`;
    const number = button(String(line.line), () => chooseLine(index), { "data-line": index, "aria-label": label });
    return { number, cells: [line.array, line.op, width, requests, line.requests ? inUnits(line, mean.units) : mean.units, mean.ideal] };
  });
  const multiplied = data.trace.wgmma.map((entry, index) => {
    const shape = `m${entry.m}n${entry.n}k${entry.k}`, times = grouped(entry.count);
    const label = `line ${entry.line}: wgmma ${shape}, ${times} times`;
    const number = button(String(entry.line), () => chooseWgmma(index), { "data-wgmma": index, "aria-label": label });
    return { number, cells: [entry.a ? "A and B" : "B", "wgmma", shape, times, "unknown", "–"] };
  });
  const all = [...lines, ...multiplied];
  const head = ["line", "array", "access", "width", "requests", "a request", "ideal"];
  const rows = all.map(({ number, cells }) => row(number, ...cells));
  const element = table({ class: "accesses" }, spoken("Accesses of the kernel, by source line"), head, rows);
  return { element, buttons: all.map(({ number }) => number) };
}

/**
 * What is chosen in this view; thread and element follow by themselves.
 * @param {Data} data @param {State} state
 */
function choosing(data, state) {
  const blockNow = () => data.blocks[state.selection.block] ?? data.blocks[0];
  const shownNow = () => shownOf(data, blockNow(), state.selection);
  return {
    blockNow,
    /** @param {number} line */
    line(line) {
      const block = blockNow(), { selection } = state;
      const warps = warpsOf(block, line);
      const of = selection.warp !== null && warps.includes(selection.warp) ? selection.warp : warps[0];
      const event = of === undefined ? undefined : block.requests(line, of)[0];
      state.set(event === undefined ? { line, event: null, occurrence: null } : block.selectionOf(event));
    },
    /** @param {number} wgmma */
    wgmma(wgmma) {
      const block = blockNow();
      for (let of = 0; of < block.warps; ++of) {
        const [event] = multiplications(block, wgmma, of);
        if (event !== undefined) return state.set({ ...block.selectionOf(event), line: null });
      }
    },
    /** @param {number} warp */
    warp(warp) {
      const block = blockNow(), now = shownNow();
      const events = now.wgmma !== null ? multiplications(block, now.wgmma, warp) : block.requests(now.line ?? 0, warp);
      const event = events[Math.min(now.place, events.length - 1)];
      state.set({ ...(event === undefined ? { event: null, line: now.line } : block.selectionOf(event)), warp });
    },
    /** @param {number} place from 0 */
    request(place) {
      const event = shownNow().events[place];
      if (event !== undefined) state.set(blockNow().selectionOf(event));
    },
    /** @param {number} lane */
    lane(lane) {
      const block = blockNow(), now = shownNow();
      const event = now.events[now.place];
      state.set({ ...(event === undefined ? {} : block.selectionOf(event)), lane, warp: now.warp, thread: now.warp * 32 + lane });
    },
  };
}

/**
 * Why there is nothing to draw.
 * @param {Block} block @param {Shown} now
 */
function nothing(block, now) {
  const others = now.line === null ? [] : warpsOf(block, now.line);
  return others.length
    ? `Warp ${now.warp} makes no request of this line in block ${block.name}; ${named(others, "warp")} ${
      others.length === 1 ? "does" : "do"
    }.`
    : `No request of this line is in the history of block ${block.name}.`;
}

/** @param {HTMLElement} element @param {Data} data @param {State} state */
export function mount(element, data, state) {
  if (!data.blocks.length) {
    element.append(el("p", { class: "note" }, ["No block’s history was kept, so no single request can be shown."]));
    return;
  }
  const choose = choosing(data, state);
  const list = listed(data, choose.line, choose.wgmma);
  const warp = slider("Warp", { min: 0, max: data.blocks[0].warps - 1, value: 0 }, choose.warp);
  const occurrence = slider("Request", { min: 1, max: 1, value: 1 }, (value) => choose.request(value - 1));
  const readout = el("div", { class: "readout", role: "status", "data-view": "access" });
  const cost = el("p", { class: "cost" });
  const pictures = el("div", { class: "pictures" });
  element.append(cost, el("div", { class: "access-controls" }, [warp.element, occurrence.element]), pictures, readout, list.element);

  function draw() {
    const block = choose.blockNow(), { selection } = state, now = shownOf(data, block, selection);
    list.buttons.forEach((button) => {
      const mine = now.wgmma === null ? button.dataset.line === String(now.line) : button.dataset.wgmma === String(now.wgmma);
      button.setAttribute("aria-pressed", String(mine));
      button.closest("tr")?.classList.toggle("chosen", mine);
    });
    warp.set(now.warp, block.warps - 1);
    occurrence.set(Math.min(now.place + 1, Math.max(now.events.length, 1)), Math.max(now.events.length, 1));
    const event = now.events[now.place];
    const width = Math.max(280, Math.floor(pictures.clientWidth));
    if (event === undefined) {
      readout.replaceChildren(el("p", {}, [nothing(block, now)]));
      pictures.replaceChildren();
      cost.hidden = true;
      return;
    }
    // The keyboard stays at the lane that it is at, in the picture that it is in.
    const within = [...pictures.querySelectorAll("svg")].findIndex((drawn) => drawn.contains(document.activeElement));
    const focused = within >= 0 ? document.activeElement?.getAttribute("data-lane") ?? null : null;
    const what = now.wgmma !== null || block.request(event) === null
      ? copies.multiplied(data, block, event, width)
      : requested(data, block, now, event, width, selection.lane, choose.lane);
    const by = block.multiplyOf(event) ? "" : ` by warp ${now.warp}`;
    const head = `Request ${now.place + 1} of ${grouped(now.events.length)}${by} of block ${block.name}`;
    readout.replaceChildren(...what.words.map((words, index) => el("p", {}, [index === 0 ? `${head}: ${words}` : words])));
    for (const [name, value] of Object.entries(what.figures)) readout.setAttribute(`data-${name}`, String(value));
    headline(cost, now.line === null ? null : data.lines[now.line], Number(what.figures.units), Number(what.figures.ideal));
    pictures.replaceChildren(...what.pictures);
    if (focused !== null) {
      /** @type {HTMLElement | null} */ (pictures.querySelectorAll("svg")[within]?.querySelector(`[data-lane="${focused}"]`))
        ?.focus();
    }
  }
  state.subscribe(draw);
  whenResized(pictures, draw);
}

/** @typedef {{words: string[], pictures: Node[], figures: Record<string, number | string>}} Told */

/**
 * @param {Data} data @param {Block} block @param {Shown} now @param {number} event @param {number} width
 * @param {number | null} lane @param {(lane: number) => void} choose
 * @returns {Told}
 */
function requested(data, block, now, event, width, lane, choose) {
  const request = /** @type {Request} */ (block.request(event));
  const line = data.lines[now.line ?? 0];
  if (request.box) return copies.boxed(block, request, line, width);
  const mean = means(line);
  const average = `All ${grouped(line.requests)} requests of the line: ${inUnits(line, mean.units)} on average, ideal ${mean.ideal}.`;
  const { access, array } = request;
  if (!access || !array) return { words: ["it touches no array."], pictures: [], figures: {} };
  const own = side(block, request, width, lane, choose);
  const other = readOf(block, request);
  if (!other) return { ...own, words: [...own.words, average] };
  const theirs = side(block, other, width, lane, choose);
  const parts = access.op === "load" ? [own, theirs] : [theirs, own];
  const [first, ...more] = theirs.words;
  const words = [...own.words, `cp.async ${access.op === "load" ? "stores" : "reads"} at once: ${first}`, ...more, average];
  return { words, pictures: parts.flatMap((part) => part.pictures), figures: own.figures };
}

/**
 * One request, of one memory.
 * @param {Block} block @param {Request} request @param {number} width @param {number | null} lane
 * @param {(lane: number) => void} choose
 * @returns {Told}
 */
function side(block, request, width, lane, choose) {
  const access = /** @type {gemm.HistoryAccess} */ (request.access), array = /** @type {gemm.HistoryArray} */ (request.array);
  const does = `${named(request.lanes)} ${access.op} ${access.width} B each ${access.op === "load" ? "from" : "to"} ${array.name}`;
  const touching = { ...request, ...access, array };
  const found = array.space === "global" ? inGlobal(touching, does, width, lane, choose)
    : inShared(block, touching, does, width, lane, choose);
  if (lane !== null) found.words.push(`Lane ${lane} (thread ${request.warp * WARP + lane}): ${found.ofLane}.`);
  return found;
}

/** @typedef {Request & Omit<gemm.HistoryAccess, "array"> & {array: gemm.HistoryArray}} Touching */

/**
 * @param {Touching} touching @param {string} does lanes 0–31 load 4 B each from A @param {number} width @param {number | null} lane
 * @param {(lane: number) => void} choose
 */
function inGlobal(touching, does, width, lane, choose) {
  const { array, units } = touching;
  const { ideal, lines, used, sectors: drawn } = sectors.figures(touching);
  const share = `${grouped(used)} of ${grouped(units * 32)} bytes moved are used`;
  const words = [`${does}. ${counted(units, "sector")} in ${counted(lines, "line")} of 128 bytes, ideal ${ideal}; ${share}.`];
  if (drawn.length !== units) words.push(`The tracer counts ${counted(units, "sector")}; the picture shows ${drawn.length}.`);
  const note = "A row is a cache line of 128 bytes. Framed and numbered: its sectors of 32 bytes that are moved. Hatched: moved, but not used.";
  return {
    words,
    ofLane: lane === null ? "" : sectors.laneWords(touching, lane),
    pictures: [
      el("h3", {}, `${array.name}, global memory: lines and sectors`), sectors.draw(touching, width, lane, choose),
      el("p", { class: "note" }, note),
    ],
    figures: { units, ideal, used, drawn: drawn.length },
  };
}

/**
 * @param {Block} block @param {Touching} request @param {string} does lanes 0–31 load 4 B each from A
 * @param {number} width @param {number | null} lane @param {(lane: number) => void} choose
 */
function inShared(block, request, does, width, lane, choose) {
  const { array, units, matrix, copy } = request;
  const source = sourceOf(block, request);
  const touching = { ...request, copied: copiedFrom(block, request) };
  const { ideal, used, most } = wavefronts.figures(touching), served = wavefronts.split(touching);
  const conflict = request.width > 4 ? `at most ${counted(most, "word")} of a bank`
    : most > 1 ? `a ${most}-way bank conflict` : "no bank conflict";
  const how = matrix ? " by ldmatrix: a row of an 8×8 matrix per lane, eight lanes per matrix" : "";
  const words = [`${does}${how}. ${counted(units, "wavefront")}, ideal ${ideal}; ${size(used)} used, ${conflict}.`];
  if (copy && units > ideal) {
    words.push("Words that share a bank where cp.async reads them leave L1 in different wavefronts, and each part is stored by itself.");
  }
  if (!served) words.push(`The split into wavefronts isn’t known here: the tracer counts ${units}.`);
  const index = source && lane !== null ? source.lanes.indexOf(lane) : -1;
  const holds = source && index >= 0 ? `, and stores ${placeName(source.array, source.offsets[index], request.width)}`
    : source && lane !== null && request.lanes.includes(lane) ? ", and stores zeros" : "";
  const name = array.name === "shared memory" ? "Dynamic shared memory" : `${array.name}, shared memory`;
  const note = "Numbers are wavefronts. Hatched words: nothing in this block’s history touches them, as in padding.";
  return {
    words,
    ofLane: lane === null ? "" : wavefronts.laneWords(touching, lane) + holds,
    figures: { units, ideal, used, drawn: served?.length ?? -1 },
    pictures: [
      el("h3", {}, `${name}: ${served ? "wavefront by wavefront" : "the split isn’t known"}`),
      wavefronts.draw(touching, width, lane, choose),
      el("h3", {}, "Where it is: rows of 128 bytes, one word of each bank"), wavefronts.map(block, touching, width, lane),
      el("p", { class: "note" }, note),
    ],
  };
}
