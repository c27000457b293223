// What no warp's lanes address: a box that the copy engine brings, with its swizzle, and what wgmma reads by its descriptors.

import { LINE } from "explorer/banks";
import { boxChunks, CHUNK, chunks, decode, fieldsOf, nameOf } from "explorer/descriptors";
import { counted, el, grouped, row, spoken, svg, table } from "explorer/dom";
import { hatching, inRows, LEFT } from "explorer/memory";
import { size } from "explorer/occupancy";
import { box, centred, ending, marked, named, picture, shade, tall, text } from "explorer/picture";

/** @typedef {import("explorer/payload").Block} Block */
/** @typedef {import("explorer/payload").Data} Data */
/** @typedef {import("explorer/payload").Request} Request */
/** @typedef {import("explorer/access").Told} Told */
/** @typedef {{label: string, shade: number, title: string}} Cell */

const MOST_ROWS = 24; // of a map; a swizzle's pattern repeats every 8

/**
 * Shared memory as rows of 128 bytes, eight chunks of 16 each.
 * @param {Map<number, Cell>} cells address / 16 -> what lies there
 * @param {number} base where the array begins, for the offsets beside it
 * @param {string} name @param {number} width pixels
 * @returns {SVGSVGElement}
 */
function chunkMap(cells, base, name, width) {
  const across = LINE / CHUNK, cell = (width - LEFT - 4) / across, high = 18;
  const rows = [...new Set([...cells.keys()].map((chunk) => Math.floor(chunk / across)))].sort((a, b) => a - b);
  const root = picture(width, 10, name);
  for (let chunk = 0; chunk < across; ++chunk) {
    root.append(centred(LEFT + (chunk + 0.5) * cell, 11, `${chunk * 4}–${chunk * 4 + 3}`, 10, { class: "soft" }));
  }
  root.append(ending(LEFT - 6, 11, "byte", 10, { class: "soft" }));
  const bottom = inRows(root, rows, { y: 16, high, most: MOST_ROWS }, (row) => grouped(row * LINE - base), (row, y) => {
    for (let chunk = 0; chunk < across; ++chunk) {
      const found = cells.get(row * across + chunk), x = LEFT + chunk * cell;
      const words = found && [centred(x + cell / 2, y + 13, found.label, 10), svg("title", {}, found.title)];
      const square = box(x, y, cell, high, { class: `cell ${found ? "shade" : ""}` });
      root.append(svg("g", { class: found ? shade(found.shade) : "" }, square, words));
    }
  });
  return tall(root, bottom + 4);
}

/**
 * The matrix with the box in it; what of the box lies outside is hatched.
 * @param {gemm.HistoryArray} array @param {gemm.HistoryBox} copy @param {number} width pixels
 */
function tensor(array, copy, width) {
  const rows = array.rows ?? 1, cols = array.cols ?? 1;
  const [top, left] = [Math.min(copy.row, 0), Math.min(copy.col, 0)];
  const tall = Math.max(rows, copy.row + copy.rows) - top, wide = Math.max(cols, copy.col + copy.cols) - left;
  const scale = Math.min((Math.min(width, 520) - 80) / wide, 220 / tall);
  /** @param {number} row @param {number} col @returns {[number, number]} */
  const at = (row, col) => [66 + (col - left) * scale, 20 + (row - top) * scale];
  const [x, y] = at(0, 0), [bx, by] = at(copy.row, copy.col);
  const where = `rows ${copy.row} to ${copy.row + copy.rows - 1}, columns ${copy.col} to ${copy.col + copy.cols - 1}`;
  const root = picture(width, Math.ceil(tall * scale + 44), `${array.name}, ${rows}×${cols}, and in it the box: ${where}`);
  const hatch = hatching(root);
  const [bw, bh] = [Math.max(copy.cols * scale, 3), Math.max(copy.rows * scale, 3)];
  root.append(
    box(x, y, cols * scale, rows * scale, { class: "cell quiet" }),
    box(bx, by, bw, bh, { class: "cell", style: `fill: ${hatch}` }),
  );
  const row = Math.max(copy.row, 0), col = Math.max(copy.col, 0); // what lies inside, if anything does
  const high = Math.min(copy.row + copy.rows, rows) - row, across = Math.min(copy.col + copy.cols, cols) - col;
  if (high > 0 && across > 0) {
    root.append(box(...at(row, col), Math.max(across * scale, 3), Math.max(high * scale, 3), { class: `cell ${shade(0)}` }));
  }
  root.append(
    marked(bx, by, bw, bh),
    text(x, 14, `${array.name}: ${rows}×${cols}`),
    text(60, by + 10, String(copy.row), { "text-anchor": "end", "font-size": 11 }),
    text(bx, y + rows * scale + 16, `column ${copy.col}`, { "font-size": 11 }),
  );
  return root;
}

/**
 * A box of the copy engine: the rows of the matrix, and where they land in shared memory.
 * @param {Block} block @param {Request} request @param {gemm.Line} line @param {number} width
 * @returns {Told}
 */
