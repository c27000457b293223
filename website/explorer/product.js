// A, B and C; who stores which element of C; what of A and B is where in a step.

import { element as chooseElement } from "explorer/choosing";
import { colours, counted, el, filled, framed, grouped, hatch, outlined, sharp, SMALL, swatch, tell, whenHigher, whenResized, written } from "explorer/dom";
import { FLIGHT, fills, grown, rectangles, REGISTERS, SHARED, snapshot, stageOf, stateOf, USED } from "explorer/contents";
import { WARP, WARPGROUP } from "explorer/payload";
import { stepName } from "explorer/playing";

/** @typedef {import("explorer/contents").Fill} Fill */
/** @typedef {import("explorer/contents").Range} Range */
/** @typedef {import("explorer/contents").Snapshot} Snapshot */
/** @typedef {import("explorer/state").Selection} Selection */

const GAP = 26; // CSS pixels between the matrices, with their names
const TALLEST = 620;
const LOUPE = { cell: 27, least: 3, most: 7 }; // CSS pixels an element; elements a side

/** @param {number} from @param {number} to behind the last one @returns {string} 0–127 */
export function span(from, to) {
  return to - from === 1 ? String(from) : `${from}–${to - 1}`;
}

/** @param {string} name @param {Range} range @returns {string} A[0–127][16–23] */
function part(name, range) {
  return `${name}[${span(range.row, range.rowEnd)}][${span(range.col, range.colEnd)}]`;
}

/** @param {Iterable<Range>} ranges @returns {Range | null} around all of them */
function hull(ranges) {
  let found = null;
  for (const { row, rowEnd, col, colEnd } of ranges) found = grown(grown(found, row, col), rowEnd - 1, colEnd - 1);
  return found;
}

/**
 * The fills of the picture: shades differ in lightness, and what is no shade of C's is hatched or dotted.
 * @param {CanvasRenderingContext2D} context
 */
function shades(context) {
  const colour = colours();
  return {
    colour,
    used: colour.strong,
    landed: colour.light,
    flight: hatch(context, "/", colour.paper, colour.ink),
    registers: hatch(context, ".", colour.pale, colour.ink),
    block: colour.light,
    warp: colour.mid,
    thread: colour.strong,
  };
}

/** Where the matrices stand on the canvas, and how large their elements are. */
class Layout {
  /** @param {number} width @param {{m: number, n: number, k: number}} size @param {number} tallest */
  constructor(width, { m, n, k }, tallest) {
    const long = Math.max(m, n), deep = Math.max(0.6 * long, Math.min(k, 1.5 * long)); // else there is no room for C, or for what is above A
    const left = 20;
    const scale = Math.min((width - left - GAP - 2) / (deep + n), (tallest - 2 * GAP) / (deep + m));
    this.scale = scale;
    this.deep = (scale * deep) / k; // along K
    this.scaled = deep !== k;
    this.a = { x: left, y: GAP + scale * deep + GAP, width: scale * deep, height: scale * m };
    this.b = { x: left + this.a.width + GAP, y: GAP, width: scale * n, height: scale * deep };
    this.c = { x: this.b.x, y: this.a.y, width: this.b.width, height: this.a.height };
    this.height = this.c.y + this.c.height + 2;
    this.width = Math.min(width, this.c.x + this.c.width + 2);
  }
}

/** What of the view is on the page. */
class Parts {
  /** @param {Data} data */
  constructor(data) {
    /** @param {string} name @param {number} most */
    const number = (name, most) => el("input", { type: "number", min: 0, max: most, value: 0, "aria-label": `${name} of C`, inputmode: "numeric" });
    this.canvas = el("canvas", {
      tabindex: 0, role: "application", "aria-roledescription": "picture of the matrices",
      "aria-label": "A, B and C. The arrow keys move the chosen element of C, with Shift by 8; Enter lets it follow the pointer or holds it.",
      "aria-describedby": "product-words",
    });
    this.picture = el("div", { class: "matrices" }, this.canvas);
    this.row = number("Row", data.trace.m - 1);
    this.col = number("Column", data.trace.n - 1);
    this.holding = el("span", { class: "note", role: "status" });
    this.legend = el("ul", { class: "legend" });
    this.said = el("div", { class: "readout", id: "product-words", "aria-live": "polite" });
    this.inStep = el("div", { class: "readout", id: "product-step", "aria-live": "polite" });
    this.bars = el("canvas", { role: "img", "aria-label": "What is in shared memory; the text below says it" });
  }

