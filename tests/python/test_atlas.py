"""./gemm atlas: the shapes, their groups, what is measured, recorded and drawn, with a fake gemm_bench. Nothing was measured."""

from __future__ import annotations

import hashlib
import json
import re
import signal
import sys
from pathlib import Path

import pytest
from approvals import Approve, refusals
from conftest import REPOSITORY, Checkout, describe, put, stop, wait_for
from plots_synthetic import svg_texts
from schema import misfits

from plots import atlas as picture
from plots import data, tables
from runner.core import atlas as recorded
from runner.core import ways as recorded_ways
from runner.core.atlas import RecordedAtlas
from runner.core.kernel_hash import kernel_hash
from runner.core.results import UserError, installed
from runner.core.ways import RecordedWays
from runner.measure import atlas
from runner.measure.recording import hash_of

# The shapes


def test_the_random_shapes_are_drawn_once_and_for_all() -> None:
    shapes = atlas.random_shapes()
    assert shapes[:3] == [(715, 39, 2219), (128, 10688, 64), (80, 560, 5808)]
    assert hashlib.sha256(repr(shapes).encode()).hexdigest().startswith("6eda41d2e2c0c700"), "another draw is another atlas"
    assert len(set(shapes)) == 200
    assert all(16 <= side <= 16384 for shape in shapes for side in shape)
    assert all(2 * m * n * k < 2e12 for m, n, k in shapes)
    assert all(side % 2 for shape in shapes[::3] for side in shape)
    assert all(side % 16 == 0 for kind in (1, 2) for shape in shapes[kind::3] for side in shape)
    assert all(max(m, n) >= 16 * min(m, n) for m, n, _ in shapes[1::3])
    assert all(max(m, n) < 16 * min(m, n) for m, n, _ in shapes[2::3])
    assert 0.4 < sum(side < 512 for shape in shapes for side in shape) / 600 < 0.6  # log-uniform: half below the middle


def test_the_shapes_of_a_language_model() -> None:
    shapes = atlas.llm_shapes()
    assert len(set(shapes)) == 40
    assert {(1, 4096, 4096), (16, 4096, 14336), (64, 28672, 4096), (8192, 6144, 4096), (8192, 128256, 4096)} <= set(shapes)
    assert len(atlas.shapes_of(None)) == 240
    assert set(atlas.shapes_of("random").values()) == {"random"}


# The groups


def run(m: int, n: int, k: int, ratio: float = 1.0, baseline_ms: float = 1.0, variant: str = "fp32") -> dict:
    """As gemm_bench writes it, as far as groups need it."""
    return {"variant": variant, "m": m, "n": n, "k": k, "ratio": ratio, "baseline_ms_median": baseline_ms}


@pytest.mark.parametrize(
    ("group", "of"),
    [
        ("aligned", run(33, 4, 8)),
        ("odd", run(32, 4, 6)),
        ("odd", run(32, 2, 8)),
        ("odd", run(32, 4, 8, variant="bf16")),
        ("aligned", run(1, 8, 16, variant="bf16")),
        ("tiny", run(32, 4, 8, baseline_ms=0.0199)),
        ("tiny", run(33, 33, 33, baseline_ms=0.001)),
        ("aligned", run(32, 4, 8, baseline_ms=0.020)),
    ],
)
def test_a_shape_is_in_one_group(group: str, of: dict) -> None:
    assert recorded.group_of(of) == group


def test_a_group_has_a_geometric_mean_of_its_own() -> None:
    runs = [run(4, 4, 4, 0.5), run(8, 4, 4, 2.0), run(8, 8, 4, 1.0), run(5, 5, 5, 9.0), run(4, 4, 4, 0.1, 0.01)]
    found = recorded.groups(runs)
    assert list(found) == ["aligned", "odd", "tiny"]
    assert found["aligned"].mean == pytest.approx(1.0)
    assert (found["aligned"].shapes, found["aligned"].least, found["aligned"].slow) == (3, runs[0], 1)
    assert found["odd"].mean == pytest.approx(9.0)
    assert found["tiny"].slow == 1
    assert list(recorded.groups(runs[:1])) == ["aligned"]
    assert recorded.slowest(runs, 2) == [runs[0], runs[2]]  # none that is tiny


