// "What if": other tiles, stages and blocks. What follows from them by arithmetic is labelled as predicted, with its formula;
// what was measured stands beside it as recorded, and is drawn below.

import { decades, draw, rounds } from "explorer/chart";
import { grouped } from "explorer/dom";
import { limits, moved, rate, size, waves } from "explorer/occupancy";
import { fitted, html, slider } from "explorer/picture";

/** @typedef {import("explorer/payload").Data} Data */
/** @typedef {import("explorer/payload").Recorded} Recorded */
/** @typedef {import("explorer/payload").Timed} Timed */
/** @typedef {import("explorer/state").State} State */

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

const RECORDED = 4096; // M = N = K of what is recorded

/** Whose tile TM×TN is: a thread's, or of those lessons whose threads share a product, a warp's or a warpgroup's. */
const OWNERS = /** @type {const} */ ([["a thread", "TM", "TN"], ["a warp", "WM", "WN"], ["a warpgroup", "WGMMA_M", "WGMMA_N"]]);

/** @param {Data} data */
function owner(data) {
  const constants = data.descriptor.constants;
  const [who, tm, tn] = OWNERS.find(([, name]) => name in constants) ?? ["a thread", "", ""];
  return { who, tm: constants[tm] ?? 1, tn: constants[tn] ?? 1, names: tm ? [tm, tn] : ["TM", "TN"] };
}

/** @param {Data} data @returns {Chosen} */
function lessons(data) {
  const { tile, constants } = data.descriptor;
  const { trace, payload: { recorded } } = data;
  const resources = recorded?.resources ?? null;
  const own = owner(data);
  const one = (tile.BM * tile.BK + tile.BK * tile.BN) * bytes(data);
  const traced = sharedOf(data);
  const shared = resources ? resources.static_shared_bytes + resources.dynamic_shared_bytes : traced;
  const { m, n, k } = recorded ? { m: RECORDED, n: RECORDED, k: RECORDED } : trace;
  return {
    m, n, k, bm: tile.BM, bn: tile.BN, bk: tile.BK, tm: own.tm, tn: own.tn,
    stages: shared === 0 ? 0 : constants.STAGES ?? Math.max(1, Math.round(shared / one)),
    threads: resources && !data.payload.mine ? resources.threads_per_block : trace.threads_per_block,
    registers: resources?.registers ?? 64,
    shared,
    machine: "sm_90" in data.payload.machines ? "sm_90" : Object.keys(data.payload.machines)[0],
  };
}

/**
 * Bytes of an element of A and B.
 * @param {Data} data
 */
function bytes(data) {
  const { variant } = data.trace;
  return /^(fp32|tf32)/.test(variant) ? 4 : /^(e4m3|e5m2|int8)/.test(variant) ? 1 : 2;
}

/**
 * Bytes of shared memory that the traced block names.
 * @param {Data} data
 */
function sharedOf(data) {
  const arrays = data.trace.history?.[0]?.arrays ?? [];
  return arrays.reduce((sum, array) => (array.space === "shared" && array.rank === null ? sum + array.bytes : sum), 0) || data.descriptor.dynamic_shared_bytes;
}

