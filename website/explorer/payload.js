// What the page shows, as ./gemm explore wrote it into the page: a reader that works things out when they are first asked for.
// Its types, gemm.Payload and what that consists of, are Python's (website/types.py).

import { clocks, divide } from "explorer/order";

export const SCHEMA = 1;
export const WARP = 32;
export const WARPGROUP = 4; // warps
const ROW = 2 ** 26; // more than C has columns here: an element is its row · ROW + its column

/**
 * @typedef {object} Request a warp's request, or a box of the copy engine
 * @property {number} event
 * @property {gemm.HistoryAccess | null} access null of a box of which nothing lies in an array
 * @property {number} warp
 * @property {gemm.HistoryArray | null} array
 * @property {number[]} lanes that take part, ascending
 * @property {number[]} offsets bytes from the array's start, one a lane; none of a box
 * @property {number} units sectors of global memory, wavefronts of shared memory
 * @property {{array: gemm.HistoryArray, lanes: number[], offsets: number[]} | null} from of a store to shared memory: what was stored, where that is known
 * @property {gemm.HistoryBox | null} box
 */

/**
 * @param {number} mask 32 bits
 * @returns {number[]} the lanes whose bit is set
 */
export function lanesOf(mask) {
  const lanes = [];
  for (let lane = 0; lane < WARP; lane++) if ((mask >>> lane) & 1) lanes.push(lane);
  return lanes;
}

/**
 * @template {object} Key
 * @template Made
 * @param {(key: Key) => Made} make
 * @returns {(key: Key) => Made} what `make` has made of the key, once for each
 */
export function kept(make) {
  /** @type {WeakMap<Key, {made: Made}>} */
  const known = new WeakMap();
  return (key) => {
    const found = known.get(key) ?? { made: make(key) };
    known.set(key, found);
    return found.made;
  };
}

const clocksOf = kept((/** @type {Block} */ block) => clocks(block.raw));
const stepsOf = kept((/** @type {Block} */ block) => divide(block.raw, block.clocks));
const indexOf = kept(indexed);
const storersOf = kept(storers);
const ownedBy = kept((/** @type {Block} */ block) =>
  [...storersOf(block)].map(([key, thread]) => ({ row: Math.floor(key / ROW), col: key % ROW, thread })));

/** One block's history with what follows from it. Everything but `raw` is worked out at its first use. */
export class Block {
  /**
   * @param {gemm.BlockHistory} raw
   * @param {gemm.Owners | null} [owners] who stores what of C, where that is known of this block without its events
   */
  constructor(raw, owners = null) {
    this.raw = raw;
    this.knownOwners = owners;
    this.warps = Math.ceil(raw.threads / WARP);
  }

  /** @returns {string} (1, 0, 0) */
  get name() {
    return `(${this.raw.block.join(", ")})`;
  }

  /** @param {number} event @returns {number | null} its warp; null where the event is of the whole block */
  warpOf(event) {
    const found = this.raw.events[event];
    return Array.isArray(found) ? found[1] : found?.warp ?? null;
  }

  /**
   * The warps whose event it is: four of a wgmma, which is a warpgroup's, none where it is the whole block's.
   * @param {number} event
   * @returns {number[]}
   */
  warpsOf(event) {
    const multiply = this.multiplyOf(event);
    const warp = this.warpOf(event);
    if (!multiply) return warp === null ? [] : [warp];
    return Array.from({ length: WARPGROUP }, (_, index) => multiply.warpgroup * WARPGROUP + index).filter((one) => one < this.warps);
  }

  /** @param {number} event @returns {gemm.HistoryMultiply | null} null where it is no wgmma */
  multiplyOf(event) {
    const found = this.raw.events[event];
    return !Array.isArray(found) && found?.e === "wgmma" ? this.raw.multiplies[found.multiply ?? -1] ?? null : null;
  }

  /** @param {number} event @returns {number | null} index into accesses, of a request or a box */
  accessOf(event) {
    const found = this.raw.events[event];
    if (Array.isArray(found)) return found[0];
    return found?.e === "box" ? this.raw.copies[found.copy ?? -1]?.access ?? null : null;
  }