# Measuring. Shapes are those of the language model: 1×4096×4096 is the first of them.

FAKE = f"""#!{sys.executable}
import json, os, sys, time
from pathlib import Path
fakes = Path(os.environ["FAKES"])
with (fakes / "arguments").open("a") as log:
    log.write(" ".join(sys.argv[1:]) + chr(10))
rest = [word for word in sys.argv[1:] if word not in ("--brief", "--ways")]
options = dict(zip(rest[::2], rest[1::2]))
does = json.loads((fakes / "does.json").read_text())
name, variant = options["--lessons"], options["--dtype"]
device = {{"kind": "cuda", "name": does.get("gpu", "NVIDIA H200"), "compute_capability": "9.0", "multiprocessors": 132,
          "l2_bytes": 1, "driver": "580", "cuda": "13.0"}}
empty = {{"runs": [], "failed": [], "skipped": [], "resources": {{}}, "lessons": {{}}}}
results = {{"schema": 2, "device": device, "seed": 1, **empty}}

def write(option, found):
    Path(options[option]).write_text(json.dumps(found))

if name in does.get("skipped", []):
    write("--output", {{**results, "skipped": [{{"lesson": name, "reason": name + " needs another GPU."}}]}})
    sys.exit(0)
tile = {{"BM": 128, "BN": 256, "BK": 8}}
results["lessons"][name] = {{"ladder": "fp32", "tile": tile, "variants": [{{"text": variant}}]}}
for size in options["--sizes"].split(","):
    m, n, k = map(int, size.split("x"))
    where = {{"m": m, "n": n, "k": k}}
    print("progress 1 2 " + size, file=sys.stderr)
    what = does.get(size)
    if what == "wait":
        (fakes / "waits").write_text(str(os.getpid()) + chr(10))
        time.sleep(600)
    if what == "crash":
        os.kill(os.getpid(), 11)
    failure = {{"lesson": name, "variant": variant, **where, "ran": True, "failure": "It is wrong."}}
    if what == "lost":
        write("--output", {{"schema": 2, "lost": {{**failure, "failure": "It did not end."}}}})
        print("It did not end.", file=sys.stderr)
        sys.exit(2)
    if what == "wrong":
        results["failed"].append(failure)
    elif what == "large":
        results.setdefault("left_out", []).append({{**where, "reason": "It needs 9 GB of device memory."}})
    else:
        ms = 2e-9 * m * n * k / 50 + n * k * 1e-9
        results["runs"].append({{
            "lesson": name, "variant": variant, **where, "alpha": 1, "beta": 0, "checked": 9, "error_over_bound": 0.1,
            "rms_error": 1e-7, "rms_limit": 4e-7, "ms_median": ms, "ms_p10": ms, "ms_p90": ms, "rounds": 25,
            "tflops": 2e-9 * m * n * k / ms, "baseline": "cublasGemmEx", "baseline_kernel": "kernel_128x256<float>",
            "baseline_ms_median": ms * (0.5 + m % 7 / 8), "ratio": 0.5 + m % 7 / 8, "sm_clock_mhz": 1980, "power_w": 500,
            "cache": "cold"}})
        if does.get("chooses") == name:
            chosen = {{"BM": 16, "BN": 256, "BK": 16}}
            results["runs"][-1]["tiling"] = {{**chosen, "slices": 1 + m % 2, "blocks": 9, "blocks_per_sm": 3}}
        if "--ways" in sys.argv:  # one is faster by a number of percent that depends on m, one slower
            run = results["runs"][-1]
            for slices, times in ((4, 1 / (1 + 0.009 * (m % 11))), (8, 2.0)):
                told = {{"tiling": {{**run["tiling"], "slices": slices}}, "way": {{"kernel": 7, "slices": slices}}}}
                results["runs"].append({{**run, "ms_median": ms * times, **told}})
            if does.get("wrong way") == size:
                results["failed"] += [{{**failure, "way": {{"kernel": 7, "slices": slices}}}} for slices in (16, 32)]
    write("--so-far", results)
write("--output", results)
sys.exit(1 if results["failed"] else 0)
"""


