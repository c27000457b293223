"""Markdown tables, and the markers between which they are replaced."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from approvals import Approve
from plots_synthetic import (
    STEPS,
    TWELVE,
    checkout,
    cpu_results,
    gpu_results,
    mixed_results,
    ms,
    several_results,
    svg_texts,
    tuned_results,
)

from plots import data, tables
from plots.publish import publish
from runner.core.results import UserError, lessons

pytestmark = pytest.mark.usefixtures("labels_alone")


def unmeasured() -> dict:
    """Results of which a power is not known."""
    results = gpu_results()
    for entry in (results["runs"][-1], *(entry for entry in results["runs"] if entry["lesson"] == TWELVE[1])):
        entry["power_w"] = None
    return results


def with_a_hole() -> dict:
    results = gpu_results(2, (256, 4097))
    results["runs"].pop(0)
    return results


@pytest.mark.parametrize(
    ("name", "results"),
    [
        ("progression", gpu_results),
        ("step_full:01_naive", gpu_results),  # has no lesson before it
        ("step_full:02_coalesced", unmeasured),
        ("step:02_coalesced", unmeasured),
        ("sweep", with_a_hole),
        ("tensorcore", mixed_results),
        ("tensorcore_sweep", mixed_results),
        ("variants", several_results),
        ("variants", gpu_results),  # none yet
        ("step_full:09a_wmma", mixed_results),  # the lesson before it has another type, and another cuBLAS
        ("step_full:09b_mma_sync", mixed_results),
    ],
)
def test_tables(name: str, results: Callable[[], dict], approve: Approve) -> None:
    approve(tables.render(name, results(), [*TWELVE[:8], *STEPS]))


@pytest.mark.parametrize(("sizes", "pieces"), [(5, [5]), (6, [3, 3]), (14, [5, 5, 4]), (45, [5] * 9)])
def test_a_sweep_grows_downwards(sizes: int, pieces: list[int]) -> None:
    wanted = [256 * i for i in range(1, sizes + 1)]
    lines = tables.render("sweep", gpu_results(sizes=wanted), TWELVE).splitlines()
    headers = [line.strip("| ").split(" | ")[1:] for line in lines if line.startswith("| M = N = K")]
    assert [len(header) for header in headers] == pieces
    assert [int(size) for header in headers for size in header] == wanted
    assert sum(line.startswith("| 03_smem | 0.176 |") for line in lines) == len(pieces)


def test_another_type_changes_no_table_of_fp32() -> None:
    order = [*TWELVE[:8], *STEPS]
    mixed, alone = mixed_results(), gpu_results(sizes=(1024, 4096, 4097))
    for name in ("progression", "sweep", "step:01_naive", "step_full:03_smem"):
        assert tables.render(name, mixed, order) == tables.render(name, alone, order), name


def test_a_lesson_is_held_against_the_one_before_it_in_its_ladder() -> None:
    mixed, steps = mixed_results(), list(STEPS)
    order = [*TWELVE[:2], *steps, TWELVE[2]]
    assert data.beside(mixed, order, TWELVE[2]) == [TWELVE[1], TWELVE[2]]
    assert data.beside(mixed, order, steps[1]) == steps[:2]
    assert data.beside(mixed, order, steps[0]) == [TWELVE[1], steps[0]]  # its ladder's first
    assert data.beside(mixed, order, TWELVE[0]) == [TWELVE[0]]
    table = tables.render(f"step_full:{TWELVE[2]}", mixed, order)
    assert f"| {TWELVE[1]} |" in table and steps[-1] not in table


@pytest.mark.parametrize("kind", ["step", "step_full"])
def test_a_lesson_that_is_another_one_rebuilt_is_held_against_that_one(kind: str) -> None:
    rows = tables.render(f"{kind}:{TWELVE[2]}:{TWELVE[0]}", mixed_results(), TWELVE).splitlines()[2:5]
    assert [row.split(" | ")[0].strip("| *") for row in rows] == [TWELVE[0], TWELVE[2], "cuBLAS"]


@pytest.mark.parametrize("name", ["tensorcore", "tensorcore_sweep"])
def test_results_without_bf16_have_no_table_of_it(name: str) -> None:
    with pytest.raises(UserError, match=r"(no timed run|'tensorcore).*\.$"):
        tables.render(name, gpu_results(), [*TWELVE[:8], *STEPS])


def test_markdown_files_of_steps(tmp_path: Path) -> None:
    root = checkout(tmp_path, 1, steps=STEPS)
    for folder in (".", "01_naive", "09_tensorcore", "09_tensorcore/a_wmma", "09_tensorcore/c_ring", "elsewhere"):
        (root / folder).mkdir(exist_ok=True)
        (root / folder / "README.md").touch()
    found = [str(path.parent.relative_to(root)) for path in tables.markdown_files(root, ["01_naive", *STEPS])]
    assert found == [".", "01_naive", "09_tensorcore", "09_tensorcore/a_wmma", "09_tensorcore/c_ring"]


def test_counts_of_a_step_name_lines_of_its_own_kernel_by_number(tmp_path: Path) -> None:
    root = checkout(tmp_path, 1, steps=STEPS)
    line = {"line": 3, "code": "x", "array": "A", "op": "load", "width": 2, "space": "global", "requests": 8, "sectors": 8,
            "ideal_sectors": 8, "diverged": False}  # fmt: skip
    files = ("09_tensorcore/a_wmma/kernel.cu", "common/ptx/mma.hpp")
    totals = {"shared_bytes": 0, "shared_bytes_per_flop": None, "global_bytes": 256, "flop_per_byte": 1.5}
    lesson = {"lines": [{**line, "file": file} for file in files], "totals": totals, "barriers_per_thread": 0}
    text = tables.render_counts("09a_wmma", {"m": 1, "n": 1, "k": 1, "lessons": {"09a_wmma": lesson}}, root)
    assert [row.split(" | ")[0] for row in text.splitlines()[2:4]] == ["| 3", "| common/ptx/mma.hpp:3"]
    assert "A, load of 2 B" in text


@pytest.mark.parametrize("name", ["progression", "sweep", "step:02_coalesced"])
def test_untimed_results_are_one_sentence(name: str) -> None:
    with pytest.raises(UserError, match=r"(no timed run|'tensorcore).*\.$"):
        tables.render(name, cpu_results(), TWELVE)


def test_two_gpus_beside_each_other(approve: Approve) -> None:
    order, first, other = [*TWELVE, *STEPS], mixed_results(), gpu_results()
    other["device"] = {**other["device"], "name": "NVIDIA H100 80GB HBM3"}
    other["runs"] = [{**run, "tflops": run["tflops"] / 2, "ratio": run["ratio"] / 4} for run in other["runs"]]
    shown = tables.render("gpus", first, order, second=other)
    approve(shown)
    # A kernel that has changed since is not compared.
    lesson = other["runs"][0]["lesson"]
    for run in other["runs"]:
        run["kernel_hash"] = "1" * 64 if run["lesson"] == lesson else run["kernel_hash"]
    changed = dict(zip(shown.splitlines(), tables.render("gpus", first, order, second=other).splitlines(), strict=True))
    assert {after for before, after in changed.items() if after != before} == {
        row for row in changed.values() if row.startswith(f"| {lesson} ") and row.endswith(" – | – |")
    }
    assert len({before for before, after in changed.items() if after != before}) == 1
    with pytest.raises(UserError, match=data.SECOND):
        tables.render("gpus", first, order)


@pytest.mark.parametrize("name", ["progresion", "step:", "step:99_nothing", "step:02_coalesced:99_nothing", "sweep:01_naive"])
def test_unknown_table(name: str) -> None:
    with pytest.raises(UserError, match="There is no table"):
        tables.render(name, gpu_results(), TWELVE)


def page(*middle: str) -> str:
    return "\n".join(["# Title", "", *middle, "", "Text below, by hand.", ""])


def test_update_replaces_only_what_is_between_the_markers(tmp_path: Path) -> None:
    results = gpu_results()
    root = checkout(tmp_path, results=results)
    (root / "README.md").write_text(page("<!-- table:progression -->", "old", "<!-- /table -->", "between",
                                         "<!-- table:sweep -->", "<!-- /table -->"), encoding="utf-8")  # fmt: skip
    step = root / TWELVE[1] / "README.md"
    step.write_text(page("<!-- table:step:02_coalesced -->", "<!-- /table -->"), encoding="utf-8")
    (root / "plain.md").write_text("no table, no end of line", encoding="utf-8")
    assert tables.update(root, "table") == [root / "README.md", step]
    text = (root / "README.md").read_text(encoding="utf-8")
    progression, sweep = (tables.render(name, results, TWELVE) for name in ("progression", "sweep"))
    assert text == page("<!-- table:progression -->", f"{progression}<!-- /table -->", "between",
                        "<!-- table:sweep -->", f"{sweep}<!-- /table -->")  # fmt: skip
    assert (root / "plain.md").read_text(encoding="utf-8") == "no table, no end of line"
    assert tables.update(root, "table") == []
    assert (root / "README.md").read_text(encoding="utf-8") == text


def test_markers_in_fenced_code_are_text(tmp_path: Path) -> None:
    root = checkout(tmp_path, results=gpu_results())
    (root / "README.md").write_text(page("```html", "<!-- table:progression -->", "```"), encoding="utf-8")
    assert tables.update(root, "table") == []


@pytest.mark.parametrize(
    ("lines", "line", "message"),
    [
        (["<!-- table:progression -->"], 3, "no <!-- /table --> follows"),
        (["<!-- table:progression -->", "<!-- table:sweep -->", "<!-- /table -->"], 3, "no <!-- /table --> follows"),
        (["<!-- /table -->"], 3, "that no <!-- table:NAME --> opened"),
        (["x", "<!-- table:speed -->", "<!-- /table -->"], 4, "There is no table 'speed'"),
        (["<!-- table:step:99_none -->", "<!-- /table -->"], 3, "There is no table 'step_full:99_none'"),
    ],
)
def test_errors_name_file_and_line_and_change_nothing(lines: list[str], line: int, message: str, tmp_path: Path) -> None:
    results = gpu_results()
    results["runs"] = [entry for entry in results["runs"] if entry["lesson"] != TWELVE[2]]
    root = checkout(tmp_path, results=results)
    good = page("<!-- table:progression -->", "<!-- /table -->")
    (root / "A.md").write_text(good, encoding="utf-8")
    (root / "README.md").write_text(page(*lines), encoding="utf-8")
    with pytest.raises(UserError, match=message) as error:
        tables.update(root, "table")
    assert str(error.value).startswith(f"{root / 'README.md'}:{line}")
    assert (root / "A.md").read_text(encoding="utf-8") == good


def test_publish_without_results_leaves_tables_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = checkout(tmp_path)
    before = page("<!-- table:progression -->", "as it was", "<!-- /table -->")
    (root / "README.md").write_text(before, encoding="utf-8")
    assert publish(root, {}) == []
    assert (root / "README.md").read_text(encoding="utf-8") == before


def test_publish_draws_what_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = checkout(tmp_path, results=gpu_results())
    (root / "README.md").write_text(page("<!-- table:progression -->", "<!-- /table -->"), encoding="utf-8")
    written = [str(path.relative_to(root)) for path in publish(root, {})]
    charts = [f"plots/{name}.{kind}" for name in ("progression", "sweep", "ladders") for kind in ("png", "svg")]
    assert written == [*charts, "README.md"]


# What ./gemm autotune recorded


def compared_with_its_own() -> dict:
    results = tuned_results(0)
    results["lessons"]["03_smem"]["compared"] = {"small": 1, "four stages": 0}
    return results


def of_two_sizes() -> dict:
    results = tuned_results(0)
    results["lessons"]["03_smem"]["sizes"] = "4096,1024"
    return results


def of_bf16() -> dict:
    results = tuned_results(None)
    for run in (run for row in results["lessons"]["03_smem"]["rows"] for run in row["runs"]):
        run["variant"] = "bf16"
    return results


@pytest.mark.parametrize("results", [tuned_results, compared_with_its_own, of_two_sizes, of_bf16])
def test_tuned(results: Callable[[], dict], approve: Approve) -> None:
    approve(tables.render_tuned("03_smem", results()))


def test_configurations_by_shape(approve: Approve) -> None:
    results = tuned_results()
    lesson = results["lessons"]["03_smem"]
    lesson |= {"compared": {"small": 1, "short": 2, "broken": 3}, "by_shape": ["small", "short", "broken"]}
    for row, ratio in zip(lesson["rows"], (0.9, 0.8, 0.95), strict=False):
        at_4096 = {**row["runs"][1], "baseline_ms_median": ms(4096, 50)}
        row["runs"] = [at_4096, {**at_4096, "m": 1024, "n": 512, "k": 64, "ratio": ratio, "baseline_ms_median": 0.001}]
    approve(tables.render_shapes("03_smem", results))
    with pytest.raises(UserError):  # as older files have it
        tables.render_shapes("03_smem", tuned_results())


@pytest.mark.parametrize(
    ("command", "render"),
    [
        ("chart", lambda name: tables.render(f"step:{name}", gpu_results(3), [*TWELVE[:3], "02_coalesced", "08a_ring"])),
        ("inspect", lambda name: tables.render_counts(name, {"lessons": {}})),
        ("profile", lambda name: tables.render_profile(name, {"lessons": {}}, lessons())),
        ("profile", lambda name: tables.render_stalls(name, {"lessons": {}}, lessons())),
        ("autotune 08a", lambda name: tables.render_tuned(name, tuned_results())),
        ("autotune 08a", lambda name: tables.render_shapes(name, tuned_results())),
        ("timeline", lambda name: tables.render_timeline(name, {"lessons": {}}, None)),
    ],
)
def test_a_lesson_that_is_not_recorded_yet_has_a_sentence_for_a_table(command: str, render: Callable[[str], str]) -> None:
    assert f"`./gemm {command} --record`" in render("08a_ring")
    assert render("08a_ring").count("\n") == 1
    with pytest.raises(UserError, match="99_none"):
        render("99_none")


def test_publish_renders_recorded_configurations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = checkout(tmp_path, results=gpu_results())
    readme = root / TWELVE[2] / "README.md"
    readme.write_text(page("<!-- tuned:03_smem -->", "old", "<!-- /tuned -->"), encoding="utf-8")
    file = root / "plots" / "results" / "h200-autotune.json"
    file.write_text(json.dumps(tuned_results()), encoding="utf-8")
    assert readme in publish(root, {})
    table = tables.render_tuned("03_smem", tuned_results())
    assert readme.read_text(encoding="utf-8") == page("<!-- tuned:03_smem -->", f"{table}<!-- /tuned -->")
    wrong = {"{": "is not valid JSON", '{"schema": 9}': "schema 1", '{"schema": 1}': "lacks its device, commit, date"}
    for content, message in wrong.items():
        file.write_text(content, encoding="utf-8")
        with pytest.raises(UserError, match=message):
            publish(root, {})


def test_publish_draws_both_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = checkout(tmp_path, results=mixed_results(), steps=STEPS)
    charts = ("progression", "sweep", "tensorcore", "tensorcore_sweep", "ladders")
    assert [path.name for path in publish(root, {})] == [f"{name}.{kind}" for name in charts for kind in ("png", "svg")]


def test_publish_draws_variants_above_their_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    several = several_results()
    several["runs"] += mixed_results(sizes=(1024,))["runs"]  # a sweep needs two sizes
    root = checkout(tmp_path, results=several, steps=STEPS)
    page_of_it = root / "plots" / "README.md"
    page_of_it.write_text(page("<!-- table:variants -->", "<!-- /table -->"), encoding="utf-8")
    written = publish(root, {})
    assert {root / "plots" / "variants.png", root / "plots" / "variants.svg", page_of_it} <= {*written}
    assert 'src="variants.png"' in page_of_it.read_text(encoding="utf-8")
    charted = svg_texts(root / "plots" / "variants.svg")
    assert charted.keys() >= {"09a_wmma", "09c_ring", "BF16", "FP16", "E4M3_BF16 NT"}
    assert "09b_mma_sync" not in charted  # it has one variant
