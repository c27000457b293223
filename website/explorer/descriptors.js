// What a matrix descriptor of wgmma says and which 16 bytes it makes the hardware read, and where the copy engine puts the rows
// of a box. The rules are those of common/ptx/wgmma_descriptor.hpp and common/cpu/ptx/tensor_map.cpp, which name their sources.

export const CHUNK = 16; // bytes

/** @typedef {{start: number, leading: number, stride: number, baseOffset: number, swizzle: number}} Fields  swizzle: 0 none, 1 128B, 2 64B, 3 32B */
/** @typedef {{name: string, bits: string, value: number, unit: string}} Field */
/** @typedef {"k" | "row"} Major */
/** @typedef {{row: number, k: number, address: number}} Chunk */
/** @typedef {"none" | "32B" | "64B" | "128B"} Swizzle */

/**
 * @param {string} number "0x4000004000010000"
 * @returns {Fields}
 */
export function decode(number) {
  const bits = BigInt(number);
  /** @param {number} low @param {number} count */
  const field = (low, count) => Number((bits >> BigInt(low)) & ((1n << BigInt(count)) - 1n));
  return {
    start: field(0, 14) * 16,
    leading: field(16, 14) * 16,
    stride: field(32, 14) * 16,
    baseOffset: field(49, 3),
    swizzle: field(62, 2),
  };
}

/**
 * Bytes of a row of the pattern that swizzling permutes.
 * @param {number} swizzle as the descriptor counts
 */
export const span = (swizzle) => (swizzle === 0 ? 16 : 256 >> swizzle);

/** @param {number} swizzle @returns {Swizzle} */
export const nameOf = (swizzle) => /** @type {Swizzle} */ (swizzle === 0 ? "none" : `${span(swizzle)}B`);

/** @param {Fields} fields @returns {Field[]} */
export function fieldsOf(fields) {
  return [
    { name: "matrix start address", bits: "13–0", value: fields.start, unit: "bytes" },
    { name: "leading dimension byte offset", bits: "29–16", value: fields.leading, unit: "bytes" },
    { name: "stride dimension byte offset", bits: "45–32", value: fields.stride, unit: "bytes" },
    { name: "matrix base offset", bits: "51–49", value: fields.baseOffset, unit: "" },
    { name: "swizzle mode", bits: "63–62", value: fields.swizzle === 0 ? 0 : span(fields.swizzle), unit: "bytes" },
  ];
}

/**
 * The shared address of element (row, k), of 2 bytes.
 * @param {Fields} f @param {Major} major @param {number} row @param {number} k
 */
export function addressOf(f, major, row, k) {
  const wide = span(f.swizzle), swizzled = f.swizzle !== 0;
  let address = f.start;
  if (major === "k") {
    address += Math.floor(row / 8) * f.stride + (row % 8) * wide;
    address += swizzled ? k * 2 : Math.floor(k / 8) * f.leading + (k % 8) * 2;
  } else if (swizzled) {
    address += Math.floor(row / (wide / 2)) * f.leading + (row % (wide / 2)) * 2;
    address += Math.floor(k / 8) * f.stride + (k % 8) * wide;
  } else {
    address += Math.floor(row / 8) * f.stride + (row % 8) * 2;
    address += Math.floor(k / 8) * f.leading + (k % 8) * 16;
  }
  const turn = ((address >> 7) - f.baseOffset) & (wide / 16 - 1);
  return address ^ (turn << 4);
}

/**
 * The chunks of 16 bytes that one instruction reads by a descriptor, elements of 2 bytes.
 * @param {Fields} fields @param {Major} major @param {number} rows 64 of A, N of B @param {number} depth steps along K
 * @returns {Chunk[]}
 */
export function chunks(fields, major, rows, depth) {
  const found = [];
  const rowStep = major === "k" ? 1 : 8, kStep = major === "k" ? 8 : 1;
  for (let row = 0; row < rows; row += rowStep) {
    for (let k = 0; k < depth; k += kStep) found.push({ row, k, address: addressOf(fields, major, row, k) });
  }
  return found;
}

/**
 * Where a byte of a box lies that would lie at `address` if nothing were swizzled.
 * @param {Swizzle} mode @param {number} address in shared memory
 */
export function swizzled(mode, address) {
  const mask = { none: 0, "32B": 1, "64B": 3, "128B": 7 }[mode];
  return address ^ (((address >> 7) & mask) << 4);
}

/**
 * From a row of a box to the next: a swizzled one takes a whole span.
 * @param {gemm.HistoryBox["swizzle"]} mode @param {number} rowBytes
 */
export const pitchOf = (mode, rowBytes) => (mode === "none" ? rowBytes : Number.parseInt(mode, 10));

/**
 * The chunks of a box of two dimensions, row by row.
 * @param {number} rows of the box @param {number} rowBytes of one of them @param {Swizzle} mode @param {number} at its shared address
 * @returns {{row: number, byte: number, address: number}[]} byte: from the row's start
 */
export function boxChunks(rows, rowBytes, mode, at) {
  const pitch = pitchOf(mode, rowBytes);
  const found = [];
  for (let row = 0; row < rows; ++row) {
    for (let byte = 0; byte < rowBytes; byte += CHUNK) {
      found.push({ row, byte, address: swizzled(mode, at + row * pitch + byte) });
    }
  }
  return found;
}
