// What lies in a block's shared memory, and what its threads read of A and B, step by step: worked out by going through its events.

import { CHUNK, pitchOf, swizzled } from "explorer/descriptors";
import { kept, lanesOf, WARP } from "explorer/payload";

/**
 * @typedef {object} Fill a piece of a matrix that is brought to shared memory
 * @property {number} matrix index into arrays
 * @property {number} shared index into arrays
 * @property {number} lo bytes of the shared array: from here
 * @property {number} hi to here
 * @property {number} row of the matrix: from here
 * @property {number} rowEnd to here
 * @property {number} col
 * @property {number} colEnd
 * @property {"stores" | "cp.async" | "TMA"} how
 * @property {number} asked clock
 * @property {number} landed clock at which somebody knows that it is there; Infinity: never
 * @property {number} gone clock at which something else comes to its place; Infinity: never
 * @property {number} askedStep
 * @property {number} landedStep
 * @property {number} goneStep
 * @property {Set<number>} used steps in which it is read
 * @property {number} event the first that asks for it
 * @property {number} open requests that have not landed
 */

/** What an element of a matrix is in a step; several may hold. */
export const SHARED = 1; // lies in shared memory at its end
export const FLIGHT = 2; // on its way there at its end
export const USED = 4; // is read for the product
export const REGISTERS = 8; // was loaded into registers, and lies in no shared memory at its end

/**
 * @typedef {object} Snapshot
 * @property {Map<number, Uint8Array>} marks by matrix (index into arrays): a byte an element, row by row
 * @property {Map<number, Map<number, Range>>} threads by matrix: what each thread reads
 * @property {Map<number, Map<number, Range>>} warpgroups by matrix: what the wgmma of each warpgroup read
 */
/** @typedef {{row: number, rowEnd: number, col: number, colEnd: number}} Range */
/** @typedef {{thread: number} | {warpgroup: number} | null} Reader null: nobody in particular */
/** @typedef {(reader: Reader, code: number) => void} Read */

const EACH = 2 ** 27; // more than a matrix has elements here

/** @param {Range | null | undefined} range grows @param {number} row @param {number} col @returns {Range} with that element, too */
export function grown(range, row, col) {
  if (!range) return { row, rowEnd: row + 1, col, colEnd: col + 1 };
  if (row < range.row) range.row = row;
  if (row >= range.rowEnd) range.rowEnd = row + 1;
  if (col < range.col) range.col = col;
  if (col >= range.colEnd) range.colEnd = col + 1;
  return range;
}

/** Goes through a block's events. */
class Replay {
  /** @param {Block} block */
  constructor(block) {
    this.block = block;
    const { arrays } = block.raw;
    this.sizes = arrays.map((array) => array.element_bytes ?? 0).filter(Boolean);
    this.grain = this.sizes.length ? Math.min(...this.sizes) : 4;
    /** Of each shared array, a number a grain: matrix · EACH + element; −1: not known. */
    this.contents = arrays.map((array) => (array.space === "shared" ? new Int32Array(Math.ceil(array.bytes / this.grain)).fill(-1) : null));
    /** @type {(Fill | null)[][]} of each shared array, a fill a grain */
    this.fillAt = arrays.map((array) => (array.space === "shared" ? new Array(Math.ceil(array.bytes / this.grain)).fill(null) : []));
    /** @type {Fill[]} */
    this.fills = [];
    /** @type {Map<string, Fill>} */
    this.byKey = new Map();
    const warps = block.warps;
    /** @type {{shared: number, grains: number[], codes: number[], fill: Fill | null}[][][]} cp.async of each warp, by group; the last is open */
    this.groups = Array.from({ length: warps }, () => [[]]);
    this.closed = new Int32Array(warps); // groups of each warp that were ever closed
    /** @type {(number[] | null)[]} of each warp, what its last cp.async reads: array, pattern, base */
    this.copied = new Array(warps).fill(null);
    /** @type {Map<number, Fill>} copies of TMA under way */
    this.boxes = new Map();
    this.phases = new Int32Array(block.raw.mbarriers.length); // how many of each are complete
    /** @type {Map<string, Set<Fill>>} copies of TMA by mbarrier and phase, that nobody has seen complete */
    this.unseen = new Map();
  }

