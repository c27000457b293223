"""The hash of a kernel: what changes it, and what does not."""

from __future__ import annotations

import re
import shutil
from functools import cache
from pathlib import Path

import pytest
from conftest import REPOSITORY, drawn, put

from runner.core import kernel_hash as hashing
from runner.core.kernel_hash import kernel_hash, kernel_sources
from runner.core.results import folder_of, lessons

NVCC_READS = ("element.hpp", "gemm.hpp", "error.hpp", "ptx", "tma", "parts")  # of common/
PTX = """
#ifndef __CUDACC__
#include "common/cpu.hpp"
#endif
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#define TOO_OLD
#endif
namespace gemm::ptx {
struct Here {};
template <int N, class T = float>
__device__ void copy(int (&to)[N], [[maybe_unused]] Here here = {}) {
#ifdef TOO_OLD
    __trap();
#elif defined(__CUDACC__)
    asm volatile("copy;" ::: "memory");
#else
    ::cpu_device::copy(to, 1);
#endif
}
__device__ void wait() {
    asm volatile("wait;");
}
}  // namespace gemm::ptx
"""
KERNEL = """// A kernel.
#include <cuda_runtime.h>
#include "common/gemm.hpp"
#include "common/ptx/copy.hpp"
__global__ void kernel(int* a) { gemm::ptx::copy(a); f("// x"); }
void launch(const gemm::Problem& p) {
    if (p.M == 0) { return; }
    kernel<<<1, 1>>>(p.A);
}
const gemm::Lesson lesson{.name = "09a"};
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A course of one lesson and three headers."""
    put(tmp_path, {
        "CMakeLists.txt": "",
        "09_x/a_y/kernel.cu": KERNEL,
        "common/gemm.hpp": "#pragma once\nstruct Problem {\n    int M;\n};\n",
        "common/cpu.hpp": "void copy(int*, int);\n",
        "common/ptx/copy.hpp": PTX,
    })  # fmt: skip
    return tmp_path


@pytest.mark.parametrize(
    ("file", "old", "new", "other"),
    [
        ("09_x/a_y/kernel.cu", "// A kernel.", "/* Another\n// one. */", False),
        ("09_x/a_y/kernel.cu", "    if (p.M", "\tif  (p.M", False),
        ("09_x/a_y/kernel.cu", "#include <cuda_runtime.h>\n", "", False),
        ("09_x/a_y/kernel.cu", '.name = "09a"', '.name = "09a", .part = 2', False),
        ("09_x/a_y/kernel.cu", "<<<1, 1>>>", "<<<1, 2>>>", True),
        ("09_x/a_y/kernel.cu", '"// x"', '"// y"', True),
        ("09_x/a_y/kernel.cu", "int* a", "inta", True),
        ("common/gemm.hpp", "int M;", "int M, more;", False),
        ("common/cpu.hpp", "int*, int", "int*", False),
        ("common/ptx/copy.hpp", '"copy;"', '"copy.bulk;"', True),
        ("common/ptx/copy.hpp", 'asm volatile("copy', '/* because */ asm  volatile("copy', False),
        ("common/ptx/copy.hpp", "copy(to, 1)", "copy(to, 2)", False),
        ("common/ptx/copy.hpp", '"wait;"', '"wait.all;"', False),
        ("common/ptx/copy.hpp", "struct Here {}", "struct Here { int line; }", True),
        ("common/ptx/copy.hpp", "< 800", "< 900", True),
        ("common/ptx/copy.hpp", "N, class T = float", "N, class T = int", True),
    ],
)
def test_an_edit_changes_the_hash_where_it_changes_the_machine_code(
    root: Path, file: str, old: str, new: str, other: bool
) -> None:
    kernel, edited = root / "09_x/a_y/kernel.cu", root / file
    before, text = kernel_hash(kernel), edited.read_text()
    assert old in text
    edited.write_text(text.replace(old, new))
    assert (kernel_hash(kernel) != before) == other


def test_sources_are_those_that_any_compiler_reads(root: Path) -> None:
    names = [path.relative_to(root.resolve()).as_posix() for path in kernel_sources(root / "09_x/a_y/kernel.cu")]
    assert names == ["09_x/a_y/kernel.cu", "common/gemm.hpp", "common/ptx/copy.hpp", "common/cpu.hpp"]


# ---- of the course itself


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """The lessons' kernels, with headers of their own, and what nvcc reads of common/."""
    (tmp_path / "CMakeLists.txt").touch()
    for name in NVCC_READS:
        source, to = REPOSITORY / "common" / name, tmp_path / "common" / name
        to.parent.mkdir(exist_ok=True)
        shutil.copytree(source, to) if source.is_dir() else shutil.copy(source, to)
    for lesson in lessons():
        (tmp_path / folder_of(lesson)).mkdir(parents=True)
        for file in ("kernel.cu", *(REPOSITORY / folder_of(lesson)).glob("*.hpp")):
            shutil.copy(REPOSITORY / folder_of(lesson) / file, tmp_path / folder_of(lesson))
    return tmp_path


