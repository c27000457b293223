"""./gemm descriptor: matrix descriptors and tensor maps read by the real gemm_descriptor, a lesson's own from a fake trace."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest
from approvals import Approve, cells
from conftest import Checkout, seed
from inspect_synthetic import hopper, naive, tracer
from plots_synthetic import svg_texts

from plots import descriptor as picture
from runner.core.results import ROOT
from runner.inspect import descriptor
from runner.inspect.trace_types import Box, Descriptor


def real() -> Path:
    program = ROOT / "build" / "cpu" / "bin" / "gemm_descriptor"
    if not program.exists():
        pytest.skip("build/cpu/bin/gemm_descriptor is not built; ./gemm descriptor 0 builds it")
    return program


def wgmma(*options: str) -> Descriptor:
    found = descriptor.read(real(), options)
    assert found["kind"] == "wgmma"
    return found


def box(*options: str) -> Box:
    found = descriptor.read(real(), options)
    assert found["kind"] == "tensor_map"
    return found


@pytest.fixture
def reading(checkout: Checkout) -> Checkout:
    """A checkout with the real gemm_descriptor."""
    checkout.program("gemm_descriptor", f'exec {real()} "$@"\n')
    checkout.with_plots()
    return checkout


def test_fields_make_the_number_and_the_number_the_fields() -> None:
    numbers = random.Random(seed())
    for _ in range(4):
        start, leading, stride = (16 * numbers.randrange(1 << 14) for _ in range(3))
        base, swizzle = numbers.randrange(8), numbers.choice([0, 128, 64, 32])  # in the order of their codes
        fields = [
            f"--start={start}",
            f"--leading={leading}",
            f"--stride={stride}",
            f"--base-offset={base}",
            f"--swizzle={swizzle}",
        ]
        found = wgmma(*fields)
        # The PTX ISA's "Matrix Descriptor Format", written out here once more.
        code = [0, 128, 64, 32].index(swizzle)
        number = start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | base << 49 | code << 62
        assert found["number"] == f"0x{number:016x}", fields
        assert [field["value"] for field in found["fields"]] == [start, leading, stride, base, swizzle]
        assert wgmma(f"--number={number}") == wgmma(f"--number={found['number']}") == found


A = ("--start=1024", "--stride=1024", "--swizzle=128", "--tile=64x64")
B = ("--start=1024", "--leading=8192", "--stride=1024", "--swizzle=128", "--rows=128", "--major=row", "--tile=128x64")


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (A, 0),
        ((*A[1:], "--start=1088", "--k=32"), 0),
        (B, 0),
        ((*B[1:], "--start=3072", "--k=16"), 0),
        (("--start=512", "--stride=512", "--swizzle=64", "--tile=64x32"), 0),
        (("--start=0", "--leading=1024", "--stride=128", "--tile=64x64"), 0),
        (("--start=1024", "--stride=1024", "--tile=64x64", "--tile-swizzle=128"), 120),  # swizzled in the map alone
        (("--start=1024", "--leading=1024", "--stride=8192", *B[3:]), 128),  # LBO and SBO exchanged
        (("--start=9216", "--stride=1024", "--swizzle=128", "--tile=64x64", "--k=16", "--tile-at=1024"), 128),  # past the atom
    ],
)
def test_what_is_read_is_held_against_the_tile_that_is_meant(options: tuple[str, ...], wrong: int) -> None:
    found = wgmma(*options)
    assert found["wrong"] == wrong == sum(chunk["wrong"] for chunk in found["chunks"])
    marked = [cell for row in descriptor.cells(found).values() for cell in row if "!" in cell]
    assert bool(marked) == bool(wrong)
    assert len(descriptor._wrong(found)) == 1


def test_the_drawing_of_a_swizzle() -> None:
    rows = descriptor.cells(wgmma(*A))
    assert rows[8] == ["0,0", "0,8", *["·"] * 6]
    assert rows[9] == ["1,8", "1,0", *["·"] * 6]
    assert rows[15] == [*["·"] * 6, "7,8", "7,0"]
    assert descriptor.cells(wgmma("--start=0"))[0] == [
        "0,0+",
        "1,0+",
        "2,0+",
        "3,0+",
        "4,0+",
        "5,0+",
        "6,0+",
        "7,0+",
    ]  # no strides


def test_a_box_lies_as_the_engine_puts_it() -> None:
    found = box("--size=4096x100", "--box=32x16", "--swizzle=128")
    assert (found["box_bytes"], found["shared_bytes"], found["row_bytes"]) == (2048, 2048, 128)
    assert found["fields"]["globalStrides"] == [16384]
    rows = descriptor.cells(found)
    assert rows[0] == [f"0,{4 * cell}" for cell in range(8)]
    assert rows[3] == [f"3,{4 * (cell ^ 3)}" for cell in range(8)]
    short = box("--type=bf16", "--size=64x64", "--box=16x4", "--swizzle=64")
    assert (short["box_bytes"], short["shared_bytes"]) == (128, 256)
    assert box(*descriptor.options_of(short["fields"])) == short


def test_the_command_tells_and_draws(reading: Checkout, approve: Approve) -> None:
    done = reading.run("descriptor", "0x4000004000010000", "--tile", "64x64", "--plot", status=0)
    approve(cells(done.stdout) + done.stderr)
    assert (reading.root / "out" / "descriptor" / "descriptor.png").exists()
    wrong = reading.run(
        "descriptor", "--start", "1024", "--stride", "1024", "--tile", "64x64", "--tile-swizzle", "128", "--json", status=1
    )
    assert json.loads(wrong.stdout)["wrong"] == 120


def test_a_lessons_own(reading: Checkout, approve: Approve) -> None:
    found = hopper("02_coalesced")
    found["lines"][0]["tensor_map"] = box("--type=bf16", "--size=128x128", "--box=64x64", "--swizzle=128")["fields"]
    tracer(reading, naive("01_naive"), found)
    approve(cells(reading.run("descriptor", "02", status=0).stdout))
    all_ = json.loads(reading.run("descriptor", "02", "--json").stdout)
    assert [(entry["kind"], entry.get("major"), entry.get("rows")) for entry in all_] == [
        ("tensor_map", None, None), ("wgmma", "k", 64), ("wgmma", "row", 128),
    ]  # fmt: skip


REFUSED = """
0xzz
99999999999999999999
0x10 --start 16
--start 24
--start 0 --k 16
--size 64x64 --box 64x64 --swizzle 128
--size 63x64 --box 32x64
--size 64x64
--size 64x64 --box 8
01
02 --rows 8"""


def test_what_cannot_be_read_is_one_sentence(reading: Checkout, approve: Approve) -> None:
    tracer(reading, naive("01_naive"), hopper("02_coalesced"))
    approve("\n".join(reading.fails("descriptor", *asked.split(), words=()) for asked in REFUSED.splitlines()))


def test_the_pictures_hatch_what_is_wrong(tmp_path: Path, approve: Approve) -> None:
    wrong = wgmma("--start=1024", "--stride=1024", "--tile=64x64", "--tile-swizzle=128")
    said = svg_texts(picture.draw(wrong, tmp_path / "wrong")[1])
    drawn = svg_texts(picture.draw(box("--size=64x64", "--box=32x64", "--swizzle=128"), tmp_path / "box")[1])
    approve("\n".join(text for text in (*sorted(said), *sorted(drawn)) if re.search("[a-z]{4}", text)))
