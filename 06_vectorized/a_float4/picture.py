"""The pictures of this lesson, from the sizes that its descriptor names."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, WARP, arrow, box, canvas, grid, legend
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE, WIDTH
from runner.core.descriptors import Descriptor

FLOATS = 4  # of an access


def picture(lesson: Descriptor) -> Figure:
    """What a thread reads at a step, and which elements of C it owns."""
    rows, cols, TM, TN = (lesson.constants[key] for key in ("BM", "BN", "TM", "TN"))
    threads_m, threads_n, thread = rows // TM, cols // TN, 20  # any thread of warp 0 will do
    x, y = thread % threads_n * FLOATS, thread // threads_n * FLOATS
    figure, axes = canvas(6.6)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: four neighbors at a time", fontsize=TITLE, fontweight="bold")
    cell, thin, x_as, y_bs = 4.1 / cols, 0.16, 0.95, 1.15
    x_c, y_c = x_as + thin + 0.25, y_bs + thin + 0.25
    box(axes, x_as, y_c, thin, rows * cell, PALE, GREY)
    box(axes, x_c, y_bs, cols * cell, thin, PALE, GREY)
    for i in range(0, TM, FLOATS):
        box(axes, x_c, y_c + i * threads_m * cell, cols * cell, WARP // threads_n * FLOATS * cell, LIGHT)
        box(axes, x_as, y_c + (y + i * threads_m) * cell, thin, FLOATS * cell, DARK)
        for j in range(0, TN, FLOATS):
            left, top = x_c + (x + j * threads_n) * cell, y_c + (y + i * threads_m) * cell
            box(axes, left, top, FLOATS * cell, FLOATS * cell, DARK)
    for j in range(0, TN, FLOATS):
        box(axes, x_c + (x + j * threads_n) * cell, y_bs, FLOATS * cell, thin, DARK)
    box(axes, x_c, y_c, cols * cell, rows * cell, "none", INK, 1.8)
    text(x_c + cols * cell / 2, y_bs - 0.13, "Bs[k]", ha="center", fontsize=TEXT, family="monospace")
    text(x_as - 0.1, y_c + rows * cell / 2, "As[k]", ha="right", va="center", fontsize=TEXT, family="monospace", rotation=90)
    text(x_c + cols * cell / 2, y_c + rows * cell + 0.3, f"C tile: {rows}×{cols} elements", ha="center", fontsize=TEXT)
    right = x_c + cols * cell + 0.25
    legend(axes, right, y_c, [(LIGHT, "warp 0"), (DARK, f"thread {thread}"), (PALE, "read by others")])
    said = (
        f"A dark piece of\nAs[k] or Bs[k] is\n{FLOATS} floats: one\nread.\n\nA dark square is\n{FLOATS}×{FLOATS} elements\nof C."
    )
    text(right, y_c + 1.57, said, fontsize=TEXT, va="top", linespacing=1.3)
    return figure


def picture_transposed(lesson: Descriptor) -> Figure:
    """Where the floats go that a thread, and a warp, loads of A."""
    rows, depth = (lesson.constants[key] for key in ("BM", "BK"))
    across = depth // FLOATS  # threads beside each other
    shown, cell, thread = 12, 0.2, 5  # shown: rows of A's k-tile
    figure, axes = canvas(6.8)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: A's k-tile is transposed", fontsize=TITLE, fontweight="bold")
    left, right, top = 0.55, 0.55 + depth * cell + 1.05, 1.35
    text(left, top - 0.4, f"A: the first {shown} of {rows} rows,\n{depth} steps of K", fontsize=SMALL, va="center")
    text(right, top - 0.4, f"As: {depth} rows, of each the\nfirst {shown} of {rows} floats", fontsize=SMALL, va="center")
    for at in range(WARP):
        row, k = at // across, at % across * FLOATS
        colour = DARK if at == thread else LIGHT
        box(axes, left + k * cell, top + row * cell, FLOATS * cell, cell, colour)
        box(axes, right + row * cell, top + k * cell, cell, FLOATS * cell, colour)
        if at != thread:
            box(axes, left + k * cell, top + row * cell, cell, cell, MID)
            box(axes, right + row * cell, top + k * cell, cell, cell, MID)
    grid(axes, left, top, shown, depth, cell)
    grid(axes, right, top, depth, shown, cell)
    text(left + depth * cell / 2, top + shown * cell + 0.22, "…", ha="center", fontsize=TEXT)
    text(right + shown * cell + 0.2, top + depth * cell / 2, "…", va="center", fontsize=TEXT)
    row, k = thread // across, thread % across * FLOATS
    _way(axes, (left + (k + FLOATS) * cell, top + (row + 0.5) * cell), (right + row * cell, top + (k + FLOATS / 2) * cell))
    shades = [
        (DARK, f"thread {thread}: one load of {FLOATS} floats, and its {FLOATS} stores"),
        (MID, "the first float, v.x, of each other thread of warp 0"),
        (LIGHT, "their v.y, v.z and v.w"),
        ("white", "what other warps load and store"),
    ]
    legend(axes, 0.55, top + depth * cell + 0.45, shades)
    return figure


def _way(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    arrow(axes, (start[0] + 0.05, start[1]), (end[0] - 0.05, end[1]), 2.2)


def picture_banks(lesson: Descriptor) -> Figure:
    """The banks of a warp's store to As, without padding and with it."""
    rows, depth, pad = (lesson.constants[key] for key in ("BM", "BK", "PAD"))
    across = depth // FLOATS
    shades = [(DARK, "white"), (MID, "white"), (LIGHT, INK), (PALE, INK)]
    figure, axes = canvas(7.1)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: a warp stores v.x to As", fontsize=TITLE, fontweight="bold")
    left, step = 0.4, (WIDTH - 0.8) / WARP
    y = 1.3
    for padding in (0, pad):
        banks: dict[int, list[int]] = {}
        for thread in range(WARP):
            row, k = thread // across, thread % across * FLOATS
            banks.setdefault((k * (rows + padding) + row) % WARP, []).append(thread)
        most = max(map(len, banks.values()))
        text(left, y - 0.17, f"rows of {rows} + {padding} floats", fontsize=TEXT)
        for bank in range(WARP):
            for i in range(most):
                there = i < len(banks.get(bank, []))
                fill, colour = shades[banks[bank][i] % across % 4] if there else ("white", INK)
                box(axes, left + bank * step, y + i * 0.3, step, 0.3, fill, GREY, 0.5)
                if there:
                    text(left + (bank + 0.5) * step, y + (i + 0.5) * 0.3, str(banks[bank][i]), ha="center", va="center",
                         fontsize=11.5, color=colour)  # fmt: skip
        y += most * 0.3
        for bank in (*range(0, WARP, 8), WARP - 1):
            text(left + (bank + 0.5) * step, y + 0.25, str(bank), ha="center", fontsize=SMALL)
        text(left, y + 0.6, "bank: the word's place in memory, modulo 32", fontsize=SMALL)
        y += 1.3
    words = [(fill, f"row {FLOATS * i} of As") for i, (fill, _) in enumerate(shades[:across])]
    for place, shade in enumerate(words):
        legend(axes, left + place % 2 * 3.0, y - 0.15 + place // 2 * 0.42, [shade])
    text(left, y + 1.05, "In a box: the lane that stores there. A column: one bank.", fontsize=SMALL)
    return figure
