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
@pytest.mark.parametrize("lesson", in_sample(lessons(), 1))
def test_same_bytes_each_time(lesson: str, tmp_path: Path) -> None:
    first, second = (pictures.draw(ROOT, descriptors()[lesson], tmp_path / stem) for stem in "ab")
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
        assert one.stat().st_size > 5000


@pytest.mark.parametrize("lesson", ["01_naive", "02_coalesced"])
def test_what_predict_asks_is_not_in_the_picture(lesson: str, tmp_path: Path) -> None:
    texts = " ".join(drawn(lesson, tmp_path))
    assert "C: 32×32 elements" in texts
    assert not re.search(r"\d+ sectors|\d+ B\b|\b33\b|\b5\b", texts)


@pytest.mark.parametrize("lesson", ["06a_float4", "06b_warp_tile"])
def test_nor_are_wavefronts_of_what_a_warp_reads_and_stores(lesson: str, tmp_path: Path) -> None:
    texts = " ".join(drawn(lesson, tmp_path))
    assert {"06a_float4": "thread 20", "06b_warp_tile": "This lesson"}[lesson] in texts
    shown = " ".join(" ".join(svg_texts(file)) for file in sorted(tmp_path.glob("*.svg")))
    assert len(shown) > len(texts) and "wavefront" not in shown


def test_a_screen_shows_most_of_a_picture() -> None:
    """Of those that are published, which test_markdown.py holds against the lessons."""
    files = sorted((ROOT / "plots" / "pictures").glob("*.png"))
    ours = [file for file in files if re.fullmatch(rf"({'|'.join(lessons())})(_[a-z]+)?", file.stem)]  # not ./gemm inspect's
    assert len(ours) >= len(lessons())
    for file in ours:
        width, height = struct.unpack(">II", file.read_bytes()[16:24])
        assert width == 1200 and height <= 1600, file.name


def test_smem_shows_tiles_and_who_loads_them(tmp_path: Path) -> None:
    texts = drawn("03_smem", tmp_path)
    assert {"As", "Bs", "C", "k0 += 32", "k0"} <= texts.keys()
    threads = svg_texts(tmp_path / "a_threads.svg")
    assert {"As[32][32]", "Bs[32][32]", "__syncthreads()", "this thread"} <= threads.keys()


def test_wmma_shows_fragments_and_not_what_predict_asks(tmp_path: Path) -> None:
    texts = drawn("09a_wmma", tmp_path, F=32)
    assert {"Small squares: fragments of 32×32 elements", "one mma_sync: acc[1][1] += a_frag[1]·b_frag[1]"} <= texts.keys()
    assert {"warp 1", "warp 3"} <= texts.keys()
    assert not {"warp 0", "warp 4"} & texts.keys()  # 0 is the one whose fragments are drawn
    assert not re.search(r"\d+ (loads|products)", " ".join(texts))
    assert {"A: 16×16", "B: 16×8", "C: 16×8", "32 times c += a·b", "2048"} <= svg_texts(tmp_path / "a_instruction.svg").keys()
    way = svg_texts(tmp_path / "a_way.svg")
    assert {"load_matrix_sync", "mma_sync", "store_matrix_sync"} <= way.keys()
    assert way["32 bits"] == 2 and way["16 bits"] == 4


def test_ring_of_tensor_cores_shows_its_stages_in_time(tmp_path: Path) -> None:
    texts = drawn("09c_ring", tmp_path)
    assert {"09c_ring: 4 stages in time", "stage 3", "use 4", "copy 7"} <= texts.keys()
    assert {"stage 4", "copy 8"} <= drawn("09c_ring", tmp_path, STAGES=5).keys()


def test_reading_ahead_shows_what_a_warp_does_in_a_tile(tmp_path: Path) -> None:
    assert {"n: 1", "n+1: 1", "n+2: 0", "n+3", "n+4"} <= drawn("09d_read_ahead", tmp_path).keys()


def test_whole_rows_shows_what_one_store_writes(tmp_path: Path) -> None:
    results = " ".join(drawn("09e_whole_rows", tmp_path))
    assert "16 rows of a warp tile, 64 columns, 128 bytes each." in results
    assert not re.search(r"\d+ (sectors|stores)", results)  # Predict asks


