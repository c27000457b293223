"""What one warp's request touches in memory, and which thread owns which element of C: drawn from gemm_inspect's JSON.

Memory is drawn in rows of 128 bytes: a cache line of global memory with its four sectors, or one word of each of the 32
banks of shared memory. Coordinates are inches from the top left corner.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from plots.drawing import box, canvas
from plots.style import DARK, GREY, INK, LIGHT, PALE, WIDTH, save, style
from runner.core.figures import grouped
from runner.core.memory import LINE, SECTOR, WARP, WORD, pieces, words_of_banks

WORDS, PER_SECTOR = LINE // WORD, SECTOR // WORD  # words of a row of memory, which is a cache line or a word of each bank

_TITLE, _TEXT, _SMALL = 21, 17, 15  # points
_LEFT, _RIGHT = 1.2, 1.5  # inches: beside memory, for offsets and for lanes
_CELL = (WIDTH - _LEFT - _RIGHT) / WORDS
_HEIGHT = 0.27  # of a row of memory
_ZOOM_ROWS, _ZOOM_COLS = 8, 10  # elements whose owner is written into them


def spans(numbers: Iterable[int]) -> str:
    """{0, 1, 2, 5} -> `0–2, 5`."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}–{last}" for first, last in parts)


def lanes_label(lanes: Sequence[int]) -> str:
    """`lane 5`, `lanes 0–31`, and where that would be long: `16 lanes`."""
    text = spans(lanes)
    few = text if len(text) <= 5 else f"{len(set(lanes))} of {WARP}"
    return f"lane {few}" if len(set(lanes)) == 1 else f"lanes {few}" if few == text else f"{len(set(lanes))} lanes"


