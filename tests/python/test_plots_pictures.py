"""The lessons' pictures: counts that follow from the descriptors, and files that do not change by themselves."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import alone, descriptors
from conftest import drawn as in_sample
from plots_synthetic import svg_texts

from plots import pictures, sectors
from plots.__main__ import described
from runner.core import memory
from runner.core.results import ROOT, UserError, lessons

pytestmark = pytest.mark.usefixtures("labels_alone")

mma_sync = pictures.module_of(ROOT / "09_tensorcore" / "b_mma_sync" / "picture.py")
tma = pictures.module_of(ROOT / "10_tma" / "a_swizzle" / "picture.py")
transposed = pictures.module_of(ROOT / "10_tma" / "b_transposed" / "picture.py")
wgmma = pictures.module_of(ROOT / "11_wgmma" / "a_one_stage" / "picture.py")


def drawn(lesson: str, tmp_path: Path, **constants: int) -> Counter[str]:
    """The words of a lesson's picture, with other `constants` than its descriptor says."""
    described = descriptors()[lesson]
    return svg_texts(pictures.draw(ROOT, replace(described, constants={**described.constants, **constants}), tmp_path / "a")[1])


@pytest.mark.pixels
@pytest.mark.parametrize("lesson", in_sample(pictures.lessons_with_pictures(ROOT), 1))
def test_same_bytes_each_time(lesson: str, tmp_path: Path) -> None:
    first, second = (pictures.draw(ROOT, descriptors()[lesson], tmp_path / stem) for stem in "ab")
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
        assert one.stat().st_size > 5000


# What a lesson's Predict asks, and its pictures must not say. What they do say is held by those that are committed, which
# test_markdown.py compares with what is drawn now.
ASKED = {
    "01_naive": r"\d+ sectors|\d+ B\b|\b33\b(?! TB)|\b5\b",
    "02_coalesced": r"\d+ sectors|\d+ B\b|\b33\b|\b5\b",
    "06a_float4": "wavefront",
    "06b_warp_tile": "wavefront",
    "09a_wmma": r"\d+ (loads|products)",
    "09b_mma_sync": "wavefront",
    "09e_whole_rows": r"\d+ (sectors|stores)",
    "10a_swizzle": "wavefront",
    "10b_transposed": r"wavefronts?\b",
    "11a_one_stage": r"\b(wavefronts|clocks|640|8192)\b",
}


@pytest.mark.parametrize("lesson", ASKED)
def test_what_predict_asks_is_not_in_the_pictures(lesson: str, tmp_path: Path) -> None:
    drawn(lesson, tmp_path)
    files = "a.svg" if lesson == "09a_wmma" else "*.svg"  # its other pictures are of one instruction
    shown = {file.name: " ".join(svg_texts(file)) for file in tmp_path.glob(files)}
    assert all(shown.values())
    assert {name: found[0] for name, text in shown.items() if (found := re.search(ASKED[lesson], text))} == {}


@pytest.mark.parametrize(
    ("lesson", "constants", "picture", "there", "gone"),
    [
        ("08a_ring", {"STAGES": 5}, "a", {"08a_ring: a ring of 5 stages"}, set()),
        ("09a_wmma", {"F": 32}, "a", {"Small squares: fragments of 32×32 elements"}, {"warp 4"}),
        ("09a_wmma", {"F": 32}, "a", {"one mma_sync: acc[1][1] += a_frag[1]·b_frag[1]"}, {"warp 0"}),  # whose fragments are drawn
        ("10b_transposed", {"STAGES": 5}, "a_time", {"10b_transposed: two At and 5 stages in time", "stage 4"}, {"stage 5"}),
        ("11a_one_stage", {"BN": 256}, "a", {"B: 16×256", "A: 64×16", "sums: 64×256, registers"}, set()),
        ("11b_ring", {"STAGES": 3}, "a", {"11b_ring: a ring of 3 stages in time", "stage 2"}, {"stage 3"}),
        ("12_warp_specialized", {"STAGES": 3}, "a", {"producer", "consumer 1", "stage 2"}, {"consumer 2", "stage 3"}),
        (
            "12_warp_specialized",
            {"PRODUCER_REGISTERS": 24, "CONSUMER_REGISTERS": 240},
            "a_registers",
            {"168", "24", "240"},
            set(),
        ),
    ],
)
def test_pictures_follow_the_descriptor(
    lesson: str, constants: dict[str, int], picture: str, there: set[str], gone: set[str], tmp_path: Path
) -> None:
    drawn(lesson, tmp_path, **constants)
    texts = svg_texts(tmp_path / f"{picture}.svg").keys()
    assert there <= texts and not gone & texts


