"""What each lesson's kernel must not survive: mistakes.toml beside it, changes to its text and what must find them.

    ["no barrier after loading"]    what is wrong, in one line
    find = "__syncthreads();"       the text, which is there once; `which = 2`: the second of several; `which = "all"`: each
    instead = "__syncwarp();"       what stands there instead; nothing where it is left out
    tracer = "race"                 who must find it, check, verifier or tracer, and the id of what is told, which is one of
                                    runner/learn/diagnosis.py; several where that depends on the sizes, which a seed draws

More that an entry may have: `changes`, pairs of find and instead where one mistake needs several; `file`, a header that kernel.cu
includes, where it stands in there; `case`, the check's case that finds it, where it matters which one that is; `goals`, of a
kernel that is right and misses some of the exercise's goals: their numbers, and the figures that are counted; `with`, a name of
[with]: changes that are no mistake, and lead small problems to where the mistake is; `tries`, of what only some schedules show:
how many seeds at most find it.

[right] has changes after which the kernel is as right as before, `shared` the names of groups of common/check/mistakes.toml, each
of which several lessons have. [[fewer]] has changes, each with its own `file`, with which every mistake is tried and which are
none: they leave out sizes of C tiles that small problems do not come to, and that take long to compile. For
./gemm test --mutants (runner/mutants.py) there are [[equivalent]], edits that it need not draw, in the shared file those of any
lesson, and `undrawn`, regular expressions of what is no code in that sense: sizes, say.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from runner.core.results import ROOT, UserError, folder_of
from runner.learn.exercise import without_marks

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found]  # which pytest brings

FILE = "mistakes.toml"
SHARED = Path("common") / "check" / FILE
FINDERS = ("check", "verifier", "tracer")
_ALL = 0
_NO_MISTAKES = ("shared", "with", "right", "equivalent", "undrawn", "fewer")
_FIELDS = {"find", "instead", "which", "changes", "file", "goals", "with", "case", "tries", *FINDERS}


class Stale(Exception):
    """A mistake does not fit its kernel any more. The sentence names both, and the text that is missed."""


@dataclass(frozen=True)
class Change:
    """`which`: of the places where `find` stands, from 1; 0: all of them; None: it stands there once."""

    find: str
    instead: str
    which: int | None = None

    def made(self, text: str, where: str) -> str:
        """The text with this change. Raises Stale; `where` begins its sentence."""
        pieces = text.split(self.find)
        there = len(pieces) - 1
        if not there or (self.which is None and there > 1) or (self.which or 0) > there:
            times = "no" if not there else str(there)
            wanted = {None: "one", _ALL: "at least one"}.get(self.which, f"number {self.which}")
            raise Stale(f"{where} has {times} {self.find!r}, and {wanted} is meant.")
        if self.which == _ALL:
            return self.instead.join(pieces)
        at = self.which or 1
        return self.find.join(pieces[:at]) + self.instead + self.find.join(pieces[at:])


@dataclass(frozen=True)
class Mistake:
    """`found`: the ids by which check, verifier or tracer may know it; none of a kernel that is right."""

    lesson: str
    what: str
    changes: tuple[Change, ...]
    found: Mapping[str, tuple[str, ...]]
    goals: Mapping[int, float] = field(default_factory=dict)
    file: str = ""  # kernel.cu where there is none
    case: str = ""  # of the check, where it matters which one it is
    tries: int = 1  # with other seeds, until it is found
    fewer: tuple[tuple[str, Change], ...] = ()  # files, and what is left out there

    @property
    def key(self) -> str:
        """Its name in a list of tests."""
        return f"{self.lesson}: {self.what}"

    def kernel(self, root: Path = ROOT) -> str:
        """The lesson's file, from `root`."""
        return f"{folder_of(self.lesson, root)}/kernel.cu"

    def text(self, root: Path = ROOT) -> str:
        """The file with the mistake. Raises Stale."""
        return self.texts(root)[self.file or self.kernel(root)]

    def texts(self, root: Path = ROOT) -> dict[str, str]:
        """Each file that is another than the lesson's, and kernel.cu, without the marks of its exercise's gaps. Raises Stale."""
        kernel = self.kernel(root)
        found: dict[str, str] = {}
        for file, change in ((kernel, None), *self.fewer, *((self.file or kernel, change) for change in self.changes)):
            if file not in found:
                found[file] = without_marks((root / file).read_text(encoding="utf-8"))
            if change:
                found[file] = change.made(found[file], f'"{self.key}" does not apply: {file}')
        return found


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is no TOML: {error}.") from error


