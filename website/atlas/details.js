// What was measured at a shape, and what follows from the record by arithmetic.

import { button, counted, el, grouped, spoken, table } from "explorer/dom";
import { rate, size, waves } from "explorer/occupancy";
import { nameOf } from "atlas/plane";

/** @param {number} ms */
const time = (ms) => (ms < 1 ? `${rate(1000 * ms)} µs` : `${rate(ms)} ms`);

/** @type {Record<string, string>} */
const GROUPS = {
  aligned: "Aligned: every row of A, B and C begins at a multiple of 16 bytes.",
  odd: "Odd: rows of A, B or C do not all begin at a multiple of 16 bytes.",
  tiny: "Tiny: cuBLAS takes less than 20 µs, and launching is a visible part of that.",
};
/** @type {Record<string, string>} */
const COMPARED = { "^": "faster", o: "about as fast", v: "slower" };
/** @type {Record<string, string>} */
const SETS = { llm: "A layer of a language model.", random: "Drawn at random." };

/**
 * Times beside each other, on one scale.
 * @param {gemm.Atlas} atlas @param {gemm.Point} point
 */
function times(atlas, point) {
  const bars = /** @type {[string, string, number | null][]} */ ([
    [atlas.lesson, "ours", point.ms],
    ["cuBLAS", "cublas", point.baseline_ms],
    [`${size(point.bytes)} of DRAM`, "bound", point.bytes_ms],
    ["products", "bound", point.flop_ms],
  ]);
  const longest = Math.max(...bars.map(([, , ms]) => ms ?? 0));
  return el("div", { class: "times" }, bars.map(([words, look, ms]) => ms !== null && el("div", {},
    el("span", {}, words), el("span", {}, time(ms)),
    el("div", { class: "bar", "aria-hidden": "true" }, el("div", { class: look, style: `width: ${(100 * ms) / longest}%` })))));
}

/** @param {gemm.Atlas} atlas @param {gemm.Point} point what the bars that nobody measured are */
function bounds({ bandwidth, peak }, point) {
  const words = [];
  if (point.bytes_ms !== null && bandwidth !== null) {
    words.push(`DRAM: A, B and C once, at the ${rate(bandwidth)} TB/s of a copy. Reading alone is slightly faster.`);
  } else if (bandwidth !== null) words.push("L2 may have held A, B and C before the launch, so DRAM sets no bound here.");
  if (point.flop_ms !== null && peak !== null) words.push(`Products: 2·M·N·K at the ${rate(peak)} TFLOP/s of multiply-adds alone.`);
  else words.push("The highest rate of this type’s multiply-adds was not measured.");
  return words.join(" ");
}

/**
 * How full the last wave is.
 * @param {number} work blocks' turns, one for each slice of a C tile @param {number} blocks of the launch @param {number} places for blocks
 * @returns {{turns: number, bar: Node[]}}
 */
function wave(work, blocks, places) {
  const together = Math.min(blocks, places), turns = Math.ceil(waves(work, together));
  const last = work - (turns - 1) * together, share = Math.round((100 * last) / places);
  return { turns, bar: [
    el("div", { class: "bar", role: "img", "aria-label": `The last wave fills ${share} % of its places` },
      el("div", { class: "ours", style: `width: ${(100 * last) / places}%` })),
    el("p", { class: "note" }, `${turns === 1 ? "It" : "The last wave"} fills ${grouped(last)} of ${grouped(places)} places, ${share || "less than 1"} %.`),
  ] };
}

/**
 * The C tiles that the record holds, or else those of the size that it names for the lesson, and how they fill the GPU.
 * @param {gemm.Atlas} atlas @param {gemm.Point} point @param {string | undefined} evidence its address
 */
