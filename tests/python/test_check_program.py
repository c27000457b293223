"""gemm_check as the runner makes it: compiled and linked by build/cpu/check.json without CMake, run as a program. (What it finds
of wrong kernels: test_mistakes.py.)"""

from __future__ import annotations

import json
import resource
import shlex
import subprocess
from pathlib import Path

import pytest
from conftest import drawn, toolchain_as_built

from runner.core import compiling

ROOT = Path(__file__).resolve().parent.parent.parent
CPU = ROOT / "build" / "cpu"
KERNEL = (ROOT / "03_smem" / "kernel.cu").read_text(encoding="utf-8").replace("lesson_03", "exercise_03")


def compiled(folder: Path, text: str) -> Path:
    """A gemm_check of the kernel, which messages call 03_smem/exercise.cu."""
    source = compiling.Source(text, "03_smem/exercise.cu", "exercise_03", lesson="03_smem")
    return compiling.compile_program({**toolchain_as_built("check"), "device": "cpu"}, [source], folder)[0]


def changed(*edits: tuple[str, str]) -> str:
    text = KERNEL
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def run(program: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *options], capture_output=True, text=True, check=False)


def computed() -> float:
    """Seconds of a core that programs of this process took: however busy the machine is, the same."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("right"), KERNEL)


def failed_case(text: str, folder: Path, *options: str) -> dict:
    """The last case of a kernel that is wrong."""
    done = run(compiled(folder, text), *options)
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout[done.stdout.index("{") :])  # behind what the kernel printed
    assert not found["passed"]
    assert found["trace"] is None
    assert [case["passed"] for case in found["cases"]] == [True] * (len(found["cases"]) - 1) + [False]
    return found["cases"][-1]


def test_kernels_are_compiled_as_cmake_compiles_the_traced_lessons() -> None:
    spec = toolchain_as_built("check")
    entries = json.loads((CPU / "compile_commands.json").read_text(encoding="utf-8"))
    command = next(e["command"] for e in entries if e["file"].endswith("/03_smem_traced/03_smem/kernel.cu.cpp"))
    flags = shlex.split(command)
    flags = flags[flags.index(spec["kernel"][0]) : flags.index("-o")]  # behind ccache, where it is installed
    drafts = {"-Wno-unused-variable", "-Wno-unused-parameter", "-Wno-unused-but-set-variable"}
    # Folders that the compiler searches anyway CMake leaves out by itself. Lessons begin with what is ready; with -fpch-deps a
    # build knows which headers that was.
    kernel = compiling.with_prepared(spec["kernel"], spec["prepared"])
    assert "-fpch-deps" in flags
    assert set(kernel) == (set(flags) | drafts) - {"-Werror", "-fpch-deps"}
    # Of those that overrule each other, the last one counts; where -std stands among them differs from CMake to CMake.
    for kind in ("-O", "-std"):
        assert [f for f in spec["kernel"] if f.startswith(kind)] == [f for f in flags if f.startswith(kind)]


def test_a_right_kernel(right: Path) -> None:
    begin = computed()
    done = run(right, "--seed=7", "--goal=64x96x128", "--like=sm_86")
    assert computed() - begin < 10  # 0.4 s
    assert done.returncode == 0, done.stdout
    found = json.loads(done.stdout)
    assert list(found) == [
        "schema", "name", "variant", "device", "device_name", "seed", "like", "tile", "cases", "passed", "trace", "times",
        "seconds",
    ]  # fmt: skip
    assert (found["schema"], found["seed"], found["like"], found["device"]) == (1, 7, "sm_86", "cpu")
    assert found["tile"] == {"BM": 32, "BN": 32, "BK": 32}
    assert found["passed"] and all(case["passed"] for case in found["cases"])
    assert (found["times"], found["trace"]["m"], found["trace"]["n"], found["trace"]["k"]) == (None, 64, 96, 128)
    assert found["trace"]["verdict"]["passed"]
    assert found["trace"]["blocks"] == found["trace"]["traced_blocks"] == 6
    assert {line["file"] for line in found["trace"]["lines"]} == {"03_smem/exercise.cu"}
    progress = [line.split(" ", 3) for line in done.stderr.splitlines()]
    assert all(word == "progress" and int(at) <= int(of) for word, at, of, _ in progress)
    assert progress[-1][1] == progress[-1][2] == str(len(found["cases"]) + 1)


def test_a_seed_repeats_the_check_and_a_fresh_one_is_shown(right: Path, tmp_path: Path) -> None:
    def cases(*options: str) -> list[dict]:
        file = tmp_path / "found.json"
        assert run(right, "--output", str(file), *options).stdout == ""
        return json.loads(file.read_text(encoding="utf-8"))["cases"]

    fresh, other = cases(), cases("--seed=11")
    assert cases(f"--seed={fresh[0]['seed']}") == fresh != other


def test_what_is_found_names_its_place(tmp_path: Path) -> None:
    found = failed_case(changed(("k < BK; ++k", "k <= BK; ++k")), tmp_path)
    assert 1 <= len(found["findings"]) <= 5
    for finding in found["findings"]:
        assert finding["file"] == "03_smem/exercise.cu"
        assert "thread (" in finding["text"]
        assert f"at 03_smem/exercise.cu:{finding['line']}" in finding["text"]


LAUNCH = "if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error"


@pytest.mark.parametrize(
    ("code", "error"),
    drawn(
        [
            ("", None),
            ('printf("here\\n");', None),
            ("if (p.alpha == -1 && p.beta == 1) return;", None),
            ('if (p.alpha == -1 && p.beta == 1) printf("there\\n");', None),
            ("if (p.alpha == -1 && p.beta == 1) std::exit(0);", "ended_program"),
            ("if (p.alpha == -1 && p.beta == 1) std::abort();", "ended_program"),
            ("if (p.alpha == -1 && p.beta == 1) throw 42;", "threw"),
            ("if (p.alpha == -1 && p.beta == 1) for (volatile int i = 0;; i = i + 1) {}", "endless_loop"),
        ],
        2,
    ),
)
def test_two_processes_report_what_one_does(code: str, error: str | None, tmp_path: Path) -> None:
    """Problems with these scalars are of the second process, which begins with them."""
    include = ('#include "common/gemm.hpp"', '#include "common/gemm.hpp"\n#include <cstdlib>')
    program = compiled(tmp_path, changed((LAUNCH, f"{code} {LAUNCH}"), include))
    seen = []
    for options in ([], ["--halves"]):
        done = run(program, "--seed=7", "--patience=2", *options)
        printed, brace, report = done.stdout.partition("{")
        found = json.loads(brace + report)
        del found["seconds"]
        if found["trace"]:
            del found["trace"]["seconds"]
        seen.append((done.returncode, found, printed, done.stderr))
    assert seen[0] == seen[1]
    assert seen[0][0] == (0 if "-1" not in code or "there" in code else 1)
    if seen[0][0]:
        assert found["cases"][-1]["id"] == "products"
    last = found["cases"][-1]["error"]
    assert (last and last["id"]) == error


def test_a_sum_that_begins_nowhere(tmp_path: Path) -> None:
    if "-ftrivial-auto-var-init=pattern" not in toolchain_as_built("check")["kernel"]:
        pytest.skip("g++ 11 leaves variables what they are")
    found = failed_case(changed(("float acc = 0.0f;", "float acc;")), tmp_path)
    assert found["id"] == "one_tile"  # by chance it is 0 in the first launches
    assert "everywhere" in {pattern["id"] for pattern in found["verdict"]["patterns"]}


def test_progress_goes_where_it_is_told(right: Path, tmp_path: Path) -> None:
    with (tmp_path / "progress").open("w") as file:
        done = subprocess.run(
            [right, f"--progress-fd={file.fileno()}"], capture_output=True, text=True, check=False, pass_fds=[file.fileno()]
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "progress").read_text().startswith("progress 0 ")
    done = run(right, "--progress-fd=77")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gemm_check: --progress-fd ")


def test_what_cannot_be_run_is_refused_in_one_sentence(right: Path, tmp_path: Path) -> None:
    tile = compiled(tmp_path, changed(("tile{BM, BN, BK}", "tile{BM, 0, BK}")))
    for done, part in (
        (run(tile), "tile "),
        (run(right, "--goal=64x64"), "--goal "),
        (run(right, "--goal=64x64x64x64"), "--goal "),
        (run(right, "--goal=64x0x64"), "--goal "),
        (run(right, "--seed=x"), "--seed "),
        (run(right, "--like=sm_1"), "sm_1"),
        (run(right, "--time=64x64x64"), "--time"),
        (run(right, f"--output={tmp_path}"), "--output "),
    ):
        assert (done.returncode, done.stdout) == (2, "")
        assert part in done.stderr
        assert len(done.stderr.splitlines()) == 1
