// Lines of source in pieces: what they look like, and where they access memory.

import assert from "node:assert/strict";
import test from "node:test";

import { expressions, lineOf, pieces, tokens } from "../../website/explorer/code.js";

/** The text of each access, by its entry. */
function marked(line, ...accesses) {
  const { ranges, others } = expressions(line, accesses.map(([array, op], entry) => ({ entry, array, op })));
  return { found: ranges.map(({ from, to, entry }) => [entry, line.slice(from, to)]), others };
}

test("a load and a store of one line are apart", () => {
  const line = "As[y][x] = row < M && k0 + x < K ? A[row * lda + k0 + x] : 0.0f;";
  assert.deepEqual(marked(line, ["A", "load"], ["As", "store"]), { found: [[1, "As[y][x]"], [0, "A[row * lda + k0 + x]"]], others: [] });
  assert.deepEqual(marked("c[i] = a[i] + c[i];", ["c", "load"], ["c", "store"]).found, [[1, "c[i]"], [0, "c[i]"]]);
  assert.deepEqual(marked("sums[map[i]] += x;", ["sums", "load"]).found, [[0, "sums[map[i]]"]]);
});

test("a pointer that walks through a matrix is found by its small letter, and a product is no access", () => {
  assert.deepEqual(marked("acc += *a * *b;", ["A", "load"], ["B", "load"]).found, [[0, "*a"], [1, "*b"]]);
  assert.deepEqual(marked("x = two *a;", ["A", "load"]).found, [[0, "x = two *a;"]]); // the statement as a whole
});

test("what is not found is the statement without its comment, and what comes after that has no place", () => {
  assert.deepEqual(marked("  load4(p + i);  // A[k]", ["A", "load"], ["B", "load"]), { found: [[0, "load4(p + i);"]], others: [1] });
});

test("an expression may be on a line in which the statement goes on", () => {
  const lines = ["*reinterpret_cast<float4*>(&a_frag[i]) =", "    *reinterpret_cast<float4*>(&As[k][y]);", "As[0][0] = 1;"];
  assert.deepEqual([lineOf(lines, 1, "As"), lineOf(lines, 1, "Bs"), lineOf(lines, 2, "As")], [2, 1, 2]);
});

test("pieces are the line, with comments, words and numbers told apart", () => {
  for (const line of ["for (int k = 0; k < 1'024; ++k) acc += A[k] / 2.0f; /* a */ x(); // \"b", "#pragma unroll 4", 'f("a // b", \'c\');', ""]) {
    const { ranges } = expressions(line, [{ entry: 7, array: "A", op: "load" }]);
    const all = pieces(tokens(line, false).tokens, ranges);
    assert.equal(all.map(({ text }) => text).join(""), line);
  }
  const looks = (line, within = false) => tokens(line, within).tokens.filter(({ look }) => look).map(({ text, look }) => [text, look]);
  assert.deepEqual(looks("int i = 4; // int"), [["int", "word"], ["4", "number"], ["// int", "comment"]]);
  assert.deepEqual(looks("a */ int", true), [["a */", "comment"], ["int", "word"]]);
  assert.equal(tokens("x /* begins", false).within, true);
});
