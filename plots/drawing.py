"""What the pictures of all lessons share: the constants of a kernel.cu, and boxes, grids and arrows.

Coordinates are inches from the top left corner.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from plots.style import GREY, INK, WIDTH, new_figure
from runner.core.results import UserError

WARP = 32  # threads
TITLE, TEXT, SMALL = 22, 17, 15  # points


@dataclass(frozen=True)
class Kernel:
    """What a picture takes from a kernel.cu."""

    constants: dict[str, int]  # BM, BN, …
    block: tuple[int, int]  # blockDim.x, blockDim.y
    x_is_row: bool  # threadIdx.x runs along the rows of C

    def element(self, thread: int) -> tuple[int, int]:
        """Row and column, in the block's tile of C, of the block's thread number `thread`."""
        x, y = thread % self.block[0], thread // self.block[0]
        return (x, y) if self.x_is_row else (y, x)


def read_kernel(path: Path) -> Kernel:
    """Reads tile constants, block and thread mapping. Throws UserError when one is not found."""
    source = path.read_text(encoding="utf-8")
    lists = "; ".join(re.findall(r"constexpr int ([^;]*);", source))  # BM = 128, BN = 256; PAD = 4; …
    constants = {name: int(value) for name, value in re.findall(r"(\w+) = (\d+)(?=[,;]|$)", lists)}
    if large := re.search(r"using Large = \w+<([\d, ]+)>;", source):  # 08: template arguments, named in the template's head
        names = re.findall(r"int (\w+)_\b", source[: large.start()])
        constants |= dict(zip(names, map(int, large[1].split(",")), strict=False))
    if tile := re.search(r"const gemm::Tile tile\{BM, BN, (\d+)\};", source):  # 09c: BK is the launch's choice
        constants.setdefault("BK", int(tile[1]))
    if {"BM", "BN", "BK", "TM"} <= constants.keys() and "const int t = threadIdx.x" in source:  # from lesson 04 on
        threads = constants["BM"] // constants["TM"] * (constants["BN"] // constants.get("TN", 1))
        return Kernel(constants, (threads, 1), False)
    if {"BM", "BN", "BK", "WM", "WN"} <= constants.keys() and "const int t = threadIdx.x" in source:  # 09: warps own tiles
        warps = constants["BM"] // constants["WM"] * (constants["BN"] // constants["WN"])
        return Kernel(constants, (WARP * warps, 1), False)
    block = re.search(r"const dim3 block\((\w+), (\w+)\);", source)
    row = re.search(r"\brow = [^;]*\+ (?:threadIdx\.)?([xy]);", source)
    if not block or not row or not {"BM", "BN", block[1], block[2]} <= constants.keys():
        raise UserError(
            f"{path} does not give BM, BN, `const dim3 block(…)` and `row = … + threadIdx.…;` as plots/drawing.py reads them."
        )
    return Kernel(constants, (constants[block[1]], constants[block[2]]), row[1] == "x")


def canvas(height: float) -> tuple[Figure, Axes]:
    figure = new_figure(height)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, WIDTH)
    axes.set_ylim(height, 0)
    return figure, axes


def box(axes: Axes, x: float, y: float, width: float, height: float, fill: str, edge: str = "none", line: float = 0.8,
        **more: Any) -> None:  # fmt: skip
    axes.add_patch(Rectangle((x, y), width, height, facecolor=fill, edgecolor=edge, linewidth=line, **more))


def grid(axes: Axes, x: float, y: float, rows: int, cols: int, cell: float, colour: str = GREY, line: float = 0.4) -> None:
    for row in range(rows + 1):
        axes.plot([x, x + cols * cell], [y + row * cell] * 2, color=colour, linewidth=line)
    for col in range(cols + 1):
        axes.plot([x + col * cell] * 2, [y, y + rows * cell], color=colour, linewidth=line)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], width: float = 1.6) -> None:
    style_ = {"arrowstyle": "-|>", "color": INK, "linewidth": width, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 16}
    axes.annotate("", end, start, arrowprops=style_)


def counted(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
