"""gemm_check as the runner makes it: compiled and linked by build/cpu/check.json without CMake, run as a program."""

from __future__ import annotations

import json
import resource
import shlex
import subprocess
from pathlib import Path

import pytest
from conftest import drawn

from runner.core import compiling

ROOT = Path(__file__).resolve().parent.parent.parent
CPU = ROOT / "build" / "cpu"
KERNEL = (ROOT / "03_smem" / "kernel.cu").read_text(encoding="utf-8").replace("lesson_03", "exercise_03")


def how() -> dict:
    """check.json, where the libraries that it names are built."""
    file = CPU / "check.json"
    spec = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"link_after": ["/missing.a"]}
    if not all(Path(part).exists() for part in spec["link_after"] if part.startswith("/")):
        pytest.skip("gemm_check_main is not built; ./gemm check 01 builds it")
    return spec


def compiled(folder: Path, text: str) -> Path:
    """A gemm_check of the kernel, which messages call 03_smem/exercise.cu."""
    source = compiling.Source(text, "03_smem/exercise.cu", "exercise_03", lesson="03_smem")
    return compiling.compile_program({**how(), "device": "cpu"}, [source], folder)[0]


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
    spec = how()
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


@pytest.mark.parametrize(
    ("edit", "case", "part"),
    drawn(
        [
            (("A[row * lda + k0 + x]", "A[(k0 + x) * lda + row]"), "one_tile", "A is read transposed"),
            (("Bs[k][x];", "Bs[x][k];"), "one_tile", "B is read transposed"),
            (("&C[row * ldc + col]", "&C[col * ldc + row]"), "one_tile", "rows and columns are swapped"),
            (("acc += As", "acc = As"), "one_tile", "each product replaces the sum"),
            (
                ("acc += As[y][k] * Bs[k][x]", "acc += int(As[y][k] * Bs[k][x])"),
                "one_tile",
                "less precise than FP32: each product",
            ),
            (("for (int k = 0; k < BK; ++k)", "acc = 0; for (int k = 0; k < BK; ++k)"), "tiles", "over the last tile of K alone"),
            (("alpha * acc + beta * *c;", "alpha * acc + *c;"), "beta", "beta is taken for 1"),
            (("alpha * acc + beta * *c;", "alpha * (acc + beta * *c);"), "alpha", "alpha multiplies C, too"),
            (("alpha == 0.0f ? 0 : K;", "K;"), "alpha_zero", "A or B was read, which alpha = 0 must not do"),
        ],
        2,
    ),
)
def test_a_mistake_is_named_where_it_first_matters(edit: tuple[str, str], case: str, part: str, tmp_path: Path) -> None:
    found = failed_case(changed(edit), tmp_path)
    assert found["id"] == case
    assert part in found["verdict"]["text"]


@pytest.mark.parametrize(
    ("edit", "case", "kind", "beyond"),
    drawn(
        [
            (("row >= M || col >= N", "row > M || col >= N"), "edges", "out_of_bounds", 1),
            (("k < BK; ++k", "k <= BK; ++k"), "one_tile", "shared_out_of_bounds", 0),
            (("        __syncthreads();  // everyone", "        // everyone"), "tiles", "race", 0),
            (("As[BM][BK]", "As[BM][BK - 1]"), "one_tile", "shared_out_of_bounds", 0),
            (("As[BM][BK]", "As[BM / 2][BK]"), "one_tile", "shared_out_of_bounds", 0),
            (("As[y][x] =", "As[y + 1][x] ="), "one_tile", "shared_out_of_bounds", 0),
            (("As[y][x] =", "As[y][x * y] ="), "one_tile", "shared_out_of_bounds", 0),
            (("Bs[y][x] =", "Bs[y - 4][x] ="), "one_tile", "shared_out_of_bounds", 0),
            (("row * ldc + col]", "row * ldc * N + col]"), "one_tile", "out_of_bounds", 33),  # where it ends in a crash
            (
                ("return;\n    float* c", "return;\n    const_cast<float*>(A)[row * lda] = 0;\n    float* c"),
                "one_tile",
                "write_to_input",
                0,
            ),
            (("*c = beta", "volatile float old = *c; (void)old;\n    *c = beta"), "one_tile", "forbidden_read", 0),
            (
                ("__shared__ float As[BM][BK];", "extern __shared__ float all[]; auto As = reinterpret_cast<float(*)[BK]>(all);"),
                "one_tile",
                "no_dynamic_shared_memory",
                0,
            ),
        ],
        3,
    ),
)
def test_what_the_tracer_finds(edit: tuple[str, str], case: str, kind: str, beyond: int, tmp_path: Path) -> None:
    found = failed_case(changed(edit), tmp_path)
    assert found["id"] == case
    assert 1 <= len(found["findings"]) <= 5
    finding = next(f for f in found["findings"] if f["id"] == kind)
    assert (finding["file"], finding["beyond"]) == ("03_smem/exercise.cu", beyond)
    assert "thread (" in finding["text"]
    assert f"at 03_smem/exercise.cu:{finding['line']}" in finding["text"]


