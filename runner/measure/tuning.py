"""What a lesson's tune.py says, and the configurations of kernel.cu that follow from it.

A configuration is kernel.cu with other constants, and with a namespace and a name of its own.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from runner.core.results import ROOT, UserError, folder_of, lessons

Constants = Mapping[str, int]
SIZE = "4096"
_NAME = re.compile(r"\{(\w+)\}")
_OPTIONAL = re.compile(r"\[(.*?)\]")


@dataclass(frozen=True)
class Compared:
    """A configuration that shows what one idea is worth. `edits`: pieces of kernel.cu, each there once, and what replaces it."""

    constants: Constants = field(default_factory=dict)  # those that are not as in kernel.cu
    edits: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Tuning:
    """A lesson's tune.py.

    `lines`: the pieces of kernel.cu that hold the constants, each there once, with {NAME} for a number. What stands in
    [brackets] may be missing; its constant is 0 then: "__launch_bounds__(THREADS[, {BLOCKS}])". `sweep`: the configurations
    to try; constants that one leaves out are as in kernel.cu. `edits`: made in every configuration. `sizes`: as --sizes has them.
    `by_shape`: names of `compare` that a table shows beside the lesson, a row for each size.
    """

    lines: tuple[str, ...]
    sweep: tuple[Constants, ...]
    compare: Mapping[str, Compared] = field(default_factory=dict)
    edits: Mapping[str, str] = field(default_factory=dict)
    sizes: str = SIZE
    by_shape: tuple[str, ...] = ()


@dataclass(frozen=True)
class Configuration:
    """A configuration of a lesson's kernel. `swept`: it is one of the set."""

    lesson: str
    number: int
    constants: Constants
    edits: Mapping[str, str]
    swept: bool
    own: bool  # as in kernel.cu

    @property
    def name(self) -> str:
        """In the kernel's descriptor: `06b_warp_tile.3`."""
        return f"{self.lesson}.{self.number}"

    @property
    def namespace(self) -> str:
        """Of its source: `tuned_06b_3`."""
        return f"tuned_{self.lesson.partition('_')[0]}_{self.number}"


def _pattern(line: str) -> re.Pattern[str]:
    """What finds the line of this template, and its numbers."""
    pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>\\d+)", re.escape(line))
    return re.compile(r"(?<!\w)" + re.sub(r"\\\[(.*?)\\\]", r"(?:\1)?", pattern))


def _found(line: str, kernel: str) -> re.Match[str]:
    found = list(_pattern(line).finditer(kernel))
    if len(found) != 1:
        raise ValueError(f"kernel.cu has {len(found)} times what should be there once: {line}")
    return found[0]


def own_constants(tuning: Tuning, kernel: str) -> dict[str, int]:
    """kernel.cu's constants. Raises ValueError unless every line is there exactly once."""
    return {name: int(value or 0) for line in tuning.lines for name, value in _found(line, kernel).groupdict().items()}


def line_of(line: str, constants: Constants) -> str:
    """The line with these constants."""
    there = _OPTIONAL.sub(lambda m: m[1] if all(constants[name] for name in _NAME.findall(m[1])) else "", line)
    return _NAME.sub(lambda m: str(constants[m[1]]), there)


def changed_lines(tuning: Tuning, kernel: str, constants: Constants) -> list[str]:
    """The lines that these constants change, as they are to stand in kernel.cu."""
    own = own_constants(tuning, kernel)
    return [line_of(line, constants) for line in tuning.lines if any(own[n] != constants[n] for n in _NAME.findall(line))]


def configurations(lesson: str, tuning: Tuning, kernel: str) -> tuple[list[Configuration], dict[str, int]]:
    """Every configuration to measure, each once: kernel.cu's own, the set, what is compared; and which of them has which name
    in `compare`. Raises ValueError as own_constants, for a constant that no line holds, and for a name in `by_shape` that
    nothing in `compare` has."""
    own = own_constants(tuning, kernel)
    if unknown := set(tuning.by_shape) - tuning.compare.keys():
        raise ValueError(f"{lesson}/tune.py shows {', '.join(sorted(unknown))} by shape, which it does not compare")
    found: list[Configuration] = []
    places: dict[tuple, int] = {}

    def place_of(constants: Constants, edits: Mapping[str, str], swept: bool) -> int:
        if unknown := constants.keys() - own.keys():
            raise ValueError(f"{lesson}/tune.py sets {', '.join(sorted(unknown))}, which none of its lines holds")
        whole = {**own, **constants}
        place = places.setdefault((*whole.values(), *edits.items()), len(found))
        if place == len(found):
            found.append(Configuration(lesson, place, whole, edits, swept, whole == own and not edits))
        return place

    for constants in ({}, *tuning.sweep):
        place_of(constants, {}, True)
    return found, {name: place_of(other.constants, other.edits, False) for name, other in tuning.compare.items()}


def source(configuration: Configuration, tuning: Tuning, kernel: str) -> str:
    """The configuration's kernel.cu. Raises ValueError where kernel.cu lacks what is to be replaced."""
    text = kernel
    for line in tuning.lines:
        at = _found(line, text)
        text = text[: at.start()] + line_of(line, configuration.constants) + text[at.end() :]
    number = configuration.lesson.partition("_")[0]
    for old, new in {**tuning.edits, **configuration.edits}.items():
        if text.count(old) != 1:
            raise ValueError(f"{configuration.lesson}/kernel.cu has {text.count(old)} times what an edit replaces: {old!r}")
        text = text.replace(old, new)
    for old, new in ((f"lesson_{number}", configuration.namespace), (f'"{configuration.lesson}"', f'"{configuration.name}"')):
        if old not in text:
            raise ValueError(f"{configuration.lesson}/kernel.cu does not contain {old}")
        text = text.replace(old, new)
    return text


def tunable(root: Path = ROOT) -> list[str]:
    """The lessons with a tune.py, in course order."""
    return [lesson for lesson in lessons(root) if (root / folder_of(lesson, root) / "tune.py").exists()]


def load(lesson: str, root: Path = ROOT) -> Tuning:
    """TUNE of the lesson's tune.py. A UserError where there is no such file."""
    path = root / folder_of(lesson, root) / "tune.py"
    if not path.exists():
        raise UserError(f"{lesson} has no constants to tune; those that have are {', '.join(tunable(root)) or 'none'}.")
    spec = importlib.util.spec_from_file_location(f"tune_{lesson}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.TUNE
