"""The roofline, its table, and the tables of profiles: from what was timed, counted and measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import drawn
from plots_synthetic import TWELVE, ceilings, checkout, gpu_results, profile, record, svg_texts

from plots import data, roofline, tables
from plots.excerpt import lesson_of
from plots.publish import RESULTS, publish, update
from runner.core.kernel_hash import kernel_hash
from runner.core.results import ROOT, UserError, folder_of, lessons, load
from runner.measure.profile import FIGURES

pytestmark = pytest.mark.usefixtures("labels_alone")

FLOP = 2 * 4096**3
AGAIN = r"record it again with ./gemm profile --record\.$"


def test_intensities_are_flop_over_counted_bytes() -> None:
    first, second, third = roofline.points(gpu_results(), profile(), TWELVE)
    assert first.intensity == {"DRAM": FLOP / 1e9, "L2": FLOP / 4e9}  # no shared memory: no such point
    assert second.intensity == {"DRAM": FLOP / 2e9, "L2": FLOP / 8e9, "shared memory": FLOP / (128 * 2.35e8)}
    assert (third.lesson, third.tflops) == ("03_smem", 9.0)


def test_shares_of_the_ceilings() -> None:
    second = roofline.points(gpu_results(), profile(), TWELVE)[1]
    assert second.shares(ceilings()) == pytest.approx({
        "DRAM copy": 6.2 * 2e9 / FLOP / 4,
        "L2 read": 6.2 * 8e9 / FLOP / 6,
        "shared memory read": 6.2 * 128 * 2.35e8 / FLOP / 30,
        "FFMA": 6.2 / 60,
    })  # fmt: skip


def test_another_kernel_is_no_point() -> None:
    profiled = profile()
    profiled["kernel_hashes"][TWELVE[1]] = "1" * 64
    assert [point.lesson for point in roofline.points(gpu_results(), profiled, TWELVE)] == [TWELVE[0], TWELVE[2]]
    profiled |= {"kernel_hashes": {}, "date": "2031-01-01"}
    with pytest.raises(UserError, match="none of the kernels that were timed; " + AGAIN):
        roofline.points(gpu_results(), profiled, TWELVE)


def test_what_lacks_something_is_one_sentence() -> None:
    with pytest.raises(UserError, match="is not of M = N = K = 4096; " + AGAIN):
        roofline.points(gpu_results(), {**profile(), "k": 1024}, TWELVE)
    profiled = profile()
    del profiled["lessons"][TWELVE[2]]["L2 bytes"]
    with pytest.raises(UserError, match="lacks 'L2 bytes' of 03_smem; " + AGAIN):
        roofline.points(gpu_results(), profiled, TWELVE)
    measured = ceilings()
    del measured["figures"]["FFMA"]
    with pytest.raises(UserError, match="lacks 'FFMA'; record it again with ./gemm doctor --measure --record"):
        tables.render("roofline", gpu_results(), TWELVE, profile(), measured)


@pytest.mark.pixels
@pytest.mark.parametrize("count", drawn([1, 3, 12], 1))
def test_draws_png_and_svg_the_same_each_time(count: int, tmp_path: Path) -> None:
    inputs = (gpu_results(count), profile(count), ceilings())
    first, second = (roofline.draw(*inputs, tmp_path / name, TWELVE) for name in "ab")
    assert [path.name for path in first] == ["a.png", "a.svg"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_the_chart_names_points_ceilings_and_sources(tmp_path: Path) -> None:
    texts = svg_texts(roofline.draw(gpu_results(), profile(), ceilings(), tmp_path / "chart", TWELVE)[1])
    assert [texts[number] for number in ("01", "02", "03", "04")] == [2, 3, 3, 0]
    assert texts["FFMA: 60.0 TFLOP/s"] == texts["TFLOP/s"] == 3
    for text in ("FLOP per byte of DRAM", "FLOP per byte of L2", "FLOP per byte of shared memory", "4.00 TB/s", "6.00 TB/s",
                 "30.0 TB/s", "rates: 2031-02-03, commit 0123456", "bytes (ncu 2031.1): 2031-02-04, commit abcdef0",
                 "ceilings: 2031-02-05, commit fedcba9", "dashed: FFMA as 8×16 outer products, 55.0 TFLOP/s"):  # fmt: skip
        assert texts[text] == 1, texts
    assert any("NVIDIA X999 <Test>" in text for text in texts)


def test_labels_keep_apart() -> None:
    spots = [(3.0 + 0.05 * n, 2.0 + 0.04 * n) for n in range(5)]
    labels = roofline.place(spots, [(0.1 * n, 2.5) for n in range(60)], 2.5)
    wide, high = roofline._LABEL
    for n, (x, y) in enumerate(labels):
        assert y + high / 2 <= 2.5
        assert all(abs(x - a) >= wide - 1e-9 or abs(y - b) >= high - 1e-9 for a, b in labels[:n])
        assert all(abs(x - a) >= wide / 2 or abs(y - b) >= high / 2 for a, b in spots)


def test_the_table() -> None:
    assert tables.render("roofline", gpu_results(), TWELVE, profile(), ceilings()) == (
        "| lesson | FLOP/B, DRAM | FLOP/B, L2 | FLOP/B, shared memory | TFLOP/s | nearest ceiling | share of it |\n"
        "| :-- | --: | --: | --: | --: | --: | --: |\n"
        "| 01_naive | 137 | 34.4 | – | 0.500 | FFMA | 0.83 % |\n"
        "| 02_coalesced | 68.7 | 17.2 | 4.57 | 6.20 | FFMA | 10.3 % |\n"
        "| 03_smem | 45.8 | 11.5 | 4.57 | 9.00 | FFMA | 15.0 % |\n"
        "\n"
        "4096×4096×4096. FLOP/B: 2·M·N·K over the bytes that ncu counted; a wavefront of shared memory is 128 bytes. "
        "Ceilings: DRAM copy 4.00 TB/s, L2 read 6.00 TB/s, shared memory read 30.0 TB/s, FFMA 60.0 TFLOP/s, "
        "FFMA, 8×16 outer product 55.0 TFLOP/s. NVIDIA X999 <Test>; rates: 2031-02-03, commit 0123456; "
        "bytes (ncu 2031.1): 2031-02-04, commit abcdef0; ceilings: 2031-02-05, commit fedcba9. "
        "Reproduce with `./gemm chart`, `./gemm profile` and `./gemm doctor --measure`.\n"
    )


def test_the_table_needs_both_files() -> None:
    with pytest.raises(UserError, match=r"needs plots/results/h200-profile.json, which ./gemm profile --record"):
        tables.render("roofline", gpu_results(), TWELVE, None, ceilings())
    with pytest.raises(UserError, match=r"needs plots/results/h200-ceilings.json, which ./gemm doctor --measure --record"):
        tables.render("roofline", gpu_results(), TWELVE, profile(), None)


def test_a_profile() -> None:
    assert tables.render_profile("02_coalesced", profile(), TWELVE) == (
        "|  | 01_naive | **02_coalesced** |\n"
        "| :-- | --: | --: |\n"
        "| issue slots used | 10.0 % | **20.0 %** |\n"
        "| FMA pipe | 5.5 % | **5.5 %** |\n"
        "| load/store pipe (L1, shared memory) | 50.0 % | **50.0 %** |\n"
        "| achieved occupancy | 100.0 % | **100.0 %** |\n"
        "| DRAM throughput | 2.0 % | **2.0 %** |\n"
        "| L2 throughput | 3.2 % | **3.2 %** |\n"
        "| DRAM bytes | 1.00 GB | **2.00 GB** |\n"
        "| wavefronts of shared memory | 0 | **235 million** |\n"
        "| bank conflicts | 0 | **1.50 million** |\n"
        "| stalls, largest reason | barrier 1.50 | **barrier 1.50** |\n"
        "| stalls, second reason | math pipe 0.25 | **math pipe 0.50** |\n"
        "\n"
        "4096×4096×4096, one launch. Per cent of what the unit can do; stalls: warps that wait for it, a clock with an issue. "
        "NVIDIA X999 <Test>, 2031-02-04, commit abcdef0, ncu 2031.1. Reproduce with `./gemm profile`.\n"
    )
    assert tables.render_profile("01_naive", profile(), TWELVE).startswith("|  | **01_naive** |\n")


def test_a_profile_without_a_figure_is_one_sentence() -> None:
    profiled = profile()
    del profiled["lessons"]["02_coalesced"]["FMA pipe"]
    with pytest.raises(UserError, match="lacks 'FMA pipe'; " + AGAIN):
        tables.render_profile("02_coalesced", profiled, TWELVE)


def test_every_figure_shown_is_one_that_is_profiled() -> None:
    counted = {figure.name: 1.0 for figure in FIGURES}
    profiled = {**profile(), "lessons": {"01_naive": counted}}
    assert tables.render_profile("01_naive", profiled, TWELVE)
    assert roofline.points(gpu_results(1), profiled, TWELVE)


def test_every_ceiling_shown_is_one_that_is_measured() -> None:
    source = (ROOT / "runner" / "programs" / "ceilings.cu").read_text(encoding="utf-8")
    for name in (*(level.ceiling for level in roofline.LEVELS), roofline.FFMA, roofline.OUTER):
        assert f'"{name}"' in source


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with all that is recorded, and a place for each table."""
    root = checkout(tmp_path, results=gpu_results())
    record(root)
    (root / "README.md").write_text("<!-- table:roofline -->\n<!-- /table -->\n", encoding="utf-8")
    (root / TWELVE[1] / "README.md").write_text("<!-- profile:02_coalesced -->\n<!-- /profile -->\n", encoding="utf-8")
    return root


