"""Every lesson compiles for every architecture it may meet, and nothing spills; with GEMM_WERROR=1 without a warning.

Needs nvcc, no GPU. Where there is no nvcc these tests are skipped: the kernels then run on the CPU device alone.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from conftest import drawn, toolchain

from runner.core import doctor
from runner.core.descriptors import Descriptor, Variant, described
from runner.core.results import ROOT, folder_of, lessons

ARCHITECTURES = (75, 80, 86, 89, 90, 120)
# C75xx: ptxas serialised wgmma or ignored setmaxnreg. The lesson still runs, and is not what its text says.
ERRORS = re.compile(r"\bC75\d\d\b|[1-9]\d* bytes (stack frame|spill stores|spill loads)")


def find_nvcc() -> str | None:
    homes = [os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"]
    return shutil.which("nvcc") or shutil.which("nvcc", path=os.pathsep.join(f"{h}/bin" for h in homes if h))


def nvcc_command() -> list[str]:
    """nvcc with the host compiler that the build has."""
    nvcc = find_nvcc()
    assert nvcc
    compiler = doctor.choose_compiler(Path(nvcc))
    assert compiler and not compiler.flaw, "no g++ that nvcc takes"
    warnings = ["-Werror=all-warnings"] if os.environ.get("GEMM_WERROR") == "1" else []
    return [nvcc, "-ccbin", str(compiler.path), "-std=c++20", "-I", str(ROOT), "-Xcompiler=-Wall,-Wextra", *warnings]


@cache
def architectures() -> list[int]:
    """Those of ARCHITECTURES that this nvcc knows."""
    listed = subprocess.run([find_nvcc() or "", "--list-gpu-arch"], capture_output=True, text=True, check=True).stdout
    return [a for a in ARCHITECTURES if f"compute_{a}" in listed.split()]


def lowest_architecture(descriptor: Descriptor) -> int:
    """Of any variant that the lesson takes."""
    return min(variant.from_sm or int(str(variant.exactly)[:-1]) for variant in descriptor.variants)


def wanted(descriptor: Descriptor) -> list[str]:
    """The architectures that the lesson is for: the one that its descriptor names alone, or all from the lowest on."""
    alone = {variant.exactly for variant in descriptor.variants if variant.exactly}
    return sorted(alone) if alone else [str(a) for a in architectures() if a >= lowest_architecture(descriptor)]


def described_here(lesson: str) -> Descriptor:
    toolchain()  # which has built it
    return described(ROOT / "build" / "cpu", lesson)


def compile_kernel(kernel: Path, output: Path, wanted: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """For all of these architectures, or for one that is drawn: the later lessons' kernels take half a minute for each."""
    targets = [f"--generate-code=arch=compute_{a},code=sm_{a}" for a in drawn(wanted, 1)]
    command = [*nvcc_command(), "--threads=0", "-Xptxas=-v", "-lineinfo", *targets, "-c", str(kernel), "-o", str(output)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


pytestmark = pytest.mark.skipif(find_nvcc() is None, reason="no nvcc on this machine")


@pytest.mark.parametrize("lesson", drawn(lessons(), 1))
def test_compiles_for_every_architecture_without_spilling(lesson: str, tmp_path: Path) -> None:
    result = compile_kernel(ROOT / folder_of(lesson) / "kernel.cu", tmp_path / "kernel.o", wanted(described_here(lesson)))
    assert result.returncode == 0, result.stdout + result.stderr
    assert "spill stores" in result.stdout + result.stderr, "ptxas reported nothing: the check would be empty"
    found = ERRORS.search(result.stdout + result.stderr)
    assert not found, f"{lesson}: {found[0] if found else ''}\n{result.stderr}"


@pytest.mark.parametrize("lesson", drawn(lessons(), 1))
def test_compiles_for_a_gpu_that_skips_it(lesson: str, tmp_path: Path) -> None:
    """The build is for the GPU of the machine: a lesson that is skipped there must not stop the others."""
    kernel, oldest = ROOT / folder_of(lesson) / "kernel.cu", ARCHITECTURES[0]
    here = described_here(lesson)
    if lowest_architecture(here) <= oldest:
        pytest.skip("runs there")
    if any(variant.exactly for variant in here.variants):
        pytest.skip("is compiled for its own architecture, whatever the GPU is")
    target = f"--generate-code=arch=compute_{oldest},code=sm_{oldest}"
    command = [*nvcc_command(), target, "-c", str(kernel), "-o", str(tmp_path / "kernel.o")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_a_lesson_is_compiled_for_the_architectures_of_its_descriptor() -> None:
    lesson = described_here("01_naive")
    both = replace(lesson, variants=(Variant("bf16", 80, None), Variant("fp16", 75, None)))
    assert lowest_architecture(both) == 75
    assert wanted(both) == [str(a) for a in architectures() if a >= 75]
    assert wanted(replace(lesson, variants=(Variant("bf16", None, "90a"), Variant("fp16", None, "90a")))) == ["90a"]


def test_a_spilling_kernel_is_noticed(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.cu"
    kernel.write_text(
        """__global__ void __launch_bounds__(1024) spills(float* p) {
            float kept[256];
            for (int i = 0; i < 256; ++i) kept[i] = p[i * 1024 + threadIdx.x];
            __syncthreads();
            for (int r = 0; r < 9; ++r)
                for (int i = 0; i < 256; ++i) kept[i] = kept[i] * kept[(i * 7 + r) % 256];
            for (int i = 0; i < 256; ++i) p[i * 1024 + threadIdx.x] = kept[i];
        }"""
    )
    result = compile_kernel(kernel, tmp_path / "kernel.o", ["90"])
    assert result.returncode == 0, result.stderr
    assert ERRORS.search(result.stdout + result.stderr)
