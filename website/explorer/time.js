// One block's warps, side by side: what each asks for, waits for and multiplies, step by step.

import { fills, stageOf, stateOf } from "explorer/contents";
import { colours, counted, el, grouped, hatch, sharp, whenResized } from "explorer/dom";
import { stepControls, stepName } from "explorer/playing";
import { span } from "explorer/product";

/** @typedef {import("explorer/payload").Block} Block */
/** @typedef {import("explorer/payload").Data} Data */
/** @typedef {import("explorer/contents").Fill} Fill */

/**
 * @typedef {"global load" | "global store" | "copy" | "shared load" | "shared store" | "product" | "wait" | "barrier" | "other"} Kind
 * @typedef {object} Look what an event is drawn as: shape and place say it, a shade says it again
 * @property {number} track of a warp's four
 * @property {number} top of the track's height, from here
 * @property {number} bottom to here
 * @property {import("explorer/dom").Colour} colour
 * @property {string} letter where there is room for one
 */
/** @type {Record<Kind, Look>} */
const KINDS = {
  "global load": { track: 0, top: 0, bottom: 1, colour: "strong", letter: "L" },
  "global store": { track: 0, top: 0.6, bottom: 1, colour: "strong", letter: "S" },
  copy: { track: 0, top: 0, bottom: 0.5, colour: "ink", letter: "C" },
  "shared load": { track: 1, top: 0, bottom: 1, colour: "mid", letter: "l" },
  "shared store": { track: 1, top: 0.5, bottom: 1, colour: "strong", letter: "s" },
  product: { track: 2, top: 0, bottom: 1, colour: "ink", letter: "×" },
  wait: { track: 3, top: 0.3, bottom: 0.8, colour: "grey", letter: "w" },
  barrier: { track: 0, top: 0, bottom: 4, colour: "ink", letter: "" },
  other: { track: 3, top: 0.7, bottom: 1, colour: "grey", letter: "·" },
};
const ORDER = /** @type {Kind[]} */ (Object.keys(KINDS));
const LEFT = 78;
const TOP = 20;
const LETTERS = 12; // CSS pixels an event from which on it has room for its letter
const MOST = 24; // CSS pixels an event, at most

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
    return box.barrier === null ? `asks TMA to store ${what}` : `asks TMA to bring ${what}, for ${raw.mbarriers[box.barrier]?.name ?? "an mbarrier"}`;
  }
  if (request?.access && request.array) {
    const { access, array, lanes, units } = request;
    const unit = array.space === "global" ? counted(units, "sector") : counted(units, "wavefront");
    const verb = access.matrix ? "reads by ldmatrix" : access.copy ? (access.op === "store" ? "asks cp.async to fill" : "asks cp.async to read")
      : access.op === "load" ? "loads from" : "stores to";
    return `${verb} ${array.name} (${array.space} memory), ${access.width} bytes a lane, ${counted(lanes.length, "lane")}, ${unit}`;
  }
  if (Array.isArray(found)) return "asks for memory";
  const name = found.barrier === undefined ? "" : raw.mbarriers[found.barrier]?.name ?? `mbarrier ${found.barrier}`;
  const multiply = found.e === "wgmma" ? raw.multiplies[found.multiply ?? -1] : null;
  /** @type {Record<string, string>} */
  const texts = {
    barrier: "has come to __syncthreads()", met: "all have met at __syncthreads()", commit: "closes a group of cp.async",
    copied: `has waited: ${counted(found.count ?? 0, "more group")} of cp.async landed`,
    begin: `begins ${name}, ${counted(found.count ?? 0, "arrival")} a phase`, expect: `expects ${grouped(found.bytes ?? 0)} bytes at ${name}, phase ${found.phase}`,
    arrive: `arrives at ${name}, phase ${found.phase}`, wait: `has to wait for phase ${found.phase} of ${name}`,
    passed: (found.phase ?? 0) < 0 ? `goes past ${name} at once, nothing being in its way` : `has seen phase ${found.phase} of ${name} complete`,
    phase: `phase ${found.phase} of ${name} is complete`, landed: "a copy's bytes are all there",
    wgmma: multiply ? `multiplies by wgmma, m${multiply.m}n${multiply.n}k${multiply.k}, warpgroup ${multiply.warpgroup}` : "multiplies by wgmma",
    summed: `has its sums up to batch ${found.batch}`, mma: "multiplies on tensor cores", returned: "has returned",
    cluster_arrive: "arrives at the cluster's barrier", cluster_passed: "goes past the cluster's barrier", cluster_met: "the cluster has met",
  };
  return texts[found.e] ?? found.e;
}

