"""The exercises: starters are solutions minus gaps, starters fail as stated, solutions pass, hunted bugs are found. All of it on
the CPU device, by what ./gemm check does. (What it says of wrong attempts: test_mistakes.py.)"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import drawn, part, seed, some, toolchain

from runner.core.results import ROOT, lessons
from runner.learn import check, exercise
from runner.learn.exercise import Task, tasks, without_marks

TASKS = tasks()
LARGEST_SEED = some(TASKS, 1, 6)
SEED = 20  # at whose sizes starters fail as their lesson says
# Findings of two that use the same memory, and nothing puts them in order.
RACES = {"race", "block_race", "unordered_blocks", "copy_in_flight", "load_in_flight", "load_overwrites", "loads_overlap",
         "store_in_flight", "wgmma_in_flight"}  # fmt: skip


@pytest.fixture(autouse=True)
def on_the_cpu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Checks on the CPU device, which compile a text once however many seeds it is checked with."""
    compile_program = check.compile_program
    made: dict[str, tuple[Path, list[str]]] = {}

    def compile_once(tools: dict, sources: list[check.Source], folder: Path) -> tuple[Path, list[str]]:
        (source,) = sources
        if source.text not in made:
            made[source.text] = compile_program(tools, sources, tmp_path)
        return made[source.text]

    monkeypatch.setenv("GEMM_DEVICE", "cpu")
    monkeypatch.setenv("GEMM_NO_INSTALL", "1")
    monkeypatch.setattr(check, "toolchain", lambda device, program="check", more=(): toolchain(program))
    monkeypatch.setattr(check, "compile_program", compile_once)


def checked(task: Task, text: str, seed: int | None = None) -> tuple[check.Report, str]:
    report = check.examine(task, str(task.file.relative_to(ROOT)), text, seed)
    return report, check.told(report, 0.0)


@pytest.mark.parametrize("lesson", lessons())
def test_every_lesson_has_an_exercise_and_from_03_on_a_bug_hunt(lesson: str) -> None:
    content = exercise.content(lesson)
    assert (content.hunt is not None) == (lesson >= "03")
    for spec in filter(None, (content.exercise, content.hunt)):
        assert len(spec.hints) == 3
        assert all(len(hint) > 20 and hint.rstrip().endswith((".", "?", ";")) for hint in spec.hints)
        assert len(set(spec.hints)) == 3


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.key)
def test_a_starter_is_the_solution_minus_gaps(task: Task) -> None:
    kernel, starter, solution = task.kernel(), task.starter().splitlines(), task.solution().splitlines()
    if task.kind == "hunt":
        different = [pair for pair in zip(starter, solution, strict=True) if pair[0] != pair[1]]
        assert 0 < len(different) <= 3  # one planted bug
        return
    gaps = re.findall(r"// gap: [\w-]+\n(.*?)^[ \t]*// end gap\n", kernel, re.MULTILINE | re.DOTALL)
    removed = [line for gap in gaps for line in gap.splitlines()]
    assert removed
    spec = task.spec
    assert isinstance(spec, exercise.Exercise)
    added = [line.strip() for gap in spec.gaps.values() for line in gap.placeholder.splitlines()]
    kept = [line for line in starter if line.strip() not in added]
    body = iter(solution)
    for line in kept:  # in order, nothing else
        if line.strip().startswith("//") and line not in solution:
            continue  # a TODO
        assert line in body, line
    for line in removed:
        assert line in solution
    assert [line for line in solution if line not in starter and line.strip()] == [
        line for line in removed if line not in starter and line.strip()
    ]
    assert "gap" not in task.starter()


def test_marks_that_do_not_pair_are_refused(tmp_path: Path) -> None:
    for text, words in (
        ("// end gap\n", "without a gap"),
        ("// gap: a\n// gap: b\n// end gap\n", "begins inside"),
        ("// gap: a\n", "has no end"),
    ):
        with pytest.raises(ValueError, match=words):
            exercise.filled(text, lambda name, indent, code: "")
    assert without_marks("a\n  // gap: x\n  b\n  // end gap\nc\n") == "a\n  b\nc\n"


@pytest.mark.parametrize("task", drawn(part(TASKS, lambda task: task.lesson), 2), ids=lambda task: task.key)
def test_a_starter_compiles_and_fails_for_the_stated_reason(task: Task) -> None:
    report, text = checked(task, task.starter(), SEED)
    assert report.stage in ("run", "goals"), text
    assert report.found
    missed = [n for n, goal in enumerate(report.goals, 1) if not goal["reached"]]
    spec = task.spec
    expected = spec.check_finds if isinstance(spec, exercise.Hunt) else spec.starter_fails
    assert (f"goal {missed[0]}" if missed else report.found.id) == expected, text
    if isinstance(spec, exercise.Hunt):
        assert spec.race == bool(RACES & {finding["id"] for finding in report.cases[-1]["findings"]})
    assert check.is_start(report)


@pytest.mark.parametrize("task", drawn(part(TASKS, lambda task: task.lesson), 2), ids=lambda task: task.key)
def test_a_solution_passes_with_any_seed(task: Task) -> None:
    for number in [seed(), 2**64 - 1] if task in LARGEST_SEED else [seed()]:
        report, text = checked(task, task.solution(), number)
        assert report.passed, text
        assert report.seed == number
        assert all(goal["reached"] for goal in report.goals)
