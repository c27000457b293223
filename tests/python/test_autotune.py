"""./gemm autotune: the sets of constants, the configurations made from them, what is told and recommended, what is recorded."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from approvals import Approve, cells, refusals
from conftest import CMAKE, Checkout, alive, descriptors, drawn, part, script, stop, toolchain_as_built, wait_for
from tried import with_headers

from runner import mistakes
from runner.core import compiling
from runner.core.compiling import Source
from runner.core.kernel_hash import kernel_hash
from runner.core.results import ROOT, UserError, folder_of, lessons
from runner.measure import autotune, tuning
from runner.measure.tuning import Compared, Tuning

KERNEL = """// a kernel
namespace lesson_01 {
constexpr int BM = 8;  // rows
constexpr int BK = 4;
__global__ void __launch_bounds__(64) f() {}
extern const gemm::Lesson lesson{"01_naive"};
}
"""
TUNE = Tuning(
    lines=("constexpr int BM = {BM};", "constexpr int BK = {BK};", "__launch_bounds__(64[, {BLOCKS}])"),
    sweep=({"BM": 8}, {"BM": 16}, {"BM": 16, "BLOCKS": 2}, {"BM": 7}),
    compare={
        "short": Compared({"BK": 2}),
        "empty": Compared({}, {"f() {}": "f() { /* empty */ }"}),
        "large": Compared({"BM": 16}),
    },
)


def on_tensor_cores(name: str) -> bool:
    return descriptors()[name].ladder == "tensorcore"


def of_lesson(name: str) -> tuple[Tuning, str]:
    return tuning.load(name), (ROOT / folder_of(name) / "kernel.cu").read_text(encoding="utf-8")


# The sets, and the configurations made from them


def test_lessons_with_tile_sizes_can_be_tuned() -> None:
    assert tuning.tunable() == [name for name in lessons() if (ROOT / folder_of(name) / "tune.py").exists()]
    with pytest.raises(UserError):
        tuning.load("01_naive")


@pytest.mark.parametrize("name", tuning.tunable())
def test_a_set_fits_its_kernel(name: str) -> None:
    tune, kernel = of_lesson(name)
    configurations, compared = tuning.configurations(name, tune, kernel)
    assert configurations[0].own
    assert dict(configurations[0].constants) in [{**tuning.own_constants(tune, kernel), **set_} for set_ in tune.sweep]
    if on_tensor_cores(name):  # what is compared, and little else: each costs time on a GPU
        assert len(configurations) <= 11  # 13e has eight heights of its tile
    else:
        assert 12 <= sum(configuration.swept for configuration in configurations) <= 28
    assert list(compared) == list(tune.compare)
    bare = replace(tune, edits={})
    number = name.partition("_")[0]
    made = tuning.source(configurations[0], bare, kernel)
    assert made.replace(f"tuned_{number}_0", f"lesson_{number}").replace(f"{name}.0", name) == kernel
    texts = [tuning.source(v, tune, kernel).replace(v.namespace, "").replace(v.name, "") for v in configurations]
    assert len(set(texts)) == len(configurations)


def cpu_tools() -> dict:
    """As built, but for the optimisation, which takes most of the time."""
    spec = toolchain_as_built("bench")
    return {**spec, "kernel": [*spec["kernel"], "-O0"], "device": "cpu"}


def together(tools: dict, wanted: Sequence[Source], folder: Path) -> Path:
    """A gemm_bench of configurations that were compiled as one file, which takes a tenth of the time."""
    others = [re.sub(r"^#include.*$", "", source.text, flags=re.MULTILINE) for source in wanted[1:]]
    text = "\n".join([wanted[0].text, *others])
    command, made = compiling.compile_command(tools, Source(text, "configurations.cu", "variants"), folder)
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return autotune.link(tools, wanted, [made], folder)


@pytest.mark.parametrize("name", drawn(part(tuning.tunable()), 1))
def test_every_configuration_is_right_on_the_cpu_device(name: str, tmp_path: Path) -> None:
    # With the headers that the lesson's mistakes are tried with: BF16 alone, which is what runs here, and fewer sizes of 14c's.
    # Constants are tried with that kernel, too, which takes less time; what is compared may be about a size that it has not.
    headers = mistakes.fewer(name)
    short = headers.pop(f"{folder_of(name)}/kernel.cu")
    tools = with_headers(cpu_tools(), headers, tmp_path / "headers")
    tune, kernel = of_lesson(name)
    configurations, _ = tuning.configurations(name, tune, kernel)
    wanted = [autotune.sources([one], tune, short if one.swept else kernel)[0] for one in configurations]
    program = together(tools, wanted, tmp_path)
    sizes = "127x129x65,60x260x24,520x264x136"  # of 09's the last one alone is aligned
    found = autotune.run(program, name, [v.name for v in configurations], sizes, 7, tmp_path, ["--verify-only"])
    assert not found["failed"]
    assert {(run["lesson"], run["variant"]) for run in found["runs"]} == {
        (configuration.name, "bf16" if on_tensor_cores(name) else "fp32") for configuration in configurations
    }
    assert len(found["runs"]) == 3 * len(configurations)
    for configuration in configurations:
        block, constants = found["resources"][configuration.name], configuration.constants
        shared = block["static_shared_bytes"] + block["dynamic_shared_bytes"]
        if name == "13a_persistent":  # a producer and two consumers; a tile of A and one of B in each stage
            assert block["threads_per_block"] == 3 * 128
            assert shared >= 2 * 64 * (128 + 256) * constants["STAGES"]
        elif name == "13d_ping_pong":  # all of a block's stages, and its results behind them
            assert (block["threads_per_block"], block["dynamic_shared_bytes"]) == (3 * 128, 224 * 1024)
        elif name.startswith("09"):
            rows, stages = constants.get("BM", 256), constants.get("STAGES", 2 if name == "09b_mma_sync" else 4)
            depth = 64 if name == "09f_persistent" and stages != 6 else 32
            assert block["threads_per_block"] == rows
            assert shared >= 2 * depth * (rows + 128) * stages
        elif not on_tensor_cores(name):
            assert block["threads_per_block"] == constants["BM"] * constants["BN"] // (constants["TM"] * constants.get("TN", 1))
            assert shared >= 4 * constants["BK"] * (constants["BM"] + constants["BN"]) * constants.get("STAGES", 1)


def test_wrong_refused_and_broken_configurations_are_rows(tmp_path: Path) -> None:
    tools = cpu_tools()
    tune, kernel = of_lesson("05_2d_blocktile")
    tune = replace(
        tune,
        sweep=({"BM": 100}, {"BM": 256, "BN": 256, "TM": 4, "TN": 4, "BK": 16}),
        compare={"wrong sums": Compared({}, {"acc[i][j] += a_frag[i] * b_frag[j]": "acc[i][j] += a_frag[i]"})},
    )
    configurations, _ = tuning.configurations("05_2d_blocktile", tune, kernel)
    compiled, objects, failed = autotune.compile_all(tools, autotune.sources(configurations, tune, kernel), tmp_path)
    assert list(failed) == ["05_2d_blocktile.1"]
    program = autotune.link(tools, compiled, objects, tmp_path)
    found = autotune.run(program, "05", [s.title for s in compiled], "64x70x20", 7, tmp_path, ["--verify-only"])
    own, broken, refused, wrong = (autotune.row_of(configuration, found, failed) for configuration in configurations)
    assert (own["failure"], own["wrong"], len(own["runs"])) == (None, False, 1)
    assert re.search(r" 05_2d_blocktile/kernel\.cu:\d+:\d+: error: static assertion", broken["failure"])
    assert (broken["wrong"], broken["runs"], broken["resources"]) == (False, [], None)
    assert re.search(r"05_2d_blocktile\.2 .*launch.* 64×70×20", refused["failure"])  # 4096 threads
    assert (refused["wrong"], refused["runs"]) == (False, [])
    assert re.search(r"05_2d_blocktile\.3 .* 64×70×20", wrong["failure"])
    assert (wrong["wrong"], wrong["runs"], wrong["edited"]) == (True, [], True)


def test_constants_are_read_and_set() -> None:
    assert tuning.own_constants(TUNE, KERNEL) == {"BM": 8, "BK": 4, "BLOCKS": 0}
    configurations, compared = tuning.configurations("01_naive", TUNE, KERNEL)
    assert [dict(v.constants) for v in configurations] == [
        {"BM": 8, "BK": 4, "BLOCKS": 0},
        {"BM": 16, "BK": 4, "BLOCKS": 0},
        {"BM": 16, "BK": 4, "BLOCKS": 2},
        {"BM": 7, "BK": 4, "BLOCKS": 0},
        {"BM": 8, "BK": 2, "BLOCKS": 0},
        {"BM": 8, "BK": 4, "BLOCKS": 0},
    ]
    assert [(v.own, v.swept) for v in configurations] == [(True, True), *[(False, True)] * 3, *[(False, False)] * 2]
    assert compared == {"short": 4, "empty": 5, "large": 1}
    made = tuning.source(configurations[2], TUNE, KERNEL)
    assert "constexpr int BM = 16;  // rows" in made
    assert "__launch_bounds__(64, 2) f()" in made
    assert "namespace tuned_01_2 {" in made and '"01_naive.2"' in made
    assert "lesson_01" not in made
    again = made.replace("tuned_01_2", "lesson_01").replace("01_naive.2", "01_naive")
    assert tuning.own_constants(TUNE, again) == configurations[2].constants
    lines = tuning.changed_lines(TUNE, again, {"BM": 16, "BK": 8, "BLOCKS": 0})
    assert lines == ["constexpr int BK = 8;", "__launch_bounds__(64)"]


@pytest.mark.parametrize(
    ("tune", "kernel", "message"),
    [
        (TUNE, KERNEL.replace("BM = 8", "BM = N"), "0 times what should be there once: constexpr int BM"),
        (TUNE, KERNEL + "constexpr int BM = 9;\n", "2 times what should be there once: constexpr int BM"),
        (replace(TUNE, sweep=({"WM": 1},)), KERNEL, "sets WM, which none of its lines holds"),
        (replace(TUNE, by_shape=("short", "long")), KERNEL, "shows long by shape, which it does not compare"),
        (replace(TUNE, edits={"g()": "h()"}), KERNEL, "0 times what an edit replaces: 'g()'"),
        (TUNE, KERNEL.replace('"01_naive"', "name"), 'does not contain "01_naive"'),
    ],
)
def test_a_set_that_does_not_fit_is_refused(tune: Tuning, kernel: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        tuning.source(tuning.configurations("01_naive", tune, kernel)[0][0], tune, kernel)


# Judging: no figure below was measured


def row(bm: int, ratio: float | None, *, own: bool = False, swept: bool = True, spill: int = 0, **more: object) -> dict:
    runs = [{"m": n, "n": n, "k": n, "tflops": 50 * ratio, "ratio": ratio} for n in (4096,)] if ratio else []
    block = {"registers": 100, "local_bytes": spill, "blocks_per_sm": 2, "threads_per_block": 256, "static_shared_bytes": 1024,
             "dynamic_shared_bytes": 512}  # fmt: skip
    return {"swept": swept, "own": own, "constants": {"BM": bm, "BK": 4, "BLOCKS": 0}, "edited": False, "resources": block,
            "failure": None, "wrong": False, "runs": runs, **more}  # fmt: skip


OWN = row(8, 0.8, own=True)


def advice(*rows: dict) -> str:
    return autotune.advice("01_naive", rows, TUNE, KERNEL)


REFUSED = row(8, None, own=True, failure="refused")


def test_the_fastest_is_recommended(approve: Approve) -> None:
    blocks = row(16, 0.9, constants={"BM": 16, "BK": 4, "BLOCKS": 2})
    said = [advice(OWN, row(16, 0.9), row(32, 0.85)), advice(OWN, blocks), advice(row(8, 0.9, own=True, spill=4), row(16, 0.8))]
    approve("\n".join([*said, advice(REFUSED, row(16, 0.8)), advice(REFUSED), advice(OWN, row(16, 0.805))]))


@pytest.mark.parametrize(
    "other",
    [
        row(16, 0.805),
        row(16, 0.9, spill=8),
        row(16, None, wrong=True, failure="wrong"),
        row(16, None, failure="refused"),
        row(16, 0.9, swept=False),
    ],
    ids=["hardly faster", "spills", "wrong", "refused", "for comparison only"],
)
def test_what_is_not_recommended(other: dict) -> None:
    assert advice(OWN, other) == advice(OWN)


def test_sizes_count_alike() -> None:
    two = row(8, 0.5)
    two["runs"].append({"m": 512, "n": 512, "k": 512, "tflops": 1.0, "ratio": 0.98})
    assert autotune.ratio(two) == pytest.approx(0.7)
    assert autotune.by_ratio([row(1, None), two, row(2, 0.75), row(3, 0.6), row(4, 0.9, swept=False)]) == [
        row(2, 0.75), two, row(3, 0.6), row(1, None),
    ]  # fmt: skip


# The command, over a fake GPU

# Reads what it says of each configuration from speeds.json; what is not there runs at a tenth of cuBLAS.
FAKE_BENCH = """#!/usr/bin/env python3
import json, os, sys, time
from pathlib import Path
fakes = Path(os.environ["FAKES"])
given = dict(zip(sys.argv[1::2], sys.argv[2::2]))
with (fakes / "runs").open("a") as runs:
    print(given["--lessons"], given["--sizes"], file=runs)
