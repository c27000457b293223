// One selection for all views: what follows when something is chosen, and the address that keeps it.

import assert from "node:assert/strict";
import test from "node:test";

import { beginning, element, line, settled, step as stepped } from "../../website/explorer/choosing.js";
import { selectionOf } from "../../website/explorer/findings.js";
import { decode } from "../../website/explorer/payload.js";
import { read, State, written } from "../../website/explorer/state.js";
import { page, text } from "./pages.js";

const data = page("03_smem");

/** @param {string} address */
const opened = (address, of = data) => new State(read(address), (wanted, before) => settled(of, wanted, before));

test("the address keeps everything, and what is none in it is ignored", () => {
  const address = "block=1&event=7&thread=37&warp=1&lane=5&line=2&occurrence=3&step=4&element=12,34";
  assert.equal(written(read(`#${address}`)), address);
  assert.equal(written(read("step=-1&line=x&element=3&thread=12345678901&other=1")), "");
});

test("an element of another block chooses its block and thread", () => {
  const state = opened("");
  state.set(element(data, state.selection, 40, 50));
  const { block, warp, thread, lane, event } = state.selection;
  assert.deepEqual({ block, warp, thread, lane, event }, { block: 3, warp: 8, thread: 274, lane: 18, event: null });
});

test("a lane or warp chosen elsewhere is another thread, and so another element", () => {
  const state = opened("element=3,5");
  assert.equal(state.selection.thread, 101);
  state.set({ lane: 9 });
  assert.deepEqual([state.selection.thread, state.selection.element], [105, { row: 3, col: 9 }]);
  state.set({ warp: 2, thread: null });
  assert.deepEqual([state.selection.thread, state.selection.element], [73, { row: 2, col: 9 }]);
});

test("of fields that contradict each other the element decides, and what is not there is none", () => {
  assert.equal(opened("element=3,5&thread=7").selection.thread, 101);
  const { block, thread, event, step } = opened("block=9&thread=5000&event=99999999&step=1000").selection;
  assert.deepEqual({ block, thread, event, step }, { block: 0, thread: null, event: null, step: data.blocks[0].steps.count - 1 });
  const alone = JSON.parse(text("03_smem"));
  alone.trace.history.length = 1;
  const one = decode(JSON.stringify(alone)), state = opened("element=3,5", one);
  state.set(element(one, state.selection, 3, 40)); // stored by a block whose history was not kept
  assert.deepEqual([state.selection.element, state.selection.thread], [{ row: 3, col: 40 }, null]);
});

test("an event chooses its warp, line and step, and a line a request of its own", () => {
  const [block] = data.blocks;
  const event = 2, access = block.raw.accesses[block.raw.events[event][0]];
  const chosen = block.selectionOf(event);
  assert.deepEqual([chosen.event, chosen.line, chosen.warp, chosen.step], [event, access.line, block.raw.events[event][1], 0]);
  const state = opened("warp=3&step=2");
  state.set(line(data, state.selection, access.line));
  const found = state.selection;
  assert.deepEqual([found.warp, block.lineOf(found.event), block.stepOf(found.event)], [3, access.line, 2]);
});

test("a page begins near the middle of C, in a step with something to multiply, with what that warp requests in it", () => {
  const { element: first, block, thread, warp, event, step } = beginning(data);
  assert.deepEqual({ first, block, thread, warp, step }, { first: { row: 36, col: 36 }, block: 3, thread: 132, warp: 4, step: 1 });
  assert.deepEqual([data.blocks[3].warpOf(event), data.blocks[3].stepOf(event)], [4, 1]);
});

test("another step has the same line's request in it, where there is one, else another of that warp", () => {
  const state = opened("");
  state.set(beginning(data));
  const [block] = [data.blocks[3]], { line: chosen } = state.selection;
  state.set(stepped(data, state.selection, 5));
  assert.deepEqual([state.selection.line, state.selection.warp, block.stepOf(state.selection.event)], [chosen, 4, 5]);
  state.set(stepped(data, state.selection, 0)); // in which nothing is read of shared memory yet
  assert.notEqual(state.selection.line, chosen);
  assert.deepEqual([state.selection.warp, block.stepOf(state.selection.event)], [4, 0]);
});

test("who listens is told once of each change", () => {
  const state = opened("");
  let told = 0;
  const end = state.subscribe(() => ++told);
  state.set({ step: 1 });
  state.set({ step: 1 });
  assert.equal(told, 2); // at once, and of the change
  end();
  state.set({ step: 2 });
  assert.equal(told, 2);
});

test("a finding chooses the request that touched the place, where its block's history was kept", () => {
  const found = page("findings"), [race, overrun] = found.trace.findings;
  const { block, line: of, warp, lane, thread, event } = selectionOf(found, race);
  assert.deepEqual({ block, of, warp, lane, thread }, { block: 0, of: 2, warp: 1, lane: 1, thread: 33 });
  const request = found.blocks[0].request(event);
  assert.equal(request.offsets[request.lanes.indexOf(lane)], race.offset);
  const elsewhere = selectionOf(found, overrun);
  assert.deepEqual([elsewhere.block, elsewhere.line, elsewhere.event, elsewhere.element], [undefined, 4, null, { row: 128, col: 3 }]);
});

test("data of another schema is refused with both numbers, and what is no JSON at all", () => {
  assert.throws(() => decode(text("made").replace('"schema": 1', '"schema": 5')), /schema 5.*schema 1/);
  assert.throws(() => decode("{"), Error);
});