/** @param {HTMLElement} element @param {Data} data @param {State} _state */
export function mount(element, data, _state) {
  const start = lessons(data);
  const own = owner(data);
  /** @type {Chosen} */
  const chosen = { ...start };
  const results = html("div", { class: "whatif-results" });
  const said = html("p", { role: "status", class: "readout" });
  /** @type {Partial<Record<keyof Chosen, ReturnType<typeof slider>>>} */
  const sliders = {};

  const threadsOf = () => Math.max(32, Math.round((start.threads * (chosen.bm * chosen.bn * start.tm * start.tn)) / (start.bm * start.bn * chosen.tm * chosen.tn)));
  const sharedOfTiles = () => chosen.stages * (chosen.bm * chosen.bk + chosen.bk * chosen.bn) * bytes(data);

  /**
   * @param {keyof Chosen} key @param {string} label @param {{min: number, max: number, list?: number[], step?: number}} range
   * @param {() => void} [follows] what else changes with it
   */
  const add = (key, label, range, follows = () => {}) => {
    const made = slider(label, { ...range, value: Number(chosen[key]) }, (value) => {
      Object.assign(chosen, { [key]: value });
      follows();
      show();
    });
    sliders[key] = made;
    return made.element;
  };
  const tileFollows = () => {
    chosen.threads = threadsOf();
    if (chosen.stages || start.shared) chosen.shared = sharedOfTiles();
  };
  const powers = (/** @type {number} */ low, /** @type {number} */ high) => Array.from({ length: Math.log2(high / low) + 1 }, (_, i) => low * 2 ** i);
  const sizes = { min: 1, max: 65536, list: [...powers(64, 16384)].flatMap((value) => (value < 16384 ? [value, value * 1.5] : [value])) };
  const sides = { min: 1, max: 512, list: powers(8, 512) };
  const machine = html("select", { "aria-label": "GPU" }, Object.entries(data.payload.machines).map(([name, entry]) => html("option", { value: name, selected: name === chosen.machine }, [`${name}: ${entry.gpu}, ${entry.sms} SMs`])));
  machine.addEventListener("change", () => {
    chosen.machine = machine.value;
    show();
  });
  /** @param {string} words @param {() => void} act */
  const button = (words, act) => {
    const made = html("button", { type: "button" }, [words]);
    made.addEventListener("click", act);
    return made;
  };
  const back = () => {
    Object.assign(chosen, start);
    machine.value = chosen.machine;
    show();
  };
  const asTraced = () => {
    Object.assign(chosen, { m: data.trace.m, n: data.trace.n, k: data.trace.k });
    show();
  };
  const asRecorded = () => {
    Object.assign(chosen, { m: RECORDED, n: RECORDED, k: RECORDED });
    show();
  };
  const controls = html("div", { class: "whatif-controls" }, [
    html("fieldset", {}, [html("legend", {}, ["Product"]), add("m", "M", sizes), add("n", "N", sizes), add("k", "K", sizes),
      html("div", { class: "buttons" }, [button("As traced", asTraced), data.payload.recorded && button("As recorded", asRecorded)])]),
    html("fieldset", {}, [html("legend", {}, ["Tiles"]), add("bm", "BM", sides, tileFollows), add("bn", "BN", sides, tileFollows),
      add("bk", "BK", { min: 1, max: 256, list: powers(1, 256) }, tileFollows),
      add("tm", `${own.names[0]}, rows ${own.who}`, { min: 1, max: 256, list: powers(1, 256) }, tileFollows),
      add("tn", `${own.names[1]}, columns ${own.who}`, { min: 1, max: 256, list: powers(1, 256) }, tileFollows),
      add("stages", "Stages", { min: 0, max: 8 }, tileFollows)]),
    html("fieldset", {}, [html("legend", {}, ["Block and GPU"]), add("threads", "Threads a block", { min: 1, max: 4096, list: [32, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 896, 1024] }),
      add("registers", "Registers a thread", { min: 16, max: 255 }), add("shared", "Shared memory, bytes", { min: 0, max: 262144, step: 1, list: Array.from({ length: 115 }, (_, i) => i * 2048) }),
      html("label", { class: "field" }, ["GPU ", machine]), html("div", { class: "buttons" }, [button("The lesson’s values", back)])]),
  ]);

  const charts = html("div", { class: "whatif-charts" });
  element.replaceChildren(
    html("p", { class: "hint" }, ["Move a slider: the tile decides how many threads and how much shared memory a block takes; you may set both apart from it. ",
      "Predicted figures follow from the formulas; recorded ones were measured."]),
    controls, said, results, charts);

  function show() {
    for (const [key, made] of Object.entries(sliders)) made?.set(Number(chosen[/** @type {keyof Chosen} */ (key)]));
    const rows = predicted(data, chosen);
    results.replaceChildren(table(data, rows.rows));
    said.textContent = rows.words;
    if (rows.tile !== marked) {
      marked = rows.tile;
      again();
    }
  }
  /** @type {number | null} */
  let marked = null;
  const again = fitted(charts, (width) => charts.replaceChildren(...chartsOf(data, width, marked)));
  show();
}