def test_a_launch_that_is_refused(tmp_path: Path) -> None:
    found = failed_case(changed(("if (p.M == 0 || p.N == 0) return;", "")), tmp_path)
    assert (found["id"], found["verdict"]) == ("empty", None)
    assert found["error"] == {"id": "launch_refused", "text": "The launch was refused: a grid of 0 blocks (0×1×1)."}


@pytest.mark.parametrize(
    "edit",  # without and with barriers, and one that prints
    drawn(
        [("k < BK; ++k", "k < BK; k += 0"), ("k0 += BK", "k0 += 0"), ("k < BK; ++k) acc", 'k < BK; printf("again\\n")) acc')], 1
    ),
)
def test_a_kernel_that_never_ends_is_reported_in_seconds(edit: tuple[str, str], tmp_path: Path) -> None:
    begin = computed()
    found = failed_case(changed(edit), tmp_path)
    assert computed() - begin < 60  # 7 s
    assert (found["id"], found["verdict"], found["findings"]) == ("one_tile", None, [])
    assert found["error"]["id"] == "endless_loop"


LAUNCH = "if (p.M == 0 || p.N == 0) return;  // an empty grid is a launch error"


@pytest.mark.parametrize(
    ("code", "error"),
    drawn(
        [
            (
                "for (volatile int i = 0;; i = i + 1) {}",
                "launch() of 03_smem did not return within 2 s: probably an endless loop in it.",
            ),
            ("std::exit(0);", "The file's code ended the program (exit or abort)."),
            ("std::exit(1);", "The file's code ended the program (exit or abort)."),
            ("std::abort();", "The file's code ended the program (exit or abort)."),
            ("throw 42;", "launch() of 03_smem threw an exception."),
            ('throw std::runtime_error("no");', "launch() of 03_smem threw an exception: no."),
        ],
        1,
    ),
)
def test_launch_that_does_not_return(code: str, error: str, tmp_path: Path) -> None:
    include = ('#include "common/gemm.hpp"', '#include "common/gemm.hpp"\n#include <cstdlib>\n#include <stdexcept>')
    at_first = failed_case(changed((LAUNCH, code), include), tmp_path, "--patience=2")
    assert (at_first["id"], at_first["error"]["text"], at_first["verdict"]) == ("one_tile", error, None)
    later = failed_case(changed((LAUNCH, f"if (p.beta != 0) {{ {code} }} {LAUNCH}"), include), tmp_path, "--patience=2")
    assert (later["id"], later["error"]["text"]) == ("beta", error)


def test_a_kernel_that_ends_the_program(tmp_path: Path) -> None:
    include = ('#include "common/gemm.hpp"', '#include "common/gemm.hpp"\n#include <cstdlib>')
    found = failed_case(changed(("float acc = 0.0f;", "float acc = 0.0f; if (beta != 0) std::exit(0);"), include), tmp_path)
    assert (found["id"], found["error"]["text"]) == ("beta", "The file's code ended the program (exit or abort).")
    found = failed_case(changed(("float acc = 0.0f;", "float acc = 0.0f; if (beta != 0) __trap();")), tmp_path)
    assert found["id"] == "beta"
    assert found["error"]["id"] == "trap"
    assert "thread (0,0,0): __trap() at 03_smem/exercise.cu:" in found["error"]["text"]


