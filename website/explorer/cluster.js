// The blocks of a cluster side by side: what the copy engine has brought to each one's shared memory, and which block asked for it.

import { counted, el } from "explorer/dom";
import { kept } from "explorer/payload";

/**
 * @typedef {object} Box a load of the copy engine
 * @property {string} words B[0–63][64–127]
 * @property {string} matrix
 * @property {number} barrier index into mbarriers: which stage it belongs to
 * @property {number} offset where it comes to, in bytes of the shared array
 * @property {number} turn how many came to its place before
 * @property {number} rank of the block that asked for it
 * @property {number} asked step
 * @property {number} landed step; Infinity: never
 * @property {number} gone step in which the next comes to its place; Infinity: never
 */

/** @param {number} from @param {number} count */
const span = (from, count) => (count === 1 ? String(from) : `${from}–${from + count - 1}`);

/** What the copy engine brings to a block, in the order in which it was asked for. */
export const boxes = kept((/** @type {Block} */ block) => {
  const { arrays, copies, events } = block.raw;
  /** @type {Map<number, Box>} */
  const found = new Map();
  /** @type {Map<string, Box>} the last of each place */
  const last = new Map();
  for (const [index, event] of events.entries()) {
    if (Array.isArray(event)) continue;
    if (event.e === "landed") {
      const box = found.get(event.copy ?? -1);
      if (box) box.landed = block.stepOf(index);
    }
    const copy = event.e === "box" ? copies[event.copy ?? -1] : undefined;
    if (!copy || copy.barrier === null || copy.array === null) continue;
    const matrix = arrays[copy.array].name;
    const place = `${matrix} ${copy.offset}`;
    const before = last.get(place);
    const step = block.stepOf(index);
    if (before) before.gone = step;
    const box = {
      words: `${matrix}[${span(copy.row, copy.rows)}][${span(copy.col, copy.cols)}]`, matrix, barrier: copy.barrier, offset: copy.offset,
      turn: before ? before.turn + 1 : 0, rank: copy.rank, asked: step, landed: Infinity, gone: Infinity,
    };
    found.set(event.copy ?? -1, box);
    last.set(place, box);
  }
  return [...found.values()];
});

/** @typedef {"in flight" | "arrives" | "there"} Standing */

/** @param {Box} box @param {number} step @returns {Standing | null} how it stands in the step; null: not asked for yet, or overwritten */
export function standing(box, step) {
  if (box.asked > step || (box.gone <= step && box.landed !== step)) return null;
  if (box.landed > step) return "in flight";
  return box.landed === step ? "arrives" : "there";
}

/**
 * The blocks of a cluster, by rank, of which one asks for what comes to another.
 * @param {Data} data @param {number} chosen index into blocks
 * @returns {number[]} indices into blocks; empty where nothing of it was kept
 */
export function members(data, chosen) {
  const own = data.blocks[chosen];
  const found = data.blocks.flatMap((block, index) => (own && block.raw.cluster === own.raw.cluster ? [index] : []));
  found.sort((a, b) => data.blocks[a].raw.rank - data.blocks[b].raw.rank);
  const shared = found.some((index) => boxes(data.blocks[index]).some(({ rank }) => rank !== data.blocks[index].raw.rank));
  return shared && found.length > 1 ? found : [];
}

/** @param {string} words B[0–63][64–127], which may be broken between its brackets */
const broken = (words) => words.split(/(?<=\])/).flatMap((part) => [el("span", {}, part), el("wbr")]);

/**
 * A block's stages: a row a stage, a cell a place in it.
 * @param {Block} block @param {number} step @param {(rank: number) => string} named
 */
