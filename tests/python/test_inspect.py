"""./gemm inspect: what it says of a trace, what it refuses, and the published counts."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import REPOSITORY, Checkout, describe, drawn
from inspect_synthetic import finding, hopper, naive, smem, traced, tracer

from plots import tables
from plots.excerpt import lesson_of
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
    shutil.rmtree(checkout.root / "plots")
    shutil.copytree(REPOSITORY / "plots", checkout.root / "plots", ignore=shutil.ignore_patterns("*.png", "*.svg", "__pycache__"))
    return checkout


def test_a_table_its_code_and_its_totals(inspected: Checkout) -> None:
    done = inspected.run("inspect", "01")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "01_naive: sgemm at 128×128×128, 16 blocks of 1024 threads, all traced"
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines if line.startswith("│")]
    assert rows == [
        ["30", "A", "load", "4 B", "65 536", "32", "4", "–", "–", "8.39 MB"],
        ["", "B", "load", "4 B", "65 536", "1", "1", "–", "–", "8.39 MB"],
        ["34", "C", "store", "4 B", "512", "32", "4", "–", "–", "65.5 kB"],
    ]
    assert "01_naive/kernel.cu:30  acc += *a * *b;" in lines
    assert lines.count("01_naive/kernel.cu:30  acc += *a * *b;") == 1
    assert lines[-1] == ("Global memory: 69.2 MB loaded, 524 kB stored, in whole sectors; 0.0602 FLOP/B. Barriers a thread: 0.")
    assert "Against" not in done.stdout  # nothing comes before the first lesson


def test_the_lesson_before_is_compared_at_the_same_shape(inspected: Checkout) -> None:
    done = inspected.run("inspect", "02", "--m", "64", "--n", "032", "--k", "96", "--blocks", "2", "--seed", "7", "--beta", "1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == (
        "Against 01_naive: A's loads 32 → 1 sectors a request; B's loads 1 → 4; C's stores 32 → 4; "
        "global bytes 69.7 MB → 10.6 MB; FLOP/B 0.0602 → 0.398."
    )
    calls = (inspected.fakes / "inspected").read_text().splitlines()
    shape = "--m=64 --n=32 --k=96 --blocks=2 --seed=7 --beta=1 --output"
    assert [call.rpartition(" ")[0] for call in calls] == [f"--lesson {name} {shape}" for name in ("02_coalesced", "01_naive")]


def test_the_type_is_passed_on(inspected: Checkout) -> None:
    assert inspected.run("inspect", "01", "--dtype", "fp16").returncode == 0
    assert "--blocks=all --variant=fp16 --output" in (inspected.fakes / "inspected").read_text()
    inspected.fails("inspect", "01", "--dtype", "tf32", words=("--dtype must be fp32, bf16 or fp16, not 'tf32'.",))
    inspected.fails("inspect", "--bench", "01", "--dtype", "fp16", words=("leave --dtype out",))


def test_a_comparison_that_cannot_be_made_is_said(inspected: Checkout) -> None:
    (inspected.fakes / "01_naive.json").unlink()
    done = inspected.run("inspect", "02")
    assert done.returncode == 0
    assert "No comparison with 01_naive: " in done.stderr


def test_shared_memory_and_divergence() -> None:
    found = smem()
    found["lines"][4]["diverged"] = True
    rows = list(zip(*(column._cells for column in inspection.table(found["lines"]).columns), strict=True))
    assert rows[1] == ("", "As", "store", "4 B", "2 048", "–", "–", "1", "1", "262 kB")
    assert rows[4] == ("38", "As", "load", "4 B", "≈ 65 536", "–", "–", "≈ 1", "≈ 1", "8.39 MB")
    assert inspection._totals(found).endswith("7.11 FLOP/B. Shared memory: 17.3 MB, 4.12 B/FLOP. Barriers a thread: 8.")
    assert inspection.compare(naive("02_coalesced", coalesced=True), found) == (
        "Against 02_coalesced: A's loads 1 → 4 sectors a request; global requests 131 584 → 4 608; "
        "global bytes 10.6 MB → 590 kB; shared bytes 0 B → 17.3 MB; wavefronts 0 → 135 168; FLOP/B 0.398 → 7.11; "
        "barriers a thread 0 → 8."
    )
    assert inspection.compare(found, found) == "Against 03_smem: the same counts."


def test_boxes_of_the_copy_engine_and_wgmma(inspected: Checkout) -> None:
    tracer(inspected, hopper("02_coalesced"))
    done = inspected.run("inspect", "02")
    assert done.returncode == 0, done.stderr
    rows = [re.split(r"\s*[│|]\s*", row.strip(" │|")) for row in done.stdout.splitlines() if re.search("[│|]", row)]
    assert ["20", "A", "load", "box", "8", "256", "256", "–", "–", "65.5 kB"] in rows
    assert ["26", "m64n128k16", "shared memory", "32", "8 388 608", "197 kB", "unknown"] in rows
    said = done.stdout.splitlines()
    assert inspection._BOXES in said
    assert inspection._UNKNOWN in said
    assert any("wgmma reads 197 kB of shared memory." in line for line in said)
    assert "; wgmma 0 → 32; " in said[-1]
    alone = inspected.run("inspect", "02", "--line", "26").stdout
    assert "m64n128k16" in alone
    assert "box" not in alone
    assert "m64n128k16" not in inspected.run("inspect", "02", "--array", "A").stdout
    inspected.fails("inspect", "02", "--line", "21", words=("there are lines 20, 26, 31.",))
    pictures = inspected.run("inspect", "02", "--plot").stdout
    assert "out/inspect/02_coalesced_line31_C_store" in pictures
    assert "02_coalesced_line20" not in pictures


def test_an_empty_problem_launches_nothing(inspected: Checkout) -> None:
    tracer(inspected, {**traced("01_naive", []), "m": 0, "kernel": "", "blocks": 0, "traced_blocks": 0, "threads_per_block": 0})
    assert inspected.run("inspect", "01", "--m", "0").stdout == "01_naive launches no kernel at 0×128×128.\n"


def test_divergence_is_noted(inspected: Checkout) -> None:
    found = naive("01_naive")
    found["lines"][0]["diverged"] = True
    tracer(inspected, found)
    assert "\n≈ Threads of a warp ran this line different numbers" in inspected.run("inspect", "01").stdout


@pytest.mark.parametrize(
    ("change", "first"),
    [
        ({"findings": [finding(count=1200)]}, "uninitialised read: Thread 0 reads what thread 32 writes. (×1 200)"),
        ({"findings": [finding()]}, "uninitialised read: Thread 0 reads what thread 32 writes."),
        ({"error": {"id": "deadlock", "text": "Deadlock: 3 threads wait."}, "lines": []}, "error: Deadlock: 3 threads wait."),
        ({"verdict": {"passed": False, "failure": "elements", "text": "4 of 9 are wrong"}}, "wrong result: 4 of 9 are wrong"),
    ],
)
def test_what_is_wrong_comes_first_and_exits_1(inspected: Checkout, change: dict, first: str) -> None:
    tracer(inspected, {**naive("01_naive"), **change}, status=1)
    done = inspected.run("inspect", "01", "--line", "30")
    assert done.returncode == 1, done.stderr
    assert done.stdout.splitlines()[0] == first
    assert inspected.run("inspect", "01", "--json").returncode == 1


def test_json_is_untouched(inspected: Checkout) -> None:
    text = (inspected.fakes / "01_naive.json").read_text()
    assert inspected.run("inspect", "01", "--json").stdout == text
    done = inspected.run("inspect", "01", "--json", "out/x.json")
    assert (done.stdout, (inspected.root / "out" / "x.json").read_text()) == ("", text)


def test_filters(inspected: Checkout) -> None:
    done = inspected.run("inspect", "01", "--array", "B", "--line", "30")
    assert [line for line in done.stdout.splitlines() if line.startswith("│")][0].split("│")[2].strip() == "B"
    assert "kernel.cu:34" not in done.stdout
    inspected.fails("inspect", "01", "--line", "99", words=("on line 99", "there are lines 30, 34"))
    inspected.fails("inspect", "01", "--array", "As", words=("'As'", "there are arrays A, B, C"))
    inspected.fails("inspect", "01", "--array", "C", "--line", "30", words=("Line 30", "accesses A, B"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("99",), ("'99'", "01_naive, 02_coalesced")),
        ((), ("one LESSON",)),
        (("01", "02"), ("one LESSON",)),
        (("01", "--m", "x"), ("--m must be a whole number",)),
        (("01", "--line", "0"), ("--line must be a whole number from 1",)),
        (("01", "--blocks", "0"), ("--blocks must be all or a whole number from 1",)),
        (("01", "--blocks", "some"), ("--blocks must be all",)),
        (("01", "--beta", "much"), ("--beta must be",)),
        (("01", "--json", "--plot"), ("--plot",)),
        (("01", "--record"), ("--record", "leave 01 out")),
        (("--bench", "--k", "3"), ("--bench", "--k")),
        (("--bench", "--record"), ("--bench", "--record")),
        (("--against-ncu",), ("--against-ncu needs an NVIDIA GPU", "GEMM_DEVICE=cpu")),
    ],
)
def test_what_is_refused_is_refused_before_anything_is_built(
    inspected: Checkout, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    inspected.fails("inspect", *arguments, words=words)
    assert not (inspected.fakes / "configured").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("01", "--m", "8192", "--n", "8192", "--k", "8192"), ("10 hours", "--blocks 4", "same figures")),
        (("01", "--k", "2000000", "--m", "1", "--n", "1"), ("--k may be 1000000 at most",)),
        (("01", "--m", "90000", "--n", "90000", "--k", "90000", "--blocks", "9"), ("choose smaller sizes",)),
    ],
)
def test_what_takes_too_long_is_refused_before_the_tracer_is_built(
    inspected: Checkout, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    """How long follows from the lesson's tile, which its descriptor says: that much is built."""
    inspected.fails("inspect", *arguments, words=words)
    assert "gemm_inspect" not in (inspected.fakes / "built").read_text()


