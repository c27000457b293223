"""What lessons say of themselves: the descriptors at the ends of their kernel.cu, as the build wrote them down.

A lesson's own program writes lessons/<name>.json into the build folder (target <name>_json), and lessons.json is all of them
in course order (target gemm_lessons_json). A command that needs a descriptor builds that target first. Names and folders
alone come from the gemm_lesson() lines of CMakeLists.txt (results.py), for which nothing has to be built.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from runner.core.results import PUBLISHED, ROOT, UserError, folder_of, lessons, load

PARTS = {1: "FP32, any GPU", 2: "Tensor cores", 3: "GEMM as it is used"}  # of the course, by their numbers

T = TypeVar("T")


@dataclass(frozen=True)
class Variant:
    """One that a lesson takes, by its text, and the GPUs for it: `from_sm` and later ones, or `exactly` one ("90a")."""

    text: str
    from_sm: int | None
    exactly: str | None


@dataclass(frozen=True)
class Descriptor:
    """What common/gemm.hpp's Lesson says."""

    name: str
    number: str
    folder: str
    part: int
    ladder: str
    tile: tuple[int, int, int]  # BM, BN, BK
    constants: Mapping[str, int]  # those three, and what else shapes the kernel (TM, WM, STAGES …)
    block: tuple[int, int, int]
    dynamic_shared_bytes: int
    variants: tuple[Variant, ...]  # the first is charted

    @property
    def least_sm(self) -> int | None:
        """10 times the compute capability that its first variant needs at least: 90 of an "90a" as well."""
        first = self.variants[0]
        return int(re.sub(r"\D", "", first.exactly)) if first.exactly else first.from_sm


def targets(names: Iterable[str]) -> list[str]:
    """What to build so that described() finds these lessons."""
    return [f"{name}_json" for name in names]


def _read(raw: Mapping) -> Descriptor:
    variants = tuple(
        Variant(one["text"], one["architectures"].get("from"), one["architectures"].get("exactly")) for one in raw["variants"]
    )
    tile = raw["tile"]["BM"], raw["tile"]["BN"], raw["tile"]["BK"]
    constants = {**raw["tile"], **raw["constants"]}
    x, y, z = raw["block"]
    return Descriptor(raw["name"], raw["number"], raw["folder"], raw["part"], raw["ladder"], tile, constants,
                      (x, y, z), raw["dynamic_shared_bytes"], variants)  # fmt: skip


def _loaded(path: Path, target: str, read: Callable[[Any], T]) -> T:
    try:
        return read(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path} is missing, broken or of another version; build its target {target} again.") from error


def described(build: Path, name: str) -> Descriptor:
    """The lesson's descriptor, of a build folder (build/cpu) whose target was built."""
    return _loaded(build / "lessons" / f"{name}.json", f"{name}_json", _read)


def all_described(build: Path) -> dict[str, Descriptor]:
    """Every lesson's, in course order, from lessons.json."""
    found = _loaded(build / "lessons.json", "gemm_lessons_json", lambda whole: [_read(raw) for raw in whole["lessons"]])
    return {one.name: one for one in found}


def known(root: Path = ROOT) -> dict[str, Descriptor]:
    """The lessons' descriptors that are here without anything being built: what a build wrote down, or else what was recorded
    with the published results. Lessons that have neither are left out."""
    recorded: Mapping = {}
    with suppress(UserError):
        recorded = load(root / "plots" / "results" / f"{PUBLISHED}.json").get("lessons", {})
    found: dict[str, Descriptor] = {}
    for name in lessons(root):
        with suppress(KeyError, TypeError, ValueError):
            found[name] = _read({**recorded[name], "folder": folder_of(name, root)})
        for build in (root / "build" / "cpu", root / "build" / "cuda"):
            with suppress(UserError):
                found[name] = described(build, name)
    return found
