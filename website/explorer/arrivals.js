// What ends a wait: the arrival that a barrier's, an mbarrier's or a cluster's phase was missing.

/**
 * @typedef {object} Ending
 * @property {number | null} from the event that ends it: the last arrival, or the last copy that landed; null: nobody's
 * @property {number | null} until the event at which it has ended; null: it never does
 */

const NOBODY = /** @type {Ending} */ ({ from: null, until: null });

/** @param {Block} block @param {number} begin @param {number} step 1 or −1 @param {(event: gemm.HistoryEvent, index: number) => boolean} test */
function search(block, begin, step, test) {
  const { events } = block.raw;
  for (let index = begin; index >= 0 && index < events.length; index += step) {
    const event = events[index];
    if (!Array.isArray(event) && test(event, index)) return index;
  }
  return null;
}

/** @param {Block} block @param {number | null} until @param {(event: gemm.HistoryEvent) => boolean} arrives @returns {Ending} */
function last(block, until, arrives) {
  return until === null ? NOBODY : { from: search(block, until - 1, -1, arrives), until };
}

/**
 * @param {Block} block @param {number} index of an event
 * @returns {Ending | null} null where it is no wait for others, or where what comes later was not kept
 */
export function ending(block, index) {
  const event = block.raw.events[index];
  if (Array.isArray(event) || !event) return null;
  /** @type {Ending | null} */
  let found = null;
  if (event.e === "barrier") found = last(block, search(block, index + 1, 1, ({ e }) => e === "met"), ({ e }) => e === "barrier");
  if ((event.e === "wait" || event.e === "passed") && (event.phase ?? -1) >= 0) {
    const { barrier, phase } = event;
    const until = search(block, 0, 1, (one) => one.e === "phase" && one.barrier === barrier && one.phase === phase);
    found = last(block, until, (one) =>
      ((one.e === "arrive" || one.e === "expect") && one.barrier === barrier) ||
      (one.e === "landed" && block.raw.copies[one.copy ?? -1]?.barrier === barrier));
  }
  if (event.e === "cluster_passed") {
    found = last(block, search(block, index, -1, ({ e }) => e === "cluster_met"), ({ e }) => e === "cluster_arrive");
  }
  return found === NOBODY && block.raw.truncated ? null : found;
}
