// One block's warps, side by side: what each asks for, waits for and multiplies, step by step.

import { ending } from "explorer/arrivals";
import { event as chooseEvent } from "explorer/choosing";
import { fills, stageOf, stateOf } from "explorer/contents";
import { button, colours, counted, el, filled, framed, grouped, hatch, outlined, sharp, SMALL, swatch, tell, whenResized, written } from "explorer/dom";
import { firstAtLeast } from "explorer/order";
import { kept, WARPGROUP } from "explorer/payload";
import { stepName } from "explorer/playing";
import { span } from "explorer/product";
import { racing } from "explorer/racing";

/** @typedef {import("explorer/contents").Fill} Fill */

/**
 * @typedef {"global load" | "global store" | "copy" | "shared load" | "shared store" | "product" | "wait" | "barrier" | "other"} Kind
 * @typedef {object} Look what an event is drawn as: the shade says what it is, a letter says it again
 * @property {import("explorer/dom").Colour} colour
 * @property {import("explorer/dom").Colour} on the letter's
 * @property {string} letter where there is room for one
 */
/** @type {Record<Kind, Look>} in the order in which they lie above each other where several fall on one pixel */
const KINDS = {
  product: { colour: "t-product", on: "t-on-dark", letter: "×" },
  copy: { colour: "t-copy", on: "t-on-dark", letter: "C" },
  "global store": { colour: "t-store", on: "t-on-dark", letter: "S" },
  "shared store": { colour: "t-store", on: "t-on-dark", letter: "s" },
  "global load": { colour: "t-load", on: "t-on-light", letter: "L" },
  "shared load": { colour: "t-shared", on: "t-on-light", letter: "l" },
  wait: { colour: "t-wait", on: "t-on-light", letter: "" },
  barrier: { colour: "ink", on: "paper", letter: "" },
  other: { colour: "grey", on: "paper", letter: "" },
};
const ORDER = /** @type {Kind[]} */ (Object.keys(KINDS));
const LEFT = 78;
const TOP = 20;
const LETTERS = 12; // CSS pixels an event from which on it has room for its letter
const BLOCKS = 2; // CSS pixels an event from which on each is drawn by itself
const MOST = 24; // CSS pixels an event, at most
const HIGH = { all: 560, least: 14, most: 40 }; // CSS pixels that the rows fill together; of a row

/** @param {Block} block @param {number} event @returns {Kind} */
export function kindOf(block, event) {
  const found = block.raw.events[event];
  if (Array.isArray(found)) {
    const access = block.raw.accesses[found[0]];
    if (access.copy) return "copy";
    return /** @type {Kind} */ (`${block.raw.arrays[access.array].space} ${access.op}`);
  }
  if (found.e === "box") return "copy";
  if (found.e === "wgmma" || found.e === "mma") return "product";
  if (found.e === "barrier") return "barrier";
  if (["wait", "copied", "passed", "cluster_passed", "summed"].includes(found.e)) return "wait";
  return "other";
}

/** @param {Block} block @param {number} event @returns {string} a clause */
function words(block, event) {
  const { raw } = block;
  const found = raw.events[event];
  const request = block.request(event);
  if (request?.box) {
    const { box } = request;
    const what = request.array ? `${request.array.name}[${span(box.row, box.row + box.rows)}][${span(box.col, box.col + box.cols)}]` : "a box";
    return box.barrier === null ? `has TMA store ${what}` : `has TMA load ${what}, for ${raw.mbarriers[box.barrier]?.name ?? "an mbarrier"}`;
  }
  if (request?.access && request.array) {
    const { access, array, lanes, units } = request;
    const unit = array.space === "global" ? counted(units, "sector") : counted(units, "wavefront");
    const verb = access.matrix ? "reads by ldmatrix" : access.copy ? (access.op === "store" ? "has cp.async fill" : "has cp.async read")
      : access.op === "load" ? "loads from" : "stores to";
    return `${verb} ${array.name} (${array.space} memory), ${access.width} bytes per lane, ${counted(lanes.length, "lane")}, ${unit}`;
  }
  if (Array.isArray(found)) return "accesses memory";
  const name = found.barrier === undefined ? "" : raw.mbarriers[found.barrier]?.name ?? `mbarrier ${found.barrier}`;
  const multiply = found.e === "wgmma" ? raw.multiplies[found.multiply ?? -1] : null;
  /** @type {Record<string, string>} */
  const texts = {
    barrier: "has reached __syncthreads()", met: "all have met at __syncthreads()", commit: "closes a group of cp.async",
    copied: `has waited: ${counted(found.count ?? 0, "more group")} of cp.async landed`,
    begin: `initialises ${name}, ${counted(found.count ?? 0, "arrival")} per phase`, expect: `expects ${grouped(found.bytes ?? 0)} bytes at ${name}, phase ${found.phase}`,
    arrive: `arrives at ${name}, phase ${found.phase}`, wait: `has to wait for phase ${found.phase} of ${name}`,
    passed: (found.phase ?? 0) < 0 ? `passes ${name} at once, without waiting` : `has seen phase ${found.phase} of ${name} complete`,
    phase: `phase ${found.phase} of ${name} is complete`, landed: "a copy's bytes are all there",
    wgmma: multiply ? `multiplies by wgmma, m${multiply.m}n${multiply.n}k${multiply.k}; on the CPU device warp ${found.warp} was the first there` : "multiplies by wgmma",
    summed: `has its sums up to batch ${found.batch}`, mma: "multiplies on tensor cores", returned: "has returned",
    cluster_arrive: "arrives at the cluster's barrier", cluster_passed: "passes the cluster's barrier", cluster_met: "the cluster has met",
  };
  return texts[found.e] ?? found.e;
}

