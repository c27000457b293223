"""The figures in the running text of a lesson's two pages, held to what is recorded.

Exact figures are in tables. A sentence rounds, so that another recording changes tables and no sentence; `problems` names each
figure that is no longer near what is recorded, and each that is not rounded. What is held:

- a ratio to cuBLAS ("0.66 of cuBLAS"), to that of the lesson that the sentence names, else of the page's own, at 4096³ or at the
  size that it names; in a sentence about a variant ("with", "without", "instead" …) also to those of the pages' tables;
- "1.4 times faster", to the quotients of two speeds of one table of the lesson's pages, or of its own and a named lesson's;
- TFLOP/s, to those tables; "every 8.8 cycles", the time between two HMMAs, to the profiles.

*Predict* computes, so it is left out. In *Where we are*, and after words such as "at most" or "allows", a quotient or a rate is a
bound, which nobody has measured; a ratio to cuBLAS is one only after "would", "could" and "at most".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path

from plots import data, prose
from plots.publish import RESULTS
from runner.core.results import is_charted, key_of, lessons

# Figures that others published, and where; a text may state them as they are.
PUBLISHED = {
    "66.9 TFLOP/s": "FP32 peak of an H200, NVIDIA's data sheet",
}
NEAR = 0.03  # two recordings differ by less
_N = r"(?<![\w.,³×])(\d+(?:,\d{3})*(?:\.\d+)?)"
_FASTER = r"(?:as\s+fast|faster|as\s+slow|slower|as\s+long|longer|the\s+speed)"
_LIST = rf"(?:{_N}\s*%?,?\s*(?:to|and|or|,|instead\s+of)\s+)*"
_RATIO = re.compile(
    rf"(?<!within )(?<!within about )(?:{_LIST}{_N}\s*%?\s*of\s+(?:the\s+speed\s+of\s+)?cuBLAS"
    rf"|{_N}\s+times\s+(?:{_FASTER}\s+(?:as\s+|than\s+|of\s+)?)?cuBLAS|ratio\s+to\s+cuBLAS\s+(?:is|of)\s+{_N})"
)
_QUANTITY = re.compile(
    rf"{_N}\s+(times\s+{_FASTER})(?!\s+(?:as|than|of)\s+cuBLAS)|{_N}\s*(TFLOP/s|ms|µs|W|%)(?!\w)|every\s+(\d+\.\d+)\s+(cycles)"
)
_VARIANT = re.compile(r"\b(?:[Ww]ith(?:out)?|[Ii]nstead|variants?|configurations?|tried|fastest)\b")
_CLAUSE = r"\b(?:[^.;:]|\.\d){0,50}$"  # from a word to the figure
_NEVER = re.compile(rf"\b(?:at (?:most|best)|would|could){_CLAUSE}", re.I)
_BOUND = re.compile(rf"\b(?:at (?:most|best)|would|could|can|allow\w*|predict\w*|promise\w*|ideal\w*|limit){_CLAUSE}", re.I)
_ALSO_BOUND = re.compile(r"[^.;,]{0,12}\bat (?:most|best)\b")
_NAMED = re.compile(r"(?P<word>[Ll]essons?\s+)?(?<![\w.,³×])(?P<number>\d\d[a-z]?)(?![.,³×]\d|\w)")
_OWN = re.compile(r"\b(?:this|here|now|it|we)\b", re.I)
_AGAINST = re.compile(r"\b(?:than|as|over|against|unlike|from)\s+(?:in\s+)?$")
_SIZE = re.compile(r"\b(\d{3,5})(?:³|×(\d{3,5})×(\d{3,5}))|\bat (\d{3,5})\b(?!\s*[A-Za-z%])")


def close(text: str, known: float, coarsest: float = float("inf")) -> bool:
    """Whether a figure is within NEAR, and half a unit of its last digit (at most `coarsest` of the value), of what is known."""
    whole, _, decimals = text.replace(",", "").partition(".")
    half = 0.5 * 10.0 ** (-len(decimals) if decimals else len(whole) - len(whole.rstrip("0")))
    return abs(float(text.replace(",", "")) - known) <= NEAR * known + min(half, coarsest * known) + 1e-9


def exact(text: str, unit: str) -> bool:
    """Whether a figure is not rounded: it has three significant digits or more, a ratio to cuBLAS a third decimal. A per cent may
    be any whole number, and one of counted things, which are powers of two, may be 62.5."""
    whole, _, decimals = text.replace(",", "").partition(".")
    if unit == "%" and (not decimals or 64 * float(text) % 100 == 0):
        return False
    if unit == "of cuBLAS" or (unit == "times" and f"{whole}.{decimals[:1]}" == "1.0"):  # 1.03 is no more exact than 0.97
        return len(decimals) > 2
    return len((whole + decimals).lstrip("0") if decimals else whole.strip("0")) > 2


class _Shown:
    """What the tables of a lesson's pages show."""

    def __init__(self, lesson: str, tables: Iterable[Sequence[Sequence[str]]]) -> None:
        self.rates: list[float] = []
        self.groups: list[list[float]] = []  # speeds that are compared
        self.ratios: list[float] = []  # of variants to cuBLAS
        for header, *rows in tables:
            for name, column in zip(header, zip(*rows, strict=False), strict=False):
                if name.endswith(("TFLOP/s", "ms")):
                    self.groups.append(_numbers(column))
                    self.rates += self.groups[-1] if name.endswith("TFLOP/s") else []
                if (name, header[0]) == ("ratio to cuBLAS", "configuration"):
                    self.ratios += _numbers(cell for row, cell in zip(rows, column, strict=True) if row[0] != lesson)
            if header[0] == "shape":  # ratios to cuBLAS, whose own rate is the last column
                self.groups += [_numbers(row[1:-1]) for row in rows]
                self.ratios += [value for row in rows for value in _numbers(row[1:-1])]


