// What the page offers: each operation's operand, what it makes of a layout, and what its result means.

import * as algebra from "layouts/algebra";
import { layout, Malformed, shape, written } from "layouts/text";

/**
 * @typedef {import("layouts/algebra").Layout} Layout
 *
 * @typedef {object} Grid a function that is drawn: rows are mode 0, columns all other modes
 * @property {string} name
 * @property {Layout} layout
 * @property {import("layouts/algebra").Swizzle} [swizzle] that its offsets go through
 * @property {(index: number, offset: number) => number | null} shade of an index and its offset, from 0; null: none
 * @property {(index: number) => number | null} at the index that is marked for the result's
 *
 * @typedef {object} Made
 * @property {string} text of the result
 * @property {Layout} result
 * @property {import("layouts/algebra").Swizzle} [swizzle]
 * @property {Grid[]} grids the result's is the last
 * @property {string} rule that it breaks, "" if none
 * @property {number} differs the first index at which a composition is not A(B(i)); -1 where none
 * @property {(index: number) => string} step what happens at an index, in words
 *
 * @typedef {object} Operation
 * @property {string} name
 * @property {string} operand its label; "" where there is none
 * @property {string} means in one sentence
 * @property {string} example of the operand
 * @property {(a: Layout, text: string) => Made} make throws Malformed or Undefined
 */

/** @param {Layout} a @param {number} index @returns {string} (1,(0,2)) */
export function coordinate(a, index) {
  const all = algebra.digits(a, index);
  /** @param {import("layouts/algebra").Tree} tree @returns {string} */
  const nested = (tree) => (Array.isArray(tree) ? `(${tree.map(nested).join(",")})` : String(all.shift()));
  return nested(a.shape);
}

/** @param {Layout} a @param {number} found an offset @returns {number | null} the first index that has it */
function indexOf(a, found) {
  for (let i = 0; i < algebra.size(a); ++i) if (algebra.offset(a, i) === found) return i;
  return null;
}

/** @param {string} name @param {Layout} a @returns {Grid} without shades */
const plain = (name, a) => ({ name: `${name} = ${written(a)}`, layout: a, shade: () => null, at: (i) => i });

/** @param {Layout} a @returns {number} of elements in the first mode, which is a tile or a block */
const first = (a) => algebra.size(algebra.mode(a, 0));

/**
 * A result whose second mode counts tiles or copies: each has a shade, in A, too.
 * @param {Layout} a @param {Layout} result @param {string} one "tile" @param {boolean} inside whether its offsets are A's
 * @returns {Made}
 */
function counted(a, result, one, inside) {
  const each = first(result);
  /** @type {Map<number, number>} by offset */
  const tiles = new Map();
  for (let i = algebra.size(result) - 1; i >= 0; --i) tiles.set(algebra.offset(result, i), Math.floor(i / each));
  const back = (/** @type {number} */ i) => indexOf(a, algebra.offset(result, i));
  /** @type {Grid} */
  const before = { ...plain("A", a), shade: (_, offset) => tiles.get(offset) ?? null, at: inside ? back : () => null };
  const after = { ...plain("R", result), shade: (/** @type {number} */ i) => Math.floor(i / each) };
  return {
    text: written(result), result, grids: [before, after], rule: "", differs: -1,
    step: (i) =>
      `R${coordinate(result, i)} = ${algebra.offset(result, i)}: element ${i % each} of ${one} ${Math.floor(i / each)}.`,
  };
}

/** @param {Layout} a @param {Layout} result @param {(i: number) => string} [step] @returns {Made} */
const simple = (a, result, step) => ({
  text: written(result), result, rule: "", differs: -1,
  grids: [{ ...plain("A", a), at: () => null }, plain("R", result)],
  step: step ?? ((i) => `R${coordinate(result, i)} = ${algebra.offset(result, i)}.`),
});

