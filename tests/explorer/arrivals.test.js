// What ends a wait, of a page whose events are known and of one that ran.

import assert from "node:assert/strict";
import test from "node:test";

import { ending } from "../../website/explorer/arrivals.js";
import { decode } from "../../website/explorer/payload.js";
import { page, text } from "./pages.js";

test("a barrier ends with the last warp that reaches it", () => {
  const [block] = page("made").blocks;
  const reached = block.raw.events.flatMap((event, index) => (event.e === "barrier" ? [index] : []));
  const met = block.raw.events.findIndex((event) => event.e === "met");
  assert.deepEqual(reached.map((event) => ending(block, event)), reached.map(() => ({ from: reached[1], until: met })));
  assert.equal(ending(block, 0), null); // a load waits for nobody here
});

test("where a warp never comes, nobody ends it, unless more happened than is kept", () => {
  const payload = JSON.parse(text("made"));
  const [raw] = payload.trace.history;
  raw.events = raw.events.filter((event) => event.e !== "met" && !(event.e === "barrier" && event.warp === 1));
  const [block] = decode(JSON.stringify(payload)).blocks;
  const waits = block.raw.events.findIndex((event) => event.e === "barrier");
  assert.deepEqual(ending(block, waits), { from: null, until: null });
  raw.truncated = true;
  assert.equal(ending(decode(JSON.stringify(payload)).blocks[0], waits), null);
});

test("an mbarrier's wait ends with the last arrival or copy of its phase", () => {
  let waits = 0;
  for (const block of page("11a_one_stage").blocks) {
    const { events, copies } = block.raw;
    events.forEach((event, index) => {
      if (event.e !== "wait") return;
      const { from, until } = ending(block, index);
      assert.deepEqual([events[until].e, events[until].barrier, events[until].phase], ["phase", event.barrier, event.phase]);
      const last = events[from];
      assert.equal(last.e === "landed" ? copies[last.copy].barrier : last.barrier, event.barrier);
      assert.ok(from < until && events.slice(from + 1, until).every((one) => !(one.e === "arrive" && one.barrier === event.barrier)));
      waits += 1;
    });
  }
  assert.ok(waits > 0);
});