speeds = json.loads((fakes / "speeds.json").read_text())
names = given["--lessons"].split(",")
print("progress 0 9 4096×4096×4096 inputs and reference", file=sys.stderr, flush=True)
time.sleep(speeds.get("reference takes", 0))
for name in names:
    print("progress 1 9", name, "4096×4096×4096 verifying", file=sys.stderr, flush=True)
    if speeds.get(name) == "hangs":
        time.sleep(600)
    if speeds.get(name) in ("lost", "given up"):
        ran = speeds[name] == "given up"
        lost = {"lesson": name, "m": 4096, "n": 4096, "k": 4096, "ran": ran, "failure": "illegal access."}
        Path(given["--output"]).write_text(json.dumps({"schema": 2, "lost": lost}))
        print("gemm_bench: so nothing was measured.", file=sys.stderr)
        sys.exit(2)
runs, failed, resources = [], [], {}
for name in names:
    said = speeds.get(name, 0.1)
    resources[name] = {"registers": 96, "local_bytes": 0, "blocks_per_sm": 2, "threads_per_block": 256,
                       "static_shared_bytes": 8192, "dynamic_shared_bytes": 0}
    if isinstance(said, str):
        failed.append({"lesson": name, "m": 1, "n": 1, "k": 1, "ran": said == "wrong", "failure": f"{name} is {said}"})
        continue
    for size in map(int, given["--sizes"].split(",")):
        runs.append({"lesson": name, "variant": "fp32", "m": size, "n": size, "k": size, "alpha": 1, "beta": 0,
                     "error_over_bound": 0.1, "ms_median": 1, "ms_p10": 1, "ms_p90": 1, "tflops": 50 * said,
                     "baseline": "b", "baseline_ms_median": 1, "ratio": said})
