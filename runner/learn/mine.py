"""A learner's own kernel traced as `./gemm inspect` traces a lesson's: what `./gemm inspect --mine` counts and `./gemm explore
--mine` shows. Where no sizes are asked for, it is the case at which `./gemm check` fails, whose verdict comes first.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypedDict

from runner.core import doctor, lesson
from runner.core.compiling import NotCompiled, Source, compile_program, first_error, lessons_of, scratch, toolchain
from runner.core.descriptors import targets
from runner.core.results import UserError
from runner.inspect import inspection
from runner.inspect.inspection import Draw, Own, Request, declared_tile, refuse_if_long, trace
from runner.inspect.trace_types import Trace
from runner.learn import check, course
from runner.learn.exercise import Task

_CPU = doctor.Device("cpu", None, (), "kernels are traced on the CPU")


_NOT_TRACED = {"long_k", "many_blocks", "far", "order"}  # cases of matrices that are not there in whole, or too large to show


class Checked(TypedDict):
    """What `./gemm check` says of the learner's kernel, a paragraph each."""

    passed: bool
    told: list[str]


def examined(task: Task) -> tuple[Checked, Request | None]:
    """The check's verdict and diagnosis, and the case at which it failed, if there is one that can be shown."""
    report = check.examine(task, course.shown(task.file), check.read(task, task.file)[1], None)
    return {"passed": report.passed, "told": _told(report)}, _failing(report)


def _told(report: check.Report) -> list[str]:
    if report.passed:
        return [f"./gemm check passes it: right in all {len(report.cases)} cases, and every goal is reached."]
    found = report.found
    case = report.cases[-1] if report.stage == "run" and report.cases and not report.cases[-1]["passed"] else None
    where = f" with {case['what']}, M×N×K = {case['m']}×{case['n']}×{case['k']}" if case else ""
    return [f"./gemm check fails{where}.", *((found.mistake, found.advice, *found.evidence) if found else ())]


def _failing(report: check.Report) -> Request | None:
    last = report.cases[-1] if report.stage == "run" and report.cases else None
    if last is None or last["passed"] or last["id"] in _NOT_TRACED:
        return None
    seed, schedule = report.seed, report.schedule
    options = (f"--case={len(report.cases)}", f"--seed={seed}", f"--schedule={seed if schedule is None else schedule}")
    return Request(last["m"], last["n"], last["k"], options=options)


def is_right(found: Trace, checked: Checked | None) -> bool:
    """Whether nothing was found in the trace, nor by the check."""
    traced = not found["findings"] and not found["error"] and found["verdict"] is not None and found["verdict"]["passed"]
    return traced and (checked is None or checked["passed"])


def inspect_mine(
    task: Task, request: Request | None, line: str | None, array: str | None, as_json: bool, file: Path | None, draw: Draw
) -> int:
    """As inspection.inspect(), of the learner's file. request: what is asked for; none: what the check says is shown."""
    number = None if line is None else int(lesson.whole("--line", line, 1))
    checked, failing = (None, None) if request else examined(task)
    found = trace_mine(task, request or failing or Request())
    if as_json:
        inspection.give(json.dumps(found) + "\n", file)
    else:
        for paragraph in checked["told"] if checked else inspection.problems(found):
            print(paragraph)
        inspection.tell(found, number, array, None, draw)
    return int(not is_right(found, checked))


def trace_mine(task: Task, request: Request, history: int = 0) -> Trace:
    """What the learner's file does. Races, overruns and hangs are in the trace. A UserError where there is none: the file does
    not compile, its code ends the program, or it would take too long.

    history: of how many blocks it keeps what they do, in order; those in which something is wrong come behind the first.
    """
    if not any(option.startswith("--case=") for option in request.options):
        refuse_if_long(request, declared_tile(task.lesson))
    shown, (_, text) = course.shown(task.file), check.read(task, task.file)
    tools = toolchain(_CPU, "inspect", [*targets([task.lesson]), "gemm_traced_headers"])
    source = Source(text, shown, task.namespace, task.title, task.lesson)
    with scratch() as folder:
        try:
            program, _ = compile_program(tools, [source], folder, lessons_of)
        except NotCompiled as error:
            lines = "\n".join(f"  {line}" for line in first_error(error.lines))
            raise UserError(f"{shown} does not compile; ./gemm check {task.argument} says more.\n{lines}", status=1) from error
        found, _ = trace(program, task.title, request, history, Own(task.title, shown))
    return found
