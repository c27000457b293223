"""The CPU device's clusters, its copy engine and its multiplications of a warpgroup give what an NVIDIA H200 gave."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
import record_clusters
import record_hopper
from conftest import alone, drawn
from record_hopper import SEEDS, printed

from runner.core import build, doctor

RUNS = {record: json.loads(record.RECORDED.read_text(encoding="utf-8"))["runs"] for record in (record_clusters, record_hopper)}


@pytest.mark.parametrize("record", RUNS)
def test_every_mode_is_recorded(record: ModuleType) -> None:
    recorded = [(run["program"], run["seed"], run["mode"]) for run in RUNS[record]]
    modes = record.MODES.items()
    assert recorded == [(program, seed, mode) for program, count in modes for seed in SEEDS for mode in range(count)]


@cache
def built() -> Path:
    """The build folder of the CPU device, with all programs."""
    device = doctor.Device("cpu", None, (), "an H200 is held against it")
    with alone("build"), pytest.MonkeyPatch.context() as patched:
        patched.setenv("GEMM_NO_INSTALL", "1")
        return build.build(device, doctor.provide(device), [*record_clusters.MODES, *record_hopper.MODES])


# One of each of the others' programs: a run of the copy engine takes up to 14 s.
CHOSEN = drawn(RUNS[record_clusters], 4)
for program in record_hopper.MODES:
    CHOSEN += drawn([run for run in RUNS[record_hopper] if run["program"] == program], 1)


@pytest.mark.parametrize("run", CHOSEN, ids=lambda run: f"{run['program']}-{run['mode']}-{run['seed']}")
def test_the_cpu_device_gives_what_an_h200_gave(run: dict) -> None:
    cases = [line for line in run["printed"] if " cases, " in line]
    assert all(line.endswith(", 0 differ") for line in cases), "the GPU itself does what the definition says"
    assert printed(built(), run["program"], run["seed"], run["mode"]) == run["printed"]
