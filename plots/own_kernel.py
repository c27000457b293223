"""A kernel of somebody's with what is found in it, at its lines: the picture that README.md shows of `./gemm inspect my.cu`.

Coordinates are inches from the top left corner.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, box, canvas
from plots.style import GREY, INK, MID, PALE, WIDTH, save, style

NAME = "own_kernel"
_COLUMNS = 52  # characters of a line of code
_LINE, _NOTE = 0.34, 0.36  # inches: a line of code, a line of what is found
_LEFT, _CODE = 0.3, 0.95


def _and(words: Sequence[object]) -> str:
    return " and ".join(map(str, words))


def _lines(numbers: Sequence[int]) -> str:
    return f"line{'s' * (len(numbers) > 1)} {_and(numbers)}"


def notes(findings: Sequence[Mapping]) -> dict[int, str]:
    """What is said below a line of the source: of races of one reading line one sentence, of other findings the array."""
    said: dict[int, str] = {}
    races = [one for one in findings if one["id"] == "race"]
    for reads in sorted({one["line"] for one in races if one["access"] == "read"}):
        mine = [one for one in races if one["access"] == "read" and one["line"] == reads]
        arrays, writes = sorted({one["array"] for one in mine}), sorted({one["other"]["line"] for one in mine})
        said[reads] = f"race: reads {_and(arrays)} while another thread writes in {_lines(writes)}; no barrier in between"
    for one in findings:
        if one["id"] == "shared_out_of_bounds":
            said[one["line"]] = f"{one['access']}s past the end of {one['array']}"
    return said


def _code(axes: Axes, y: float, number: int, text: str, indent: int, marked: bool) -> float:
    """Draws a line of the source from y on, broken where it is long; where the next begins."""
    own = len(text) - len(text.lstrip()) - indent
    rows = textwrap.wrap(text.strip(), _COLUMNS - own, subsequent_indent="    ") or [""]
    if marked:
        box(axes, _LEFT - 0.1, y, WIDTH - 2 * _LEFT + 0.2, _LINE * len(rows), PALE)
        box(axes, _LEFT - 0.1, y, 0.08, _LINE * len(rows), INK)
    axes.text(_CODE - 0.2, y + _LINE / 2, str(number), ha="right", va="center", fontsize=SMALL, color=GREY)
    for place, row in enumerate(rows):
        axes.text(
            _CODE, y + _LINE * (place + 0.5), " " * own + row, va="center", fontsize=SMALL, family="monospace",
            weight="bold" if marked else "normal",
        )  # fmt: skip
    return y + _LINE * len(rows)


def _note(axes: Axes, y: float, words: str) -> float:
    for row in textwrap.wrap(words, 58):
        axes.text(_CODE, y + _NOTE / 2, row, va="center", fontsize=SMALL, style="italic")
        y += _NOTE
    return y + 0.06


def draw_found(found: Mapping, lines: Sequence[str]) -> Figure:
    """found: what is recorded; lines: of the file."""
    said = notes(found["findings"])
    writes = {one["other"]["line"] for one in found["findings"] if one["id"] == "race" and one["access"] == "read"}
    marked = set(said) | writes
    first, last = min(marked) - 1, max(marked)
    shown = [(number, lines[number - 1]) for number in range(first, last + 1)]
    indent = min(len(text) - len(text.lstrip()) for _, text in shown if text.strip())
    heights = 0.0
    for _, text in shown:
        own = len(text) - len(text.lstrip()) - indent
        heights += _LINE * max(1, len(textwrap.wrap(text.strip(), _COLUMNS - own, subsequent_indent="    ")))
    heights += sum(_NOTE * len(textwrap.wrap(words, 58)) + 0.06 for words in said.values())
    figure, axes = canvas(heights + 2.15)
    axes.text(_LEFT - 0.1, 0.45, f"./gemm inspect {Path(found['file']).name}", fontsize=TITLE, fontweight="bold")
    y = 0.8
    for number, text in shown:
        y = _code(axes, y, number, text, indent, number in marked)
        if number in said:
            y = _note(axes, y, said[number])
    y += 0.2
    axes.plot([_LEFT - 0.1, WIDTH - _LEFT + 0.1], [y, y], color=MID, linewidth=1.2)
    axes.text(_LEFT - 0.1, y + 0.42, found["verdict"], fontsize=TEXT, fontweight="bold")
    axes.text(_LEFT - 0.1, y + 0.8, "It ran on a CPU, where every access is seen.", fontsize=TEXT)
    return figure


def draw(found: Mapping, root: Path, stem: Path) -> list[Path]:
    """Draws it to stem.png and .svg. found: as `./gemm inspect --record` writes it."""
    lines = (root / found["file"]).read_text(encoding="utf-8").splitlines()
    with style():
        return save(draw_found(found, lines), stem)