def _numbers(cells: Iterable[str]) -> list[float]:
    return [float(cell) for cell in cells if re.fullmatch(r"\d+(\.\d+)?", cell)]


class _Recorded:
    """What is recorded of all lessons."""

    def __init__(self, root: Path) -> None:
        self.order, self.results = lessons(root), data.published(root)
        self.second = data.second(root) or self.results
        ceilings = (data.ceilings(root) or {"figures": {}})["figures"].values()
        self.peaks = [figure["value"] for figure in ceilings if figure["unit"] == "TFLOP/s"]
        self.peaks += [float(text.split()[0]) for text in PUBLISHED]
        profiled = (row for row in (data.profile(root) or {"lessons": {}})["lessons"].values() if "instructions" in row)
        hmmas = data.SIZE**3 / 2048  # of a warp
        self.cycles = [100 * row["instructions"] / row["issue slots used"] / hmmas for row in profiled]

    def named(self, sentence: str) -> list[tuple[int, str]]:
        """Where a sentence names which lesson."""
        known = {name.partition("_")[0]: name for name in self.order}
        found = ((match, known.get(match["number"])) for match in _NAMED.finditer(sentence))
        return [(m.start(), name) for m, name in found if name and (m["word"] or m["number"][0] == "0" or m["number"][2:])]

    def meant(self, sentence: str, place: int, own: str) -> set[str]:
        """Whose figure is at a place of a sentence: the lesson's that was named last, unless something is compared with it, else
        the page's own or the next one's."""
        before = [(at, name) for at, name in self.named(sentence) if at < place]
        if before:
            at, name = before[-1]
            return {name} | ({own} if _OWN.search(sentence, at, place) or _AGAINST.search(sentence, 0, at) else set())
        return {own, *(name for _, name in self.named(sentence)[:1])}

    def of(self, chosen: Iterable[str], sentence: str, key: str, own: str) -> list[list[float]]:
        """A figure of lessons on the page of `own`, a list for each size that the sentence names (4096³ where it names none)."""
        sizes = [(m[1] or m[4], m[2] or m[1] or m[4], m[3] or m[1] or m[4]) for m in _SIZE.finditer(sentence)]
        wanted, names = [tuple(map(int, size)) for size in sizes] or [(data.SIZE,) * 3], set(chosen)
        source = self.second if "H100" in sentence else data.holding(own, self.results, self.second)  # of one GPU
        timed: list[Mapping] = [run for run in source["runs"] if "ratio" in run and run["lesson"] in names]
        charted = [(found, run[key]) for run in timed if is_charted(source, found := key_of(run)) and found.batch == 1]
        return [[value for found, value in charted if found[2:5] == size] for size in wanted]