def test_a_screen_shows_most_of_a_picture() -> None:
    """Of those that are published, which test_markdown.py holds against the lessons."""
    files = sorted((ROOT / "plots" / "pictures").glob("*.png"))
    ours = [file for file in files if re.fullmatch(rf"({'|'.join(lessons())})(_[a-z]+)?", file.stem)]  # not ./gemm inspect's
    assert len(ours) >= len(lessons())
    for file in ours:
        width, height = struct.unpack(">II", file.read_bytes()[16:24])
        assert width == 1200 and height <= 1600, file.name


def test_the_swizzle_of_tma_removes_the_conflicts() -> None:
    for unit in range(8):
        assert [tma.wavefronts(range(8), unit, how) for how in (False, True)] == [8, 1]
        for row in range(8):  # Swizzle<3, 4, 3> of the address, in bytes
            assert 128 * row + 16 * tma.place(row, unit, True) == mma_sync.swizzle(3, 4, 3, 128 * row + 16 * unit)


def test_the_way_of_four_values_through_a_transposed_tile(tmp_path: Path) -> None:
    texts = drawn("10b_transposed", tmp_path, STAGES=5)
    assert [texts[f"A[5][{k}]"] for k in range(3, 9)] == [0, 1, 1, 1, 1, 0]
    assert all(texts[str(part)] >= 2 for part in (1, 2, 3, 4))  # on the way, and in the list below
    kernel = (ROOT / "10_tma" / "b_transposed" / "kernel.cu").read_text(encoding="utf-8")
    assert f"constexpr int INNER = {transposed._INNER};" in kernel
    banks = svg_texts(tmp_path / "a_banks.svg")
    assert banks["lane 0"] == 2 and all(banks[f"lane {lane}"] == 1 for lane in (*range(1, 8), 16, 24))  # a read, and a write
    for chunk in range(8):  # eight lanes have a chunk of a row each, in as many places, which are Swizzle<3, 4, 3>'s
        assert sorted(transposed.place(row, chunk) for row in range(8)) == list(range(8))
        for row in range(8):
            assert 128 * row + 16 * transposed.place(row, chunk) == mma_sync.swizzle(3, 4, 3, 128 * row + 16 * chunk)


def test_a_picture_follows_the_block(tmp_path: Path) -> None:
    small = replace(descriptors()["02_coalesced"], block=(16, 16, 1), constants={"BM": 16, "BN": 16, "BK": 1})
    texts = svg_texts(pictures.draw(ROOT, small, tmp_path / "a")[1])
    assert {"warp 7", "C: 16×16 elements"} <= texts.keys()


@pytest.mark.parametrize("lesson", ["01_naive", "02_coalesced"])
def test_sectors_are_those_that_were_counted(lesson: str) -> None:
    """The picture has a thread's place from its picture.py, the counts have it from the kernel."""
    used = sectors.needed(descriptors()[lesson], 3, x_is_row=lesson == "01_naive")[1]
    lines = json.loads((ROOT / "plots" / "results" / "counts.json").read_text())["lessons"][lesson]["lines"]
    counted = {line["array"]: line["sectors"] // line["requests"] for line in lines if line["op"] == "load"}
    assert {matrix: memory.sectors(4 * (4096 * row + col) for row, col in used[matrix]) for matrix in used} == counted


def test_a_picture_without_its_function_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "01_naive").mkdir()
    (tmp_path / "01_naive" / "picture.py").write_text("")
    with pytest.raises(UserError, match=r"01_naive/picture\.py .*picture\(lesson\)"):
        pictures.draw(tmp_path, descriptors()["01_naive"], tmp_path / "a")


def test_python_m_plots_draws_what_is_built_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMM_DEVICE", "cpu")
    monkeypatch.setenv("GEMM_NO_INSTALL", "1")
    expected = descriptors()
    with alone("build"):
        assert described() == expected


