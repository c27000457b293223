// Lesson 20's layout.hpp for a browser: the same operations, names and rules, over nested arrays. What both make of CuTe's 894
// recorded operands is the same (tests/layouts/algebra.test.js, tests/layout/layout_test.cpp).

/**
 * @typedef {number | any[]} Tree integers, nested: a shape, a stride or a coordinate
 * @typedef {{shape: Tree, stride: Tree}} Layout
 * @typedef {[number, number]} Leaf extent and stride
 * @typedef {{bits: number, base: number, shift: number}} Swizzle
 */

/** An operation is not defined for its operands. `rule`: as layout.hpp's Rule has it. */
export class Undefined extends Error {
  /** @param {string} rule */
  constructor(rule) {
    super(rule);
    this.rule = rule;
  }
}

/** @param {boolean} holds @param {string} rule */
function require(holds, rule) {
  if (!holds) throw new Undefined(rule);
}

/** @param {Tree} tree @returns {number[]} */
export const leaves = (tree) => (Array.isArray(tree) ? tree.flatMap(leaves) : [tree]);
/** @param {Tree} tree @returns {number} of modes */
const modes = (tree) => (Array.isArray(tree) ? tree.length : 1);
/** @param {Tree} tree @param {number} which @returns {Tree} */
const part = (tree, which) => (Array.isArray(tree) ? tree[which] : tree);
/** @param {Tree} tree @returns {number} how deep parentheses go */
const deep = (tree) => (Array.isArray(tree) ? 1 + Math.max(0, ...tree.map(deep)) : 0);
/** @param {Tree} a @param {Tree} b @returns {boolean} whether they are nested alike */
export const congruent = (a, b) =>
  Array.isArray(a) ? Array.isArray(b) && a.length === b.length && a.every((one, i) => congruent(one, b[i])) : !Array.isArray(b);
/** @param {number[]} all */
const product = (all) => all.reduce((so, one) => so * one, 1);

/** @param {Layout} a */
export const size = (a) => product(leaves(a.shape));
/** @param {Layout} a */
export const rank = (a) => modes(a.shape);
/** @param {Layout} a */
export const depth = (a) => deep(a.shape);
/** @param {Layout} a @param {number} which @returns {Layout} */
export const mode = (a, which) => ({ shape: part(a.shape, which), stride: part(a.stride, which) });
/** @param {Layout} a @returns {Leaf[]} */
function pairs(a) {
  const steps = leaves(a.stride);
  return leaves(a.shape).map((extent, i) => [extent, steps[i]]);
}
/** @param {Layout} a one more than the largest offset */
export const cosize = (a) => pairs(a).reduce((last, [extent, step]) => last + (extent - 1) * step, 1);

/** @param {number} extent @param {number} step @returns {Layout} */
const leaf = (extent, step) => ({ shape: extent, stride: step });
/** @param {Layout[]} all @returns {Layout} whose modes these are */
export const tuple = (all) => ({ shape: all.map((one) => one.shape), stride: all.map((one) => one.stride) });
/** @param {Leaf[]} all @param {Layout} none where there is none @returns {Layout} an integer where there is one, else a tuple */
function closed(all, none) {
  if (!all.length) return none;
  const made = tuple(all.map(([extent, step]) => leaf(extent, step)));
  return all.length > 1 ? made : mode(made, 0);
}

/** @param {Tree} shape @returns {Tree} the strides of a compact layout, left-most fastest; 0 for an extent of 1 */
export function compact(shape) {
  let next = 1;
  /** @param {Tree} tree @returns {Tree} */
  const steps = (tree) => {
    if (Array.isArray(tree)) return tree.map(steps);
    const step = tree === 1 ? 0 : next;
    next *= tree;
    return step;
  };
  return steps(shape);
}

/** @param {Layout} a @param {number} index @returns {number[]} its digits, the left-most the fastest; the last takes what is left */
export function digits(a, index) {
  const extents = leaves(a.shape);
  return extents.map((extent, i) => {
    if (i === extents.length - 1) return index;
    const digit = index % extent;
    index = Math.floor(index / extent);
    return digit;
  });
}
/** @param {Layout} a @param {number} index @returns {number} */
export function offset(a, index) {
  const steps = leaves(a.stride);
  return digits(a, index).reduce((sum, digit, i) => sum + digit * steps[i], 0);
}

