"""What `./gemm inspect` finds in README.md's example of one's own kernel; recorded, so that its picture can be drawn."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from runner.core.results import ROOT, UserError, write_atomically
from runner.inspect.inspection import Request
from runner.inspect.own import Options, traced_own
from runner.inspect.trace_types import Finding

_EXAMPLE = "tests/kernels/own/three_bugs.cu"
_EXAMPLES_CALL = "tiles<<<dim3(N/T, M/T), dim3(T, T)>>>"
_SCHEMA = 1
RECORDED = "plots/results/own-kernel.json"


def example() -> dict:
    """What is found in the example that README.md shows, but for what changes from run to run."""
    traced = traced_own(ROOT / _EXAMPLE, Options(call=_EXAMPLES_CALL, sizes="32x32x64"), Request(), False)
    kept = ("id", "array", "access", "line", "other")

    def entry(finding: Finding) -> dict:
        other = finding["other"]
        sides = {"access": finding["access"], "other": other and {"access": other["access"], "line": other["line"]}}
        return {key: {**finding, **sides}[key] for key in kept}

    findings = sorted(map(entry, traced.trace["findings"]), key=lambda one: (one["id"], one["array"], one["line"]))
    return {"schema": _SCHEMA, "file": _EXAMPLE, "call": _EXAMPLES_CALL, "verdict": traced.verdict, "findings": findings}


def record(files: Sequence[str], draw: Callable[[Mapping], list[Path]]) -> int:
    """Writes what is found in the example, and its picture. Exit status 0; a UserError where other files are named."""
    if list(files) != [_EXAMPLE]:
        raise UserError(f"Of files that are not lessons, --record takes only {_EXAMPLE}, the example in README.md.")
    found = example()
    write_atomically(ROOT / RECORDED, json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    print(f"Written: {', '.join(str(path.relative_to(ROOT)) for path in (ROOT / RECORDED, *draw(found)))}.")
    return 0