/** @param {Block} block @param {number} event @returns {string} a sentence */
export function sentence(block, event) {
  const warp = block.warpOf(event);
  const place = block.placeOf(event);
  const who = warp === null ? "" : `warp ${warp} `;
  const text = `Event ${grouped(event)} of ${grouped(block.raw.events.length)}, step ${block.stepOf(event)}: ${who}${words(block, event)}`;
  return `${text}${place ? `; line ${place.line}` : ""}.`;
}

/** A block's events by warp, with what is drawn of them. */
class Rows {
  /** @param {Block} block */
  constructor(block) {
    this.block = block;
    /** @type {number[][]} */
    this.warps = Array.from({ length: block.warps }, () => []);
    this.kinds = new Uint8Array(block.raw.events.length);
    this.last = 0;
    block.raw.events.forEach((_, event) => {
      const warp = block.warpOf(event);
      this.kinds[event] = ORDER.indexOf(kindOf(block, event));
      if (warp !== null && warp < this.warps.length) this.warps[warp].push(event);
      this.last = Math.max(this.last, block.clocks[event]);
    });
    this.copies = lanes(block);
    this.track = this.warps.length > 12 ? 5 : 7; // CSS pixels
    this.row = 4 * this.track + 4;
  }

  /** @param {number} warp @param {number} clock @returns {number} index into warps[warp] of its first event at or behind the clock */
  from(warp, clock) {
    const events = this.warps[warp];
    let low = 0;
    let high = events.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.block.clocks[events[middle]] < clock) low = middle + 1;
      else high = middle;
    }
    return low;
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

/**
 * @param {HTMLElement} element
 * @param {Data} data
 * @param {import("explorer/state").State} state
 */