def test_the_estimate() -> None:
    whole = Request(4096, 4096, 4096)
    assert inspection.estimate(whole, (32, 32)) > 60
    assert inspection.estimate(Request(4096, 4096, 4096, "4"), (32, 32)) < 5
    assert inspection.estimate(Request(33, 31, 65, "400"), (32, 32)) == inspection.estimate(Request(33, 31, 65), (32, 32))
    assert inspection.estimate(Request(256, 256, 256), (128, 128)) < 4


def test_the_cpu_build_is_used_whatever_gemm_device_says(inspected: Checkout) -> None:
    inspected.gpu()
    assert inspected.run("inspect", "01").returncode == 0
    assert "--preset cpu" in (inspected.fakes / "configured").read_text()
    assert "--target gemm_inspect" in (inspected.fakes / "built").read_text()
    assert "cuda" not in (inspected.fakes / "built").read_text()


def test_a_program_that_dies_or_speaks_otherwise_is_one_sentence(inspected: Checkout) -> None:
    inspected.program("gemm_inspect", 'echo "progress 3 9 block 7" >&2\nkill -SEGV $$\n')
    inspected.fails("inspect", "01", words=("gemm_inspect was ended by SIGSEGV during block 7",))
    inspected.program("gemm_inspect", 'echo "gemm_inspect: The inputs need 9 TiB." >&2\nexit 2\n')
    inspected.fails("inspect", "01", words=("gemm: The inputs need 9 TiB.",))
    inspected.program("gemm_inspect", "exit 1\n")
    inspected.fails("inspect", "01", words=("wrote nothing",))
    tracer(inspected, {**naive("01_naive"), "schema": 2})
    inspected.fails("inspect", "01", words=("schema 2",))
    (inspected.fakes / "01_naive.json").write_text("{")
    inspected.fails("inspect", "01", words=("no valid JSON",))


