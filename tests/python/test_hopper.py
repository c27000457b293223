"""The CPU device's copy engine and its multiplications of a warpgroup give what an NVIDIA H200 gave."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from conftest import alone, drawn
from record_hopper import MODES, RECORDED, SEEDS, printed

from runner.core import build, doctor

RUNS = json.loads(RECORDED.read_text(encoding="utf-8"))["runs"]


def test_every_mode_is_recorded() -> None:
    recorded = [(run["program"], run["seed"], run["mode"]) for run in RUNS]
    assert recorded == [(program, seed, mode) for program, modes in MODES.items() for seed in SEEDS for mode in range(modes)]


@cache
def built() -> Path:
    """The build folder of the CPU device, with both programs."""
    device = doctor.Device("cpu", None, (), "an H200 is held against it")
    with alone("build"), pytest.MonkeyPatch.context() as patched:
        patched.setenv("GEMM_NO_INSTALL", "1")
        return build.build(device, doctor.provide(device), list(MODES))


# One of each program: a run of the copy engine takes up to 14 s.
CHOSEN = [run for program in MODES for run in drawn([run for run in RUNS if run["program"] == program], 1)]


@pytest.mark.parametrize("run", CHOSEN, ids=lambda run: f"{run['program']}-{run['mode']}-{run['seed']}")
def test_the_cpu_device_gives_what_an_h200_gave(run: dict) -> None:
    cases = [line for line in run["printed"] if " cases, " in line]
    assert all(line.endswith(", 0 differ") for line in cases), "the GPU itself does what the definition says"
    assert printed(built(), run["program"], run["seed"], run["mode"]) == run["printed"]