  /** @param {number} event @returns {number | null} index into the trace's lines */
  lineOf(event) {
    const access = this.accessOf(event);
    return access === null ? null : this.raw.accesses[access].line;
  }

  /** @param {number} event @returns {gemm.Place | null} where in the source it is */
  placeOf(event) {
    const found = this.raw.events[event];
    if (!found) return null;
    const access = this.accessOf(event);
    const own = Array.isArray(found) ? null : found.e === "wgmma" ? this.multiplyOf(event)?.site : found.site;
    const site = own ?? (access === null ? null : this.raw.accesses[access].site);
    return site === null ? null : this.raw.sites[site] ?? null;
  }

  /** @param {number} event @returns {Request | null} null where the event is none */
  request(event) {
    const found = this.raw.events[event];
    if (Array.isArray(found)) {
      const [accessIndex, warp, pattern, base, units] = found;
      const access = this.raw.accesses[accessIndex];
      const [mask, offsets] = this.raw.patterns[pattern];
      /** @type {Request["from"]} */
      let from = null;
      if (found.length > 5) {
        const [fromMask, fromOffsets] = this.raw.patterns[found[6]];
        from = {
          array: this.raw.arrays[found[5]], lanes: lanesOf(fromMask), offsets: fromOffsets.map((offset) => found[7] + offset),
        };
      }
      return {
        event, access, warp, array: this.raw.arrays[access.array], lanes: lanesOf(mask),
        offsets: offsets.map((offset) => base + offset), units, from, box: null,
      };
    }
    if (found?.e !== "box") return null;
    const box = this.raw.copies[found.copy ?? -1];
    return {
      event, access: box.access === null ? null : this.raw.accesses[box.access], warp: found.warp ?? 0,
      array: box.array === null ? null : this.raw.arrays[box.array], lanes: lanesOf(found.lanes ?? 0), offsets: [],
      units: box.units, from: null, box,
    };
  }

  /**
   * The requests of a line by a warp, in order: state's `occurrence` counts in this list.
   * @param {number} line index into the trace's lines
   * @param {number} warp
   * @returns {readonly number[]} events
   */
  requests(line, warp) {
    return indexOf(this).requests.get(`${line} ${warp}`) ?? [];
  }

  /**
   * A warp's requests of all lines, and the wgmma that it takes part in, in order.
   * @param {number} warp
   * @returns {readonly number[]} events
   */
  requested(warp) {
    return indexOf(this).byWarp[warp] ?? [];
  }

  /** @param {number} event @returns {number | null} which of its line's requests by its warp it is, from 0 */
  occurrenceOf(event) {
    const found = indexOf(this).occurrence[event] ?? -1;
    return found < 0 ? null : found;
  }

  /**
   * What a view sets when an event is chosen.
   * @param {number} event
   * @returns {{event: number, warp: number | null, line: number | null, occurrence: number | null, step: number}}
   */
  selectionOf(event) {
    return {
      event, warp: this.warpOf(event), line: this.lineOf(event), occurrence: this.occurrenceOf(event), step: this.stepOf(event),
    };
  }

  /** @returns {Int32Array} of each event: what must come before it has less */
  get clocks() {
    return clocksOf(this);
  }

  /** How the block's events divide into steps. */
  get steps() {
    return stepsOf(this);
  }

  /** @param {number} event @returns {number} from 0 */
  stepOf(event) {
    return this.steps.step[event] ?? 0;
  }

  /**
   * @param {number} row
   * @param {number} col
   * @returns {number | null} the thread that stores this element of C, linear in the block; null: none of this block does
   */
  ownerOf(row, col) {
    return storersOf(this).get(row * ROW + col) ?? null;
  }

  /** @returns {{row: number, col: number, thread: number}[]} every element of C that this block stores */
  get owned() {
    return ownedBy(this);
  }
}

/**
 * The requests by line and warp, and which of them each event is; −1: it is none.
 * @param {Block} block
 */