  /** @param {number} array @param {number} offset @returns {number} −1 outside */
  code(array, offset) {
    const { element_bytes, pitch, cols, rows } = this.block.raw.arrays[array];
    if (!element_bytes || !pitch || !cols || !rows) return -1;
    const element = offset / element_bytes;
    const row = Math.floor(element / pitch);
    const col = element % pitch;
    return col < cols && row < rows ? array * EACH + row * cols + col : -1;
  }

  /**
   * @param {string} key of requests that bring one piece together
   * @param {number} shared @param {number} matrix @param {Fill["how"]} how @param {number} event
   * @returns {Fill}
   */
  fill(key, shared, matrix, how, event) {
    let fill = this.byKey.get(key);
    if (!fill) {
      const clock = this.block.clocks[event];
      fill = {
        matrix, shared, lo: Infinity, hi: 0, row: Infinity, rowEnd: 0, col: Infinity, colEnd: 0, how, asked: clock, landed: Infinity,
        gone: Infinity, askedStep: this.block.stepOf(event), landedStep: Infinity, goneStep: Infinity, used: new Set(), event, open: 0,
      };
      this.byKey.set(key, fill);
      this.fills.push(fill);
    }
    return fill;
  }

  /** @param {Fill} fill @param {number} grain @param {number} code @param {number} event */
  grow(fill, grain, code, event) {
    const cols = this.block.raw.arrays[fill.matrix].cols ?? 1;
    const element = code % EACH;
    grown(fill, Math.floor(element / cols), element % cols);
    const at = grain * this.grain;
    if (at < fill.lo) fill.lo = at;
    if (at + this.grain > fill.hi) fill.hi = at + this.grain;
    const there = this.fillAt[fill.shared][grain];
    if (there && there !== fill && there.gone === Infinity) {
      there.gone = this.block.clocks[event];
      there.goneStep = this.block.stepOf(event);
    }
    this.fillAt[fill.shared][grain] = fill;
  }

  /** @param {Fill} fill @param {number} event */
  land(fill, event) {
    if (--fill.open > 0) return;
    fill.landed = this.block.clocks[event];
    fill.landedStep = this.block.stepOf(event);
  }

  /**
   * @param {number} event
   * @param {Read | null} read is told what is read, where that is known
   * @param {((code: number) => void) | null} loaded is told what comes to registers from global memory
   */
  step(event, read, loaded) {
    const { raw } = this.block;
    const found = raw.events[event];
    if (Array.isArray(found)) {
      this.request(event, found, read, loaded);
      return;
    }
    if (found.e === "commit") {
      const warp = found.warp ?? 0;
      this.groups[warp].push([]);
      this.closed[warp]++;
    } else if (found.e === "copied") {
      for (let count = found.count ?? 0; count > 0 && this.groups[found.warp ?? 0].length > 1; count--) {
        for (const piece of this.groups[found.warp ?? 0].shift() ?? []) {
          const contents = /** @type {Int32Array} */ (this.contents[piece.shared]);
          piece.grains.forEach((grain, index) => (contents[grain] = piece.codes[index]));
          if (piece.fill) this.land(piece.fill, event);
        }
      }
    } else if (found.e === "phase") this.phases[found.barrier ?? 0]++;
    else if (found.e === "passed") {
      const key = `${found.barrier} ${found.phase}`;
      for (const fill of this.unseen.get(key) ?? []) this.land(fill, event);
      this.unseen.delete(key);
    } else if (found.e === "box") this.box(event, found.copy ?? -1, read);
    else if (found.e === "landed") this.arrived(event, found.copy ?? -1);
    else if (found.e === "wgmma") {
      const multiply = raw.multiplies[found.multiply ?? -1];
      for (const place of [multiply?.a, multiply?.b]) if (place) this.operand(event, multiply.warpgroup, place, read);
    }
  }