@pytest.fixture
def gpu(checkout: Checkout) -> Checkout:
    checkout.gpu()
    checkout.with_plots()
    for path in (checkout.root / "plots" / "results").iterdir():  # what was recorded is not made anew
        path.unlink()
    (checkout.root / "CMakeLists.txt").write_text("gemm_lesson(01_naive INSTALLED)\ngemm_lesson(02_coalesced INSTALLED)\n")
    types = [{"text": text, "architectures": {"from": 50}} for text in ("fp32", "bf16")]
    for name in ("01_naive", "02_coalesced"):
        describe(checkout.root / "build" / "cuda", name, variants=types if name == "01_naive" else types[:1])
    listed = [json.loads(path.read_text()) for path in sorted((checkout.root / "build" / "cuda" / "lessons").iterdir())]
    put(checkout.root, {"build/cuda/lessons.json": json.dumps({"lessons": listed})})
    checkout.program("gemm_bench", FAKE)
    does(checkout)
    return checkout


def does(checkout: Checkout, **what: object) -> None:
    """What the fake gemm_bench does at a size, or with a lesson."""
    (checkout.fakes / "does.json").write_text(json.dumps(what))


def asked(checkout: Checkout) -> list[str]:
    """The command lines of gemm_bench."""
    return (checkout.fakes / "arguments").read_text().splitlines()


def written(checkout: Checkout, variant: str = "fp32", folder: str = "out") -> dict:
    return json.loads((checkout.root / folder / f"h200-atlas-{variant}.json").read_text())


def test_both_types_at_every_shape(gpu: Checkout, approve: Approve) -> None:
    done = gpu.run("atlas", status=0)
    approve(done.stdout + done.stderr)
    line = re.compile(r"--brief --lessons (\S+) --dtype \S+ --seed \d+ --sizes (\S+) .*")
    commands = [line.fullmatch(one) for one in asked(gpu)]
    assert [command and command[1] for command in commands] == ["02_coalesced", "01_naive"]  # the last that takes the type
    assert [command and command[2].count(",") for command in commands] == [239, 239]
    for variant, lesson in (("fp32", "02_coalesced"), ("bf16", "01_naive")):
        found = written(gpu, variant)
        assert found.pop("commit") is None  # this checkout is in no repository
        assert list(misfits(found | {"commit": ""}, RecordedAtlas)) == []
        assert [found["lesson"], found["shapes"], len(found["runs"])] == [lesson, 240, 240]
        assert found["kernel_hashes"] == {lesson: kernel_hash(gpu.root / lesson / "kernel.cu")}
        assert {"llm", "random"} == {one["set"] for one in found["runs"]}
    assert {path.name for path in (gpu.root / "out").iterdir()} == {
        f"{stem}.{suffix}" for stem in ("atlas_fp32", "atlas_bf16") for suffix in ("png", "svg")
    } | {"h200-atlas-fp32.json", "h200-atlas-bf16.json"}


def test_what_a_lesson_chose_for_each_shape_is_recorded_and_told(gpu: Checkout) -> None:
    does(gpu, chooses="02_coalesced")
    said = gpu.run("atlas", "--dtype", "fp32", status=0).stdout
    found = written(gpu)
    assert list(misfits(found | {"commit": ""}, RecordedAtlas)) == []
    assert all(one["tiling"]["slices"] == 1 + one["m"] % 2 for one in found["runs"])
    assert said.startswith("NVIDIA H200, fp32: 02_coalesced, ratio")  # which has no tile of its own
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in said.splitlines()]
    shown = {row[0]: row[5] for row in rows if len(row) == 7}
    assert (shown["105×1429×10497"], shown["4368×4192×96"]) == ("16×256×16 · 2", "16×256×16")


