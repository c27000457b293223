"""Every lesson compiles for every architecture it may meet, and nothing spills; with GEMM_WERROR=1 without a warning.

Needs nvcc, no GPU. Where there is no nvcc these tests are skipped: the kernels then run on the CPU device alone.
"""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from conftest import drawn

from runner.core import doctor
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
    return [nvcc, "-ccbin", str(compiler.path), "-std=c++17", "-I", str(ROOT), "-Xcompiler=-Wall,-Wextra", *warnings]


@cache
def architectures() -> list[int]:
    """Those of ARCHITECTURES that this nvcc knows."""
    listed = subprocess.run([find_nvcc() or "", "--list-gpu-arch"], capture_output=True, text=True, check=True).stdout
    return [a for a in ARCHITECTURES if f"compute_{a}" in listed.split()]


def lowest_architecture(kernel: Path) -> int:
    """The lowest min_sm of the types that the lesson offers: third in its descriptor, and second in each further offer."""
    text = kernel.read_text()
    match = re.search(r'Lesson lesson\{\s*"[^"]+",\s*gemm::DType::\w+,\s*(\d+),', text)
    assert match, f"{kernel} has no descriptor of the usual form"
    others = re.findall(r"\{\s*gemm::DType::\w+,\s*(\d+),", text[match.end() :])
    return min(map(int, [match[1], *others]))


def compile_kernel(kernel: Path, output: Path) -> subprocess.CompletedProcess[str]:
    wanted = [a for a in architectures() if a >= lowest_architecture(kernel)]
    targets = [f"--generate-code=arch=compute_{a},code=sm_{a}" for a in wanted]
    command = [*nvcc_command(), "--threads=0", "-Xptxas=-v", "-lineinfo", *targets, "-c", str(kernel), "-o", str(output)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


pytestmark = pytest.mark.skipif(find_nvcc() is None, reason="no nvcc on this machine")


@pytest.mark.parametrize("lesson", drawn(lessons(), 2))
def test_compiles_for_every_architecture_without_spilling(lesson: str, tmp_path: Path) -> None:
    result = compile_kernel(ROOT / folder_of(lesson) / "kernel.cu", tmp_path / "kernel.o")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "spill stores" in result.stdout + result.stderr, "ptxas reported nothing: the check would be empty"
    found = ERRORS.search(result.stdout + result.stderr)
    assert not found, f"{lesson}: {found[0] if found else ''}\n{result.stderr}"


@pytest.mark.parametrize("lesson", drawn(lessons(), 3))
def test_compiles_for_a_gpu_that_skips_it(lesson: str, tmp_path: Path) -> None:
    """The build is for the GPU of the machine: a lesson that is skipped there must not stop the others."""
    kernel, oldest = ROOT / folder_of(lesson) / "kernel.cu", ARCHITECTURES[0]
    if lowest_architecture(kernel) <= oldest:
        pytest.skip("runs there")
    target = f"--generate-code=arch=compute_{oldest},code=sm_{oldest}"
    command = [*nvcc_command(), target, "-c", str(kernel), "-o", str(tmp_path / "kernel.o")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_lowest_architecture_is_that_of_any_type(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.cu"
    kernel.write_text('Lesson lesson{"x",\n gemm::DType::bf16,\n 80,\n tile, launch, owner, {{gemm::DType::fp16, 75, address}}};')
    assert lowest_architecture(kernel) == 75


def test_a_spilling_kernel_is_noticed(tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.cu"
    kernel.write_text(
        """// Lesson lesson{"x", gemm::DType::fp32, 90,
        __global__ void __launch_bounds__(1024) spills(float* p) {
            float kept[256];
            for (int i = 0; i < 256; ++i) kept[i] = p[i * 1024 + threadIdx.x];
            __syncthreads();
            for (int r = 0; r < 9; ++r)
                for (int i = 0; i < 256; ++i) kept[i] = kept[i] * kept[(i * 7 + r) % 256];
            for (int i = 0; i < 256; ++i) p[i * 1024 + threadIdx.x] = kept[i];
        }"""
    )
    result = compile_kernel(kernel, tmp_path / "kernel.o")
    assert result.returncode == 0, result.stderr
    assert ERRORS.search(result.stdout + result.stderr)
