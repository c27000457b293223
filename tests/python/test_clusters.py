"""The CPU device's clusters give what an NVIDIA H200 gave."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from conftest import alone, drawn
from record_clusters import MODES, RECORDED
from record_hopper import SEEDS, printed

from runner.core import build, doctor

RUNS = json.loads(RECORDED.read_text(encoding="utf-8"))["runs"]


def test_every_mode_is_recorded() -> None:
    recorded = [(run["program"], run["seed"], run["mode"]) for run in RUNS]
    assert recorded == [(program, seed, mode) for program, modes in MODES.items() for seed in SEEDS for mode in range(modes)]


@cache
def built() -> Path:
    """The build folder of the CPU device, with the program."""
    device = doctor.Device("cpu", None, (), "an H200 is held against it")
    with alone("build"), pytest.MonkeyPatch.context() as patched:
        patched.setenv("GEMM_NO_INSTALL", "1")
        return build.build(device, doctor.provide(device), list(MODES))


@pytest.mark.parametrize("run", drawn(RUNS, 4), ids=lambda run: f"{run['mode']}-{run['seed']}")
def test_the_cpu_device_gives_what_an_h200_gave(run: dict) -> None:
    assert printed(built(), run["program"], run["seed"], run["mode"]) == run["printed"]