  /** @param {HTMLElement} element */
  place(element) {
    element.append(
      this.picture, this.bars, this.said, this.inStep, this.legend,
      el("div", { class: "controls" }, el("label", {}, "C: row", this.row), el("label", {}, "column", this.col), this.holding),
      el("p", { class: "note" },
        "Point at an element of C, tap it, or move it with the arrow keys. A click holds it, another lets it go. The inset enlarges C around ",
        "it: the number of the thread that stores each element, with thick lines between warps."),
    );
  }
}

/**
 * Pointer, keys and fields choose an element of C.
 * @param {Parts} parts @param {Data} data @param {State} state @param {() => Layout | null} layoutNow
 */
function listen({ canvas, row, col, holding }, data, state, layoutNow) {
  const { m, n } = data.trace;
  let held = false;
  /** @param {boolean} now whether the chosen element stays where it is while the pointer moves */
  const hold = (now) => {
    held = now;
    holding.textContent = now ? "Held: the text is about this element, wherever the pointer is." : "Follows the pointer.";
  };
  hold(false);

  /** @param {number} r @param {number} c */
  const choose = (r, c) => {
    const at = { r: Math.max(0, Math.min(m - 1, Math.floor(r))), c: Math.max(0, Math.min(n - 1, Math.floor(c))) };
    state.set(chooseElement(data, state.selection, at.r, at.c));
  };

  /** @param {PointerEvent} event @returns {boolean} whether it is at C */
  const point = (event) => {
    const layout = layoutNow();
    if (!layout) return false;
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left - layout.c.x;
    const y = event.clientY - box.top - layout.c.y;
    if (x < 0 || y < 0 || x >= layout.c.width || y >= layout.c.height) return false;
    choose(y / layout.scale, x / layout.scale);
    return true;
  };
  canvas.addEventListener("pointermove", (event) => {
    if (!held || event.buttons) point(event);
  });
  canvas.addEventListener("pointerdown", (event) => {
    if (point(event)) hold(event.pointerType === "mouse" ? !held : true);
  });
  canvas.addEventListener("keydown", (event) => {
    const now = state.selection.element ?? { row: 0, col: 0 };
    const far = event.shiftKey ? 8 : 1;
    /** @type {Record<string, [number, number]>} */
    const moves = {
      ArrowUp: [now.row - far, now.col], ArrowDown: [now.row + far, now.col], ArrowLeft: [now.row, now.col - far],
      ArrowRight: [now.row, now.col + far], Home: [now.row, 0], End: [now.row, n - 1],
    };
    if (event.key === "Enter") hold(!held);
    else if (event.key in moves) {
      hold(true);
      choose(...moves[event.key]);
    } else return;
    event.preventDefault();
  });
  for (const input of [row, col]) {
    input.addEventListener("change", () => {
      hold(true);
      choose(Number(row.value), Number(col.value));
    });
  }
}

