"""Links from a lesson's text into its explorer: where a heading speaks of a view, and below code that accesses memory."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

VIEWS = (
    ("idea", "product", "see it in the explorer: who computes what"),
    ("the-code", "access", "see it in the explorer: what each line moves"),
)  # which of the explorer's views belongs to which of a lesson's headings
_PAYLOAD = re.compile(r'<script type="application/json" id="payload">(.*?)</script>', re.DOTALL)
_CODE = re.compile(r'<div class="highlight">.*?</div>', re.DOTALL)

Accesses = Mapping[int, Sequence[tuple[int, str]]]  # by a line of kernel.cu: the explorer's number of each access, and its array


def accesses(explorer: Path, kernel: str) -> Accesses:
    """What the explorer's page knows of the file `kernel`; nothing where it has no data."""
    found = _PAYLOAD.search(explorer.read_text(encoding="utf-8"))
    lines: dict[int, list[tuple[int, str]]] = {}
    if found:
        for number, one in enumerate(json.loads(found[1])["trace"]["lines"]):
            if one["file"] == kernel:
                lines.setdefault(one["line"], []).append((number, one["array"] or "memory"))
    return lines


def _code(line: str) -> str:
    return line.partition("//")[0].strip()


def _quoted(shown: str, kernel: Sequence[str], known: Accesses) -> Iterator[int]:
    """The lines of kernel.cu, of those that are `known`, that stand in a piece of code. Each stands once in kernel.cu."""
    by_code: dict[str, list[int]] = {}
    for number, line in enumerate(kernel, start=1):
        by_code.setdefault(_code(line), []).append(number)
    for line in html.unescape(re.sub(r"<[^>]+>", "", shown)).splitlines():
        numbers = by_code.get(_code(line), [])
        if len(numbers) == 1 and numbers[0] in known:
            yield numbers[0]


def linked(written: str, address: str, kernel: Sequence[str], known: Accesses) -> str:
    """A lesson's HTML with its links into the explorer, whose page is at `address`."""
    seen: set[int] = set()

    def below(code: re.Match[str]) -> str:
        quoted = [one for one in dict.fromkeys(_quoted(code[0], kernel, known)) if one not in seen]
        seen.update(quoted)
        links = []
        for one in quoted:
            arrays = ", ".join(dict.fromkeys(array for _, array in known[one]))
            links.append((f"line {one} at work: {arrays}", f"{address}?view=access#line={known[one][0][0]}"))
        return code[0] + row(links)

    for heading, view, words in VIEWS:
        if found := re.search(rf'(<h2 id="{heading}">.*?</h2>)(.*?)(?=<h2 |\Z)', written, re.DOTALL):
            inside = found[1] + row([(words, f"{address}?view={view}")])
            written = written[: found.start()] + inside + _CODE.sub(below, found[2]) + written[found.end() :]
    return written


def row(links: Sequence[tuple[str, str]]) -> str:
    """What belongs to a page, or to a place in it, as a row of buttons: the words and the address of each."""
    written = " ".join(f'<a href="{address}">{html.escape(words)}</a>' for words, address in links)
    return f'<p class="beside" data-search-exclude="">{written}</p>' if written else ""
