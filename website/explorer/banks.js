// How a warp's request is served: sectors of global memory, wavefronts of shared memory. The rules are the tracer's
// (common/cpu/trace/banks.cpp says where they come from); it counts, and here every lane gets its place as well.

export const WARP = 32, BANKS = 32; // lanes; banks of shared memory, WORD bytes each
export const WORD = 4, SECTOR = 32, LINE = 128; // bytes

/**
 * A word that a lane gets from its bank.
 * @typedef {{lane: number, word: number}} Served  word: address / 4
 */
/**
 * What shared memory serves at once.
 * @typedef {Served[]} Wavefront
 */

/**
 * The words that a lane's bytes lie in.
 * @param {number} address @param {number} width bytes
 * @returns {number[]} addresses / 4
 */
export function wordsOf(address, width) {
  const first = Math.floor(address / WORD), last = Math.floor((address + width - 1) / WORD);
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}

/**
 * The sectors that a request touches, each once, ascending.
 * @param {number[]} addresses bytes from a multiple of 32; one a lane
 * @param {number} width bytes a lane
 * @returns {number[]} addresses / 32
 */
export function sectors(addresses, width) {
  const touched = new Set();
  for (const address of addresses) {
    touched.add(Math.floor(address / SECTOR));
    touched.add(Math.floor((address + width - 1) / SECTOR));
  }
  return [...touched].sort((a, b) => a - b);
}

/**
 * How many different bytes the lanes want.
 * @param {number[]} addresses @param {number} width
 */
export function distinctBytes(addresses, width) {
  let bytes = 0, covered = -Infinity;
  for (const address of [...addresses].sort((a, b) => a - b)) {
    const end = address + width;
    if (end > covered) bytes += end - Math.max(covered, address);
    covered = Math.max(covered, end);
  }
  return bytes;
}

/**
 * The fewest wavefronts that could serve such a request.
 * @param {number[]} lanes @param {number[]} addresses @param {number} width
 */
export function idealWavefronts(lanes, addresses, width) {
  const halves = Number(lanes.some((lane) => lane < 16)) + Number(lanes.some((lane) => lane >= 16));
  return Math.max(Math.ceil(distinctBytes(addresses, width) / LINE), width === 16 ? halves : 1);
}

/**
 * The wavefronts that serve a request, in order. Which of a bank's words comes first is not known: the lowest lane's does here.
 * @param {number[]} lanes that take part, ascending
 * @param {number[]} addresses of each of them, in shared memory
 * @param {number} width bytes a lane
 * @param {boolean} apart a store, or ldmatrix: no two groups of lanes share a wavefront
 * @returns {Wavefront[]}
 */
export function wavefronts(lanes, addresses, width, apart) {
  const byLane = new Map(lanes.map((lane, i) => [lane, addresses[i]]));
  /** @param {number} first @param {number} last @returns {Wavefront[]} */
  const serve = (first, last) => {
    /** @type {number[][]} */
    const banks = Array.from({ length: BANKS }, () => []);
    /** @type {Wavefront[]} */
    const found = [];
    for (let lane = first; lane < last; ++lane) {
      const address = byLane.get(lane);
      if (address === undefined) continue;
      for (const word of wordsOf(address, width)) {
        const bank = banks[((word % BANKS) + BANKS) % BANKS];
        let turn = bank.indexOf(word);
        if (turn < 0) turn = bank.push(word) - 1;
        while (found.length <= turn) found.push([]);
        found[turn].push({ lane, word });
      }
    }
    return found;
  };
  /** @param {number} first @param {number} last @param {number} bit */
  const agree = (first, last, bit) => {
    for (let lane = first; lane < last; ++lane) {
      const mine = byLane.get(lane), other = byLane.get(lane ^ bit);
      if (mine !== undefined && other !== undefined && mine !== other) return false;
    }
    return true;
  };
  if (width <= WORD) return serve(0, WARP);
  const group = width <= 8 ? 16 : 8; // lanes that are served together
  /** @type {Wavefront[]} */
  const all = [];
  for (let first = 0; first < WARP; first += 2 * group) {
    const middle = first + group, last = first + 2 * group;
    const together = !apart && (agree(first, last, 1) || agree(first, last, 2));
    all.push(...(together ? serve(first, last) : [...serve(first, middle), ...serve(middle, last)]));
  }
  return all;
}

/**
 * The wavefronts of a warp's cp.async: words that share a bank of L1 leave it in different ones, and each part is stored by
 * itself. Lanes that fill with zeros go with the first.
 * @param {number[]} lanes that take part @param {number[]} to their addresses in shared memory
 * @param {Map<number, number>} from lane -> address in global memory, of the lanes that read
 * @param {number} width bytes a lane
 * @returns {Wavefront[]}
 */
export function copyWavefronts(lanes, to, from, width) {
  /** @type {number[][]} */
  const banks = Array.from({ length: BANKS }, () => []);
  /** @type {number[][]} indices into lanes */
  const leaving = [[]];
  lanes.forEach((lane, index) => {
    let turn = 0;
    const address = from.get(lane);
    if (address !== undefined) {
      const first = Math.floor(address / WORD);
      for (let word = first; word < first + Math.floor(width / WORD); ++word) {
        const bank = banks[word % BANKS];
        let at = bank.indexOf(word);
        if (at < 0) at = bank.push(word) - 1;
        turn = Math.max(turn, at);
      }
    }
    while (leaving.length <= turn) leaving.push([]);
    leaving[turn].push(index);
  });
  return leaving.flatMap((part) => part.length ? wavefronts(part.map((i) => lanes[i]), part.map((i) => to[i]), width, true) : []);
}

/**
 * The most different words that one bank is asked for.
 * @param {number[]} addresses @param {number} width
 */
export function mostOfABank(addresses, width) {
  const words = new Set(addresses.flatMap((address) => wordsOf(address, width)));
  const banks = new Array(BANKS).fill(0);
  for (const word of words) ++banks[word % BANKS];
  return Math.max(0, ...banks);
}