/** @param {Block} block @param {number} event @returns {string} a sentence */
export function sentence(block, event) {
  const warp = block.warpOf(event);
  const place = block.placeOf(event);
  const warps = block.warpsOf(event);
  const who = warps.length > 1 ? `warpgroup ${Math.floor(warps[0] / WARPGROUP)}, warps ${span(warps[0], warps[0] + warps.length)}, ` : warp === null ? "" : `warp ${warp} `;
  const text = `Event ${grouped(event)} of ${grouped(block.raw.events.length)}, step ${block.stepOf(event)}: ${who}${words(block, event)}`;
  return `${text}${place ? `; line ${place.line}` : ""}.`;
}

/** A block's events by warp, with what is drawn of them. */
export class Rows {
  /** @param {Block} block */
  constructor(block) {
    this.block = block;
    /** @type {number[][]} */
    this.warps = Array.from({ length: block.warps }, () => []);
    this.kinds = new Uint8Array(block.raw.events.length);
    this.last = 0;
    block.raw.events.forEach((_, event) => {
      this.kinds[event] = ORDER.indexOf(kindOf(block, event));
      for (const warp of block.warpsOf(event)) this.warps[warp]?.push(event);
      this.last = Math.max(this.last, block.clocks[event]);
    });
    // One warp of its four begins a wgmma; in the rows of the others it stands at the same place.
    if (block.raw.multiplies.length) for (const events of this.warps) events.sort((a, b) => block.clocks[a] - block.clocks[b] || a - b);
    this.copies = lanes(block);
    /** @type {Map<number, number[]>} the wgmma of each warpgroup, by its first warp */
    this.groups = new Map();
    block.raw.events.forEach((_, event) => {
      const multiply = block.multiplyOf(event);
      if (!multiply) return;
      const first = multiply.warpgroup * WARPGROUP;
      this.groups.set(first, [...(this.groups.get(first) ?? []), event]);
    });
    this.row = Math.max(HIGH.least, Math.min(HIGH.most, Math.floor(HIGH.all / (this.warps.length + this.copies.length))));
  }

  /** @param {number} warp @param {number} clock @returns {number} index into warps[warp] of its first event at or behind the clock */
  from(warp, clock) {
    const events = this.warps[warp];
    return firstAtLeast(events.length, (place) => this.block.clocks[events[place]], clock);
  }

  /** @param {number} warp @param {number} place of one of its events @returns {number} the clock at which it goes on; a wait may last */
  until(warp, place) {
    const events = this.warps[warp], event = this.block.raw.events[events[place]];
    const waits = !Array.isArray(event) && (event.e === "barrier" || event.e === "wait");
    if (!waits) return this.block.clocks[events[place]] + 1;
    return place + 1 < events.length ? this.block.clocks[events[place + 1]] : this.last + 2; // the last one waits for ever
  }
}

/**
 * @typedef {object} Lane a row below the warps
 * @property {string} name
 * @property {{from: number, landed: number, to: number, label: string, event: number, fill: Fill | null}[]} spans clocks: asked, landed, overwritten
 * @property {{clock: number, label: string, event: number}[]} ticks
 */

/** @param {Block} block @returns {Lane[]} what is copied, by the place that it comes to; the phases of each mbarrier */
function lanes(block) {
  const { raw } = block;
  /** @type {Map<string, Lane>} */
  const found = new Map();
  for (const fill of fills(block)) {
    const matrix = raw.arrays[fill.matrix].name;
    const key = `${fill.shared} ${fill.matrix} ${fill.lo}`;
    const lane = found.get(key) ?? { name: matrix, spans: [], ticks: [] };
    if (!found.has(key)) found.set(key, lane);
    const along = matrix === "B" ? span(fill.row, fill.rowEnd) : span(fill.col, fill.colEnd);
    lane.spans.push({ from: fill.asked, landed: fill.landed, to: fill.gone, label: matrix === "C" ? "C" : `${matrix} ${along}`, event: fill.event, fill });
  }
  const places = [...found.values()].sort((a, b) => a.name.localeCompare(b.name) || (a.spans[0].fill?.lo ?? 0) - (b.spans[0].fill?.lo ?? 0));
  for (const lane of places) {
    const stage = lane.spans[0].fill ? stageOf(block, lane.spans[0].fill) : null;
    if (stage !== null) lane.name += `, stage ${stage}`;
  }
  const barriers = raw.mbarriers.map(({ name }) => /** @type {Lane} */ ({ name, spans: [], ticks: [] }));
  raw.events.forEach((event, index) => {
    if (Array.isArray(event) || event.e !== "phase" || event.barrier === undefined) return;
    barriers[event.barrier]?.ticks.push({ clock: block.clocks[index], label: String(event.phase), event: index });
  });
  return [...places.slice(0, 24), ...barriers.slice(0, 24)];
}

