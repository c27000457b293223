"""The look that charts and pictures share, and how they become files."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib.style
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from runner.core.results import write_atomically

WIDTH = 8.0  # inches. With fonts of 16 points and more, half the width of a phone still shows them at about 1 mm
DARK, MID, LIGHT, PALE = "#17365d", "#5b84b1", "#b9cde3", "#e6edf5"  # told apart by lightness alone
INK, GREY = "#111111", "#555555"

_RC = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],  # Verdana: as wide, where a viewer has no DejaVu
    "font.size": 17,
    "axes.titlesize": 18,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.linewidth": 1.2,
    "text.color": INK,
    "text.parse_math": False,  # a device's name is no formula
    "svg.fonttype": "none",  # labels stay text: searchable, and the tests read them
    "svg.hashsalt": "gemm",  # ids from the content, so equal input gives equal bytes
    "savefig.dpi": 150,
}


@contextmanager
def style() -> Iterator[None]:
    """matplotlib's defaults with this course's on top, whatever the user's own matplotlibrc says."""
    with matplotlib.style.context(["default", _RC]):
        yield


def new_figure(height: float, width: float = WIDTH) -> Figure:
    """An empty figure, inches, on an Agg canvas (no window, no pyplot state)."""
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure


def save(figure: Figure, out_stem: Path) -> list[Path]:
    """Writes out_stem.png and out_stem.svg, without dates or versions in them. Call inside style()."""
    paths = []
    for suffix, metadata in ((".png", {"Software": None}), (".svg", {"Date": None, "Creator": None})):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=suffix[1:], metadata=metadata)
        path = out_stem.with_name(out_stem.name + suffix)
        write_atomically(path, buffer.getvalue())
        paths.append(path)
    return paths
