"""./gemm doctor --measure: what gemm_ceilings says is shown and recorded; and its kernels do what they claim, by their
machine code (needs nvcc and cuobjdump, no GPU)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from approvals import Approve, cells, refusals
from conftest import Checkout
from plots_synthetic import ceilings
from test_nvcc import find_nvcc, nvcc_command

from runner.core.results import ROOT
from runner.inspect import machine_code

# gemm_ceilings as the fake build produces it: prints progress, and writes $FAKES/ceilings.json.
PROGRAM = """
while [ $# -gt 0 ]; do [ "$1" = --output ] && output=$2; shift; done
echo "progress 1 2 FFMA" >&2
cat "$FAKES/ceilings.json" >"$output"
"""


@pytest.fixture
def gpu(checkout: Checkout) -> Checkout:
    checkout.gpu()
    checkout.program("gemm_ceilings", PROGRAM)
    measured = {key: value for key, value in ceilings().items() if key in ("schema", "device", "figures")}
    (checkout.fakes / "ceilings.json").write_text(json.dumps(measured))
    return checkout


def test_what_was_measured_is_shown_and_written(gpu: Checkout, approve: Approve) -> None:
    done = gpu.run("doctor", "--measure", status=0)
    approve(cells(done.stdout) + done.stderr)
    written = json.loads((gpu.root / "out" / "x999-test-ceilings.json").read_text())
    assert written["figures"] == ceilings()["figures"]
    assert written["gpu"] == "NVIDIA X999 <Test>"
    assert written["sm_clock_mhz"] == 1980
    assert written["commit"] is None  # this checkout is in no repository


def test_as_json(gpu: Checkout) -> None:
    done = gpu.run("doctor", "--measure", "--json", status=0)
    assert json.loads(done.stdout)["figures"]["FFMA"]["value"] == 60


def test_recorded_on_the_published_gpu(gpu: Checkout) -> None:
    measured = json.loads((gpu.fakes / "ceilings.json").read_text())
    measured["device"]["name"] = "NVIDIA H200"
    (gpu.fakes / "ceilings.json").write_text(json.dumps(measured))
    commit = gpu.commit()
    for _ in range(2):  # what the first recording wrote is no change of a source
        gpu.run("doctor", "--measure", "--record", status=0)
    recorded = json.loads((gpu.root / "plots" / "results" / "h200-ceilings.json").read_text())
    assert recorded["commit"] == commit
    assert (gpu.root / "README.md").read_text() == "tables"


def test_another_gpu_publishes_nothing(gpu: Checkout) -> None:
    gpu.commit()
    gpu.run("doctor", "--measure", "--record", status=0)
    assert (gpu.root / "plots" / "results" / "x999-test-ceilings.json").exists()
    assert not (gpu.root / "README.md").exists()


def test_what_cannot_be_measured_is_one_sentence(gpu: Checkout, approve: Approve) -> None:
    gpu.env["GIT_CEILING_DIRECTORIES"] = str(gpu.root.parent)
    said = [refusals(gpu, ["doctor --record", "doctor --measure --record"])]
    gpu.env["GEMM_DEVICE"] = "cpu"
    said.append(refusals(gpu, ["doctor --measure"]))
    gpu.env["GEMM_DEVICE"] = "cuda"
    (gpu.fakes / "ceilings.json").write_text('{"schema": 9}')
    for body in (
        PROGRAM,
        "echo 'gemm_ceilings: The GPU is gone.' >&2\nexit 2\n",
        'echo "progress 1 2 FFMA" >&2\nkill -SEGV $$\n',
    ):
        gpu.program("gemm_ceilings", body)
        said.append(gpu.fails("doctor", "--measure", words=()))
    approve("\n".join(said))
    assert not (gpu.root / "out" / "x999-test-ceilings.json").exists()


# The machine code.


def cuobjdump() -> str | None:
    nvcc = find_nvcc()
    return shutil.which("cuobjdump") or (shutil.which("cuobjdump", path=str(Path(nvcc).parent)) if nvcc else None)


def function(sass: str, kernel: str) -> machine_code.Function:
    return next(one for one in machine_code.functions(sass) if kernel in one.name)


@pytest.fixture(scope="module")
def sass(tmp_path_factory: pytest.TempPathFactory) -> str:
    dump = cuobjdump()
    if not find_nvcc() or not dump:
        pytest.skip("no nvcc and cuobjdump on this machine")
    cubin = tmp_path_factory.mktemp("ceilings") / "ceilings.cubin"
    source = ROOT / "runner" / "programs" / "ceilings.cu"
    command = [*nvcc_command(), "-arch=sm_90", "-cubin", "-Xptxas=-v", "-o", cubin, source]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "spill stores" in done.stderr
    assert not re.search(r"[1-9]\d* bytes (stack frame|spill)", done.stderr), done.stderr
    return subprocess.run([dump, "--dump-sass", str(cubin)], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("kernel", "opcode", "least", "others"),
    [  # others: the most instructions of the loop beside these
        ("4ffma", "FFMA", 512, 5),
        ("18ffma_outer_product", "FFMA", 512, 5),
        ("11shared_read", "LDS.128", 16, 40),  # two IADD3 of three operands a load, and the loop
        ("7l2_read", "LDG.E.128.STRONG.GPU", 8, 72),
    ],
)
def test_the_loop_does_what_is_measured(kernel: str, opcode: str, least: int, others: int, sass: str) -> None:
    bodies = [Counter(one.opcode for one in loop.own) for loop in machine_code.loops(function(sass, kernel))]
    body = max(bodies, key=lambda counts: counts[opcode])
    assert body[opcode] >= least, bodies
    assert sum(body.values()) - body[opcode] <= others, bodies


def test_a_copy_loads_all_before_it_stores(sass: str) -> None:
    accesses = [one.kind for one in function(sass, "4copyE").code if one.kind in ("LDG.E.128", "STG.E.128")]
    assert accesses == ["LDG.E.128"] * 4 + ["STG.E.128"] * 4
