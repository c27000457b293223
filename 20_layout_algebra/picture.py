"""Lesson 20's pictures: what each operation makes of a layout. Every offset in them is what ./gemm layout says."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from plots.drawing import SMALL, TEXT, TITLE, arrow, box, canvas, legend
from plots.style import DARK, GREY, INK, LIGHT, MID, PALE, WIDTH
from runner.core.descriptors import Descriptor
from runner.inspect.layout import computed

_CELL = 0.4  # inches
_NUMBER = 14  # points, of what stands in a box
_LEFT_OUT = "#d9d9d9"
_SHADES = (DARK, "white", MID, LIGHT, PALE, LIGHT)

# Composition: a tile of 4×8 elements, row-major, of which eight threads take two neighbors each, twice. As in 09b.
MEMORY, COPIES = "(4,8):(8,1)", "((4,2),2):((8,1),2)"
SHOWN = 5  # the thread to follow: any will do
# Coalesce: three modes, of which the second continues the first.
THREE = "(2,2,4):(1,2,8)"
# Complement and divide: every other one of eight offsets is a tile.
LENGTH, EVERY_OTHER = 24, "4:2"
# Tiles of a matrix.
MATRIX, TILER, TILE = "(4,8):(8,1)", "(2,4)", (2, 4)
# A row-major block of 2×2, six of them, row by row.
BLOCK, COPIED = "(2,2):(2,1)", "(2,3):(3,1)"
SWIZZLE = "3,0,3"
# Inverses: offsets 8 to 15 belong to no index.
GAPPED, MARKED = "(4,2,2):(2,1,16)", 5
# The same tiles as above: one of them, by its row and column, and what one of eight threads takes of all.
CHOSEN, THREADS, THREAD = (1, 0), "(2,4):(4,1)", 2


def _inked(fill: str) -> str:
    return "white" if fill in (DARK, MID) else INK


def _cell(axes: Axes, x: float, y: float, words: object, fill: str = "white", wide: float = _CELL) -> None:
    box(axes, x, y, wide, _CELL, fill, GREY)
    axes.text(x + wide / 2, y + _CELL / 2, str(words), ha="center", va="center", fontsize=_NUMBER, color=_inked(fill))


def _table(axes: Axes, x: float, y: float, rows: int, numbers: Sequence[int], fills: Sequence[str] = ()) -> float:
    """Numbers down the columns, with those of rows and columns at the edges; `fills`: a shade for each. Returns where it ends."""
    for i, number in enumerate(numbers):
        _cell(axes, x + i // rows * _CELL, y + i % rows * _CELL, number, fills[i] if fills else "white")
    cols = len(numbers) // rows
    for row in range(rows):
        axes.text(x - 0.1, y + (row + 0.5) * _CELL, str(row), ha="right", va="center", fontsize=_NUMBER, color=GREY)
    for col in range(cols):
        axes.text(x + (col + 0.5) * _CELL, y - 0.1, str(col), ha="center", fontsize=_NUMBER, color=GREY)
    box(axes, x, y, cols * _CELL, rows * _CELL, "none", INK, 1.8)
    return x + cols * _CELL


def _started(lesson: Descriptor, height: float, title: str, said: str) -> tuple[Figure, Axes]:
    figure, axes = canvas(height)
    axes.text(0.2, 0.45, f"{lesson.name}: {title}", fontsize=TITLE, fontweight="bold")
    axes.text(0.2, 0.9, said, fontsize=TEXT)
    return figure, axes


def _named(axes: Axes, x: float, y: float, name: str, written: str) -> None:
    axes.text(x, y - 0.72, name, fontsize=TEXT, fontweight="bold")
    axes.text(x, y - 0.42, written, fontsize=SMALL)


def picture(lesson: Descriptor) -> Figure:
    """Which offset does a thread's element have, if B says which element and A where it is?"""
    memory, composed = computed(MEMORY, compose=COPIES)
    taken = computed(COPIES)[0]
    threads, y, x_a = 8, 2.1, 2.3
    figure, axes = _started(lesson, 6.75, "composition", "B: which element.  A: where it is.  A∘B: both at once")
    mine = [taken["values"][SHOWN + threads * i] for i in range(2)]  # numbers of elements, counted down the columns
    fills = [DARK if i % threads == SHOWN else "white" for i in range(2 * threads)]
    _named(axes, 0.5, y, "B", COPIES)
    _table(axes, 0.5, y, threads, taken["values"], fills)
    x, low = x_a + 0.3, y + 1.2
    _named(axes, x, low, "A", MEMORY)
    _table(axes, x, low, 4, memory["values"], [DARK if n in mine else "white" for n in range(32)])
    axes.text(x, low + 4 * _CELL + 0.35, "element 0, 1, 2, 3 down a column,", fontsize=SMALL)
    axes.text(x, low + 4 * _CELL + 0.65, "then the next; in the box: its offset", fontsize=SMALL)
    x_r = WIDTH - 0.5 - 2 * _CELL
    axes.text(x_r + 2 * _CELL, y - 0.72, "A∘B", fontsize=TEXT, fontweight="bold", ha="right")
    axes.text(x_r + 2 * _CELL, y - 0.42, composed["result"], fontsize=SMALL, ha="right")
    _table(axes, x_r, y, threads, composed["values"], fills)
    middle = y + (SHOWN + 0.5) * _CELL
    arrow(axes, (0.5 + 2 * _CELL + 0.1, middle), (x - 0.3, low + 2 * _CELL))
    arrow(axes, (x + 8 * _CELL + 0.1, low + 2 * _CELL), (x_r - 0.4, middle))
    below = y + threads * _CELL + 0.35
    axes.text(0.2, below, "row: thread; column: i", fontsize=SMALL)
    legend(axes, 0.2, below + 0.25, [(DARK, f"thread {SHOWN}: elements {mine[0]} and {mine[1]}")])
    return figure


