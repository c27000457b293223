"""./gemm inspect: what it says of a trace, what it refuses, and the published counts."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from approvals import Approve, cells, refusals
from conftest import Checkout, describe, drawn, gemm_inspect
from inspect_synthetic import finding, hopper, naive, smem, traced, tracer

from plots import tables
from plots.excerpt import lesson_of
from runner.core.descriptors import known
from runner.core.results import ROOT, UserError, folder_of, lessons
from runner.inspect import inspection
from runner.inspect.inspection import Request


@pytest.fixture
def inspected(checkout: Checkout) -> Checkout:
    """A checkout whose gemm_inspect writes $FAKES/<lesson>.json."""
    tracer(checkout, naive("01_naive"), naive("02_coalesced", coalesced=True))
    for name in ("01_naive", "02_coalesced"):
        describe(checkout.root / "build" / "cpu", name)
        (checkout.root / name / "kernel.cu").write_text("\n" * 29 + "    acc += *a * *b;\n\n\n\n    *c = acc;\n")
    checkout.with_plots()
    return checkout


def test_a_table_its_code_and_its_totals(inspected: Checkout, approve: Approve) -> None:
    approve(cells(inspected.run("inspect", "01", status=0).stdout))


def test_the_lesson_before_is_compared_at_the_same_shape(inspected: Checkout, approve: Approve) -> None:
    done = inspected.run(
        "inspect", "02", "--m", "64", "--n", "032", "--k", "96", "--blocks", "2", "--seed", "7", "--beta", "1", status=0
    )
    approve(cells(done.stdout))
    calls = (inspected.fakes / "inspected").read_text().splitlines()
    shape = "--m=64 --n=32 --k=96 --blocks=2 --seed=7 --beta=1"
    assert [call.rpartition(" --output")[0] for call in calls] == [
        f"--lesson 02_coalesced {shape} --before=01_naive", f"--lesson 01_naive {shape}"
    ]  # fmt: skip
    # Each by a program of its own: gemm_inspect has all lessons, and nobody who asks for one should wait for them.
    asked = {target for call in (inspected.fakes / "built").read_text().splitlines() for target in call.split()}
    assert {"02_coalesced_inspect", "01_naive_inspect"} <= asked and "gemm_inspect" not in asked


@pytest.mark.parametrize(
    ("lesson", "before"),
    [("10a_swizzle", "08b_read_ahead"), ("10b_transposed", "10a_swizzle"), ("11a_one_stage", "09f_persistent"),
     ("09a_wmma", "08b_read_ahead"), ("01_naive", None)],
)  # fmt: skip
def test_a_lesson_is_compared_with_the_one_before_in_its_ladder(lesson: str, before: str | None) -> None:
    assert inspection.earlier_than(lesson, known()) == before


def test_the_type_is_passed_on(inspected: Checkout) -> None:
    inspected.run("inspect", "01", "--dtype", "fp16", status=0)
    assert "--blocks=all --variant=fp16 --output" in (inspected.fakes / "inspected").read_text()


def test_groups_are_passed_on_and_say_the_sizes(inspected: Checkout) -> None:
    inspected.run("inspect", "01", "--groups", "3x40x5,020x1x9", status=0)
    told = (inspected.fakes / "inspected").read_text()
    assert "--m=20 --n=40 --k=9 " in told
    assert " --groups=3x40x5,20x1x9 " in told
    for wrong in (["--groups", "3x4"], ["--groups", "1x1x1", "--m", "20"]):
        assert "--groups" in inspected.run("inspect", "01", *wrong, status=2).stderr


def test_a_comparison_that_cannot_be_made_is_said(inspected: Checkout, approve: Approve) -> None:
    (inspected.fakes / "01_naive.json").unlink()
    approve(re.sub("cat: .*", "", inspected.run("inspect", "02", status=0).stderr))


def test_shared_memory_and_divergence(approve: Approve) -> None:
    found = smem()
    found["lines"][4]["diverged"] = True
    rows = list(zip(*(column._cells for column in inspection.table(found["lines"]).columns), strict=True))
    assert rows[1] == ("", "As", "store", "4 B", "2 048", "–", "–", "1", "1", "262 kB")
    assert rows[4] == ("38", "As", "load", "4 B", "≈ 65 536", "–", "–", "≈ 1", "≈ 1", "8.39 MB")
    before = naive("02_coalesced", coalesced=True)
    approve("\n".join([inspection._totals(found), inspection.compare(before, found), inspection.compare(found, found)]))


def test_boxes_of_the_copy_engine_and_wgmma(inspected: Checkout, approve: Approve) -> None:
    tracer(inspected, hopper("02_coalesced"))
    done = inspected.run("inspect", "02", status=0)
    chosen = [inspected.run("inspect", "02", *options).stdout for options in (("--line", "26"), ("--array", "A"))]
    approve("\n".join(map(cells, [done.stdout, *chosen])))
    inspected.run("inspect", "02", "--plot", status=0)
    drawn = {path.stem for path in (inspected.root / "out" / "inspect").iterdir()}
    assert drawn == {"02_coalesced_line31_C_store", "02_coalesced_owners"}


def test_an_empty_problem_launches_nothing(inspected: Checkout, approve: Approve) -> None:
    tracer(inspected, {**traced("01_naive", []), "m": 0, "kernel": "", "blocks": 0, "traced_blocks": 0, "threads_per_block": 0})
    approve(inspected.run("inspect", "01", "--m", "0").stdout)


def test_divergence_is_noted(inspected: Checkout, approve: Approve) -> None:
    found = naive("01_naive")
    found["lines"][0]["diverged"] = True
    tracer(inspected, found)
    approve(cells(inspected.run("inspect", "01").stdout))


def test_what_is_wrong_comes_first_and_exits_1(inspected: Checkout, approve: Approve) -> None:
    first = []
    for change in (
        {"findings": [finding(count=1200)]},
        {"findings": [finding()]},
        {"error": {"id": "deadlock", "text": "Deadlock: 3 threads wait."}, "lines": []},
        {"verdict": {"passed": False, "failure": "elements", "text": "4 of 9 are wrong"}},
    ):
        tracer(inspected, {**naive("01_naive"), **change}, status=1)
        done = inspected.run("inspect", "01", "--line", "30", status=1)
        first.append(done.stdout.splitlines()[0])
        inspected.run("inspect", "01", "--json", status=1)
    approve("\n".join(first))


def test_json_is_untouched(inspected: Checkout) -> None:
    text = (inspected.fakes / "01_naive.json").read_text()
    assert inspected.run("inspect", "01", "--json").stdout == text
    done = inspected.run("inspect", "01", "--json", "out/x.json")
    assert (done.stdout, (inspected.root / "out" / "x.json").read_text()) == ("", text)


def test_filters(inspected: Checkout, approve: Approve) -> None:
    approve(cells(inspected.run("inspect", "01", "--array", "B", "--line", "30").stdout))


def test_what_is_not_there_is_told_what_is(inspected: Checkout, approve: Approve) -> None:
    tracer(inspected, hopper("02_coalesced"))
    asked = ("01 --line 99", "01 --array As", "01 --array C --line 30", "02 --line 21")
    approve("\n".join(inspected.fails("inspect", *one.split(), words=()) for one in asked))


REFUSED = """inspect 99
inspect
inspect 01 02
inspect 01 --m x
inspect 01 --line 0
inspect 01 --blocks 0
inspect 01 --blocks some
inspect 01 --beta much
inspect 01 --dtype tf32
inspect 01 --json --plot
inspect 01 --record
inspect --record --k 3
inspect --against-ncu --record
inspect --against-ncu""".splitlines()


def test_what_is_refused_is_refused_before_anything_is_built(inspected: Checkout, approve: Approve) -> None:
    approve(refusals(inspected, REFUSED))


def test_what_takes_too_long_is_refused_before_the_tracer_is_built(inspected: Checkout, approve: Approve) -> None:
    """How long follows from the lesson's tile, which its descriptor says: that much is built."""
    asked = ("--m 8192 --n 8192 --k 8192", "--k 2000000 --m 1 --n 1", "--m 90000 --n 90000 --k 90000 --blocks 9")
    approve("\n".join(inspected.fails("inspect", "01", *sizes.split(), words=()) for sizes in asked))
    assert "_inspect" not in (inspected.fakes / "built").read_text()