const rowsOf = kept((/** @type {Block} */ block) => new Rows(block));

/** Which of a block's events the canvas shows, and how large. */
class View {
  /** @param {HTMLElement} box that the canvas is in @param {Data} data @param {State} state */
  constructor(box, data, state) {
    this.box = box;
    this.data = data;
    this.state = state;
    this.begin = 0; // the first clock that is shown
    this.each = 0; // CSS pixels a clock; 0: all fits
    /** @type {Block | null} */
    this.fitted = null;
  }

  get block() {
    return this.data.blocks[this.state.selection.block];
  }

  get rows() {
    return rowsOf(this.block);
  }

  get width() {
    return Math.max(this.box.clientWidth, 200);
  }

  get room() {
    return this.width - LEFT - 4;
  }

  get least() {
    return this.room / (this.rows.last + 2);
  }

  /** How many clocks there are left of the last window's beginning. */
  get rest() {
    return this.rows.last + 2 - this.room / this.each;
  }

  clamp() {
    if (this.fitted !== this.block) {
      this.fitted = this.block;
      this.begin = this.each = 0;
    }
    this.each = Math.min(Math.max(this.each, this.least), Math.max(MOST, this.least));
    this.begin = Math.max(0, Math.min(this.begin, this.rest));
  }

  /** @param {number} factor @param {number} [at] the clock that stays where it is */
  zoom(factor, at) {
    const { event } = this.state.selection;
    const centre = at ?? (event !== null ? this.block.clocks[event] : this.begin + this.room / this.each / 2);
    const place = (centre - this.begin) * this.each;
    this.each *= factor;
    this.clamp();
    this.begin = centre - Math.min(Math.max(place, 0), this.room) / this.each;
  }

  /** The chosen step alone. */
  step() {
    const { begins } = this.block.steps;
    const { step } = this.state.selection;
    this.each = this.room / Math.max((begins[step + 1] ?? this.rows.last + 2) - begins[step], 1);
    this.begin = begins[step];
  }

  all() {
    this.each = this.begin = 0;
  }

  /**
   * What is newly chosen comes into sight.
   * @param {Readonly<import("explorer/state").Selection>} now @param {Readonly<import("explorer/state").Selection>} before
   */
  follow(now, before) {
    if (now.event !== null && (now.event !== before.event || now === before) && this.each && this.fitted === this.block) {
      const clock = this.block.clocks[now.event];
      if (clock < this.begin || clock >= this.begin + this.room / this.each - 1) this.begin = clock - this.room / this.each / 2;
    } else if (now.step !== before.step && this.each > this.least * 1.01) {
      this.begin = this.block.steps.begins[now.step] - 1;
    }
  }
}

/**
 * What goes from one event to another.
 * @param {View} view
 */
function walking(view) {
  const { state } = view;
  /** @param {number} event @param {number} [row] the warp in whose row it is, of those that it belongs to */
  const choose = (event, row) => state.set(chooseEvent(view.data, state.selection, event, row));
  /** @param {number} by events of the chosen warp */
  const move = (by) => {
    const now = state.selection;
    const events = view.rows.warps[now.warp ?? 0] ?? [];
    const at = now.event === null ? -1 : events.indexOf(now.event);
    const next = events[Math.max(0, Math.min(events.length - 1, at + by))];
    if (next !== undefined) choose(next, now.warp ?? 0);
  };
  /** @param {number} by */
  const warp = (by) => {
    const now = state.selection;
    const { rows } = view;
    const to = Math.max(0, Math.min(rows.warps.length - 1, (now.warp ?? 0) + by));
    const events = rows.warps[to];
    const clock = now.event === null ? 0 : view.block.clocks[now.event];
    const event = events[Math.min(rows.from(to, clock), events.length - 1)];
    if (event !== undefined) choose(event, to);
  };
  return { choose, move, warp };
}

/**
 * @param {View} view @param {number} x CSS pixels of the canvas @param {number} y
 * @returns {{event: number, warp: number | undefined, row: number, from: number, to: number} | null} what is drawn there: its row, and its clocks
 */