function indexed(block) {
  /** @type {Map<string, number[]>} */
  const requests = new Map();
  /** @type {number[][]} */
  const byWarp = Array.from({ length: block.warps }, () => []);
  const occurrence = new Int32Array(block.raw.events.length).fill(-1);
  for (let event = 0; event < occurrence.length; event++) {
    const line = block.lineOf(event);
    if (line !== null || block.multiplyOf(event)) for (const warp of block.warpsOf(event)) byWarp[warp]?.push(event);
    if (line === null) continue;
    const key = `${line} ${block.warpOf(event)}`;
    const events = requests.get(key) ?? [];
    if (!events.length) requests.set(key, events);
    occurrence[event] = events.length;
    events.push(event);
  }
  return { requests, byWarp, occurrence };
}

/**
 * The name of the matrix that the kernel writes: D where there is one, else C.
 * @param {{name: string}[]} arrays
 */
export function resultOf(arrays) {
  return arrays.some(({ name }) => name === "D") ? "D" : "C";
}

/** @param {Block} block @returns {Map<number, number>} row · ROW + column of the result → thread */
function storers(block) {
  const { raw, knownOwners } = block;
  const found = new Map();
  knownOwners?.rows.forEach((row, index) => found.set(row * ROW + knownOwners.cols[index], knownOwners.threads[index]));
  const result = resultOf(raw.arrays);
  const ours = raw.accesses.map((access) => {
    const array = raw.arrays[access.array];
    return access.op === "store" && array.space === "global" && array.name === result && array.element_bytes ? array : null;
  });
  for (let event = 0; event < raw.events.length; event++) {
    const access = block.accessOf(event);
    const array = access === null ? null : ours[access];
    if (access === null || !array || !array.element_bytes || !array.pitch) continue;
    const request = /** @type {Request} */ (block.request(event));
    if (request.box) {
      const { row, col, rows, cols, thread } = request.box;
      for (let r = Math.max(row, 0); r < Math.min(row + rows, array.rows ?? 0); r++) {
        for (let c = Math.max(col, 0); c < Math.min(col + cols, array.cols ?? 0); c++) found.set(r * ROW + c, thread);
      }
      continue;
    }
    const width = raw.accesses[access].width / array.element_bytes;
    request.lanes.forEach((lane, place) => {
      const element = request.offsets[place] / /** @type {number} */ (array.element_bytes);
      const row = Math.floor(element / /** @type {number} */ (array.pitch));
      const col = element % /** @type {number} */ (array.pitch);
      for (let more = 0; more < width; more++) found.set(row * ROW + col + more, request.warp * WARP + lane);
    });
  }
  return found;
}

/** Everything that the views show. */
export class Data {
  /** @param {gemm.Payload} payload */
  constructor(payload) {
    this.payload = payload;
    this.trace = payload.trace;
    this.lines = payload.trace.lines;
    this.descriptor = payload.descriptor;
    this.sources = payload.sources;
    /** The blocks whose history was kept; none where nothing was. */
    const { owners } = payload.trace;
    this.blocks = (payload.trace.history ?? []).map((raw) => new Block(raw, owners?.block === raw.index ? owners : null));
  }

  /**
   * @param {string} file
   * @param {number} line from 1
   * @returns {string} the source line, without what is before and behind it
   */
  code(file, line) {
    return this.sources.find((source) => source.file === file)?.lines[line - 1]?.trim() ?? "";
  }

  /**
   * @param {number} row
   * @param {number} col
   * @returns {{block: number, thread: number} | null} index into blocks, and who stores this element of C there
   */
  ownerOf(row, col) {
    for (const [index, block] of this.blocks.entries()) {
      const thread = block.ownerOf(row, col);
      if (thread !== null) return { block: index, thread };
    }
    return null;
  }
}

/**
 * @param {string} text JSON
 * @returns {Data}
 * @throws {Error} one sentence, where this page cannot show it
 */
export function decode(text) {
  let payload;
  try {
    payload = JSON.parse(text);
  } catch {
    throw new Error("This page holds no data that can be read; write it again with ./gemm explore.");
  }
  const found = payload?.schema;
  if (found !== SCHEMA) {
    throw new Error(`This page holds data of schema ${JSON.stringify(found ?? null)}, but reads schema ${SCHEMA}; write it again with ./gemm explore.`);
  }
  return new Data(payload);
}
