"""The charts: files, labels and values from the results given, and what happens when results are incomplete."""

from __future__ import annotations

from pathlib import Path

import pytest
from approvals import Approve
from conftest import drawn
from plots_synthetic import STEPS, TWELVE, cpu_results, gpu_results, mixed_results, several_results, svg_texts

from plots import data, ladders, progression, sweep, variants, verification
from runner import drawing
from runner.core.results import UserError

pytestmark = pytest.mark.usefixtures("labels_alone")
CHARTS = [(progression.draw, gpu_results), (sweep.draw, gpu_results), (ladders.draw, gpu_results),
          (variants.draw, lambda lessons: several_results()), (verification.draw, cpu_results)]  # fmt: skip


@pytest.mark.pixels
@pytest.mark.parametrize(("draw", "results", "lessons"), drawn([(*chart, count) for chart in CHARTS for count in (1, 3, 12)], 4))
def test_writes_png_and_svg_the_same_each_time(draw, results, lessons: int, tmp_path: Path) -> None:
    first = draw(results(lessons), tmp_path / "a", [*TWELVE, *STEPS])
    second = draw(results(lessons), tmp_path / "b", [*TWELVE, *STEPS])
    assert [path.name for path in first] == ["a.png", "a.svg"]
    assert first[0].read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert first[0].stat().st_size > 5000
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.png", "a.svg", "b.png", "b.svg"]


def followed() -> dict:
    """One lesson is faster than elsewhere, and a run's cuBLAS was disturbed, which moves no line."""
    results = gpu_results()
    for entry in results["runs"]:
        if entry["lesson"] == TWELVE[2] and entry["m"] == 4096:
            entry["tflops"], entry["ratio"] = 12.34, 0.2345
    next(entry for entry in results["runs"] if entry["m"] == 4096)["baseline_ms_median"] *= 100
    return results


def without_one_run() -> dict:
    results = mixed_results()
    results["runs"] = [run for run in results["runs"] if (run["lesson"], run["m"]) != (TWELVE[0], 4096)]
    return results


def with_holes() -> dict:
    """Some lessons lack the smallest or the largest size."""
    results = gpu_results(12)
    results["runs"] = results["runs"][7:-5]
    return results


def wrong_and_missing() -> dict:
    results = cpu_results()
    results["failed"].append({"lesson": TWELVE[1], "variant": "fp32", "m": 256, "n": 256, "k": 256, "failure": "…"})
    results["runs"] = [r for r in results["runs"] if (r["lesson"], r["m"]) not in {(TWELVE[1], 256), (TWELVE[2], 64)}]
    return results


def of_several_scalars() -> dict:
    results = cpu_results(1)
    results["runs"].append({**results["runs"][0], "alpha": 1.5, "error_over_bound": 0.77})
    results["runs"].append({**results["runs"][0], "alpha": 0, "error_over_bound": None})
    return results


def of_batches() -> dict:
    """One lesson with a batch of one size, and with groups, of which one has no rows."""
    results = cpu_results(1)
    run = next(one for one in results["runs"] if one["m"] == 256)
    results["runs"].append({**run, "variant": "bf16.strided", "batch": 3})
    groups = [[run["m"], run["n"], run["k"]], [0, 5, 3], [1, 1, 1]]
    results["runs"].append({**run, "variant": "bf16.grouped", "batch": 3, "groups": groups})
    return results


LABELLED = {
    "bars": (progression.draw, gpu_results),
    "twelve bars": (progression.draw, lambda: gpu_results(12)),
    "bars of one that is faster": (progression.draw, followed),
    "bars without one": (progression.draw, without_one_run),
    "bars of BF16": (progression.draw, mixed_results, "bf16"),
    "sweep": (sweep.draw, gpu_results),
    "sweep of twelve": (sweep.draw, lambda: gpu_results(12)),
    "sweep of even sizes": (sweep.draw, lambda: gpu_results(12, (256, 4096))),
    "sweep with holes": (sweep.draw, with_holes),
    "variants": (variants.draw, several_results),
    "two ladders": (ladders.draw, without_one_run),
    "verified": (verification.draw, cpu_results),
    "wrong and missing": (verification.draw, wrong_and_missing),
    "the worst of several scalars": (verification.draw, of_several_scalars),
    "verified batches": (verification.draw, of_batches),
}


@pytest.mark.parametrize("chart", LABELLED)
def test_labels(chart: str, tmp_path: Path, approve: Approve) -> None:
    draw, results, *variant = LABELLED[chart]
    texts = svg_texts(draw(results(), tmp_path / "chart", [*TWELVE, *STEPS], *variant)[1])
    approve("\n".join(f"{text}{f' ×{count}' if count > 1 else ''}" for text, count in sorted(texts.items())))


def test_results_with_one_variant_a_lesson_have_no_chart_of_variants(tmp_path: Path) -> None:
    assert data.several(mixed_results()) == []
    batches = several_results()
    batches["runs"] = [{**run, "batch": 3} if run["variant"] != "bf16" else run for run in batches["runs"]]
    assert data.several(batches, [*STEPS]) == []  # other problems than one of 4096³
    with pytest.raises(UserError, match="several variants"):
        variants.draw(mixed_results(), tmp_path / "chart", [*TWELVE, *STEPS])


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


def test_both_types_alone_are_one_panel(tmp_path: Path) -> None:
    assert "FP32" not in svg_texts(ladders.draw(without_one_run(), tmp_path / "chart", [*STEPS])[1])


def test_progression_keeps_course_order(tmp_path: Path) -> None:
    results = gpu_results(sizes=(4096,))
    results["runs"].reverse()
    svg = progression.draw(results, tmp_path / "chart", TWELVE)[1].read_text(encoding="utf-8")
    assert svg.index(TWELVE[0]) < svg.index(TWELVE[1]) < svg.index(TWELVE[2])


def test_no_time_with_other_scalars_is_shown(tmp_path: Path) -> None:
    results = gpu_results()
    for entry in results["runs"]:
        entry["beta"] = 1
    with pytest.raises(UserError, match="no timed run at 4096×4096×4096"):
        progression.draw(results, tmp_path / "chart", TWELVE)


@pytest.mark.parametrize("draw", [progression.draw, sweep.draw, ladders.draw])
def test_untimed_results_are_one_sentence_and_no_file(draw, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no timed run.*\.$"):
        draw(cpu_results(), tmp_path / "chart", TWELVE)
    assert not list(tmp_path.iterdir())


def test_one_size_is_measured_without_a_sweep(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    one = gpu_results(sizes=(4096,))
    monkeypatch.setattr(drawing, "ROOT", tmp_path)
    monkeypatch.setattr(drawing, "lessons", lambda: TWELVE)
    files = drawing.charts(one, published=False)
    assert files and not any("sweep" in path.name for path in files)


def test_sweep_needs_two_sizes(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="two square sizes"):
        sweep.draw(gpu_results(sizes=(4096,)), tmp_path / "chart", TWELVE)


def test_verification_without_runs_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no run of any lesson"):
        verification.draw({**cpu_results(), "runs": []}, tmp_path / "chart", TWELVE)


def test_an_unwritable_chart_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "chart.png").mkdir()
    with pytest.raises(UserError, match="chart.png cannot be written"):
        progression.draw(gpu_results(), tmp_path / "chart", TWELVE)
    assert not list((tmp_path / "chart.png").iterdir())