def test_a_choice_is_held_against_other_ways_to_divide(gpu: Checkout, approve: Approve) -> None:
    does(gpu, chooses="02_coalesced")
    said = gpu.run("atlas", "--dtype", "fp32", "--ways", "--seed", "5", status=0)
    approve(said.stdout + said.stderr)
    found = json.loads((gpu.root / "out" / "h200-ways-fp32.json").read_text())
    assert list(misfits(found | {"commit": ""}, RecordedWays)) == []
    shapes = atlas.random_shapes(5, 40)
    assert [(one["m"], one["n"], one["k"]) for one in found["runs"]] == shapes
    assert (found["draw"], found["shapes"]) == (5, 40)
    assert asked(gpu)[0].startswith("--brief --ways --lessons 02_coalesced ")
    assert [recorded_ways.loss(one) for one in found["runs"]] == pytest.approx([0.009 * (m % 11) for m, _, _ in shapes], abs=1e-6)
    assert all([way["kernel"] for way in one["others"]] == [7, 7] for one in found["runs"])
    of = recorded_ways.summaries(found["runs"])
    assert list(of) == ["aligned", "odd", "tiny", "all"]
    assert sum(group.shapes for group in of.values()) == 80
    assert of["all"].close == sum(m % 11 <= 5 for m, _, _ in shapes)
    assert recorded_ways.fastest(of["all"].most)["slices"] == 4
    assert recorded_ways.fastest({**found["runs"][0], "others": []})["kernel"] is None


def test_shapes_of_ways_are_new_and_their_seed_is_said(checkout: Checkout) -> None:
    for seed in (5, 48):  # 48 drew the atlas
        assert len(set(atlas.new_shapes(seed)) - set(atlas.shapes_of(None))) == 40
    done = [checkout.run("atlas", "--ways", "--shapes", "--json", status=0) for _ in range(2)]
    drawn = [json.loads(one.stdout)["shapes"] for one in done]
    assert drawn[0] != drawn[1]
    said = re.fullmatch(r"(?s).*Shapes of seed (\d+)\.\n", done[0].stderr)
    assert said
    again = checkout.run("atlas", "--ways", "--shapes", "--json", "--seed", said[1], status=0)
    assert json.loads(again.stdout)["shapes"] == drawn[0]


def test_a_wrong_way_is_a_failure_and_its_shape_is_kept(gpu: Checkout) -> None:
    m, n, k = atlas.random_shapes(5, 1)[0]
    does(gpu, **{"chooses": "02_coalesced", "wrong way": f"{m}x{n}x{k}"})
    gpu.commit()
    done = gpu.run("atlas", "--dtype", "fp32", "--ways", "--seed", "5", "--record", status=1)
    assert f"02_coalesced failed at {m}×{n}×{k} in its way 7, 32 slices: It is wrong." in done.stderr
    assert "02_coalesced failed at 1 of 40 shapes" in done.stderr
    found = json.loads((gpu.root / "out" / "h200-ways-fp32.json").read_text())
    assert list(misfits(found, RecordedWays)) == []
    assert (len(found["runs"]), len(found["failed"])) == (40, 2)
    does(gpu, chooses="02_coalesced")
    page = gpu.root / "02_coalesced" / "README.md"
    page.write_text("<!-- ways:fp32 -->\n<!-- /ways -->\n", encoding="utf-8")
    gpu.commit()
    said = gpu.run("atlas", "--dtype", "fp32", "--ways", "--record", status=0).stderr
    assert "Written: plots/results/h200-ways-fp32.json, 02_coalesced/README.md." in said
    assert (gpu.root / "plots" / "results" / "h200-ways-fp32.json").exists()
    assert "| all | 40 |" in page.read_text(encoding="utf-8")
    assert not (gpu.root / "plots" / "atlas_fp32.svg").exists()


def test_ways_of_a_lesson_that_does_not_run_here_are_not_those_of_another(gpu: Checkout) -> None:
    does(gpu, skipped=["02_coalesced"], chooses="01_naive")
    said = gpu.run("atlas", "--dtype", "fp32", "--ways", status=2).stderr
    assert said.endswith("gemm: Nothing was measured for fp32: 02_coalesced needs another GPU.\n")


def test_an_interrupt_keeps_the_ways_that_are_measured(gpu: Checkout) -> None:
    third = "x".join(map(str, list(atlas.new_shapes(5))[2]))
    does(gpu, **{"chooses": "02_coalesced", third: "wait"})
    process = gpu.start("atlas", "--ways", "--seed", "5", "--dtype", "fp32")
    wait_for(gpu.fakes / "waits")
    assert stop(process, signal.SIGINT)[1].endswith("Interrupted: 2 of 40 shapes are in out/h200-ways-fp32.json.\n")
    found = json.loads((gpu.root / "out" / "h200-ways-fp32.json").read_text())
    assert [len(one["others"]) for one in found["runs"]] == [2, 2]


