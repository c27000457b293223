// What follows when something is chosen: the fields that a view hands to State.set().

/** @typedef {import("explorer/state").Selection} Selection */

/**
 * One block, warp, lane, thread and element in all views, of what is there: where they contradict each other, what is newly
 * chosen decides, and an element's thread before a thread.
 * @param {Data} data
 * @param {Selection} wanted
 * @param {Readonly<Selection>} before
 * @returns {Selection}
 */
export function settled(data, wanted, before) {
  const now = { ...wanted };
  if (!data.blocks.length) return now;
  if (!data.blocks[now.block]) now.block = data.blocks[before.block] ? before.block : 0;
  const chosen = now.element && (now.element.row !== before.element?.row || now.element.col !== before.element?.col);
  const owner = now.element && data.ownerOf(now.element.row, now.element.col);
  if (chosen) {
    now.block = owner?.block ?? now.block;
    now.thread = owner?.thread ?? null;
    if (!owner) now.lane = null;
  } else if (now.thread === before.thread || now.thread === null) {
    now.thread = now.warp !== null && now.lane !== null ? now.warp * 32 + now.lane : null;
  }
  const block = data.blocks[now.block];
  if (now.thread !== null && now.thread >= Math.max(block.raw.threads, data.trace.threads_per_block)) now.thread = now.lane = null;
  if (now.thread !== null) {
    now.warp = Math.floor(now.thread / 32);
    now.lane = now.thread % 32;
  }
  if (!chosen && now.element && (owner?.block !== now.block || owner.thread !== now.thread)) {
    const first = now.thread === null ? undefined : block.owned.find(({ thread }) => thread === now.thread);
    now.element = first ? { row: first.row, col: first.col } : null;
  }
  if (now.event !== null && now.event >= block.raw.events.length) now.event = null;
  now.step = Math.min(now.step, block.steps.count - 1);
  return now;
}

/**
 * @param {Data} data
 * @param {Readonly<Selection>} now
 * @param {number} row of C
 * @param {number} col of C
 * @returns {Partial<Selection>} the element and who stores it; the request that is chosen becomes that warp's
 */
export function element(data, now, row, col) {
  const owner = data.ownerOf(row, col);
  if (!owner) return { element: { row, col } };
  const block = data.blocks[owner.block];
  const warp = Math.floor(owner.thread / 32);
  const step = Math.min(now.step, block.steps.count - 1);
  /** @type {Partial<Selection>} */
  const fields = { element: { row, col }, block: owner.block, thread: owner.thread, warp, lane: owner.thread % 32, step };
  if (owner.block !== now.block || warp !== now.warp) fields.event = request(data, owner.block, now.line, warp, now.occurrence);
  return fields;
}

/**
 * @param {Data} data
 * @param {number} block
 * @param {number | null} line
 * @param {number | null} warp
 * @param {number | null} occurrence
 * @returns {number | null} the event
 */
export function request(data, block, line, warp, occurrence) {
  if (line === null || warp === null) return null;
  return data.blocks[block]?.requests(line, warp)[occurrence ?? 0] ?? null;
}

/**
 * @param {Data} data
 * @param {Readonly<Selection>} now
 * @param {number} line index into the trace's lines
 * @returns {Partial<Selection>} the line with a request of the chosen warp, or of the first that has one, in this step where there is one
 */
export function line(data, now, line) {
  const block = data.blocks[now.block];
  if (!block) return { line };
  const warps = [now.warp ?? 0, ...Array.from({ length: block.warps }, (_, warp) => warp)];
  const warp = warps.find((one) => block.requests(line, one).length);
  if (warp === undefined) return { line, occurrence: null, event: null };
  const events = block.requests(line, warp);
  const event = events.find((one) => block.stepOf(one) >= now.step) ?? events[events.length - 1];
  const thread = now.warp === warp ? {} : { thread: null, lane: null, element: null };
  return { ...block.selectionOf(event), ...thread };
}

/**
 * @param {Data} data
 * @param {Readonly<Selection>} now
 * @param {number} wanted
 * @returns {Partial<Selection>} the step, with the chosen line's request in it by the chosen warp, or what else that warp requests there
 */
export function step(data, now, wanted) {
  const block = data.blocks[now.block];
  const step = Math.max(0, Math.min(wanted, block.steps.count - 1));
  const { warp } = now;
  if (warp === null) return { step };
  /** @param {number} event */
  const here = (event) => block.stepOf(event) === step;
  const same = now.line === null ? undefined : block.requests(now.line, warp).find(here);
  const event = same ?? block.requested(warp).find(here);
  return event === undefined ? { step } : { ...block.selectionOf(event), warp };
}

/**
 * @param {Data} data
 * @param {Readonly<Selection>} now
 * @param {number} event of the chosen block
 * @param {number} [row] the warp in whose row it was chosen, of those that it belongs to
 * @returns {Partial<Selection>}
 */
export function event(data, now, event, row) {
  const block = data.blocks[now.block];
  const fields = block.selectionOf(event);
  if (fields.warp === null) return { event, step: fields.step };
  const warp = [row, now.warp].find((one) => one !== undefined && one !== null && block.warpsOf(event).includes(one)) ?? fields.warp;
  return { ...fields, ...(warp !== now.warp ? { thread: null, lane: null, element: null } : {}), warp };
}

/**
 * To begin with: an element near the middle of C, but not where tiles meet, in the first step in which its block has something to
 * multiply, with what its warp requests there.
 * @param {Data} data
 * @returns {Partial<Selection>}
 */
export function beginning(data) {
  const [row, col] = [data.trace.m, data.trace.n].map((size) => Math.floor((9 * size) / 16));
  const owner = data.ownerOf(row, col);
  const at = owner ? owner.block : 0, block = data.blocks[at];
  if (!block) return {};
  const first = owner ? { row, col, thread: owner.thread } : block.owned[block.owned.length >> 1];
  const warp = first ? Math.floor(first.thread / 32) : null;
  const step = Math.min(1, block.steps.count - 1);
  const event = warp !== null ? block.requested(warp).find((one) => block.stepOf(one) === step)
    : block.raw.events.findIndex((_, index) => block.lineOf(index) !== null);
  const chosen = event !== undefined && event >= 0 ? block.selectionOf(event) : {};
  const who = first ? { element: { row: first.row, col: first.col }, thread: first.thread, warp, lane: first.thread % 32 } : {};
  return { step, ...chosen, block: at, ...who };
}