def test_plot_says_what_it_wrote(inspected: Checkout) -> None:
    done = inspected.run("inspect", "01", "--plot", "--array", "A")
    assert done.returncode == 0, done.stderr
    stems = ["out/inspect/01_naive_line30_A_load", "out/inspect/01_naive_owners"]
    assert done.stdout.splitlines()[-1] == f"Written, as .png and .svg: {', '.join(stems)}."
    assert all((inspected.root / f"{stem}{suffix}").stat().st_size for stem in stems for suffix in (".png", ".svg"))


def test_bench(inspected: Checkout) -> None:
    inspected.program("01_naive", "exit 0\n")
    done = inspected.run("inspect", "01", "--bench")
    assert done.returncode == 0, done.stderr
    assert "01_naive" in done.stdout
    assert "256×256×256, median of 3" in done.stdout


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


def test_a_wrong_lesson_is_not_recorded(inspected: Checkout) -> None:
    tracer(inspected, {**naive("01_naive"), "findings": [finding()]}, status=1)
    inspected.fails("inspect", "--record", words=("01_naive is wrong", "reads what thread 32 writes"), status=1)
    assert not (inspected.root / inspection.COUNTS).exists() or "race" not in (inspected.root / inspection.COUNTS).read_text()


def counted(*found: dict) -> dict:
    lessons_ = {entry["lesson"]: inspection.recorded(entry) for entry in found}
    return {"schema": 1, "m": 256, "n": 256, "k": 256, "alpha": 1, "beta": 0, "lessons": lessons_}


