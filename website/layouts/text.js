// Layouts as people write them, ((4,2),8):((1,16),4), and back: lesson 20's layout_text.hpp for a browser.

import { compact, congruent, cosize, leaves } from "layouts/algebra";

/** What is wrong with a text, and at which character, from 0. */
export class Malformed extends Error {
  /** @param {string} what @param {number} position */
  constructor(what, position) {
    super(what);
    this.position = position;
  }
}

const MOST = 2 ** 31; // of elements and offsets
const NUMBERS = 32;

/** @param {import("layouts/algebra").Tree} tree @returns {string} */
const treeText = (tree) => (Array.isArray(tree) ? `(${tree.map(treeText).join(",")})` : String(tree));
/** @param {import("layouts/algebra").Layout} a */
export const written = (a) => `${treeText(a.shape)}:${treeText(a.stride)}`;

/** Reads trees and layouts from left to right. */
class Parser {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  /** @param {string} character */
  take(character) {
    if (this.text[this.at] !== character) return false;
    ++this.at;
    return true;
  }

  /** @returns {number} */
  integer() {
    const start = this.at;
    let value = 0;
    for (; /^[0-9]$/.test(this.text[this.at] ?? ""); ++this.at) {
      value = value * 10 + Number(this.text[this.at]);
      if (value > MOST) throw new Malformed("the number is larger than 2147483648", start);
    }
    if (this.at === start) throw new Malformed("a number or an opening parenthesis is expected", start);
    return value;
  }

  /** @returns {import("layouts/algebra").Tree} */
  tree() {
    if (!this.take("(")) return this.integer();
    const all = [];
    do {
      const at = this.at;
      all.push(this.tree());
      if (leaves(all).length > NUMBERS) throw new Malformed("there are more than 32 numbers", at);
    } while (this.take(","));
    if (!this.take(")")) throw new Malformed("a comma or a closing parenthesis is expected", this.at);
    return all;
  }

  shape() {
    const start = this.at;
    const extents = this.tree();
    let elements = 1;
    for (const extent of leaves(extents)) {
      if (extent < 1) throw new Malformed("an extent of the shape is 0", start);
      elements *= extent;
      if (elements > MOST) throw new Malformed("the shape has more than 2147483648 elements", start);
    }
    return extents;
  }

  layout() {
    const shape = this.shape();
    if (!this.take(":")) return { shape, stride: compact(shape) };
    const at = this.at;
    const stride = this.tree();
    if (!congruent(shape, stride)) throw new Malformed("the stride is not nested as the shape is", at);
    if (cosize({ shape, stride }) > MOST) throw new Malformed("the strides lead past offset 2147483648", at);
    return { shape, stride };
  }

  end() {
    if (this.at < this.text.length) throw new Malformed("the layout has ended before this character", this.at);
  }
}

/** @param {string} text shape:stride, or a shape alone, which is compact @returns {import("layouts/algebra").Layout} */
export function layout(text) {
  const parser = new Parser(text);
  const read = parser.layout();
  parser.end();
  return read;
}

/** @param {string} text @returns {import("layouts/algebra").Tree} integers, nested: a shape */
export function shape(text) {
  const parser = new Parser(text);
  const read = parser.shape();
  parser.end();
  return read;
}