/** @param {Layout} a @param {Layout} b @returns {Made} */
function composed(a, b) {
  const result = algebra.composition(a, b);
  const rule = algebra.compositionRule(a, b);
  let differs = -1;
  for (let i = 0; rule && differs < 0 && i < algebra.size(b); ++i) {
    if (algebra.offset(result, i) !== algebra.offset(a, algebra.offset(b, i))) differs = i;
  }
  const reached = new Set(Array.from({ length: algebra.size(b) }, (_, i) => algebra.offset(b, i)));
  const within = (/** @type {number} */ i) => (algebra.offset(b, i) < algebra.size(a) ? algebra.offset(b, i) : null);
  return {
    text: written(result), result, rule, differs,
    grids: [
      { ...plain("A", a), shade: (i) => (reached.has(i) ? 1 : null), at: within },
      plain("B", b),
      { ...plain("R", result), shade: () => 1 },
    ],
    step: (i) => {
      const between = algebra.offset(b, i);
      const there = algebra.offset(a, between);
      const here = algebra.offset(result, i);
      return `B(${i}) = ${between}, and A(${between}) = ${there}${here === there ? `, so R(${i}) = ${here}.` : `, but R(${i}) = ${here}.`}`;
    },
  };
}

/** @param {Layout} a @param {Layout} result @returns {Made} where copies of A fill all offsets */
function complemented(a, result) {
  const both = algebra.tuple([a, result]);
  const each = algebra.size(a);
  /** @type {Map<number, number>} */
  const copies = new Map();
  for (let i = 0; i < algebra.size(both); ++i) copies.set(algebra.offset(both, i), Math.floor(i / each));
  const line = { shape: [algebra.cosize(both)], stride: [1] };
  return {
    text: written(result), result, rule: "", differs: -1,
    grids: [
      { ...plain("A", a), at: () => null },
      {
        name: "Offsets, by the copy of A that has them", layout: line,
        shade: (_, offset) => copies.get(offset) ?? null, at: (i) => algebra.offset(result, i),
      },
      { ...plain("R", result), shade: (i) => i },
    ],
    step: (i) => `Copy ${i} of A begins at offset R(${i}) = ${algebra.offset(result, i)}.`,
  };
}

/** @param {string} text bits, base, shift */
function swizzleOf(text) {
  const found = /^(\d{1,2}),(\d{1,2}),(\d{1,2})$/.exec(text);
  const [bits, base, shift] = found ? found.slice(1).map(Number) : [];
  if (!found || shift < bits || bits + base + shift > 30) {
    throw new Malformed("a swizzle is bits, base and shift (at least as many as bits), such as 3,4,3", 0);
  }
  return { bits, base, shift };
}

/** @param {Layout} a @param {string} text @returns {Made} */
function swizzled(a, text) {
  const swizzle = swizzleOf(text);
  const column = (/** @type {number} */ offset) => (offset >> swizzle.base) % (1 << swizzle.bits);
  return {
    text: `Swizzle<${text}> o ${written(a)}`, result: a, swizzle, rule: "", differs: -1,
    grids: [
      { ...plain("A", a), shade: (_, offset) => column(offset) },
      { ...plain("R", a), name: `R = Swizzle<${text}> o A`, swizzle, shade: (_, offset) => column(offset) },
    ],
    step: (i) => {
      const from = algebra.offset(a, i);
      const source = (from >> (swizzle.base + swizzle.shift)) % (1 << swizzle.bits);
      const to = algebra.swizzled(swizzle, from);
      return `A${coordinate(a, i)} = ${from}. Column ${column(from)} XOR ${source}, the row’s bits, is column ${column(to)}: offset ${to}.`;
    },
  };
}

/** @param {string} text @returns {Layout} */
const tiler = (text) => (text.includes(":") ? layout(text) : algebra.tilerOf(shape(text)));

