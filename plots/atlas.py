"""The picture of an atlas: shapes in the plane of M and N, a panel for each range of K, marked by their ratio to cuBLAS."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from plots import data
from plots.style import DARK, GREY, INK, LIGHT, MID, new_figure, save, style
from runner.core.atlas import GROUPS, RecordedAtlas, group_of, groups
from runner.core.reports import Run
from runner.core.results import UserError

_FONT = 14.5  # points
_SIZE, _TINY = 8.5, 4.5  # points: of a marker, and of one whose shape is tiny


class Panel(NamedTuple):
    """Shapes with a K from `least` on, below `most`."""

    least: int
    most: int | None

    @property
    def title(self) -> str:
        if self.most is None:
            return f"K ≥ {self.least}"
        return f"{self.least} ≤ K < {self.most}" if self.least else f"K < {self.most}"


class Axis(NamedTuple):
    """One side of C; logarithmic."""

    label: str
    least: float
    most: float
    ticks: tuple[int, ...]


class Class(NamedTuple):
    """Ratios from `least` on, up to the class before. The marker says which side of cuBLAS, its shade how far."""

    least: float
    words: str
    marker: str
    fill: str


PANELS = tuple(Panel(least or 0, most) for least, most in pairwise((0, 128, 1024, 4096, None)))
ROWS = Axis("M, rows", 0.7, 24000, (1, 16, 256, 4096))
COLUMNS = Axis("N, columns", 12, 190000, (16, 256, 4096, 65536))
CLASSES = (
    Class(1.5, "1.5 or more", "^", DARK),
    Class(1.05, "1.05 to 1.5", "^", LIGHT),
    Class(0.95, "0.95 to 1.05", "o", "white"),
    Class(0.8, "0.8 to 0.95", "v", LIGHT),
    Class(0.6, "0.6 to 0.8", "v", MID),
    Class(0.0, "below 0.6", "v", DARK),
)


def name(variant: str) -> str:
    """Of the picture's files in plots/."""
    return f"atlas_{variant}"


def class_of(ratio: float) -> int:
    """Which of the classes a ratio is in; an index."""
    return next(place for place, one in enumerate(CLASSES) if ratio >= one.least)


def panel_of(k: int) -> int:
    """Which of the panels a K is in; an index."""
    return next(place for place, one in enumerate(PANELS) if one.most is None or k < one.most)


def _look(one: Class, size: float) -> dict[str, Any]:
    return {"linestyle": "", "marker": one.marker, "markerfacecolor": one.fill, "markeredgecolor": INK, "markeredgewidth": 0.9,
            "markersize": size}  # fmt: skip


def _panel(axes: Axes, runs: Iterable[Run], title: str) -> None:
    marks: dict[tuple[int, bool], list[Run]] = {}  # by class, and whether they are tiny
    for run in runs:
        marks.setdefault((class_of(run["ratio"]), group_of(run) == "tiny"), []).append(run)
    # The slow ones last: nothing covers what one looks for.
    for (place, tiny), of in sorted(marks.items(), key=lambda item: item[0]):
        look = _look(CLASSES[place], _TINY if tiny else _SIZE)
        axes.plot([run["n"] for run in of], [run["m"] for run in of], **look)
    for axis, set_scale, set_limits, set_ticks in (
        (COLUMNS, axes.set_xscale, axes.set_xlim, axes.set_xticks),
        (ROWS, axes.set_yscale, axes.set_ylim, axes.set_yticks),
    ):
        set_scale("log", base=2)
        set_limits(axis.least, axis.most)
        set_ticks(axis.ticks, [str(tick) for tick in axis.ticks], fontsize=_FONT)
        set_ticks([], minor=True)
    axes.grid(color=LIGHT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_title(title, fontsize=16, fontweight="bold", loc="left", pad=6)


def _legend(figure: Figure, height: float, top: float, means: str) -> None:
    """What each mark means, from `top` on, inches."""
    for place, one in enumerate(CLASSES):
        x, y = 0.02 + 0.33 * (place % 3), 1 - (top + 0.34 * (place // 3)) / height
        figure.add_artist(Line2D([x + 0.012], [y], transform=figure.transFigure, **_look(one, _SIZE)))
        figure.text(x + 0.035, y, one.words, fontsize=16, va="center_baseline")
    figure.text(0.02, 1 - (top + 0.74) / height, "small marks: cuBLAS takes less than 20 µs", fontsize=_FONT, color=GREY)
    figure.text(0.02, 1 - (top + 1.04) / height, means, fontsize=_FONT, color=GREY)


def draw(results: RecordedAtlas, out_stem: Path) -> list[Path]:
    """Draws every shape's ratio to out_stem.png and .svg. Throws UserError where there is none."""
    runs = results["runs"]
    if not runs:
        raise UserError("This atlas holds no shape that was timed; measure with ./gemm atlas on a machine with an NVIDIA GPU.")
    height, head, panel = 9.6, 2.55, 2.3  # inches
    wide, left, gap = 0.385, 0.115, 0.1  # of the width
    means = groups(runs)
    said = ", ".join(f"{group} {means[group].mean:.2f}" for group in GROUPS if group in means)
    with style():
        figure = new_figure(height)
        for place, one in enumerate(PANELS):
            row, column = divmod(place, 2)
            bottom = head + row * (panel + 0.85) + panel
            axes = figure.add_axes((left + column * (wide + gap), 1 - bottom / height, wide, panel / height))
            _panel(axes, [run for run in runs if panel_of(run["k"]) == place], one.title)
            if column == 0:
                axes.set_ylabel(ROWS.label, fontsize=_FONT)
            if row == 1:
                axes.set_xlabel(COLUMNS.label, fontsize=_FONT)

        def write(y: float, text: str, **font: Any) -> None:
            figure.text(0.02, 1 - y / height, text, **font)

        write(0.42, f"{data.label(results['variant'])}: ratio to cuBLAS of {results['lesson']}", fontsize=20, fontweight="bold")
        _legend(figure, height, 0.86, f"geometric means: {said}")
        write(height - 0.45, " · ".join(data.provenance(results)), fontsize=_FONT)
        write(height - 0.15, "alpha = 1, beta = 0; cuBLAS measured in the same run", fontsize=_FONT)
        return save(figure, out_stem)