export function mount(element, data, state) {
  if (!data.blocks.length) {
    element.append(el("p", { class: "readout" }, "No block’s history was kept, so there is no order of events to show."));
    return;
  }
  const canvas = el("canvas", {
    tabindex: 0, role: "application", "aria-roledescription": "picture of the warps",
    "aria-label": "A row a warp. Left and right go through the warp's events, up and down through the warps, plus and minus zoom.",
    "aria-describedby": "time-words",
  });
  const box = el("div", { class: "timeline" }, canvas);
  const said = el("div", { class: "readout", id: "time-words", "aria-live": "polite" });
  const which = el("select", { "aria-label": "Block" }, ...data.blocks.map((block, index) => el("option", { value: index }, `block ${block.name}`)));
  /** @param {string} label @param {string} text @param {() => void} act */
  const button = (label, text, act) => el("button", { type: "button", "aria-label": label, onclick: act }, text);
  const legend = el("ul", { class: "legend" });
  const scroller = el("input", { type: "range", min: 0, max: 1000, value: 0, "aria-label": "Where in the block's events the picture begins" });

  /** @type {Map<Block, Rows>} */
  const kept = new Map();
  const block = () => data.blocks[state.selection.block];
  const rows = () => {
    const now = kept.get(block()) ?? new Rows(block());
    kept.set(block(), now);
    return now;
  };
  const view = { begin: 0, each: 0 }; // the first clock that is shown, CSS pixels a clock; 0: all fits
  /** @type {Block | null} */
  let fitted = null;

  const width = () => Math.max(box.clientWidth, 200);
  const room = () => width() - LEFT - 4;
  const least = () => room() / (rows().last + 2);
  const clamp = () => {
    view.each = Math.min(Math.max(view.each, least()), Math.max(MOST, least()));
    view.begin = Math.max(0, Math.min(view.begin, rows().last + 2 - room() / view.each));
  };
  /** @param {number} factor @param {number} [at] the clock that stays where it is */
  const zoom = (factor, at) => {
    const { event } = state.selection;
    const centre = at ?? (event !== null ? block().clocks[event] : view.begin + room() / view.each / 2);
    const place = (centre - view.begin) * view.each;
    view.each *= factor;
    clamp();
    view.begin = centre - Math.min(Math.max(place, 0), room()) / view.each;
    clamp();
    draw();
  };
  /** @param {number} event */
  const choose = (event) => {
    const now = state.selection;
    const fields = block().selectionOf(event);
    const other = fields.warp !== now.warp ? { thread: null, lane: null, element: null } : {};
    state.set(fields.warp === null ? { event, step: fields.step } : { ...fields, ...other });
  };
  /** @param {number} by events, of the chosen warp, or of all where the event is of no warp */
  const move = (by) => {
    const now = state.selection;
    const events = rows().warps[now.warp ?? 0] ?? [];
    const at = now.event === null ? -1 : events.indexOf(now.event);
    const next = events[Math.max(0, Math.min(events.length - 1, at + by))];
    if (next !== undefined) choose(next);
  };
  /** @param {number} by events in the order in which the CPU device ran them */
  const run = (by) => {
    const last = block().raw.events.length - 1;
    choose(Math.max(0, Math.min(last, (state.selection.event ?? -1) + by)));
  };
  /** @param {number} by */
  const warp = (by) => {
    const now = state.selection;
    const to = Math.max(0, Math.min(rows().warps.length - 1, (now.warp ?? 0) + by));
    const events = rows().warps[to];
    const clock = now.event === null ? 0 : block().clocks[now.event];
    const event = events[Math.min(rows().from(to, clock), events.length - 1)];
    if (event !== undefined) choose(event);
  };

  element.append(
    el("p", { class: "note" },
      "A row is a warp; its events stand in its own order from left to right. Warps are in line only where a barrier, an mbarrier or a copy ",
      "puts them there. The CPU device ran them in one order that a GPU could have taken: this is no GPU’s time. Sums in registers leave no event."),
    stepControls(data, state, "Step:"),
    el("div", { class: "controls" }, which,
      button("The event before, as the CPU device ran them", "◀ event", () => run(-1)),
      button("The next event, as the CPU device ran them", "event ▶", () => run(1)),
      button("Zoom in", "+", () => zoom(2)), button("Zoom out", "−", () => zoom(0.5)),
      button("Show the chosen step alone", "This step", () => {
        const { begins } = block().steps;
        const { step } = state.selection;
        view.each = room() / Math.max((begins[step + 1] ?? rows().last + 2) - begins[step], 1);
        view.begin = begins[step];
        clamp();
        draw();
      }),
      button("Show everything", "All", () => {
        view.each = view.begin = 0;
        clamp();
        draw();
      }), el("label", { class: "wide" }, "From:", scroller)),
    box, legend, said,
  );
  which.addEventListener("change", () => state.set({ block: Number(which.value), event: null, step: 0, thread: null, warp: 0, lane: null, element: null }));
  scroller.addEventListener("input", () => {
    view.begin = (Number(scroller.value) / 1000) * (rows().last + 2 - room() / view.each);
    clamp();
    draw();
  });

  canvas.addEventListener("click", (event) => {
    const at = canvas.getBoundingClientRect();
    const clock = view.begin + (event.clientX - at.left - LEFT) / view.each;
    const line = Math.floor((event.clientY - at.top - TOP) / rows().row);
    if (line < 0 || event.clientX - at.left < LEFT) return;
    const { warps, copies } = rows();
    if (line < warps.length) {
      const events = warps[line];
      const place = rows().from(line, clock);
      const near = [events[place - 1], events[place]].filter((one) => one !== undefined);
      near.sort((a, b) => Math.abs(block().clocks[a] + 0.5 - clock) - Math.abs(block().clocks[b] + 0.5 - clock));
      if (near.length) choose(near[0]);
      return;
    }
    const lane = copies[line - warps.length];
    const chosen = lane?.spans.find(({ from, to }) => from <= clock && clock < to)?.event
      ?? lane?.ticks.find(({ clock: one }) => clock < one)?.event;
    if (chosen !== undefined) choose(chosen);
  });
  canvas.addEventListener("keydown", (event) => {
    /** @type {Record<string, () => void>} */
    const keys = {
      ArrowLeft: () => move(event.shiftKey ? -8 : -1), ArrowRight: () => move(event.shiftKey ? 8 : 1), ArrowUp: () => warp(-1),
      ArrowDown: () => warp(1), "+": () => zoom(2), "=": () => zoom(2), "-": () => zoom(0.5),
    };
    if (!(event.key in keys)) return;
    keys[event.key]();
    event.preventDefault();
  });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return; // a wheel alone goes through the page
    event.preventDefault();
    zoom(event.deltaY < 0 ? 1.25 : 0.8, view.begin + (event.clientX - canvas.getBoundingClientRect().left - LEFT) / view.each);
  }, { passive: false });

  const draw = () => {
    if (!box.clientWidth) return;
    if (fitted !== block()) {
      fitted = block();
      view.each = view.begin = 0;
    }
    clamp();
    paint(canvas, width(), rows(), state.selection, view);
    const left = rows().last + 2 - room() / view.each;
    scroller.disabled = left <= 0;
    scroller.value = String(left > 0 ? Math.round((1000 * view.begin) / left) : 0);
  };

  state.subscribe((now, before) => {
    which.value = String(now.block);
    if (now.event !== null && (now.event !== before.event || now === before) && view.each && fitted === block()) {
      const clock = block().clocks[now.event]; // what is chosen comes into sight
      if (clock < view.begin || clock >= view.begin + room() / view.each - 1) view.begin = clock - room() / view.each / 2;
    } else if (now.step !== before.step && view.each > least() * 1.01) {
      view.begin = block().steps.begins[now.step] - 1;
    }
    draw();
    const rest = block().raw.truncated ? " More happened than is kept here: these are the block’s first events." : "";
    const text = (now.event === null ? "No event is chosen." : sentence(block(), now.event)) + rest;
    const step = summary(block(), rows(), now.step, now.warp);
    if (said.dataset.text !== text + step) {
      said.dataset.text = text + step;
      said.replaceChildren(el("p", {}, text), el("p", {}, step));
    }
    drawLegend(legend);
  });
  whenResized(box, draw);
}