def _which(value: int | str | None) -> int | None:
    return _ALL if value == "all" else int(value) if value is not None else None


def _changes(entry: Mapping[str, Any]) -> tuple[Change, ...]:
    one = [[entry["find"], entry.get("instead", ""), entry.get("which")]] if "find" in entry else []
    several = [[*change, None][:3] for change in entry.get("changes", ())]
    return tuple(Change(find, instead, _which(which)) for find, instead, which in [*one, *several])


def _mistake(
    lesson: str, what: str, entry: Mapping[str, Any], also: Mapping[str, Any], fewer: tuple[tuple[str, Change], ...]
) -> Mistake:
    if unknown := entry.keys() - _FIELDS:
        raise UserError(f"{FILE} of {lesson}: {what!r} has {', '.join(sorted(unknown))}, which is no field of a mistake.")
    found = {by: (ids,) if isinstance(ids := entry[by], str) else tuple(ids) for by in FINDERS if by in entry}
    goals = {int(number): float(figure) for number, figure in entry.get("goals", {}).items()}
    changes = (_changes(also[entry["with"]]) if "with" in entry else ()) + _changes(entry)
    file, case, tries = entry.get("file", ""), entry.get("case", ""), entry.get("tries", 1)
    return Mistake(lesson, what, changes, found, goals, file, case, tries, fewer)


class _Content(NamedTuple):
    mistakes: tuple[Mistake, ...]
    right: tuple[Mistake, ...]
    undrawn: tuple[str, ...]
    equivalent: tuple[Mapping[str, str], ...]


@cache
def _of_lesson(lesson: str, root: Path) -> _Content:
    own, groups = _read(root / folder_of(lesson, root) / FILE), _read(root / SHARED)
    also = own.get("with", {})
    entries = {what: entry for name in own.get("shared", ()) for what, entry in groups[name].items()}
    entries |= {what: entry for what, entry in own.items() if what not in _NO_MISTAKES}
    kernel = f"{folder_of(lesson, root)}/kernel.cu"
    fewer = tuple((entry.get("file", kernel), change) for entry in own.get("fewer", ()) for change in _changes(entry))
    wrong = tuple(_mistake(lesson, what, entry, also, fewer) for what, entry in entries.items())
    right = tuple(_mistake(lesson, what, entry, also, ()) for what, entry in own.get("right", {}).items())
    return _Content(wrong, right, tuple(own.get("undrawn", ())), (*groups.get("equivalent", ()), *own.get("equivalent", ())))


def mistakes(lesson: str, root: Path = ROOT) -> tuple[Mistake, ...]:
    """That the lesson's kernel must not survive."""
    return _of_lesson(lesson, root).mistakes


def fewer(lesson: str, root: Path = ROOT) -> dict[str, str]:
    """The files that [[fewer]] changes, without a mistake; kernel.cu always. Raises Stale."""
    return Mistake(lesson, "fewer", (), {}, fewer=mistakes(lesson, root)[0].fewer).texts(root)


def right(lesson: str, root: Path = ROOT) -> tuple[Mistake, ...]:
    """Kernels that are right, though not as the lesson does it."""
    return _of_lesson(lesson, root).right


def equivalents(lesson: str, root: Path = ROOT) -> tuple[Mapping[str, str], ...]:
    """Edits that make another kernel which is as right: `piece`, `becomes`, `why`."""
    return _of_lesson(lesson, root).equivalent


def undrawn(lesson: str, root: Path = ROOT) -> tuple[str, ...]:
    """Regular expressions of what no mutant of the kernel changes."""
    return _of_lesson(lesson, root).undrawn
