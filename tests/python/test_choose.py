"""Lesson 15d's pages and its quiz repeat constants of kernel.cu, and what follows from them: all of it is computed anew here."""

from __future__ import annotations

import importlib.util
import math
import re
from dataclasses import dataclass
from types import ModuleType

import pytest
from conftest import REPOSITORY

FOLDER = REPOSITORY / "15_split_k" / "d_choose"
SMS = 132
KERNEL = (FOLDER / "kernel.cu").read_text(encoding="utf-8")
README = (FOLDER / "README.md").read_text(encoding="utf-8")
EVIDENCE = (FOLDER / "EVIDENCE.md").read_text(encoding="utf-8")


def constant(name: str) -> float:
    found = re.search(rf"\b{name} = ([\d.]+)(?: \* (\d+))?[;,]", KERNEL)
    assert found, name
    return float(found[1]) * int(found[2] or 1)


NAMES = ("LAUNCH", "FILL", "STORE", "WAIT", "UNEVEN", "DRAM", "FLIGHT", "MEET", "LAST", "MEET_EACH", "SUMS", "SUMS_BESIDE",
         "SUMS_ALONE")  # fmt: skip
LAUNCH, FILL, STORE, WAIT, UNEVEN, DRAM, FLIGHT, MEET, LAST, MEET_EACH, SUMS, SUMS_BESIDE, SUMS_ALONE = map(constant, NAMES)


def rows(text: str, heading: str) -> list[list[str]]:
    """The table with this heading, without it."""
    lines = text[text.index(heading) :].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[: lines.index("")]]


def plain(text: str) -> float:
    return float(text.replace(",", ""))


def written(microseconds: float) -> str:
    return f"{microseconds:,.0f}" if microseconds >= 99.95 else f"{microseconds:.1f}"


@dataclass(frozen=True)
class Shape:
    bm: int
    bn: int
    bk: int
    stages: int
    warps: int
    resident: int  # blocks on an SM of an H200, by EVIDENCE's table of registers
    step_time: float
    step_time_floats: float

    @property
    def name(self) -> str:
        return f"{self.bm}×{self.bn}"

    def million(self) -> float:
        return 1000 * self.step_time * (1 + WAIT / (self.resident * self.warps)) / (self.bm * self.bn)