def test_the_estimate() -> None:
    whole = Request(4096, 4096, 4096)
    assert inspection.estimate(whole, (32, 32)) > 60
    assert inspection.estimate(Request(4096, 4096, 4096, "4"), (32, 32)) < 5
    assert inspection.estimate(Request(33, 31, 65, "400"), (32, 32)) == inspection.estimate(Request(33, 31, 65), (32, 32))
    assert inspection.estimate(Request(256, 256, 256), (128, 128)) < 4


def test_the_cpu_build_is_used_whatever_gemm_device_says(inspected: Checkout) -> None:
    inspected.gpu()
    inspected.run("inspect", "01", status=0)
    assert "--preset cpu" in (inspected.fakes / "configured").read_text()
    assert "--target 01_naive_inspect" in (inspected.fakes / "built").read_text()
    assert "cuda" not in (inspected.fakes / "built").read_text()


def test_a_program_that_dies_or_speaks_otherwise_is_one_sentence(inspected: Checkout, approve: Approve) -> None:
    said = []
    for body in (
        'echo "progress 3 9 block 7" >&2\nkill -SEGV $$\n',
        'echo "gemm_inspect: The inputs need 9 TiB." >&2\nexit 2\n',
        "exit 1\n",
    ):
        inspected.program("01_naive_inspect", body)
        said.append(inspected.fails("inspect", "01", words=()))
    tracer(inspected, {**naive("01_naive"), "schema": 2})
    said.append(inspected.fails("inspect", "01", words=()))
    (inspected.fakes / "01_naive.json").write_text("{")
    approve("\n".join([*said, inspected.fails("inspect", "01", words=())]))