device = {"kind": "cuda", "name": "NVIDIA H200"}
Path(given["--output"]).write_text(json.dumps({"schema": 2, "device": device, "seed": 1, "runs": runs, "skipped": [],
                                               "failed": failed, "resources": resources}))
sys.exit(1 if failed else 0)
"""


@pytest.fixture
def gpu(checkout: Checkout) -> Checkout:
    """A checkout with a GPU, a lesson to tune, and tools that compile everything but BM = 7."""
    checkout.gpu()
    checkout.tool("cmake", CMAKE.replace('cp "$FAKES"/programs/*', 'cp "$FAKES/bench.json" "$2/"; cp "$FAKES"/programs/*'))
    checkout.program("none", "exit 0\n")
    cc = checkout.tool("fake_cc", 'echo "$4" >>"$FAKES/compiled"\ngrep -q "BM = 7;" "$4" &&'
                       ' { echo "ptxas error   : uses too much shared data"; exit 1; }\n: >"$2"\n')  # fmt: skip
    ld = checkout.tool("fake_ld", 'cat "$1" >"$FAKES/list"\nfor last; do :; done\ncp "$FAKES/fake_bench" "$last"\n')
    script(checkout.fakes / "fake_bench", FAKE_BENCH)
    spec = {"kernel": [str(cc)], "architectures": {"": []}, "link_before": [str(ld)], "link_after": ["-lrest"]}
    (checkout.fakes / "bench.json").write_text(json.dumps(spec))
    (checkout.root / "01_naive" / "kernel.cu").write_text(KERNEL)
    text = f"from runner.measure.tuning import Compared, Tuning\n\nTUNE = {TUNE!r}\n"
    (checkout.root / "01_naive" / "tune.py").write_text(text)
    speeds(checkout, {"01_naive.0": 0.5, "01_naive.1": 0.6, "01_naive.4": 0.4})
    return checkout


def speeds(gpu: Checkout, of: dict) -> None:
    (gpu.fakes / "speeds.json").write_text(json.dumps(of))


def written(gpu: Checkout, folder: str = "out") -> dict:
    return json.loads((gpu.root / folder / "h200-autotune.json").read_text(encoding="utf-8"))


def test_a_lesson_is_tuned(gpu: Checkout, approve: Approve) -> None:
    done = gpu.run("autotune", "01", status=0)
    approve(cells(done.stdout) + done.stderr)
    assert (gpu.fakes / "runs").read_text() == "01_naive.0,01_naive.1,01_naive.2,01_naive.4,01_naive.5 4096\n"
    listed = (gpu.fakes / "list").read_text()
    assert re.search(r"lessons\[\] = \{&tuned_01_0::lesson, &tuned_01_1::lesson, &tuned_01_2::lesson, &tuned_01_4", listed)
    assert "tuned_01_3" not in listed
    found = written(gpu)
    assert (found["schema"], found["device"]["name"]) == (1, "NVIDIA H200")
    assert found["kernel_hashes"] == {"01_naive": kernel_hash(gpu.root / "01_naive" / "kernel.cu")}
    lesson = found["lessons"]["01_naive"]
    assert (lesson["best"], lesson["compared"]) == (1, {"short": 4, "empty": 5, "large": 1})
    assert (lesson["sizes"], lesson["by_shape"]) == ("4096", [])
    assert [r["own"] for r in lesson["rows"]] == [True] + [False] * 5
    assert lesson["rows"][1]["runs"][0]["ratio"] == 0.6


def test_several_sizes(gpu: Checkout) -> None:
    found = json.loads(gpu.run("autotune", "--sizes", "512,4096", "--json", status=0).stdout)
    assert [run["m"] for run in found["lessons"]["01_naive"]["rows"][0]["runs"]] == [512, 4096]
    assert found["files"] == ["out/h200-autotune.json"]


def test_a_lesson_says_its_sizes(gpu: Checkout, approve: Approve) -> None:
    of_its_own = replace(TUNE, sizes="512,1024,2048,4096", by_shape=("short", "large"))
    tune = f"from runner.measure.tuning import Compared, Tuning\n\nTUNE = {of_its_own!r}\n"
    (gpu.root / "01_naive" / "tune.py").write_text(tune)
    done = gpu.run("autotune", "01", status=0)
    lesson = written(gpu)["lessons"]["01_naive"]
    assert (lesson["sizes"], lesson["by_shape"]) == ("512,1024,2048,4096", ["short", "large"])
    assert [run["m"] for run in lesson["rows"][1]["runs"]] == [512, 1024, 2048, 4096]
    approve(cells(done.stdout))
    gpu.run("autotune", "01", "--sizes", "512", status=0)
    assert written(gpu)["lessons"]["01_naive"]["sizes"] == "512"


def test_a_wrong_configuration_has_no_time_and_a_refused_one_is_no_failure(gpu: Checkout, approve: Approve) -> None:
    speeds(gpu, {"01_naive.0": 0.5, "01_naive.2": "refused"})
    said = gpu.run("autotune", "01", status=0).stderr
    speeds(gpu, {"01_naive.0": 0.5, "01_naive.1": "wrong"})
    done = gpu.run("autotune", "01", status=1)
    approve(said + cells(done.stdout) + done.stderr)
    assert (written(gpu)["lessons"]["01_naive"]["rows"][1]["runs"], written(gpu)["lessons"]["01_naive"]["best"]) == ([], 0)


def test_the_others_are_measured_without_one_that_takes_the_device_down(gpu: Checkout, approve: Approve) -> None:
    speeds(gpu, {"01_naive.0": 0.5, "01_naive.2": "lost"})
    said = gpu.run("autotune", "01", status=1).stderr
    assert len((gpu.fakes / "runs").read_text().splitlines()) == 2
    assert autotune.ratio(written(gpu)["lessons"]["01_naive"]["rows"][0]) == pytest.approx(0.5)
    speeds(gpu, {f"01_naive.{number}": "lost" for number in range(6)})
    approve(said + gpu.run("autotune", "01", status=1).stderr)


@pytest.fixture
def fake_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """FAKE_BENCH with nothing around it, and with little patience."""
    monkeypatch.setattr(autotune, "PATIENCE", 1.0)
    monkeypatch.setenv("FAKES", str(tmp_path))
    return script(tmp_path / "bench", FAKE_BENCH)


@pytest.mark.parametrize(
    ("speeds", "calls", "measured"),
    [
        ({"b": "hangs", "c": 0.5}, "a,b,c 4096\na,c 4096\n", {"a": 0.1, "c": 0.5}),
        ({"b": "given up"}, "a,b 4096\na 4096\n", {"a": 0.1}),  # by gemm_bench
        ({"reference takes": 3}, "a 4096\n", {"a": 0.1}),  # what is no configuration's may take long
    ],
)
def test_the_others_are_measured_without_one_that_does_not_end(
    speeds: dict, calls: str, measured: dict[str, float], fake_bench: Path, tmp_path: Path
) -> None:
    (tmp_path / "speeds.json").write_text(json.dumps(speeds))
    names = calls.split(maxsplit=1)[0].split(",")
    found = autotune.run(fake_bench, "01_naive", names, "4096", 7, tmp_path)
    assert (tmp_path / "runs").read_text() == calls
    assert {run["lesson"]: run["ratio"] for run in found["runs"]} == measured
    assert [(failure["lesson"], failure["ran"]) for failure in found["failed"]] == [("b", True)] * ("b" in names)


def test_patience_grows_with_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(autotune, "monotonic", lambda: now)
    watch = autotune._Watch(["a", "b"])
    watch.parse("progress 0 9 4096×4096×4096 inputs and reference")
    now = 1000.0
    assert not watch.hung()
    watch.parse("progress 1 9 a 4096×4096×4096 verifying")
    now += 10 * 1000
    assert not watch.hung()
    now += autotune.PATIENCE + 1
    assert watch.hung()
    assert (watch.culprit, watch.limit) == ("a", autotune.PATIENCE + 10 * 1000)


def test_nothing_that_runs_is_an_error(gpu: Checkout, approve: Approve) -> None:
    kernel = gpu.root / "01_naive" / "kernel.cu"
    kernel.write_text(KERNEL.replace("// a kernel", "// BM = 7;"))
    approve(gpu.run("autotune", "01", status=2).stderr)


def test_what_cannot_be_tuned_is_one_sentence(gpu: Checkout, approve: Approve) -> None:
    said = [refusals(gpu, ["autotune 02", "autotune 7", "autotune 01 --sizes 4k", "autotune 01 --record"])]
    gpu.env["GIT_CEILING_DIRECTORIES"] = str(gpu.root.parent)
    said.append(refusals(gpu, ["autotune --record"]))
    (gpu.root / "01_naive" / "kernel.cu").write_text("")
    said.append(refusals(gpu, ["autotune"]))
    gpu.env["GEMM_DEVICE"] = "cpu"
    approve("\n".join([*said, refusals(gpu, ["autotune"])]))


def test_record_publishes(gpu: Checkout) -> None:
    publish = gpu.root / "plots" / "publish.py"
    publish.write_text("def update(root):\n    (root / 'R.md').write_text('tuned')\n    return [root / 'R.md']\n")
    commit = gpu.commit()
    gpu.run("autotune", "--record", status=0)
    assert (gpu.root / "R.md").read_text() == "tuned"
    assert written(gpu, "plots/results")["commit"] == commit


def test_record_refuses_wrong_configurations_and_changed_sources(gpu: Checkout, approve: Approve) -> None:
    gpu.commit()
    speeds(gpu, {"01_naive.5": "wrong"})
    done = gpu.run("autotune", "--record", status=1)
    assert not (gpu.root / "plots" / "results" / "h200-autotune.json").exists()
    (gpu.root / "01_naive" / "kernel.cu").write_text(KERNEL.replace("BK = 4", "BK = 2"))
    approve(done.stderr + gpu.fails("autotune", "--record", words=()))


@pytest.mark.parametrize("during", ["compiling", "timing"])
def test_an_interrupt_leaves_nothing_behind(gpu: Checkout, during: str) -> None:
    temporary = gpu.fakes / "tmp"
    temporary.mkdir()
    gpu.env["TMPDIR"] = str(temporary)
    slow = 'sleep 600 &\necho $! >"$FAKES/pid"\nwait\n'
    if during == "compiling":
        gpu.tool("fake_cc", slow)
    else:
        (gpu.fakes / "fake_bench").write_text("#!/bin/sh\n" + slow)
    process = gpu.start("autotune")
    pid = int(wait_for(gpu.fakes / "pid"))
    status, said = stop(process, signal.SIGINT)
    assert status == 130, said
    assert said.splitlines()[-1] == "Interrupted: nothing was recorded."
    assert not alive(pid)
    assert not list(temporary.iterdir())
    assert not list((gpu.root / "out").iterdir())


def test_a_machine_at_fault_is_no_configuration_that_does_not_compile(gpu: Checkout, approve: Approve) -> None:
    gpu.tool("fake_cc", 'echo "error: could not open output file: No space left on device"\nexit 1\n')
    approve(gpu.run("autotune", "01", status=2).stderr)
