"""What a CUDA source says of itself: where its lines are, and its kernel's signature."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Literal

from runner.core.results import ROOT, UserError
from runner.inspect.trace_types import Overrun

Sums = Literal["fp16", "tf32"]
_KERNEL = re.compile(r"\b__global__\b(?P<head>[^;{}]*?)\b(?P<name>[A-Za-z_]\w*)\s*\((?P<parameters>(?:[^()]|\([^()]*\))*)\)\s*\{")
_ATTRIBUTES = re.compile(
    r"\b(?:__launch_bounds__|__cluster_dims__|__maxnreg__|__attribute__)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
)
_MARK = re.compile(r'^#line (?P<line>\d+) "(?P<file>[^"]*)"$')
_TYPES = {
    "float": "fp32",
    "float4": "fp32",
    "half": "fp16",
    "__half": "fp16",
    "half2": "fp16",
    "__nv_bfloat16": "bf16",
    "nv_bfloat16": "bf16",
}
_DYNAMIC_SHARED = re.compile(r"\bextern\b[^;{}]*\b__shared__\b")
_SHARED = re.compile(r"\b__shared__\b[^;]*")
_NAMES = ("lda", "ldb", "ldc", "alpha", "beta", "m", "n", "k", "a", "b", "c")
_LAYOUTS = ("nn", "nt", "tn", "tt")


@cache
def foreign() -> ModuleType:
    """common/cpu/foreign.py, which is no package's."""
    spec = importlib.util.spec_from_file_location("cpu_foreign", ROOT / "common" / "cpu" / "foreign.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # which dataclasses looks for
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class Place:
    """A line of a file, as #line lines in a text name it."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @staticmethod
    def of_line(text: str, name: str, number: int) -> Place:
        """What line `number` of a text is called that begins as line 1 of `name`."""
        file, line = name, 1
        for content in text.split("\n")[: number - 1]:
            mark = _MARK.match(content)
            file, line = (mark["file"], int(mark["line"])) if mark else (file, line + 1)
        return Place(file, line)

    def offset(self, text: str, name: str) -> int | None:
        """Where it ends in a text that begins as line 1 of `name`; nothing where it is not in there."""
        file, line, offset = name, 1, 0
        for content in text.split("\n"):
            if mark := _MARK.match(content):
                file, line = mark["file"], int(mark["line"])
            elif (file, line) == (self.file, self.line):
                return offset + len(content.rstrip()) - (1 if content.rstrip() else 0)
            else:
                line += 1
            offset += len(content) + 1
        return None


@dataclass(frozen=True)
class Guess:
    """What a kernel's signature says."""

    kernel: str
    arguments: str
    variant: str


def _short(name: str) -> str | None:
    """Which of the contract's names a parameter's stands for."""
    bare = re.sub(r"^(?:d|dev|p|ptr|g|gmem)_|^d(?=[A-Z]$)|_(?:d|dev|ptr|gmem|g|stride)$|(?:[pP]tr)$", "", name).lower()
    return bare if bare in _NAMES else None


def guess(text: str, call: str | None, file: Path) -> Guess:
    """From the kernel that the call names, or else from the only one. A UserError where it cannot be said which that is."""
    code = _ATTRIBUTES.sub(" ", foreign().code_of(text))
    kernels = {found["name"]: found["parameters"] for found in _KERNEL.finditer(code)}
    named = re.match(r"\s*(?:\w+\s*::\s*)*(\w+)", call or "")
    name = named[1] if named and named[1] in kernels else next(iter(kernels)) if len(kernels) == 1 else None
    if name is None:
        if call is not None:  # of a function of the host
            return _of_host(code, named[1] if named else "")
        there = ", ".join(kernels) or "none"
        raise UserError(f"--call must say which kernel is launched, and how; {file} has {there}.")
    arguments, variant = _of_parameters(kernels[name])
    return Guess(name, ", ".join(arguments), variant)


def _of_host(code: str, name: str) -> Guess:
    """The same of a function that launches: its types alone."""
    found = re.search(rf"\b{name}\s*\((?P<parameters>(?:[^()]|\([^()]*\))*)\)\s*\{{", code) if name else None
    return Guess(name, "", _of_parameters(found["parameters"])[1] if found else "fp32")


def _of_parameters(parameters: str) -> tuple[list[str], str]:
    """What they are called in a call, and the variant that their types make."""
    arguments, types = [], {}
    for parameter in foreign().split(parameters, 0, len(parameters), ","):
        declared = parameters[slice(*parameter)].partition("=")[0].strip()
        last = re.search(r"(\w+)\s*(?:\[[^\]]*\])?$", declared)
        short = _short(last[1]) if last else None
        arguments.append({"a": "A", "b": "B", "c": "C", "m": "M", "n": "N", "k": "K"}.get(short or "", short or "?"))
        words = re.findall(r"\w+", declared)
        if short in ("a", "b", "c"):
            types[short] = next((_TYPES[word] for word in words if word in _TYPES), "fp32")
    a, c = types.get("a", "fp32"), types.get("c", types.get("a", "fp32"))
    return arguments, a if a == c else f"{a}_{c}"


def has_dynamic_shared(text: str) -> bool:
    """Whether a kernel has shared memory whose size its launch says."""
    return bool(_DYNAMIC_SHARED.search(foreign().code_of(text)))


def local_only(overruns: Sequence[Overrun], text: str, name: str) -> list[Overrun]:
    """Without those of arrays in shared memory, whose bytes the tracer knows: a row that goes on in the next one is none."""
    code = foreign().code_of(text)
    shared = {array for declared in _SHARED.findall(code) for array in re.findall(r"(\w+)\s*\[", declared)}
    kept = []
    for one in overruns:
        end = Place(one["file"], one["line"]).offset(text, name)
        line = text[: (end or 0) + 1].rsplit("\n", 1)[-1]
        if one["index"] is None:  # not found of those
            kept.append(one)
            continue
        array = re.search(r"(\w+)\s*(?:\[(?:[^\[\]]|\[[^\[\]]*\])*\]\s*)+$", line[: one["column"]])
        if array is None or array[1] not in shared:
            kept.append(one)
    return kept


def variant_of(text: str) -> tuple[str, str, str, str]:
    """ "bf16_fp32.nt" -> the types of A, B and C, and the layout. A UserError for what is none."""
    types, _, layout = text.partition(".")
    named = types.split("_")
    each = {1: named * 3, 2: [named[0], named[0], named[-1]], 3: named}.get(len(named), [])
    if not each or not set(each) <= {"fp32", "fp16", "bf16"} or (layout and layout not in _LAYOUTS):
        raise UserError(f"--variant must be like fp32, bf16.nt or fp16_fp32, of fp32, fp16 and bf16, not {text!r}.")
    return each[0], each[1], each[2], layout or "nn"
