// How many blocks an SM has room for, how many waves a launch takes, and what a tile moves: the arithmetic of "What if".

import { grouped } from "explorer/dom";

/**
 * @typedef {object} Asked
 * @property {number} threads a block
 * @property {number} registers a thread
 * @property {number} shared bytes a block
 */
/** @typedef {{name: string, blocks: number, formula: string}} Limit */

/** @param {number} value @param {number} unit */
const up = (value, unit) => Math.ceil(value / unit) * unit;

/**
 * To three digits, without zeros at the end: 32, 4.25, 0.0606.
 * @param {number} value
 */
export const rate = (value) => (Math.abs(value) >= 100 ? grouped(Math.round(value)) : String(Number(value.toPrecision(3))));

/**
 * Bytes to three digits: 512 B, 16.4 kB.
 * @param {number} count
 */
export function size(count) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (count >= 999.5 && unit < units.length - 1) (count /= 1000), ++unit;
  return `${unit === 0 ? String(Math.round(count)) : count.toPrecision(3)} ${units[unit]}`;
}

/**
 * How many blocks each limit of an SM lets in; the smallest decides. Empty where a block cannot be launched at all.
 * @param {gemm.Machine} machine @param {Asked} asked
 * @returns {{limits: Limit[], refused: string | null}}
 */
export function limits(machine, asked) {
  const warps = Math.ceil(asked.threads / 32);
  if (asked.threads > 1024) {
    return { limits: [], refused: `A block has 1 024 threads at most, but this one has ${grouped(asked.threads)}.` };
  }
  if (asked.registers > machine.registers_a_thread) {
    return {
      limits: [],
      refused: `A thread has ${machine.registers_a_thread} registers at most, but this one has ${asked.registers}.`,
    };
  }
  if (asked.shared > machine.shared_a_block) {
    return {
      limits: [],
      refused: `A block has ${grouped(machine.shared_a_block)} bytes of shared memory at most, and this one ${
        grouped(asked.shared)
      }.`,
    };
  }
  const found = [
    { name: "block slots", blocks: machine.blocks, formula: `${machine.blocks}` },
    {
      name: "threads",
      blocks: Math.floor(machine.threads / (32 * warps)),
      formula: `⌊${grouped(machine.threads)} / ${grouped(32 * warps)}⌋`,
    },
  ];
  const ofWarp = up(32 * Math.max(asked.registers, 1), machine.register_unit);
  const inPart = Math.floor(machine.registers / machine.parts / ofWarp);
  found.push({
    name: "registers",
    blocks: Math.floor((inPart * machine.parts) / warps),
    formula: `⌊${machine.parts} · ⌊${grouped(machine.registers / machine.parts)} / ${grouped(ofWarp)}⌋ / ${warps}⌋`,
  });
  const taken = up(asked.shared + machine.shared_reserved, machine.shared_unit);
  if (taken > 0) {
    found.push({
      name: "shared memory",
      blocks: Math.floor(machine.shared / taken),
      formula: `⌊${grouped(machine.shared)} / ${grouped(taken)}⌋`,
    });
  }
  const refused = found[2].blocks === 0
    ? `One block’s registers do not fit: ${warps} warps of ${grouped(ofWarp)} each, of ${grouped(machine.registers)}.`
    : null;
  return { limits: found, refused };
}

/**
 * @typedef {object} Shape  sizes of the product, its tile, and an element
 * @property {number} m
 * @property {number} n
 * @property {number} k
 * @property {number} bm
 * @property {number} bn
 * @property {number} bk
 * @property {number} tm rows of C a thread
 * @property {number} tn columns
 * @property {number} bytes of an element of A and B
 * @property {number} bytesC of one of C
 */

/**
 * What the tiles make a launch move, where every block brings its tiles from global memory once and every thread reads its
 * values from shared memory once a step.
 * @param {Shape} s
 */
export function moved(s) {
  const rows = Math.ceil(s.m / s.bm), cols = Math.ceil(s.n / s.bn);
  const blocks = rows * cols;
  const flop = 2 * s.m * s.n * s.k;
  const loaded = s.bytes * s.k * (s.m * cols + s.n * rows);
  const stored = s.bytesC * s.m * s.n;
  return {
    rows,
    cols,
    blocks,
    flop,
    loaded,
    stored,
    perByte: loaded ? flop / loaded : 0, // of loads alone, whole matrices
    tilePerByte: (2 * s.bm * s.bn) / (s.bytes * (s.bm + s.bn)),
    sharedPerFlop: (s.bytes * (s.tm + s.tn)) / (2 * s.tm * s.tn),
  };
}

/** @param {number} blocks @param {number} slots blocks that run at once */
export const waves = (blocks, slots) => (slots ? blocks / slots : Infinity);
