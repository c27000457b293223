"""`./gemm doctor --measure`: the rates that this GPU reaches at most, measured by gemm_ceilings."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from statistics import median

from rich.table import Table

from runner.core import doctor, process, tables
from runner.core.build import build
from runner.core.git import commit_for
from runner.core.gpu import alone
from runner.core.process import say
from runner.core.results import PUBLISHED, ROOT, UserError, gpu_slug, writable_folder, write_atomically

SCHEMA = 1  # of what gemm_ceilings writes, and of what is recorded


def _measured(program: Path) -> dict:
    """Runs gemm_ceilings; what it measured, checked."""
    with tempfile.TemporaryDirectory(prefix="gemm-") as folder:
        output = Path(folder) / "ceilings.json"
        done = process.stream([program, "--output", output], "Measuring", process.PROGRESS)
        process.require(done, "gemm_ceilings", (0,))
        found = json.loads(output.read_text(encoding="utf-8"))
    if found.get("schema") != SCHEMA:
        raise UserError(f"gemm_ceilings wrote schema {found.get('schema')!r}, not {SCHEMA}; remove the folder build and go on.")
    return found


def _table(figures: dict[str, dict]) -> Table:
    """A row a figure."""
    shown = Table()
    for column in ("figure", "value", "unit", "of theoretical", "how measured"):
        shown.add_column(column, justify="right" if column in ("value", "of theoretical") else "left")
    for name, figure in figures.items():
        share = f"{100 * figure['value'] / figure['theoretical']:.1f} %" if figure["theoretical"] else "–"
        shown.add_row(name, f"{figure['value']:#.3g}", figure["unit"], share, figure["how"])
    return shown


def measure(record: bool, as_json: bool, publish: Callable[[], list[Path]]) -> int:
    """Builds and runs gemm_ceilings on the GPU; writes and shows what it measured. Exit status 0."""
    device = doctor.choose()
    if device.kind != "cuda":
        raise UserError(f"doctor --measure needs an NVIDIA GPU and CUDA's nvcc, but the device here is the CPU: {device.why}.")
    commit = commit_for(record, "measured")
    folder = ROOT / "plots" / "results" if record else ROOT / "out"
    writable_folder(folder)
    program = build(device, doctor.provide(device), ["gemm_ceilings"]) / "bin" / "gemm_ceilings"
    with alone(device):
        found = _measured(program)
    gpu, figures = found["device"]["name"], found["figures"]
    clocks = [figure["sm_clock_mhz"] for figure in figures.values() if figure["sm_clock_mhz"]]
    results = {
        "schema": SCHEMA,
        "gpu": gpu,
        "device": found["device"],
        "commit": commit,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "sm_clock_mhz": median(clocks) if clocks else None,
        "figures": figures,
    }
    file = folder / f"{gpu_slug(gpu)}-ceilings.json"
    write_atomically(file, json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    written = [file]
    if as_json:
        print(json.dumps(results, ensure_ascii=False))
    else:
        print(f"{gpu}, SM clock {results['sm_clock_mhz'] or '–'} MHz (median)")
        tables.show(_table(figures))
    sys.stdout.flush()
    if record and gpu_slug(gpu) == PUBLISHED:
        written += publish()
    say(f"Written: {', '.join(str(path.relative_to(ROOT)) for path in written)}.")
    return 0