function filled({ lesson, tile, blocks, multiprocessors }, point, evidence) {
  const { tiling } = point;
  const [BM, BN] = tiling ? [tiling.BM, tiling.BN] : tile, perSm = tiling ? tiling.blocks_per_sm : blocks;
  const down = Math.ceil(point.m / BM), across = Math.ceil(point.n / BN), tiles = down * across;
  const count = `${grouped(down)}·${grouped(across)} = ${counted(tiles, "C tile")}`;
  const chosen = ["The record does not say in which C tiles, and in how many slices of K, the kernel computed this C",
    evidence ? el("span", {}, ", but ", el("a", { href: evidence }, "the evidence"), " lists what it chooses at some shapes.") : "."];
  if (perSm === null) return [el("p", {}, chosen)];
  const places = perSm * multiprocessors, room = `${multiprocessors} SMs with ${counted(perSm, "block")} each have room for ${grouped(places)} at once`;
  if (!tiling) {
    const { turns, bar } = wave(tiles, tiles, places);
    return [
      el("p", {}, chosen),
      el("p", {}, `With the C tile that the record names for ${lesson}, ${BM}×${BN}, and K in one slice, there would be ${count}. ` +
        `${room}: ${counted(turns, "wave")}.`),
      ...bar,
    ];
  }
  const work = tiles * tiling.slices, { turns, bar } = wave(work, tiling.blocks, places);
  const launched = tiling.blocks < work ? `, which ${counted(tiling.blocks, "persistent block")} computed one after another`
    : tiling.slices > 1 ? `, each in ${tiling.slices} slices of K: ${counted(work, "block")}` : ", a block each, K in one slice";
  return [
    el("p", {}, `${lesson} chose C tiles of ${BM}×${BN} and k-tiles of ${tiling.BK}. There are ${count}${launched}. ${room}: ${counted(turns, "wave")}.`),
    ...bar,
  ];
}

/**
 * @param {gemm.AtlasPage} page @param {gemm.Atlas} atlas @param {gemm.Point} point @param {string} address that shows it
 * @param {(point: gemm.Point) => void} choose
 * @returns {Node[]}
 */
export function details(page, atlas, point, address, choose) {
  const url = page.urls[atlas.lesson];
  const others = atlas.points.filter((one) => one !== point && one.m === point.m && one.n === point.n);
  return [
    el("p", { class: "verdict" }, el("strong", {}, rate(point.ratio)), ` of cuBLAS’s speed: ${COMPARED[page.marks[point.mark].marker]}`),
    times(atlas, point),
    el("p", { class: "note" }, bounds(atlas, point)),
    table({}, spoken("Measured"), ["", "time", "TFLOP/s"], [
      el("tr", {}, el("th", { scope: "row" }, url ? el("a", { href: url }, atlas.lesson) : atlas.lesson),
        el("td", {}, time(point.ms)), el("td", {}, rate(point.tflops))),
      el("tr", {}, el("th", { scope: "row" }, "cuBLAS"), el("td", {}, time(point.baseline_ms)), el("td", {}, rate(point.baseline_tflops))),
    ]),
    el("p", { class: "note" }, `Medians of ${point.rounds} rounds, L2 ${point.cache}; the 10th and the 90th percentile of ours are ${time(point.p10)} and ${time(point.p90)}. ` +
      "The ratio is the median of the rounds’ own ratios, and may differ a little from that of these times."),
    el("p", {}, `${GROUPS[point.group]} ${SETS[point.set]}`),
    el("h3", {}, "cuBLAS’s kernel"),
    el("ul", { class: "kernels" }, point.baseline_kernel.split(" + ").map((kernel) => el("li", {}, el("code", {}, kernel)))),
    el("p", { class: "note" }, `The fastest of cuBLAS’s candidates: ${point.baseline}.`),
    el("h3", {}, "C tiles and SMs"),
    ...filled(atlas, point, page.evidence[atlas.lesson]),
    el("h3", {}, "Measure it yourself"),
    el("pre", {}, `./gemm run ${atlas.number} --dtype ${atlas.variant} --m ${point.m} --n ${point.n} --k ${point.k}`),
    el("p", { class: "note" }, el("a", { href: address }, "A link to this shape"), `. ${atlas.where}.`),
    ...(others.length ? [el("h3", {}, "The same C, another K"),
      el("p", { class: "controls" }, others.map((one) => button(`K = ${one.k}`, () => choose(one), { "aria-label": nameOf(one) })))] : []),
  ];
}
