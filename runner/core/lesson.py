"""`./gemm run`: one lesson's own program."""

from __future__ import annotations

import math
import re
import signal
import struct
from collections.abc import Mapping
from functools import cache

from runner.core import build, doctor, gpu, process
from runner.core.results import ROOT, UserError, folder_of, former_names, lessons

DTYPES = ("fp32", "bf16", "fp16")
_LARGEST = 2**63 - 1


@cache
def _largest_of() -> dict[str, int]:
    """The largest number of each option, as the programs have it; the others take 63 bits."""
    text = (ROOT / "common" / "program" / "ranges.inc").read_text(encoding="utf-8")
    return {name: int(most, 0) for name, most in re.findall(r'^{"(.+)", (\w+)}', text, re.M)}


def find(name: str) -> str:
    """`5`, `05`, `05_2d_blocktile` or `05_2d_blocktile/` -> `05_2d_blocktile`; `9a` or its folder -> `09a_wmma`.

    Of a lesson with several steps, `9`, `09` or its folder means the last one; a line to stderr says so, and what a lesson is
    called now that had this name.
    """
    known = lessons()
    wanted = name.rstrip("/")
    for lesson in known:
        number, _, words = lesson.partition("_")
        short = wanted.lstrip("0") if re.fullmatch("[0-9]+[a-z]?", wanted) else None
        if wanted in (lesson, number, words, folder_of(lesson)) or short == number.lstrip("0"):
            return lesson
    steps = [lesson for lesson in known if wanted.lstrip("0") == re.split("[a-z_]", lesson)[0].lstrip("0")]
    steps = steps or [lesson for lesson in known if folder_of(lesson).startswith(wanted + "/")]
    if steps:
        if len(steps) > 1:
            process.say(f"{name} is {steps[-1]}, the last step; before it: {', '.join(steps[:-1])}.")
        return steps[-1]
    if now := former_names().get(wanted):
        process.say(f"{wanted} is called {now} now.")
        return now
    raise UserError(f"There is no lesson {name!r}; there are {', '.join(known)}.")


def whole(option: str, text: str, least: int = 0) -> str:
    """`text` as a whole number in the option's range, in decimal; else a UserError. What common/program/options.cpp takes."""
    most = _largest_of().get(option, _LARGEST)
    if not re.fullmatch(r"-?[0-9]{1,40}", text) or not least <= int(text) <= most:
        raise UserError(f"{option} must be a whole number from {least} to {most}, not {text!r}.")
    return str(int(text))


def groups(text: str) -> str:
    """`100x77x51,1x1x1`, each number checked; a UserError otherwise. What common/program/batch_options.cpp takes."""
    problems = [group.split("x") for group in text.split(",")]
    if any(len(problem) != 3 for problem in problems):
        raise UserError(f"--groups must be MxNxK of each problem, such as 100x77x51,1x1x1, not {text!r}.")
    return ",".join("x".join(whole("Each number of --groups", part.strip()) for part in problem) for problem in problems)


def number(option: str, text: str) -> str:
    """`text` if it is a finite number that a float holds; else a UserError. What common/program/options.cpp takes."""
    digits = re.fullmatch(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text)
    try:
        held = struct.unpack("f", struct.pack("f", float(text)))[0] if digits else math.inf
    except OverflowError:
        held = math.inf
    if not digits or math.isinf(held) or (held == 0 and re.search("[1-9]", digits[1])):  # the last: too small for a float
        raise UserError(f"{option} must be a finite number that a float holds, such as -0.5, not {text!r}.")
    return text


def variant_options(variant: str | None, dtype: str | None) -> list[str]:
    """`--variant=…` for a lesson's program or gemm_inspect, nothing for None twice. `dtype`: in short, one type for A, B and C.

    A UserError for what cannot be one; whether the lesson takes it is for the program to say (common/check/variant.cpp).
    """
    if variant is not None and dtype is not None:
        raise UserError("--dtype is short for --variant; give one of the two.")
    if dtype is not None and dtype not in DTYPES:
        raise UserError(f"--dtype must be fp32, bf16 or fp16, not {dtype!r}.")
    if variant is not None and not re.fullmatch(r"[a-z0-9_.+]+", variant):
        raise UserError(f"--variant must be types and what else a variant says, such as bf16.nt, not {variant!r}.")
    return [f"--variant={variant or dtype}"] if variant or dtype else []


def run(
    name: str,
    sizes: Mapping[str, str | None],
    scalars: Mapping[str, str | None],
    variant: str | None,
    dtype: str | None,
    like: str | None,
    verify_only: bool,
    as_json: bool,
    of_groups: str | None = None,
) -> int:
    """Builds the lesson and runs it, options passed on. Returns the program's exit status."""
    lesson = find(name)
    options = [f"--{key}={whole('--' + key, text)}" for key, text in sizes.items() if text is not None]
    options += [f"--groups={groups(of_groups)}"] if of_groups is not None else []
    options += [f"--{key}={number('--' + key, text)}" for key, text in scalars.items() if text is not None]
    options += variant_options(variant, dtype)
    device = doctor.choose()
    for given, option in ((like, "--like"), (sizes["schedule"], "--schedule")):
        if given is not None and device.kind != "cpu":
            raise UserError(f"{option} is for the CPU device alone; add GEMM_DEVICE=cpu in front of the command.")
    options += [f"--like={like}"] if like is not None else []
    options += ["--verify-only"] * verify_only + ["--json"] * as_json
    built = build.build(device, doctor.provide(device), [lesson])
    with gpu.alone(device):
        status = process.show([built / "bin" / lesson, *options])
    if status == -signal.SIGKILL:
        raise UserError(f"{lesson} was ended by {process.crash(status)}; choose smaller sizes.")
    if status < 0:
        raise UserError(f"{lesson} was ended by {process.crash(status)}; that is a bug in the lesson or in common/.")
    return status
