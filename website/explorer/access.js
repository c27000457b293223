// A warp's access: a source line, one of its requests, and what its 32 lanes touch. The numbers are the tracer's.

import { counted, el, grouped, whenResized } from "explorer/dom";
import * as copies from "explorer/copies";
import { rate, size } from "explorer/occupancy";
import { named, slider } from "explorer/picture";
import { copiedFrom, readOf, sourceOf } from "explorer/memory";
import * as sectors from "explorer/sectors";
import * as wavefronts from "explorer/wavefronts";

/** @typedef {import("explorer/payload").Block} Block */
/** @typedef {import("explorer/payload").Data} Data */
/** @typedef {import("explorer/payload").Request} Request */
/** @typedef {import("explorer/state").Selection} Selection */
/** @typedef {import("explorer/state").State} State */

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
  /** @type {number[]} */
  const found = [];
  block.raw.events.forEach((event, index) => {
    if (Array.isArray(event) || event.e !== "wgmma") return;
    const multiply = block.raw.multiplies[event.multiply ?? -1];
    if (multiply?.wgmma === wgmma && (event.warp === warp || multiply.warpgroup === Math.floor(warp / 4))) found.push(index);
  });
  return found;
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
export const unitOf = (line) => (line.space === "global" ? "sector" : "wavefront");

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

/** @param {gemm.Line} line */
const widthOf = (line) => (line.width ? `${line.width} B` : "box");

/**
 * The kernel's accesses as a table, a row for each line, array, width, and load or store; wgmma at its end.
 * @param {Data} data @param {(line: number) => void} chooseLine @param {(wgmma: number) => void} chooseWgmma
 * @returns {{element: HTMLElement, buttons: HTMLButtonElement[]}}
 */
function listed(data, chooseLine, chooseWgmma) {
  /** @type {HTMLButtonElement[]} */
  const buttons = [];
  const list = el("tbody");
  data.lines.forEach((line, index) => {
    const button = el("button", { type: "button", "data-line": index }, [String(line.line)]);
    button.addEventListener("click", () => chooseLine(index));
    const mean = means(line);
    const unit = line.requests ? ` ${unitOf(line)}${mean.units === "1" ? "" : "s"}` : "";
    list.append(
      el("tr", {}, [
        el("td", {}, [button]),
        el("td", {}, [line.array]),
        el("td", {}, [line.op]),
        el("td", {}, [widthOf(line)]),
        el("td", {}, [grouped(line.requests)]),
        el("td", {}, [mean.units + unit]),
        el("td", {}, [mean.ideal]),
      ]),
    );
    button.setAttribute(
      "aria-label",
      `line ${line.line}: ${line.op} of ${line.array}, ${widthOf(line)}, ${grouped(line.requests)} requests`,
    );
    buttons.push(button);
  });
  data.trace.wgmma.forEach((entry, index) => {
    const button = el("button", { type: "button", "data-wgmma": index }, [String(entry.line)]);
    button.addEventListener("click", () => chooseWgmma(index));
    list.append(
      el("tr", {}, [
        el("td", {}, [button]),
        el("td", {}, [entry.a ? "A and B" : "B"]),
        el("td", {}, ["wgmma"]),
        el("td", {}, [`m${entry.m}n${entry.n}k${entry.k}`]),
        el("td", {}, [grouped(entry.count)]),
        el("td", {}, ["unknown"]),
        el("td", {}, ["–"]),
      ]),
    );
    button.setAttribute(
      "aria-label",
      `line ${entry.line}: wgmma m${entry.m}n${entry.n}k${entry.k}, ${grouped(entry.count)} times`,
    );
    buttons.push(button);
  });
  const element = el("table", { class: "accesses" }, [
    el("caption", { class: "spoken" }, ["Accesses of the kernel, by source line"]),
    el("thead", {}, [
      el(
        "tr",
        {},
        ["line", "array", "access", "width", "requests", "a request", "ideal"].map((words) =>
          el("th", { scope: "col" }, [words])
        ),
      ),
    ]),
    list,
  ]);
  return { element, buttons };
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
    element.append(el("p", { class: "note" }, ["No block’s history was kept, so that no single request can be shown."]));
    return;
  }
  const choose = choosing(data, state);
  const list = listed(data, choose.line, choose.wgmma);
  const warp = slider("Warp", { min: 0, max: data.blocks[0].warps - 1, value: 0 }, choose.warp);
  const occurrence = slider("Request", { min: 1, max: 1, value: 1 }, (value) => choose.request(value - 1));
  const readout = el("div", { class: "readout", role: "status", "data-view": "access" });
  const pictures = el("div", { class: "pictures" });
  element.append(
    list.element,
    el("div", { class: "access-controls" }, [warp.element, occurrence.element]),
    readout,
    pictures,
  );

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
  const average = `All ${grouped(line.requests)} requests of the line: ${mean.units} ${unitOf(line)}${
    mean.units === "1" ? "" : "s"
  } on average, ideal ${mean.ideal}.`;
  const { access, array } = request;
  if (!access || !array) return { words: ["it touches no array."], pictures: [], figures: {} };
  const own = side(block, request, width, lane, choose);
  const other = readOf(block, request);
  if (!other) return { ...own, words: [...own.words, average] };
  const theirs = side(block, other, width, lane, choose);
  const parts = access.op === "load" ? [own, theirs] : [theirs, own];
  return {
    words: [
      `${own.words[0]}`,
      ...own.words.slice(1),
      `cp.async ${access.op === "load" ? "stores" : "reads"} at once: ${theirs.words[0]}`,
      ...theirs.words.slice(1),
      average,
    ],
    pictures: parts.flatMap((part) => part.pictures),
    figures: own.figures,
  };
}

