// What the tests of the explorer's modules share. tests/python/test_explore_modules.py writes the pages' data and starts them.

import { readFileSync } from "node:fs";

import { rectangles } from "../../website/explorer/contents.js";
import { decode } from "../../website/explorer/payload.js";

/** @param {string} name @returns {string} of a file in $GEMM_PAGES */
export const text = (name) => readFileSync(`${process.env.GEMM_PAGES}/${name}.json`, "utf8");

/** @param {string} name */
export const page = (name) => decode(text(name));

/** The ranges [row, rowEnd, col, colEnd] of a matrix that have the mark. */
export function marked(block, snapshot, matrix, mark) {
  const index = block.raw.arrays.findIndex(({ name }) => name === matrix);
  const found = rectangles(snapshot.marks.get(index), block.raw.arrays[index].cols, (one) => (one & mark) !== 0);
  return found.map(({ row, rowEnd, col, colEnd }) => [row, rowEnd, col, colEnd]);
}