@pytest.mark.parametrize(
    "code",
    drawn(
        [
            "",
            'printf("here\\n");',
            "if (p.alpha == -1 && p.beta == 1) return;",
            'if (p.alpha == -1 && p.beta == 1) printf("there\\n");',
            "if (p.alpha == -1 && p.beta == 1) std::exit(0);",
            "if (p.alpha == -1 && p.beta == 1) std::abort();",
            "if (p.alpha == -1 && p.beta == 1) throw 42;",
            "if (p.alpha == -1 && p.beta == 1) for (volatile int i = 0;; i = i + 1) {}",
        ],
        2,
    ),
)
def test_two_processes_report_what_one_does(code: str, tmp_path: Path) -> None:
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


def test_a_result_that_no_kernel_computed(tmp_path: Path) -> None:
    loop = (
        "for (std::int64_t i = 0; i < p.M * p.N; ++i) {"
        "  const std::int64_t row = i / p.N, col = i % p.N;"
        "  float& c = static_cast<float*>(p.C)[row * p.ldc + col], acc = 0;"
        "  for (std::int64_t k = 0; k < p.K && p.alpha != 0; ++k)"
        "    acc += static_cast<const float*>(p.A)[row * p.lda + k] * static_cast<const float*>(p.B)[k * p.ldb + col];"
        "  c = p.beta == 0 ? p.alpha * acc : p.alpha * acc + p.beta * c; } return;"
    )
    found = failed_case(changed((LAUNCH, loop)), tmp_path)
    assert found["verdict"]["passed"]
    assert [(f["id"], f["text"]) for f in found["findings"]] == [
        ("no_kernel", "C is right, but no kernel wrote it: launch() computed it on the host.")
    ]


def test_a_sum_that_begins_nowhere(tmp_path: Path) -> None:
    if "-ftrivial-auto-var-init=pattern" not in how()["kernel"]:
        pytest.skip("g++ 11 leaves variables what they are")
    found = failed_case(changed(("float acc = 0.0f;", "float acc;")), tmp_path)
    assert found["id"] == "one_tile"  # by chance it is 0 in the first launches
    assert "pattern: all of C is wrong" in found["verdict"]["text"]


def test_a_counter_of_8_bits(tmp_path: Path) -> None:
    found = failed_case(changed(("A[row * lda + k0 + x]", "A[row * lda + (k0 & 255) + x]")), tmp_path)
    assert (found["id"], found["what"]) == ("k_tail", "K beyond 512")


def test_progress_goes_where_it_is_told(right: Path, tmp_path: Path) -> None:
    with (tmp_path / "progress").open("w") as file:
        done = subprocess.run(
            [right, f"--progress-fd={file.fileno()}"], capture_output=True, text=True, check=False, pass_fds=[file.fileno()]
        )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "progress").read_text().startswith("progress 0 ")
    done = run(right, "--progress-fd=77")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "gemm_check: --progress-fd must be an open file descriptor, and 77 is none.\n"


def test_a_draft_compiles_and_its_unused_names_are_no_matter(tmp_path: Path) -> None:
    found = failed_case(changed(("for (int k = 0; k < BK; ++k) acc += As[y][k] * Bs[k][x];", "int later = 0;")), tmp_path)
    assert "these elements are 0: the sum over k was never added up" in found["verdict"]["text"]


def test_what_cannot_be_run_is_refused_in_one_sentence(right: Path, tmp_path: Path) -> None:
    tile = compiled(tmp_path, changed(("tile{BM, BN, BK}", "tile{BM, 0, BK}")))
    for done, part in (
        (run(tile), "tile must be from 1 to 1024, and are 32, 0 and 32."),
        (run(right, "--goal=64x64"), '--goal must be MxNxK, such as 128x128x128, and is "64x64".'),
        (run(right, "--goal=64x64x64x64"), "--goal must be MxNxK"),
        (run(right, "--goal=64x0x64"), "A size in --goal must be a whole number from 1"),
        (run(right, "--seed=x"), "--seed must be a whole number"),
        (run(right, "--like=sm_1"), "sm_1"),
        (run(right, "--time=64x64x64"), "--time"),
        (run(right, f"--output={tmp_path}"), "--output must name a file"),
    ):
        assert (done.returncode, done.stdout) == (2, "")
        assert part in done.stderr
        assert len(done.stderr.splitlines()) == 1