export function boxed(block, request, line, width) {
  const copy = /** @type {gemm.HistoryBox} */ (request.box);
  const shared = copy.shared === null ? null : block.raw.arrays[copy.shared];
  const stores = line?.op === "store";
  const rowBytes = copy.cols * copy.element_bytes;
  const words = [
    `thread ${copy.thread} has the copy engine ${stores ? "store" : "bring"} a box of ${copy.rows}×${copy.cols} elements ${
      stores ? "to" : "of"
    } ${request.array?.name ?? "a matrix"}, from row ${copy.row} and column ${copy.col} on. ${counted(request.units, "sector")}, ${
      size(copy.bytes)
    } of shared memory.`,
  ];
  /** @type {Node[]} */
  const pictures = [];
  if (request.array) pictures.push(el("h3", {}, [`The box in ${request.array.name}`]), tensor(request.array, copy, width));
  if (shared) {
    words.push(
      `${stores ? "It is" : "It lands"} at byte ${grouped(copy.offset)} of ${shared.name}, ${
        copy.swizzle === "none"
          ? "row after row, not swizzled"
          : `swizzled by ${copy.swizzle}: the chunks of 16 bytes of a row change places by the row’s number`
      }.`,
    );
    if (copy.barrier !== null) {
      words.push(`Its bytes count for the mbarrier ${block.raw.mbarriers[copy.barrier]?.name ?? copy.barrier}.`);
    }
    const base = shared.offset ?? 0;
    /** @type {Map<number, Cell>} */
    const cells = new Map();
    for (const chunk of boxChunks(copy.rows, rowBytes, copy.swizzle, base + copy.offset)) {
      const number = chunk.byte / CHUNK, first = copy.col + chunk.byte / copy.element_bytes;
      const last = first + Math.min(CHUNK, rowBytes - chunk.byte) / copy.element_bytes - 1;
      cells.set(chunk.address / CHUNK, {
        label: `${chunk.row}:${number}`,
        shade: number,
        title: `row ${copy.row + chunk.row}, columns ${first} to ${last}`,
      });
    }
    pictures.push(
      el("h3", {}, [`Where its rows ${stores ? "come from" : "land"} in ${shared.name}: chunks of 16 bytes`]),
      chunkMap(cells, base, `${grouped(cells.size)} chunks of the box in rows of 128 bytes`, width),
      el("p", { class: "note" }, ["3:5 is chunk 5 of row 3 of the box; a shade is a chunk’s number in its row."]),
    );
  }
  if (line) {
    words.push(
      `All ${grouped(line.requests)} boxes of the line: ${grouped(line.sectors)} sectors, ideal ${grouped(line.ideal_sectors)}.`,
    );
  }
  return { words, pictures, figures: { units: request.units, ideal: "", used: copy.bytes, drawn: request.units } };
}

/**
 * A wgmma: its descriptors' fields, and the chunks that they make it read.
 * @param {Data} data @param {Block} block @param {number} event @param {number} width
 * @returns {Told}
 */
export function multiplied(data, block, event, width) {
  const found = block.raw.events[event];
  const multiply = Array.isArray(found) ? undefined : block.raw.multiplies[found?.multiply ?? -1];
  if (!multiply) return { words: ["it is not a request to memory."], pictures: [], figures: {} };
  const entry = multiply.wgmma === null ? null : data.trace.wgmma[multiply.wgmma];
  const words = [
    `warpgroup ${multiply.warpgroup} (${named(block.warpsOf(event), "warp")}) issues wgmma m${multiply.m}n${multiply.n}k${multiply.k}, batch ${multiply.batch}: A from ${
      multiply.a_descriptor ? "shared memory" : "registers"
    }, B from shared memory. How many wavefronts its reads take is not known.`,
  ];
  /** @type {Node[]} */
  const pictures = [];
  let total = 0;
  for (
    const [name, number, major, rows, place]
      of /** @type {const} */ ([["A", multiply.a_descriptor, entry?.major_a, multiply.m, multiply.a], [
        "B",
        multiply.b_descriptor,
        entry?.major_b,
        multiply.n,
        multiply.b,
      ]])
  ) {
    if (!number) continue;
    const fields = decode(number);
    const which = major === "row" ? "row" : "k";
    const read = chunks(fields, which, rows, multiply.k);
    total += read.length;
    const array = place ? block.raw.arrays[place.array] : null;
    words.push(
      `${name}: ${rows}×${multiply.k} elements, ${which === "k" ? "K" : name === "A" ? "M" : "N"} side by side, from ${
        array ? `byte ${grouped(place?.offset ?? 0)} of ${array.name}` : `shared address ${grouped(fields.start)}`
      } on, ${fields.swizzle ? `swizzled by ${nameOf(fields.swizzle)}` : "not swizzled"}; ${
        grouped(read.length)
      } chunks of 16 bytes.`,
    );
    const cells = new Map(
      read.map((
        chunk,
      ) => [chunk.address / CHUNK, {
        label: `${chunk.row},${chunk.k}`,
        shade: which === "k" ? chunk.row % 8 : chunk.row / 8,
        title: `row ${chunk.row}, k ${chunk.k}: shared address ${chunk.address}`,
      }]),
    );
    pictures.push(
      el("h3", {}, [`${name}’s descriptor ${number}`]),
      table({ class: "fields" }, spoken(`Fields of ${name}’s descriptor`), ["field", "bits", "value"], fieldsOf(fields).map((one) => row(one.name, one.bits, `${grouped(one.value)} ${one.unit}`))),
      chunkMap(cells, array?.offset ?? 0, `${name}: ${grouped(read.length)} chunks that the descriptor makes it read`, width),
      el("p", { class: "note" }, [
        `8,0 is the chunk that begins with row 8${which === "k" ? "" : " (eight rows side by side)"} and step 0 along K${
          name === "B" ? "; rows of B count along N" : ""
        }.`,
      ]),
    );
  }
  return { words, pictures, figures: { units: "", ideal: "", used: total * CHUNK, drawn: total } };
}