def _ratios(recorded: _Recorded, shown: _Shown, lesson: str, text: str) -> Iterator[tuple[int, str]]:
    """What is wrong with a sentence's ratios to cuBLAS, and where."""
    for match in (match for match in _RATIO.finditer(text) if not _NEVER.search(text, 0, match.start())):
        known = [
            value for size in recorded.of(recorded.meant(text, match.start(), lesson), text, "ratio", lesson) for value in size
        ]
        known += shown.ratios if _VARIANT.search(text) else []
        scale, unit = (100, "%") if "%" in match[0] else (1, "of cuBLAS")
        for number in (number for number in re.findall(_N, match[0]) if scale > 1 or "." in number):
            yield from _held(match, number, unit, [scale * value for value in known], NEAR)


def _speeds(recorded: _Recorded, shown: _Shown, lesson: str, text: str, may_be_bound: bool) -> Iterator[tuple[int, str]]:
    """The same of its quotients, rates, times and other measured quantities."""
    beside = {
        *data.beside(data.holding(lesson, recorded.results, recorded.second), recorded.order, lesson),
        *(name for _, name in recorded.named(text)),
    }
    groups = [*shown.groups, *recorded.of(beside, text, "ms_median", lesson)]
    own = (recorded.of([lesson], text, key, lesson) for key in ("ms_median", "baseline_ms_median"))
    groups += [times + cublas for times, cublas in zip(*own, strict=True)]
    quotients = [a / b for group in groups for a, b in permutations(group, 2) if a > b]
    known = {"times": quotients, "cycles": recorded.cycles, "TFLOP/s": [*shown.rates, *recorded.peaks]}
    for match in _QUANTITY.finditer(text):
        number, unit = (group for group in match.groups() if group)
        unit = unit.split()[0]
        said = _BOUND.search(text, 0, match.start()) or _ALSO_BOUND.match(text, match.end())
        bound = said or (unit == "times" and may_be_bound)
        if f"{number} {unit}" not in PUBLISHED:
            yield from _held(match, number, unit, None if bound else known.get(unit))


def _held(
    match: re.Match[str], number: str, unit: str, known: Sequence[float] | None, coarsest: float = float("inf")
) -> Iterator[tuple[int, str]]:
    """The problem of a figure, if it has one; `known`: what it may be, None where nothing is held against it."""
    figure = " ".join(match[0].split())
    if unit != "cycles" and exact(number, unit):
        yield match.start(), f"{figure!r} is exact; round it, and leave what is exact to a table"
    elif known is not None and not any(close(number, value, coarsest) for value in known):
        nearest = min(known, key=lambda value: abs(value - float(number.replace(",", ""))), default=None)
        yield match.start(), f"{figure!r}: recorded is {'nothing like it' if nearest is None else f'{nearest:.3g}'}"


def problems(root: Path) -> list[str]:
    """Every figure of lessons' pages that is not rounded or not near what is recorded: file, line, figure, and what is recorded
    nearest to it."""
    if not (root / RESULTS).exists():
        return []
    recorded, found, pages = _Recorded(root), list[str](), prose.pages(root)
    for lesson, page in pages:
        shown = _Shown(lesson, (table for name, one in pages if name == lesson for table in prose.tables_of(one)))
        for paragraph in (paragraph for paragraph in prose.paragraphs(page) if paragraph.section != "Predict"):
            for line, text in paragraph.sentences():
                wrong = [*_ratios(recorded, shown, lesson, text)]
                wrong += _speeds(recorded, shown, lesson, text, paragraph.section == "Where we are")
                found += [f"{page.relative_to(root)}:{line + text.count(chr(10), 0, at)}: {what}" for at, what in sorted(wrong)]
    return found
