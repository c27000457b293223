// A line of a kernel's source in pieces: what a reader of code sees at once (comments, numbers, words of the language), and the
// expressions that access memory.

/** @typedef {"" | "comment" | "word" | "number" | "string" | "directive"} Look */
/** @typedef {{text: string, look: Look, entry: number | null}} Piece entry: index into the trace's lines */
/** @typedef {{from: number, to: number, entry: number}} Range characters of the line */

const WORDS = new Set(
  ("alignas auto bool break case char class const constexpr continue default do double else enum extern false float float2 float4 for " +
    "goto if inline int int2 int4 long namespace new nullptr operator return short signed sizeof static static_assert static_cast " +
    "reinterpret_cast struct switch template this true typedef typename uint2 uint4 union unsigned using void volatile while " +
    "__device__ __forceinline__ __global__ __host__ __launch_bounds__ __restrict__ __shared__ __syncthreads").split(" "),
);
const TOKEN = /\/\/.*|\/\*.*?(?:\*\/|$)|"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\])'|^\s*#\s*\w+|\b\d[\w.]*|[A-Za-z_]\w*|[^\w"'/#]+|./g;

/** @param {string} token @returns {Look} */
function lookOf(token) {
  if (token.startsWith("//") || token.startsWith("/*")) return "comment";
  if (/^["']/.test(token)) return "string";
  if (/^\s*#/.test(token)) return "directive";
  if (/^\d/.test(token)) return "number";
  return WORDS.has(token) ? "word" : "";
}

/**
 * @param {string} line @param {boolean} within a comment that began on a line above
 * @returns {{tokens: {text: string, look: Look}[], within: boolean}} the line in order, and whether a comment goes on below
 */
export function tokens(line, within) {
  /** @type {{text: string, look: Look}[]} */
  const found = [];
  let rest = line;
  if (within) {
    const end = line.indexOf("*/");
    if (end < 0) return { tokens: [{ text: line, look: "comment" }], within: true };
    found.push({ text: line.slice(0, end + 2), look: "comment" });
    rest = line.slice(end + 2);
  }
  for (const [text] of rest.matchAll(TOKEN)) found.push({ text, look: lookOf(text) });
  const last = found[found.length - 1];
  return { tokens: found, within: last !== undefined && last.text.startsWith("/*") && !last.text.endsWith("*/") };
}

/** @param {string} line @param {number} from behind a name @returns {number} behind its subscripts, `from` where it has none */
function behindSubscripts(line, from) {
  let at = from;
  for (;;) {
    const open = /^\s*\[/.exec(line.slice(at));
    if (!open) return at;
    let depth = 0, end = at + open[0].length - 1;
    for (; end < line.length; end++) {
      if (line[end] === "[") depth++;
      if (line[end] === "]" && --depth === 0) break;
    }
    if (depth) return at; // it goes on below
    at = end + 1;
  }
}

/**
 * @param {string} code of a line @param {string} name
 * @returns {{from: number, to: number, stored: boolean}[]} name[…], and *name where that is no product
 */
function places(code, name) {
  if (!/^\w+$/.test(name)) return [];
  return [...code.matchAll(new RegExp(`\\b${name}\\b`, "g"))].flatMap(({ index = 0 }) => {
    const behind = index + name.length, to = behindSubscripts(code, behind);
    const from = to === behind && /(^|[-=(*+,&|?:<>;{!])\s*\*$/.test(code.slice(0, index)) ? index - 1 : index;
    return to > behind || from < index ? [{ from, to, stored: /^\s*=(?!=)/.test(code.slice(to)) }] : [];
  });
}

/**
 * @param {string[]} lines of a file @param {number} number from 1, that of an access @param {string} array
 * @returns {number} the line in which its expression is: that one, or one in which the same statement goes on
 */
export function lineOf(lines, number, array) {
  for (let at = number; at < number + 3 && at <= lines.length; at++) {
    const code = lines[at - 1].split("//")[0];
    if (places(code, array).length) return at;
    if (code.includes(";")) break;
  }
  return number;
}

/**
 * Where a line accesses memory. A store is what stands before an assignment; what is not found by its array's name is the line's
 * statement as a whole.
 * @param {string} line
 * @param {{entry: number, array: string, op: string}[]} accesses of the line
 * @returns {{ranges: Range[], others: number[]}} in order, not over each other; others: entries for which there is no place left
 */
export function expressions(line, accesses) {
  const comment = line.indexOf("//");
  const end = comment < 0 ? line.trimEnd().length : comment;
  /** @type {Range[]} */
  const ranges = [];
  /** @param {number} from @param {number} to */
  const free = (from, to) => ranges.every((range) => to <= range.from || from >= range.to);
  const missing = [];
  for (const { entry, array, op } of accesses) {
    const code = line.slice(0, end);
    const direct = places(code, array);
    const all = direct.length ? direct : places(code, array.toLowerCase()); // float* a walks through A
    const right = all.filter(({ stored }) => stored === (op === "store"));
    const mine = (right.length ? right : all).filter(({ from, to }) => free(from, to));
    for (const { from, to } of mine) ranges.push({ from, to, entry });
    if (!mine.length) missing.push(entry);
  }
  if (missing.length && !ranges.length) {
    const from = line.length - line.trimStart().length;
    const to = end > from ? line.slice(0, end).trimEnd().length : line.length;
    ranges.push({ from, to, entry: /** @type {number} */ (missing.shift()) });
  }
  return { ranges: ranges.sort((a, b) => a.from - b.from), others: missing };
}

/**
 * @param {{text: string, look: Look}[]} found of a line @param {Range[]} ranges
 * @returns {Piece[]} the same text, cut where a range begins or ends
 */
export function pieces(found, ranges) {
  const cuts = ranges.flatMap(({ from, to }) => [from, to]);
  /** @type {Piece[]} */
  const all = [];
  let at = 0;
  for (const { text, look } of found) {
    const inside = cuts.filter((cut) => cut > at && cut < at + text.length);
    for (const [index, from] of [at, ...inside].entries()) {
      const to = inside[index] ?? at + text.length;
      const entry = ranges.find((range) => from >= range.from && to <= range.to)?.entry ?? null;
      all.push({ text: text.slice(from - at, to - at), look, entry });
    }
    at += text.length;
  }
  return all;
}
