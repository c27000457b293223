"""The charts: files, labels and values from the results given, and what happens when results are incomplete."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import drawn
from plots_synthetic import STEPS, TWELVE, cpu_results, gpu_results, mixed_results, svg_texts

from plots import ladders, progression, sweep, verification
from runner.core.results import UserError

pytestmark = pytest.mark.usefixtures("labels_alone")
CHARTS = [(progression.draw, gpu_results), (sweep.draw, gpu_results), (ladders.draw, gpu_results),
          (verification.draw, cpu_results)]  # fmt: skip


@pytest.mark.pixels
@pytest.mark.parametrize(("draw", "results", "lessons"), drawn([(*chart, count) for chart in CHARTS for count in (1, 3, 12)], 4))
def test_writes_png_and_svg_the_same_each_time(draw, results, lessons: int, tmp_path: Path) -> None:
    first = draw(results(lessons), tmp_path / "a", TWELVE)
    second = draw(results(lessons), tmp_path / "b", TWELVE)
    assert [path.name for path in first] == ["a.png", "a.svg"]
    assert first[0].read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert first[0].stat().st_size > 5000
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "a.svg", "b.png", "b.svg"]


@pytest.mark.parametrize("lessons", [3, 12])
@pytest.mark.parametrize("draw", [progression.draw, sweep.draw])
def test_names_lessons_units_and_provenance(draw, lessons: int, tmp_path: Path) -> None:
    texts = svg_texts(draw(gpu_results(lessons), tmp_path / "chart", TWELVE)[1])
    assert set(TWELVE[:lessons]) <= texts.keys()
    assert not set(TWELVE[lessons:]) & texts.keys()
    assert "TFLOP/s" in texts
    assert "NVIDIA X999 <Test> · 2031-02-03 · commit 0123456" in texts
    assert any("alpha = 1, beta = 0" in text for text in texts)


def test_progression_writes_each_value(tmp_path: Path) -> None:
    texts = svg_texts(progression.draw(gpu_results(), tmp_path / "chart", TWELVE)[1])
    assert texts["6.20 · 12.1 %"] == 1
    assert texts["9.00 · 17.6 %"] == 1
    assert texts["0.500 · 0.98 %"] == 2  # too small to see: drawn again on an axis of its own
    assert texts["cuBLAS FP32: 51.2 TFLOP/s"] == 1
    assert any("4096×4096×4096" in text for text in texts)


@pytest.mark.parametrize("draw", [progression.draw, sweep.draw])
def test_each_type_has_a_chart_of_its_own(draw, tmp_path: Path) -> None:
    order, mixed, alone = [*TWELVE[:3], *STEPS], mixed_results(), gpu_results(sizes=(1024, 4096, 4097))
    fp32, same = (svg_texts(draw(results, tmp_path / "chart", order)[1]) for results in (mixed, alone))
    assert fp32 == same
    bf16 = svg_texts(draw(mixed, tmp_path / "chart", order, "bf16")[1])
    assert set(STEPS) <= bf16.keys()
    assert not set(TWELVE) & bf16.keys()
    assert any(text.startswith("BF16 GEMM") for text in bf16)
    assert not any("FP32" in text for text in bf16)
    with pytest.raises(UserError, match="no timed run"):
        draw(alone, tmp_path / "chart", order, "bf16")


def test_tensorcore_values(tmp_path: Path) -> None:
    texts = svg_texts(progression.draw(mixed_results(), tmp_path / "chart", [*TWELVE, *STEPS], "bf16")[1])
    assert texts["402 · 53.0 %"] == 1
    assert texts["cuBLAS BF16: 758 TFLOP/s"] == 1


def test_both_types_are_held_against_their_own_cublas_in_one_chart(tmp_path: Path) -> None:
    order, results = [*TWELVE, *STEPS], mixed_results()
    results["runs"] = [run for run in results["runs"] if (run["lesson"], run["m"]) != (TWELVE[0], 4096)]
    texts = svg_texts(ladders.draw(results, tmp_path / "chart", order)[1])
    assert {*TWELVE[1:3], *STEPS} == texts.keys() & {*order}, "lessons without a run at 4096³ are left out"
    assert texts["12.1 % · 6.20 TFLOP/s"] == texts["53.0 % · 402 TFLOP/s"] == 1
    assert texts["cuBLAS: 51.2 TFLOP/s"] == texts["cuBLAS: 758 TFLOP/s"] == texts["FP32"] == texts["BF16"] == 1
    assert "% of cuBLAS, measured in the same run" in texts
    assert "NVIDIA X999 <Test> · 2031-02-03 · commit 0123456 · 4096×4096×4096, alpha = 1, beta = 0" in texts
    alone = svg_texts(ladders.draw(results, tmp_path / "chart", [*STEPS])[1])
    assert "FP32" not in alone


def test_progression_follows_the_input(tmp_path: Path) -> None:
    results = gpu_results()
    for entry in results["runs"]:
        if entry["lesson"] == TWELVE[2] and entry["m"] == 4096:
            entry["tflops"], entry["ratio"] = 12.34, 0.2345
    texts = svg_texts(progression.draw(results, tmp_path / "chart", TWELVE)[1])
    assert texts["12.3 · 23.4 %"] + texts["12.3 · 23.5 %"] == 1


def test_progression_keeps_course_order_and_a_median_baseline(tmp_path: Path) -> None:
    results = gpu_results(sizes=(4096,))
    results["runs"].reverse()
    results["runs"][0]["baseline_ms_median"] *= 100  # one disturbed run does not move the line
    path = progression.draw(results, tmp_path / "chart", TWELVE)[1]
    assert "cuBLAS FP32: 51.2 TFLOP/s" in svg_texts(path)
    svg = path.read_text(encoding="utf-8")
    assert svg.index(TWELVE[0]) < svg.index(TWELVE[1]) < svg.index(TWELVE[2])


def test_progression_leaves_out_lessons_without_a_4096_run(tmp_path: Path) -> None:
    results = gpu_results()
    results["runs"] = [entry for entry in results["runs"] if (entry["lesson"], entry["m"]) != (TWELVE[1], 4096)]
    texts = svg_texts(progression.draw(results, tmp_path / "chart", TWELVE)[1])
    assert TWELVE[1] not in texts
    assert TWELVE[2] in texts


def test_no_time_with_other_scalars_is_shown(tmp_path: Path) -> None:
    results = gpu_results()
    for entry in results["runs"]:
        entry["beta"] = 1
    with pytest.raises(UserError, match="no timed run at 4096×4096×4096"):
        progression.draw(results, tmp_path / "chart", TWELVE)


@pytest.mark.parametrize("draw", [progression.draw, sweep.draw, ladders.draw])
def test_untimed_results_are_one_sentence_and_no_file(draw, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^These results hold no timed run.*\.$"):
        draw(cpu_results(), tmp_path / "chart", TWELVE)
    assert not list(tmp_path.iterdir())


def test_sweep_needs_two_sizes(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="two square sizes"):
        sweep.draw(gpu_results(sizes=(4096,)), tmp_path / "chart", TWELVE)


def test_sweep_with_holes(tmp_path: Path) -> None:
    results = gpu_results(12)
    results["runs"] = results["runs"][7:-5]  # some lessons lack the smallest or the largest size
    texts = svg_texts(sweep.draw(results, tmp_path / "chart", TWELVE)[1])
    assert set(TWELVE) <= texts.keys()
    assert {"256", "1024", "4096"} <= texts.keys()


def test_sweep_has_a_panel_a_lesson_and_says_what_odd_sizes_and_slow_lessons_are(tmp_path: Path) -> None:
    texts = svg_texts(sweep.draw(gpu_results(12), tmp_path / "chart", TWELVE)[1])
    assert [texts[name] for name in TWELVE] == 12 * [1]
    assert texts["own axis"] == 3
    assert texts["lesson, odd size"] == texts["cuBLAS, odd size"] == texts["cuBLAS"] == 1
    assert texts["M = N = K, elements"] == 2
    even = svg_texts(sweep.draw(gpu_results(12, (256, 4096)), tmp_path / "chart", TWELVE)[1])
    assert "cuBLAS" in even and not any("odd" in text for text in even)


def test_verification_says_that_it_is_the_cpu_and_has_no_time(tmp_path: Path) -> None:
    texts = svg_texts(verification.draw(cpu_results(), tmp_path / "chart", TWELVE)[1])
    assert "Verified on the CPU device: all correct" in texts
    assert "No time is shown: the CPU device has none to show." in texts
    assert not any("TFLOP" in text or " ms" in text for text in texts)
    assert set(TWELVE[:3]) <= texts.keys()
    assert "random inputs, seed 4711" in texts
    assert (texts["0"], texts["0.046"], texts["0.34"], texts["<10⁻³"]) == (3, 3, 3, 3)


def test_verification_shows_wrong_and_missing(tmp_path: Path) -> None:
    results = cpu_results()
    results["failed"].append({"lesson": TWELVE[1], "m": 256, "n": 256, "k": 256, "failure": "…"})
    results["runs"] = [r for r in results["runs"] if (r["lesson"], r["m"]) not in {(TWELVE[1], 256), (TWELVE[2], 64)}]
    texts = svg_texts(verification.draw(results, tmp_path / "chart", TWELVE)[1])
    assert "Verified on the CPU device: 1 WRONG" in texts
    assert texts["WRONG"] == 1
    assert texts["not run"] == 1


def test_verification_keeps_the_worst_of_several_scalars(tmp_path: Path) -> None:
    results = cpu_results(1)
    results["runs"].append({**results["runs"][0], "alpha": 1.5, "error_over_bound": 0.77})
    results["runs"].append({**results["runs"][0], "alpha": 0, "error_over_bound": None})
    texts = svg_texts(verification.draw(results, tmp_path / "chart", TWELVE)[1])
    assert texts["0.77"] == 1
    assert texts["0"] == 0


def test_verification_without_runs_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no run of any lesson"):
        verification.draw({**cpu_results(), "runs": []}, tmp_path / "chart", TWELVE)


def test_an_unwritable_chart_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "chart.png").mkdir()
    with pytest.raises(UserError, match="chart.png cannot be written"):
        progression.draw(gpu_results(), tmp_path / "chart", TWELVE)
    assert not list((tmp_path / "chart.png").iterdir())
