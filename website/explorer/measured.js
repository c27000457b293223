// What was measured of a lesson, as charts whose points can be chosen: a sweep over sizes, and the roofline of its ladder.

import { el } from "explorer/dom";
import { decades, draw, rounds } from "explorer/chart";
import { rate } from "explorer/occupancy";

/** @typedef {import("explorer/payload").Data} Data */

/** @param {string} lesson */
const short = (lesson) => lesson.split("_")[0];

/** @param {Data} data @param {number} width @param {number | null} tile FLOP per byte that the sliders give */
export function charts(data, width, tile) {
  const { recorded } = data.payload;
  if (!recorded) return [el("p", {}, ["Nothing is recorded of this lesson, so that there is no chart."])];
  const found = [sweep(data, width)];
  const roof = roofline(data, width, tile);
  if (roof) found.push(roof);
  return found;
}

/** @param {Data} data @param {number} width */
function sweep(data, width) {
  const recorded = /** @type {gemm.Recorded} */ (data.payload.recorded);
  const said = el("p", { role: "status", class: "readout" }, [
    "Choose a point: its shape, its figure and its baseline stand here.",
  ]);
  const square = recorded.runs.filter((run) => run.m === run.n && run.n === run.k).sort((a, b) => a.m - b.m);
  const mine = square.filter((run) => run.lesson === data.payload.lesson),
    before = square.filter((run) => run.lesson !== data.payload.lesson);
  const top = 1.08 * Math.max(...square.flatMap((run) => [run.tflops, mine.includes(run) ? run.baseline_tflops : 0]));
  /** @param {gemm.Timed} run */
  const tell = (run) => {
    said.textContent = `Recorded, ${run.lesson} at ${run.m}×${run.n}×${run.k}: ${rate(run.tflops)} TFLOP/s in ${
      rate(run.ms)
    } ms. Baseline: ${run.baseline}, ${rate(run.baseline_tflops)} TFLOP/s; ${
      rate(run.ratio)
    } of its speed (median of interleaved rounds).`;
  };
  /** @param {gemm.Timed} run @param {number} figure @param {string} who */
  const point = (run, figure, who) => ({
    x: run.m,
    y: figure,
    name: `${who}, ${run.m} cubed: ${rate(figure)} TFLOP/s`,
    aside: run.m % 2 === 1,
    chosen: () => tell(run),
  });
  const chart = draw(
    {
      name: "TFLOP/s over matrix sizes, recorded",
      x: { label: "M = N = K", low: 220, high: 9400, log: true, ticks: [256, 512, 1024, 2048, 4096, 8192] },
      y: { label: "TFLOP/s", low: 0, high: top, log: false, ticks: rounds(top) },
      series: [
        {
          name: "cuBLAS",
          look: "baseline",
          line: true,
          points: mine.map((run) => ({ x: run.m, y: run.baseline_tflops, name: "", aside: run.m % 2 === 1 })),
        },
        ...(before.length
          ? [{
            name: before[0].lesson,
            look: /** @type {const} */ ("before"),
            line: true,
            points: before.map((run) => point(run, run.tflops, run.lesson)),
          }]
          : []),
        { name: data.payload.lesson, look: "strong", line: true, points: mine.map((run) => point(run, run.tflops, run.lesson)) },
      ],
    },
    width,
    Math.min(380, Math.max(280, width * 0.5)),
  );
  const others = recorded.runs.filter((run) => run.lesson === data.payload.lesson && !square.includes(run));
  const notSquare = others.length
    ? el("p", { class: "hint" }, [
      `Not square: ${
        others.map((run) => `${run.m}×${run.n}×${run.k}, ${rate(run.tflops)} TFLOP/s, ${rate(run.ratio)} of cuBLAS`).join("; ")
      }.`,
    ])
    : null;
  const where = el("p", { class: "hint" }, [
    `${recorded.device}, ${recorded.date.slice(0, 10)}, commit ${recorded.commit.slice(0, 7)}, ${
      mine[0]?.variant.toUpperCase() ?? ""
    }. The lines join even sizes; 1023, 2047, 4095 and 4097 stand aside. Arrow keys go from point to point.`,
  ]);
  return el("section", { "aria-label": "Sweep over sizes, recorded" }, [
    el("h3", {}, ["Recorded: over sizes"]),
    chart,
    said,
    ...(notSquare ? [notSquare] : []),
    where,
  ]);
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
  return {
    name: `Roofline over bytes of ${name}, recorded`,
    x: { label: `FLOP per byte of ${name}`, low, high, log: true, ticks: decades(low, high) },
    y: { label: "TFLOP/s", low: bottom, high: top, log: true, ticks: decades(bottom, top) },
    series: [
      {
        name: `${ceiling}, ${rate(tbytes)} TB/s${peaks.length ? `, then ${peaks[0][0]}, ${rate(peaks[0][1])} TFLOP/s` : ""}`,
        look: "roof",
        line: true,
        dots: false,
        points: [[begin, begin * tbytes], [end, end * tbytes], ...(peak ? [[high, peak]] : [])].map(([x, y]) => ({
          x,
          y,
          name: "",
        })),
      },
      ...peaks.slice(1).map(([words, value]) => ({
        name: `${words}, ${rate(value)} TFLOP/s`,
        look: /** @type {const} */ ("before"),
        line: true,
        dots: false,
        points: [{ x: value / tbytes, y: value, name: "" }, { x: high, y: value, name: "" }],
      })),
      ...(tile && levelChosen === 1
        ? [{
          name: "predicted: the tile’s FLOP per byte, as the sliders stand",
          look: /** @type {const} */ ("mark"),
          line: true,
          dots: false,
          points: [{ x: tile, y: bottom, name: "" }, { x: tile, y: top, name: "" }],
        }]
        : []),
      {
        name: "a lesson, recorded",
        look: "strong",
        points: here.map((point) => ({
          x: point.intensity[name],
          y: point.tflops,
          label: short(point.lesson),
          name: `${point.lesson}: ${rate(point.tflops)} TFLOP/s at ${rate(point.intensity[name])} FLOP per byte`,
          chosen: () => {
            const most = under(point.intensity[name]);
            say(`Recorded, ${point.lesson} at ${roof.size}×${roof.size}×${roof.size}: ${
              rate(point.tflops)
            } TFLOP/s, ${rate(point.intensity[name])} FLOP per byte of ${name}. The roof there is ${
              rate(most)
            } TFLOP/s: it reaches ${rate((100 * point.tflops) / most)} % of it.`);
          },
        })),
      },
    ],
  };
}

/** @param {Data} data @param {number} width @param {number | null} tile */
function roofline(data, width, tile) {
  const roof = data.payload.recorded?.roofline;
  if (!roof) return null;
  const said = el("p", { role: "status", class: "readout" }, [
    "Choose a point: a lesson, its rate, and the share of the roof that it reaches.",
  ]);
  const picture = el("div");
  const group = el("fieldset", { class: "choices" }, [
    el("legend", {}, ["Bytes of"]),
    ...roof.levels.map((level, index) => {
      const input = el("input", {
        type: "radio",
        name: "roofline-level",
        value: String(index),
        checked: index === levelChosen,
      });
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
    : " What the tensor cores reach at most was not measured: the roof is memory’s alone.";
  return el("section", { "aria-label": "Roofline, recorded" }, [
    el("h3", {}, ["Recorded: roofline"]),
    group,
    picture,
    said,
    el("p", { class: "hint" }, [`${roof.sources.join("; ")}.${note}`]),
  ]);
}
