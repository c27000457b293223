"""Every lesson compiles for every architecture it may meet, and nothing spills; with GEMM_WERROR=1 without a warning.

Needs nvcc, no GPU. Where there is no nvcc these tests are skipped: the kernels then run on the CPU device alone.
"""

import os
import random
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from conftest import drawn, part, seed, toolchain

from runner.core import doctor
from runner.core.descriptors import Descriptor, Variant, described
from runner.core.results import ROOT, folder_of, lessons

# Every lesson is compiled for the GPU that the published figures are of, and for another that the seed draws, also where it does
# not run: the build is for the GPU of the machine, and a lesson that is skipped there must not stop the others. Kinds differ by
# how much shared memory a block may have; with so many lessons each is met many times.
PUBLISHED = "90"
# Where continuous integration has built everything for that GPU, the compiler's words are beside the objects (.ci/keep-words).
BUILT = os.environ.get("GEMM_CUDA_BUILT") == "1"
OTHERS = ((75,), (80,), (86, 89, 120))
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
def known() -> list[str]:
    """What nvcc lists."""
    return subprocess.run([find_nvcc() or "", "--list-gpu-arch"], capture_output=True, text=True, check=True).stdout.split()


def others() -> list[list[str]]:
    """OTHERS, as far as this nvcc knows them."""
    return [of for kind in OTHERS if (of := [str(a) for a in kind if f"compute_{a}" in known()])]


def wanted(descriptor: Descriptor) -> list[str]:
    """The architectures to compile for: the one that its descriptor names alone, or one that this nvcc knows, and PUBLISHED."""
    alone = {variant.exactly for variant in descriptor.variants if variant.exactly}
    draw = random.Random(f"{seed()} {descriptor.name}")
    return sorted(alone) if alone else [draw.choice(draw.choice(others())), PUBLISHED]


def compile_kernel(kernel: Path, output: Path, wanted: Sequence[str], what: str = "-c") -> subprocess.CompletedProcess[str]:
    """For all of these architectures, or for one that is drawn: the later lessons' kernels take half a minute for each."""
    targets = [f"--generate-code=arch=compute_{a},code=sm_{a}" for a in drawn(wanted, 1)]
    command = [*nvcc_command(), "-Xptxas=-v", "-lineinfo", *targets, what, str(kernel), "-o", str(output)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def look_through(said: str) -> None:
    """Of what ptxas says of a lesson's kernels: nothing spills."""
    assert "spill stores" in said, "ptxas reported nothing: the check would be empty"
    assert not ERRORS.search(said), said


pytestmark = pytest.mark.skipif(find_nvcc() is None, reason="no nvcc on this machine")


@pytest.mark.long
@pytest.mark.parametrize("lesson", drawn(lessons()[::-1], 1))  # the later ones take longer
def test_compiles_for_every_architecture_without_spilling(lesson: str, tmp_path: Path) -> None:
    toolchain()  # which has the lesson say what it is
    architectures = wanted(described(ROOT / "build" / "cpu", lesson))
    of_the_build = list((ROOT / "build" / "cuda" / "CMakeFiles" / f"{lesson}_kernel.dir").rglob("kernel.cu.o.said"))
    if BUILT and of_the_build:  # a copy of the course has no such build
        [words] = of_the_build
        look_through(words.read_text(encoding="utf-8"))
        architectures = architectures[:-1] if part([lesson]) else []
    if architectures:
        result = compile_kernel(ROOT / folder_of(lesson) / "kernel.cu", tmp_path / "kernel.o", architectures)
        said = result.stdout + result.stderr
        assert result.returncode == 0, said
        look_through(said)


def test_a_lesson_is_compiled_for_the_architectures_of_its_descriptor() -> None:
    toolchain()
    lesson = described(ROOT / "build" / "cpu", "01_naive")
    every = [wanted(replace(lesson, name=name)) for name in lessons()]
    assert all((len(found), found[1]) == (2, "90") for found in every)
    assert all(any(found[0] in kind for found in every) for kind in others())
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