function eventAt(view, x, y) {
  const { rows, block } = view;
  const clock = view.begin + (x - LEFT) / view.each, row = Math.floor((y - TOP) / rows.row);
  if (row < 0 || x < LEFT) return null;
  if (row < rows.warps.length) {
    const events = rows.warps[row];
    const behind = rows.from(row, clock + 1e-6), place = Math.max(0, behind - 1); // the one that began last
    const event = events[place];
    if (event === undefined || clock < block.clocks[event]) return null;
    return { event, warp: row, row, from: block.clocks[event], to: Math.min(rows.until(row, place), Math.max(clock + 1, block.clocks[event] + 1)) };
  }
  const lane = rows.copies[row - rows.warps.length];
  const span = lane?.spans.find(({ from, to }) => from <= clock && clock < to);
  if (span) return { event: span.event, warp: undefined, row, from: span.from, to: Math.min(span.to, rows.last + 1) };
  const tick = lane?.ticks.find(({ clock: one }) => clock < one + 1);
  return tick ? { event: tick.event, warp: undefined, row, from: tick.clock, to: tick.clock + 1 } : null;
}

/**
 * What is below the pointer, beside it in words.
 * @param {HTMLElement} box @param {HTMLCanvasElement} canvas @param {View} view
 */
function hovering(box, canvas, view) {
  const tip = el("div", { class: "tooltip", role: "tooltip", hidden: true }), frame = el("div", { class: "hovered", hidden: true });
  box.append(frame, tip);
  const hide = () => {
    tip.hidden = frame.hidden = true;
  };
  /** @param {PointerEvent} event */
  const show = (event) => {
    const at = canvas.getBoundingClientRect(), x = event.clientX - at.left, y = event.clientY - at.top;
    const found = eventAt(view, x, y);
    if (!found) return hide();
    const left = Math.max(LEFT + (found.from - view.begin) * view.each, LEFT);
    const right = Math.min(LEFT + (found.to - view.begin) * view.each, view.width);
    frame.style.cssText = `left: ${left}px; top: ${TOP + found.row * view.rows.row}px; width: ${Math.max(right - left, 3)}px; height: ${view.rows.row - 2}px`;
    tip.textContent = sentence(view.block, found.event);
    tip.hidden = frame.hidden = false;
    tip.style.left = `${Math.max(0, Math.min(x + 14, view.width - tip.offsetWidth))}px`;
    tip.style.top = `${TOP + (found.row + 1) * view.rows.row + 4}px`;
  };
  canvas.addEventListener("pointermove", (event) => (event.buttons ? hide() : show(event)));
  canvas.addEventListener("pointerleave", hide);
}

/** @param {HTMLCanvasElement} canvas @param {View} view @param {ReturnType<typeof walking>} walk @param {() => void} draw */
function listen(canvas, view, walk, draw) {
  /** @param {MouseEvent} event @returns {number} */
  const clockAt = (event) => view.begin + (event.clientX - canvas.getBoundingClientRect().left - LEFT) / view.each;
  /** @type {{x: number, begin: number, moved: boolean} | null} */
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    drag = { x: event.clientX, begin: view.begin, moved: false };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!drag || !event.buttons) return;
    if (!drag.moved && Math.abs(event.clientX - drag.x) < 4) return;
    if (!drag.moved) canvas.setPointerCapture(event.pointerId);
    drag.moved = true;
    view.begin = drag.begin - (event.clientX - drag.x) / view.each;
    draw();
  });
  canvas.addEventListener("click", (event) => {
    const moved = drag?.moved;
    drag = null;
    if (moved) return; // it was dragged
    const at = canvas.getBoundingClientRect();
    const found = eventAt(view, event.clientX - at.left, event.clientY - at.top);
    if (found) walk.choose(found.event, found.warp);
  });
  canvas.addEventListener("keydown", (event) => {
    /** @param {number} factor */
    const zoom = (factor) => {
      view.zoom(factor);
      draw();
    };
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowLeft: () => walk.move(event.shiftKey ? -8 : -1), ArrowRight: () => walk.move(event.shiftKey ? 8 : 1),
      ArrowUp: () => walk.warp(-1), ArrowDown: () => walk.warp(1), "+": () => zoom(2), "=": () => zoom(2), "-": () => zoom(0.5),
    };
    if (!(event.key in keys)) return;
    keys[event.key]();
    event.preventDefault();
  });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return; // a wheel alone goes through the page
    event.preventDefault();
    view.zoom(event.deltaY < 0 ? 1.25 : 0.8, clockAt(event));
    draw();
  }, { passive: false });
}

/**
 * The row of buttons that zoom, and the slider along the events.
 * @param {View} view @param {() => void} draw
 * @returns {{row: HTMLElement, show: () => void}}
 */
