"""Tables on the terminal: they grow downwards, not sideways."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from runner.core import tables
from runner.measure import chart

LESSONS = [f"{number:02}_lesson_of_many_words"[:18] for number in range(1, 26)]


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> list[str]:
    tables.show_pieces(*arguments)  # type: ignore[arg-type]
    return capsys.readouterr().out.splitlines()


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
    def run(lesson: str, size: int, dtype: str = "fp32", **more: object) -> dict:
        return {"lesson": lesson, "variant": dtype, "m": size, "n": size, "k": size, "error_over_bound": 0.25, **more}

    timed = {"ms_median": 2.0, "tflops": 52.8, "ratio": 1.03, "baseline_ms_median": 2.06}
    results = {
        "runs": [run("01_naive", 256, **timed), run("09a_wmma", 256, "bf16", **timed), run("01_naive", 512, **timed)],
        "failed": [{"lesson": "09a_wmma", "m": 512, "n": 512, "k": 512}],
    }
    names, columns = chart._columns(results, "512,256")
    assert names == ["01_naive", "09a_wmma", "cuBLAS fp32", "cuBLAS bf16"]
    assert [title for title, _ in columns] == ["512³", "256³"]
    assert columns[0][1] == ["52.8 (103 %)", "WRONG", "0.13", "–"]
    assert columns[1][1] == ["52.8 (103 %)", "52.8 (103 %)", "0.0163", "0.0163"]
