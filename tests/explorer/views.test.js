// What the views show, as numbers, of pages whose numbers are known.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { means } from "../../website/explorer/access.js";
import { fills, REGISTERS, snapshot, stateOf, USED } from "../../website/explorer/contents.js";
import { placeName, sourceOf } from "../../website/explorer/memory.js";
import { limits, rate, size } from "../../website/explorer/occupancy.js";
import { predicted } from "../../website/explorer/predicted.js";
import { storedBy } from "../../website/explorer/product.js";
import { figures as ofGlobal } from "../../website/explorer/sectors.js";
import { Rows, kindOf } from "../../website/explorer/time.js";
import { figures as ofShared, split } from "../../website/explorer/wavefronts.js";
import { lessons } from "../../website/explorer/whatif.js";
import { marked, page } from "./pages.js";

const made = page("made"), smem = page("03_smem"), hopper = page("11a_one_stage");

/** What a view of memory takes of the made page's request of that line by warp 0. */
function touching(line, data = made) {
  const [block] = data.blocks;
  const request = block.request(block.requests(line, 0)[0]);
  const { access: { width, op, matrix }, array, lanes, offsets, units } = request;
  return { array, lanes, offsets, units, width, op, matrix, copied: null };
}

test("along K, the tiles are loaded into registers, stored, and read", () => {
  const [block] = smem.blocks;
  const at = (step, matrix, mark) => marked(block, snapshot(block, step), matrix, mark);
  assert.equal(block.steps.count, 9);
  assert.equal(block.steps.by, "barriers");
  for (const matrix of ["A", "B"]) assert.deepEqual(at(0, matrix, REGISTERS), [[0, 32, 0, 32]]);
  for (const matrix of ["A", "B"]) assert.deepEqual(at(1, matrix, USED), [[0, 32, 0, 32]]);
  assert.deepEqual(at(2, "A", REGISTERS), [[0, 32, 32, 64]]);
  assert.deepEqual(at(2, "B", REGISTERS), [[32, 64, 0, 32]]);
  const inUse = fills(block).filter((fill) => stateOf(fill, 1) === "in use");
  assert.deepEqual(inUse.map(({ how, lo, hi }) => [how, lo, hi]), [["stores", 0, 4096], ["stores", 0, 4096]]);
});

test("a step ends where all have met", () => {
  const [block] = smem.blocks;
  const met = block.raw.events.flatMap((event, index) => (event.e === "met" ? [index] : []));
  assert.deepEqual(met.map((event) => block.stepOf(event)), [...met.keys()]);
  assert.deepEqual(met.map((event) => block.stepOf(event + 1)), [...met.keys()].map((step) => step + 1));
});

test("a thread reads a row of A's tile and a column of B's, and stores one element", () => {
  const [block] = smem.blocks, found = snapshot(block, 1);
  const of = (name) => found.threads.get(block.raw.arrays.findIndex((array) => array.name === name)).get(101);
  assert.deepEqual(of("A"), { row: 3, rowEnd: 4, col: 0, colEnd: 32 });
  assert.deepEqual(of("B"), { row: 0, rowEnd: 32, col: 5, colEnd: 6 });
  assert.deepEqual(storedBy(block, (one) => one === 101), { count: 1, hull: { row: 3, rowEnd: 4, col: 5, colEnd: 6 } });
});

test("a wgmma is its four warps', in each of their rows, and its warpgroup's operands are known", () => {
  const [block] = hopper.blocks;
  const first = block.raw.events.findIndex((event) => event.e === "wgmma");
  assert.deepEqual(block.warpsOf(first), [0, 1, 2, 3]);
  const rows = new Rows(block);
  const products = [0, 1, 2, 3].map((warp) => rows.warps[warp].filter((event) => kindOf(block, event) === "product"));
  assert.ok(products[0].length > 0);
  for (const one of products) assert.deepEqual(one, products[0]);
  const found = snapshot(block, 1);
  const of = (name) => found.warpgroups.get(block.raw.arrays.findIndex((array) => array.name === name)).get(0);
  assert.deepEqual(of("A"), { row: 0, rowEnd: 128, col: 0, colEnd: 64 });
  assert.deepEqual(of("B"), { row: 0, rowEnd: 64, col: 0, colEnd: 128 });
  assert.deepEqual(storedBy(block, (one) => one < 128), { count: 16384, hull: { row: 0, rowEnd: 128, col: 0, colEnd: 128 } });
});

