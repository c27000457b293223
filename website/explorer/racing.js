// The two requests of a race, in what is kept of its block.

import { linear } from "explorer/threads";

/** @typedef {{block: number, first: number, second: number}} Pair the block's index into the history, and two of its events */

/**
 * Whether a request is this access of a finding: its line, its thread, its place.
 * @param {Data} data @param {import("explorer/payload").Block} block @param {gemm.Finding} finding
 * @param {{access: string, file: string, line: number, thread: number[] | null}} side
 * @returns {number[]} events, in order
 */
export function touching(data, block, finding, side) {
  const thread = linear(side.thread, data.descriptor.block, data.trace.threads_per_block);
  if (thread === null) return [];
  const op = side.access === "write" ? "store" : "load", warp = Math.floor(thread / 32), lane = thread % 32;
  return data.lines.flatMap((line, index) => {
    if (line.file !== side.file || line.line !== side.line || line.array !== finding.array || line.op !== op) return [];
    return block.requests(index, warp).filter((event) => {
      const request = block.request(event), array = request?.array, at = request?.lanes.indexOf(lane) ?? -1;
      if (!request || !array || at < 0 || request.box) return false;
      const offset = finding.row !== null && array.pitch && array.element_bytes
        ? (finding.row * array.pitch + (finding.column ?? 0)) * array.element_bytes
        : finding.offset;
      return offset >= request.offsets[at] && offset < request.offsets[at] + (request.access?.width ?? 0);
    });
  }).sort((a, b) => a - b);
}

/** @type {WeakMap<gemm.Finding, Pair | null>} what was searched for once; Time paints it at every move */
const known = new WeakMap();

/** @param {Data} data @param {gemm.Finding} finding @returns {Pair | null} null where it is no race, or its block's history does not have them */
export function racing(data, finding) {
  const found = known.get(finding);
  if (found !== undefined) return found;
  const pair = searched(data, finding);
  known.set(finding, pair);
  return pair;
}

/**
 * The first two of its accesses that the block makes with no barrier in between, in the order in which they were made.
 * @param {Data} data @param {gemm.Finding} finding
 * @returns {Pair | null}
 */
function searched(data, finding) {
  const index = data.blocks.findIndex((block) => block.raw.index === finding.block);
  if (finding.id !== "race" || !finding.other || index < 0) return null;
  const block = data.blocks[index];
  const met = block.raw.events.flatMap((event, at) => (!Array.isArray(event) && event?.e === "met" ? [at] : []));
  const before = touching(data, block, finding, finding.other);
  for (const second of touching(data, block, finding, finding)) {
    const first = before.filter((event) => event < second).pop();
    if (first !== undefined && !met.some((at) => at > first && at < second)) return { block: index, first, second };
  }
  return null;
}

/**
 * @param {Data} data @param {gemm.Finding} finding @param {Pair} pair
 * @returns {string} in which steps, and which barrier is missing
 */
export function rounds(data, finding, { block, first, second }) {
  const { steps: { by } } = data.blocks[block];
  const step = by === "rounds" ? "round" : "step";
  const [one, two] = [first, second].map((event) => data.blocks[block].stepOf(event));
  /** @param {string | undefined} access */
  const done = (access) => (access === "write" ? "written" : "read");
  const after = finding.other?.access === "write" ? "write" : "read";
  const again = done(finding.access) === done(finding.other?.access) ? " again" : "";
  return `${done(finding.other?.access)} in ${step} ${one}, ${done(finding.access)}${again} in ${step} ${two}; no barrier after the ${after}`;
}
