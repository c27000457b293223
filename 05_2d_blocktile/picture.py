"""The picture of this lesson, from the sizes that its descriptor names."""

from __future__ import annotations

from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, WARP, box, canvas, counted, grid
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE, WIDTH
from runner.core.descriptors import Descriptor


def picture(lesson: Descriptor) -> Figure:
    """A thread's elements of C and what it reads for them at one step, the outer product, and the banks of a read."""
    rows, cols, depth, TM, TN = (lesson.constants[key] for key in ("BM", "BN", "BK", "TM", "TN"))
    threads_m, threads_n = rows // TM, cols // TN
    figure, axes = canvas(13.65)
    text = axes.text
    text(0.2, 0.45, f"{lesson.name}: {TM}×{TN} results a thread", fontsize=TITLE, fontweight="bold")
    code, slanted = {"fontsize": TEXT, "family": "monospace"}, {"fontsize": TEXT, "fontstyle": "italic"}

    # 1. The block tile of C, the elements of warp 0 and of one thread, and what that reads at one step.
    text(0.2, 0.95, f"1. A thread owns {TM} rows times {TN} columns of C", fontsize=TEXT + 1, fontweight="bold")
    thread, k, cell, thin = 20, depth // 2, 4.1 / max(rows, cols), 0.07  # any thread of warp 0; thin: a step along K
    x, y = thread % threads_n, thread // threads_n
    own_rows, own_cols = [y + i * threads_m for i in range(TM)], [x + j * threads_n for j in range(TN)]
    x_as, y_bs = 0.75, 1.5
    x_c, y_c = x_as + depth * thin + 0.45, y_bs + depth * thin + 0.4
    box(axes, x_as, y_c, depth * thin, rows * cell, PALE, GREY)
    box(axes, x_c, y_bs, cols * cell, depth * thin, PALE, GREY)
    for i in range(TM):
        for j in range(TN):
            left, top = x_c + j * threads_n * cell, y_c + i * threads_m * cell
            box(axes, left, top, threads_n * cell, WARP // threads_n * cell, LIGHT)
    for row in own_rows:
        box(axes, x_as + k * thin, y_c + (row - 0.5) * cell, thin, 2 * cell, DARK)
    for col in own_cols:
        box(axes, x_c + (col - 0.5) * cell, y_bs + k * thin, 2 * cell, thin, DARK)
    for row in own_rows:
        for col in own_cols:
            box(axes, x_c + (col - 0.5) * cell, y_c + (row - 0.5) * cell, 2 * cell, 2 * cell, DARK)
    grid(axes, x_c, y_c, TM, TN, threads_n * cell, line=0.6)
    box(axes, x_c, y_c, cols * cell, rows * cell, "none", INK, 1.8)
    text(x_as - 0.55, y_c + rows * cell + 0.32, f"As[{rows}][{depth}]", **code)
    text(x_c + cols * cell, y_bs - 0.12, f"Bs[{depth}][{cols}]", ha="right", **code)
    text(x_c + 0.75, y_c + rows * cell + 0.32, f"C: a block's {rows}×{cols} elements", fontsize=TEXT)
    text(x_as + (k + 0.5) * thin, y_c - 0.1, "k", ha="center", **slanted)
    text(x_c - 0.1, y_bs + (k + 0.5) * thin, "k", ha="right", va="center", **slanted)
    x_text = x_c + cols * cell + 0.2
    legend = f"thread t = {thread}:\nx = t % {threads_n} = {x}\ny = t / {threads_n} = {y}"
    text(x_text, y_c, legend, fontsize=SMALL, va="top", linespacing=1.4)
    legend = f"dark: its rows\ny + i·{threads_m}, its\ncolumns x + j·{threads_n}\n(drawn twice\nas large)"
    text(x_text, y_c + 1.0, legend, fontsize=SMALL, va="top", linespacing=1.4)
    legend = f"light: warp 0,\n{WARP // threads_n} rows of {threads_n}\nin each square"
    text(x_text, y_c + 2.85, legend, fontsize=SMALL, va="top", linespacing=1.4)

    # 2. One step in registers.
    top = y_c + rows * cell + 0.9
    said = f"2. A step k: {TM} + {TN} reads, {TM * TN} multiply-adds"
    text(0.2, top, said, fontsize=TEXT + 1, fontweight="bold")
    side = 1.36 / max(TM, TN)
    x_acc, y_acc = 2.5, top + 0.85
    box(axes, x_acc - 0.3 - side, y_acc, side, TM * side, MID)
    box(axes, x_acc, y_acc - 0.2 - side, TN * side, side, MID)
    box(axes, x_acc, y_acc, TN * side, TM * side, LIGHT)
    grid(axes, x_acc - 0.3 - side, y_acc, TM, 1, side)
    grid(axes, x_acc, y_acc - 0.2 - side, 1, TN, side)
    grid(axes, x_acc, y_acc, TM, TN, side)
    text(x_acc - 0.45 - side, y_acc + TM * side / 2, f"a_frag[{TM}]", ha="right", va="center", **code)
    text(x_acc + TN * side + 0.15, y_acc - 0.2 - side / 2, f"b_frag[{TN}]", va="center", **code)
    text(x_acc + TN * side + 0.15, y_acc + 0.35, f"acc[{TM}][{TN}]", va="center", **code)
    text(x_acc + TN * side + 0.15, y_acc + 0.75, "acc[i][j] +=", va="center", **code)
    text(x_acc + TN * side + 0.15, y_acc + 1.08, "    a_frag[i] * b_frag[j]", va="center", **code)

    # 3. The banks that b_frag[j] of one warp comes from, for the kernel's columns and for neighbouring ones.
    top = y_acc + TM * side + 0.65
    text(0.2, top, "3. Why a thread's columns lie apart", fontsize=TEXT + 1, fontweight="bold")
    text(0.2, top + 0.36, "Banks of one read of a row of Bs by a warp:", fontsize=TEXT)
    wide, tall = (WIDTH - 0.6) / 32, 0.2
    base = top + 1.0
    for said, step in ((f"column x + j·{threads_n}", 1), (f"column x·{TN} + j", TN)):
        words = [t * step for t in range(threads_n)]
        banks = [word % 32 for word in words]
        deep = max(banks.count(bank) for bank in banks)
        text(0.3, base - 0.12, f"{said}: {counted(deep, 'wavefront')}", fontsize=TEXT)
        for bank in range(32):
            box(axes, 0.3 + bank * wide, base, wide, tall, PALE, GREY)
        for at, bank in enumerate(banks):
            box(axes, 0.3 + bank * wide, base + banks[:at].count(bank) * tall, wide, tall, DARK, "white")
        base += deep * tall + 0.68
    text(0.3, base - 0.3, "A box: a bank, 0 … 31; a dark one: a word that threads want", fontsize=SMALL)
    return figure