@cache
def of_the_course() -> dict[str, str]:
    return hashes(REPOSITORY)


def hashes(root: Path) -> dict[str, str]:
    return {lesson: kernel_hash(root / folder_of(lesson) / "kernel.cu") for lesson in lessons()}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{path} has no {old!r}"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_the_contract_a_moved_header_and_a_descriptor_change_no_hash(course: Path) -> None:
    before = of_the_course()
    assert before == hashes(course)
    assert len(set(before.values())) == len(before)
    edit(course / "common/gemm.hpp", "struct Problem {", "struct Problem {\n    const void* bias = nullptr;")
    (course / "common/parts/mma.hpp").write_bytes((course / "common/ptx/mma.hpp").read_bytes())
    (course / "common/ptx/mma.hpp").unlink()
    for kernel in (*course.rglob("kernel.cu"), *(course / "common/parts").rglob("*.hpp")):
        text = kernel.read_text(encoding="utf-8").replace("common/ptx/mma.hpp", "common/parts/mma.hpp")
        kernel.write_text(text.replace(".ladder = ", ".part = 3, .ladder = "), encoding="utf-8")
    assert hashes(course) == before


def own_code(course: Path, kernel: Path) -> str:
    """Of a kernel and, where it is a composition, of its parts, which call what other lessons' kernels call themselves."""
    sources = [kernel]
    if "common/parts/scheduler.hpp" in kernel.read_text(encoding="utf-8"):
        sources += [path for path in hashing.kernel_sources(kernel) if path.is_relative_to(course / "common/parts")]
    return "\n".join(hashing.code_of(path.read_text(encoding="utf-8")) for path in sources)


@pytest.mark.parametrize(
    ("header", "function", "old"),
    drawn(
        [
            ("ptx/cp_async.hpp", "cp_async_wait", "cp.async.wait_group"),
            ("ptx/ldmatrix.hpp", r"ldmatrix|store_boxes", "ldmatrix.sync"),
            ("ptx/mma.hpp", "mma_m16n8k16", '"mma.sync.aligned.m16n8k8'),
            ("ptx/tma.hpp", r"tma_store|store_boxes", ".bulk_group [%0"),
            ("ptx/cluster.hpp", "tma_load_multicast", ".multicast::cluster"),
            ("ptx/wgmma.hpp", "fewer_registers", "setmaxnreg.dec"),
            ("ptx/wgmma_operands.hpp", "wgmma", "#define GEMM_WGMMA_SUMS_64 GEMM"),
            ("element.hpp", r"from_float|store2|store_sums\w*|launch_scale|launch_behind_copies", "__float2half_rn"),
            ("tma/operands.cpp", "prepare_operands", "CU_TENSOR_MAP_SWIZZLE_128B"),
            ("tma/operands.cpp", "prepare_operands", "CU_TENSOR_MAP_L2_PROMOTION_L2_256B"),
        ],
        3,
    ),
)
def test_an_edit_in_a_wrapper_changes_just_the_lessons_that_use_it(course: Path, header: str, function: str, old: str) -> None:
    before = of_the_course()
    users = {
        lesson
        for lesson in lessons()
        if re.search(rf"\b(?:{function})(?:_trans)?\b", own_code(course, course / folder_of(lesson) / "kernel.cu"))
    }
    edit(course / "common" / header, old, f"{old}_other")
    assert {lesson for lesson, found in hashes(course).items() if found != before[lesson]} == users
    assert 0 < len(users) < len(before)


def test_headers_that_are_left_out_hold_no_device_code() -> None:
    for name in hashing.HOST_ALONE:
        code = hashing.code_of((REPOSITORY / "common" / name).read_text(encoding="utf-8"))
        assert not re.search(r"__device__|__global__|__constant__|\basm\b", code), name
    contract = (REPOSITORY / "common" / "gemm.hpp").read_text(encoding="utf-8")
    functions = set(re.findall(r"^(?:constexpr|inline) [\w:]+ (\w+)\(", contract, re.MULTILINE))
    assert functions == {"of_type", "ceil_div", "grid_of_tiles"}  # of these a kernel may call ceil_div()


def test_no_line_of_a_header_is_lost() -> None:
    """Each belongs to a definition, so that an edit of it can be seen at all."""
    for path in sorted(path for room in ("ptx", "tma", "parts") for path in (REPOSITORY / "common" / room).rglob("*.?pp")):
        found = hashing._definitions(path, hashing._stamp(path))
        text = " ".join(" ".join(definition.text.split()) for definition in found)
        code = hashing._THROW.sub("throw;", hashing._code(path))
        for line in code.splitlines():
            if not line.startswith(("#", "namespace", "}")):
                assert " ".join(line.split()) in text, f"{path}: {line}"