def words(sample: Mapping, width: int) -> dict[int, dict[int, list[int]]]:
    """Row of memory (offset / 128) -> word in it -> the lanes that want the word."""
    wanted: dict[int, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for lane, offset in zip(sample["lanes"], sample["offsets"], strict=True):
        for word in pieces([offset], width, WORD):
            wanted[word // WORDS][word % WORDS].append(lane)
    return {row: dict(sorted(wanted[row].items())) for row in sorted(wanted)}


def _count(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def _per(line: Mapping, key: str) -> str:
    value = line[key] / line["requests"] if line["requests"] else 0
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def _title(lesson: str, line: Mapping) -> list[str]:
    where = "shared" if line["space"] == "shared" else "global"
    first = f"{line['array']}: a warp's {line['op']}, {line['width']} B a lane"
    return [f"{lesson}, line {line['line']}", first, f"{where} memory, {len(line['sample']['lanes'])} of {WARP} lanes take part"]


def request(lesson: str, line: Mapping) -> Figure:
    """One request: the rows of memory that it touches, its words dark; sectors numbered, or the banks' turns below."""
    sample, shared = line["sample"], line["space"] == "shared"
    wanted = words(sample, line["width"])
    fan = 0.95 if len(wanted) <= 2 else 0.0  # lanes above, a line from each to its words; more rows would hide them
    gaps = sum(later != row + 1 for row, later in zip(wanted, list(wanted)[1:], strict=False))
    top = 1.5 + 0.35 + (fan + 0.7 if fan else 0.35)
    y_end = top + len(wanted) * _HEIGHT + gaps * 0.1
    below = 1.75 if shared else 0.3
    figure, axes = canvas(y_end + below + 1.25)
    for index, text in enumerate(_title(lesson, line)):
        axes.text(0.2, 0.42 + 0.37 * index, text, fontsize=_TEXT if index else _TITLE, fontweight="normal" if index else "bold")

    def x_of(word: float) -> float:
        return _LEFT + word * _CELL

    ends: dict[int, tuple[float, float]] = {}  # lane -> the middle of the top edge of its words in their first row
    sectors = sorted(pieces(sample["offsets"], line["width"], SECTOR))
    y, last = top, None
    for row, cells in wanted.items():
        y += 0.1 if last is not None and row != last + 1 else 0
        box(axes, _LEFT, y, WORDS * _CELL, _HEIGHT, "white", GREY, 0.6)
        if not shared:
            for sector in {word // PER_SECTOR for word in cells}:
                box(axes, x_of(sector * PER_SECTOR), y, PER_SECTOR * _CELL, _HEIGHT, LIGHT)
        for word in cells:
            box(axes, x_of(word), y, _CELL, _HEIGHT, DARK, "white", 0.5)
        if shared:
            for word in range(1, WORDS):
                axes.plot([x_of(word)] * 2, [y, y + _HEIGHT], color=GREY if word % 8 else INK, linewidth=0.4 if word % 8 else 0.8)
        for sector in range(LINE // SECTOR if not shared else 0):
            edge, number = x_of(sector * PER_SECTOR), row * (LINE // SECTOR) + sector
            touched = number in sectors
            box(axes, edge, y, PER_SECTOR * _CELL, _HEIGHT, "none", INK if touched else GREY, 1.5 if touched else 0.5)
            if touched:
                middle = {word % PER_SECTOR for word in cells if word // PER_SECTOR == sector} & {3, 4}
                axes.text(edge + PER_SECTOR * _CELL / 2, y + _HEIGHT / 2, str(sectors.index(number) + 1), ha="center",
                          va="center", fontsize=_SMALL, color="white" if middle else INK, fontweight="bold",
                          bbox={"facecolor": DARK if middle else LIGHT, "edgecolor": "none", "pad": 0.6})  # fmt: skip
        for lane in {lane for lanes in cells.values() for lane in lanes} - ends.keys():
            mine = [word for word, lanes in cells.items() if lane in lanes]
            ends[lane] = (x_of((mine[0] + mine[-1] + 1) / 2), y)
        axes.text(_LEFT - 0.1, y + _HEIGHT / 2, grouped(row * LINE), ha="right", va="center", fontsize=_SMALL)
        label = lanes_label([lane for lanes in cells.values() for lane in lanes])
        axes.text(WIDTH - _RIGHT + 0.1, y + _HEIGHT / 2, label, va="center", fontsize=_SMALL)
        y, last = y + _HEIGHT, row
    axes.text(_LEFT - 0.1, top - 0.12, "byte", ha="right", fontsize=_SMALL, color=GREY)

    if fan:
        lane_y = top - fan - 0.27
        axes.text(_LEFT, lane_y - 0.1, "lanes of the warp", fontsize=_SMALL, color=GREY)
        for lane in range(WARP):
            active = lane in ends
            box(axes, x_of(lane), lane_y, _CELL, 0.27, PALE if active else "white", GREY, 0.6, hatch=None if active else "///")
            if active:
                axes.plot([x_of(lane + 0.5), ends[lane][0]], [lane_y + 0.27, ends[lane][1]], color=INK, linewidth=0.8,
                          zorder=0.5)  # fmt: skip
        for lane in range(0, WARP, 4):
            axes.text(x_of(lane + 0.5), lane_y + 0.14, str(lane), ha="center", va="center", fontsize=12)

    words_used = pieces(sample["offsets"], line["width"], WORD)
    used = len(words_used) * WORD
    if shared:
        turns = words_of_banks(words_used)
        most, base = max(turns.values()), y + 1.15
        axes.text(_LEFT, y + 0.3, "different words wanted of each bank", fontsize=_SMALL, color=GREY)
        for bank in range(WORDS):
            count = turns[bank]
            tall = 0.6 * count / most
            box(axes, x_of(bank), base - tall, _CELL, tall, DARK if count == most else LIGHT, "white", 0.5)
        axes.plot([_LEFT, x_of(WORDS)], [base, base], color=INK, linewidth=1)
        axes.text(WIDTH - _RIGHT + 0.1, base - 0.3, f"most: {most}", va="center", fontsize=_TEXT, fontweight="bold")
        for bank in (*range(0, WORDS, 8), WORDS - 1):
            axes.text(x_of(bank + 0.5), base + 0.25, str(bank), ha="center", fontsize=_SMALL)
        axes.text(_LEFT - 0.1, base + 0.25, "bank", ha="right", fontsize=_SMALL)
        conflict = f"{most}-way bank conflict" if most > 1 else "no bank conflict"
        if line["width"] > WORD:  # served in parts, so words of one bank may not meet
            conflict = f"at most {_count(most, 'word')} of a bank"
        summary = f"{used} B used, {conflict}"
        unit = "wavefronts"
    else:
        summary = f"{_count(len(sectors), 'sector')}: {len(sectors) * SECTOR} B requested, {used} B used"
        unit = "sectors"
    foot = y_end + below
    box(axes, 0.2, foot, WIDTH - 0.4, 1.0, PALE)
    axes.text(WIDTH / 2, foot + 0.4, summary, ha="center", fontsize=_TEXT, fontweight="bold")
    guess = "about " if line["diverged"] else ""
    mean, ideal = _per(line, unit), _per(line, f"ideal_{unit}")
    average = f"Mean of the line's requests: {guess}{mean} {unit.removesuffix('s') if mean == '1' else unit}, ideal {ideal}"
    axes.text(WIDTH / 2, foot + 0.78, average, ha="center", fontsize=_SMALL)
    return figure


def _runs(owner: Mapping[tuple[int, int], int]) -> dict[int, list[tuple[int, int, int, int]]]:
    """Each owner's elements as rectangles (row, column, rows, columns): runs along rows, joined downwards where equal."""
    rows: dict[int, list[tuple[int, int, int]]] = defaultdict(list)  # row -> (column, columns, owner)
    for row, col in sorted(owner):
        line = rows[row]
        if line and line[-1][0] + line[-1][1] == col and line[-1][2] == owner[row, col]:
            line[-1] = (line[-1][0], line[-1][1] + 1, line[-1][2])
        else:
            line.append((col, 1, owner[row, col]))
    found: dict[int, list[tuple[int, int, int, int]]] = defaultdict(list)
    open_: dict[tuple[int, int, int], tuple[int, int]] = {}  # run -> first row, rows
    for row in sorted(rows):
        now = {}
        for run in rows[row]:
            first, tall = open_.pop(run, (row, 0))
            if first + tall != row:
                found[run[2]].append((first, run[0], tall, run[1]))
                first, tall = row, 0
            now[run] = (first, tall + 1)
        for (col, wide, who), (first, tall) in open_.items():
            found[who].append((first, col, tall, wide))
        open_ = now
    for (col, wide, who), (first, tall) in open_.items():
        found[who].append((first, col, tall, wide))
    return dict(found)


def owners(found: Mapping) -> Figure:
    """A block's tile of C: a warp a shade, thread 0's elements dark; below, the thread numbers of the tile's corner."""
    data = found["owners"]
    thread = {(row, col): who for row, col, who in zip(data["rows"], data["cols"], data["threads"], strict=True)}
    top, left = min(row for row, _ in thread), min(col for _, col in thread)
    rows, cols = max(row for row, _ in thread) - top + 1, max(col for _, col in thread) - left + 1
    cell = min(6.2 / cols, 6.2 / rows)
    x0, y0 = (WIDTH - cols * cell) / 2, 1.75
    first = min(thread.values())
    mine = sum(who == first for who in thread.values())
    zoom_rows, zoom_cols = min(rows, _ZOOM_ROWS), min(cols, _ZOOM_COLS)
    zoom_y, zoom = y0 + rows * cell + 1.05, 0.66
    figure, axes = canvas(zoom_y + zoom_rows * zoom * 0.6 + 0.75)
    text = axes.text
    text(0.2, 0.42, f"{found['lesson']}: who owns a tile of C", fontsize=_TITLE, fontweight="bold")
    text(0.2, 0.8, f"block {data['block']}: {rows}×{cols} elements, {len(set(thread.values()))} threads; a shade is a warp",
         fontsize=_TEXT)  # fmt: skip
    text(0.2, 1.17, f"dark: thread {first}, {_count(mine, 'element')}", fontsize=_TEXT)
    text(x0 - 0.1, y0 + 0.2, str(top), ha="right", fontsize=_SMALL)
    text(x0 - 0.1, y0 + rows * cell, str(top + rows - 1), ha="right", fontsize=_SMALL)
    text(x0, y0 - 0.1, str(left), fontsize=_SMALL)
    text(x0 + cols * cell, y0 - 0.1, str(left + cols - 1), ha="right", fontsize=_SMALL)

    shades = ("white", LIGHT, PALE, "#93b0d0")
    by_warp = _runs({element: who // WARP for element, who in thread.items()})
    for warp, parts in sorted(by_warp.items()):
        patches = [Rectangle((x0 + (col - left) * cell, y0 + (row - top) * cell), wide * cell, tall * cell)
                   for row, col, tall, wide in parts]  # fmt: skip
        axes.add_collection(PatchCollection(patches, facecolor=shades[warp % 4], edgecolor=GREY, linewidth=0.5))
    own = [Rectangle((x0 + (col - left) * cell, y0 + (row - top) * cell), cell, cell)
           for (row, col), who in thread.items() if who == first]  # fmt: skip
    axes.add_collection(PatchCollection(own, facecolor=DARK, edgecolor="white", linewidth=0.4))
    box(axes, x0, y0, cols * cell, rows * cell, "none", INK, 1.6)
    for warp, parts in sorted(by_warp.items()):  # named where there is room in its largest part
        row, col, tall, wide = max(parts, key=lambda part: (min(part[2] * cell, 0.3), min(part[3] * cell, 1.0)))
        x, y = x0 + (col - left + wide / 2) * cell, y0 + (row - top + tall / 2) * cell
        across, turned = (wide * cell, tall * cell), tall > wide
        if min(across) < 0.17 or max(across) < 0.9:
            continue
        few = min(across) >= 0.23 or warp % 4 == 0
        if few:
            text(x, y, f"warp {warp}", ha="center", va="center", fontsize=_SMALL, rotation=90 if turned else 0,
                 bbox={"facecolor": shades[warp % 4], "edgecolor": "none", "pad": 0.5})  # fmt: skip

    text(0.2, zoom_y - 0.2, f"Its first {zoom_rows}×{zoom_cols} elements, and whose they are: the number of the thread",
         fontsize=_SMALL)  # fmt: skip
    zx = (WIDTH - zoom_cols * zoom) / 2
    for row in range(zoom_rows):
        for col in range(zoom_cols):
            who = thread.get((top + row, left + col))
            if who is None:
                continue
            fill = DARK if who == first else shades[who // WARP % 4]
            box(axes, zx + col * zoom, zoom_y + row * zoom * 0.6, zoom, zoom * 0.6, fill, GREY, 0.8)
            text(zx + (col + 0.5) * zoom, zoom_y + (row + 0.5) * zoom * 0.6, str(who), ha="center", va="center", fontsize=_TEXT,
                 color="white" if who == first else INK)  # fmt: skip
    return figure


def draw(found: Mapping, lines: Sequence[Mapping], folder: Path) -> list[Path]:
    """Draws a request of each of `lines` and the ownership of C's tile into folder/<lesson>_….png and .svg. Boxes of the copy
    engine are no warp's request, and are not drawn."""
    written: list[Path] = []
    with style():
        for line in lines:
            if line["sample"]["lanes"] and line["width"]:
                name = f"{found['lesson']}_line{line['line']}_{line['array'].replace(' ', '_')}_{line['op']}"
                widths = {other["width"] for other in lines if (other["line"], other["array"], other["op"])
                          == (line["line"], line["array"], line["op"])}  # fmt: skip
                name += f"_{line['width']}" if len(widths) > 1 else ""
                written += save(request(found["lesson"], line), folder / name)
        if found.get("owners", {}).get("rows"):
            written += save(owners(found), folder / f"{found['lesson']}_owners")
    return written


def publish(found: Mapping, home: Path, folder: Path) -> list[Path]:
    """Draws what the lesson's pages, in `home`, show as folder/<lesson>_<array>_<op>.png: a request of that array's first such
    line."""
    text = "".join(page.read_text(encoding="utf-8") for page in sorted(home.glob("*.md")))
    written: list[Path] = []
    with style():
        for line in found["lines"]:
            stem = f"{found['lesson']}_{line['array'].replace(' ', '_')}_{line['op']}"
            if line["width"] and f"/{stem}.png" in text and folder / f"{stem}.png" not in written:
                written += save(request(found["lesson"], line), folder / stem)
    return written
