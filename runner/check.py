"""`./gemm check`: a learner's kernel, from its compilation to its goals; the first thing that is wrong, in words to act on."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from runner import doctor, exercise, inspection, lesson, process, progress
from runner.build import build
from runner.counts import Counts
from runner.diagnosis import Diagnosis, diagnose
from runner.exercise import Task
from runner.inspection import grouped, rate
from runner.process import say_all
from runner.results import ROOT, UserError

SCHEMA = 1
GOAL = 128  # M = N = K of the run whose accesses are held against the goals
TIMED = 2048  # M = N = K of the run that a GPU times
SLOWER = 0.95  # of the exercise before: below this it is slower, not noise
FAR = 0.8  # of the lesson's own kernel: below this there is something to look at
_WIDTH = 110  # columns of the report, at most
_PROGRESS = process.matcher(r"^progress (?P<done>\d+) (?P<total>\d+) ?(?P<what>.*)")
_MESSAGE = re.compile(r"^[^\s:][^:\n]*(?::\d+(?::\d+)?|\(\d+\)): (?P<kind>fatal error|error|warning)\b")
_LIST = """namespace gemm {{
struct Lesson;
}}
{namespaces}
extern const gemm::Lesson* const gemm_checked[];
const gemm::Lesson* const gemm_checked[] = {{{addresses}, nullptr}};
"""


class NotCompiled(Exception):
    """The compiler's or the translator's lines."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__()
        self.lines = lines


@dataclass(frozen=True)
class Source:
    """A kernel to link: its text, what its lines are called in messages, its namespace."""

    text: str
    name: str
    namespace: str


@dataclass
class Report:
    """What one check came to; `stage` is where it ended: file, compile, run, goals, speed, or empty where it passed."""

    task: Task
    name: str  # of the file
    text: str
    seed: int | None = None
    stage: str = ""
    found: Diagnosis | None = None
    cases: list[dict] = field(default_factory=list)
    goals: list[dict] = field(default_factory=list)
    speed: dict | None = None
    warnings: list[str] = field(default_factory=list)
    gpu: str = ""  # its name, where the kernel ran on one, too
    compiled: float = 0.0  # seconds
    ran: float = 0.0

    @property
    def passed(self) -> bool:
        return not self.stage