def test_one_type_one_set_and_a_lesson(gpu: Checkout) -> None:
    report = json.loads(gpu.run("atlas", "--dtype", "fp32", "--set", "llm", "--lesson", "1", "--json", status=0).stdout)
    assert [(one["variant"], one["lesson"], len(one["runs"])) for one in report["atlases"]] == [("fp32", "01_naive", 40)]
    assert report["atlases"][0]["files"] == ["out/h200-atlas-fp32.json", "out/atlas_fp32.png", "out/atlas_fp32.svg"]
    assert len(asked(gpu)) == 1


def test_a_lesson_that_does_not_run_here_makes_room_for_the_one_before(gpu: Checkout) -> None:
    does(gpu, skipped=["02_coalesced"])
    gpu.run("atlas", "--dtype", "fp32", "--set", "llm", status=0)
    assert written(gpu)["lesson"] == "01_naive"
    does(gpu, skipped=["01_naive", "02_coalesced"])
    said = gpu.run("atlas", "--dtype", "fp32", "--set", "llm", status=2).stderr
    assert said.endswith("gemm: Nothing was measured for fp32: 01_naive needs another GPU.\n")


def test_what_has_no_ratio_is_said_and_the_others_are_kept(gpu: Checkout, approve: Approve) -> None:
    does(gpu, **{"16x4096x4096": "lost", "64x4096x4096": "wrong", "8192x128256x4096": "large"})
    gpu.commit()
    done = gpu.run("atlas", "--dtype", "fp32", "--record", status=1)
    approve(done.stderr)
    found = written(gpu)  # not to plots/results
    assert (len(found["runs"]), len(found["failed"]), len(found["left_out"])) == (237, 2, 1)
    first, second = asked(gpu)
    assert "--sizes 1x4096x4096,16x4096x4096," in first
    assert "--sizes 64x4096x4096," in second  # behind the one that did not end, without those before it
    assert not list((gpu.root / "plots" / "results").iterdir())


def test_recorded_on_the_published_gpu(gpu: Checkout) -> None:
    commit = gpu.commit()
    gpu.run("atlas", "--dtype", "bf16", "--record", status=0)
    assert written(gpu, "bf16", "plots/results")["commit"] == commit
    assert (gpu.root / "plots" / "atlas_bf16.svg").exists()
    does(gpu, gpu="NVIDIA X999")
    gpu.run("atlas", "--dtype", "fp32", "--record", status=0)
    assert (gpu.root / "plots" / "results" / "x999-atlas-fp32.json").exists()
    assert (gpu.root / "out" / "atlas_fp32.svg").exists()  # another GPU's is not what the pages show
    assert not (gpu.root / "plots" / "atlas_fp32.svg").exists()


def test_an_interrupt_keeps_what_is_measured(gpu: Checkout) -> None:
    gpu.commit()
    three = "3 of 240 shapes are in out/h200-atlas-fp32.json"
    for size, kept in (("128x4096x4096", three), ("1x4096x4096", "nothing was recorded")):
        does(gpu, **{size: "wait"})
        (gpu.fakes / "waits").unlink(missing_ok=True)
        process = gpu.start("atlas", "--record")
        wait_for(gpu.fakes / "waits")
        assert stop(process, signal.SIGINT)[1].endswith(f"Interrupted: {kept}.\n")
        assert process.returncode == 130
    assert [(one["m"], one["set"]) for one in written(gpu)["runs"]] == [(1, "llm"), (16, "llm"), (64, "llm")]
    assert not list((gpu.root / "plots" / "results").iterdir())


def test_a_crash_keeps_what_is_measured(gpu: Checkout, approve: Approve) -> None:
    does(gpu, **{"64x4096x4096": "crash"})
    approve(gpu.run("atlas", "--dtype", "fp32", status=2).stderr)
    assert len(written(gpu)["runs"]) == 2


