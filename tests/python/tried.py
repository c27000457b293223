"""Many kernels of a lesson, compiled together and run with the cases of a check one by one: what `./gemm check` finds of each."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.core.compiling import NotCompiled, Source, compile_command, compile_program, first_error, list_of
from runner.core.results import folder_of
from runner.learn import check
from runner.learn.diagnosis import Diagnosis, diagnosis_of
from runner.learn.exercise import Task, more_problems

_WARNING = re.compile(r"^(?P<file>[^\s:]+):\d+:\d+: warning: ")


def _is_ready(tools: Mapping, header: str) -> bool:
    """Whether what is made ready for compilers has the repository's header in it."""
    return "prepared" in tools and f"/{header}" in Path(tools["prepared"] + ".d").read_text(encoding="utf-8")


def with_headers(tools: dict, headers: Mapping[str, str], folder: Path) -> dict:
    """How to compile with these headers, by their names, in the place of the repository's; they are written into the folder."""
    for name, text in headers.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    left_out = ["prepared"] if any(_is_ready(tools, name) for name in headers) else []
    kept = {key: value for key, value in tools.items() if key not in left_out}
    return {**kept, "kernel": [*tools["kernel"], "-iquote", folder]} if headers else tools


@dataclass(frozen=True)
class Found:
    """What became of a kernel. by: who found it; none where it is right and reaches every goal."""

    by: str
    id: str
    goals: dict[int, float]  # that are missed, counted from 1, with their figures
    report: check.Report


def _found(report: check.Report) -> Found:
    if report.passed:
        return Found("", "", {}, report)
    assert report.found
    missed = {n: round(goal["value"], 4) for n, goal in enumerate(report.goals, 1) if not goal["reached"]}
    if report.stage != "run" or not report.cases or report.cases[-1]["passed"]:
        return Found("check", report.found.id, missed, report)
    last = report.cases[-1]
    return Found("tracer" if last["findings"] or last["error"] else "verifier", report.found.id, missed, report)


class Tried:
    """A lesson's kernels, in programs that are made in the folder; those that do not compile are none of them. `texts`: of each
    its files, the kernel's by the lesson's name of it, and headers in the place of the repository's. Kernels with the same
    headers are one program."""

    def __init__(self, tools: dict, lesson: str, texts: Sequence[Mapping[str, str]], folder: Path) -> None:
        self._task, self._folder = Task(lesson, "exercise"), folder
        place, space = folder_of(lesson), f"lesson_{self._task.number}"
        self._texts = [files[f"{place}/kernel.cu"] for files in texts]
        self._names = [f"{place}/kernel_{at}.cu" for at in range(len(texts))]
        self._programs: dict[int, tuple[Path, int]] = {}  # and which of its kernels it is
        self._warnings: list[str] = []
        groups: dict[tuple[tuple[str, str], ...], list[int]] = {}
        for at, files in enumerate(texts):
            groups.setdefault(tuple(sorted((f, text) for f, text in files.items() if f != f"{place}/kernel.cu")), []).append(at)
        for number, (headers, together) in enumerate(groups.items()):
            own = folder / str(number)
            own.mkdir()
            with_own = with_headers(tools, dict(headers), own)
            spaces = [Source("", "", f"kernel_{at}") for at in together]
            joined = [f'#line 1 "{self._names[at]}"\n{self._texts[at].replace(space, f"kernel_{at}")}\n' for at in together]
            source = Source("".join(joined), f"{place}/kernel.cu", space, lesson, lesson)
            program, warnings = compile_program(with_own, [source], own, lambda _, spaces=spaces: list_of(spaces))
            self._warnings += [line for line in warnings if _WARNING.match(line)]
            self._programs |= {at: (program, which) for which, at in enumerate(together)}

    def climb(self, at: int, seed: int) -> Found:
        """What is found of the kernel with that number."""
        name, text = self._names[at], self._texts[at]
        program, number = self._programs[at]
        report = check.Report(self._task, name, text, seed, "run", schedule=seed)
        report.warnings = [line for line in self._warnings if line.startswith(name + ":")]
        options = [f"--kernel={number}", f"--goal={check.GOAL}x{check.GOAL}x{check.GOAL}", f"--seed={seed}"]
        options += [f"--schedule={seed}", *more_problems(text)]
        try:
            check.hold(report, check.run_program(program, self._task.title, options, self._folder))
        except check.Ended as ended:
            report.found = diagnosis_of("ended_program", ended.evidence)
        return _found(report)


def refused(tools: dict, lesson: str, text: str, folder: Path) -> check.Report:
    """Of a kernel that must not compile."""
    task = Task(lesson, "exercise")
    name = f"{folder_of(lesson)}/kernel.cu"
    report = check.Report(task, name, text, None, "compile")
    source = Source(text, name, f"lesson_{task.number}", lesson, lesson)
    try:
        command, _ = compile_command(tools, source, folder, prepared=True)
        done = subprocess.run([*command, "-fsyntax-only"], capture_output=True, text=True)
        lines = done.stderr.splitlines() if done.returncode else []
    except NotCompiled as error:
        lines = list(error.lines)
    if not lines:
        report.stage = ""
    else:
        report.found = Diagnosis("It does not compile.", "", first_error(lines), "compile")
    return report
