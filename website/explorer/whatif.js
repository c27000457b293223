// "What if": other tiles, stages and blocks. What follows from them by arithmetic is labelled as predicted, with its formula;
// what was measured stands beside it as recorded, and is drawn below.

import { button, el, whenResized } from "explorer/dom";
import { charts as measured } from "explorer/measured";
import { slider } from "explorer/picture";
import { bytes, figures, five, owner, predicted, RECORDED } from "explorer/predicted";

/** @typedef {import("explorer/predicted").Chosen} Chosen */

/** @param {Data} data @returns {Chosen} */
export function lessons(data) {
  const { tile, constants } = data.descriptor;
  const { trace, payload: { recorded } } = data;
  const resources = recorded?.resources ?? null;
  const own = owner(data);
  const one = tile.BM * tile.BK * bytes(data).A + tile.BK * tile.BN * bytes(data).B;
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
 * Bytes of shared memory that the traced block names.
 * @param {Data} data
 */
function sharedOf(data) {
  const arrays = data.trace.history?.[0]?.arrays ?? [];
  return arrays.reduce((sum, array) => (array.space === "shared" && array.rank === null ? sum + array.bytes : sum), 0) ||
    data.descriptor.dynamic_shared_bytes;
}

/**
 * 1, 2, 4 … from one power of two to another.
 * @param {number} low @param {number} high
 */
const powers = (low, high) => Array.from({ length: Math.log2(high / low) + 1 }, (_, i) => low * 2 ** i);

const SIZES = {
  min: 1,
  max: 65536,
  list: [...powers(64, 16384)].flatMap((value) => (value < 16384 ? [value, value * 1.5] : [value])),
};
const SIDES = { min: 1, max: 512, list: powers(8, 512) };
const STEPS = { min: 1, max: 256, list: powers(1, 256) };
const THREADS = {
  min: 1,
  max: 4096, // that too many are refused shows, too
  list: [32, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 896, 1024],
};
const SHARED = { min: 0, max: 262144, list: Array.from({ length: 115 }, (_, i) => i * 2048) };

/** @param {Data} data @param {Chosen} chosen @param {() => void} changed */
function machines(data, chosen, changed) {
  const options = Object.entries(data.payload.machines).map(([name, { gpu, sms }]) =>
    el("option", { value: name, selected: name === chosen.machine }, `${name}: ${gpu}, ${sms} SMs`)
  );
  const machine = el("select", { "aria-label": "GPU" }, options);
  machine.addEventListener("change", () => {
    chosen.machine = machine.value;
    changed();
  });
  return machine;
}

/**
 * Sliders for everything in `chosen`, which they change.
 * @param {Data} data @param {Chosen} chosen @param {() => void} changed
 * @returns {{element: HTMLElement, show: () => void}}
 */
function controlsOf(data, chosen, changed) {
  const start = { ...chosen };
  const own = owner(data);
  /** @type {Partial<Record<keyof Chosen, ReturnType<typeof slider>>>} */
  const sliders = {};

  const threadsOf = () =>
    Math.max(
      32,
      Math.round((start.threads * (chosen.bm * chosen.bn * start.tm * start.tn)) / (start.bm * start.bn * chosen.tm * chosen.tn)),
    );
  const sharedOfTiles = () => chosen.stages * chosen.bk * (chosen.bm * bytes(data).A + chosen.bn * bytes(data).B);

  /**
   * @param {keyof Chosen} key @param {string} label @param {{min: number, max: number, list?: number[], step?: number}} range
   * @param {() => void} [follows] what else changes with it
   */
  const add = (key, label, range, follows = () => {}) => {
    const made = slider(label, { ...range, value: Number(chosen[key]) }, (value) => {
      Object.assign(chosen, { [key]: value });
      follows();
      changed();
    });
    sliders[key] = made;
    return made.element;
  };
  const tileFollows = () => {
    chosen.threads = threadsOf();
    if (chosen.stages || start.shared) chosen.shared = sharedOfTiles();
  };
  const machine = machines(data, chosen, changed);
  const back = () => {
    Object.assign(chosen, start);
    machine.value = chosen.machine;
    changed();
  };
  /** @param {number} m @param {number} n @param {number} k */
  const product = (m, n, k) => {
    Object.assign(chosen, { m, n, k });
    changed();
  };
  const { trace, payload: { recorded } } = data;
  const element = el("div", { class: "whatif-controls" }, [
    el("fieldset", {}, [
      el("legend", {}, ["Product"]),
      add("m", "M", SIZES),
      add("n", "N", SIZES),
      add("k", "K", SIZES),
      el("div", { class: "buttons" }, [
        button("As traced", () => product(trace.m, trace.n, trace.k)),
        recorded && button("As recorded", () => product(RECORDED, RECORDED, RECORDED)),
      ]),
    ]),
    el("fieldset", {}, [
      el("legend", {}, ["Tiles"]),
      add("bm", "BM", SIDES, tileFollows),
      add("bn", "BN", SIDES, tileFollows),
      add("bk", "BK", STEPS, tileFollows),
      add("tm", `${own.names[0]}, rows ${own.who}`, STEPS, tileFollows),
      add("tn", `${own.names[1]}, columns ${own.who}`, STEPS, tileFollows),
      add("stages", "Stages", { min: 0, max: 8 }, tileFollows),
    ]),
    el("fieldset", {}, [
      el("legend", {}, ["Block and GPU"]),
      add("threads", "Threads per block", THREADS),
      add("registers", "Registers per thread", { min: 16, max: 255 }),
      add("shared", "Shared memory, bytes", SHARED),
      el("label", { class: "field" }, ["GPU ", machine]),
      el("div", { class: "buttons" }, [button(data.payload.descriptor.number ? "The lesson’s values" : "The kernel’s values", back)]),
    ]),
  ]);
  const show = () => {
    for (const [key, made] of Object.entries(sliders)) made?.set(Number(chosen[/** @type {keyof Chosen} */ (key)]));
  };
  return { element, show };
}

/** @param {HTMLElement} element @param {Data} data @param {State} _state */
export function mount(element, data, _state) {
  const chosen = lessons(data);
  const controls = controlsOf(data, chosen, () => show());
  const first = el("div", {});
  const results = el("div", { class: "whatif-results" });
  const said = el("p", { role: "status", class: "readout" });
  const charts = el("div", { class: "whatif-charts" });
  const hint = "Move a slider: the tile decides how many threads and how much shared memory a block takes; you may also set both by hand. " +
    "Predicted figures follow from the formulas; recorded ones were measured.";
  element.replaceChildren(
    first, said, controls.element, el("p", { class: "note" }, hint),
    el("details", {}, el("summary", {}, "How these numbers follow, beside what was traced and what was recorded"), results), charts,
  );

  function show() {
    controls.show();
    const rows = predicted(data, chosen);
    first.replaceChildren(five(rows.rows));
    results.replaceChildren(figures(data, rows.rows));
    said.textContent = rows.words;
    if (rows.tile !== marked) {
      marked = rows.tile;
      if (charts.clientWidth) again();
    }
  }
  /** @type {number | null} */
  let marked = null;
  const again = () => charts.replaceChildren(...measured(data, Math.floor(charts.clientWidth), marked));
  whenResized(charts, again);
  show();
}