/** @type {Record<string, Operation>} by the names of ./gemm layout's options, and of CuTe where there is none */
export const OPERATIONS = {
  show: {
    name: "show", operand: "", example: "", means: "The function itself.",
    make: (a) => {
      const r = plain("A", a);
      return { text: written(a), result: a, rule: "", differs: -1, grids: [r], step: (i) => `A${coordinate(a, i)} = ${algebra.offset(a, i)}.` };
    },
  },
  coalesce: {
    name: "coalesce", operand: "", example: "", means: "The same function of an index, with the fewest modes.",
    make: (a) => simple(a, algebra.coalesce(a)),
  },
  compose: {
    name: "composition", operand: "B", example: "(2,4):(1,8)", means: "R(i) = A(B(i)): B chooses indices of A, and in which order.",
    make: (a, text) => composed(a, layout(text)),
  },
  complement: {
    name: "complement", operand: "up to", example: "32", means: "Where copies of A begin so that they fill every offset, and none overlap.",
    make: (a, text) => complemented(a, algebra.complement(a, shape(text))),
  },
  divide: {
    name: "logical_divide", operand: "tile", example: "4:2", means: "R = (tile, rest): B’s elements of A are a tile, and the second mode counts tiles.",
    make: (a, text) => counted(a, algebra.logicalDivide(a, layout(text)), "tile", true),
  },
  tile: {
    name: "zipped_divide", operand: "tiler", example: "(2,4)", means: "Each mode divided by the tiler’s: R = (tile, tiles).",
    make: (a, text) => counted(a, algebra.divide(a, tiler(text), "zipped"), "tile", true),
  },
  tiled_divide: {
    name: "tiled_divide", operand: "tiler", example: "(2,4)", means: "zipped_divide with a mode for each mode of the rest: R = (tile, tiles…).",
    make: (a, text) => counted(a, algebra.divide(a, tiler(text), "tiled"), "tile", true),
  },
  flat_divide: {
    name: "flat_divide", operand: "tiler", example: "(2,4)", means: "zipped_divide with a mode for each mode of tile and rest: R = (tile…, tiles…).",
    make: (a, text) => simple(a, algebra.divide(a, tiler(text), "flat")),
  },
  product: {
    name: "logical_product", operand: "copies", example: "(2,2)", means: "R = (A, copies): A again and again, where B says.",
    make: (a, text) => counted(a, algebra.logicalProduct(a, layout(text)), "copy", false),
  },
  blocked_product: {
    name: "blocked_product", operand: "copies", example: "(2,2)", means: "Copies of A side by side: in each mode first the block, then the copies.",
    make: (a, text) => simple(a, algebra.blockedProduct(a, layout(text))),
  },
  raked_product: {
    name: "raked_product", operand: "copies", example: "(2,2)", means: "Copies of A interleaved: in each mode first the copies, then the block.",
    make: (a, text) => simple(a, algebra.rakedProduct(a, layout(text))),
  },
  right_inverse: {
    name: "right_inverse", operand: "", example: "", means: "A(R(i)) = i, for as many i as there are: which index has which offset.",
    make: (a) => {
      const result = algebra.rightInverse(a);
      return simple(a, result, (i) => `R(${i}) = ${algebra.offset(result, i)}, and A(${algebra.offset(result, i)}) = ${i}.`);
    },
  },
  left_inverse: {
    name: "left_inverse", operand: "", example: "", means: "R(A(i)) = i: back from an offset to its index.",
    make: (a) => simple(a, algebra.leftInverse(a)),
  },
  swizzle: {
    name: "Swizzle", operand: "bits, base, shift", example: "3,0,3", means: "XORs the row’s bits into the column’s: each row begins at another column.",
    make: swizzled,
  },
};

/** @type {{says: string, a: string, operation: string, b?: string}[]} */
export const EXAMPLES = [
  { says: "A row-major 4×8 matrix", a: "(4,8):(8,1)", operation: "show" },
  { says: "A column-major one", a: "(4,8):(1,4)", operation: "show" },
  { says: "Every second column", a: "(4,8):(8,1)", operation: "compose", b: "(4,4):(1,8)" },
  { says: "2×4 tiles", a: "(4,8):(8,1)", operation: "tile", b: "(2,4)" },
  { says: "What 4:2 leaves free", a: "4:2", operation: "complement", b: "24" },
  { says: "The sums of an m16n8 product: lane and register → element", a: "((4,8),(2,2)):((32,1),(16,8))", operation: "show" },
  { says: "Rows of 128 bytes, in chunks of 16 bytes", a: "(8,8):(8,1)", operation: "swizzle", b: "3,0,3" },
  { says: "The same in bytes, at every 16th", a: "(8,8):(128,16)", operation: "swizzle", b: "3,4,3" },
  { says: "Not a function A(B(i))", a: "(6,4):(4,1)", operation: "compose", b: "8:4" },
];
