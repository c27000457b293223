"""`./gemm layout`: a layout (shape:stride) and what an operation makes of it, computed by build/cpu's gemm_layout."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from runner.core import doctor, process
from runner.core.build import build


def layout(text: str, options: Mapping[str, str | None], as_json: bool) -> int:
    """`options`: as gemm_layout has them. A UserError, which is its sentence, where it refuses."""
    cpu = doctor.Device("cpu", None, (), "layouts are computed on the CPU")
    program = build(cpu, doctor.provide(cpu), ["gemm_layout"]) / "bin" / "gemm_layout"
    given = [f"{key}={value}" for key, value in options.items() if value is not None]
    done = process.stream([program, text, *given, *(["--json"] if as_json else [])], "Computing", process.unseen, whole=True)
    process.require(done, "gemm_layout", (0,), "build it again")
    sys.stdout.write("".join(f"{line}\n" for line in done.lines))
    return 0
