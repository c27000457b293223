// What comes before what in a block, and the steps that this makes.

/**
 * A number for each event: more than those of all events that came before it for a reason. A warp's own events count up; a barrier,
 * an mbarrier's phase, a copy's arrival and the sums of a warpgroup bring warps together. It is Lamport's clock, and no GPU's time.
 * @param {gemm.BlockHistory} raw
 * @returns {Int32Array}
 */
export function clocks(raw) {
  const found = new Int32Array(raw.events.length);
  const warps = new Int32Array(Math.ceil(raw.threads / 32));
  /** @type {Set<number>} */
  const meeting = new Set(); // warps that have come to __syncthreads()
  const copies = new Int32Array(raw.copies.length);
  const phaseNow = new Int32Array(raw.mbarriers.length);
  /** @type {Map<string, number>} */
  const contributions = new Map(); // of what makes a phase complete
  /** @type {Map<string, number>} */
  const complete = new Map();
  /** @type {Map<number, number>} */
  const multiplied = new Map(); // by warpgroup, the clock of its last wgmma
  /** @type {Map<string, number>} */
  const sums = new Map(); // by warpgroup and batch, what multiplied was when the first warp had them: the others began no other wgmma before
  /** @param {number} barrier @param {number} phase @param {number} clock */
  const contribute = (barrier, phase, clock) => {
    const key = `${barrier} ${phase}`;
    contributions.set(key, Math.max(contributions.get(key) ?? 0, clock));
  };
  raw.events.forEach((event, index) => {
    if (Array.isArray(event)) {
      found[index] = ++warps[event[1]];
      return;
    }
    const warp = event.warp ?? -1;
    const barrier = event.barrier ?? -1;
    if (event.e === "met") {
      let last = 0;
      for (const one of meeting) last = Math.max(last, warps[one]);
      for (const one of meeting) warps[one] = last + 1;
      meeting.clear();
      found[index] = last + 1;
      return;
    }
    if (event.e === "landed") {
      const box = raw.copies[event.copy ?? -1];
      found[index] = copies[event.copy ?? 0] + 1;
      if (box && box.barrier !== null) contribute(box.barrier, phaseNow[box.barrier], found[index]);
      return;
    }
    if (event.e === "phase") {
      found[index] = (contributions.get(`${barrier} ${event.phase}`) ?? 0) + 1;
      complete.set(`${barrier} ${event.phase}`, found[index]);
      phaseNow[barrier] = (event.phase ?? 0) + 1;
      return;
    }
    if (warp < 0) {
      found[index] = Math.max(...warps);
      return;
    }
    warps[warp]++;
    if (event.e === "passed") warps[warp] = Math.max(warps[warp], (complete.get(`${barrier} ${event.phase}`) ?? 0) + 1);
    if (event.e === "summed") {
      const key = `${event.warpgroup} ${event.batch}`;
      if (!sums.has(key)) sums.set(key, multiplied.get(event.warpgroup ?? -1) ?? 0);
      warps[warp] = Math.max(warps[warp], (sums.get(key) ?? 0) + 1);
    }
    found[index] = warps[warp];
    const multiply = event.e === "wgmma" ? raw.multiplies[event.multiply ?? -1] : undefined;
    if (multiply) multiplied.set(multiply.warpgroup, Math.max(multiplied.get(multiply.warpgroup) ?? 0, warps[warp]));
    if (event.e === "barrier") meeting.add(warp);
    if (event.e === "box") copies[event.copy ?? 0] = found[index];
    if (event.e === "arrive" || event.e === "expect") contribute(barrier, event.phase ?? 0, found[index]);
  });
  return found;
}

/**
 * @param {number} count of numbers that ascend @param {(place: number) => number} of each @param {number} least
 * @returns {number} the place of the first that is not less; `count` where all are
 */
export function firstAtLeast(count, of, least) {
  let low = 0, high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (of(middle) < least) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * @typedef {object} Steps
 * @property {Int32Array} step of each event
 * @property {number} count
 * @property {number[]} begins the clock at which each begins
 * @property {"barriers" | "phases" | "rounds"} by
 */

/**
 * Steps are what lies between two barriers of the whole block. Where tiles come through mbarriers instead, a step begins when the
 * first warp sees the next phase of one that bytes come to. Where there is neither, it is a round of the loop: of the load
 * that a warp does most often.
 * @param {gemm.BlockHistory} raw
 * @param {Int32Array} clock
 * @returns {Steps}
 */
export function divide(raw, clock) {
  const met = [];
  const full = new Set();
  for (const [index, event] of raw.events.entries()) {
    if (Array.isArray(event)) continue;
    if (event.e === "met") met.push(clock[index]);
    if (event.e === "expect") full.add(event.barrier);
  }
  /** @type {Map<string, number>} */
  const seen = new Map();
  raw.events.forEach((event, index) => {
    if (Array.isArray(event) || event.e !== "passed" || !full.has(event.barrier)) return;
    const key = `${event.barrier} ${event.phase}`;
    seen.set(key, Math.min(seen.get(key) ?? Infinity, clock[index]));
  });
  /** @type {Steps["by"]} */
  let by = "barriers";
  let begins = met.map((one) => one + 1);
  if (seen.size > met.length) {
    by = "phases";
    begins = [...seen.values()];
  } else if (met.length < 2) {
    by = "rounds";
    begins = rounds(raw, clock);
  }
  const last = clock.reduce((most, one) => Math.max(most, one), 0);
  begins = [...new Set([0, ...begins.filter((one) => one <= last)])].sort((a, b) => a - b);
  const step = clock.map((one) => firstAtLeast(begins.length, (place) => begins[place], one + 1) - 1);
  return { step, count: begins.length, begins, by };
}

/**
 * @param {gemm.BlockHistory} raw
 * @param {Int32Array} clock
 * @returns {number[]} the clocks at which warp 0 (or the first that loads) does again what it loads most often
 */
function rounds(raw, clock) {
  /** @type {Map<string, number[]>} */
  const times = new Map();
  let first = -1;
  raw.events.forEach((event, index) => {
    if (!Array.isArray(event) || raw.accesses[event[0]].op !== "load") return;
    if (first < 0) first = event[1];
    if (event[1] !== first) return;
    const key = String(event[0]);
    const list = times.get(key) ?? [];
    if (!list.length) times.set(key, list);
    list.push(clock[index]);
  });
  let most = /** @type {number[]} */ ([]);
  for (const list of times.values()) if (list.length > most.length) most = list;
  return most.slice(1);
}