def test_plot_says_what_it_wrote(inspected: Checkout, approve: Approve) -> None:
    approve(inspected.run("inspect", "01", "--plot", "--array", "A", status=0).stdout.splitlines()[-1])
    stems = ["out/inspect/01_naive_line30_A_load", "out/inspect/01_naive_owners"]
    assert all((inspected.root / f"{stem}{suffix}").stat().st_size for stem in stems for suffix in (".png", ".svg"))


# What is published.


def test_record_writes_the_same_bytes_twice_and_the_tables(inspected: Checkout) -> None:
    readme = inspected.root / "02_coalesced" / "README.md"
    picture = "plots/pictures/02_coalesced_B_load"
    readme.write_text(f"# x\n\n![B](../{picture}.png)\n\n<!-- counts:02_coalesced -->\n<!-- /counts -->\n")
    done = inspected.run("inspect", "--record")
    drawn = f"{picture}.png, {picture}.svg"
    assert done.stdout == f"Written: plots/results/counts.json, 02_coalesced/README.md, {drawn}.\n"
    assert (inspected.root / f"{picture}.png").stat().st_size
    first = (inspected.root / inspection.COUNTS).read_bytes()
    tracer(inspected, {**naive("02_coalesced", coalesced=True), "seconds": 99, "seed": 3})
    assert inspected.run("inspect", "--record").stdout == f"Written: plots/results/counts.json, {drawn}.\n"
    assert (inspected.root / inspection.COUNTS).read_bytes() == first
    counts = json.loads(first)
    assert inspection.as_text(counts).encode() == first
    assert readme.read_text().splitlines()[5:-1] == tables.render_counts("02_coalesced", counts).splitlines()