/** @param {HTMLElement} element @param {Data} data @param {State} state */
export function mount(element, data, state) {
  if (!data.blocks.length) {
    element.append(el("p", { class: "readout" }, "No block’s history was kept, so there is nothing to point at; the findings below may say why."));
    return;
  }
  const parts = new Parts(data);
  const { canvas, picture } = parts;
  parts.place(element);
  /** @type {Layout | null} */
  let layout = null;
  listen(parts, data, state, () => layout);

  /** @type {{block: Block, step: number, found: Snapshot} | null} */
  let kept = null;
  const block = () => data.blocks[state.selection.block];
  const snapshotNow = () => {
    const { step } = state.selection;
    if (!kept || kept.block !== block() || kept.step !== step) kept = { block: block(), step, found: snapshot(block(), step) };
    return kept.found;
  };
  const section = /** @type {HTMLElement} */ (element.closest("section"));
  const draw = () => {
    const width = picture.clientWidth;
    if (!width) return;
    drawBars(parts.bars, element.clientWidth, block(), state.selection.step);
    // On the stage, the matrices and shared memory are as high as there is room for both.
    const staged = getComputedStyle(section).overflowY === "auto";
    const above = picture.getBoundingClientRect().top - section.getBoundingClientRect().top + section.scrollTop;
    const tallest = staged ? Math.max(260, section.clientHeight - above - parts.bars.offsetHeight - 12) : TALLEST;
    layout = new Layout(width, data.trace, tallest);
    canvas.dataset.c = [layout.c.x, layout.c.y, layout.scale].join(" "); // where C stands, for whoever points by program
    new Painter(canvas, layout, data, state.selection).paint(snapshotNow());
  };
  state.subscribe((now) => {
    parts.row.value = String(now.element?.row ?? "");
    parts.col.value = String(now.element?.col ?? "");
    draw();
    tell(parts.said, elementWords(data, now));
    tell(parts.inStep, stepWords(data, now, snapshotNow()));
    drawLegend(parts.legend, layout?.scaled ?? false, block().raw.multiplies.length > 0);
  });
  whenResized(picture, draw);
  whenHigher(section, draw);
}

/** @typedef {{count: number, hull: Range | null}} Stored elements of C */

/**
 * The elements of C that such threads store.
 * @param {Block} block @param {(thread: number) => boolean} [test] all
 * @returns {Stored}
 */
export function storedBy(block, test = () => true) {
  const owned = block.owned.filter(({ thread }) => test(thread));
  return { count: owned.length, hull: hull(owned.map(({ row, col }) => ({ row, rowEnd: row + 1, col, colEnd: col + 1 }))) };
}

/** @param {Stored} stored @returns {string} 16 elements of C, rows 0–3 and columns 0–3 */
function storedWords({ count, hull: around }) {
  if (!around) return "no element of C";
  const full = (around.rowEnd - around.row) * (around.colEnd - around.col) === count;
  const rows = `row${around.rowEnd - around.row > 1 ? "s" : ""} ${span(around.row, around.rowEnd)}`;
  const columns = `column${around.colEnd - around.col > 1 ? "s" : ""} ${span(around.col, around.colEnd)}`;
  return `${counted(count, "element")} of C, ${full ? "" : "within "}${rows} and ${columns}`;
}

/**
 * @param {Block} block @param {number | null} warp
 * @returns {number | null} the warpgroup that it is in, if that multiplies by wgmma
 */
function warpgroupOf(block, warp) {
  if (warp === null) return null;
  const group = Math.floor(warp / WARPGROUP);
  return block.raw.multiplies.some(({ warpgroup }) => warpgroup === group) ? group : null;
}

/** @param {number} group @returns {string} warpgroup 1 (warps 4–7) */
const groupName = (group) => `warpgroup ${group} (warps ${span(group * WARPGROUP, (group + 1) * WARPGROUP)})`;

/** @param {Data} data @param {Readonly<Selection>} now @returns {string[]} */
function elementWords(data, now) {
  const block = data.blocks[now.block];
  const { element, thread, warp } = now;
  const sentences = [];
  if (element) {
    const where = `C[${element.row}][${element.col}]`;
    const owner = data.ownerOf(element.row, element.col);
    if (!owner) {
      const kept = data.blocks.map((one) => one.name).join(", ");
      return [`${where}: none of the blocks whose history was kept stores it: ${kept}.`];
    }
    sentences.push(
      `${where}: block ${data.blocks[owner.block].name}, warp ${Math.floor(owner.thread / WARP)}, thread ${owner.thread} (lane ${owner.thread % WARP}). ` +
      `It is row ${element.row} of A times column ${element.col} of B.`,
    );
  }
  if (thread !== null) {
    const mine = storedBy(block, (one) => one === thread);
    const alone = !block.raw.multiplies.length && !block.raw.events.some((event) => !Array.isArray(event) && event.e === "mma");
    const sums = mine.count && alone ? `, whose ${mine.count === 1 ? "sum" : "sums"} it keeps in registers` : "";
    sentences.push(`Thread ${thread} stores ${storedWords(mine)}${sums}.`);
  }
  if (warp !== null) {
    const warps = storedBy(block, (one) => Math.floor(one / WARP) === warp);
    sentences.push(`Warp ${warp} stores ${storedWords(warps)}; block ${block.name} ${storedWords(storedBy(block))}.`);
    const group = warpgroupOf(block, warp);
    if (group !== null) {
      const together = storedBy(block, (one) => Math.floor(one / WARP / WARPGROUP) === group);
      const name = groupName(group);
      sentences.push(`${name[0].toUpperCase()}${name.slice(1)} multiplies together and stores ${storedWords(together)}.`);
    }
  }
  return sentences.length ? sentences : ["No element of C is chosen."];
}

