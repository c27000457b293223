// What follows from the sliders of "What if" by arithmetic, with its formula, beside what was traced and what was measured.

import { el, grouped } from "explorer/dom";
import { limits, moved, rate, size, waves } from "explorer/occupancy";

/** @typedef {import("explorer/payload").Data} Data */

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
 * Bytes of an element of A and B.
 * @param {Data} data
 */
export function bytes(data) {
  const { variant } = data.trace;
  return /^(fp32|tf32)/.test(variant) ? 4 : /^(e4m3|e5m2|int8)/.test(variant) ? 1 : 2;
}

/** @typedef {{name: string, formula: string, numbers: string, value: string, recorded?: string, traced?: string, id: string}} Row */

/**
 * What the formulas make of the sliders.
 * @param {Data} data @param {Chosen} c
 */
function workedOut(data, c) {
  const machine = data.payload.machines[c.machine];
  const element = bytes(data);
  const room = limits(machine, c);
  const blocks = room.refused ? 0 : Math.min(...room.limits.map((limit) => limit.blocks));
  const all = moved({
    m: c.m,
    n: c.n,
    k: c.k,
    bm: c.bm,
    bn: c.bn,
    bk: c.bk,
    tm: c.tm,
    tn: c.tn,
    bytes: element,
    bytesC: element,
  });
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
 * Blocks, occupancy, waves, FLOP per byte.
 * @param {Data} data @param {Chosen} c @param {Worked} worked
 */
function ofLaunch(data, c, { machine, element, room, blocks, deciding, warps, all, slots, turns, asTraced, resources }) {
  const { totals } = data.trace;
  /** @type {Row[]} */
  const rows = [];
  for (const limit of room.limits) {
    rows.push({
      id: `limit-${limit.name.replace(" ", "-")}`,
      name: `Blocks an SM, by ${limit.name}`,
      formula: FORMULAS[limit.name],
      numbers: limit.formula,
      value: grouped(limit.blocks),
    });
  }
  rows.push({
    id: "blocks-an-sm",
    name: "Blocks an SM",
    formula: "the smallest of these",
    numbers: room.refused ?? deciding.join(" and "),
    value: grouped(blocks),
    recorded: resources?.blocks_per_sm != null ? `${resources.blocks_per_sm}` : undefined,
  });
  rows.push({
    id: "occupancy",
    name: "Occupancy",
    formula: "blocks an SM · warps a block / warps of an SM",
    numbers: `${blocks} · ${warps} / ${machine.threads / 32}`,
    value: `${rate((100 * blocks * warps * 32) / machine.threads)} %`,
  });
  rows.push({
    id: "grid",
    name: "Tiles of C, a block each",
    formula: "⌈M / BM⌉ · ⌈N / BN⌉",
    numbers: `${all.rows} · ${all.cols}`,
    value: grouped(all.blocks),
    traced: asTraced ? `${grouped(data.trace.blocks)} blocks` : undefined,
  });
  rows.push({
    id: "waves",
    name: "Waves",
    formula: "tiles / (SMs · blocks an SM)",
    numbers: `${grouped(all.blocks)} / (${machine.sms} · ${blocks})`,
    value: slots ? rate(turns) : "none: no block fits",
  });
  rows.push({
    id: "tile-intensity",
    name: "FLOP per byte of a tile",
    formula: "2 · BM · BN · BK / ((BM + BN) · BK · bytes)",
    numbers: `2 · ${c.bm} · ${c.bn} / ((${c.bm} + ${c.bn}) · ${element})`,
    value: `${rate(all.tilePerByte)} FLOP/B`,
    traced: asTraced && totals.flop_per_byte ? `${rate(totals.flop_per_byte)} FLOP/B, with C` : undefined,
  });
  return rows;
}

/**
 * Bytes of global and of shared memory.
 * @param {Data} data @param {Chosen} c @param {Worked} worked
 */
function ofMemory(data, c, { element, all, asTraced, resources }) {
  const [tmName, tnName] = owner(data).names;
  const same = c.m === RECORDED && c.n === RECORDED && c.k === RECORDED;
  const { totals } = data.trace;
  const part = data.trace.traced_blocks < data.trace.blocks ? ` of ${data.trace.traced_blocks} blocks` : "";
  /** @type {Row[]} */
  const rows = [];
  if (c.stages > 0) {
    rows.push({
      id: "global-loads",
      name: "Loaded from global memory",
      formula: "bytes · K · (M · ⌈N / BN⌉ + N · ⌈M / BM⌉)",
      numbers: `${element} · ${c.k} · (${c.m} · ${all.cols} + ${c.n} · ${all.rows})`,
      value: size(all.loaded),
      traced: asTraced ? `${size(totals.global_load_bytes ?? 0)}${part}` : undefined,
      recorded: same && data.payload.recorded?.global_load_bytes ? size(data.payload.recorded.global_load_bytes) : undefined,
    });
    rows.push({
      id: "tile-bytes",
      name: "Shared memory of the stages",
      formula: "stages · (BM + BN) · BK · bytes",
      numbers: `${c.stages} · (${c.bm} + ${c.bn}) · ${c.bk} · ${element}`,
      value: size(c.stages * (c.bm + c.bn) * c.bk * element),
      recorded: resources
        ? `${size(resources.static_shared_bytes + resources.dynamic_shared_bytes)} with padding and barriers`
        : undefined,
    });
    rows.push({
      id: "shared-reads",
      name: "Read from shared memory",
      formula: `bytes · (${tmName} + ${tnName}) / (2 · ${tmName} · ${tnName}) · 2 · M · N · K`,
      numbers: `${element} · (${c.tm} + ${c.tn}) / (2 · ${c.tm} · ${c.tn}) = ${rate(all.sharedPerFlop)} B/FLOP`,
      value: size(all.sharedPerFlop * all.flop),
      traced: asTraced ? tracedReads(data) + part : undefined,
    });
  } else {
    rows.push({
      id: "global-loads",
      name: "Loaded from global memory",
      formula: "no tile in shared memory",
      numbers: "every warp fetches for itself: its access view counts the sectors",
      value: "–",
      traced: asTraced ? `${size(totals.global_load_bytes ?? 0)}${part}` : undefined,
      recorded: same && data.payload.recorded?.global_load_bytes ? size(data.payload.recorded.global_load_bytes) : undefined,
    });
  }
  return rows;
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
    : `Predicted: ${blocks} block${blocks === 1 ? "" : "s"} an SM (${deciding.join(" and ")} decide${
      deciding.length === 1 ? "s" : ""
    }), occupancy ${rate((100 * blocks * warps * 32) / machine.threads)} %, ${rate(turns)} waves on ${machine.sms} SMs, ${
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
  threads: "⌊threads of an SM / threads a block⌋, in whole warps",
  registers: "⌊warps whose registers fit into its four parts / warps a block⌋",
  "shared memory": "⌊shared memory of an SM / a block’s, with what CUDA adds⌋",
};

/** @param {Data} data @param {Row[]} rows */
export function table(data, rows) {
  const { trace, payload: { recorded } } = data;
  const head = [
    "quantity",
    "predicted",
    `traced, ${trace.m}×${trace.n}×${trace.k}`,
    recorded ? `recorded, ${recorded.device}` : "recorded",
  ];
  return el("table", { class: "figures" }, [
    el("caption", {}, [
      recorded
        ? `Recorded: ${recorded.device}, ${recorded.date.slice(0, 10)}, commit ${recorded.commit.slice(0, 7)}${
          data.payload.mine ? ", the lesson’s kernel, not yours" : ""
        }.`
        : "Nothing is recorded of this lesson.",
    ]),
    el("thead", {}, [el("tr", {}, head.map((words) => el("th", { scope: "col" }, [words])))]),
    el(
      "tbody",
      {},
      rows.map((row) =>
        el("tr", { "data-row": row.id }, [
          el("th", { scope: "row" }, [
            row.name,
            el("span", { class: "formula" }, [row.formula]),
            el("span", { class: "formula" }, [`= ${row.numbers}`]),
          ]),
          el("td", { "data-kind": "predicted", "data-label": "predicted" }, [row.value]),
          el("td", { "data-kind": "traced", "data-label": "traced" }, [row.traced ?? "–"]),
          el("td", { "data-kind": "recorded", "data-label": "recorded" }, [row.recorded ?? "–"]),
        ])
      ),
    ),
  ]);
}