/**
 * One request, of one memory.
 * @param {Block} block @param {Request} request @param {number} width @param {number | null} lane
 * @param {(lane: number) => void} choose
 * @returns {Told}
 */
function side(block, request, width, lane, choose) {
  const access = /** @type {NonNullable<Request["access"]>} */ (request.access);
  const array = /** @type {gemm.HistoryArray} */ (request.array);
  const does = `${named(request.lanes)} ${access.op} ${access.width} B each ${
    access.op === "load" ? "from" : "to"
  } ${array.name}`;
  const side = array.space === "global" ? inGlobal : inShared;
  return side(block, request, access, array, does, width, lane, choose);
}

/**
 * @param {Block} _block @param {Request} request @param {NonNullable<Request["access"]>} access @param {gemm.HistoryArray} array
 * @param {string} does lanes 0–31 load 4 B each from A @param {number} width @param {number | null} lane
 * @param {(lane: number) => void} choose
 * @returns {Told}
 */
function inGlobal(_block, request, access, array, does, width, lane, choose) {
  const touching = { array, lanes: request.lanes, offsets: request.offsets, width: access.width };
  const found = sectors.figures(touching);
  const words = [
    `${does}. ${counted(request.units, "sector")} in ${counted(found.lines, "line")} of 128 bytes, ideal ${found.ideal}; ${
      grouped(found.used)
    } of ${grouped(request.units * 32)} bytes moved are used.`,
  ];
  if (found.sectors.length !== request.units) {
    words.push(`The tracer counts ${counted(request.units, "sector")}; the picture shows ${found.sectors.length}.`);
  }
  if (lane !== null) words.push(`Lane ${lane} (thread ${request.warp * 32 + lane}): ${sectors.laneWords(touching, lane)}.`);
  return {
    words,
    pictures: [
      el("h3", {}, [`${array.name}, global memory: lines and sectors`]),
      sectors.draw(touching, width, lane, choose),
      el("p", { class: "note" }, [
        "A row is a line of 128 bytes; framed and numbered: its sectors of 32 that are moved. Hatched: moved, not used.",
      ]),
    ],
    figures: { units: request.units, ideal: found.ideal, used: found.used, drawn: found.sectors.length },
  };
}

/**
 * @param {Block} block @param {Request} request @param {NonNullable<Request["access"]>} access @param {gemm.HistoryArray} array
 * @param {string} does lanes 0–31 load 4 B each from A @param {number} width @param {number | null} lane
 * @param {(lane: number) => void} choose
 * @returns {Told}
 */
function inShared(block, request, access, array, does, width, lane, choose) {
  const source = sourceOf(block, request);
  const touching = {
    array,
    lanes: request.lanes,
    offsets: request.offsets,
    width: access.width,
    op: access.op,
    matrix: access.matrix,
    units: request.units,
    copied: copiedFrom(block, request),
  };
  const found = wavefronts.figures(touching), served = wavefronts.split(touching);
  const conflict = access.width > 4
    ? `at most ${counted(found.most, "word")} of a bank`
    : found.most > 1
    ? `a ${found.most}-way bank conflict`
    : "no bank conflict";
  const words = [
    `${does}${access.matrix ? " by ldmatrix: a row of an 8×8 matrix a lane, eight lanes a matrix" : ""}. ${
      counted(request.units, "wavefront")
    }, ideal ${found.ideal}; ${size(found.used)} used, ${conflict}.`,
  ];
  if (access.copy && request.units > found.ideal) {
    words.push(
      "Words that share a bank where cp.async reads them leave L1 in different wavefronts, and each part is stored by itself.",
    );
  }
  if (!served) words.push(`The split into wavefronts isn’t known here: the tracer counts ${request.units}.`);
  if (lane !== null) {
    const index = source ? source.lanes.indexOf(lane) : -1;
    const holds = source && index >= 0
      ? `, and stores ${placeNameOf(source, index, access.width)}`
      : source && request.lanes.includes(lane)
      ? ", and stores zeros"
      : "";
    words.push(`Lane ${lane} (thread ${request.warp * 32 + lane}): ${wavefronts.laneWords(touching, lane)}${holds}.`);
  }
  return {
    words,
    figures: { units: request.units, ideal: found.ideal, used: found.used, drawn: served?.length ?? -1 },
    pictures: [
      el("h3", {}, [
        `${array.name === "shared memory" ? "Dynamic shared memory" : `${array.name}, shared memory`}: ${
          served ? "wavefront by wavefront" : "the split isn’t known"
        }`,
      ]),
      wavefronts.draw(touching, width, lane, choose),
      el("h3", {}, ["Where it lies: rows of 128 bytes, a word of each bank"]),
      wavefronts.map(block, touching, width, lane),
      el("p", { class: "note" }, [
        "Numbers are wavefronts. Hatched words: nothing in this block’s history touches them, as in padding.",
      ]),
    ],
  };
}

/** @param {NonNullable<ReturnType<typeof sourceOf>>} source @param {number} index @param {number} width */
function placeNameOf(source, index, width) {
  return copies.placeName(source.array, source.offsets[index], width);
}
