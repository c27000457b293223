// The page's layout algebra makes of CuTe's recorded operands what CuTe does, and reads what layout_text.hpp reads.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";

import * as algebra from "../../website/layouts/algebra.js";
import { layout, Malformed, shape, written } from "../../website/layouts/text.js";

const recorded = JSON.parse(readFileSync(new URL("../recorded/cute_layouts.json", import.meta.url), "utf8"));
const tiler = (text) => (text.includes(":") ? layout(text) : algebra.tilerOf(shape(text)));
const of = (make) => (args) => make(...args.map(layout));
const OPERATIONS = {
  coalesce: of(algebra.coalesce),
  complement: ([a, limit]) => algebra.complement(layout(a), Number(limit)),
  composition: of(algebra.composition),
  right_inverse: of(algebra.rightInverse),
  left_inverse: of(algebra.leftInverse),
  logical_divide: of(algebra.logicalDivide),
  logical_product: of(algebra.logicalProduct),
  zipped_product: of(algebra.logicalProduct),
  blocked_product: of(algebra.blockedProduct),
  raked_product: of(algebra.rakedProduct),
  zipped_divide: ([a, t]) => algebra.divide(layout(a), tiler(t), "zipped"),
  tiled_divide: ([a, t]) => algebra.divide(layout(a), tiler(t), "tiled"),
  flat_divide: ([a, t]) => algebra.divide(layout(a), tiler(t), "flat"),
};

test("CuTe's results, all of them recorded", () => {
  assert.equal(recorded.cases.length, 894);
  for (const { op, args, result, values } of recorded.cases) {
    const said = JSON.stringify({ op, args });
    if (op === "swizzle") {
      const [bits, base, shift] = args[0].match(/\d+/g).map(Number);
      const a = layout(args[1]);
      const found = values.map((_, i) => algebra.swizzled({ bits, base, shift }, algebra.offset(a, i)));
      assert.deepEqual(found, values, said);
      continue;
    }
    const found = OPERATIONS[op](args);
    assert.equal(written(found), result, said);
    assert.deepEqual(values.map((_, i) => algebra.offset(found, i)), values, said);
  }
});

test("a composition that is not A(B(i)) is known by its rule", () => {
  const a = layout("(6,4):(4,1)");
  assert.equal(algebra.compositionRule(a, layout("8:4")), "stride_divides");
  assert.equal(algebra.compositionRule(a, layout("8:3")), "");
  assert.equal(algebra.compositionRule(layout("(4,4):(1,8)"), layout("(2,2):(2,3)")), "modes_carry");
  assert.throws(() => algebra.composition(a, layout("4:2")), { rule: "shape_divides" });
  assert.throws(() => algebra.complement(layout("(4,2):(1,2)"), 16), { rule: "complement_disjoint" });
  assert.throws(() => algebra.leftInverse(layout("(4,2):(2,3)")), { rule: "inverse_ordered" });
  assert.throws(() => algebra.divide(a, tiler("(2,2,2)"), "zipped"), { rule: "tiler_rank" });
});

test("a text that is no layout is pointed at", () => {
  for (const [given, position] of [["(4,(2,3:1", 7], ["4:x", 2], ["(4,2):8", 6], ["4:1)", 3], ["(4,0)", 0], ["9999999999", 0]]) {
    assert.throws(() => layout(given), (error) => error instanceof Malformed && error.position === position, given);
  }
  for (const text of ["((4,2),(8,4)):((1,16),(4,32))", "1:0", "(7):(3)"]) assert.equal(written(layout(text)), text);
  assert.equal(written(layout("(4,1,3)")), "(4,1,3):(1,0,4)");
});