function controls(view, draw) {
  const scroller = el("input", { type: "range", min: 0, max: 1000, value: 0, "aria-label": "Where in the block's events the picture begins" });
  scroller.addEventListener("input", () => {
    view.begin = (Number(scroller.value) / 1000) * view.rest;
    draw();
  });
  /** @param {string} label @param {string} text @param {() => void} act */
  const sight = (label, text, act) => button(text, () => (act(), draw()), { "aria-label": label });
  const row = el("div", { class: "controls" },
    sight("Zoom in", "+", () => view.zoom(2)), sight("Zoom out", "−", () => view.zoom(0.5)),
    sight("Show only the chosen step", "This step", () => view.step()),
    sight("Show everything", "All", () => view.all()),
    el("label", { class: "wide" }, "From:", scroller));
  const show = () => {
    scroller.disabled = view.rest <= 0;
    scroller.value = String(view.rest > 0 ? Math.round((1000 * view.begin) / view.rest) : 0);
  };
  return { row, show };
}

/** @param {HTMLElement} element @param {Data} data @param {State} state */
export function mount(element, data, state) {
  if (!data.blocks.length) {
    element.append(el("p", { class: "readout" }, "No block’s history was kept, so there is no order of events to show."));
    return;
  }
  const canvas = el("canvas", {
    tabindex: 0, role: "application", "aria-roledescription": "picture of the warps",
    "aria-label": "One row per warp. Left and right move through the warp's events, up and down through the warps; plus and minus zoom.",
    "aria-describedby": "time-words",
  });
  const box = el("div", { class: "timeline" }, canvas);
  const said = el("div", { class: "readout", id: "time-words", "aria-live": "polite" });
  const legend = el("ul", { class: "legend" });
  const view = new View(box, data, state);
  const walk = walking(view);
  const draw = () => {
    if (!box.clientWidth) return;
    view.clamp();
    new Painter(canvas, view).paint(state.selection);
    buttons.show();
  };
  const buttons = controls(view, draw);
  listen(canvas, view, walk, draw);
  hovering(box, canvas, view);
  element.append(
    buttons.row, legend, box, said,
    el("p", { class: "note" },
      "A row is a warp; its events are in its own order from left to right. Warps are in line only where a barrier, an mbarrier, a copy ",
      "or the sums of a warpgroup put them there. The CPU device ran them in one order that a GPU could have taken: this is no GPU’s time. Sums ",
      "in registers leave no event. Drag the picture to go along it; with Ctrl, the wheel zooms."),
  );
  state.subscribe((now, before) => {
    view.follow(now, before);
    draw();
    const { block, rows } = view;
    const rest = block.raw.truncated ? " More happened than is kept here: these are the block’s first events." : "";
    const text = (now.event === null ? "No event is chosen." : sentence(block, now.event)) + rest;
    tell(said, [text, ...endWords(block, now.event), summary(block, rows, now.step, now.warp)]);
    drawLegend(legend, data.blocks.some(({ raw }) => raw.multiplies.length));
  });
  whenResized(box, draw);
}

/** @param {Block} block @param {number | null} event @returns {string[]} of a wait, what ends it */
function endWords(block, event) {
  const found = event === null ? null : ending(block, event);
  if (event === null || !found) return [];
  if (found.until === null) return ["Nobody’s arrival ends this wait: it never ends."];
  if (found.from === null) return [];
  if (found.from === event) return ["Its own arrival is the last one: it waits for nobody."];
  return [`What ends the wait: ${sentence(block, found.from)}`];
}

/** @param {Block} block @param {Rows} rows @param {number} step @param {number | null} warp @returns {string} what it, or all warps, do in the step */
function summary(block, rows, step, warp) {
  const counts = new Map();
  const { step: steps } = block.steps;
  const events = new Set(warp === null ? rows.warps.flat() : rows.warps[warp] ?? []);
  for (const event of events) {
    if (steps[event] === step) counts.set(rows.kinds[event], (counts.get(rows.kinds[event]) ?? 0) + 1);
  }
  const parts = ORDER.flatMap((kind, index) => {
    const count = counts.get(index);
    if (!count || kind === "other") return [];
    if (kind === "copy") return [counted(count, "request to copy", "requests to copy")];
    return [counted(count, kind) + (kind === "product" && warp !== null && block.raw.multiplies.length ? " with its warpgroup" : "")];
  });
  const flying = fills(block).filter((fill) => stateOf(fill, step) === "in flight").length;
  const who = warp === null ? "All warps together" : `Warp ${warp}`;
  return `${stepName(block, step)}. ${who}: ${parts.join(", ") || "nothing"}${flying ? `; ${counted(flying, "copy", "copies")} in flight at its end` : ""}.`;
}

/** Paints what a view shows of a block. */
class Painter {
  /** @param {HTMLCanvasElement} canvas @param {View} view */
  constructor(canvas, view) {
    const { width, rows } = view;
    this.view = view;
    this.rows = rows;
    this.width = width;
    this.height = TOP + (rows.warps.length + rows.copies.length) * rows.row + 4;
    this.context = sharp(canvas, width, this.height);
    this.context.font = SMALL;
    this.context.textBaseline = "middle";
    this.colour = colours();
    this.flight = hatch(this.context, "/", this.colour.paper, this.colour.ink);
    this.waits = hatch(this.context, "/", this.colour["t-wait"], this.colour.paper);
    this.end = view.begin + (width - LEFT) / view.each; // the last clock that is shown
  }

