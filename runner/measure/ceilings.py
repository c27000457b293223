"""`./gemm doctor --measure`: the rates that this GPU reaches at most, measured by gemm_ceilings."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

from rich.table import Table

from runner.core import doctor, process, tables
from runner.core.build import build
from runner.core.gpu import alone
from runner.core.results import gpu_slug, parsed
from runner.measure.recording import Recording

SCHEMA = 1  # of what gemm_ceilings writes, and of what is recorded


def _measured(program: Path) -> dict:
    """Runs gemm_ceilings; what it measured, checked."""
    with tempfile.TemporaryDirectory(prefix="gemm-") as folder:
        output = Path(folder) / "ceilings.json"
        done = process.stream([program, "--output", output], "Measuring", process.PROGRESS)
        process.require(done, "gemm_ceilings", (0,))
        return parsed(output.read_text(encoding="utf-8"), "gemm_ceilings", SCHEMA)


def _table(figures: dict[str, dict]) -> Table:
    """A row a figure."""
    rows = [
        [name, f"{figure['value']:#.3g}", figure["unit"],
         f"{100 * figure['value'] / figure['theoretical']:.1f} %" if figure["theoretical"] else "–", figure["how"]]
        for name, figure in figures.items()
    ]  # fmt: skip
    columns = ("figure", "value", "unit", "of theoretical", "how measured")
    return tables.grid(columns, rows, left=("figure", "unit", "how measured"))


def measure(record: bool, as_json: bool, publish: Callable[[], list[Path]]) -> int:
    """Builds and runs gemm_ceilings on the GPU; writes and shows what it measured. Exit status 0."""
    device = doctor.choose_gpu("doctor --measure")
    recording = Recording(record, "measured")
    program = build(device, doctor.provide(device), ["gemm_ceilings"]) / "bin" / "gemm_ceilings"
    with alone(device):
        found = _measured(program)
    gpu, figures = found["device"]["name"], found["figures"]
    clocks = [figure["sm_clock_mhz"] for figure in figures.values() if figure["sm_clock_mhz"]]
    clock = median(clocks) if clocks else None
    results = {"schema": SCHEMA, "gpu": gpu, "device": found["device"], "sm_clock_mhz": clock, "figures": figures}
    recording.write(gpu_slug(gpu), "-ceilings", results)

    def show() -> None:
        print(f"{gpu}, SM clock {clock or '–'} MHz (median)")
        tables.show(_table(figures))

    recording.tell(results, as_json, show, publish)
    return int(bool(recording.refused))