/** @param {Block} block @param {Rows} rows @param {number} step @param {number | null} warp @returns {string} what it, or all warps, do in the step */
function summary(block, rows, step, warp) {
  const counts = new Map();
  const { step: steps } = block.steps;
  const events = warp === null ? rows.warps.flat() : rows.warps[warp] ?? [];
  for (const event of events) {
    if (steps[event] === step) counts.set(rows.kinds[event], (counts.get(rows.kinds[event]) ?? 0) + 1);
  }
  const parts = ORDER.flatMap((kind, index) => {
    const count = counts.get(index);
    return count && kind !== "other" ? [counted(count, kind === "copy" ? "request to copy" : kind, kind === "copy" ? "requests to copy" : `${kind}s`)] : [];
  });
  const flying = fills(block).filter((fill) => stateOf(fill, step) === "in flight").length;
  const who = warp === null ? "All warps together" : `Warp ${warp}`;
  return `${stepName(block, step)}. ${who}: ${parts.join(", ") || "nothing"}${flying ? `; ${counted(flying, "copy", "copies")} in flight at its end` : ""}.`;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Kind} kind
 * @param {number} x
 * @param {number} y of the warp's row
 * @param {number} wide
 * @param {number} track its height
 * @param {ReturnType<typeof colours>} colour
 */