  /** @param {number} clock @returns {number} CSS pixels */
  x(clock) {
    return LEFT + (clock - this.view.begin) * this.view.each;
  }

  /** @param {import("explorer/dom").Colour} colour @param {number} x @param {number} y @param {number} wide @param {number} high */
  fill(colour, x, y, wide, high) {
    filled(this.context, this.colour[colour], x, y, wide, high);
  }

  /** @param {string} words @param {number} x @param {number} y their middle @param {import("explorer/dom").Colour} [colour] */
  say(words, x, y, colour = "ink") {
    written(this.context, this.colour[colour], words, x, y);
  }

  /** @param {Readonly<import("explorer/state").Selection>} now */
  paint(now) {
    const { rows, width } = this;
    this.steps(now.step);
    rows.warps.forEach((_, warp) => {
      const y = TOP + warp * rows.row;
      if (warp === now.warp) this.fill("light", 0, y, LEFT - 6, rows.row - 2);
      this.row(`warp ${warp}`, y);
      this.warp(warp, y);
    });
    rows.copies.forEach((lane, index) => {
      const y = TOP + (rows.warps.length + index) * rows.row;
      this.row(lane.name.length > 11 ? `${lane.name.slice(0, 10)}…` : lane.name, y);
      this.context.save();
      this.context.beginPath();
      this.context.rect(LEFT, y, width - LEFT, rows.row);
      this.context.clip();
      for (const span of lane.spans) this.span(span, y);
      for (const { clock, label } of lane.ticks) {
        this.fill("ink", this.x(clock), y + 1, 2, rows.row - 4);
        this.say(label, this.x(clock) + 4, y + rows.row / 2);
      }
      this.context.restore();
    });
    this.warpgroups();
    this.races();
    this.chosen(now.event);
    this.arrow(now.event, now.warp);
  }

  /**
   * The chosen one is shaded, each begins with a line.
   * @param {number} chosen
   */
  steps(chosen) {
    const { view, rows, end, height, context } = this;
    const { begins, count } = rows.block.steps;
    const left = Math.max(this.x(begins[chosen]), LEFT);
    this.fill("pale", left, 0, Math.max(Math.min(this.x(begins[chosen + 1] ?? rows.last + 1), this.width) - left, 0), height);
    let free = LEFT;
    for (const [step, begin] of begins.entries()) {
      if (begin < view.begin || begin > end) continue;
      const at = this.x(begin);
      if (step > 0 && view.each * (rows.last / count) > 4) this.fill("light", Math.round(at), TOP - 4, 1, height);
      if (at < free) continue;
      this.say(String(step), at + 2, TOP / 2, step === chosen ? "ink" : "grey");
      free = at + context.measureText(String(step)).width + 12;
    }
    this.say("step", 4, TOP / 2, "grey");
  }

  /** @param {string} name @param {number} y */
  row(name, y) {
    this.say(name, 4, y + this.rows.row / 2);
    this.fill("light", LEFT, y + this.rows.row - 2, this.width - LEFT, 1);
  }

  /** A bracket beside the warps of each warpgroup that multiplies by wgmma, and what makes the four marks of each wgmma one. */
  warpgroups() {
    const { view, end, context, rows: { block, row: tall, groups } } = this;
    context.strokeStyle = this.colour.ink;
    context.lineWidth = 2;
    for (const [first, events] of groups) {
      const top = TOP + first * tall;
      const bottom = top + Math.min(WARPGROUP, block.warps - first) * tall;
      context.beginPath();
      context.moveTo(LEFT - 4, top + 3);
      context.lineTo(LEFT - 8, top + 3);
      context.lineTo(LEFT - 8, bottom - 5);
      context.lineTo(LEFT - 4, bottom - 5);
      context.stroke();
      if (view.each < BLOCKS) continue;
      for (const clock of events.map((event) => block.clocks[event])) {
        if (clock < view.begin || clock > end) continue;
        for (let y = top + tall; y < bottom; y += tall) this.fill("t-product", this.x(clock), y - 2, view.each - (view.each > 3 ? 1 : 0), 2);
      }
    }
  }

  /** The two accesses of each race, filled and joined in the color of what is wrong. */
  races() {
    const { context, colour, rows: { block, row: tall }, view } = this;
    for (const finding of view.data.trace.findings) {
      const pair = racing(view.data, finding);
      if (!pair || view.data.blocks[pair.block] !== block) continue;
      const ends = [pair.first, pair.second].map((event) => ({
        x: this.x(block.clocks[event]), y: TOP + (block.warpOf(event) ?? 0) * tall,
      }));
      if (ends.some(({ x }) => x < LEFT || x > this.width)) continue;
      context.strokeStyle = colour.bad;
      context.lineWidth = 2;
      context.beginPath();
      ends.forEach(({ x, y }) => context.lineTo(x + 1.5, y + tall / 2));
      context.stroke();
      for (const { x, y } of ends) this.fill("bad", x, y + 1, Math.max(view.each, 3), tall - 4);
    }
  }

