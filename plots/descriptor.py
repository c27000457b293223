"""What wgmma reads, or TMA writes, of shared memory: 16 bytes a cell, 128 bytes a line; from gemm_descriptor's JSON.

Coordinates are inches from the top left corner.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from plots.drawing import box, canvas
from plots.style import GREY, INK, LIGHT, PALE, WIDTH, save, style

CHUNK, LINE = 16, 128  # bytes
MOST = 16  # lines that are drawn
_SMALL = 15  # points
_LEFT, _HEIGHT = 1.15, 0.4  # inches
_CELL = (WIDTH - _LEFT - 0.2) / (LINE // CHUNK)


def cells(found: Mapping) -> dict[int, dict[int, list[Mapping]]]:
    """Line of shared memory (address / 128) -> cell in it -> the chunks that lie there, in order of the lines."""
    lines: dict[int, dict[int, list[Mapping]]] = defaultdict(lambda: defaultdict(list))
    for chunk in found["chunks"]:
        lines[chunk["address"] // LINE][chunk["address"] % LINE // CHUNK].append(chunk)
    return {line: dict(lines[line]) for line in sorted(lines)}


def label(chunk: Mapping) -> str:
    """Where its first element is: `row,k` of a matrix, `row,column` of a box."""
    return f"{chunk['row']},{chunk['k'] if 'k' in chunk else chunk['column']}"


def title(found: Mapping) -> list[str]:
    if found["kind"] == "tensor_map":
        fields = found["fields"]
        sides = "×".join(map(str, reversed(fields["boxDim"])))
        return [
            f"a box of {sides} {fields['tensorDataType']}, swizzle {fields['swizzle']}",
            "16 bytes a cell: row and column in the box of the first element there",
        ]
    what = "K" if found["major"] == "k" else "M or N"
    second = "16 bytes a cell: row and k of the first of the 8 elements that are read there"
    return [f"descriptor {found['number']}: {found['rows']} rows, {what} side by side", second]


def memory(found: Mapping) -> Figure:
    """The lines of shared memory that it touches; cells that hold something else than is meant are hatched."""
    lines = cells(found)
    shown = list(lines)[:MOST]
    wrong, tile = found.get("wrong", 0), found.get("tile")
    more = len(lines) - len(shown)
    gaps = sum(b != a + 1 for a, b in zip(shown, shown[1:], strict=False))
    figure, axes = canvas(1.7 + len(shown) * _HEIGHT + gaps * 0.15 + 0.36 * (1 + bool(tile) + bool(more)))
    first, second = title(found)
    axes.text(0.2, 0.42, first, fontsize=14, fontweight="bold")
    axes.text(0.2, 0.8, second, fontsize=12)
    y, last = 1.3, None
    axes.text(_LEFT - 0.1, y - 0.12, "byte", ha="right", fontsize=_SMALL, color=GREY)
    for cell in range(LINE // CHUNK):
        axes.text(_LEFT + (cell + 0.5) * _CELL, y - 0.12, f"+{cell * CHUNK}", ha="center", fontsize=12, color=GREY)
    for line in shown:
        y += 0.15 if last is not None and line != last + 1 else 0
        axes.text(_LEFT - 0.1, y + _HEIGHT / 2, str(line * LINE), ha="right", va="center", fontsize=_SMALL)
        for cell in range(LINE // CHUNK):
            chunks = lines[line].get(cell, [])
            bad = any(chunk.get("wrong") for chunk in chunks)
            fill = "white" if not chunks or bad else LIGHT if chunks[0]["row"] // 8 % 2 == 0 else PALE
            x = _LEFT + cell * _CELL
            box(axes, x, y, _CELL, _HEIGHT, fill, INK if bad else GREY, 1.8 if bad else 0.6, hatch="////" if bad else None)
            if chunks:
                text = label(chunks[0]) + ("+" if len(chunks) > 1 else "")
                axes.text(x + _CELL / 2, y + _HEIGHT / 2, text, ha="center", va="center", fontsize=12,
                          bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8} if bad else None)  # fmt: skip
        y, last = y + _HEIGHT, line
    y += 0.34
    if more:
        axes.text(0.2, y, f"and {more} more lines of 128 bytes", fontsize=_SMALL)
        y += 0.36
    if tile:
        meant = f"{wrong} of {len(found['chunks'])} times 16 bytes are not what is meant" + (", hatched" if wrong else "")
        axes.text(0.2, y, meant, fontsize=_SMALL, fontweight="bold")
    return figure


def draw(found: Mapping, stem: Path) -> list[Path]:
    """Draws it into stem.png and .svg."""
    with style():
        return save(memory(found), stem)
