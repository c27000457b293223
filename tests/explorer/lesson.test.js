// What must hold of every lesson's page: $GEMM_PAGE names it.

import assert from "node:assert/strict";
import test from "node:test";

import { element, settled } from "../../website/explorer/choosing.js";
import { fills, FLIGHT, REGISTERS, snapshot, USED } from "../../website/explorer/contents.js";
import { chunks, decode as fields } from "../../website/explorer/descriptors.js";
import { copiedFrom, readOf } from "../../website/explorer/memory.js";
import { figures } from "../../website/explorer/sectors.js";
import { read, State } from "../../website/explorer/state.js";
import { sentence } from "../../website/explorer/time.js";
import { split } from "../../website/explorer/wavefronts.js";
import { marked, page } from "./pages.js";

const data = page(process.env.GEMM_PAGE ?? "03_smem");
const { trace } = data;

test("every request is split as the tracer counts", () => {
  let requests = 0;
  for (const block of data.blocks) {
    for (let event = 0; event < block.raw.events.length; ++event) {
      const request = block.request(event);
      if (!request?.access || !request.array || request.box) continue;
      ++requests;
      const { access: { width, op, matrix }, array, lanes, offsets, units } = request;
      const touching = { array, lanes, offsets, width, op, matrix, units, copied: copiedFrom(block, request) };
      const same = array.space === "global" ? figures(touching).sectors.length === units : split(touching) !== null;
      assert.ok(same, JSON.stringify({ event, units, width, offsets }));
      if (!request.access.copy) continue;
      const other = readOf(block, request);
      assert.deepEqual([other.access.op, readOf(block, other).event], [op === "load" ? "store" : "load", event]);
    }
  }
  assert.ok(requests > 0);
});

test("descriptors make wgmma read what the tracer saw it read", () => {
  let multiplied = 0;
  for (const { raw } of data.blocks) {
    for (const { wgmma, a, a_descriptor, b, b_descriptor, m, n, k } of raw.multiplies) {
      const { major_a, major_b } = trace.wgmma[wgmma];
      for (const [place, number, major, rows] of [[a, a_descriptor, major_a, m], [b, b_descriptor, major_b, n]]) {
        if (!number || !place) continue;
        ++multiplied;
        const start = raw.arrays[place.array].offset + place.offset;
        const mine = chunks(fields(number), major, rows, k).map(({ address }) => address - start).sort((one, other) => one - other);
        assert.deepEqual(mine, [...raw.places[place.places]].sort((one, other) => one - other), number);
      }
    }
  }
  assert.equal(multiplied > 0, trace.wgmma.length > 0);
});

test("an element that is chosen is its thread's", () => {
  const { rows, cols, threads, block } = trace.owners;
  const index = data.blocks.findIndex(({ raw }) => raw.index === block);
  const state = new State(read(""), (wanted, before) => settled(data, wanted, before));
  for (let at = 0; at < rows.length; at += at + 97 < rows.length ? 97 : Math.max(rows.length - 1 - at, 1)) {
    state.set(element(data, state.selection, rows[at], cols[at]));
    const { thread, warp, lane, block: chosen } = state.selection;
    assert.deepEqual([chosen, thread, warp, lane], [index, threads[at], Math.floor(threads[at] / 32), threads[at] % 32]);
  }
});

test("there are steps along K, and behind the first, which may only begin mbarriers, A and B are read, loaded or under way", () => {
  const [block] = data.blocks;
  assert.ok(block.steps.count > 4);
  for (let step = 1; step < 4; ++step) {
    const found = snapshot(block, step);
    for (const matrix of ["A", "B"]) assert.notDeepEqual(marked(block, found, matrix, USED | REGISTERS | FLIGHT), [], `${matrix}, ${step}`);
  }
});

test("clocks go on within a warp, and behind what a warp waits for", () => {
  for (const { raw, clocks, warps } of data.blocks) {
    const last = new Int32Array(warps).fill(-1), complete = new Map();
    raw.events.forEach((event, index) => {
      const warp = Array.isArray(event) ? event[1] : event.warp;
      if (event.e === "phase") complete.set(`${event.barrier} ${event.phase}`, clocks[index]);
      if (event.e === "passed" && event.phase >= 0) assert.ok(clocks[index] > complete.get(`${event.barrier} ${event.phase}`));
      if (warp === undefined || event.rank !== undefined) return;
      assert.ok(clocks[index] > last[warp], `event ${index}`);
      last[warp] = clocks[index];
    });
  }
});

test("what is brought to shared memory lies within its array, and lands behind where it is asked for", () => {
  for (const block of data.blocks) {
    for (const { shared, lo, hi, asked, landed, gone } of fills(block)) {
      assert.ok(lo >= 0 && lo < hi && hi <= block.raw.arrays[shared].bytes);
      assert.ok(asked <= landed && asked <= gone && landed < Infinity);
    }
  }
});

test("every event has a sentence", () => {
  const [block] = data.blocks;
  block.raw.events.forEach((_, event) => assert.doesNotMatch(sentence(block, event), /undefined|null|NaN/));
});