def test_a_table_of_counts() -> None:
    found = smem()
    found["lines"][6].update(width=16, diverged=True, file="common/ptx/x.hpp")
    counts = counted(found)
    for line, code in zip(counts["lessons"]["03_smem"]["lines"], "aabbccx", strict=True):
        line["code"] = f"{code} || 1;  // why" if code != "x" else "a_frag[i][k] = As[y][x + i];"
    assert tables.render_counts("03_smem", counts).splitlines() == [
        "| line | access | requests | per request | ideal | code |",
        "| --: | :-- | --: | --: | --: | :-- |",
        "| 34 | A, load | 2 048 | 4 sectors | 4 | `a\u00a0\\|\\|\u00a01;` |",
        "|  | As, store | 2 048 | 1 wavefront | 1 |  |",
        "| 35 | B, load | 2 048 | 4 sectors | 4 | `b\u00a0\\|\\|\u00a01;` |",
        "|  | Bs, store | 2 048 | 1 wavefront | 1 |  |",
        "| 38 | As, load | 65 536 | 1 wavefront | 1 | `c\u00a0\\|\\|\u00a01;` |",
        "|  | Bs, load | 65 536 | 1 wavefront | 1 |  |",
        "| common/ptx/x.hpp:44 | C, store of 16 B | ≈ 512 | ≈ 4 sectors | 4 | `a_frag[i][k]\u00a0=\u00a0As[y][x\u00a0+ i];` |",
        "",
        "256×256×256, counted on the CPU device; ideal: the fewest that carry the bytes. Global memory: 589 824 bytes in whole "
        "sectors, 7.11 FLOP/B. Shared memory: 4.12 B/FLOP. Barriers a thread: 8. ≈: threads diverge; they share "
        "requests as their ways join in g++'s code.",
    ]


def test_a_table_of_boxes_and_wgmma() -> None:
    counts = counted(hopper())
    rows = tables.render_counts("03_smem", counts).splitlines()[2:]
    assert [row.rpartition(" | ")[0] for row in rows[:3]] == [
        "| 20 | A, load by TMA, 8 192 B | 8 | 256 sectors | 256",
        "| 26 | wgmma m64n128k16 | 32 | 6 144 B of shared memory | –",
        "| 31 | C, store | 512 | 4 sectors | 4",
    ]
    assert (
        "wgmma reads 196 608 bytes of shared memory; in how many wavefronts is not known. A box of TMA is one request. "
        "Barriers a thread: 1."
    ) in rows[-1]
    again = inspection.as_text(counts)
    assert inspection.as_text(json.loads(again)) == again
    assert "wgmma" not in counted(smem())["lessons"]["03_smem"]