/** @param {Data} data @param {Readonly<Selection>} now @param {Snapshot} found @returns {string[]} */
function stepWords(data, now, found) {
  const block = data.blocks[now.block];
  const { arrays } = block.raw;
  const sentences = [`${stepName(block, now.step)}.`];
  const kinds = /** @type {const} */ ([
    [USED, "read in this step"], [FLIGHT, "on its way to shared memory"], [REGISTERS, "loaded into registers"],
  ]);
  for (const [mark, words] of kinds) {
    const parts = [];
    for (const [matrix, marks] of found.marks) {
      if (arrays[matrix].name === "C") continue;
      const range = hull(rectangles(marks, arrays[matrix].cols ?? 1, (one) => (one & mark) !== 0));
      if (range) parts.push(part(arrays[matrix].name, range));
    }
    if (parts.length) sentences.push(`${words[0].toUpperCase()}${words.slice(1)}: ${parts.join(" and ")}.`);
  }
  /** @param {Snapshot["threads"]} by @param {(one: number) => boolean} test */
  const read = (by, test) => [...by].flatMap(([matrix, readers]) => {
    const range = hull([...readers].filter(([one]) => test(one)).map(([, one]) => one));
    return range && arrays[matrix].name !== "C" ? [part(arrays[matrix].name, range)] : [];
  });
  const mineAlone = warpgroupOf(block, now.warp);
  for (const group of mineAlone !== null ? [mineAlone] : new Set(block.raw.multiplies.map(({ warpgroup }) => warpgroup))) {
    const parts = read(found.warpgroups, (one) => one === group);
    if (parts.length) sentences.push(`In its wgmma, ${groupName(group)} multiplies ${parts.join(" by ")}.`);
  }
  const { thread } = now;
  if (thread !== null) {
    const mine = read(found.threads, (one) => one === thread);
    const warp = read(found.threads, (one) => Math.floor(one / WARP) === Math.floor(thread / WARP));
    if (mine.length) sentences.push(`Thread ${thread} reads ${mine.join(" and ")}, its warp ${warp.join(" and ")}.`);
  }
  for (const line of sharedWords(block, now.step)) sentences.push(line);
  return sentences;
}

const HOW = { stores: "through registers", "cp.async": "by cp.async", TMA: "by TMA" };

/**
 * @param {Block} block @param {number} step
 * @returns {{array: number, pieces: {fill: Fill, state: "in use" | "in flight" | "landed"}[]}[]} what lies in each shared array
 */
function inShared(block, step) {
  const barriers = new Set(block.raw.mbarriers.map(({ array }) => array));
  const found = block.raw.arrays.flatMap((array, index) => {
    if (array.space !== "shared" || array.rank !== null || barriers.has(index)) return [];
    const pieces = fills(block).flatMap((fill) => {
      const now = fill.shared === index ? stateOf(fill, step) : null;
      return now ? [{ fill, state: now }] : [];
    });
    pieces.sort((a, b) => a.fill.lo - b.fill.lo || a.fill.asked - b.fill.asked);
    return [{ array: index, pieces }];
  });
  return found.sort((a, b) => block.raw.arrays[a.array].name.localeCompare(block.raw.arrays[b.array].name));
}