test("requests in figures: a row, a column of 32 floats, a padded column", () => {
  const { ideal, used, moved, lines } = ofGlobal(touching(0));
  assert.deepEqual({ ideal, used, moved, lines }, { ideal: 4, used: 128, moved: 128, lines: 1 });
  assert.deepEqual(ofShared(touching(2)), { wavefronts: 32, ideal: 1, used: 128, most: 32 });
  assert.deepEqual(ofShared(touching(3)), { wavefronts: 1, ideal: 1, used: 128, most: 1 });
  assert.equal(split(touching(2)).length, 32);
  assert.equal(split({ ...touching(2), units: 17 }), null); // the tracer's number is another: nothing is split
});

test("means are those of the table of ./gemm inspect", () => {
  assert.deepEqual(made.lines.map(means).map(({ units, ideal }) => [units, ideal]), [["4", "4"], ["1", "1"], ["32", "1"], ["1", "1"], ["4", "4"]]);
  assert.equal(means({ ...made.lines[0], diverged: true }).units, "≈ 4");
  assert.equal(means({ ...made.lines[0], requests: 0 }).units, "–");
});

test("places have names, and a store says what it stores", () => {
  const [block] = made.blocks, [matrix, , shared] = block.raw.arrays;
  assert.deepEqual([placeName(matrix, 524, 4), placeName(matrix, 524, 16), placeName(shared, 132, 4)], ["A[1][3]", "A[1][3–6]", "As + 132 B"]);
  assert.equal(placeName({ ...matrix, cols: 100 }, 4 * 101, 4), "A[0][101], padding");
  const source = sourceOf(block, block.request(block.requests(1, 1)[0]));
  assert.equal(placeName(source.array, source.offsets[2], 4), "A[1][2]");
});

test("figures have three digits", () => {
  assert.deepEqual([32, 4.25, 0.0606, 12345].map(rate), ["32", "4.25", "0.0606", "12\u202f345"]);
  assert.deepEqual([512, 16384, 999.6].map(size), ["512 B", "16.4 kB", "1.00 kB"]);
});

test("blocks an SM are what CUDA said of every lesson on the GPU", () => {
  const { resources } = JSON.parse(readFileSync(new URL("../../plots/results/h200.json", import.meta.url), "utf8"));
  const lessonsOfAll = Object.entries(resources);
  assert.ok(lessonsOfAll.length > 10);
  for (const [name, taken] of lessonsOfAll) {
    const shared = taken.static_shared_bytes + taken.dynamic_shared_bytes;
    const room = limits(made.payload.machines.sm_90, { threads: taken.threads_per_block, registers: taken.registers, shared });
    assert.equal(Math.min(...room.limits.map(({ blocks }) => blocks)), taken.blocks_per_sm, name);
  }
});

test("registers are given out in units, to whole warps", () => {
  const room = limits(made.payload.machines.sm_90, { threads: 250, registers: 33, shared: 0 });
  assert.deepEqual(room.limits.map(({ name, blocks }) => [name, blocks]),
    [["block slots", 32], ["threads", 8], ["registers", 6], ["shared memory", 228]]);
});

test("what the sliders say decides what is predicted", () => {
  const start = lessons(made);
  const value = (changes, id, kind = "value") =>
    predicted(made, { ...start, ...changes }).rows.find((row) => row.id === id)[kind]?.replaceAll("\u202f", "");
  assert.deepEqual(["blocks-an-sm", "grid", "tile-intensity"].map((id) => value({}, id)), ["2", "16384", "8 FLOP/B"]);
  assert.equal(value({}, "blocks-an-sm", "recorded"), "2");
  assert.equal(value({ m: 128, n: 128, k: 128 }, "grid"), "16");
  assert.deepEqual(["grid", "tile-intensity"].map((id) => value({ bm: 64, bn: 64 }, id)), ["4096", "16 FLOP/B"]);
  assert.equal(value({ machine: "sm_86" }, "blocks-an-sm"), "1");
  assert.equal(value({ threads: 4096 }, "blocks-an-sm"), "0");
  for (const much of [{ threads: 4096 }, { registers: 256 }, { shared: 300000 }, { threads: 1024, registers: 128 }]) {
    assert.ok(limits(made.payload.machines.sm_90, { ...start, ...much }).refused, JSON.stringify(much));
  }
});
