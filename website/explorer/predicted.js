// What follows from the sliders of "What if" by arithmetic, with its formula, beside what was traced and what was measured.

import { counted, el, grouped, table } from "explorer/dom";
import { limits, moved, rate, size, waves } from "explorer/occupancy";

/**
 * What the sliders say.
 * @typedef {object} Chosen
 * @property {number} m
 * @property {number} n
 * @property {number} k
 * @property {number} bm
 * @property {number} bn
 * @property {number} bk
 * @property {number} tm
 * @property {number} tn
 * @property {number} stages of tiles of A and B in shared memory; 0: none
 * @property {number} threads a block
 * @property {number} registers a thread
 * @property {number} shared bytes a block
 * @property {string} machine
 */

export const RECORDED = 4096; // M = N = K of what is recorded

/** Whose tile TM×TN is: a thread's, or of those lessons whose threads share a product, a warp's or a warpgroup's. */
const OWNERS = /** @type {const} */ ([["a thread", "TM", "TN"], ["a warp", "WM", "WN"], ["a warpgroup", "WGMMA_M", "WGMMA_N"]]);

/** @param {Data} data */
export function owner(data) {
  const constants = data.descriptor.constants;
  const [who, tm, tn] = OWNERS.find(([, name]) => name in constants) ?? ["a thread", "", ""];
  return { who, tm: constants[tm] ?? 1, tn: constants[tn] ?? 1, names: tm ? [tm, tn] : ["TM", "TN"] };
}

/**
 * Bytes of an element of A, B and C.
 * @param {Data} data
 */
export function bytes(data) {
  const { variants } = data.descriptor;
  return (variants.find(({ text }) => text === data.trace.variant) ?? variants[0]).element_bytes;
}

/** @typedef {{name: string, formula: string, numbers: string, value: string, recorded?: string, traced?: string, id: string}} Row */

/**
 * What the formulas make of the sliders.
 * @param {Data} data @param {Chosen} c
 */
function workedOut(data, c) {
  const machine = data.payload.machines[c.machine];
  const { A: element, C: bytesC } = bytes(data);
  const room = limits(machine, c);
  const blocks = room.refused ? 0 : Math.min(...room.limits.map((limit) => limit.blocks));
  const all = moved({ ...c, bytes: element, bytesC });
  const slots = blocks * machine.sms;
  return {
    machine,
    element,
    room,
    blocks,
    deciding: room.limits.filter((limit) => limit.blocks === blocks).map((limit) => limit.name),
    warps: Math.ceil(c.threads / 32),
    all,
    slots,
    turns: waves(all.blocks, slots),
    asTraced: c.m === data.trace.m && c.n === data.trace.n && c.k === data.trace.k,
    resources: data.payload.recorded?.resources ?? null,
  };
}

/** @typedef {ReturnType<typeof workedOut>} Worked */

/** @param {Data} data @param {Chosen} c */
export function predicted(data, c) {
  const worked = workedOut(data, c);
  return {
    rows: [...ofLaunch(data, c, worked), ...ofMemory(data, c, worked)],
    words: inWords(worked),
    tile: c.stages > 0 ? worked.all.tilePerByte : null,
  };
}

/**
 * @param {string} id @param {string} name @param {string} formula @param {string} numbers @param {string} value
 * @param {{recorded?: string | false | null, traced?: string | false | null}} [others]
 * @returns {Row}
 */
const rowOf = (id, name, formula, numbers, value, others = {}) =>
  ({ id, name, formula, numbers, value, recorded: others.recorded || undefined, traced: others.traced || undefined });

/**
 * Blocks, occupancy, waves, FLOP per byte.
 * @param {Data} data @param {Chosen} c @param {Worked} worked
 */
function ofLaunch(data, c, { machine, element, room, blocks, deciding, warps, all, slots, turns, asTraced, resources }) {
  const { trace: { totals, blocks: launched } } = data;
  const fits = resources?.blocks_per_sm;
  const perByte = asTraced && totals.flop_per_byte ? `${rate(totals.flop_per_byte)} FLOP/B, with C` : null;
  return [
    ...room.limits.map(({ name, formula, blocks: most }) =>
      rowOf(`limit-${name.replace(" ", "-")}`, `Blocks per SM, by ${name}`, FORMULAS[name], formula, grouped(most))
    ),
    rowOf("blocks-an-sm", "Blocks per SM", "the smallest of these", room.refused ?? deciding.join(" and "), grouped(blocks),
      { recorded: fits === null || fits === undefined ? null : `${fits}` }),
    rowOf("occupancy", "Occupancy", "blocks per SM · warps per block / warps of an SM", `${blocks} · ${warps} / ${machine.threads / 32}`,
      `${rate((100 * blocks * warps * 32) / machine.threads)} %`),
    rowOf("grid", "C tiles, one per block", "⌈M / BM⌉ · ⌈N / BN⌉", `${all.rows} · ${all.cols}`, grouped(all.blocks),
      { traced: asTraced && counted(launched, "block") }),
    rowOf("waves", "Waves", "tiles / (SMs · blocks per SM)", `${grouped(all.blocks)} / (${machine.sms} · ${blocks})`,
      slots ? rate(turns) : "none: no block fits"),
    rowOf("tile-intensity", "FLOP per byte of a tile", "2 · BM · BN · BK / ((BM + BN) · BK · bytes)",
      `2 · ${c.bm} · ${c.bn} / ((${c.bm} + ${c.bn}) · ${element})`, `${rate(all.tilePerByte)} FLOP/B`, { traced: perByte }),
  ];
}