def picture_coalesce(lesson: Descriptor) -> Figure:
    """Why may two modes become one?"""
    three = computed(THREE)[0]
    y = 2.15
    figure, axes = _started(lesson, 4.7, "coalesce", "Down the columns, both tables have the same offsets")
    steps = three["values"]
    _named(axes, 0.5, y, "three modes", three["result"])
    end = _table(axes, 0.5, y, 2, steps, [(LIGHT if i // 4 % 2 else "white") for i in range(16)])
    _named(axes, end + 0.9, y, "two modes", three["coalesced"])
    _table(axes, end + 0.9, y, 4, steps, [(LIGHT if i // 4 % 2 else "white") for i in range(16)])
    text = axes.text
    text(0.2, y + 4 * _CELL + 0.35, "The second mode steps by 2, where the first one ends.", fontsize=SMALL)
    text(0.2, y + 4 * _CELL + 0.65, "So they count 0, 1, 2, 3 together: 4:1", fontsize=SMALL)
    return figure


def _line(axes: Axes, y: float, owners: Sequence[int], words: Sequence[object]) -> None:
    """Offsets in a row, shaded by whose they are."""
    wide = (WIDTH - 0.4) / len(owners)
    for offset, owner in enumerate(owners):
        _cell(axes, 0.2 + offset * wide, y, words[offset], _SHADES[owner % len(_SHADES)], wide)
        axes.text(0.2 + (offset + 0.5) * wide, y - 0.1, str(offset), ha="center", fontsize=_NUMBER - 2, color=GREY)


def picture_complement(lesson: Descriptor) -> Figure:
    """Where must copies of a tile begin so that they fill everything?"""
    tile, rest = computed(EVERY_OTHER, complement=str(LENGTH))
    figure, axes = _started(
        lesson, 3.1, "complement", f"{EVERY_OTHER} in {LENGTH}. Above a box: the offset; in it: which copy of the tile"
    )
    owners = [0] * LENGTH
    for copy, begin in enumerate(rest["values"]):
        for step in tile["values"]:
            owners[begin + step] = copy
    _line(axes, 1.5, owners, owners)
    begins = ", ".join(map(str, rest["values"]))
    axes.text(0.2, 2.3, f"Copies begin at {begins}: that is {rest['result']}", fontsize=TEXT)
    legend(axes, 0.2, 2.55, [(DARK, f"the tile itself, {EVERY_OTHER}")])
    return figure


def picture_divide(lesson: Descriptor) -> Figure:
    """What does logical_divide put into rows and columns?"""
    parts = computed(f"{LENGTH}:1", divide=EVERY_OTHER)[1]
    rows, y = 4, 2.15
    cols = LENGTH // rows
    figure, axes = _started(lesson, 4.4, "logical_divide", f"{LENGTH} offsets divided by {EVERY_OTHER}: a column is a tile")
    _named(axes, 0.5, y, "(tile, which tile)", parts["result"])
    _table(axes, 0.5, y, rows, parts["values"], [_SHADES[i // rows] for i in range(LENGTH)])
    words = ["mode 0: the tile", "mode 1: its complement,", f"which tile of {cols}"]
    for i, said in enumerate(words):
        axes.text(0.5 + cols * _CELL + 0.5, y + 0.45 + 0.38 * i, said, fontsize=TEXT)
    return figure


def picture_tile(lesson: Descriptor) -> Figure:
    """Where does each element of a matrix come when it is cut into tiles?"""
    matrix, tiled = computed(MATRIX, tile=TILER)
    rows, y = 4, 2.15
    height, width = TILE
    figure, axes = _started(lesson, 6.1, "zipped_divide", f"A matrix in tiles of {TILER}: each tile becomes a column")
    order = [(i % rows // height) + rows // height * (i // rows // width) for i in range(32)]  # the tile of each element
    _named(axes, 0.5, y, "the matrix", matrix["result"])
    end = _table(axes, 0.5, y, rows, matrix["values"], [_SHADES[tile] for tile in order])
    _named(axes, end + 1.2, y, "(tile, which)", tiled["result"])
    size = height * width
    _table(axes, end + 1.2, y, size, tiled["values"], [_SHADES[i // size] for i in range(32)])
    arrow(axes, (end + 0.15, y + 2 * _CELL), (end + 0.75, y + 2 * _CELL))
    axes.text(0.5, y + 6 * _CELL, "on the right, a row: which element of", fontsize=SMALL)
    axes.text(0.5, y + 6 * _CELL + 0.3, "the tile; a column: which tile", fontsize=SMALL)
    return figure


def _labelled(
    axes: Axes, x: float, y: float, numbers: Sequence[int], rows: Sequence[str], cols: Sequence[str], dark: int
) -> float:
    """A table with coordinates at its edges, and one offset dark. Returns where it ends."""
    for i, number in enumerate(numbers):
        place = x + i // len(rows) * _CELL, y + i % len(rows) * _CELL
        _cell(axes, *place, number, DARK if number == dark else _SHADES[1 + i // len(rows) % 2 * 2])
    for row, words in enumerate(rows):
        axes.text(x - 0.08, y + (row + 0.5) * _CELL, words, ha="right", va="center", fontsize=_NUMBER, color=GREY)
    for col, words in enumerate(cols):
        axes.text(x + (col + 0.5) * _CELL, y - 0.1, words, ha="center", fontsize=_NUMBER, color=GREY)
    box(axes, x, y, len(cols) * _CELL, len(rows) * _CELL, "none", INK, 1.8)
    return x + len(cols) * _CELL


def picture_forms(lesson: Descriptor) -> Figure:
    """What do the three divisions by a tiler leave to choose?"""
    zipped, tiled, flat = (computed(MATRIX, **{option: TILER})[1] for option in ("tile", "tiled_divide", "flat_divide"))
    y, (height, width) = 2.3, TILE
    size = height * width
    figure, axes = _started(lesson, 7.0, "three divisions", f"{MATRIX} by {TILER}: the same table, other coordinates")
    element, tile = 4, 3  # the one to follow: any will do
    inside, which = (element % height, element // height), (tile % 2, tile // 2)
    numbers, pairs = [str(i) for i in range(size)], [f"{i % 2},{i // 2}" for i in range(4)]
    digits = [f"{i % height},{i // height}" for i in range(size)]
    forms = (
        (0.5, "zipped_divide", zipped, numbers, numbers[:4], f"{element}, {tile}"),
        (2.95, "tiled_divide", tiled, numbers, pairs, f"{element}, {which[0]}, {which[1]}"),
        (5.75, "flat_divide", flat, digits, pairs, ", ".join(map(str, (*inside, *which)))),
    )
    below = y + size * _CELL
    for x, name, shown, rows, cols, asked in forms:
        offset = shown["values"][element + size * tile]
        shape, _, stride = shown["result"].partition(":")
        axes.text(x - 0.3, y - 0.95, name, fontsize=TEXT, fontweight="bold")
        axes.text(x - 0.3, y - 0.63, f"{shape} :", fontsize=SMALL)
        axes.text(x - 0.3, y - 0.35, stride, fontsize=SMALL)
        _labelled(axes, x, y, shown["values"], rows, cols, offset)
        axes.text(x - 0.3, below + 0.35, f"R({asked}) = {offset}", fontsize=SMALL)
    axes.text(0.2, below + 0.8, "A row: an element of the tile. A column: a tile.", fontsize=SMALL)
    axes.text(0.2, below + 1.1, "Zipped, each has one number; flat, each has its row and column.", fontsize=SMALL)
    return figure


def picture_partition(lesson: Descriptor) -> Figure:
    """What do a tile and a thread take of the same division?"""
    matrix, tiled = computed(MATRIX, tile=TILER)
    threads, inverse = computed(THREADS, right_inverse="")
    rows, y = 4, 2.15
    size = TILE[0] * TILE[1]
    figure, axes = _started(
        lesson, 6.5, "tiles and threads", f"Tiles of {TILER}: a column is local_tile, a row is local_partition"
    )
    tile, part = CHOSEN[0] + 2 * CHOSEN[1], inverse["values"][THREAD]

    def fill(i: int) -> str:
        """Of an element of the table on the right."""
        mine, here = i % size == part, i // size == tile
        return DARK if mine else LIGHT if here else "white"

    fills = {offset: fill(i) for i, offset in enumerate(tiled["values"])}
    _named(axes, 0.5, y, "the matrix", matrix["result"])
    end = _table(axes, 0.5, y, rows, matrix["values"], [fills[offset] for offset in matrix["values"]])
    for line in range(1, 8 // TILE[1]):
        axes.plot([0.5 + line * TILE[1] * _CELL] * 2, [y, y + rows * _CELL], color=INK, linewidth=1.8)
    for line in range(1, rows // TILE[0]):
        axes.plot([0.5, end], [y + line * TILE[0] * _CELL] * 2, color=INK, linewidth=1.8)
    x = end + 1.2
    _named(axes, x, y, "(tile, which)", tiled["result"])
    _table(axes, x, y, size, tiled["values"], [fill(i) for i in range(len(tiled["values"]))])
    arrow(axes, (end + 0.15, y + 2 * _CELL), (end + 0.75, y + 2 * _CELL))
    legend(axes, 0.5, y + rows * _CELL + 0.35, [(LIGHT, f"tile {CHOSEN}"), (DARK, f"thread {THREAD} of {threads['result']}")])
    below = y + size * _CELL
    axes.text(0.5, below + 0.4, f"Thread {THREAD} has element {part} of each tile. The threads' right inverse", fontsize=SMALL)
    axes.text(0.5, below + 0.7, f"R = {inverse['result']} says so: R({THREAD}) = {part}", fontsize=SMALL)
    return figure


def picture_product(lesson: Descriptor) -> Figure:
    """Where are the copies of a block in memory?"""
    block, product = computed(BLOCK, product=COPIED)
    y, side = 2.15, 2
    figure, axes = _started(lesson, 4.75, "logical_product", f"Six copies of the block {BLOCK}, arranged like {COPIED}")
    _named(axes, 0.5, y, "the block", block["result"])
    end = _table(axes, 0.5, y, side, block["values"], [DARK] * 4)
    x = end + 1.6
    _named(axes, x, y, "(block, which), drawn as blocks", product["result"])
    for i, offset in enumerate(product["values"]):
        element, copy = i % 4, i // 4
        row, col = copy % 2 * side + element % side, copy // 2 * side + element // side
        _cell(axes, x + col * _CELL, y + row * _CELL, offset, (DARK, "white", LIGHT, MID, PALE, "white")[copy])
    for line in range(4):
        axes.plot([x + line * side * _CELL] * 2, [y, y + 4 * _CELL], color=INK, linewidth=1.8)
    for line in range(3):
        axes.plot([x, x + 6 * _CELL], [y + line * side * _CELL] * 2, color=INK, linewidth=1.8)
    axes.text(0.2, y + 4 * _CELL + 0.45, "In a box: the offset. Copies begin at multiples of 4, the block's size", fontsize=SMALL)
    return figure


def picture_beside(lesson: Descriptor) -> Figure:
    """Where do the copies' elements come, in blocks and interleaved?"""
    product = computed(BLOCK, product=COPIED)[1]["values"]
    y = 2.15
    figure, axes = _started(lesson, 5.0, "blocked or raked", f"Six copies of the block {BLOCK}, arranged like {COPIED}")
    copy_of = {offset: i // 4 for i, offset in enumerate(product)}
    for x, option in ((0.5, "blocked_product"), (4.5, "raked_product")):
        shown = computed(BLOCK, **{option: COPIED})[1]
        _named(axes, x, y, option, shown["result"])
        shades = (DARK, "white", LIGHT, MID, PALE, "white")
        _table(axes, x, y, 4, shown["values"], [shades[copy_of[offset]] for offset in shown["values"]])
    axes.text(0.2, y + 4 * _CELL + 0.4, "In a box: the offset. Dark: the first copy of the block", fontsize=SMALL)
    axes.text(0.2, y + 4 * _CELL + 0.7, "Blocked, a copy stays together; raked, it is spread among the others", fontsize=SMALL)
    return figure


def picture_inverses(lesson: Descriptor) -> Figure:
    """Which way back does each inverse know?"""
    forward, right = computed(GAPPED, right_inverse="")
    left = computed(GAPPED, left_inverse="")[1]
    offsets = forward["values"]
    length, wide = max(offsets) + 1, (WIDTH - 0.4) / (max(offsets) + 1)
    figure, axes = _started(lesson, 6.4, "the inverses", f"A = {GAPPED}: an index above a box, its offset in it")

    def line(y: float, words: str, numbers: Sequence[int], fills: Sequence[str]) -> None:
        axes.text(0.2, y - 0.42, words, fontsize=TEXT)
        for i, (number, fill) in enumerate(zip(numbers, fills, strict=True)):
            _cell(axes, 0.2 + i * wide, y, number, fill, wide)
            axes.text(0.2 + (i + 0.5) * wide, y - 0.1, str(i), ha="center", fontsize=_NUMBER - 2, color=GREY)

    def shades(indices: Sequence[int]) -> list[str]:
        """Of boxes by the index that they are about: what a step of the last mode leads to is shaded."""
        return [DARK if i == MARKED else LIGHT if i >= 8 else "white" for i in indices]

    line(1.9, "A", offsets, shades(range(len(offsets))))
    line(
        3.3,
        f"right inverse, {right['result']}: above, an offset; in the box, its index",
        right["values"],
        shades(right["values"]),
    )
    axes.text(
        0.2 + (len(right["values"]) + 0.4) * wide,
        3.3 + 0.26,
        f"it ends here: no index has offset {len(right['values'])}",
        fontsize=SMALL,
    )
    line(4.7, f"left inverse, {left['result']}: the same, for every offset", left["values"][:length], [
        shades([offsets.index(offset)])[0] if offset in offsets else _LEFT_OUT for offset in range(length)
    ])  # fmt: skip
    legend(
        axes,
        0.2,
        5.3,
        [
            (DARK, f"A({MARKED}) = {offsets[MARKED]}, and back"),
            (_LEFT_OUT, "offsets that A leaves out: what is here means nothing"),
        ],
    )
    return figure


def picture_swizzle(lesson: Descriptor) -> Figure:
    """What does a swizzle do to a column?"""
    plain, swizzled = computed("(8,8):(8,1)", swizzle=SWIZZLE)
    y = 2.15
    column = 1
    dark = [DARK if i // 8 == column else "white" for i in range(64)]
    figure, axes = _started(lesson, 6.3, "a swizzle", "In a box: the offset, in chunks of 16 bytes; dark: column 1")
    _named(axes, 0.5, y, "plain", plain["result"])
    end = _table(axes, 0.5, y, 8, plain["values"], dark)
    x = end + 0.75
    _named(axes, x, y, "swizzled", swizzled["result"].replace(" o ", " ∘ "))
    _table(axes, x, y, 8, swizzled["values"], dark)
    places = ", ".join(str(offset % 8) for offset in swizzled["values"][8 * column : 8 * column + 8])
    axes.text(
        0.2,
        y + 8 * _CELL + 0.4,
        f"Plain, column {column} is at the same place of all rows: offset mod 8 is {column}.",
        fontsize=SMALL,
    )
    axes.text(0.2, y + 8 * _CELL + 0.7, f"Swizzled, it is at eight places: {places}.", fontsize=SMALL)
    return figure


def picture_modes(lesson: Descriptor) -> Figure:
    """Which chunk is at which place, in the three modes of TMA and wgmma?"""
    y, side, gap = 2.0, 0.285, 0.32
    figure, axes = _started(lesson, 5.0, "swizzle modes", "A line is 128 bytes, a box is 16: the chunk of the line that is here")
    for mode, bits in enumerate((1, 2, 3)):
        swizzled = computed("(8,8):(8,1)", swizzle=f"{bits},0,3")[1]
        x, chunks = 0.2 + mode * (8 * side + gap), 1 << bits
        _named(axes, x, y + 0.25, f"{16 << bits} bytes", f"Swizzle<{bits},4,3>")
        for i, offset in enumerate(swizzled["values"]):
            line, place = i % 8, i // 8
            chunk = offset % 8  # XOR is its own inverse: where chunk `place` goes is also the chunk that is at `place`
            fill = LIGHT if chunk // chunks % 2 ^ (bits == 3 and line % 2) else "white"  # rows of a box, in turns
            box(axes, x + place * side, y + line * side, side, side, fill, GREY)
            axes.text(x + (place + 0.5) * side, y + (line + 0.5) * side, str(chunk), ha="center", va="center", fontsize=_NUMBER)
        box(axes, x, y, 8 * side, 8 * side, "none", INK, 1.8)
        if bits < 3:  # rows that share a line
            for row in range(1, 8 // chunks):
                axes.plot([x + row * chunks * side] * 2, [y, y + 8 * side], color=INK, linewidth=1.8)
    legend(axes, 0.2, y + 8 * side + 0.25, [(LIGHT, "every other row of a box")])
    return figure