/** @typedef {{name: string, formula: string, numbers: string, value: string, recorded?: string, traced?: string, id: string}} Row */

/** @param {Data} data @param {Chosen} c */
function predicted(data, c) {
  const machine = data.payload.machines[c.machine];
  const element = bytes(data);
  const resources = data.payload.recorded?.resources ?? null;
  const own = owner(data);
  const [tmName, tnName] = own.names;
  const room = limits(machine, c);
  const blocks = room.refused ? 0 : Math.min(...room.limits.map((limit) => limit.blocks));
  const deciding = room.limits.filter((limit) => limit.blocks === blocks).map((limit) => limit.name);
  const warps = Math.ceil(c.threads / 32);
  const all = moved({ m: c.m, n: c.n, k: c.k, bm: c.bm, bn: c.bn, bk: c.bk, tm: c.tm, tn: c.tn, bytes: element, bytesC: element });
  const slots = blocks * machine.sms;
  const turns = waves(all.blocks, slots);
  const same = c.m === RECORDED && c.n === RECORDED && c.k === RECORDED;
  const asTraced = c.m === data.trace.m && c.n === data.trace.n && c.k === data.trace.k;
  const { totals } = data.trace;
  const part = data.trace.traced_blocks < data.trace.blocks ? ` of ${data.trace.traced_blocks} blocks` : "";
  /** @type {Row[]} */
  const rows = [];
  for (const limit of room.limits)
    rows.push({ id: `limit-${limit.name.replace(" ", "-")}`, name: `Blocks an SM, by ${limit.name}`, formula: FORMULAS[limit.name], numbers: limit.formula, value: grouped(limit.blocks) });
  rows.push({ id: "blocks-an-sm", name: "Blocks an SM", formula: "the smallest of these", numbers: room.refused ?? deciding.join(" and "), value: grouped(blocks), recorded: resources?.blocks_per_sm != null ? `${resources.blocks_per_sm}` : undefined });
  rows.push({ id: "occupancy", name: "Occupancy", formula: "blocks an SM · warps a block / warps of an SM", numbers: `${blocks} · ${warps} / ${machine.threads / 32}`, value: `${rate((100 * blocks * warps * 32) / machine.threads)} %` });
  rows.push({ id: "grid", name: "Blocks in the grid", formula: "⌈M / BM⌉ · ⌈N / BN⌉", numbers: `${all.rows} · ${all.cols}`, value: grouped(all.blocks), traced: asTraced ? grouped(data.trace.blocks) : undefined });
  rows.push({ id: "waves", name: "Waves", formula: "blocks / (SMs · blocks an SM)", numbers: `${grouped(all.blocks)} / (${machine.sms} · ${blocks})`, value: slots ? rate(turns) : "none: no block fits" });
  rows.push({ id: "tile-intensity", name: "FLOP per byte of a tile", formula: "2 · BM · BN · BK / ((BM + BN) · BK · bytes)", numbers: `2 · ${c.bm} · ${c.bn} / ((${c.bm} + ${c.bn}) · ${element})`, value: `${rate(all.tilePerByte)} FLOP/B`, traced: asTraced && totals.flop_per_byte ? `${rate(totals.flop_per_byte)} FLOP/B, with C` : undefined });
  if (c.stages > 0) {
    rows.push({ id: "global-loads", name: "Loaded from global memory", formula: "bytes · K · (M · ⌈N / BN⌉ + N · ⌈M / BM⌉)", numbers: `${element} · ${c.k} · (${c.m} · ${all.cols} + ${c.n} · ${all.rows})`, value: size(all.loaded), traced: asTraced ? `${size(totals.global_load_bytes ?? 0)}${part}` : undefined,
      recorded: same && data.payload.recorded?.global_load_bytes ? size(data.payload.recorded.global_load_bytes) : undefined });
    rows.push({ id: "tile-bytes", name: "Shared memory of the stages", formula: "stages · (BM + BN) · BK · bytes", numbers: `${c.stages} · (${c.bm} + ${c.bn}) · ${c.bk} · ${element}`, value: size(c.stages * (c.bm + c.bn) * c.bk * element), recorded: resources ? `${size(resources.static_shared_bytes + resources.dynamic_shared_bytes)} with padding and barriers` : undefined });
    rows.push({ id: "shared-reads", name: "Read from shared memory", formula: `bytes · (${tmName} + ${tnName}) / (2 · ${tmName} · ${tnName}) · 2 · M · N · K`, numbers: `${element} · (${c.tm} + ${c.tn}) / (2 · ${c.tm} · ${c.tn}) = ${rate(all.sharedPerFlop)} B/FLOP`, value: size(all.sharedPerFlop * all.flop), traced: asTraced ? tracedReads(data) + part : undefined });
  } else {
    rows.push({ id: "global-loads", name: "Loaded from global memory", formula: "no tile in shared memory", numbers: "every warp fetches for itself: its access view counts the sectors", value: "–", traced: asTraced ? `${size(totals.global_load_bytes ?? 0)}${part}` : undefined, recorded: same && data.payload.recorded?.global_load_bytes ? size(data.payload.recorded.global_load_bytes) : undefined });
  }
  const last = slots ? all.blocks % slots : 0;
  const tail = !slots ? "" : last === 0 ? " Every wave is full." : ` The last wave fills ${grouped(last)} of ${grouped(slots)} places.`;
  const words = room.refused ? `Predicted: cannot be launched. ${room.refused}`
    : `Predicted: ${blocks} block${blocks === 1 ? "" : "s"} an SM (${deciding.join(" and ")} decide${deciding.length === 1 ? "s" : ""}), occupancy ${rate((100 * blocks * warps * 32) / machine.threads)} %, ${rate(turns)} waves on ${machine.sms} SMs, ${rate(all.tilePerByte)} FLOP per byte of the tile.${tail}`;
  return { rows, words, tile: c.stages > 0 ? all.tilePerByte : null };
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
function table(data, rows) {
  const { trace, payload: { recorded } } = data;
  const head = ["quantity", "predicted", `traced, ${trace.m}×${trace.n}×${trace.k}`, recorded ? `recorded, ${recorded.device}` : "recorded"];
  return html("table", { class: "figures" }, [
    html("caption", {}, [recorded ? `Recorded: ${recorded.device}, ${recorded.date.slice(0, 10)}, commit ${recorded.commit.slice(0, 7)}${data.payload.mine ? ", the lesson’s kernel, not yours" : ""}.` : "Nothing is recorded of this lesson."]),
    html("thead", {}, [html("tr", {}, head.map((words) => html("th", { scope: "col" }, [words])))]),
    html("tbody", {}, rows.map((row) => html("tr", { "data-row": row.id }, [
      html("th", { scope: "row" }, [row.name, html("span", { class: "formula" }, [row.formula]), html("span", { class: "formula" }, [`= ${row.numbers}`])]),
      html("td", { "data-kind": "predicted", "data-label": "predicted" }, [row.value]), html("td", { "data-kind": "traced", "data-label": "traced" }, [row.traced ?? "–"]), html("td", { "data-kind": "recorded", "data-label": "recorded" }, [row.recorded ?? "–"])]))),
  ]);
}

// Charts

/** @param {string} lesson */
const short = (lesson) => lesson.split("_")[0];

/** @param {Data} data @param {number} width @param {number | null} tile FLOP per byte that the sliders give */
function chartsOf(data, width, tile) {
  const { recorded } = data.payload;
  if (!recorded) return [html("p", {}, ["Nothing is recorded of this lesson, so that there is no chart."])];
  const found = [sweep(data, width)];
  const roof = roofline(data, width, tile);
  if (roof) found.push(roof);
  return found;
}

/** @param {Data} data @param {number} width */
function sweep(data, width) {
  const recorded = /** @type {Recorded} */ (data.payload.recorded);
  const said = html("p", { role: "status", class: "readout" }, ["Choose a point: its shape, its figure and its baseline stand here."]);
  const square = recorded.runs.filter((run) => run.m === run.n && run.n === run.k).sort((a, b) => a.m - b.m);
  const mine = square.filter((run) => run.lesson === data.payload.lesson), before = square.filter((run) => run.lesson !== data.payload.lesson);
  const top = 1.08 * Math.max(...square.flatMap((run) => [run.tflops, mine.includes(run) ? run.baseline_tflops : 0]));
  /** @param {Timed} run */
  const tell = (run) => {
    said.textContent = `Recorded, ${run.lesson} at ${run.m}×${run.n}×${run.k}: ${rate(run.tflops)} TFLOP/s in ${rate(run.ms)} ms. Baseline: ${run.baseline}, ${rate(run.baseline_tflops)} TFLOP/s; ${rate(run.ratio)} of its speed (median of interleaved rounds).`;
  };
  /** @param {Timed} run @param {number} figure @param {string} who */
  const point = (run, figure, who) => ({ x: run.m, y: figure, name: `${who}, ${run.m} cubed: ${rate(figure)} TFLOP/s`, aside: run.m % 2 === 1, chosen: () => tell(run) });
  const chart = draw({
    name: "TFLOP/s over matrix sizes, recorded",
    x: { label: "M = N = K", low: 220, high: 9400, log: true, ticks: [256, 512, 1024, 2048, 4096, 8192] },
    y: { label: "TFLOP/s", low: 0, high: top, log: false, ticks: rounds(top) },
    series: [
      { name: "cuBLAS", look: "baseline", line: true, points: mine.map((run) => ({ x: run.m, y: run.baseline_tflops, name: "", aside: run.m % 2 === 1 })) },
      ...(before.length ? [{ name: before[0].lesson, look: /** @type {const} */ ("before"), line: true, points: before.map((run) => point(run, run.tflops, run.lesson)) }] : []),
      { name: data.payload.lesson, look: "strong", line: true, points: mine.map((run) => point(run, run.tflops, run.lesson)) },
    ],
  }, width, Math.min(380, Math.max(280, width * 0.5)));
  const others = recorded.runs.filter((run) => run.lesson === data.payload.lesson && !square.includes(run));
  const notSquare = others.length ? html("p", { class: "hint" }, [`Not square: ${others.map((run) => `${run.m}×${run.n}×${run.k}, ${rate(run.tflops)} TFLOP/s, ${rate(run.ratio)} of cuBLAS`).join("; ")}.`]) : null;
  const where = html("p", { class: "hint" }, [`${recorded.device}, ${recorded.date.slice(0, 10)}, commit ${recorded.commit.slice(0, 7)}, ${mine[0]?.variant.toUpperCase() ?? ""}. The lines join even sizes; 1023, 2047, 4095 and 4097 stand aside. Arrow keys go from point to point.`]);
  return html("section", { "aria-label": "Sweep over sizes, recorded" }, [html("h3", {}, ["Recorded: over sizes"]), chart, said, ...(notSquare ? [notSquare] : []), where]);
}

let levelChosen = 0;

/** @param {Data} data @param {number} width @param {number | null} tile */
function roofline(data, width, tile) {
  const roof = data.payload.recorded?.roofline;
  if (!roof) return null;
  const said = html("p", { role: "status", class: "readout" }, ["Choose a point: a lesson, its rate, and the share of the roof that it reaches."]);
  const picture = html("div");
  const group = html("fieldset", { class: "choices" }, [html("legend", {}, ["Bytes of"]), ...roof.levels.map((level, index) => {
    const input = html("input", { type: "radio", name: "roofline-level", value: String(index), checked: index === levelChosen });
    input.addEventListener("change", () => {
      levelChosen = index;
      show();
    });
    return html("label", {}, [input, ` ${level.name}`]);
  })]);
  function show() {
    const { name, ceiling, tbytes } = roof_.levels[levelChosen];
    const here = roof_.points.filter((point) => name in point.intensity);
    const peaks = Object.entries(roof_.peaks);
    const peak = peaks.length ? peaks[0][1] : null;
    const xs = here.map((point) => point.intensity[name]), ys = here.map((point) => point.tflops);
    const low = Math.min(...xs, peak ? peak / tbytes / 3 : Infinity, tile && levelChosen === 1 ? tile : Infinity) / 2;
    const high = Math.max(...xs, peak ? (peak / tbytes) * 3 : 0) * 2;
    const bottom = Math.min(...ys) / 2, top = (peak ?? Math.max(...ys) * 2) * 2;
    const end = peak ? peak / tbytes : Math.min(high, top / tbytes), begin = Math.max(low, bottom / tbytes);
    /** @param {number} x */
    const under = (x) => Math.min(tbytes * x, peak ?? Infinity);
    picture.replaceChildren(draw({
      name: `Roofline over bytes of ${name}, recorded`,
      x: { label: `FLOP per byte of ${name}`, low, high, log: true, ticks: decades(low, high) },
      y: { label: "TFLOP/s", low: bottom, high: top, log: true, ticks: decades(bottom, top) },
      series: [
        { name: `${ceiling}, ${rate(tbytes)} TB/s${peaks.length ? `, then ${peaks[0][0]}, ${rate(peaks[0][1])} TFLOP/s` : ""}`, look: "roof", line: true, dots: false,
          points: [[begin, begin * tbytes], [end, end * tbytes], ...(peak ? [[high, peak]] : [])].map(([x, y]) => ({ x, y, name: "" })) },
        ...peaks.slice(1).map(([words, value]) => ({ name: `${words}, ${rate(value)} TFLOP/s`, look: /** @type {const} */ ("before"), line: true, dots: false, points: [{ x: value / tbytes, y: value, name: "" }, { x: high, y: value, name: "" }] })),
        ...(tile && levelChosen === 1 ? [{ name: "predicted: the tile’s FLOP per byte, as the sliders stand", look: /** @type {const} */ ("mark"), line: true, dots: false, points: [{ x: tile, y: bottom, name: "" }, { x: tile, y: top, name: "" }] }] : []),
        { name: "a lesson, recorded", look: "strong", points: here.map((point) => ({
          x: point.intensity[name], y: point.tflops, label: short(point.lesson), name: `${point.lesson}: ${rate(point.tflops)} TFLOP/s at ${rate(point.intensity[name])} FLOP per byte`,
          chosen: () => {
            const most = under(point.intensity[name]);
            said.textContent = `Recorded, ${point.lesson} at ${roof_.size}×${roof_.size}×${roof_.size}: ${rate(point.tflops)} TFLOP/s, ${rate(point.intensity[name])} FLOP per byte of ${name}. The roof there is ${rate(most)} TFLOP/s: it reaches ${rate((100 * point.tflops) / most)} % of it.`;
          } })) },
      ],
    }, width, Math.min(400, Math.max(300, width * 0.55))));
  }
  const roof_ = roof;
  show();
  const note = Object.keys(roof.peaks).length ? "" : " What the tensor cores reach at most was not measured: the roof is memory’s alone.";
  return html("section", { "aria-label": "Roofline, recorded" }, [html("h3", {}, ["Recorded: roofline"]), group, picture, said, html("p", { class: "hint" }, [`${roof.sources.join("; ")}.${note}`])]);
}