def test_counts_without_an_end(tmp_path: Path) -> None:
    (tmp_path / "CMakeLists.txt").write_text("gemm_lesson(01_naive)\n", encoding="utf-8")
    (tmp_path / "README.md").write_text("<!-- counts:01_naive -->\n<!-- /table -->\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"README\.md:1 opens counts '01_naive', but no <!-- /counts --> follows"):
        tables.update_counts(tmp_path, counted(naive("01_naive")))


def published() -> dict:
    return json.loads((ROOT / inspection.COUNTS).read_text(encoding="utf-8"))


def test_the_published_tables_are_the_recorded_counts() -> None:
    shown = []
    for path in tables.markdown_files(ROOT, lessons()):
        lines = path.read_text(encoding="utf-8").splitlines()
        for name, start, end in tables.blocks(path, "counts"):
            where = f"{path.relative_to(ROOT)}:{start + 1}: run ./gemm inspect --record"
            assert lines[start + 1 : end] == tables.render_counts(name, published()).splitlines(), where
            home = ROOT / folder_of(lesson_of(name))
            assert path.parent in (home, home.parent), where
            shown += [name] * (name == lesson_of(name))  # else some of its rows, once more
    assert sorted(shown) == lessons(), "every lesson has its table of counts, in README.md or in EVIDENCE.md"


def real() -> Path:
    program = ROOT / "build" / "cpu" / "bin" / "gemm_inspect"
    if not program.exists():
        pytest.skip("build/cpu/bin/gemm_inspect is not built; ./gemm inspect 01 builds it")
    if program.stat().st_mtime < max((ROOT / folder_of(name) / "kernel.cu").stat().st_mtime for name in lessons()):
        pytest.skip("build/cpu/bin/gemm_inspect is older than a kernel.cu; ./gemm inspect 01 builds it")  # a GPU's ./gemm test
    return program


@pytest.mark.parametrize("name", drawn(lessons(), 2))
def test_the_recorded_counts_are_what_is_counted_now(name: str) -> None:
    counts = published()
    recorded = {**counts, "lessons": {name: counts["lessons"].get(name)}}
    assert inspection.as_text(inspection.count(real(), [name])) == inspection.as_text(recorded), "run ./gemm inspect --record"


def test_counts_are_recorded_of_every_lesson_as_they_are_written() -> None:
    recorded = published()["lessons"]
    assert list(recorded) == [name for name in lessons() if name in recorded]  # of the others: ./gemm doctor
    assert inspection.as_text(published()) == (ROOT / inspection.COUNTS).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", drawn(lessons(), 2))
def test_a_real_trace_is_told_and_drawn(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from plots import access

    found, status = inspection.trace(real(), name, Request(33, 31, 65, options=("--seed=5", "--beta=1")))
    assert status == 0
    assert not inspection._problems(found)
    inspection._print(found, inspection.choose(found, None, None), found["wgmma"], found)
    out = capsys.readouterr().out
    assert "33×31×65" in out
    assert all(inspection.code_of(line["file"], line["line"]) for line in found["lines"])
    requests = sum(line["width"] > 0 for line in found["lines"][:2])  # boxes of the copy engine are no warp's
    assert len(access.draw(found, found["lines"][:2], tmp_path)) == 2 * (requests + 1)


def test_a_sample_of_blocks_has_the_same_figures_per_request() -> None:
    program = real()
    whole, part = (inspection.trace(program, "02_coalesced", Request(128, 128, 32, blocks))[0] for blocks in ("all", "3"))
    assert (whole["traced_blocks"], part["traced_blocks"], part["verdict"]) == (16, 3, None)
    figures = [[inspection.a_request(line, "sectors") for line in found["lines"]] for found in (whole, part)]
    assert figures[0] == figures[1] == [1, 4, 4]


def test_the_real_program_refuses_in_one_sentence() -> None:
    done = subprocess.run([real(), "--lesson", "77_x"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1


def test_synthetic_traces_are_of_this_schema() -> None:
    assert traced("01_naive", [])["schema"] == inspection.SCHEMA
    assert inspection.check(naive("01_naive"))
    with pytest.raises(UserError, match="wrote no totals"):
        inspection.check({key: value for key, value in naive("01_naive").items() if key != "totals"})