@cache
def _translator() -> Callable[[str], str]:
    spec = importlib.util.spec_from_file_location("translate", ROOT / "common" / "cpu" / "translate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.translate


# Building


def toolchain(device: doctor.Device) -> dict:
    """Builds what a learner's kernel is linked with; how to compile and link it, as CMake wrote it down."""
    folder = build(device, doctor.provide(device), ["gemm_check_main"])
    return {**json.loads((folder / "check.json").read_text(encoding="utf-8")), "device": device.kind}


def _first_error(lines: Sequence[str]) -> tuple[str, ...]:
    """The first error with the code that it shows, and how many others there are."""
    starts = [i for i, line in enumerate(lines) if (m := _MESSAGE.match(line)) and m["kind"] != "warning"]
    if not starts:
        return tuple(lines[-5:])
    end = next((i for i in range(starts[0] + 1, len(lines)) if not lines[i].startswith((" ", "\t"))), len(lines))
    shown = list(lines[starts[0] : end])
    if len(starts) > 1:
        shown.append(f"… and {len(starts) - 1} more, which the first one often causes")
    return tuple(shown)


def compile_program(tools: Mapping, sources: Sequence[Source], folder: Path) -> tuple[Path, list[str]]:
    """The program that checks sources[0], and the compiler's warnings about it. Raises NotCompiled."""
    warnings: list[str] = []
    objects = []
    for source in sources:
        stem = folder / source.namespace
        line = f'#line 1 "{source.name}"\n'
        if tools["device"] == "cpu":
            try:
                text = _translator()(source.text)
            except SyntaxError as error:
                raise NotCompiled([f"{source.name}:{error.lineno}: error: {error.msg}"]) from error
            file = stem.with_suffix(".cpp")
        else:
            text, file = source.text, stem.with_suffix(".cu")
        file.write_text(line + text, encoding="utf-8")
        objects.append(stem.with_suffix(".o"))
        done = process.stream([*tools["kernel"], "-o", objects[-1], "-c", file], f"Compiling {source.name}", process.unseen)
        lines = [text.replace(str(ROOT) + "/", "") for text in done.lines]
        if done.status:
            raise NotCompiled(lines or [f"{source.name}: error: the compiler ended with status {done.status}."])
        if source is sources[0]:
            warnings = [text for text in lines if (m := _MESSAGE.match(text)) and m["kind"] == "warning"]
    listed = folder / "list.cpp"
    namespaces = "\n".join(f"namespace {s.namespace} {{\nextern const gemm::Lesson lesson;\n}}" for s in sources)
    addresses = ", ".join(f"&{s.namespace}::lesson" for s in sources)
    listed.write_text(_LIST.format(namespaces=namespaces, addresses=addresses), encoding="utf-8")
    program = folder / "check"
    command = [*tools["link_before"], listed, *objects, "-o", program, *tools["link_after"]]
    done = process.stream(command, "Linking", process.unseen)
    if done.status:
        missing = next((s for s in sources if any(f"{s.namespace}::lesson" in text for text in done.lines)), None)
        if missing:
            what = f"it does not define {missing.namespace}::lesson, which launches the kernel"
            raise NotCompiled([f"{missing.name}:1: error: {what}; ./gemm reset brings the file back."])
        raise NotCompiled(done.lines)
    return program, warnings


# Running


def run_program(program: Path, title: str, options: Sequence[str], folder: Path) -> dict:
    """gemm_check's object. A UserError where it could not run."""
    output = folder / "check.json"
    done = process.stream([program, *options, "--output", output], f"Checking {title}", _PROGRESS)
    if what := process.crash(done.status):
        say_all(done.lines)
        raise UserError(f"The check was ended by {what}{f' during: {done.last}' if done.last else ''}.", status=1)
    if done.status not in (0, 1) or not output.exists():
        say_all(done.lines[:-1])
        said = done.lines[-1] if done.lines else f"gemm_check ended with status {done.status} and said nothing."
        raise UserError(said.removeprefix("gemm_check: "))
    say_all(done.lines)  # what the kernel printed
    return json.loads(output.read_text(encoding="utf-8"))


def _code_of(name: str, text: str) -> Callable[[str, int], str]:
    lines = text.splitlines()

    def code_of(file: str, line: int) -> str:
        return lines[line - 1].strip() if file == name and 0 < line <= len(lines) else ""

    return code_of


def held_against_goals(task: Task, trace: Mapping, name: str, text: str) -> list[dict]:
    """Every goal of the lesson with the figure that was counted, in order."""
    counts = Counts({**trace, "tile": inspection.tile(task.lesson)})
    held = []
    for goal in task.goals:
        value, line = goal.measure(counts)
        bound = goal.bound(counts)
        code = _code_of(name, text)(line["file"], line["line"]) if line else ""
        place = f"line {line['line']}: {code} ({line['array']}, {line['op']})" if line else ""
        reached = value >= bound if goal.least else value <= bound
        held.append(
            {
                "text": goal.text,
                "value": value,
                "bound": bound,
                "least": goal.least,
                "unit": goal.unit,
                "reached": reached,
                "place": place,
                "advice": goal.advice,
            }
        )
    return held


def goal_text(goal: Mapping) -> str:
    figure, bound = (grouped(round(v)) if v == round(v) else rate(v) for v in (goal["value"], goal["bound"]))
    return f"{goal['text']}: {figure} {goal['unit']}, {'at least' if goal['least'] else 'at most'} {bound}"


def _before(task: Task) -> Task | None:
    """The exercise before, if the learner's version of it has passed and is unchanged since."""
    order = [t for t in exercise.tasks() if t.kind == "exercise"]
    at = order.index(Task(task.lesson, "exercise"))
    return order[at - 1] if at and progress.state_of(order[at - 1]) == "passed" else None


def _speed(times: Sequence[Mapping], before: Task | None) -> dict:
    """Ratios of the others' times to the learner's, all measured in one run; above 1: the learner's is faster."""
    mine, others = times[0], times[1:]
    ratios = [other["ms_median"] / mine["ms_median"] for other in others]
    return {
        "shape": f"{TIMED}×{TIMED}×{TIMED}",
        "before": before.title if before else None,
        "over_before": ratios[0] if before else None,
        "over_lesson": ratios[-1],
    }


def _on_gpu(report: Report, device: doctor.Device, source: Source, options: Sequence[str], folder: Path) -> None:
    """The same cases on the GPU, then the times. Only for a kernel that has passed on the CPU device."""
    task = report.task
    before = _before(task) if task.kind == "exercise" else None
    sources = [source]
    if before:
        sources.append(Source(before.file.read_text(encoding="utf-8"), str(before.file.relative_to(ROOT)), before.namespace))
    reference = ROOT / task.lesson / "kernel.cu"
    sources.append(Source(reference.read_text(encoding="utf-8"), f"{task.lesson}/kernel.cu", f"lesson_{task.number}"))
    try:
        program, _ = compile_program(toolchain(device), sources, folder)
    except NotCompiled as error:
        report.stage = "compile"
        report.found = Diagnosis("nvcc does not compile what g++ compiles.", "", _first_error(error.lines))
        return
    checked = run_program(program, task.title, [*options, f"--time={TIMED}x{TIMED}x{TIMED}"], folder)
    report.gpu = checked["device_name"]
    if not checked["passed"]:
        report.stage, report.cases = "run", checked["cases"]
        report.found = diagnose(checked["cases"][-1], _code_of(source.name, source.text))
        return
    report.speed = _speed(checked["times"], before)
    over = report.speed["over_before"]
    if over is not None and over < SLOWER:
        report.stage = "speed"
        report.found = Diagnosis(
            f"It is slower than your {before.title if before else ''}.",
            "Count what changed: ./gemm inspect shows the lesson's own kernel line by line, the text says what limits it.",
        )


def examine(task: Task, name: str, text: str, seed: int | None) -> Report:
    """Everything but telling. `name`: what the file is called in messages."""
    report = Report(task, name, text, seed)
    device = doctor.choose()
    tools = toolchain(doctor.Device("cpu", None, (), "kernels are checked on the CPU"))
    source = Source(text, name, task.namespace)
    with tempfile.TemporaryDirectory(prefix="gemm-") as temporary:
        folder = Path(temporary)
        begin = time.monotonic()
        try:
            program, report.warnings = compile_program(tools, [source], folder)
        except NotCompiled as error:
            report.stage, report.found = "compile", Diagnosis("It does not compile.", "", _first_error(error.lines))
            return report
        finally:
            report.compiled = time.monotonic() - begin
        begin = time.monotonic()
        options = [f"--goal={GOAL}x{GOAL}x{GOAL}", *([f"--seed={seed}"] if seed is not None else [])]
        checked = run_program(program, task.title, options, folder)
        report.seed, report.cases = checked["seed"], checked["cases"]
        if not checked["passed"]:
            report.stage, report.found = "run", diagnose(report.cases[-1], _code_of(name, text))
        else:
            report.goals = held_against_goals(task, checked["trace"], name, text)
            if missed := next((goal for goal in report.goals if not goal["reached"]), None):
                report.stage = "goals"
                report.found = Diagnosis(
                    "It is right, and a goal is not reached.", missed["advice"], tuple(filter(None, [missed["place"]]))
                )
        report.ran = time.monotonic() - begin
        if report.passed and device.kind == "cuda":
            _on_gpu(report, device, source, [f"--seed={report.seed}"], folder)
    return report


# Telling


def shape_text(case: Mapping) -> str:
    """`45×71×64, lda 80, alpha = 1.5`: sizes, and what differs from the default."""
    parts = [f"{case['m']}×{case['n']}×{case['k']}"]
    tight = {"lda": case["k"], "ldb": case["n"], "ldc": case["n"]}
    parts += [f"{key} {case[key]}" for key in tight if case[key] != tight[key]]
    parts += [f"{key} = {case[key]:.4g}" for key, usual in (("alpha", 1), ("beta", 0)) if case[key] != usual]
    return ", ".join(parts)


def _wrapped(text: str, first: str = "  ", others: str = "  ") -> str:
    width = max(min(_WIDTH, shutil.get_terminal_size((_WIDTH, 24)).columns), 20)
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False
    )