def test_update_draws_and_fills_in(root: Path) -> None:
    written = [str(path.relative_to(root)) for path in update(root)]
    assert written == ["plots/roofline.png", "plots/roofline.svg", "README.md", "02_coalesced/README.md"]
    assert "| 02_coalesced | 68.7 |" in (root / "README.md").read_text(encoding="utf-8")
    table = (root / TWELVE[1] / "README.md").read_text(encoding="utf-8")
    profiled = data.profile(root)
    assert profiled
    assert table == f"<!-- profile:02_coalesced -->\n{tables.render_profile('02_coalesced', profiled, TWELVE)}<!-- /profile -->\n"
    assert [path.name for path in update(root)] == ["roofline.png", "roofline.svg"]


def test_results_of_new_kernels_leave_the_roofline_as_it_was(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Until they are profiled, too; the other tables are those of the new results."""
    update(root)
    capsys.readouterr()
    chart, readme = root / "plots" / "roofline.svg", root / "README.md"
    before, table = chart.read_bytes(), readme.read_text(encoding="utf-8")
    readme.write_text(f"{table}<!-- table:progression -->\n<!-- /table -->\n", encoding="utf-8")
    file = root / "plots" / "results" / "h200.json"
    results = json.loads(file.read_text(encoding="utf-8"))
    results["date"] = "2040-01-01"
    first, *others = (run for run in results["runs"] if run["m"] == data.SIZE)

    def changed(runs: list[dict]) -> tuple[list[Path], str]:
        for run in runs:
            run["kernel_hash"] = "new"
        file.write_text(json.dumps(results), encoding="utf-8")
        return update(root), capsys.readouterr().err

    again = "record it again with ./gemm profile --record."
    written, said = changed([first])
    assert chart in written
    assert said == f"The roofline leaves out {first['lesson']}: other kernels were timed than profiled; {again}\n"
    before, table = chart.read_bytes(), readme.read_text(encoding="utf-8").partition("<!-- table:progression")[0]
    readme.write_text(f"{table}<!-- table:progression -->\n<!-- /table -->\n", encoding="utf-8")
    written, said = changed(others)
    assert written == [readme]
    assert said == f"The roofline stays as it was: {data.PROFILE} has none of the kernels that were timed; {again}\n"
    assert chart.read_bytes() == before
    assert readme.read_text(encoding="utf-8").startswith(table)
    assert "| cuBLAS |" in readme.read_text(encoding="utf-8").removeprefix(table)
    profiled = json.loads((root / data.PROFILE).read_text(encoding="utf-8"))
    (root / data.PROFILE).write_text(json.dumps({**profiled, "date": "2999"}), encoding="utf-8")
    assert changed(others)[1].endswith("timed; measure again with ./gemm chart --record.\n")


def test_publish_draws_the_roofline(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert root / "plots" / "roofline.svg" in publish(root, {})


@pytest.mark.parametrize("missing", ["h200.json", "h200-profile.json", "h200-ceilings.json"])
def test_nothing_is_drawn_while_a_file_is_missing(missing: str, root: Path) -> None:
    (root / "plots" / "results" / missing).unlink()
    (root / "README.md").write_text("no table\n", encoding="utf-8")
    assert not [path for path in update(root) if path.parent.name == "plots"]
    assert not (root / "plots" / "roofline.svg").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [("{", "is not valid JSON"), ("[]", "is not of schema 1"), ('{"schema": 2}', "schema 1"), ('{"schema": 1}', "lacks its gpu")],
)
def test_a_broken_file_is_one_sentence(text: str, words: str, root: Path) -> None:
    for name, read, command in (("profile", data.profile, "profile"), ("ceilings", data.ceilings, "doctor --measure")):
        (root / "plots" / "results" / f"h200-{name}.json").write_text(text, encoding="utf-8")
        with pytest.raises(UserError, match=words) as error:
            read(root)
        assert str(error.value).endswith(f"record it again with ./gemm {command} --record.")


# This checkout: each check holds once the files are recorded.


def profile_problems(root: Path) -> list[str]:
    """Committed tables of profiles, and whether the profile is of the kernels that are here and that were timed."""
    profiled, order, problems = data.profile(root), lessons(root), []
    timed = load(root / RESULTS)
    for path in tables.markdown_files(root, order):
        lines = path.read_text(encoding="utf-8").splitlines()
        for name, start, end in tables.blocks(path, "profile"):
            where = f"{path.relative_to(root)}:{start + 1}: profile {name}"
            if profiled is None:
                problems.append(f"{where} has no {data.PROFILE} to come from")
                continue
            beside = data.beside(timed, order, lesson_of(name))
            if lines[start + 1 : end] != tables.render_profile(name, profiled, beside).splitlines():
                problems.append(f"{where} is not what {data.PROFILE} gives; run python -m plots")
    for name, digest in profiled["kernel_hashes"].items() if profiled else ():
        if name not in order or digest != kernel_hash(root / folder_of(name, root) / "kernel.cu"):
            problems.append(
                f"{folder_of(name, root)}/kernel.cu, or a header that it includes, is not what {data.PROFILE} counted; "
                "count again on that GPU with ./gemm profile --record"
            )
    return problems


def test_profiles_are_the_recorded_ones() -> None:
    assert profile_problems(ROOT) == []


def test_the_published_roofline_is_the_recorded_one(tmp_path: Path) -> None:
    profiled, measured, results = data.profile(ROOT), data.ceilings(ROOT), ROOT / "plots" / "results" / "h200.json"
    committed = ROOT / "plots" / "roofline.svg"
    if not (profiled and measured and results.exists()):
        assert not committed.exists(), "a chart without what it shows"
        pytest.skip("no profile or no ceilings have been recorded yet")
    assert committed.with_suffix(".png").exists(), "run python -m plots"
    recorded = load(results)
    drawn = roofline.draw(recorded, profiled, measured, tmp_path / "roofline", lessons())
    assert svg_texts(committed) == svg_texts(drawn[1]), "run python -m plots"
    order = [point.lesson for point in roofline.points(recorded, profiled, lessons())]
    timed = data.square(recorded, data.SIZE)  # in FP32: the ceiling is FFMA's
    assert order == [name for name in lessons() if name in timed], "every timed lesson is profiled with the same kernel"


def test_a_changed_table_or_kernel_is_found(root: Path) -> None:
    update(root)
    assert profile_problems(root) == []
    readme = root / TWELVE[1] / "README.md"
    readme.write_text(readme.read_text(encoding="utf-8").replace("20.0 %", "21.0 %"), encoding="utf-8")
    (root / TWELVE[2] / "kernel.cu").write_text("int changed;\n", encoding="utf-8")
    assert profile_problems(root) == [
        f"02_coalesced/README.md:1: profile 02_coalesced is not what {data.PROFILE} gives; run python -m plots",
        f"03_smem/kernel.cu, or a header that it includes, is not what {data.PROFILE} counted; "
        "count again on that GPU with ./gemm profile --record",
    ]
    (root / data.PROFILE).unlink()
    assert profile_problems(root) == [f"02_coalesced/README.md:1: profile 02_coalesced has no {data.PROFILE} to come from"]
