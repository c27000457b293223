// What is chosen: one selection for all views, which the URL's hash keeps.

/**
 * @typedef {object} Selection
 * @property {number} block index into the history
 * @property {number | null} event index into that block's events
 * @property {number | null} thread linear in the block
 * @property {number | null} warp of the block
 * @property {number | null} lane of the warp
 * @property {{row: number, col: number} | null} element of C
 * @property {number | null} line index into the trace's lines
 * @property {number | null} occurrence which of that line's requests by that warp, from 0
 * @property {number} step of the block, from 0
 */

/** @type {Selection} */
const NOTHING = {
  block: 0, event: null, thread: null, warp: null, lane: null, element: null, line: null, occurrence: null, step: 0,
};
const NUMBERS = /** @type {const} */ (["block", "event", "thread", "warp", "lane", "line", "occurrence", "step"]);

/**
 * @param {Selection} selection
 * @returns {string} block=0&warp=3&element=12,34; what is nothing, and block or step 0, is left out
 */
export function written(selection) {
  const parts = [];
  for (const name of NUMBERS) {
    const value = selection[name];
    if (value !== null && value !== NOTHING[name]) parts.push(`${name}=${value}`);
  }
  if (selection.element) parts.push(`element=${selection.element.row},${selection.element.col}`);
  return parts.join("&");
}

/**
 * @param {string} hash with or without its #; what is no selection in it is ignored
 * @returns {Selection}
 */
export function read(hash) {
  const selection = { ...NOTHING };
  const fields = new URLSearchParams(hash.replace(/^#/, ""));
  for (const name of NUMBERS) {
    const text = fields.get(name);
    if (text !== null && /^\d{1,9}$/.test(text)) selection[name] = Number(text);
  }
  const element = /^(\d{1,9}),(\d{1,9})$/.exec(fields.get("element") ?? "");
  if (element) selection.element = { row: Number(element[1]), col: Number(element[2]) };
  return selection;
}

/** The selection, and who wants to know when it changes. */
export class State {
  /**
   * @param {Selection} selection to begin with
   * @param {(wanted: Selection, before: Readonly<Selection>) => Selection} settle makes fields that contradict each other agree
   */
  constructor(selection = NOTHING, settle = (wanted) => wanted) {
    this.settle = settle;
    /** @type {Readonly<Selection>} */
    this.selection = Object.freeze(settle({ ...selection }, NOTHING));
    /** @type {Set<(now: Readonly<Selection>, before: Readonly<Selection>) => void>} */
    this.listeners = new Set();
  }

  /**
   * Calls `listener` at every change, and at once.
   * @param {(now: Readonly<Selection>, before: Readonly<Selection>) => void} listener
   * @returns {() => void} ends that
   */
  subscribe(listener) {
    this.listeners.add(listener);
    listener(this.selection, this.selection);
    return () => this.listeners.delete(listener);
  }

  /**
   * Changes some fields; whoever listens is told once, unless nothing is different.
   * @param {Partial<Selection>} fields
   */
  set(fields) {
    const before = this.selection;
    const now = Object.freeze(this.settle({ ...before, ...fields }, before));
    if (written(now) === written(before)) return;
    this.selection = now;
    for (const listener of [...this.listeners]) listener(now, before);
  }

  /** Has everything drawn anew: colours or sizes are others. */
  redraw() {
    for (const listener of [...this.listeners]) listener(this.selection, this.selection);
  }
}
