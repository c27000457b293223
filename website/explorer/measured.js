// What was measured of a lesson, as charts whose points can be chosen: a sweep over sizes, and the roofline of its ladder.

import { el } from "explorer/dom";
import { decades, draw, rounds } from "explorer/chart";
import { rate } from "explorer/occupancy";

/** @param {string} lesson */
const short = (lesson) => lesson.split("_")[0];

/** @param {Data} data @param {number} width @param {number | null} tile FLOP per byte that the sliders give */
export function charts(data, width, tile) {
  const { recorded } = data.payload;
  if (!recorded) return data.payload.descriptor.number ? [el("p", {}, ["Nothing has been recorded for this lesson, so there is no chart."])] : [];
  const found = [sweep(data, width)];
  const roof = roofline(data, width, tile);
  if (roof) found.push(roof);
  return found;
}

/** @param {Data} data @param {number} width */
function sweep(data, width) {
  const recorded = /** @type {gemm.Recorded} */ (data.payload.recorded);
  const said = el("p", { role: "status", class: "readout" }, "Choose a point to see its shape, figure and baseline here.");
  const square = recorded.runs.filter((run) => run.m === run.n && run.n === run.k && run.batch === 1).sort((a, b) => a.m - b.m);
  const mine = square.filter((run) => run.lesson === data.payload.lesson),
    before = square.filter((run) => run.lesson !== data.payload.lesson);
  const top = 1.08 * Math.max(...square.flatMap((run) => [run.tflops, mine.includes(run) ? run.baseline_tflops : 0]));
  /** @param {gemm.Timed} run */
  const tell = (run) => {
    said.textContent = `Recorded, ${run.lesson} at ${run.m}×${run.n}×${run.k}: ${rate(run.tflops)} TFLOP/s in ${rate(run.ms)} ms. ` +
      `Baseline: ${run.baseline}, ${rate(run.baseline_tflops)} TFLOP/s; ${rate(run.ratio)} of its speed (median of interleaved rounds).`;
  };
  /** @param {gemm.Timed} run */
  const point = (run) => ({
    x: run.m, y: run.tflops, name: `${run.lesson}, ${run.m} cubed: ${rate(run.tflops)} TFLOP/s`, aside: run.m % 2 === 1,
    chosen: () => tell(run),
  });
  const baseline = mine.map((run) => ({ x: run.m, y: run.baseline_tflops, name: "", aside: run.m % 2 === 1 }));
  const series = /** @type {import("explorer/chart").Series[]} */ ([
    { name: "cuBLAS", look: "baseline", line: true, points: baseline },
    { name: before[0]?.lesson, look: "before", line: true, points: before.map(point) },
    { name: data.payload.lesson, look: "strong", line: true, points: mine.map(point) },
  ]).filter(({ points }) => points.length);
  const sizes = square.map((run) => run.m), low = Math.min(...sizes), high = Math.max(...sizes);
  const ticks = [...Array(31).keys()].map((exponent) => 2 ** exponent).filter((size) => low <= size && size <= high);
  const x = { label: "M = N = K", low: low / 1.15, high: high * 1.15, log: true, ticks };
  const y = { label: "TFLOP/s", low: 0, high: top, log: false, ticks: rounds(top) };
  const chart = draw({ name: "TFLOP/s over matrix sizes, recorded", x, y, series }, width, Math.min(380, Math.max(280, width * 0.5)));
  const others = recorded.runs.filter((run) => run.lesson === data.payload.lesson && !square.includes(run))
    .map((run) => `${run.shape}, ${rate(run.tflops)} TFLOP/s, ${rate(run.ratio)} of cuBLAS`);
  const where = `${recorded.device}, ${recorded.date.slice(0, 10)}, commit ${recorded.commit.slice(0, 7)}, ` +
    `${mine[0]?.variant.toUpperCase() ?? ""}. ` +
    "The lines join even sizes; 1023, 2047, 4095 and 4097 are single points. Arrow keys go from point to point.";
  return el("section", { "aria-label": "Sweep over sizes, recorded" },
    el("h3", {}, "Recorded: over sizes"), chart, said,
    others.length > 0 && el("p", { class: "hint" }, `Not square: ${others.join("; ")}.`), el("p", { class: "hint" }, where));
}

let levelChosen = 0;

/**
 * @param {gemm.Roofline} roof @param {number | null} tile @param {(words: string) => void} say what a point is, as it is chosen
 * @returns {Parameters<typeof draw>[0]}
 */