  /**
   * What is chosen: a line at its clock, an outline around it in the row of its warp, or of its four.
   * @param {number | null} event
   */
  chosen(event) {
    if (event === null) return;
    const { block, row: tall } = this.rows;
    const at = this.x(block.clocks[event]);
    if (at < LEFT - 1 || at > this.width) return;
    this.fill("mark", at - 1, TOP - 6, 1, this.height);
    const warps = block.warpsOf(event);
    if (warps.length) outlined(this.context, at - 2, TOP + warps[0] * tall, Math.max(this.view.each, 3) + 3, warps.length * tall - 3);
  }

  /**
   * The arrival that ends the wait that is chosen, with an arrow to where it ends; of one that never ends, to nobody.
   * @param {number | null} event @param {number | null} warp
   */
  arrow(event, warp) {
    const { context, colour, rows: { block, row: tall, warps }, view } = this;
    const { dataset } = context.canvas;
    dataset.scale = [LEFT, TOP, view.begin, view.each, tall].join(" "); // for whoever points by program
    const found = event === null ? null : ending(block, event);
    dataset.arrow = !found ? "" : found.until === null ? "nobody" : String(found.from ?? "");
    if (event === null || !found || found.from === event) return;
    const row = warp !== null && block.warpsOf(event).includes(warp) ? warp : block.warpOf(event);
    if (row === null) return;
    const y = TOP + (row + 0.5) * tall - 1;
    context.strokeStyle = context.fillStyle = found.until === null ? colour.bad : colour.mark;
    context.lineWidth = 2.5;
    if (found.until === null) {
      const words = "nobody", wide = context.measureText(words).width + 16;
      const from = Math.max(this.x(block.clocks[event]) + view.each / 2, LEFT + 4), to = Math.max(Math.min(from + 140, this.width - wide - 12), from + 24);
      context.setLineDash([6, 4]);
      this.line([[from, y], [to, y]]);
      context.strokeRect(to + 8, y - 10, wide, 20);
      context.setLineDash([]);
      filled(context, colour.paper, to + 10, y - 8, wide - 4, 16);
      this.head(to + 6, y, 1, 0);
      this.say(words, to + 16, y, "bad");
      return;
    }
    if (found.from === null) return;
    const place = warps[row].indexOf(event);
    const waited = this.rows.block.raw.events[event];
    const over = !Array.isArray(waited) && waited.e !== "passed" && waited.e !== "cluster_passed" && place >= 0 ? this.rows.until(row, place) : block.clocks[event];
    const start = { x: this.x(block.clocks[found.from]) + view.each / 2, y: this.middle(found.from) }, end = { x: this.x(over), y };
    const high = end.y - start.y, across = end.x - start.x, long = Math.hypot(across, high) || 1;
    this.line([[start.x, start.y], [end.x - (8 * across) / long, end.y - (8 * high) / long]]);
    context.beginPath();
    context.arc(start.x, start.y, 4, 0, 2 * Math.PI);
    context.fill();
    this.head(end.x, end.y, across / long, high / long);
  }

  /** @param {[number, number][]} points */
  line(points) {
    this.context.beginPath();
    for (const [x, y] of points) this.context.lineTo(x, y);
    this.context.stroke();
  }

  /**
   * An arrow's head.
   * @param {number} x its tip @param {number} y the same @param {number} dx its direction, of length 1 @param {number} dy the same
   */
  head(x, y, dx, dy) {
    const { context } = this;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(x - 11 * dx + 5 * dy, y - 11 * dy - 5 * dx);
    context.lineTo(x - 11 * dx - 5 * dy, y - 11 * dy + 5 * dx);
    context.fill();
  }

  /** @param {number} event @returns {number} the middle of its row: its warp's, that of the copy that lands, or its mbarrier's */
  middle(event) {
    const { block, row: tall, warps, copies } = this.rows;
    const found = block.raw.events[event];
    const box = !Array.isArray(found) && found.copy !== undefined ? block.raw.copies[found.copy] : undefined;
    const clock = block.clocks[event];
    const lane = copies.findIndex(({ name, spans }) => spans.some(({ from, to, fill }) =>
      fill !== null && fill.shared === box?.shared && box.offset >= fill.lo && box.offset < fill.hi && from <= clock && clock < to) ||
      (box?.barrier !== null && box !== undefined && name === block.raw.mbarriers[box.barrier]?.name));
    const row = block.warpOf(event) ?? (lane < 0 ? warps.length : warps.length + lane);
    return TOP + (row + 0.5) * tall - 1;
  }