function mark(context, kind, x, y, wide, track, colour) {
  const look = KINDS[kind];
  context.fillStyle = colour[look.colour];
  const top = Math.round(y + (look.track + look.top) * track);
  context.fillRect(x, top, wide, Math.max(Math.round(y + (look.track + look.bottom) * track) - top - (look.bottom === 1 ? 1 : 0), 1));
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {Rows} rows
 * @param {Readonly<import("explorer/state").Selection>} now
 * @param {{begin: number, each: number}} view
 */
function paint(canvas, width, rows, now, view) {
  const { block, warps, copies, row: tall } = rows;
  const height = TOP + (warps.length + copies.length) * tall + 4;
  const context = sharp(canvas, width, height);
  const colour = colours();
  const flight = hatch(context, "/", colour.paper, colour.ink);
  const { clocks, steps } = block;
  const end = view.begin + (width - LEFT) / view.each;
  /** @param {number} clock */
  const x = (clock) => LEFT + (clock - view.begin) * view.each;
  context.font = '12px "DejaVu Sans", Verdana, sans-serif';
  context.textBaseline = "middle";

  // Steps: the chosen one is shaded, each begins with a line.
  const stepEnd = steps.begins[now.step + 1] ?? rows.last + 1;
  context.fillStyle = colour.pale;
  const left = Math.max(x(steps.begins[now.step]), LEFT);
  context.fillRect(left, 0, Math.max(Math.min(x(stepEnd), width) - left, 0), height);
  let free = LEFT;
  for (const [step, begin] of steps.begins.entries()) {
    if (begin < view.begin || begin > end) continue;
    if (step > 0 && view.each * (rows.last / steps.count) > 4) {
      context.fillStyle = colour.light;
      context.fillRect(Math.round(x(begin)), TOP - 4, 1, height);
    }
    const label = String(step);
    if (x(begin) >= free) {
      context.fillStyle = step === now.step ? colour.ink : colour.grey;
      context.fillText(label, x(begin) + 2, TOP / 2);
      free = x(begin) + context.measureText(label).width + 12;
    }
  }
  context.fillStyle = colour.grey;
  context.fillText("step", 4, TOP / 2);

  warps.forEach((events, warp) => {
    const y = TOP + warp * tall;
    if (warp === now.warp) {
      context.fillStyle = colour.light;
      context.fillRect(0, y, LEFT - 6, tall - 2);
    }
    context.fillStyle = colour.ink;
    context.fillText(`warp ${warp}`, 4, y + tall / 2);
    context.fillStyle = colour.light;
    context.fillRect(LEFT, y + tall - 2, width - LEFT, 1);
    paintWarp(context, rows, warp, y, view, end, x, colour);
  });
  copies.forEach((lane, index) => {
    const y = TOP + (warps.length + index) * tall;
    context.fillStyle = colour.ink;
    context.fillText(lane.name.length > 11 ? `${lane.name.slice(0, 10)}…` : lane.name, 4, y + tall / 2);
    context.fillStyle = colour.light;
    context.fillRect(LEFT, y + tall - 2, width - LEFT, 1);
    context.save();
    context.beginPath();
    context.rect(LEFT, y, width - LEFT, tall);
    context.clip();
    for (const { from, landed, to, label } of lane.spans) paintSpan(context, x(from), x(Math.min(landed, rows.last + 1)), x(Math.min(to, rows.last + 1)), y, tall, label, flight, colour);
    for (const { clock, label } of lane.ticks) {
      context.fillStyle = colour.ink;
      context.fillRect(x(clock), y + 1, 2, tall - 4);
      context.fillText(label, x(clock) + 4, y + tall / 2);
    }
    context.restore();
  });

  if (now.event === null) return;
  const at = x(clocks[now.event]);
  if (at < LEFT - 1 || at > width) return;
  context.fillStyle = colour.mark;
  context.fillRect(at - 1, TOP - 6, 1, height);
  const warp = block.warpOf(now.event);
  if (warp === null) return;
  context.strokeStyle = colour.mark;
  context.lineWidth = 2;
  context.strokeRect(at - 2, TOP + warp * tall, Math.max(view.each, 3) + 3, tall - 3);
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Rows} rows
 * @param {number} warp
 * @param {number} y
 * @param {{begin: number, each: number}} view
 * @param {number} end
 * @param {(clock: number) => number} x
 * @param {ReturnType<typeof colours>} colour
 */
function paintWarp(context, rows, warp, y, view, end, x, colour) {
  const { block, kinds, track } = rows;
  const events = rows.warps[warp];
  const last = new Float64Array(ORDER.length).fill(-1); // the last pixel of each kind that is painted
  for (let place = rows.from(warp, view.begin - 1); place < events.length; place++) {
    const event = events[place];
    const clock = block.clocks[event];
    if (clock > end) break;
    const kind = kinds[event];
    const name = ORDER[kind];
    const from = Math.max(x(clock), LEFT);
    if (view.each < 1 && name !== "barrier" && Math.floor(from) === last[kind]) continue; // several events of a kind fall on one pixel
    last[kind] = Math.floor(from);
    const wide = Math.max(view.each - (view.each > 3 ? 1 : 0), 1);
    // What it waits for: from where it stands to where it goes on.
    const found = block.raw.events[event];
    if (!Array.isArray(found) && (found.e === "barrier" || found.e === "wait")) {
      const next = place + 1 < events.length ? block.clocks[events[place + 1]] : rows.last + 1; // the last one waits for ever
      const on = Math.min(x(next), LEFT + (end - view.begin) * view.each);
      if (on - from > 2) mark(context, "wait", from, y, on - from, track, colour);
    }
    mark(context, name, from, y, name === "barrier" ? Math.min(Math.max(wide, 1.5), 3) : wide, track, colour);
    if (view.each < LETTERS || !KINDS[name].letter) continue;
    const look = KINDS[name];
    context.fillStyle = colour.ink;
    context.font = '10px "DejaVu Sans", Verdana, sans-serif';
    context.fillText(look.letter, from + 2, y + (look.track < 2 ? 2 + look.track * 0.5 : look.track) * track + 5);
    context.font = '12px "DejaVu Sans", Verdana, sans-serif';
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} from
 * @param {number} landed
 * @param {number} to
 * @param {number} y
 * @param {number} tall its height
 * @param {string} label
 * @param {string | CanvasPattern} flight
 * @param {ReturnType<typeof colours>} colour
 */
function paintSpan(context, from, landed, to, y, tall, label, flight, colour) {
  context.fillStyle = flight;
  context.fillRect(from, y + 2, Math.max(landed - from, 1), tall - 6);
  context.fillStyle = colour.light;
  context.fillRect(landed, y + 2, Math.max(to - landed, 0), tall - 6);
  context.strokeStyle = colour.ink;
  context.lineWidth = 1;
  context.strokeRect(from, y + 2, Math.max(to - from, 1), tall - 6);
  const wide = context.measureText(label).width;
  if (to - from < wide + 8) return;
  const begin = to - landed > wide + 8 ? landed + 4 : from + 4;
  if (begin < landed) {
    context.fillStyle = colour.paper;
    context.fillRect(begin - 2, y + 4, wide + 4, tall - 10);
  }
  context.fillStyle = colour.ink;
  context.fillText(label, begin, y + tall / 2 - 1);
}

/** @param {HTMLElement} legend */
function drawLegend(legend) {
  /** @type {[Kind, string][]} */
  const entries = [
    ["global load", "L: global load"], ["global store", "S: global store"], ["copy", "C: a copy is asked for"], ["shared load", "l: shared load"],
    ["shared store", "s: shared store"], ["product", "×: product on tensor cores"], ["wait", "w: waits"], ["barrier", "a barrier of the block"],
    ["other", "·: anything else"],
  ];
  legend.replaceChildren(...entries.map(([kind, text]) => {
    const swatch = el("canvas", { "aria-hidden": "true" });
    const context = sharp(swatch, 26, 18);
    if (kind === "barrier") mark(context, kind, 11, 0, 3, 4.5, colours());
    else mark(context, kind, 4, 4 - KINDS[kind].track * 10, 18, 10, colours());
    return el("li", {}, swatch, text);
  }));
  const swatch = el("canvas", { "aria-hidden": "true" });
  const context = sharp(swatch, 26, 18);
  context.fillStyle = hatch(context, "/", colours().paper, colours().ink);
  context.fillRect(0, 0, 26, 18);
  legend.append(el("li", {}, swatch, "below: a copy in flight, until a wait has seen it; plain behind that"));
}
