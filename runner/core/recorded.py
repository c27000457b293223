"""What has been recorded of which lesson: nothing fails where something has not been yet, and `./gemm doctor` says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from runner.core.atlas import VARIANTS
from runner.core.results import PUBLISHED, ROOT, folder_of, is_charted, key_of, lessons, only_architecture


class _Record(NamedTuple):
    what: str
    file: str  # below plots/results
    command: str
    wanted: Callable[[str, Path], bool]  # of that lesson


def _any(lesson: str, root: Path) -> bool:
    return True


_RECORDS = (
    _Record("chart", f"{PUBLISHED}.json", "./gemm chart --record", _any),
    _Record("profile", f"{PUBLISHED}-profile.json", "./gemm profile --record", _any),
    _Record(
        "autotune", f"{PUBLISHED}-autotune.json", "./gemm autotune --record",
        lambda lesson, root: (root / folder_of(lesson, root) / "tune.py").exists(),
    ),
    _Record("timeline", f"{PUBLISHED}-timeline.json", "./gemm timeline --record",
            lambda lesson, root: only_architecture(lesson, root) is not None),
    _Record("counters", f"{PUBLISHED}-counters.json",
            f"./gemm inspect --against-ncu --json plots/results/{PUBLISHED}-counters.json", _any),
    _Record("counts", "counts.json", "./gemm inspect --record", _any),
)  # fmt: skip


def _lessons_in(path: Path) -> set[str]:
    """The lessons that a file holds: of runs, those that ran with their first variant, which is what is charted; none where
    there is no such file."""
    if not path.exists():
        return set()
    found = json.loads(path.read_text(encoding="utf-8"))
    if "runs" not in found:
        return set(found.get("lessons", ()))
    # What ncu counted says no variant: it is of the first.
    return {run["lesson"] for run in found["runs"] if "variant" not in run or is_charted(found, key_of(run))}


def missing(root: Path = ROOT) -> list[str]:
    """A sentence for each record that some lessons are not in yet, and for the atlas of types that have none."""
    said = []
    for record in _RECORDS:
        held = _lessons_in(root / "plots" / "results" / record.file)
        without = [name for name in lessons(root) if name not in held and record.wanted(name, root)]
        if held and without:
            said.append(f"Not recorded yet, {record.what}: {', '.join(without)}. {record.command} does it.")
    results = root / "plots" / "results"
    types = [variant for variant in VARIANTS if not (results / f"{PUBLISHED}-atlas-{variant}.json").exists()]
    if types and (results / f"{PUBLISHED}.json").exists():
        said.append(f"Not recorded yet, atlas: {', '.join(types)}. ./gemm atlas --record does it.")
    return said
