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
from conftest import drawn, seed, toolchain

from runner.core import doctor
from runner.core.descriptors import Descriptor, Variant, described
from runner.core.kernel_hash import kernel_sources
from runner.core.results import ROOT, folder_of, lessons

# Of 86 and 89, which have the same limits, the seed takes one. A lesson is compiled for those below its lowest, too: the build is
# for the GPU of the machine, and a lesson that is skipped there must not stop the others.
ARCHITECTURES = (75, 80, 86 + 3 * (seed() % 2), 90, 120)
# What kernels for several architectures ask of __CUDA_ARCH__: from 80 on their code is the same, and is compiled to PTX once.
DISTINGUISHED = (75, 80)
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


def wanted(descriptor: Descriptor) -> list[str]:
    """The architectures to compile for: the one that its descriptor names alone, or all."""
    alone = {variant.exactly for variant in descriptor.variants if variant.exactly}
    return sorted(alone) if alone else [str(a) for a in architectures()]


def lowest_architecture(descriptor: Descriptor) -> int:
    """Of any variant that the lesson takes."""
    return min(variant.from_sm or int(str(variant.exactly)[:-1]) for variant in descriptor.variants)


def found_wrong(said: str, lowest: int = 0) -> list[str]:
    """What ptxas says of kernels for `lowest` and later architectures. Below, where they only stop, they may have a frame."""
    entries = re.split(r"(?=ptxas info *: Compiling entry function)", said)
    of = [re.search(r"' for 'sm_(\d+)", entry) for entry in entries]
    return [
        error[0]
        for sm, entry in zip(of, entries, strict=True)
        if not sm or int(sm[1]) >= lowest
        if (error := ERRORS.search(entry))
    ]


def targets(wanted: Sequence[str]) -> list[str]:
    """nvcc's options for them."""
    by_code: dict[str, list[str]] = {}
    for name in wanted:
        code = name if name.endswith("a") else str(max(a for a in DISTINGUISHED if a <= int(name)))
        by_code.setdefault(code, []).append(f"sm_{name}")
    return [f"--generate-code=arch=compute_{code},code=[{','.join(names)}]" for code, names in by_code.items()]


def compile_kernel(kernel: Path, output: Path, wanted: Sequence[str], *more: str) -> subprocess.CompletedProcess[str]:
    """For all of these architectures, or for one that is drawn: the later lessons' kernels take half a minute for each."""
    command = [
        *nvcc_command(),
        "-Xptxas=-v",
        "-lineinfo",
        *targets(drawn(wanted, 1)),
        *(more or ["-c"]),
        str(kernel),
        "-o",
        str(output),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


pytestmark = pytest.mark.skipif(find_nvcc() is None, reason="no nvcc on this machine")


@pytest.mark.long
@pytest.mark.parametrize("lesson", drawn(lessons()[::-1], 1))  # the later ones take longer
def test_compiles_for_every_architecture_without_spilling(lesson: str, tmp_path: Path) -> None:
    toolchain()  # which has the lesson say what it is
    here = described(ROOT / "build" / "cpu", lesson)
    result = compile_kernel(ROOT / folder_of(lesson) / "kernel.cu", tmp_path / "kernel.o", wanted(here))
    said = result.stdout + result.stderr
    assert result.returncode == 0, said
    assert "spill stores" in said, "ptxas reported nothing: the check would be empty"
    assert not found_wrong(said, lowest_architecture(here)), said


def test_a_lesson_is_compiled_for_the_architectures_of_its_descriptor() -> None:
    toolchain()
    lesson = described(ROOT / "build" / "cpu", "01_naive")
    assert lowest_architecture(replace(lesson, variants=(Variant("bf16", 80, None), Variant("fp16", 75, None)))) == 75
    assert wanted(lesson) == [str(a) for a in architectures()]
    assert wanted(replace(lesson, variants=(Variant("bf16", None, "90a"), Variant("fp16", None, "90a")))) == ["90a"]
    assert targets(["75", "80", "89", "90", "120"]) == [
        f"--generate-code=arch=compute_{code},code=[{names}]"
        for code, names in (("75", "sm_75"), ("80", "sm_80,sm_89,sm_90,sm_120"))
    ]
    assert targets(["90a"]) == ["--generate-code=arch=compute_90a,code=[sm_90a]"]


def test_code_is_distinguished_by_these_architectures_alone() -> None:
    toolchain()
    several = [lesson for lesson in lessons() if len(wanted(described(ROOT / "build" / "cpu", lesson))) > 1]
    files = {path for lesson in several for path in kernel_sources(ROOT / folder_of(lesson) / "kernel.cu")}
    asked = {number for file in files for number in re.findall(r"__CUDA_ARCH__ [<>=]+ (\d+)", file.read_text(encoding="utf-8"))}
    assert asked == {f"{DISTINGUISHED[1]}0"}


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
    said = result.stdout + result.stderr
    assert found_wrong(said) and found_wrong(said, 90) and not found_wrong(said, 100)
