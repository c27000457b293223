"""Tables on the terminal: they grow downwards, not sideways."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from runner.core import tables
from runner.grading import grade
from runner.learn.exercise import Task
from runner.measure import chart, profile

LESSONS = [f"{number:02}_lesson_of_many_words"[:18] for number in range(1, 26)]


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[str]:
    tables.show_pieces(*arguments)  # type: ignore[arg-type]
    return capsys.readouterr().out.splitlines()


def run(lesson: str, size: int, dtype: str = "fp32", **more: object) -> dict:
    return {"lesson": lesson, "variant": dtype, "m": size, "n": size, "k": size, "error_over_bound": 0.25, **more}


def printed_by(command: str) -> None:
    """The table of a command, of 25 lessons."""
    if command == "chart":
        runs = [run(name, size, tflops=52.8, ratio=1.034, ms_median=2.0, baseline_ms_median=2.06) for name in LESSONS
                for size in (256, 512, 4096, 8192)]  # fmt: skip
        tables.show_pieces("lesson", *chart.columns({"runs": runs}, "256,512,4096,8192"))  # type: ignore[arg-type, typeddict-item]
    elif command == "profile":
        figures = {figure.name: 1.234e11 for figure in profile.FIGURES}
        tables.show_pieces("lesson", LESSONS, profile._columns(dict.fromkeys(LESSONS, figures)))
    else:
        tasks = [Task(name, kind) for name in LESSONS for kind in ("exercise", "hunt")]
        results = {task.key: {"state": "passed"} for task in tasks}
        grade._show({"ada.lovelace@example.org": results, "b": results}, tasks)


@pytest.mark.parametrize("command", ["chart", "profile", "grade"])
def test_every_commands_table_of_25_lessons_fits_80_columns(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    printed_by(command)
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert max(map(cell_len, lines)) <= tables.PAPER
    assert "…" not in text
    heads = {word for line in lines for word in line.split()}
    wanted = {name[:2] for name in LESSONS} if command == "grade" else set(LESSONS)
    assert wanted <= heads


@pytest.mark.parametrize("count", [1, 3, 15, 45])
def test_25_lessons_fit_80_columns(count: int, capsys: pytest.CaptureFixture[str]) -> None:
    columns = [(f"{256 * i}³", [f"{i}.{row} (100 %)" for row in range(25)]) for i in range(1, count + 1)]
    lines = printed(capsys, "lesson", LESSONS, columns)
    assert max(map(cell_len, lines)) <= tables.PAPER
    text = "\n".join(lines)
    for name, cells in columns:
        assert text.count(name) >= 1
        assert all(cell in text for cell in cells)
    pieces = text.count("lesson  ")
    assert all(text.count(name) == text.count(LESSONS[0]) >= 1 for name in LESSONS)
    assert (pieces > 1) == (count > 3)


def test_a_name_as_long_as_a_line_is_folded(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys, "learner", ["a" * 100, "ada"], [("01", ["✓ ✗", "✓ ✓"]), ("passed", ["1/2", "2/2"])])
    assert max(map(cell_len, lines)) <= tables.PAPER
    assert sum(line.count("a") for line in lines if "learner" not in line and "ada" not in line) == 100
    assert any("ada" in line and "2/2" in line for line in lines)


def test_brackets_in_a_name_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    assert any("[red]" in line for line in printed(capsys, "learner", ["[red]"], [("01", ["✓"])]))


def test_the_charts_table_has_lessons_as_rows() -> None:
    timed = {"ms_median": 2.0, "tflops": 52.8, "ratio": 1.03, "baseline_ms_median": 2.06}
    results = {
        "runs": [run("01_naive", 256, **timed), run("09a_wmma", 256, "bf16", **timed), run("01_naive", 512, **timed)],
        "failed": [{"lesson": "09a_wmma", "variant": "bf16", "m": 512, "n": 512, "k": 512}],
    }
    names, columns = chart.columns(results, "512,256")
    assert names == ["01_naive", "09a_wmma", "cuBLAS fp32", "cuBLAS bf16"]
    assert [title for title, _ in columns] == ["512³", "256³"]
    assert columns[0][1] == ["52.8 (103 %)", "WRONG", "0.13", "–"]
    assert columns[1][1] == ["52.8 (103 %)", "52.8 (103 %)", "0.0163", "0.0163"]


def test_two_variants_of_a_lesson_have_a_row_each_in_the_charts_table() -> None:
    timed = {"ms_median": 2.0, "ratio": 1.0, "baseline_ms_median": 2.0}
    results = {
        "runs": [run("09a_wmma", 512, "bf16", tflops=1.0, **timed), run("09a_wmma", 512, "fp16", tflops=2.0, **timed),
                 run("09a_wmma", 512, "bf16", tflops=3.0, batch=8, **timed)],
        "failed": [{"lesson": "09a_wmma", "variant": "fp16", "m": 256, "n": 256, "k": 256}],
    }  # fmt: skip
    names, columns = chart.columns(results, "512,256")  # type: ignore[arg-type, typeddict-item]
    assert names == ["09a_wmma bf16", "09a_wmma fp16", "cuBLAS bf16", "cuBLAS fp16"]
    assert [(title, cells[:2]) for title, cells in columns] == [
        ("512³", ["1 (100 %)", "2 (100 %)"]), ("256³", ["–", "WRONG"]), ("8 · 512³", ["3 (100 %)", "–"])]  # fmt: skip
