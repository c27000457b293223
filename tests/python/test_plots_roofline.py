"""The roofline, its table, and the tables of profiles: from what was timed, counted and measured."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from approvals import Approve
from conftest import drawn
from plots_synthetic import TWELVE, ceilings, checkout, gpu_results, profile, record, svg_texts

from plots import data, roofline, tables
from plots.publish import publish, update
from runner.core.results import ROOT, UserError, lessons, load
from runner.measure.profile import FIGURES

pytestmark = pytest.mark.usefixtures("labels_alone")

FLOP = 2 * 4096**3
AGAIN = r".* ./gemm profile --record\.$"


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
    with pytest.raises(UserError, match="timed; " + AGAIN):
        roofline.points(gpu_results(), profiled, TWELVE)


def test_what_lacks_something_is_one_sentence() -> None:
    with pytest.raises(UserError, match="4096; " + AGAIN):
        roofline.points(gpu_results(), {**profile(), "k": 1024}, TWELVE)
    profiled = profile()
    del profiled["lessons"][TWELVE[2]]["L2 bytes"]
    with pytest.raises(UserError, match="'L2 bytes' of 03_smem; " + AGAIN):
        roofline.points(gpu_results(), profiled, TWELVE)
    measured = ceilings()
    del measured["figures"]["FFMA"]
    with pytest.raises(UserError, match="'FFMA'; .*./gemm doctor --measure --record"):
        tables.render("roofline", gpu_results(), TWELVE, profile(), measured)


@pytest.mark.pixels
@pytest.mark.parametrize("count", drawn([1, 3, 12], 1))
def test_draws_png_and_svg_the_same_each_time(count: int, tmp_path: Path) -> None:
    inputs = (gpu_results(count), profile(count), ceilings())
    first, second = (roofline.draw(*inputs, tmp_path / name, TWELVE) for name in "ab")
    assert [path.name for path in first] == ["a.png", "a.svg"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_the_chart_names_points_ceilings_and_sources(tmp_path: Path, approve: Approve) -> None:
    texts = svg_texts(roofline.draw(gpu_results(), profile(), ceilings(), tmp_path / "chart", TWELVE)[1])
    approve("\n".join(f"{text} ×{count}" for text, count in sorted(texts.items())))


def test_labels_keep_apart() -> None:
    spots = [(3.0 + 0.05 * n, 2.0 + 0.04 * n) for n in range(5)]
    labels = roofline.place(spots, [(0.1 * n, 2.5) for n in range(60)], 2.5)
    wide, high = roofline._LABEL
    for n, (x, y) in enumerate(labels):
        assert y + high / 2 <= 2.5
        assert all(abs(x - a) >= wide - 1e-9 or abs(y - b) >= high - 1e-9 for a, b in labels[:n])
        assert all(abs(x - a) >= wide / 2 or abs(y - b) >= high / 2 for a, b in spots)


def test_the_tables(approve: Approve) -> None:
    shown = [tables.render_profile(name, profile(), TWELVE) for name in TWELVE[:2]]
    approve("\n".join([tables.render("roofline", gpu_results(), TWELVE, profile(), ceilings()), *shown]))


def test_the_stalls_of_wgmma_have_a_row_where_they_are_recorded() -> None:
    """A recording that is older has none, and can be read."""
    found = profile()
    key, row = "warps stalled: wgmma (gmma)", "stalls, wgmma (gmma)"
    assert row not in tables.render_profile("02_coalesced", found, TWELVE)
    found["lessons"]["02_coalesced"][key] = 0.0
    assert row not in tables.render_profile("02_coalesced", found, TWELVE)
    found["lessons"]["02_coalesced"][key] = 4.25
    assert f"| {row} | not recorded yet | **4.25** |" in tables.render_profile("02_coalesced", found, TWELVE)
    assert "| wgmma (gmma) | 0.00 | 4.25 |" in tables.render_stalls("02_coalesced", found, TWELVE)


def test_where_a_warps_cycles_go_adds_up() -> None:
    table = [line.split("|")[2:-1] for line in tables.render_stalls("02_coalesced", profile(), TWELVE).splitlines()[2:-2]]
    numbers = [[float(cell.strip(" *").replace(" ", "")) for cell in row] for row in table]
    for column in zip(*numbers, strict=True):
        assert sum(column[:-1]) == pytest.approx(column[-1], abs=len(column))
    slots, hmmas = 0.2, 4096**3 / 2048
    assert numbers[-1][1] == pytest.approx(16 / slots, rel=0.01)  # a cycle for each of the scheduler's 16 warps
    assert numbers[0][3] == pytest.approx(64 * 2e8 / hmmas, abs=0.5)


def test_the_first_lesson_has_nobody_to_hold_its_stalls_against() -> None:
    with pytest.raises(UserError, match="before 01_naive"):
        tables.render_stalls("01_naive", profile(), TWELVE)


def test_the_table_needs_both_files() -> None:
    for files in ((None, ceilings()), (profile(), None)):
        with pytest.raises(UserError):
            tables.render("roofline", gpu_results(), TWELVE, *files)


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

    written, said = changed([first])
    assert chart in written
    assert re.match(f".*leaves out {first['lesson']}: {AGAIN}", said)
    before, table = chart.read_bytes(), readme.read_text(encoding="utf-8").partition("<!-- table:progression")[0]
    readme.write_text(f"{table}<!-- table:progression -->\n<!-- /table -->\n", encoding="utf-8")
    written, said = changed(others)
    assert written == [readme]
    assert re.match(f".*stays as it was: {data.PROFILE} {AGAIN}", said)
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
    timed = data.square(recorded, data.SIZE, "fp32")  # the ceiling is FFMA's
    # A lesson that the chart has and the profile has not yet waits for its point.
    both = [name for name in lessons() if name in timed and name in profiled["lessons"]]
    assert order == both, "every timed lesson is profiled with the same kernel"


def test_no_label_of_the_published_roofline_is_over_another_or_above_the_roof() -> None:
    drawn = (ROOT / "plots" / "roofline.svg").read_text(encoding="utf-8")
    texts = re.findall(r'<text style="font-weight: 700[^"]*" x="([\d.]+)" y="([\d.]+)"[^>]*>(FFMA: |\d\d[a-z]?<)', drawn)
    placed = [(float(x), float(y), what) for x, y, what in texts]
    roofs, labels = ([spot for spot in placed if (spot[2][0] == "F") == roof] for roof in (True, False))
    assert len(roofs) == len(roofline.LEVELS) and len(labels) > 30
    for n, (x, y, what) in enumerate(labels):  # points of 1/72 inch
        assert all(abs(x - a) >= 25 or abs(y - b) >= 14 for a, b, _ in labels[:n]), what
        assert any(10 < y - roof < 240 for _, roof, _ in roofs), what  # inches of a panel: 3.3
