"""The pictures of ./gemm inspect --plot."""

from __future__ import annotations

from pathlib import Path

import pytest
from approvals import Approve
from inspect_synthetic import hang, line, naive, smem
from plots_synthetic import svg_texts

from plots import access, autopsy

pytestmark = pytest.mark.usefixtures("labels_alone")


@pytest.mark.parametrize(("numbers", "text"), [([], ""), ([3], "3"), ([2, 0, 1, 5, 5], "0–2, 5"), ([0, 2], "0, 2")])
def test_spans(numbers: list[int], text: str) -> None:
    assert access.spans(numbers) == text


@pytest.mark.parametrize(
    ("lanes", "text"), [([4, 4], "lane 4"), ([0, 1, 2], "lanes 0–2"), ([0, 8, 16, 24], "4 lanes"), ([24, 25, 31], "3 lanes")]
)
def test_lanes_label(lanes: list[int], text: str) -> None:
    assert access.lanes_label(lanes) == text


def test_words_of_wide_and_of_narrow_accesses() -> None:
    sample = {"lanes": [0, 9], "offsets": [112, 128]}
    assert access.words(sample, 16) == {0: {28: [0], 29: [0], 30: [0], 31: [0]}, 1: {0: [9], 1: [9], 2: [9], 3: [9]}}
    assert access.words({"lanes": [0, 1, 2], "offsets": [0, 2, 4]}, 2) == {0: {0: [0, 1], 1: [2]}}


def drawn(entry: dict, folder: Path) -> set[str]:
    paths = access.draw({"lesson": "05_x"}, [entry], folder)
    assert [path.suffix for path in paths] == [".png", ".svg"]
    return set(svg_texts(paths[1]))


def test_what_is_said_of_sectors(tmp_path: Path, approve: Approve) -> None:
    """Of a column, neighbors, a broadcast, float4 and of fewer lanes."""
    column, *others = (
        drawn(entry, tmp_path)
        for entry in (
            line(30, "A", "load", 8, 32, 4, offsets=[512 * lane for lane in range(32)]),
            line(30, "B", "load", 8, 4, 4),
            line(30, "A", "load", 8, 1, 1, offsets=[0] * 32),
            line(30, "A", "load", 8, 16, 16, width=16),
            line(34, "C", "store", 8, 1, 1, offsets=[1000, 1004, 1008]),
        )
    )
    assert {"lane 0", "lane 31", "15 872", *map(str, range(1, 33))} <= column
    assert "lanes 0–31" in others[1]
    approve("\n".join(text for texts in (column, *others) for text in sorted(texts) if "sector" in text or "part" in text))


@pytest.mark.parametrize(
    ("offsets", "width", "text", "most"),
    [
        ([4 * lane for lane in range(32)], 4, "128 B used, no bank conflict", 1),
        ([0] * 32, 4, "4 B used, no bank conflict", 1),
        ([128 * lane for lane in range(32)], 4, "128 B used, 32-way bank conflict", 32),
        ([132 * lane for lane in range(32)], 4, "128 B used, no bank conflict", 1),
        ([8 * lane for lane in range(32)], 4, "128 B used, 2-way bank conflict", 2),
        ([16 * lane for lane in range(32)], 16, "512 B used, at most 4 words of a bank", 4),
        ([0, 4, 8], 4, "12 B used, no bank conflict", 1),
    ],
)
def test_banks(offsets: list[int], width: int, text: str, most: int, tmp_path: Path) -> None:
    texts = drawn(line(38, "As", "load", 8, most, 1, shared=True, width=width, offsets=offsets), tmp_path)
    assert {text, f"most: {most}", "different words wanted of each bank"} <= texts


def test_who_owns_what(tmp_path: Path) -> None:
    found = smem()
    side = range(64)
    found["owners"] = {
        "array": "C", "block": 3, "rows": [128 + row for row in side for _ in side], "cols": [col for _ in side for col in side],
        "threads": [row // 8 * 64 + col for row in side for col in side],
    }  # fmt: skip
    paths = access.draw(found, [], tmp_path)
    texts = svg_texts(paths[1])
    assert paths[0].name == "03_smem_owners.png"
    assert any(text.startswith("block 3: 64×64 elements, 512 threads") for text in texts)
    assert {"dark: thread 0, 8 elements", "128", "191"} <= set(texts)
    assert {f"warp {warp}" for warp in range(16)} <= set(texts)
    assert texts["9"] == 8  # a column of the corner


@pytest.mark.parametrize(
    "owner", [{"rows": [7], "cols": [9], "threads": [31]}, {"rows": [0, 3], "cols": [0, 3], "threads": [0, 5]}]
)
def test_small_and_ragged_tiles(owner: dict, tmp_path: Path) -> None:
    found = {**naive("01_naive"), "owners": {"array": "C", "block": 0, **owner}}
    assert len(access.draw(found, [], tmp_path)) == 2


def test_a_hang_is_drawn_with_who_waits_where(tmp_path: Path) -> None:
    paths = autopsy.draw("10a_swizzle", hang("10a_swizzle"), tmp_path)
    assert [path.name for path in paths] == ["10a_swizzle_hang.png", "10a_swizzle_hang.svg"]
    said = set(svg_texts(paths[1]))
    for words in ("10a_swizzle: no thread can go on", "full[0]", "2: 0", "1: 1", "8 192 of 8 208 bytes", "1 of 1 arrivals",
                  "threads 0–127 wait for parity 0 at kernel.cu:60", "127 of 128 arrivals",
                  "thread 128 waits for parity 0 at kernel.cu:40", "threads 129–130 have returned",
                  "threads 0–127 last: mbarrier.arrive, kernel.cu:70",
                  "Likely: full[0] was told to expect 16 bytes more than come."):  # fmt: skip
        assert words in said, words
    again = autopsy.draw("10a_swizzle", {**hang("10a_swizzle"), "likely": None}, tmp_path / "b")
    assert not any(text.startswith("Likely") for text in svg_texts(again[1]))


def test_nothing_to_draw(tmp_path: Path) -> None:
    found = {**naive("01_naive"), "owners": {"array": "C", "block": 0, "rows": [], "cols": [], "threads": []}}
    assert access.draw(found, [line(1, "A", "load", 0, 0, 0, offsets=[])], tmp_path) == []


@pytest.mark.pixels
def test_names_tell_widths_apart_and_equal_input_gives_equal_bytes(tmp_path: Path) -> None:
    two = [line(30, "shared memory", "load", 8, 4, 4, width=width) for width in (4, 16)]
    paths = access.draw({"lesson": "05_x"}, two, tmp_path / "a")
    assert [path.name for path in paths[::2]] == [f"05_x_line30_shared_memory_load_{width}.png" for width in (4, 16)]
    assert all(path.stat().st_size > 5000 for path in paths)
    again = access.draw({"lesson": "05_x"}, two, tmp_path / "b")
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in again]
