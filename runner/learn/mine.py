"""A learner's own kernel traced as `./gemm inspect` traces a lesson's: what `./gemm explore --mine` shows. Where no sizes are
asked for, it is the case at which `./gemm check` fails.
"""

from __future__ import annotations

from runner.core import doctor
from runner.core.compiling import NotCompiled, Source, compile_program, first_error, lessons_of, scratch, toolchain
from runner.core.descriptors import targets
from runner.core.results import UserError
from runner.inspect.inspection import Own, Request, declared_tile, refuse_if_long, trace
from runner.inspect.trace_types import Trace
from runner.learn import check, course
from runner.learn.exercise import Task

_CPU = doctor.Device("cpu", None, (), "kernels are traced on the CPU")


_NOT_TRACED = {"long_k", "many_blocks", "far", "order"}  # cases of matrices that are not there in whole, or too large to show


def failing(report: check.Report) -> Request | None:
    """The case at which a check failed, if there is one that can be shown."""
    last = report.cases[-1] if report.stage == "run" and report.cases else None
    if last is None or last["passed"] or last["id"] in _NOT_TRACED:
        return None
    seed, schedule = report.seed, report.schedule
    options = (f"--case={len(report.cases)}", f"--seed={seed}", f"--schedule={seed if schedule is None else schedule}")
    return Request(last["m"], last["n"], last["k"], options=options)


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
