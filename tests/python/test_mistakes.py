"""Each lesson's mistakes.toml: kernels that must fail, found by whom and as what it says; kernels that are right and must pass.
All of a lesson are one program, of which each is a process on the CPU device."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from approvals import hold
from conftest import drawn, part, seed, some, toolchain
from tried import Found, Tried, refused
from unusual import KERNELS

from runner import mistakes
from runner.core.results import folder_of, lessons
from runner.learn import check
from runner.mistakes import Change, Mistake, Stale

SEED = 20  # at whose sizes each mistake is told as mistakes.toml says
# Whose whole report is approved: of each kind of diagnosis that is put together from what was found one.
TOLD = {
    "01_naive": ("the number of tiles rounded down", "guard forgotten", "guard with M and N swapped", "C's row too far",
                 "a counter of 16 bits", "exit in launch()"),
    "02_coalesced": ("still lesson 01's mapping",),
    "03_smem": ("no barrier after use", "k0 + x <= K"),
    "05_2d_blocktile": ("a thread's columns are neighbors",),
    "12_warp_specialized": ("an arrival too many expected",),
}  # fmt: skip


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMM_DEVICE", "cpu")
    monkeypatch.setenv("GEMM_NO_INSTALL", "1")


def chosen(lesson: str) -> list[Mistake]:
    """All of them, or one of each of some lessons."""
    return drawn(mistakes.mistakes(lesson), 1) if lesson in drawn(part(lessons()), 4) else []


@pytest.mark.parametrize("lesson", lessons())
def test_every_mistake_applies_and_says_who_finds_it(lesson: str) -> None:
    every = mistakes.mistakes(lesson)
    assert every
    kernels = {mistake.text() for mistake in (*every, *mistakes.right(lesson))}
    assert len(kernels) == len(every) + len(mistakes.right(lesson))  # none is there twice
    for mistake in every:
        assert mistake.found, mistake.key
        assert bool(mistake.goals) == (mistake.found.get("check") == ("goal",)), mistake.key
    assert not any(same.found for same in mistakes.right(lesson))


def test_a_mistake_that_does_not_apply_names_itself_and_what_it_misses() -> None:
    for change, words in (
        (Change("no_such_text", ""), "has no 'no_such_text'"),
        (Change("row", ""), r"has \d+ 'row'"),
        (Change("__global__", "", 2), "has 1 '__global__', .* 2 "),
        (Change("no_such_text", "", 0), "has no 'no_such_text', .*at least"),
    ):
        with pytest.raises(Stale, match=f'^"01_naive: stale" does not apply: 01_naive/kernel.cu {words}'):
            Mistake("01_naive", "stale", (change,), {}).text()
    assert Change("a", "b", 2).made("aaa", "") == "aba"
    assert Change("a", "b", 0).made("aaa", "") == "bbb"


def found_as_it_says(mistake: Mistake, found: Found) -> bool:
    case = found.report.cases[-1]["id"] if found.report.cases else ""
    return (
        found.id in mistake.found.get(found.by, ())
        and found.goals == pytest.approx(dict(mistake.goals), rel=1e-3)
        and mistake.case in ("", case)
    )


def told(mistake: Mistake, found: Found) -> str:
    case = found.report.cases[-1]["id"] if found.report.cases else "none"
    return f"{mistake.key}: {found.by or 'nobody'} finds {found.id!r} in case {case}, goals {found.goals}"


def tried(lesson: str, some: list[Mistake], folder: Path) -> Tried:
    return Tried(toolchain(), lesson, [mistake.texts() for mistake in some], folder)


@pytest.mark.parametrize("lesson", [lesson for lesson in lessons() if chosen(lesson)])
def test_every_mistake_is_found_as_what_it_is(lesson: str, tmp_path: Path) -> None:
    compiled = [mistake for mistake in chosen(lesson) if mistake.found.get("check") != ("compile",)]
    wrong = []
    if compiled:
        program = tried(lesson, compiled, tmp_path)
        for at, mistake in enumerate(compiled):
            # Whatever the sizes it is wrong. As what it is known may differ where the drawn sizes hide part of it (an edge of one
            # column, say); then it must be known by those of SEED.
            found = program.climb(at, seed())
            if found.by and not found_as_it_says(mistake, found):
                found = program.climb(at, SEED)
            for more in range(1, mistake.tries):
                if found.by:
                    break
                found = program.climb(at, seed() + more)
            if not found_as_it_says(mistake, found):
                wrong.append(told(mistake, found))
    for mistake in chosen(lesson):
        if mistake not in compiled and refused(toolchain(), lesson, mistake.text(), tmp_path).stage != "compile":
            wrong.append(f"{mistake.key}: it compiles")
    assert not wrong, "\n".join(wrong)


# Four of a lesson at most, but for the first, whose kernels are small: each goes all the way, which takes a later one 20 seconds.
RIGHT = [
    same
    for lesson in part(lessons())
    for same in some(mistakes.right(lesson), len(mistakes.right(lesson)), 99 if lesson == "01_naive" else 4)
]


@pytest.mark.parametrize("lesson", dict.fromkeys(same.lesson for same in drawn(RIGHT, 1)))
def test_what_is_right_and_unusual_is_not_refused(lesson: str, tmp_path: Path) -> None:
    some = [same for same in drawn(RIGHT, 1) if same.lesson == lesson]
    program = tried(lesson, some, tmp_path)
    for at, same in enumerate(some):
        found = program.climb(at, seed())
        assert found.report.stage in ("", "goals"), told(same, found)


def test_another_kernel_that_is_right_is_not_refused(tmp_path: Path) -> None:
    some = drawn(KERNELS, 1)
    file = f"{folder_of('01_naive')}/kernel.cu"
    texts = [{file: kernel.text().replace("exercise_01", "lesson_01")} for kernel in some]
    program = Tried(toolchain(), "01_naive", texts, tmp_path)
    for at, kernel in enumerate(some):
        found = program.climb(at, seed())
        assert found.report.stage in ("", "goals"), (kernel.what, check.told(found.report, 0.0))


@pytest.mark.parametrize("lesson", drawn(list(TOLD), 1))
def test_a_learner_reads_what_is_approved(lesson: str, tmp_path: Path) -> None:
    by_name = {mistake.what: mistake for mistake in mistakes.mistakes(lesson)}
    some = [by_name[what] for what in TOLD[lesson]]
    program = tried(lesson, some, tmp_path)
    told = {mistake.key: check.told(program.climb(at, SEED).report, 0.0) for at, mistake in enumerate(some)}
    told = {key: re.sub(r"kernel_\d+\.cu", "kernel.cu", text) for key, text in told.items()}
    # How many there are in all depends on how far the other blocks are when one has left its matrices for good.
    hold("reports", {key: re.sub(r"(?<=the first of )\d+", "many", text) for key, text in told.items()})