/** @param {Block} block @param {number} step @returns {string[]} */
function sharedWords(block, step) {
  const { arrays } = block.raw;
  return inShared(block, step).map(({ array, pieces }) => {
    const { name, bytes } = arrays[array];
    const what = `${name} (${grouped(bytes)} bytes)`;
    if (!pieces.length) return `${what} holds nothing that is known to come from A or B.`;
    /** @type {Map<string, string[]>} */
    const places = new Map(); // by stage, in the order of addresses
    for (const { fill, state: now } of pieces) {
      const stage = stageOf(block, fill);
      const key = stage === null ? "" : `stage ${stage}: `;
      const words = `${part(arrays[fill.matrix].name, fill)} ${now}`;
      places.set(key, [...(places.get(key) ?? []), words]);
    }
    const ways = [...new Set(pieces.map(({ fill }) => HOW[fill.how]))].join(" and ");
    return `${what}, filled ${ways}, holds ${[...places].map(([key, words]) => key + words.join(" and ")).join("; ")}.`;
  });
}

/** Paints A, B and C. */
class Painter {
  /** @param {HTMLCanvasElement} canvas @param {Layout} layout @param {Data} data @param {Readonly<Selection>} now */
  constructor(canvas, layout, data, now) {
    this.layout = layout;
    this.data = data;
    this.now = now;
    this.block = data.blocks[now.block];
    this.context = sharp(canvas, layout.width, layout.height);
    this.shade = shades(this.context);
  }

  /** @param {"a" | "b" | "c"} which @param {Range} range @returns {[number, number, number, number]} */
  place(which, { row, rowEnd, col, colEnd }) {
    const { [which]: where, deep, scale } = this.layout;
    const across = which === "a" ? deep : scale;
    const down = which === "b" ? deep : scale;
    return [where.x + col * across, where.y + row * down, (colEnd - col) * across, (rowEnd - row) * down];
  }

  /** @param {string | CanvasPattern} fill @param {"a" | "b" | "c"} which @param {Range[]} ranges @param {number} [least] pixels */
  fill(fill, which, ranges, least = 0) {
    for (const range of ranges) {
      const [x, y, width, height] = this.place(which, range);
      filled(this.context, fill, x, y, Math.max(width, least), Math.max(height, least));
    }
  }

  /** @param {Snapshot} found */
  paint(found) {
    const { context, layout, shade: { colour }, now: { element } } = this;
    const { m, n, k } = this.data.trace;
    context.font = '600 15px "DejaVu Sans", Verdana, sans-serif';
    context.textBaseline = "bottom";
    for (const [name, where] of /** @type {const} */ ([["A", layout.a], ["B", layout.b], ["C", layout.c]])) {
      written(context, colour.ink, name, where.x, where.y - 4);
      filled(context, colour.paper, where.x, where.y, where.width, where.height);
    }
    const all = storedBy(this.block).hull;
    if (all) {
      this.fill(colour.pale, "a", [{ ...all, col: 0, colEnd: k }]);
      this.fill(colour.pale, "b", [{ ...all, row: 0, rowEnd: k }]);
    }
    this.operands(found);
    this.product();
    this.loupe();
    for (const { x, y, width, height } of [layout.a, layout.b, layout.c]) framed(context, colour.grey, 1, x, y, width, height);
    if (element) {
      const one = { row: element.row, rowEnd: element.row + 1, col: element.col, colEnd: element.col + 1 };
      const outline = (/** @type {[number, number, number, number]} */ [x, y, width, height]) =>
        outlined(context, x - 2, y - 2, Math.max(width, 2) + 4, Math.max(height, 2) + 4);
      outline(this.place("a", { ...one, col: 0, colEnd: k }));
      outline(this.place("b", { ...one, row: 0, rowEnd: k }));
      outline(this.place("c", one));
    }
    context.fillStyle = colour.grey;
    context.font = SMALL;
    if (layout.b.x - layout.a.x - GAP > 60) context.fillText(`${m}×${k}`, layout.a.x + 20, layout.a.y - 5);
    context.fillText(`${k}×${n}`, layout.b.x + 20, layout.b.y - 5);
    context.fillText(`${m}×${n}`, layout.c.x + 20, layout.c.y - 5);
  }