  /**
   * An operand of a wgmma, of which a descriptor says where it lies.
   * @param {number} event @param {number} warpgroup @param {gemm.Operand} place @param {Read | null} read
   */
  operand(event, warpgroup, place, read) {
    this.fillAt[place.array]?.[Math.floor(place.offset / this.grain)]?.used.add(this.block.stepOf(event));
    const contents = this.contents[place.array];
    if (!read || !contents) return;
    for (const chunk of this.block.raw.places[place.places] ?? []) {
      const first = Math.floor((place.offset + chunk) / this.grain);
      for (let grain = first; grain < first + CHUNK / this.grain; grain++) {
        if (contents[grain] >= 0) read({ warpgroup }, contents[grain]);
      }
    }
  }

  /** @param {number} event @param {number} copy @param {Read | null} read */
  box(event, copy, read) {
    const box = this.block.raw.copies[copy];
    if (!box || box.shared === null) return;
    if (box.barrier === null) {
      this.eachOfBox(box, (grain) => { // a store: it reads shared memory
        const code = this.contents[box.shared ?? 0]?.[grain] ?? -1;
        if (code >= 0 && read) read(null, code);
      });
      return;
    }
    if (box.array === null) return;
    // Boxes of one matrix that one phase waits for are one piece.
    const fill = this.fill(`box ${box.shared} ${box.array} ${box.barrier} ${this.phases[box.barrier]}`, box.shared, box.array, "TMA", event);
    fill.open = 1; // until somebody has seen the phase complete
    const key = `${box.barrier} ${this.phases[box.barrier]}`;
    this.unseen.set(key, (this.unseen.get(key) ?? new Set()).add(fill));
    this.boxes.set(copy, fill);
    const contents = /** @type {Int32Array} */ (this.contents[box.shared]);
    this.eachOfBox(box, (grain, code) => {
      contents[grain] = -1;
      if (code >= 0) this.grow(fill, grain, code, event);
    });
  }

  /** @param {number} event @param {number} copy */
  arrived(event, copy) {
    const box = this.block.raw.copies[copy];
    if (!box || box.shared === null || !this.boxes.has(copy)) return;
    const contents = /** @type {Int32Array} */ (this.contents[box.shared]);
    this.eachOfBox(box, (grain, code) => (contents[grain] = code));
    this.boxes.delete(copy);
  }

  /** @param {gemm.HistoryBox} box @param {(grain: number, code: number) => void} each */
  eachOfBox(box, each) {
    if (box.shared === null || box.array === null) return;
    const matrix = this.block.raw.arrays[box.array];
    const base = this.block.raw.arrays[box.shared].offset ?? 0;
    const rows = matrix.rows ?? 0;
    const cols = matrix.cols ?? 0, pitch = pitchOf(box.swizzle, box.cols * box.element_bytes);
    for (let row = 0; row < box.rows; row++) {
      for (let col = 0; col < box.cols; col++) {
        const inside = box.row + row >= 0 && box.row + row < rows && box.col + col >= 0 && box.col + col < cols;
        const code = inside ? box.array * EACH + (box.row + row) * cols + box.col + col : -1;
        const at = swizzled(box.swizzle, base + box.offset + row * pitch + col * box.element_bytes) - base;
        const grain = Math.floor(at / this.grain);
        each(grain, code);
        for (let more = this.grain; more < box.element_bytes; more += this.grain) each(grain + more / this.grain, code);
      }
    }
  }

