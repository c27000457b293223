"""The picture of an atlas: shapes in the plane of M and N, a panel for each range of K, marked by their ratio to cuBLAS."""

from __future__ import annotations

from collections.abc import Iterable
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

_RANGES = (0, 128, 1024, 4096, None)  # of K: a panel from one to the next
_FONT = 14.5  # points
_SIZE, _TINY = 8.5, 4.5  # points: of a marker, and of one whose shape is tiny
_LEAST, _MOST_M, _MOST_N = 0.7, 24000, 190000  # ends of the axes


class _Class(NamedTuple):
    """Ratios from `least` on, up to the class before. The marker says which side of cuBLAS, its shade how far."""

    least: float
    words: str
    marker: str
    fill: str


_CLASSES = (
    _Class(1.5, "1.5 or more", "^", DARK),
    _Class(1.05, "1.05 to 1.5", "^", LIGHT),
    _Class(0.95, "0.95 to 1.05", "o", "white"),
    _Class(0.8, "0.8 to 0.95", "v", LIGHT),
    _Class(0.6, "0.6 to 0.8", "v", MID),
    _Class(0.0, "below 0.6", "v", DARK),
)


def name(variant: str) -> str:
    """Of the picture's files in plots/."""
    return f"atlas_{variant}"


def class_of(ratio: float) -> int:
    """Which of the classes a ratio is in; an index."""
    return next(place for place, one in enumerate(_CLASSES) if ratio >= one.least)


def _look(one: _Class, size: float) -> dict[str, Any]:
    return {"linestyle": "", "marker": one.marker, "markerfacecolor": one.fill, "markeredgecolor": INK, "markeredgewidth": 0.9,
            "markersize": size}  # fmt: skip


def _panel(axes: Axes, runs: Iterable[Run], title: str) -> None:
    marks: dict[tuple[int, bool], list[Run]] = {}  # by class, and whether they are tiny
    for run in runs:
        marks.setdefault((class_of(run["ratio"]), group_of(run) == "tiny"), []).append(run)
    # The slow ones last: nothing covers what one looks for.
    for (place, tiny), of in sorted(marks.items(), key=lambda item: item[0]):
        look = _look(_CLASSES[place], _TINY if tiny else _SIZE)
        axes.plot([run["n"] for run in of], [run["m"] for run in of], **look)
    for set_scale, set_limits, set_ticks, most in (
        (axes.set_xscale, axes.set_xlim, axes.set_xticks, _MOST_N),
        (axes.set_yscale, axes.set_ylim, axes.set_yticks, _MOST_M),
    ):
        set_scale("log", base=2)
        set_limits(_LEAST if most == _MOST_M else 12, most)
        ticks = [tick for tick in (1, 16, 256, 4096, 65536) if tick < most and (tick > 1 or most == _MOST_M)]
        set_ticks(ticks, [str(tick) for tick in ticks], fontsize=_FONT)
        set_ticks([], minor=True)
    axes.grid(color=LIGHT, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_title(title, fontsize=16, fontweight="bold", loc="left", pad=6)


def _legend(figure: Figure, height: float, top: float, means: str) -> None:
    """What each mark means, from `top` on, inches."""
    for place, one in enumerate(_CLASSES):
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
        for place in range(len(_RANGES) - 1):
            least, most = _RANGES[place], _RANGES[place + 1]
            row, column = divmod(place, 2)
            bottom = head + row * (panel + 0.85) + panel
            axes = figure.add_axes((left + column * (wide + gap), 1 - bottom / height, wide, panel / height))
            title = f"K ≥ {least}" if most is None else f"K < {most}" if not least else f"{least} ≤ K < {most}"
            _panel(axes, [run for run in runs if run["k"] >= (least or 0) and (most is None or run["k"] < most)], title)
            if column == 0:
                axes.set_ylabel("M, rows", fontsize=_FONT)
            if row == 1:
                axes.set_xlabel("N, columns", fontsize=_FONT)

        def write(y: float, text: str, **font: Any) -> None:
            figure.text(0.02, 1 - y / height, text, **font)

        write(0.42, f"{data.label(results['variant'])}: ratio to cuBLAS of {results['lesson']}", fontsize=20, fontweight="bold")
        _legend(figure, height, 0.86, f"geometric means: {said}")
        write(height - 0.45, " · ".join(data.provenance(results)), fontsize=_FONT)
        write(height - 0.15, "alpha = 1, beta = 0; cuBLAS measured in the same run", fontsize=_FONT)
        return save(figure, out_stem)