  /**
   * What of A and B is where.
   * @param {Snapshot} found
   */
  operands(found) {
    const { shade } = this;
    const layers = /** @type {[string | CanvasPattern, (mark: number) => boolean][]} */ ([
      [shade.landed, (mark) => (mark & SHARED) !== 0 && !(mark & (USED | FLIGHT))],
      [shade.registers, (mark) => (mark & REGISTERS) !== 0 && !(mark & (SHARED | USED | FLIGHT))],
      [shade.flight, (mark) => (mark & FLIGHT) !== 0 && !(mark & USED)],
      [shade.used, (mark) => (mark & USED) !== 0],
    ]);
    for (const [matrix, marks] of found.marks) {
      const { name, cols } = this.block.raw.arrays[matrix];
      if (name !== "A" && name !== "B") continue;
      for (const [fill, test] of layers) this.fill(fill, name === "A" ? "a" : "b", rectangles(marks, cols ?? 1, test), 0.5);
    }
  }

  /** Who stores what of C. */
  product() {
    const { context, shade, block, data: { trace: { m, n }, blocks }, now: { thread, warp } } = this;
    const marks = new Uint8Array(m * n);
    for (const { row, col, thread: owner } of block.owned) {
      if (row < m && col < n) marks[row * n + col] = owner === thread ? 3 : Math.floor(owner / WARP) === warp ? 2 : 1;
    }
    for (const [mark, fill] of /** @type {[number, string][]} */ ([[1, shade.block], [2, shade.warp], [3, shade.thread]])) {
      this.fill(fill, "c", rectangles(marks, n, (one) => one === mark));
    }
    for (const one of [...blocks.filter((other) => other !== block), block]) {
      const around = storedBy(one).hull;
      const [stroke, wide] = one === block ? [shade.colour.ink, 2] : [shade.colour.grey, 1];
      if (around) framed(context, stroke, wide, ...this.place("c", around));
    }
    const group = warpgroupOf(block, warp);
    const together = group === null ? null : storedBy(block, (one) => Math.floor(one / WARP / WARPGROUP) === group).hull;
    if (!together) return;
    const [x, y, width, height] = this.place("c", together);
    context.setLineDash([6, 4]);
    context.strokeRect(x + 2, y + 2, width - 4, height - 4);
    context.setLineDash([]);
  }

  /** C around the chosen element, enlarged, in the corner above A where nothing else is: who stores what. */
  loupe() {
    const { context, shade: { colour }, layout: { a, b, c, scale }, data, now: { element, thread, block } } = this;
    const { m, n } = data.trace;
    const room = Math.min(a.width, b.height);
    const many = Math.min(LOUPE.most, Math.floor(room / LOUPE.cell), m, n);
    const side = many % 2 ? many : many - 1;
    if (!element || side < Math.min(LOUPE.least, m, n)) return;
    const cell = Math.floor(room / side), x0 = a.x, y0 = b.y;
    /** @param {number} at @param {number} size */
    const first = (at, size) => Math.max(0, Math.min(size - side, at - (side >> 1)));
    const top = first(element.row, m), left = first(element.col, n);
    const owners = Array.from({ length: side * side }, (_, at) => data.ownerOf(top + Math.floor(at / side), left + (at % side)));
    const backs = [colour.paper, colour.light, colour.pale];
    // From the element to where it is large.
    context.strokeStyle = colour.mark;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(x0 + side * cell, y0 + side * cell);
    context.lineTo(c.x + element.col * scale, c.y + element.row * scale);
    context.stroke();
    context.save();
    context.font = cell < 34 ? '10px "DejaVu Sans", Verdana, sans-serif' : SMALL;
    context.textBaseline = "middle";
    context.textAlign = "center";
    owners.forEach((owner, at) => {
      const x = x0 + (at % side) * cell, y = y0 + Math.floor(at / side) * cell;
      const mine = owner !== null && owner.block === block && owner.thread === thread;
      filled(context, mine ? colour.strong : owner ? backs[Math.floor(owner.thread / WARP) % backs.length] : colour.paper, x, y, cell, cell);
      framed(context, colour.grey, 1, x, y, cell, cell);
      written(context, mine ? colour["on-strong"] : colour.ink, owner ? String(owner.thread) : "–", x + cell / 2, y + cell / 2);
    });
    const warps = owners.map((owner) => owner && `${owner.block} ${Math.floor(owner.thread / WARP)}`);
    context.fillStyle = colour.ink;
    warps.forEach((warp, at) => {
      const x = x0 + (at % side) * cell, y = y0 + Math.floor(at / side) * cell;
      if (at % side && warp !== warps[at - 1]) context.fillRect(x - 1.5, y, 3, cell);
      if (at >= side && warp !== warps[at - side]) context.fillRect(x, y - 1.5, cell, 3);
    });
    framed(context, colour.ink, 1.5, x0, y0, side * cell, side * cell);
    outlined(context, x0 + (element.col - left) * cell, y0 + (element.row - top) * cell, cell, cell);
    context.restore();
    context.font = SMALL;
    const title = `C[${span(top, top + side)}][${span(left, left + side)}]`;
    const whole = `${title}: threads`; // where the name of B leaves room for it
    const fits = x0 + context.measureText(whole).width < b.x - 6;
    written(context, colour.grey, fits ? whole : title, x0, y0 - 5);
  }
}

