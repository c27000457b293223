"""`./gemm layout`: a layout (shape:stride) and what an operation makes of it, computed by gemm_layout."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TypedDict

from runner.core import doctor, process
from runner.core.build import build


class Shown(TypedDict):
    """A layout that gemm_layout shows."""

    result: str  # shape:stride
    values: list[int]  # its offsets by index, left-most mode fastest; the first 4096
    coalesced: str


def _lines(program: Path, text: str, options: Mapping[str, str | None], *more: str) -> list[str]:
    given = [f"{key}={value}" if value else key for key, value in options.items() if value is not None]
    done = process.stream([program, text, *given, *more], "Computing", process.unseen, whole=True)
    process.require(done, "gemm_layout", (0,), "build it again")
    return done.lines


def layout(text: str, options: Mapping[str, str | None], as_json: bool) -> int:
    """`options`: as gemm_layout has them, "" where one has no operand. A UserError, which is its sentence, where it refuses."""
    cpu = doctor.Device("cpu", None, (), "layouts are computed on the CPU")
    program = build(cpu, doctor.provide(cpu), ["gemm_layout"]) / "bin" / "gemm_layout"
    sys.stdout.write("".join(f"{line}\n" for line in _lines(program, text, options, *(["--json"] if as_json else []))))
    return 0


@cache
def _program() -> Path:
    """Of the device that programs are built for here."""
    device = doctor.choose()
    return build(device, doctor.provide(device), ["gemm_layout"]) / "bin" / "gemm_layout"


def computed(text: str, **options: str) -> list[Shown]:
    """The layout, and what each operation makes of it: computed("24", complement="4:2"), computed("4:2", left_inverse=""). For
    pictures."""
    given = {f"--{key.replace('_', '-')}": value for key, value in options.items()}
    return json.loads("\n".join(_lines(_program(), text, given, "--json")))["layouts"]
