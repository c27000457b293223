"""The lessons' pictures: counts that follow from the kernels, and files that do not change by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from plots_synthetic import svg_texts

from plots import pictures
from runner.results import ROOT, UserError


def kernel(tmp_path: Path, lesson: str, *changes: tuple[str, str]) -> Path:
    """A root that holds `lesson` with its kernel changed."""
    source = (ROOT / lesson / "kernel.cu").read_text(encoding="utf-8")
    for old, new in changes:
        assert old in source
        source = source.replace(old, new)
    (tmp_path / lesson).mkdir()
    (tmp_path / lesson / "kernel.cu").write_text(source, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("lesson", pictures.PICTURES)
def test_same_bytes_each_time(lesson: str, tmp_path: Path) -> None:
    first, second = (pictures.draw(ROOT, lesson, tmp_path / stem) for stem in "ab")
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
        assert one.stat().st_size > 5000


def test_naive_touches_33_sectors(tmp_path: Path) -> None:
    texts = svg_texts(pictures.draw(ROOT, "01_naive", tmp_path / "a")[1])
    assert {"32 + 1 = 33 sectors per step and warp", "A: 32 sectors", "B: 1 sector", "1056 B moved, 132 B used"} <= texts.keys()


def test_coalesced_touches_5_sectors(tmp_path: Path) -> None:
    texts = svg_texts(pictures.draw(ROOT, "02_coalesced", tmp_path / "a")[1])
    assert {"1 + 4 = 5 sectors per step and warp", "A: 1 sector", "B: 4 sectors", "160 B moved, 132 B used"} <= texts.keys()


def test_smem_shows_tiles_and_barriers(tmp_path: Path) -> None:
    texts = svg_texts(pictures.draw(ROOT, "03_smem", tmp_path / "a")[1])
    assert {"As[32][32]", "Bs[32][32]", "k0 += 32", "k0"} <= texts.keys()
    assert texts["__syncthreads()"] == 2


def test_pictures_follow_the_kernel(tmp_path: Path) -> None:
    root = kernel(tmp_path, "02_coalesced", ("BM = 32", "BM = 16"), ("BN = 32", "BN = 16"))
    texts = svg_texts(pictures.draw(root, "02_coalesced", tmp_path / "a")[1])
    assert {"2 + 2 = 4 sectors per step and warp", "C: 16×16 elements"} <= texts.keys()


def test_mapping_is_read_from_the_kernel() -> None:
    naive, coalesced, smem = (pictures.read_kernel(ROOT / name / "kernel.cu") for name in ("01_naive", "02_coalesced", "03_smem"))
    assert naive.element(1) == (1, 0)
    assert coalesced.element(1) == (0, 1)
    assert smem.element(1) == (0, 1)
    assert smem.constants["BK"] == 32


def test_an_unreadable_kernel_is_one_sentence(tmp_path: Path) -> None:
    root = kernel(tmp_path, "01_naive", ("const dim3 block(BM, BN);", ""))
    with pytest.raises(UserError, match="kernel.cu does not give"):
        pictures.draw(root, "01_naive", tmp_path / "a")