/** @param {HTMLElement} legend @param {boolean} scaled @param {boolean} warpgroups whether any multiplies by wgmma */
function drawLegend(legend, scaled, warpgroups) {
  /** @type {[string, string][]} */
  const entries = [
    ["block", "C: stored by this block; in A and B: in shared memory"], ["warp", "C: by this warp"], ["thread", "C: by this thread; in A and B: read in this step"],
    ["flight", "on its way"], ["registers", "in registers"], ["needed", "what the block needs in all"],
  ];
  legend.replaceChildren(...entries.map(([kind, words]) => swatch(words, (context) => {
    const shade = shades(context);
    filled(context, kind === "needed" ? shade.colour.pale : shade[/** @type {"block"} */ (kind)], 0, 0, 26, 18);
  })));
  if (warpgroups) legend.append(el("li", {}, "dashed in C: by this warpgroup"));
  if (scaled) legend.append(el("li", {}, "K is not drawn to scale."));
}

/**
 * A bar for each shared array, from its first byte to its last, with what lies there.
 * @param {HTMLCanvasElement} canvas @param {number} width @param {Block} block @param {number} step
 */
function drawBars(canvas, width, block, step) {
  const rows = inShared(block, step);
  const tall = 30;
  const each = tall + 26;
  const context = sharp(canvas, width, Math.max(rows.length * each, 22));
  const shade = shades(context);
  const { colour } = shade;
  context.font = '13px "DejaVu Sans", Verdana, sans-serif';
  if (!rows.length) {
    written(context, colour.grey, "This kernel has no shared arrays.", 0, 15);
    return;
  }
  rows.forEach(({ array, pieces }, index) => {
    const { name, bytes } = block.raw.arrays[array];
    const y = index * each + 20;
    written(context, colour.ink, `${name}, ${grouped(bytes)} bytes`, 0, y - 5);
    filled(context, colour.paper, 0, y, width, tall);
    const scale = (width - 2) / bytes;
    for (const { fill, state: now } of pieces) {
      const x = 1 + fill.lo * scale;
      const wide = (fill.hi - fill.lo) * scale;
      filled(context, now === "in use" ? shade.used : now === "landed" ? shade.landed : shade.flight, x, y, wide, tall);
      framed(context, now === "in use" ? colour.paper : colour.ink, 1, x, y, wide, tall); // a line between neighbors shows on its shade
      const matrix = block.raw.arrays[fill.matrix].name;
      const along = matrix === "B" ? span(fill.row, fill.rowEnd) : span(fill.col, fill.colEnd);
      const label = [`${matrix}, k ${along}`, `${matrix} ${along}`, matrix].find((text) => context.measureText(text).width < wide - 6);
      if (!label || matrix === "C") continue;
      const middle = x + wide / 2 - context.measureText(label).width / 2;
      if (now === "in flight") {
        filled(context, colour.paper, middle - 3, y + 6, context.measureText(label).width + 6, tall - 12);
      }
      written(context, now === "in use" ? colour["on-strong"] : colour.ink, label, middle, y + tall / 2 + 5);
    }
    framed(context, colour.grey, 1, 0.5, y, width - 1, tall);
  });
}
