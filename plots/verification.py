"""The verification chart: which lesson was right on which shape, and how near to the bound. It knows no time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.patches import Rectangle

from plots import data
from plots.style import DARK, GREY, INK, LIGHT, PALE, WIDTH, new_figure, save, style
from runner.core.reports import Results
from runner.core.results import Key, UserError, key_of, lessons, rows_of


def _shape_label(key: Key) -> str:
    count, dot, _ = key.shape.rpartition(" · ")
    sides = key.m, key.n, key.k
    return count + dot.replace(" · ", " ·\n") + (f"{key.m}³" if len(set(sides)) == 1 else "{}\n×{}\n×{}".format(*sides))


def _cell_text(value: float | None) -> str:
    """error / bound to two digits; tiny ones by their size. None (no bound to compare with) is a dash."""
    if value is None:
        return "–"
    return "0" if value == 0 else "<10⁻³" if value < 1e-3 else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"


def draw(results: Results, out_stem: Path, order: Sequence[str] | None = None) -> list[Path]:
    """Draws lessons (in `order`, the course's by default; a row a variant) × shapes with the largest error / bound in each
    cell, WRONG for a lesson that failed there, to out_stem.png and .svg. One run with several (alpha, beta) shows the largest.

    Throws UserError when no lesson ran.
    """
    names = list(lessons() if order is None else order)
    cells: dict[Key, float | None] = {}
    wrong = {key_of(entry) for entry in results.get("failed", [])}
    for run in results["runs"]:
        key = key_of(run)
        known = [value for value in (cells.get(key), run["error_over_bound"]) if value is not None]
        cells[key] = max(known, default=None)
    keys = [key for key in dict.fromkeys([*cells, *sorted(wrong)]) if key.lesson in names]
    if not keys:
        raise UserError("These results hold no run of any lesson; verify with ./gemm chart.")
    rows = rows_of(sorted(keys, key=lambda key: names.index(key.lesson)))
    shapes = sorted({key._replace(lesson="", variant="") for key in keys}, key=lambda shape: (shape.flop, shape))
    on_cpu = results["device"]["kind"] == "cpu"

    left, cell, high = 0.33 + 0.127 * max(map(len, rows.values())), 0.95, 0.56  # inches
    width = max(WIDTH, left + cell * len(shapes) + 0.15)
    cell = min((width - left - 0.15) / len(shapes), 1.6)
    top, foot = (2.35 if any(len({shape.m, shape.n, shape.k}) > 1 for shape in shapes) else 1.85), 1.05
    height = top + high * len(rows) + foot
    with style():
        figure = new_figure(height, width)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set_xlim(0, width)
        axes.set_ylim(height, 0)  # inches from the top left corner

        for y, (row, name) in enumerate(rows.items()):
            middle = top + high * (y + 0.5)
            axes.text(left - 0.12, middle, name, ha="right", va="center_baseline")
            for x, shape in enumerate(shapes):
                key = shape._replace(lesson=row[0], variant=row[1])
                bad, ran = key in wrong, key in cells
                corner = (left + cell * x + 0.03, top + high * y + 0.03)
                face = DARK if bad else PALE if ran else "white"
                axes.add_patch(Rectangle(corner, cell - 0.06, high - 0.06, facecolor=face, edgecolor=LIGHT))
                text = "WRONG" if bad else _cell_text(cells[key]) if ran else "not run"
                axes.text(
                    left + cell * (x + 0.5),
                    middle,
                    text,
                    ha="center",
                    va="center_baseline",
                    color="white" if bad else INK if ran else GREY,
                    fontsize=16 if ran and not bad else 13,
                    fontweight="bold" if bad else "normal",
                )
        for x, shape in enumerate(shapes):
            axes.text(left + cell * (x + 0.5), top - 0.1, _shape_label(shape), ha="center", va="bottom", fontsize=15)
        axes.text(left - 0.12, top - 0.1, "M×N×K", ha="right", va="bottom", fontsize=15, color=GREY)

        where = "on the CPU device" if on_cpu else "on " + results["device"]["name"]
        failed = f"{len(wrong.intersection(keys))} WRONG" if wrong.intersection(keys) else "all correct"
        axes.text(0.15, 0.42, f"Verified {where}: {failed}", fontsize=22, fontweight="bold")
        axes.text(0.15, 0.8, "Largest error / bound of any element: correct up to 1.", fontsize=16)
        note = "No time is shown: the CPU device has none to show." if on_cpu else "No time is shown here."
        axes.text(0.15, 1.12, note, fontsize=16, color=GREY)
        axes.text(0.15, height - 0.5, " · ".join(data.provenance(results)), fontsize=14.5)
        axes.text(0.15, height - 0.2, f"random inputs, seed {results.get('seed', 'not recorded')}", fontsize=14.5)
        return save(figure, out_stem)