def test_persistent_shows_two_tiles_and_their_order(tmp_path: Path) -> None:
    texts = drawn("09f_persistent", tmp_path)
    assert texts["fill"] == texts["write"] == 4
    assert {"row by row", "down groups of 8 rows"} <= svg_texts(tmp_path / "a_order.svg").keys()


def test_tma_shows_a_map_an_mbarrier_and_the_swizzle(tmp_path: Path) -> None:
    texts = drawn("10a_swizzle", tmp_path, BK=16)
    assert {"address", "sizes[0] = K", "strides[0]: bytes from row to row"} <= texts.keys()
    assert texts["1"] == texts["2"] == 2  # a box in the matrix, and in shared memory
    barrier = svg_texts(tmp_path / "a_barrier.svg")
    assert barrier["waits"] == 7 and barrier["A, B"] == 2  # each moment lets one of the two parities go on
    swizzle = " ".join(svg_texts(tmp_path / "a_banks.svg"))
    assert "128-byte swizzle" in swizzle and "wavefront" not in swizzle  # Predict asks for these
    for unit in range(8):
        assert [tma.wavefronts(range(8), unit, how) for how in (False, True)] == [8, 1]
        for row in range(8):  # Swizzle<3, 4, 3> of the address, in bytes
            assert 128 * row + 16 * tma.place(row, unit, True) == mma_sync.swizzle(3, 4, 3, 128 * row + 16 * unit)


def test_transposed_shows_the_way_of_four_values_the_buffers_in_time_and_the_banks(tmp_path: Path) -> None:
    texts = drawn("10b_transposed", tmp_path, STAGES=5)
    assert {"As: a row of A is a row", "At: a step is a row", "a_frag[0] to [3], at step 6"} <= texts.keys()
    assert [texts[f"A[5][{k}]"] for k in range(3, 9)] == [0, 1, 1, 1, 1, 0]
    assert all(texts[str(part)] >= 2 for part in (1, 2, 3, 4))  # on the way, and in the list below
    time = svg_texts(tmp_path / "a_time.svg")
    assert {"10b_transposed: two At and 5 stages in time", "At number 1", "stage 4"} <= time.keys() and "stage 5" not in time
    assert f"A column of an At is a round of {transposed._INNER} steps." in " ".join(time)
    kernel = (ROOT / "10_tma" / "b_transposed" / "kernel.cu").read_text(encoding="utf-8")
    assert f"constexpr int INNER = {transposed._INNER};" in kernel
    banks = svg_texts(tmp_path / "a_banks.svg")
    assert banks["bank 0"] == banks["bank 31"] == 3
    assert banks["lane 0"] == 2 and all(banks[f"lane {lane}"] == 1 for lane in (*range(1, 8), 16, 24))  # a read, and a write
    for file in tmp_path.glob("*.svg"):
        assert not re.search(r"wavefronts?\b", " ".join(svg_texts(file)))  # Predict asks for these:
    for chunk in range(8):  # eight lanes have a chunk of a row each, in as many places, which are Swizzle<3, 4, 3>'s
        assert sorted(transposed.place(row, chunk) for row in range(8)) == list(range(8))
        for row in range(8):
            assert 128 * row + 16 * transposed.place(row, chunk) == mma_sync.swizzle(3, 4, 3, 128 * row + 16 * chunk)


def test_pictures_follow_the_descriptor(tmp_path: Path) -> None:
    small = replace(descriptors()["02_coalesced"], block=(16, 16, 1), constants={"BM": 16, "BN": 16, "BK": 1})
    texts = svg_texts(pictures.draw(ROOT, small, tmp_path / "a")[1])
    assert {"warp 7", "C: 16×16 elements"} <= texts.keys()
    texts = drawn("08a_ring", tmp_path, STAGES=5)
    assert "08a_ring: a ring of 5 stages" in texts


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
    with pytest.raises(UserError, match=r"has no picture\(lesson\), which draws"):
        pictures.draw(tmp_path, descriptors()["01_naive"], tmp_path / "a")