def test_a_wrong_lesson_is_not_recorded(inspected: Checkout, approve: Approve) -> None:
    before = (inspected.root / inspection.COUNTS).read_bytes()
    tracer(inspected, {**naive("01_naive"), "findings": [finding()]}, status=1)
    approve(inspected.fails("inspect", "--record", words=(), status=1))
    assert (inspected.root / inspection.COUNTS).read_bytes() == before


def counted(*found: dict) -> dict:
    lessons_ = {entry["lesson"]: inspection.recorded(entry) for entry in found}
    return {"schema": 1, "m": 256, "n": 256, "k": 256, "alpha": 1, "beta": 0, "lessons": lessons_}


def test_a_table_of_counts(approve: Approve) -> None:
    found = smem()
    found["lines"][6].update(width=16, diverged=True, file="common/ptx/x.hpp")
    counts = counted(found)
    for line, code in zip(counts["lessons"]["03_smem"]["lines"], "aabbccx", strict=True):
        line["code"] = f"{code} || 1;  // why" if code != "x" else "a_frag[i][k] = As[y][x + i];"
    approve(tables.render_counts("03_smem", counts))


def test_a_table_of_boxes_and_wgmma(approve: Approve) -> None:
    counts = counted(hopper())
    for line in (*counts["lessons"]["03_smem"]["lines"], *counts["lessons"]["03_smem"]["wgmma"]):
        line["code"] = "code"
    approve(tables.render_counts("03_smem", counts))
    again = inspection.as_text(counts)
    assert inspection.as_text(json.loads(again)) == again
    assert "wgmma" not in counted(smem())["lessons"]["03_smem"]


def test_counts_without_an_end(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("<!-- counts:01_naive -->\n<!-- /table -->\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"README\.md:1 "):
        tables.blocks(tmp_path / "README.md", "counts")


def published() -> dict:
    return json.loads((ROOT / inspection.COUNTS).read_text(encoding="utf-8"))


def test_every_lesson_has_its_table_of_counts() -> None:
    shown = []
    for path in tables.markdown_files(ROOT, lessons()):
        for name, *_ in tables.blocks(path, "counts"):
            home = ROOT / folder_of(lesson_of(name))
            assert path.parent in (home, home.parent), name
            shown += [name] * (name == lesson_of(name))  # else some of its rows, once more
    assert sorted(shown) == lessons()


@pytest.mark.parametrize("name", drawn(lessons(), 2))
def test_the_recorded_counts_are_what_is_counted_now(name: str) -> None:
    counts = published()
    recorded = {**counts, "lessons": {name: counts["lessons"].get(name)}}
    counted_now = inspection.count(gemm_inspect(), [name])
    assert inspection.as_text(counted_now) == inspection.as_text(recorded), "run ./gemm inspect --record"


def test_counts_are_recorded_of_every_lesson_as_they_are_written() -> None:
    recorded = published()["lessons"]
    assert list(recorded) == [name for name in lessons() if name in recorded]  # of the others: ./gemm doctor
    assert inspection.as_text(published()) == (ROOT / inspection.COUNTS).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", drawn(lessons(), 2))
def test_a_real_trace_is_told_and_drawn(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from plots import access

    found, status = inspection.trace(gemm_inspect(), name, Request(33, 31, 65, options=("--seed=5", "--beta=1")))
    assert status == 0
    assert not inspection.problems(found)
    inspection._print(found, inspection.choose(found, None, None), found["wgmma"], found)
    out = capsys.readouterr().out
    assert "33×31×65" in out
    assert all(inspection.code_of(line["file"], line["line"]) for line in found["lines"])
    requests = sum(line["width"] > 0 for line in found["lines"][:2])  # boxes of the copy engine are no warp's
    assert len(access.draw(found, found["lines"][:2], tmp_path)) == 2 * (requests + 1)


def test_synthetic_traces_are_of_this_schema() -> None:
    assert traced("01_naive", [])["schema"] == inspection.SCHEMA
    assert inspection.check(naive("01_naive"))
    with pytest.raises(UserError, match="wrote no totals"):
        inspection.check({key: value for key, value in naive("01_naive").items() if key != "totals"})