  /** @param {number} event @param {number[]} found @param {Read | null} read @param {((code: number) => void) | null} loaded */
  request(event, found, read, loaded) {
    const { raw } = this.block;
    const [accessIndex, warp, pattern, base] = found;
    const access = raw.accesses[accessIndex];
    const array = raw.arrays[access.array];
    const offsets = raw.patterns[pattern][1];
    if (array.space === "global") {
      if (access.copy) this.copied[warp] = [access.array, pattern, base];
      if (access.op === "store" || access.copy || !loaded || !array.element_bytes) return;
      for (const offset of offsets) {
        for (let more = 0; more < access.width; more += array.element_bytes) loaded(this.code(access.array, base + offset + more));
      }
      return;
    }
    const contents = /** @type {Int32Array} */ (this.contents[access.array]);
    if (access.op === "load") {
      const step = this.block.stepOf(event);
      const lanes = read && !access.matrix ? lanesOf(raw.patterns[pattern][0]) : [];
      offsets.forEach((offset, place) => {
        const first = Math.floor((base + offset) / this.grain);
        this.fillAt[access.array][first]?.used.add(step);
        if (!read) return;
        for (let more = 0; more < access.width; more += this.grain) {
          const code = contents[first + more / this.grain];
          if (code >= 0) read(access.matrix ? null : { thread: warp * WARP + lanes[place] }, code);
        }
      });
      return;
    }
    // A store, or a cp.async, which is one when it lands.
    const grains = [];
    /** @type {number[]} */
    const codes = [];
    // A cp.async is two requests, one behind the other: what is read, and where it comes to.
    const from = found.length > 5 ? found.slice(5) : access.copy ? this.copied[warp] : null;
    const [fromMask, fromOffsets] = from ? raw.patterns[from[1]] : [0, []];
    const lanes = lanesOf(raw.patterns[pattern][0]);
    const fromLanes = lanesOf(fromMask);
    for (const [place, offset] of offsets.entries()) {
      const source = fromLanes.indexOf(lanes[place]);
      for (let more = 0; more < access.width; more += this.grain) {
        const grain = Math.floor((base + offset + more) / this.grain);
        let code = -1;
        if (from && source >= 0) {
          const at = from[2] + fromOffsets[source] + more;
          const shared = this.contents[from[0]];
          code = shared ? shared[Math.floor(at / this.grain)] ?? -1 : this.code(from[0], at);
        }
        grains.push(grain);
        codes.push(code);
      }
    }
    const known = codes.find((code) => code >= 0);
    const matrix = known === undefined ? -1 : Math.floor(known / EACH);
    const turn = access.copy ? `group ${this.closed[warp]}` : `step ${this.block.stepOf(event)}`;
    const fill = matrix < 0 ? null
      : this.fill(`${turn} ${access.array} ${matrix}`, access.array, matrix, access.copy ? "cp.async" : "stores", event);
    if (fill) {
      fill.open++;
      grains.forEach((grain, index) => {
        if (codes[index] >= 0) this.grow(fill, grain, codes[index], event);
      });
    }
    if (access.copy) {
      for (const grain of grains) contents[grain] = -1;
      this.groups[warp][this.groups[warp].length - 1].push({ shared: access.array, grains, codes, fill });
    } else {
      grains.forEach((grain, index) => (contents[grain] = codes[index]));
      if (fill) this.land(fill, event);
    }
  }
}

/** @type {{block: Block, step: number, replay: Replay} | null} the last step that was gone through, from which the next one goes on */
let reached = null;

/** Every piece of A and B (and of C, where it goes through shared memory) that the block brings to shared memory, in order. */
export const fills = kept((/** @type {Block} */ block) => {
  const replay = new Replay(block);
  for (let event = 0; event < block.raw.events.length; event++) replay.step(event, null, null);
  return replay.fills.filter(({ hi }) => hi > 0);
});

/**
 * @param {Block} block @param {Fill} fill
 * @returns {number | null} which of the places that pieces of its matrix come to it is, by address; null where there is but one
 */
export function stageOf(block, fill) {
  const places = [...new Set(fills(block).filter((one) => one.shared === fill.shared && one.matrix === fill.matrix).map(({ lo }) => lo))];
  return places.length > 1 ? places.sort((a, b) => a - b).indexOf(fill.lo) : null;
}

/**
 * @param {Fill} fill @param {number} step
 * @returns {"in use" | "in flight" | "landed" | null} what it is in that step; null: not there
 */
export function stateOf(fill, step) {
  if (fill.askedStep > step || fill.goneStep <= step) return fill.used.has(step) && fill.askedStep <= step ? "in use" : null;
  if (fill.used.has(step)) return "in use";
  return fill.landedStep > step ? "in flight" : "landed";
}

/**
 * What a step does with each element of the matrices.
 * @param {Block} block @param {number} step
 * @returns {Snapshot}
 */