function stages(block, step, named) {
  const all = boxes(block);
  const rows = [...new Set(all.map(({ barrier }) => barrier))].sort((a, b) => a - b).map((barrier) => {
    const places = [...new Set(all.filter((box) => box.barrier === barrier).map(({ offset }) => offset))].sort((a, b) => a - b);
    const cells = places.map((offset) => {
      const here = all.filter((box) => box.offset === offset);
      const box = here.find((one) => standing(one, step) === "arrives") ?? here.filter((one) => standing(one, step)).at(-1);
      const now = box && standing(box, step);
      if (!box || !now) return el("td", { class: "place", "data-standing": "empty" }, here[0].matrix, el("small", {}, "empty"));
      const foreign = box.rank !== block.raw.rank;
      return el("td", { class: `place${foreign ? " foreign" : ""}`, "data-standing": now, title: box.words },
        broken(box.words), el("small", {}, now, foreign && [el("br"), el("span", {}, `from ${named(box.rank).replace("block ", "")}`)]));
    });
    return el("tr", {}, el("th", { scope: "row" }, block.raw.mbarriers[barrier]?.name ?? `mbarrier ${barrier}`), cells);
  });
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Stages of ${named(block.raw.rank)}` },
    el("table", { class: "stages" }, el("tbody", {}, rows)));
}

/**
 * What arrives in the step in several blocks, by one request.
 * @param {Block[]} blocks @param {number} step @param {(rank: number) => string} named
 */
function multicast(blocks, step, named) {
  /** @type {Map<string, {box: Box, where: string[]}>} */
  const found = new Map();
  for (const block of blocks) {
    for (const box of boxes(block)) {
      const key = `${box.words} ${box.rank} ${box.turn}`;
      const one = found.get(key) ?? { box, where: [] };
      one.where.push(named(block.raw.rank));
      found.set(key, one);
    }
  }
  const own = blocks.flatMap((block) => boxes(block).filter((box) => standing(box, step) === "arrives").map((box) => `${box.words} ${box.rank} ${box.turn}`));
  const several = [...new Set(own)].map((key) => found.get(key)).filter((one) => one && one.where.length > 1);
  if (!several.length) return "Nothing that arrives in this step goes to more than one block.";
  /** @type {Map<string, {words: string[], asked: Set<string>}>} by the blocks in which they arrive */
  const together = new Map();
  for (const one of several) {
    if (!one) continue;
    const all = blocks.length === 2 ? "both blocks" : `all ${blocks.length} blocks`;
    const where = one.where.length === blocks.length ? all : one.where.join(" and ");
    const group = together.get(where) ?? { words: [], asked: new Set() };
    group.words.push(one.box.words);
    group.asked.add(named(one.box.rank));
    together.set(where, group);
  }
  const said = [...together].map(([where, { words, asked }]) =>
    `${words.join(", ")}: ${counted(words.length, "request")} by ${[...asked].join(" and ")}, ${words.length > 1 ? "each of which arrives" : "which arrives"} in ${where}.`);
  return `${said.join(" ")} Memory is read once for them.`;
}

/** @param {HTMLElement} element @param {Data} data @param {State} state */
export function mount(element, data, state) {
  if (!data.blocks.some((_, index) => members(data, index).length)) {
    document.querySelector("nav a[href='#cluster']")?.remove();
    element.closest("section")?.remove();
    return;
  }
  const panels = el("div", { class: "cluster" });
  const said = el("p", { class: "readout", "aria-live": "polite" });
  element.append(
    el("p", { class: "note" }, "The bar above moves all blocks of the cluster. Each has its steps by its own mbarriers, so that the same step need ",
      "not be the same moment."),
    panels, said,
    el("ul", { class: "legend" }, ["arrives", "there", "in flight", "empty"].map((name) =>
      el("li", {}, el("span", { class: "swatch place", "data-standing": name }), name === "arrives" ? "arrives in this step" : name)),
      el("li", {}, el("span", { class: "swatch place foreign", "data-standing": "there" }), "asked for by another block")),
  );
  state.subscribe((now) => {
    const found = members(data, now.block);
    const blocks = found.map((index) => data.blocks[index]);
    const named = (/** @type {number} */ rank) => `block ${blocks.find((block) => block.raw.rank === rank)?.name ?? `of rank ${rank}`}`;
    panels.replaceChildren(...blocks.map((block, place) => {
      const step = Math.min(now.step, block.steps.count - 1);
      return el("figure", { class: "side", "data-rank": block.raw.rank, "data-chosen": found[place] === now.block },
        el("figcaption", {}, el("strong", {}, named(block.raw.rank)), ` step ${step} of ${block.steps.count - 1}`), stages(block, step, named));
    }));
    said.textContent = blocks.length ? multicast(blocks, now.step, named) : "This block’s cluster was not kept.";
  });
}