def test_a_lesson_that_never_ends_is_given_up(gpu: Checkout) -> None:
    does(gpu, **{f"{m}x4096x4096": "lost" for m in (1, 16, 64, 128, 256, 1024)})
    said = gpu.run("atlas", "--dtype", "fp32", status=2).stderr
    assert said.endswith("02_coalesced hung or took the device down at 5 shapes, last with this: It did not end.\n")
    assert "Nothing was recorded." in said
    assert len(asked(gpu)) == 5


def test_a_bench_that_measures_nothing_is_no_endless_loop(gpu: Checkout) -> None:
    gpu.program("gemm_bench", 'while [ $# -gt 0 ]; do [ "$1" = --output ] && o=$2; shift; done\n'
                'echo \'{"schema": 2, "device": {"name": "X", "kind": "cuda"}, "runs": []}\' >"$o"\n')  # fmt: skip
    assert "measured none of the shapes" in gpu.run("atlas", "--dtype", "fp32", status=2).stderr


def test_what_cannot_be_measured_is_one_sentence(gpu: Checkout, approve: Approve) -> None:
    said = [refusals(gpu, ["atlas --dtype fp16", "atlas --set all", "atlas --lesson 77", "atlas --record --set llm",
                           "atlas --record --lesson 1", "atlas --seed 3", "atlas --ways --set llm"])]  # fmt: skip
    gpu.env["GIT_CEILING_DIRECTORIES"] = str(gpu.root.parent)
    said.append(refusals(gpu, ["atlas --record"]))
    gpu.env["GEMM_DEVICE"] = "cpu"
    said.append(refusals(gpu, ["atlas"]))
    gpu.env["GEMM_DEVICE"] = "cuda"
    said.append(gpu.fails("atlas", "--lesson", "2", "--dtype", "bf16", words=("02_coalesced", "fp32")))
    approve("\n".join(said))


def test_the_shapes_are_listed_without_a_gpu(checkout: Checkout) -> None:
    lines = checkout.run("atlas", "--shapes", status=0).stdout.splitlines()
    assert len(lines) == 240
    assert lines[0].split() == ["llm", "1×4096×4096", "0.034", "GFLOP"]
    listed = json.loads(checkout.run("atlas", "--shapes", "--set", "random", "--dtype", "bf16", "--json", status=0).stdout)
    assert listed["variants"] == ["bf16"]
    assert [(one["m"], one["n"], one["k"]) for one in listed["shapes"]] == atlas.random_shapes()


# Pictures and tables


def made_up(variant: str = "bf16") -> RecordedAtlas:
    runs = [
        {"lesson": "13e_overlapped", "set": name, "ms_median": 1.0, "tflops": 1.0, "baseline_kernel": "nvjet", "cache": "cold",
         **run(m, n, k, 0.55 + place % 11 / 10, 0.004 * (1 + place % 9), variant)}
        for place, ((m, n, k), name) in enumerate(atlas.shapes_of(None).items())
    ]  # fmt: skip
    return {"variant": variant, "lesson": "13e_overlapped", "tile": {}, "shapes": 240, "runs": runs, "failed": [],
            "left_out": [], "device": {"kind": "cuda", "name": "NVIDIA X999 <Test>", "cuda": "13.0"}, "seed": 7, "schema": 1,
            "resources": {}, "kernel_hashes": {}, "commit": "0123456789" * 4, "date": "2031-02-03T04:05:06Z"}  # fmt: skip