def test_python_m_plots_draws_what_is_built_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMM_DEVICE", "cpu")
    monkeypatch.setenv("GEMM_NO_INSTALL", "1")
    expected = descriptors()
    with alone("build"):
        assert described() == expected


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
    compiler = shutil.which("c++") or shutil.which("g++")
    if not compiler:
        pytest.skip("no C++ compiler")
    (tmp_path / "a.cpp").write_text(FRAGMENTS)
    include = [f"-I{ROOT}", f"-I{ROOT / 'common' / 'cpu' / 'include'}"]
    subprocess.run([compiler, "-std=c++20", *include, tmp_path / "a.cpp", "-o", tmp_path / "a"], check=True)
    found = subprocess.run([tmp_path / "a"], check=True, capture_output=True, text=True).stdout.splitlines()
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
    assert drawn("09b_mma_sync", tmp_path)["5"] == 8  # a lane: four registers of A, two of B, two pairs of sums
    texts = svg_texts(tmp_path / "a_swizzle.svg")
    assert {"As, plain", f"As, Swizzle<{a}>", "Bs, plain", f"Bs, Swizzle<{b}>"} <= texts.keys()
    assert "wavefront" not in " ".join(texts)  # Predict asks for these:
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
    compiler = shutil.which("c++") or shutil.which("g++")
    if not compiler:
        pytest.skip("no C++ compiler")
    (tmp_path / "a.cpp").write_text(WGMMA)
    include = [f"-I{ROOT}", f"-I{ROOT / 'common' / 'cpu' / 'include'}"]
    subprocess.run([compiler, "-std=c++20", *include, tmp_path / "a.cpp", "-o", tmp_path / "a"], check=True)
    found = subprocess.run([tmp_path / "a"], check=True, capture_output=True, text=True).stdout.splitlines()
    sums = [wgmma.sum_element(thread, e) for thread in range(128) for e in range(64)]
    places = {(row, wgmma.chunk_at(row, place)): 128 * row + 16 * place for row in range(8) for place in range(8)}
    assert found == [f"{row} {col}" for row, col in sums] + [str(places[row, unit]) for row in range(8) for unit in range(8)]


def test_wgmma_shows_owners_the_atom_and_the_descriptor(tmp_path: Path) -> None:
    texts = drawn("11a_one_stage", tmp_path, BN=256)
    assert {"B: 16×256", "A: 64×16", "sums: 64×256, registers"} <= texts.keys()
    assert svg_texts(tmp_path / "a_sums.svg")["5"] == 4
    atom = svg_texts(tmp_path / "a_atom.svg")
    assert {"steps 16 … 31", "start + 32 B"} <= atom.keys()
    descriptor = svg_texts(tmp_path / "a_descriptor.svg")
    assert descriptor["SBO"] == 2 and descriptor["LBO"] == 1 and {"120 … 127", "64 … 127"} <= descriptor.keys()
    for file in tmp_path.glob("*.svg"):
        assert not re.search(r"\b(wavefronts|clocks|640|8192)\b", " ".join(svg_texts(file)))  # Predict and the text


def test_the_ring_of_wgmma_follows_the_descriptor(tmp_path: Path) -> None:
    texts = drawn("11b_ring", tmp_path, STAGES=3)
    assert {"11b_ring: a ring of 3 stages in time", "stage 2", "tensor cores"} <= texts.keys() and "stage 3" not in texts
    assert {"As: 128×64", "Bs: 64×256", "sums of warpgroup 1: 64×256"} <= svg_texts(tmp_path / "a_tile.svg").keys()


def test_producer_and_consumers_follow_the_descriptor(tmp_path: Path) -> None:
    texts = drawn("12_warp_specialized", tmp_path, STAGES=3, PRODUCER_REGISTERS=24, CONSUMER_REGISTERS=240)
    assert {"producer", "consumer 1", "stage 2"} <= texts.keys() and not {"consumer 2", "stage 3"} & texts.keys()
    assert texts["5"] == 1  # still on its way: tile 2's stage has been given back, and none before it is multiplied
    registers = svg_texts(tmp_path / "a_registers.svg")
    assert (registers["168"], registers["24"], registers["240"]) == (3, 1, 2)