  /** @param {number} warp @param {number} y */
  warp(warp, y) {
    const { view, end, context, colour, rows: { block, kinds, row } } = this;
    const events = this.rows.warps[warp], high = row - 3;
    const first = Math.max(0, this.rows.from(warp, view.begin) - 1);
    // What it waits for: from where it stands to where it goes on.
    for (let place = first; place < events.length && block.clocks[events[place]] <= end; place++) {
      const name = ORDER[kinds[events[place]]], clock = block.clocks[events[place]];
      if (name !== "wait" && name !== "barrier") continue;
      const from = Math.max(this.x(clock), LEFT), to = Math.min(this.x(this.rows.until(warp, place)), this.width);
      if (to > from) filled(context, this.waits, from, y, Math.max(to - from, 1), high);
    }
    if (view.each < BLOCKS) {
      this.bins(warp, y, first, high);
      return;
    }
    for (let place = first; place < events.length && block.clocks[events[place]] <= end; place++) {
      const event = events[place], name = ORDER[kinds[event]], look = KINDS[name];
      const left = this.x(block.clocks[event]), from = Math.max(left, LEFT), wide = left + view.each - (view.each > 3 ? 1 : 0) - from;
      if (wide <= 0 || name === "wait") continue;
      if (name === "barrier") filled(context, colour.ink, from, y, Math.min(Math.max(wide, 1.5), 3), high);
      else if (name === "other") filled(context, colour.grey, from, y + high - 4, wide, 4);
      else filled(context, colour[look.colour], from, y, wide, high);
      if (view.each < LETTERS || !look.letter || left < LEFT) continue;
      context.textAlign = "center";
      this.say(look.letter, from + wide / 2, y + high / 2, look.on);
      context.textAlign = "left";
    }
  }

  /**
   * Several events a pixel: each kind has its share of the pixel's column.
   * @param {number} warp @param {number} y @param {number} first place of its first event in sight @param {number} high
   */
  bins(warp, y, first, high) {
    const { context, colour, end, rows: { block, kinds } } = this;
    const events = this.rows.warps[warp];
    const counts = new Uint32Array(ORDER.length);
    let column = -1, all = 0;
    const flush = () => {
      let top = y;
      for (const [kind, name] of ORDER.entries()) {
        if (!counts[kind] || name === "wait" || name === "other") continue;
        const share = name === "barrier" ? high : (high * counts[kind]) / all;
        filled(context, colour[KINDS[name].colour], column, name === "barrier" ? y : top, 1, share);
        if (name !== "barrier") top += share;
      }
      counts.fill(0);
      all = 0;
    };
    for (let place = first; place < events.length && block.clocks[events[place]] <= end; place++) {
      const at = Math.floor(this.x(block.clocks[events[place]]));
      if (at < LEFT) continue;
      if (at !== column) {
        flush();
        column = at;
      }
      const kind = kinds[events[place]];
      counts[kind]++;
      if (ORDER[kind] !== "barrier" && ORDER[kind] !== "wait" && ORDER[kind] !== "other") all++;
    }
    flush();
  }

  /** @param {Lane["spans"][number]} span @param {number} y */
  span({ from: asked, landed: there, to: gone, label }, y) {
    const { context, rows: { row: tall, last } } = this;
    const [from, landed, to] = [asked, Math.min(there, last + 1), Math.min(gone, last + 1)].map((clock) => this.x(clock));
    filled(context, this.flight, from, y + 2, Math.max(landed - from, 1), tall - 6);
    this.fill("light", landed, y + 2, Math.max(to - landed, 0), tall - 6);
    framed(context, this.colour.ink, 1, from, y + 2, Math.max(to - from, 1), tall - 6);
    const wide = context.measureText(label).width;
    if (to - from < wide + 8) return;
    const begin = to - landed > wide + 8 ? landed + 4 : from + 4;
    if (begin < landed) this.fill("paper", begin - 2, y + 4, wide + 4, tall - 10);
    this.say(label, begin, y + tall / 2 - 1);
  }
}

/** @param {HTMLElement} legend @param {boolean} warpgroups whether any multiplies by wgmma */
function drawLegend(legend, warpgroups) {
  const four = warpgroups ? "; a wgmma is one of the four warps in a bracket" : "";
  /** @type {[Kind, string][]} */
  const entries = [
    ["product", `×: product on tensor cores${four}`], ["copy", "C: a copy is started"], ["global load", "L: global load"], ["shared load", "l: shared load"],
    ["global store", "S, s: global and shared store"], ["wait", "waits; choose one to see what ends it"], ["barrier", "a barrier of the block"],
    ["other", "anything else"],
  ];
  legend.replaceChildren(...entries.map(([kind, text]) => swatch(text, (context) => {
    const colour = colours();
    if (kind === "barrier") filled(context, colour.ink, 11, 0, 3, 18);
    else if (kind === "other") filled(context, colour.grey, 0, 14, 26, 4);
    else filled(context, kind === "wait" ? hatch(context, "/", colour["t-wait"], colour.paper) : colour[KINDS[kind].colour], 0, 0, 26, 18);
  })));
  legend.append(swatch("below: a copy in flight, until a wait has seen it; plain after that", (context) => {
    filled(context, hatch(context, "/", colours().paper, colours().ink), 0, 0, 26, 18);
  }));
}