def told(report: Report, seconds: float) -> str:
    """The report as text: what is right, then the first thing that is wrong."""
    task, lines = report.task, [f"{report.task.title}: {report.name}"]
    if report.stage != "compile" or report.cases:
        lines.append("  ✓ It compiles.")
    right = [case["what"] for case in report.cases if case["passed"]]
    if right:
        whole = f"in all {len(right)} cases of sizes, pitches and scalars{f', also on {report.gpu}' if report.gpu else ''}"
        which = whole if len(right) == len(report.cases) else f"with {'; '.join(right)}"
        lines.append(_wrapped(f"✓ Right, without races, overruns or uninitialised reads, {which}.", "  ", "    "))
    lines += [f"  {'✓' if goal['reached'] else '✗'} {goal_text(goal)}" for goal in report.goals]
    if report.speed:
        speed = report.speed
        parts = (
            [f"{speed['over_before']:.2f} times as fast as your {speed['before']}"] if speed["over_before"] is not None else []
        )
        parts.append(f"{speed['over_lesson']:.2f} times as fast as the lesson's own kernel")
        lines.append(f"  {'✗' if report.stage == 'speed' else '✓'} {', '.join(parts)} ({speed['shape']}, {report.gpu}, one run)")
        if speed["over_lesson"] < FAR:
            lines.append(f"    The lesson's is faster: compare {task.lesson}/kernel.cu, and what nvcc makes of both.")
    if report.found:
        failed = next((case for case in report.cases if not case["passed"]), None)
        if failed:
            lines.append(f"  ✗ Wrong with {failed['what']}: {shape_text(failed)}")
        lines += ["", report.found.mistake]
        lines += [_wrapped(report.found.advice)] if report.found.advice else []
        quoted = report.stage == "compile"  # code, and a caret below it
        lines += [f"  {x}" if quoted or x.startswith("line ") else _wrapped(x) for x in report.found.evidence]
        lines += [f"  The compiler warns: {line}" for line in report.warnings[:2]]
        if report.text == progress.starter(task):
            todo = (
                "Nothing is written here yet: its TODOs say what to do." if task.kind == "exercise" else "The bug is still there."
            )
            lines.append(f"  {todo} ./gemm hint {task.argument} helps.")
    lines.append("")
    verdict = "PASSED" if report.passed else "NOT YET"
    again = f", seed {report.seed} (the same again: --seed {report.seed})" if report.seed is not None else ""
    times = f"compiled in {report.compiled:.1f} s, ran in {report.ran:.1f} s, {seconds:.1f} s in all"
    lines.append(f"{verdict}: {task.title}{again}; {times}.")
    return "\n".join(lines) + "\n"


