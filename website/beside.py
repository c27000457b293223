"""Lesson 01 beside lesson 02 on the site's first page: which sectors a warp's store of C touches, with a slider between."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from pathlib import Path

from runner.core.descriptors import Descriptor
from runner.core.results import PUBLISHED, key_of

_SIZE = 4096  # M = N = K of the speeds
_SECTOR, _FLOAT = 32, 4  # bytes
_CELL, _ROW, _ACROSS = 14, 26, 4  # pixels of a float, pixels from a row of sectors to the next, sectors side by side


@dataclass(frozen=True)
class Store:
    """What was recorded of a lesson's store of C: of a request, and of the whole kernel."""

    lesson: Descriptor
    sectors: int
    bytes: int
    ratio: float | None  # to the baseline's speed


def recorded(root: Path, lesson: Descriptor) -> Store | None:
    """None where nothing was recorded of it, or not every request touches as many sectors."""
    try:
        counts = json.loads((root / "plots" / "results" / "counts.json").read_text(encoding="utf-8"))
        results = json.loads((root / "plots" / "results" / f"{PUBLISHED}.json").read_text(encoding="utf-8"))
        (line,) = (one for one in counts["lessons"][lesson.name]["lines"] if (one["array"], one["op"]) == ("C", "store"))
    except (OSError, KeyError, ValueError):
        return None
    if line["sectors"] % line["requests"] or line["bytes"] % line["requests"]:
        return None
    ratios = [run["ratio"] for run in results["runs"] if run["lesson"] == lesson.name and key_of(run).square == _SIZE]
    return Store(lesson, line["sectors"] // line["requests"], line["bytes"] // line["requests"], ratios[0] if ratios else None)


def _picture(store: Store, places: int) -> str:
    """A strip of eight floats for each of `places` sectors; those that the request touches, and the floats that it stores."""
    per_sector = _SECTOR // _FLOAT
    used = store.bytes // _FLOAT // store.sectors  # floats of each sector
    drawn = []
    for place in range(places):
        x, y = place % _ACROSS * (per_sector + 1) * _CELL, place // _ACROSS * _ROW
        kind = "touched" if place < store.sectors else "free"
        drawn.append(f'<rect class="{kind}" x="{x + 1}" y="{y + 1}" width="{per_sector * _CELL}" height="{_CELL + 4}"/>')
        if place < store.sectors:
            for cell in range(used):
                drawn.append(f'<rect class="used" x="{x + 1 + cell * _CELL}" y="{y + 1}" width="{_CELL}" height="{_CELL + 4}"/>')
    wide, high = _ACROSS * (per_sector + 1) * _CELL - _CELL + 2, -(-places // _ACROSS) * _ROW
    return f'<svg viewBox="0 0 {wide} {high}" aria-hidden="true">{"".join(drawn)}</svg>'


def figure(first: Store, second: Store, links: tuple[str, str]) -> str:
    """The figure as HTML; `links`: to the two lessons."""
    places = max(first.sectors, second.sectors)
    names = [html.escape(one.lesson.name.replace("_", " ")) for one in (first, second)]
    heads = "".join(
        f'<a href="{link}"><strong>{name}</strong>: {one.sectors} sectors</a>'
        for link, name, one in zip(links, names, (first, second), strict=True)
    )
    speeds = (
        f" Lesson {first.lesson.number} reaches {100 * first.ratio:.0f} % of cuBLAS’s speed, lesson {second.lesson.number} "
        f"{100 * second.ratio:.0f} %."
        if first.ratio and second.ratio
        else ""
    )
    return (
        '<figure class="compare" data-search-exclude="">'
        f'<div class="heads">{heads}</div>'
        f'<div class="layers">{_picture(first, places)}{_picture(second, places)}</div>'
        f'<input type="range" min="0" max="100" value="50" aria-label="How much is lesson {first.lesson.number}’s, in percent">'
        f"<figcaption>The 32 threads of a warp store {first.bytes} bytes of C. Memory moves in sectors of {_SECTOR} bytes, "
        f"a strip here. Lesson {first.lesson.number}’s threads touch {first.sectors} of them, lesson {second.lesson.number}’s "
        f"{second.sectors}: two lines of the kernel are different.{speeds} Move the slider.</figcaption></figure>"
    )