export function snapshot(block, step) {
  const { arrays, events } = block.raw;
  const from = reached?.block === block && reached.step < step ? reached : { step: -1, replay: new Replay(block) };
  const { replay } = from;
  reached = { block, step, replay };
  /** @type {Snapshot} */
  const found = { marks: new Map(), threads: new Map(), warpgroups: new Map() };
  for (const [index, array] of arrays.entries()) {
    if (array.space !== "global" || !array.rows || !array.cols) continue;
    found.marks.set(index, new Uint8Array(array.rows * array.cols));
    found.threads.set(index, new Map());
    found.warpgroups.set(index, new Map());
  }
  const withShared = arrays.some((array) => array.space === "shared" && array.rank === null);
  /** @param {Reader} reader @param {number} code @param {number} mark */
  const noted = (reader, code, mark) => {
    const matrix = Math.floor(code / EACH);
    const element = code % EACH;
    const marks = found.marks.get(matrix);
    if (!marks) return;
    marks[element] |= mark;
    if (reader === null) return;
    const [readers, who] = "thread" in reader ? [found.threads, reader.thread] : [found.warpgroups, reader.warpgroup];
    const ranges = /** @type {Map<number, Range>} */ (readers.get(matrix));
    const cols = arrays[matrix].cols ?? 1;
    const range = ranges.get(who);
    const now = grown(range, Math.floor(element / cols), element % cols);
    if (!range) ranges.set(who, now);
  };
  const { step: steps } = block.steps;
  for (let event = 0; event < events.length; event++) {
    if (steps[event] > step || steps[event] <= from.step) continue;
    if (steps[event] < step) {
      replay.step(event, null, null);
      continue;
    }
    // Where there is no shared memory, what is loaded is what is multiplied.
    const request = !withShared ? block.request(event) : null;
    const size = request?.array?.element_bytes;
    if (request && size && request.access?.op === "load" && !request.box) {
      request.offsets.forEach((offset, place) => {
        for (let more = 0; more < (request.access?.width ?? 0); more += size) {
          const code = replay.code(request.access?.array ?? 0, offset + more);
          if (code >= 0) noted({ thread: request.warp * WARP + request.lanes[place] }, code, USED);
        }
      });
    }
    replay.step(event, (reader, code) => noted(reader, code, USED), withShared ? (code) => code >= 0 && noted(null, code, REGISTERS) : null);
  }
  for (const contents of replay.contents) {
    for (const code of contents ?? []) if (code >= 0) noted(null, code, SHARED);
  }
  for (const groups of replay.groups) {
    for (const group of groups) for (const piece of group) for (const code of piece.codes) if (code >= 0) noted(null, code, FLIGHT);
  }
  for (const { matrix, row, rowEnd, col, colEnd } of [...replay.unseen.values()].flatMap((unseen) => [...unseen])) {
    const cols = arrays[matrix].cols ?? 1;
    for (let r = row; r < rowEnd; r++) for (let c = col; c < colEnd; c++) noted(null, matrix * EACH + r * cols + c, FLIGHT);
  }
  return found;
}

/**
 * The elements that pass a test, as few rectangles: runs along rows, joined downwards where they are equal.
 * @param {Uint8Array} marks @param {number} cols @param {(mark: number) => boolean} test
 * @returns {Range[]}
 */
export function rectangles(marks, cols, test) {
  /** @type {Range[]} */
  const found = [];
  /** @type {Map<number, Range>} */
  let above = new Map(); // by col · 2²⁴ + colEnd
  for (let row = 0; row * cols < marks.length; row++) {
    /** @type {Map<number, Range>} */
    const now = new Map();
    for (let col = 0; col < cols; col++) {
      if (!test(marks[row * cols + col])) continue;
      let colEnd = col + 1;
      while (colEnd < cols && test(marks[row * cols + colEnd])) colEnd++;
      const key = col * 2 ** 24 + colEnd;
      const range = above.get(key) ?? { row, rowEnd: row, col, colEnd };
      if (range.rowEnd === row) {
        if (range.row === row) found.push(range);
        range.rowEnd = row + 1;
      }
      now.set(key, range);
      col = colEnd;
    }
    above = now;
  }
  return found;
}