@pytest.mark.pixels
def test_the_picture_is_the_same_each_time(tmp_path: Path) -> None:
    first, second = (picture.draw(made_up(), tmp_path / stem) for stem in "ab")
    assert [path.name for path in first] == ["a.png", "a.svg"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.usefixtures("labels_alone")
def test_labels(tmp_path: Path, approve: Approve) -> None:
    texts = svg_texts(picture.draw(made_up(), tmp_path / "chart")[1])
    approve("\n".join(f"{text}{f' ×{count}' if count > 1 else ''}" for text, count in sorted(texts.items())))


@pytest.mark.usefixtures("labels_alone")
def test_every_shape_has_a_mark_in_one_panel(tmp_path: Path) -> None:
    def marks(results: RecordedAtlas) -> int:
        return picture.draw(results, tmp_path / "chart")[1].read_text().count("<use ")

    whole, one = made_up(), made_up()
    one["runs"] = one["runs"][:1]
    assert marks(whole) - marks(one) == 239


def test_a_mark_says_how_far_from_cublas() -> None:
    found = [picture.class_of(ratio) for ratio in (4.0, 1.5, 1.49, 1.05, 1.04, 0.95, 0.94, 0.8, 0.79, 0.6, 0.59, 0.01)]
    assert found == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


def test_an_atlas_without_times_is_one_sentence(tmp_path: Path) -> None:
    empty = made_up()
    empty["runs"] = []
    with pytest.raises(UserError, match="no shape that was timed"):
        picture.draw(empty, tmp_path / "chart")
    assert not list(tmp_path.iterdir())


def test_tables(approve: Approve) -> None:
    approve("\n".join([tables.render_atlas("bf16", made_up()), tables.render_atlas("fp32", None)]))
    with pytest.raises(UserError, match="no atlas of 'fp16'"):
        tables.render_atlas("fp16", None)


def test_a_page_may_have_the_rows_of_some_shapes() -> None:
    lines = tables.render_atlas("bf16:13e_overlapped:16x4096x4096,1x4096x4096", made_up()).splitlines()
    assert [line.split(" | ")[0] for line in lines[2:4]] == ["| 16×4096×4096", "| 1×4096×4096"]
    assert lines[2].endswith("| 1000 | 8.0 | 0.650 |")
    assert lines[5].startswith("13e_overlapped. NVIDIA X999 <Test>, 2031-02-03, commit 0123456")
    assert lines[5].endswith("BF16, alpha = 1, beta = 0, L2 cold. Reproduce with `./gemm atlas`.")
    of_another = "*14c_wgmma is not recorded yet; `./gemm atlas --record` records it.*\n"
    assert tables.render_atlas("bf16:14c_wgmma:16x4096x4096", made_up()) == of_another
    assert tables.render_atlas("bf16:14c_wgmma:16x4096x4096", None) == of_another
    with pytest.raises(UserError, match="no lesson '16x4096x4096'"):
        tables.render_atlas("bf16:16x4096x4096", made_up())
    with pytest.raises(UserError, match="no shape '2x2x2'"):
        tables.render_atlas("bf16:13e_overlapped:2x2x2", made_up())


def of_ways() -> dict:
    """Nine shapes, and two other choices for each: where it is the last shape, one of them is faster by a tenth."""
    runs = [
        {**one, "ms_p10": 1.0, "ms_p90": 1.0, "tiling": {"BM": 64, "BN": 64, "BK": 8, "slices": 1}} for one in made_up()["runs"]
    ]
    slower = {**recorded_ways.tried(runs[0]), "kernel": 1, "ms_median": 2.0}
    whole = [{**one, "others": [slower, slower]} for one in runs[:9]]
    whole[-1]["others"] = [slower, {**slower, "ms_median": 1 / 1.1}]
    return {**made_up(), "draw": 5, "runs": whole}


def test_the_table_of_ways(approve: Approve) -> None:
    approve("\n".join([tables.render_ways("bf16", of_ways()), tables.render_ways("fp32", None)]))
    with pytest.raises(UserError, match="no ways of 'fp16'"):
        tables.render_ways("fp16", None)


def test_what_is_published_fits() -> None:
    for variant in recorded.VARIANTS:
        if found := data.atlas(REPOSITORY, variant):
            assert list(misfits(found, RecordedAtlas)) == []
            assert [found["variant"], found["shapes"]] == [variant, 240]


def test_what_is_published_of_ways_fits() -> None:
    for file in (REPOSITORY / "plots" / "results").glob("*-ways-*.json"):
        found = json.loads(file.read_text(encoding="utf-8"))
        assert list(misfits(found, RecordedWays)) == []
        assert found["kernel_hashes"] == {found["lesson"]: hash_of(found["lesson"])}  # or it is measured again


def test_the_library_has_lessons_of_both_types() -> None:
    assert {"08b_read_ahead", "09f_persistent"} <= set(installed())
    assert "01_naive" not in installed()