def as_object(report: Report, seconds: float) -> dict:
    found = report.found
    return {
        "schema": SCHEMA,
        "task": report.task.key,
        "file": report.name,
        "passed": report.passed,
        "stage": report.stage or None,
        "mistake": found.mistake if found else None,
        "advice": found.advice if found else None,
        "evidence": list(found.evidence) if found else [],
        "seed": report.seed,
        "cases": report.cases,
        "goals": report.goals,
        "speed": report.speed,
        "warnings": report.warnings,
        "seconds": {"compile": report.compiled, "run": report.ran, "all": seconds},
    }


def _age() -> float:
    """Seconds since this process began, Python's own start included."""
    started = int(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19]) / os.sysconf("SC_CLK_TCK")
    return time.clock_gettime(time.CLOCK_BOOTTIME) - started


def check(name: str, hunt: bool, file: str | None, seed: str | None, as_json: bool) -> int:
    """Exit status: 0 passed, 1 not passed. The learner's progress remembers what passes, unless it is another file (`file`)."""
    task = exercise.task(lesson.find(name), hunt)
    number = int(lesson.whole("--seed", seed)) if seed is not None else None
    path = Path(file).absolute() if file else task.file
    shown = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        again = "" if file else f"; ./gemm reset {task.argument} brings it back"
        raise UserError(f"{shown} is not there{again}.") from error
    except PermissionError as error:
        raise UserError(f"{shown} cannot be read: {error.strerror}; make it readable.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{shown} is no UTF-8 text (byte {error.start}); save it as UTF-8.") from error
    report = examine(task, shown, text, number)
    if report.passed and path == task.file:
        progress.passed(task, text)
    if as_json:
        print(json.dumps(as_object(report, _age()), ensure_ascii=False))
    else:
        sys.stdout.write(told(report, _age()))
    sys.stdout.flush()
    return 0 if report.passed else 1