function roofChart(roof, tile, say) {
  const { name, ceiling, tbytes } = roof.levels[levelChosen];
  const here = roof.points.filter((point) => name in point.intensity);
  const peaks = Object.entries(roof.peaks);
  const peak = peaks.length ? peaks[0][1] : null;
  const xs = here.map((point) => point.intensity[name]), ys = here.map((point) => point.tflops);
  const low = Math.min(...xs, peak ? peak / tbytes / 3 : Infinity, tile && levelChosen === 1 ? tile : Infinity) / 2;
  const high = Math.max(...xs, peak ? (peak / tbytes) * 3 : 0) * 2;
  const bottom = Math.min(...ys) / 2, top = (peak ?? Math.max(...ys) * 2) * 2;
  const end = peak ? peak / tbytes : Math.min(high, top / tbytes), begin = Math.max(low, bottom / tbytes);
  /** @param {number} x */
  const under = (x) => Math.min(tbytes * x, peak ?? Infinity);
  const over = peaks.length ? `, then ${peaks[0][0]}, ${rate(peaks[0][1])} TFLOP/s` : "";
  /** @param {number[][]} places */
  const line = (...places) => ({ line: true, dots: false, points: places.map(([x, y]) => ({ x, y, name: "" })) });
  /** @param {gemm.Spot} spot */
  const point = ({ lesson, tflops, intensity: { [name]: perByte } }) => ({
    x: perByte, y: tflops, label: short(lesson), name: `${lesson}: ${rate(tflops)} TFLOP/s at ${rate(perByte)} FLOP per byte`,
    chosen: () => {
      const most = under(perByte);
      say(`Recorded, ${lesson} at ${roof.size}×${roof.size}×${roof.size}: ${rate(tflops)} TFLOP/s, ` +
        `${rate(perByte)} FLOP per byte of ${name}. The roof there is ${rate(most)} TFLOP/s: it reaches ${rate((100 * tflops) / most)} % of it.`);
    },
  });
  const roofline = line([begin, begin * tbytes], [end, end * tbytes], ...(peak ? [[high, peak]] : []));
  const series = /** @type {import("explorer/chart").Series[]} */ ([
    { name: `${ceiling}, ${rate(tbytes)} TB/s${over}`, look: "roof", ...roofline },
    ...peaks.slice(1).map(([words, value]) =>
      ({ name: `${words}, ${rate(value)} TFLOP/s`, look: "before", ...line([value / tbytes, value], [high, value]) })),
    tile && levelChosen === 1 &&
      { name: "predicted: the tile’s FLOP per byte, as the sliders are set", look: "mark", ...line([tile, bottom], [tile, top]) },
    { name: "a lesson, recorded", look: "strong", points: here.map(point) },
  ].filter(Boolean));
  const x = { label: `FLOP per byte of ${name}`, low, high, log: true, ticks: decades(low, high) };
  const y = { label: "TFLOP/s", low: bottom, high: top, log: true, ticks: decades(bottom, top) };
  return { name: `Roofline over bytes of ${name}, recorded`, x, y, series };
}

/** @param {Data} data @param {number} width @param {number | null} tile */
function roofline(data, width, tile) {
  const roof = data.payload.recorded?.roofline;
  if (!roof) return null;
  const hint = "Choose a point: a lesson, its rate, and the share of the roof that it reaches.";
  const said = el("p", { role: "status", class: "readout" }, hint);
  const picture = el("div");
  const group = el("fieldset", { class: "choices" }, [
    el("legend", {}, ["Bytes of"]),
    ...roof.levels.map((level, index) => {
      const input = el("input", { type: "radio", name: "roofline-level", value: String(index), checked: index === levelChosen });
      input.addEventListener("change", () => {
        levelChosen = index;
        show();
      });
      return el("label", {}, [input, ` ${level.name}`]);
    }),
  ]);
  const show = () => {
    const chart = roofChart(roof, tile, (words) => (said.textContent = words));
    picture.replaceChildren(draw(chart, width, Math.min(400, Math.max(300, width * 0.55))));
  };
  show();
  const note = Object.keys(roof.peaks).length
    ? ""
    : " The tensor cores’ maximum was not measured, so this roof is only the memory’s.";
  const sources = el("p", { class: "hint" }, `${roof.sources.join("; ")}.${note}`);
  return el("section", { "aria-label": "Roofline, recorded" }, el("h3", {}, "Recorded: roofline"), group, picture, said, sources);
}