/** @param {Layout} a @returns {Leaf[]} those of extent > 1, each joined with the one before where it continues it */
function joined(a) {
  /** @type {Leaf[]} */
  const out = [];
  for (const [extent, step] of pairs(a)) {
    const last = out.at(-1);
    if (extent === 1) continue;
    if (last && last[0] * last[1] === step) last[0] *= extent;
    else out.push([extent, step]);
  }
  return out;
}
/** @param {Layout} a @returns {Layout} the same function with the fewest leaves */
export const coalesce = (a) => closed(joined(a), leaf(1, 0));

/** @param {number} a @param {number} b */
const up = (a, b) => Math.ceil(a / b);

/** @param {Layout} a @returns {Leaf[]} joined, but with the step of its last mode, past which an index may go */
function unbounded(a) {
  const all = pairs(a);
  const last = all[all.length - 1];
  if (last[0] === 1) last[0] = 2;
  return joined(closed(all, leaf(1, 0)));
}

/**
 * What a leaf of B makes of A: layout.hpp's compose_leaf().
 * @param {Leaf[]} a @param {number} extent @param {number} step
 * @param {{highest: number[], divides: boolean}} found of A's digits
 * @returns {Layout}
 */
function composedLeaf(a, extent, step, found) {
  if (step === 0) return leaf(extent, 0);
  /** @type {Leaf[]} */
  const out = [];
  a.slice(0, -1).forEach(([available, stride], i) => {
    const taken = up(available, step);
    if (extent > 1 && taken === 1 && step % available !== 0) found.divides = false;
    if (extent > 1 && taken > 1) {
      if (extent > taken && available % step !== 0) found.divides = false;
      require(extent <= taken || extent % taken === 0, "shape_divides");
      const used = Math.min(extent, taken);
      found.highest[i] += (used - 1) * step;
      out.push([used, step * stride]);
      extent /= used;
    }
    step = up(step, available);
  });
  if (extent > 1 || !out.length) out.push([extent, step * a[a.length - 1][1]]);
  return closed(out, leaf(1, 0));
}

/** @param {Leaf[]} a @param {Layout} b @param {{highest: number[], divides: boolean}} found @returns {Layout} */
function composedTree(a, b, found) {
  if (!Array.isArray(b.shape)) return composedLeaf(a, b.shape, /** @type {number} */ (b.stride), found);
  return tuple(b.shape.map((_, i) => composedTree(a, mode(b, i), found)));
}

/** @param {Layout} a @param {Layout} b @returns {Layout} A(B(i)), unless compositionRule() names a rule */
export const composition = (a, b) => composedTree(unbounded(a), b, { highest: pairs(a).map(() => 0), divides: true });

/** @param {Layout} a @param {Layout} b @returns {string} the rule that their composition breaks, "" if none */
export function compositionRule(a, b) {
  const left = unbounded(a);
  const found = { highest: left.map(() => 0), divides: true };
  composedTree(left, b, found);
  if (!found.divides) return "stride_divides";
  return left.slice(0, -1).some(([extent], i) => found.highest[i] >= extent) ? "modes_carry" : "";
}

/** @param {Leaf[]} all @returns {Leaf[]} by stride, equal ones by extent */
const sorted = (all) => [...all].sort((x, y) => x[1] - y[1] || x[0] - y[0]);

/** @param {Layout} a @param {Tree} limit @returns {Layout} where copies of A begin that fill everything up to the limit */
export function complement(a, limit = cosize(a)) {
  /** @type {Leaf[]} */
  const gaps = [];
  let covered = 1;
  for (const [extent, step] of sorted(pairs(a).filter(([extent, step]) => step !== 0 && extent !== 1))) {
    require(step % covered === 0, "complement_disjoint");
    gaps.push([step / covered, covered]);
    covered = step * extent;
  }
  let count = 1;
  let step = covered;
  for (const extent of leaves(limit)) {
    count *= up(extent, step);
    step = up(step, extent);
  }
  gaps.push([count, covered]);
  return coalesce(closed(gaps, leaf(1, 0)));
}