/**
 * Bytes of global and of shared memory.
 * @param {Data} data @param {Chosen} c @param {Worked} worked
 */
function ofMemory(data, c, { element, all, asTraced, resources }) {
  const { trace, payload: { recorded } } = data;
  const [tmName, tnName] = owner(data).names;
  const same = c.m === RECORDED && c.n === RECORDED && c.k === RECORDED;
  const part = trace.traced_blocks < trace.blocks ? ` of ${trace.traced_blocks} blocks` : "";
  const loads = {
    traced: asTraced && `${size(trace.totals.global_load_bytes)}${part}`,
    recorded: same && recorded?.global_load_bytes ? size(recorded.global_load_bytes) : null,
  };
  if (c.stages === 0) {
    const counted = "every warp fetches for itself: its access view counts the sectors";
    return [rowOf("global-loads", "Loaded from global memory", "no tile in shared memory", counted, "–", loads)];
  }
  const taken = resources && `${size(resources.static_shared_bytes + resources.dynamic_shared_bytes)} with padding and barriers`;
  return [
    rowOf("global-loads", "Loaded from global memory", "bytes · K · (M · ⌈N / BN⌉ + N · ⌈M / BM⌉)",
      `${element} · ${c.k} · (${c.m} · ${all.cols} + ${c.n} · ${all.rows})`, size(all.loaded), loads),
    rowOf("tile-bytes", "Shared memory of the stages", "stages · (BM + BN) · BK · bytes",
      `${c.stages} · (${c.bm} + ${c.bn}) · ${c.bk} · ${element}`, size(c.stages * (c.bm + c.bn) * c.bk * element), { recorded: taken }),
    rowOf("shared-reads", "Read from shared memory", `bytes · (${tmName} + ${tnName}) / (2 · ${tmName} · ${tnName}) · 2 · M · N · K`,
      `${element} · (${c.tm} + ${c.tn}) / (2 · ${c.tm} · ${c.tn}) = ${rate(all.sharedPerFlop)} B/FLOP`, size(all.sharedPerFlop * all.flop),
      { traced: asTraced && tracedReads(data) + part }),
  ];
}

/** @param {Worked} worked */
function inWords({ machine, room, blocks, deciding, warps, all, slots, turns }) {
  const last = slots ? all.blocks % slots : 0;
  const tail = !slots
    ? ""
    : last === 0
    ? " Every wave is full."
    : ` The last wave fills ${grouped(last)} of ${grouped(slots)} places.`;
  return room.refused
    ? `Predicted: cannot be launched. ${room.refused}`
    : `Predicted: ${counted(blocks, "block")} per SM, limited by ${deciding.join(" and ")}; occupancy ${rate((100 * blocks * warps * 32) / machine.threads)} %, ${rate(turns)} waves on ${machine.sms} SMs, ${
      rate(all.tilePerByte)
    } FLOP per byte of the tile.${tail}`;
}

/**
 * What was read of shared memory, as the tracer counted it.
 * @param {Data} data
 */
function tracedReads(data) {
  const { lines, wgmma } = data.trace;
  const loads = lines.reduce((sum, line) => (line.space === "shared" && line.op === "load" ? sum + line.bytes : sum), 0);
  return size(loads + wgmma.reduce((sum, entry) => sum + entry.shared_bytes, 0));
}

/** @type {Record<string, string>} */
const FORMULAS = {
  "block slots": "what an SM has",
  threads: "⌊threads of an SM / threads per block⌋, in whole warps",
  registers: "⌊warps whose registers fit into its four parts / warps per block⌋",
  "shared memory": "⌊shared memory of an SM / a block’s, with what CUDA adds⌋",
};

/** What counts most of all that follows, by the rows' ids. */
const FIVE = ["blocks-an-sm", "occupancy", "waves", "tile-intensity", "global-loads"];

/** @param {Row[]} rows */
export function five(rows) {
  const shown = FIVE.flatMap((id) => rows.filter((row) => row.id === id));
  return el("dl", { class: "five" }, shown.map(({ id, name, value }) =>
    el("div", { "data-five": id }, el("dt", {}, name), el("dd", {}, value))));
}

/** @param {Data} data @param {Row[]} rows */
export function figures(data, rows) {
  const { trace, payload: { recorded, mine } } = data;
  const measured = recorded ? `recorded, ${recorded.device}` : "recorded";
  const head = ["quantity", "predicted", `traced, ${trace.m}×${trace.n}×${trace.k}`, measured];
  const whose = mine ? ", the lesson’s kernel, not yours" : "";
  const caption = recorded
    ? `Recorded: ${recorded.device}, ${recorded.date.slice(0, 10)}, commit ${recorded.commit.slice(0, 7)}${whose}.`
    : `Nothing has been recorded for this ${data.payload.descriptor.number ? "lesson" : "kernel"}.`;
  const cells = rows.map((row) =>
    el("tr", { "data-row": row.id },
      el("th", { scope: "row" },
        row.name, el("span", { class: "formula" }, row.formula), el("span", { class: "formula" }, `= ${row.numbers}`)),
      el("td", { "data-kind": "predicted", "data-label": "predicted" }, row.value),
      el("td", { "data-kind": "traced", "data-label": "traced" }, row.traced ?? "–"),
      el("td", { "data-kind": "recorded", "data-label": "recorded" }, row.recorded ?? "–"))
  );
  return table({ class: "figures" }, el("caption", {}, caption), head, cells);
}
