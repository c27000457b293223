// The rules of memory that the page recalculates, held against the tracer's table (tests/cpu/trace/request_rules_test.cpp).

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import { copyWavefronts, distinctBytes, idealWavefronts, mostOfABank, sectors, wavefronts, wordsOf } from "../../website/explorer/banks.js";
import { addressOf, boxChunks, swizzled } from "../../website/explorer/descriptors.js";
import { lanesOf } from "../../website/explorer/payload.js";

const table = JSON.parse(readFileSync(new URL("../recorded/requests.json", import.meta.url), "utf8"));
const requests = table.filter((one) => "sectors" in one), copies = table.filter((one) => "reads" in one);

test("sectors, wavefronts and the fewest that there could be", () => {
  assert.ok(requests.length > 200);
  for (const { width, store, lanes: mask, addresses, ...counted } of requests) {
    const lanes = lanesOf(mask);
    const served = wavefronts(lanes, addresses, width, store);
    const least_wavefronts = idealWavefronts(lanes, addresses, width), bytes = distinctBytes(addresses, width);
    const found = { bytes, sectors: sectors(addresses, width).length, wavefronts: served.length, least_wavefronts };
    assert.deepEqual(found, counted, JSON.stringify({ width, store, lanes, addresses }));
  }
});

test("a wavefront has one word of a bank, and every lane gets all of its words", () => {
  for (const { width, store, lanes: mask, addresses } of requests) {
    const lanes = lanesOf(mask), served = wavefronts(lanes, addresses, width, store);
    for (const front of served) assert.equal(new Set(front.map(({ word }) => word % 32)).size, new Set(front.map(({ word }) => word)).size);
    lanes.forEach((lane, index) => {
      const words = served.flat().filter((one) => one.lane === lane).map(({ word }) => word);
      assert.deepEqual(words.sort((a, b) => a - b), wordsOf(addresses[index], width));
    });
  }
});

test("wavefronts of cp.async", () => {
  assert.ok(copies.length > 40);
  for (const { width, lanes, addresses, reads, from, wavefronts: counted } of copies) {
    const sources = new Map(lanesOf(reads).map((lane, index) => [lane, from[index]]));
    assert.equal(copyWavefronts(lanesOf(lanes), addresses, sources, width).length, counted, JSON.stringify({ width, addresses, from }));
  }
});

test("the most words that a bank is asked for", () => {
  const lanes = [...Array(32).keys()];
  assert.deepEqual([4, 128, 132, 0].map((pitch) => mostOfABank(lanes.map((lane) => pitch * lane), 4)), [1, 32, 1, 1]);
});

test("a swizzle moves chunks of 16 bytes by bits of the address", () => {
  const places = [["none", 128], ["32B", 384], ["64B", 384], ["128B", 128], ["128B", 7 * 128], ["128B", 8 * 128]];
  assert.deepEqual(places.map(([mode, at]) => swizzled(mode, at) - at), [0, 16, 48, 16, 112, 0]);
  assert.deepEqual(boxChunks(2, 32, "128B", 0).map(({ address }) => address), [0, 16, 144, 128]);
  const fields = { start: 1152, leading: 0, stride: 1024, swizzle: 1 };
  assert.deepEqual([0, 1].map((baseOffset) => addressOf({ ...fields, baseOffset }, "k", 0, 0)), [1168, 1152]);
});