def shapes() -> list[Shape]:
    listed = KERNEL[KERNEL.index("using Large") : KERNEL.index("Large>;")]
    large, *others = re.findall(r"Shape<([\d, ]+?)(?:, true)?>", listed)
    times = [
        found[1].split(",")
        for found in (re.search(rf"{name}\[\] = \{{([^}}]*)\}}", KERNEL) for name in ("STEP_TIME", "STEP_TIME_FLOATS"))
        if found
    ]
    blocks = {row[0]: int(row[3]) for row in rows(EVIDENCE, "| C tile | aligned: registers")}
    found = []
    for numbers, time, floats in zip([*others, large], *times, strict=True):
        bm, bn, bk, wm, wn, _, _, stages, _ = map(int, numbers.split(","))
        found.append(Shape(bm, bn, bk, stages, bm // wm * (bn // wn), blocks[f"{bm}×{bn}"], float(time), float(floats)))
    return found


@dataclass(frozen=True)
class Terms:
    products: float
    waves: float
    bytes: float
    adding: float

    @property
    def time(self) -> float:
        return LAUNCH + max(self.products + self.waves, self.bytes) + self.adding


def terms(s: Shape, m: int, n: int, k: int, slices: int) -> Terms:
    """As time_of() has them, where rows are aligned. In ns."""
    tiles = math.ceil(m / s.bm) * math.ceil(n / s.bn)
    here, inside = min(m, s.bm), min(n, s.bn)
    of_sm = math.ceil(tiles * slices / SMS)

    def step(together: int) -> float:
        return together * s.step_time * (1 + WAIT / (together * s.warps)) if together else 0.0

    waves, rest = divmod(of_sm, s.resident)
    steps = math.ceil(math.ceil(k / s.bk) / slices) * s.bk
    flight = min(tiles * slices, SMS * s.resident) / SMS * (s.stages - 1) * s.bk * 4 * (here + inside)
    together = tiles * slices <= SMS * s.resident
    last = (1 - UNEVEN) * step(rest) + UNEVEN * step(s.resident) if waves and rest else step(rest)
    rate = SUMS_ALONE if s.resident == 1 else SUMS if together else SUMS_BESIDE
    return Terms(
        steps * (waves * step(s.resident) + last),
        FILL * math.ceil(of_sm / s.resident) + STORE * of_sm * here * inside,
        4 * (m * k + k * n + m * n) / (DRAM * min(1, flight / FLIGHT)),
        0.0
        if slices == 1
        else (MEET if together else LAST) + MEET_EACH * slices + 8 * m * math.ceil(n / s.bn) * s.bn * slices / rate,
    )


def choice(m: int, n: int, k: int) -> tuple[Shape, int]:
    best: tuple[float, Shape, int] | None = None
    for s in shapes():
        most = min(math.ceil(k / s.bk), int(constant("MOST_SLICES")))
        for slices in range(1, max(1, most) + 1):
            time = terms(s, m, n, k, slices).time
            if best is None or time < 0.99 * best[0]:
                best = (time, s, slices)
    assert best
    return best[1:]


@pytest.mark.parametrize("row", rows(EVIDENCE, "| M×N×K | C tile | slices"), ids=lambda row: row[0])
def test_what_the_estimate_chooses(row: list[str]) -> None:
    m, n, k = map(int, row[0].split("×"))
    shape, slices = choice(m, n, k)
    found = terms(shape, m, n, k, slices)
    tiles = math.ceil(m / shape.bm) * math.ceil(n / shape.bn)
    times = [*(written(ns / 1000) for ns in (found.products, found.waves, found.bytes)),
             "–" if slices == 1 else written(found.adding / 1000), written(found.time / 1000)]  # fmt: skip
    assert row[1:] == [shape.name, str(slices), f"{tiles * slices:,}", *times]


def test_the_page_says_where_blocks_are_more_than_resident() -> None:
    table = [(row[0], *choice(*map(int, row[0].split("×")))) for row in rows(EVIDENCE, "| M×N×K | C tile | slices")]
    beyond = []
    for name, shape, slices in table:
        m, n, _ = map(int, name.split("×"))
        if slices > 1 and math.ceil(m / shape.bm) * math.ceil(n / shape.bn) * slices > SMS * shape.resident:
            beyond.append(name)
    assert f"blocks are more than resident: {', '.join(beyond[:-1])} and {beyond[-1]}." in EVIDENCE
    assert beyond[-1] == "1536×1536×1536"  # whose blocks the page counts


def test_the_table_of_constants() -> None:
    found = {}
    for names, values, _ in rows(EVIDENCE, "| constant | value"):
        units = [value.strip().split(" ") for value in re.split(r", (?=\d[\d,.]*(?: |$))", values)]
        for name, (value, *unit) in zip(re.findall(r"`(\w+)`", names), units, strict=True):
            found[name] = plain(value) * (1024 if unit == ["KiB"] else 1)
    assert found == {name: constant(name) for name in NAMES}


def test_the_tables_of_c_tiles() -> None:
    expected = [
        [s.name, s.bk, s.stages, s.warps, s.resident, s.step_time, s.step_time_floats, round(s.million(), 1)]
        for s in shapes()
    ]  # fmt: skip
    table = rows(EVIDENCE, "| C tile | k-tile | stages")
    assert [[name, *map(float, numbers)] for name, *numbers in table] == expected
    millions = {row[0]: row[-1] for row in table}
    for name, per_float, million in rows(README, "| C tile | products per float"):
        bm, bn = map(int, name.split("×"))
        assert (per_float, million) == (f"{bm * bn / (bm + bn):.2g}", millions[name])


def test_the_page_takes_a_step_s_times_from_kernel_cu() -> None:
    predict = README[README.index("## Predict") : README.index("## Measure")]
    by_name = {s.name: s for s in shapes()}
    assert f"A block of 16×128 has four warps, and a step takes t = {by_name['16×128'].step_time:g} ns" in predict
    assert f"t is {by_name['64×64'].step_time:g} ns" in predict
    flat = by_name["16×128"]
    for name in (flat.name, "64×64"):
        assert f"**{terms(by_name[name], 16, 4096, 4096, 8).time / 1000:.1f}** µs" in predict
    blocks = math.ceil(SMS * FLIGHT / (3 * flat.bk * 4 * (flat.bm + flat.bn)))
    sums = flat.bm * flat.bn * 4  # bytes, of a slice; a block reads an eighth of eight slices
    answers = (
        f"{terms(flat, 16, 4096, 4096, 8).bytes / 1000:.1f}",
        blocks,
        math.ceil(blocks / (4096 // flat.bn)),
        f"{sums:,}",
        f"{8 * sums:,}",
    )
    assert [answer for answer in answers if f"**{answer}**" not in predict] == []
    chosen, slices = choice(16, 4096, 4096)
    assert (chosen.name, slices) == (flat.name, 8)


def quiz() -> ModuleType:
    spec = importlib.util.spec_from_file_location("exercise_15d", FOLDER / "exercise.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_quiz_has_kernel_cu_s_constants() -> None:
    module = quiz()
    assert {name: getattr(module, f"_{name}") for name in ("WAIT", "LAUNCH", "MEET", "MEET_EACH")} == {
        name: constant(name) for name in ("WAIT", "LAUNCH", "MEET", "MEET_EACH")
    }