def printed(code: str, folder: Path) -> list[str]:
    """What a C++ program of the project's headers prints."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if not compiler:
        pytest.skip("no C++ compiler")
    (folder / "a.cpp").write_text(code)
    include = [f"-I{ROOT}", f"-I{ROOT / 'common' / 'cpu' / 'include'}"]
    subprocess.run([compiler, "-std=c++20", *include, folder / "a.cpp", "-o", folder / "a"], check=True)
    return subprocess.run([folder / "a"], check=True, capture_output=True, text=True).stdout.splitlines()


FRAGMENTS = """
#include <cstdio>
#include "common/ptx/fragments.hpp"
#include "common/parts/swizzle.hpp"
int main() {
    const auto print = [](gemm::ptx::Position p) { std::printf("%d %d\\n", p.row, p.col); };
    for (int lane = 0; lane < 32; ++lane) {
        for (int i = 0; i < 8; ++i) print(gemm::ptx::fragment_a(lane, i / 2, i % 2));
        for (int i = 0; i < 4; ++i) print(gemm::ptx::fragment_b(lane, i / 2, i % 2));
        for (int i = 0; i < 4; ++i) print(gemm::ptx::fragment_c(lane, i));
    }
    for (int i = 0; i < 4096; ++i) {
        std::printf("%d %d\\n", gemm::Swizzle<2, 3, 3>::apply(i), gemm::Swizzle<3, 3, 4>::apply(i));
    }
}
"""


def test_fragments_and_swizzles_are_those_of_the_headers(tmp_path: Path) -> None:
    """The picture has them from the PTX ISA and from CuTe, common/ from its own formulas."""
    found = printed(FRAGMENTS, tmp_path)
    drawn = [
        element(lane, i)
        for lane in range(32)
        for element, count in ((mma_sync.a_element, 8), (mma_sync.b_element, 4), (mma_sync.c_element, 4))
        for i in range(count)
    ]
    swizzled = [tuple(mma_sync.swizzle(*s, i) for s in (mma_sync.A_SWIZZLE, mma_sync.B_SWIZZLE)) for i in range(4096)]
    assert found == [f"{one} {other}" for one, other in drawn + swizzled]


def test_the_swizzles_are_the_kernels_and_remove_the_conflicts(tmp_path: Path) -> None:
    source = (ROOT / "09_tensorcore" / "b_mma_sync" / "kernel.cu").read_text(encoding="utf-8")
    a, b = (", ".join(map(str, s)) for s in (mma_sync.A_SWIZZLE, mma_sync.B_SWIZZLE))
    assert f"Swizzle<{a}>::apply(row * BK + k)" in source
    assert f"Swizzle<{b}>::apply(k * BN + col)" in source
    drawn("09b_mma_sync", tmp_path)
    assert {f"As, Swizzle<{a}>", f"Bs, Swizzle<{b}>"} <= svg_texts(tmp_path / "a_swizzle.svg").keys()
    for pitch, swizzle, plain in ((4, mma_sync.A_SWIZZLE, 4), (16, mma_sync.B_SWIZZLE, 8)):
        for unit in range(pitch):
            found = [mma_sync.wavefronts(mma_sync.places(pitch, unit, how)) for how in (None, swizzle)]
            assert found == [plain, 1]


WGMMA = """
#include <cstdio>
#include "common/ptx/wgmma_descriptor.hpp"
using namespace gemm::ptx;
int main() {
    for (unsigned thread = 0; thread < 128; ++thread) {
        for (unsigned e = 0; e < 64; ++e) {
            std::printf("%u %u\\n", wgmma_sum(thread, e).row, wgmma_sum(thread, e).column);
        }
    }
    const WgmmaFields fields{.start = 2048, .stride = 1024, .swizzle = WgmmaSwizzle::bytes128};
    for (unsigned row = 0; row < 8; ++row) {
        for (unsigned k = 0; k < 64; k += 8) {
            std::printf("%u\\n", wgmma_address(fields, Major::k, row, k) - 2048);
        }
    }
}
"""


def test_what_wgmma_reads_and_who_owns_its_sums_are_the_headers(tmp_path: Path) -> None:
    """The picture has both from the PTX ISA, common/ from its own formulas."""
    found = printed(WGMMA, tmp_path)
    sums = [wgmma.sum_element(thread, e) for thread in range(128) for e in range(64)]
    places = {(row, wgmma.chunk_at(row, place)): 128 * row + 16 * place for row in range(8) for place in range(8)}
    assert found == [f"{row} {col}" for row, col in sums] + [str(places[row, unit]) for row in range(8) for unit in range(8)]