/** @param {Layout} a @returns {Layout} the longest R with A(R(i)) = i */
export function rightInverse(a) {
  const flat = joined(a);
  /** @type {Leaf[]} */
  const out = [];
  for (let next = 1; ; next *= out[out.length - 1][0]) {
    const at = flat.findIndex(([, step]) => step === next);
    if (at < 0) return coalesce(closed(out, leaf(1, 0)));
    out.push([flat[at][0], product(flat.slice(0, at).map(([extent]) => extent))]);
  }
}

/** @param {Layout} a @returns {Layout} R with R(A(i)) = i */
export function leftInverse(a) {
  const flat = joined(a);
  /** @type {Leaf[]} */
  const out = [];
  let below = 1;
  let index = 0;
  let end = 1;
  for (const [extent, step] of sorted(flat)) {
    if (step === 0) continue;
    require(step % below === 0 && step >= end, "inverse_ordered");
    out.push([step / below, index]);
    const at = flat.findIndex((one) => one[1] === step);
    index = product(flat.slice(0, at).map((one) => one[0]));
    below = step;
    end = step * extent;
  }
  if (!out.length && flat.length) return coalesce(a);
  out.push([end / below, index]);
  return coalesce(closed(out, leaf(1, 0)));
}

/** @param {Layout} a @param {Layout} b @returns {Layout} (B, what B leaves of A), both seen through A */
export const logicalDivide = (a, b) => composition(a, tuple([b, complement(b, coalesce(a).shape)]));
/** @param {Layout} a @param {Layout} b @returns {Layout} (A, B's copies of A) */
export const logicalProduct = (a, b) => tuple([a, composition(complement(a, size(a) * cosize(b)), b)]);

/** @param {Tree} extents @returns {Layout} a tile of the first so many of each mode */
export function tilerOf(extents) {
  /** @param {Tree} tree @returns {Tree} */
  const ones = (tree) => (Array.isArray(tree) ? tree.map(ones) : tree === 1 ? 0 : 1);
  return { shape: extents, stride: ones(extents) };
}

/** @param {Layout} a @param {Layout} tiler @param {"zipped" | "tiled" | "flat"} form @returns {Layout} */
export function divide(a, tiler, form) {
  require(rank(tiler) <= rank(a), "tiler_rank");
  /** @type {Layout[]} */
  const tile = [];
  /** @type {Layout[]} */
  const rest = [];
  for (let i = 0; i < rank(a); ++i) {
    if (i >= rank(tiler)) {
      rest.push(mode(a, i));
      continue;
    }
    const parts = logicalDivide(mode(a, i), mode(tiler, i));
    tile.push(mode(parts, 0));
    rest.push(mode(parts, 1));
  }
  if (form === "flat") return tuple([...tile, ...rest]);
  return form === "tiled" ? tuple([tuple(tile), ...rest]) : tuple([tuple(tile), tuple(rest)]);
}

/** @param {Layout} a @param {Layout} b @param {boolean} blockFirst @returns {Layout} */
function interleaved(a, b, blockFirst) {
  const both = logicalProduct(a, b);
  const block = mode(both, 0);
  const copies = mode(both, 1);
  require(rank(block) === rank(copies), "tiler_rank");
  /** @param {Layout} x @param {Layout} y */
  const two = (x, y) => tuple(blockFirst ? [x, y] : [y, x]);
  if (!Array.isArray(block.shape)) return two(block, copies);
  return tuple(block.shape.map((_, i) => two(mode(block, i), mode(copies, i))));
}
/** @param {Layout} a @param {Layout} b */
export const blockedProduct = (a, b) => interleaved(a, b, true);
/** @param {Layout} a @param {Layout} b */
export const rakedProduct = (a, b) => interleaved(a, b, false);

/** @param {Swizzle} swizzle @param {number} at @returns {number} */
export function swizzled({ bits, base, shift }, at) {
  const source = ((1 << bits) - 1) << (base + shift);
  return at ^ ((at & source) >> shift);
}
