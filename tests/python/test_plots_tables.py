"""Markdown tables, and the markers between which they are replaced."""

from __future__ import annotations

from pathlib import Path

import pytest
from plots_synthetic import TWELVE, checkout, cpu_results, gpu_results

from plots import tables
from plots.publish import publish
from runner.results import UserError

MEASURED = "NVIDIA X999 <Test>, 2031-02-03, commit 0123456, CUDA 13.0, driver 13.1, FP32, alpha = 1, beta = 0, L2 cold"


def test_progression() -> None:
    assert tables.render("progression", gpu_results(), TWELVE) == (
        "| step | TFLOP/s | % of cuBLAS | ratio to cuBLAS |\n"
        "| :-- | --: | --: | --: |\n"
        "| 01_naive | 0.500 | 0.98 % | 0.0098 |\n"
        "| 02_coalesced | 6.20 | 12.1 % | 0.121 |\n"
        "| 03_smem | 9.00 | 17.6 % | 0.176 |\n"
        "| cuBLAS | 51.2 | 100.0 % | 1.000 |\n"
        "\n"
        "4096×4096×4096. Ratio: cuBLAS's time over the step's, median of interleaved rounds. "
        f"{MEASURED}. Reproduce with `./gemm chart`.\n"
    )


def test_step() -> None:
    results = gpu_results()
    results["runs"][-1]["power_w"] = None
    for entry in results["runs"]:
        if entry["lesson"] == TWELVE[1]:
            entry["power_w"] = None
    assert tables.render("step:02_coalesced", results, TWELVE) == (
        "| step | ms | p10 … p90 (ms) | TFLOP/s | ratio to cuBLAS | SM clock (MHz) | power (W) |\n"
        "| :-- | --: | --: | --: | --: | --: | --: |\n"
        "| 01_naive | 274.9 | 272.1 … 280.4 | 0.500 | 0.0098 | 1980 | 531 |\n"
        "| **02_coalesced** | 22.17 | 21.95 … 22.61 | 6.20 | 0.121 | 1980 | – |\n"
        "| cuBLAS | 2.684 | – | 51.2 | 1.000 | – | – |\n"
        "\n"
        f"4096×4096×4096. Times: median of 21 rounds. {MEASURED}. Reproduce with `./gemm chart`.\n"
    )


def test_the_first_step_has_no_last() -> None:
    assert tables.render("step:01_naive", gpu_results(), TWELVE).count("\n| ") == 3  # the rule, the step, cuBLAS


def test_sweep() -> None:
    results = gpu_results(2, (256, 4097))
    results["runs"].pop(0)
    assert tables.render("sweep", results, TWELVE) == (
        "| M = N = K | 01_naive | 02_coalesced | cuBLAS (TFLOP/s) |\n"
        "| :-- | --: | --: | --: |\n"
        "| 256 | – | 0.121 | 6.40 |\n"
        "| 4097 | 0.0098 | 0.121 | 46.1 |\n"
        "\n"
        f"Ratio to cuBLAS in the same run; last column: cuBLAS's own rate. {MEASURED}. Reproduce with `./gemm chart`.\n"
    )


@pytest.mark.parametrize("name", ["progression", "sweep", "step:02_coalesced"])
def test_untimed_results_are_one_sentence(name: str) -> None:
    with pytest.raises(UserError, match=r"^These results hold no timed run.*\.$"):
        tables.render(name, cpu_results(), TWELVE)


@pytest.mark.parametrize("name", ["progresion", "step:", "step:99_nothing", "sweep:01_naive"])
def test_unknown_table(name: str) -> None:
    with pytest.raises(UserError, match="There is no table"):
        tables.render(name, gpu_results(), TWELVE)


def page(*middle: str) -> str:
    return "\n".join(["# Title", "", *middle, "", "Text below, by hand.", ""])


def test_update_markdown_replaces_only_what_is_between_the_markers(tmp_path: Path) -> None:
    root, results = checkout(tmp_path), gpu_results()
    (root / "README.md").write_text(page("<!-- table:progression -->", "old", "<!-- /table -->", "between",
                                         "<!-- table:sweep -->", "<!-- /table -->"), encoding="utf-8")  # fmt: skip
    step = root / TWELVE[1] / "README.md"
    step.write_text(page("<!-- table:step:02_coalesced -->", "<!-- /table -->"), encoding="utf-8")
    (root / "plain.md").write_text("no table, no end of line", encoding="utf-8")
    assert tables.update_markdown(root, results) == [root / "README.md", step]
    text = (root / "README.md").read_text(encoding="utf-8")
    progression, sweep = (tables.render(name, results, TWELVE) for name in ("progression", "sweep"))
    assert text == page("<!-- table:progression -->", f"{progression}<!-- /table -->", "between",
                        "<!-- table:sweep -->", f"{sweep}<!-- /table -->")  # fmt: skip
    assert (root / "plain.md").read_text(encoding="utf-8") == "no table, no end of line"
    assert tables.update_markdown(root, results) == []
    assert (root / "README.md").read_text(encoding="utf-8") == text


def test_markers_in_fenced_code_are_text(tmp_path: Path) -> None:
    root = checkout(tmp_path)
    (root / "README.md").write_text(page("```html", "<!-- table:progression -->", "```"), encoding="utf-8")
    assert tables.update_markdown(root, gpu_results()) == []


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        (["<!-- table:progression -->"], 3, "no <!-- /table --> follows"),
        (["<!-- table:progression -->", "<!-- table:sweep -->", "<!-- /table -->"], 3, "no <!-- /table --> follows"),
        (["<!-- /table -->"], 3, "that no <!-- table:NAME --> opened"),
        (["x", "<!-- table:speed -->", "<!-- /table -->"], 4, "There is no table 'speed'"),
        (["<!-- table:step:03_smem -->", "<!-- /table -->"], 3, "no timed run of 03_smem"),
    ],
)
def test_errors_name_file_and_line_and_change_nothing(lines: list[str], line: int, message: str, tmp_path: Path) -> None:
    root, results = checkout(tmp_path), gpu_results()
    results["runs"] = [entry for entry in results["runs"] if entry["lesson"] != TWELVE[2]]
    good = page("<!-- table:progression -->", "<!-- /table -->")
    (root / "A.md").write_text(good, encoding="utf-8")
    (root / "README.md").write_text(page(*lines), encoding="utf-8")
    with pytest.raises(UserError, match=message) as error:
        tables.update_markdown(root, results)
    assert str(error.value).startswith(f"{root / 'README.md'}:{line}")
    assert (root / "A.md").read_text(encoding="utf-8") == good


def test_publish_without_results_leaves_tables_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = checkout(tmp_path)
    monkeypatch.setattr("plots.pictures.PICTURES", {})
    before = page("<!-- table:progression -->", "as it was", "<!-- /table -->")
    (root / "README.md").write_text(before, encoding="utf-8")
    assert publish(root) == []
    assert (root / "README.md").read_text(encoding="utf-8") == before


def test_publish_draws_what_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = checkout(tmp_path, results=gpu_results())
    monkeypatch.setattr("plots.pictures.PICTURES", {})
    (root / "README.md").write_text(page("<!-- table:progression -->", "<!-- /table -->"), encoding="utf-8")
    written = [str(path.relative_to(root)) for path in publish(root)]
    assert written == ["plots/progression.png", "plots/progression.svg", "plots/sweep.png", "plots/sweep.svg", "README.md"]
