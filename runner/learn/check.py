"""`./gemm check`: a learner's kernel, from its compilation to its goals; the first thing that is wrong, in words to act on."""

from __future__ import annotations

import io
import json
import secrets
import shutil
import stat
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from runner.core import doctor, gpu, lesson, process
from runner.core.compiling import NotCompiled, Source, compile_program, first_error, scratch, toolchain
from runner.core.descriptors import described, targets
from runner.core.figures import grouped, rate
from runner.core.process import say, say_all
from runner.core.results import ROOT, UserError
from runner.inspect.counts import Counts
from runner.inspect.trace_types import Trace
from runner.learn import achievements, course, exercise, progress
from runner.learn.check_types import Case, Checked, Timed
from runner.learn.diagnosis import Diagnosis, Tile, diagnose, diagnosis_of
from runner.learn.exercise import Task

SCHEMA = 1
GOAL = 128  # M = N = K of the run whose accesses are held against the goals
TIMED = 2048  # M = N = K of the run that a GPU times
SLOWER = 0.95  # of the exercise before: below this it is slower, not noise
FAR = 0.8  # of the lesson's own kernel: below this there is something to look at
_WIDTH = 110  # columns of the report, at most
_UNINITIALISED = ("[-Wuninitialized]", "[-Wmaybe-uninitialized]")  # the compiler's names of these warnings
_PRINTED = 20  # lines of what a kernel prints that are shown


class Ended(Exception):
    """The learner's code has ended the program, which could not say anything any more. The evidence."""

    def __init__(self, evidence: Sequence[str]) -> None:
        super().__init__()
        self.evidence = tuple(evidence)


@dataclass
class Report:
    """What one check came to; `stage` is where it ended: file, compile, run, goals, speed, or empty where it passed."""

    task: Task
    name: str  # of the file
    text: str
    seed: int | None = None
    stage: str = "file"
    found: Diagnosis | None = None
    cases: list[Case] = field(default_factory=list)
    goals: list[dict] = field(default_factory=list)
    speed: dict | None = None
    warnings: list[str] = field(default_factory=list)
    gpu: str = ""  # its name, where the kernel ran on one, too
    compiled: float = 0.0  # seconds
    ran: float = 0.0
    schedule: int | None = None  # the seed of what a GPU leaves open; None: that of the inputs

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong and no goal is missed."""
        return not self.stage


# Running


def _say_printed(lines: Sequence[str], left_out: int = 0) -> None:
    """What the kernel printed, in part."""
    say_all(lines[:_PRINTED])
    if more := len(lines[_PRINTED:]) + left_out:
        say(f"… and {grouped(more)} more line{'s' if more > 1 else ''} that the kernel printed")


def run_program(program: Path, title: str, options: Sequence[str], folder: Path) -> Checked:
    """gemm_check's object. Raises UserError where it could not run, Ended where the learner's code has ended it."""
    output = folder / "check.json"
    output.unlink(missing_ok=True)
    command: list[str | Path] = [program, *options, "--output", output]
    done = process.stream(command, f"Checking {title}", process.PROGRESS, progress="--progress-fd")
    try:
        found = json.loads(output.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if found is not None:
        _say_printed(done.lines, done.left_out)
        return found
    refusal = done.lines[-1] if done.lines else ""
    if done.status == 2 and refusal.startswith("gemm_check: "):
        _say_printed(done.lines[:-1], done.left_out)
        raise UserError(refusal.removeprefix("gemm_check: "))
    _say_printed(done.lines, done.left_out)
    signal = process.crash(done.status)
    how = f"was ended by {signal}" if signal else f"ended with status {done.status}"
    raise Ended([f"The program {how}{f' during: {done.last}' if done.last else ''}."])


def _code_of(name: str, text: str) -> Callable[[str, int], str]:
    lines = text.splitlines()

    def code_of(file: str, line: int) -> str:
        return lines[line - 1].strip() if file == name and 0 < line <= len(lines) else ""

    return code_of


def tile_of(trace: Trace, declared: Tile, theirs: Tile) -> Tile:
    """The tile that goals are held against: what is declared buys nothing where the launch was not one of such tiles.

    BM and BN are right where the grid has a block for each tile, a short BK where threads meet as often as there are tiles along
    K. Else the lesson's own count.
    """
    (BM, BN, BK), (their_BM, their_BN, their_BK) = declared, theirs
    if trace["blocks"] != -(-trace["m"] // BM) * -(-trace["n"] // BN):
        BM, BN = their_BM, their_BN
    if their_BK > BK and trace["barriers_per_thread"] < -(-trace["k"] // BK):
        BK = their_BK
    return BM, BN, BK


def held_against_goals(task: Task, trace: Trace, tile: Tile, theirs: Tile, name: str = "", text: str = "") -> list[dict]:
    """Every goal of the lesson with the figure that was counted, in order.

    tile: BM, BN, BK that the kernel declares, from which its bounds follow where the trace bears them out; theirs: those of the
    lesson's own; name, text: of the learner's file.
    """
    declared, tile = tile, tile_of(trace, tile, theirs)
    counts = Counts(trace, tile)
    held = []
    for goal in task.goals:
        value, line = goal.measure(counts)
        bound = goal.bound(counts)
        code = _code_of(name, text)(line["file"], line["line"]) if line else ""
        place = f"line {line['line']}: {code} ({line['array']}, {line['op']})" if line else ""
        # A kernel that accesses nothing reaches no goal, however few bytes it moves.
        reached = bool(counts.lines()) and (value >= bound if goal.least else value <= bound)
        said = (goal.reached if reached else goal.missed).format(value=_figure(value), bound=_figure(bound), unit=goal.unit)
        note = ""
        if tile != declared:
            note = (
                f"The file declares tiles of {'×'.join(map(str, declared))}, but the launch used others: it is "
                f"judged by {'×'.join(map(str, tile))}."
            )
        elif tile != theirs and (usual := goal.bound(Counts(trace, theirs))) != bound:
            note = (
                f"Your tiles of {'×'.join(map(str, tile))} need {_figure(bound)} {goal.unit}; the lesson's of "
                f"{'×'.join(map(str, theirs))} need {_figure(usual)}."
            )
        held.append(
            {
                "text": goal.text,
                "value": value,
                "bound": bound,
                "least": goal.least,
                "unit": goal.unit,
                "reached": reached,
                "said": said if counts.lines() else "the kernel has no such access",
                "note": note,
                "place": place,
                "advice": goal.advice,
            }
        )
    return held


def _figure(value: float) -> str:
    return grouped(round(value)) if value == round(value) else rate(value)


def goal_text(goal: Mapping) -> str:
    """What is asked for, and what was counted."""
    return f"{goal['text']}: {goal['said']}"


def _before(task: Task) -> Task | None:
    """The exercise before, if the learner's version of it has passed and is unchanged since."""
    order = [t for t in exercise.tasks() if t.kind == "exercise"]
    at = order.index(Task(task.lesson, "exercise"))
    with suppress(UserError):  # .progress.json is of no use: that is said after the verdict
        return order[at - 1] if at and progress.state_of(order[at - 1]) == "passed" else None
    return None


def _speed(times: Sequence[Timed], mine: str, before: str | None, reference: str, untimed: Mapping[str, str]) -> dict:
    """Ratios of the others' times to the learner's, all measured in one run; above 1: the learner's is faster.

    mine, before, reference: names in `times`. untimed: what could not be timed at all, and why.
    """
    entries = {entry["name"]: entry for entry in reversed(times)}  # of two with one name the first
    reasons: list[str] = []

    def time_of(name: str) -> float | None:
        entry = entries.get(name)
        if entry and entry.get("ms_median"):
            return entry["ms_median"]
        why = untimed.get(name) or (entry and entry["failure"]) or "it does not run here"
        reasons.append(f"{name} was not timed: {why.splitlines()[0].rstrip('.')}.")
        return None

    own, of_before, of_lesson = time_of(mine), time_of(before) if before else None, time_of(reference)
    return {
        "shape": f"{TIMED}×{TIMED}×{TIMED}",
        "before": before,
        "over_before": of_before / own if own and of_before else None,
        "over_lesson": of_lesson / own if own and of_lesson else None,
        "reasons": reasons,
    }


def _on_gpu(report: Report, device: doctor.Device, source: Source, options: Sequence[str], folder: Path) -> None:
    """The same cases on the GPU, then the times. Only for a kernel that has passed on the CPU device."""
    task = report.task
    before = _before(task) if task.kind == "exercise" else None
    sources, untimed = [source], {}
    if before:
        text, name = source_text(before.file.read_bytes()), str(before.file.relative_to(ROOT))
        sources.append(Source(text, name, before.namespace, before.title, before.lesson))
    sources.append(Source(task.kernel(), f"{task.folder}/kernel.cu", f"lesson_{task.number}", task.lesson, task.lesson))
    report.stage, tools = "compile", toolchain(device)
    while True:
        try:
            program, _ = compile_program(tools, sources, folder)
            break
        except NotCompiled as error:
            if error.source not in sources[1:]:
                named = (error.source or source).name
                report.found = Diagnosis(f"nvcc does not compile {named}, although g++ does.", "", first_error(error.lines))
                return
            sources.remove(error.source)  # there is nothing to compare with, then
            untimed[error.source.title] = f"nvcc does not compile {error.source.name}"
    report.stage = "run"
    with gpu.alone(device):
        checked = run_program(program, task.title, [*options, f"--time={TIMED}x{TIMED}x{TIMED}"], folder)
    report.gpu = checked["device_name"]
    if not checked["passed"]:
        report.cases = checked["cases"]
        report.found = diagnose(checked["cases"][-1], _code_of(source.name, source.text), _declared(checked))
        return
    report.stage = ""
    report.speed = _speed(checked["times"] or (), checked["name"], before.title if before else None, task.lesson, untimed)
    over = report.speed["over_before"]
    if over is not None and over < SLOWER:
        report.stage = "speed"
        report.found = Diagnosis(
            f"It is slower than your {before.title if before else ''}.",
            "Count what changed: ./gemm inspect shows the lesson's own kernel line by line, the text says what limits it.",
        )


def _declared(checked: Checked) -> tuple[int, int, int]:
    """BM, BN, BK of gemm_check's object."""
    return checked["tile"]["BM"], checked["tile"]["BN"], checked["tile"]["BK"]


def _explained(report: Report, found: Diagnosis) -> Diagnosis:
    """Led by the compiler's warning, where values are wrong and it knows of a variable that has none."""
    verdict = report.cases[-1]["verdict"]
    of_values = verdict and verdict["failure"] in ("elements", "precision") and not report.cases[-1]["findings"]
    warning = next((line for line in report.warnings if line.endswith(_UNINITIALISED)), None) if of_values else None
    if not warning:
        return found
    report.warnings = [line for line in report.warnings if line != warning]
    return diagnosis_of("no_value", (warning, *found.evidence))


def hold(report: Report, checked: Checked) -> None:
    """What gemm_check's object (of the CPU device) says: the report's stage is where it ended, its `found` what is wrong."""
    report.stage, report.cases = "run", checked["cases"]
    if not checked["passed"]:
        report.found = _explained(report, diagnose(report.cases[-1], _code_of(report.name, report.text), _declared(checked)))
        return
    assert checked["trace"]  # the CPU device traces
    report.stage = "goals"
    # toolchain() has built it, for the same device.
    theirs = described(ROOT / "build" / "cpu", report.task.lesson).tile
    report.goals = held_against_goals(report.task, checked["trace"], _declared(checked), theirs, report.name, report.text)
    if missed := next((goal for goal in report.goals if not goal["reached"]), None):
        report.found = Diagnosis("It is right, but it misses a goal.", missed["advice"], (missed["place"],), "goal")
        return
    report.stage = ""


def examine(task: Task, name: str, text: str, seed: int | None, schedule: int | None = None) -> Report:
    """Everything but telling. `name`: what the file is called in messages. schedule: by default the same number as the seed."""
    report = Report(task, name, text, seed)
    device = doctor.choose()
    tools = toolchain(doctor.Device("cpu", None, (), "kernels are checked on the CPU"), more=targets([task.lesson]))
    source = Source(text, name, task.namespace, task.title, task.lesson)
    with scratch() as folder:
        report.stage, begin = "compile", time.monotonic()
        try:
            program, report.warnings = compile_program(tools, [source], folder)
        except NotCompiled as error:
            report.found = Diagnosis("It does not compile.", "", first_error(error.lines), "compile")
            return report
        finally:
            report.compiled = time.monotonic() - begin
        report.stage, begin = "run", time.monotonic()
        try:
            # Drawn here, so that it is known whatever becomes of the program.
            report.seed = secrets.randbelow(10**9) if seed is None else seed
            report.schedule = report.seed if schedule is None else schedule
            options = [f"--goal={GOAL}x{GOAL}x{GOAL}", f"--seed={report.seed}", f"--schedule={report.schedule}", "--halves"]
            options += exercise.more_problems(text)
            hold(report, run_program(program, task.title, options, folder))
            if report.found:
                return report
            report.ran = time.monotonic() - begin
            if device.kind == "cuda":
                _on_gpu(report, device, source, [f"--seed={report.seed}"], folder)
        except Ended as ended:
            report.stage = "run"
            report.found = diagnosis_of("ended_program", ended.evidence)
        finally:
            report.ran = report.ran or time.monotonic() - begin
    return report


# Telling


def shape_text(case: Case) -> str:
    """`M×N×K = 45×71×64, lda = 80, alpha = 1.5`: sizes, and what differs from the default."""
    problems = case["groups"] or [[case["m"], case["n"], case["k"]]]
    parts = ["M×N×K = " + " and ".join("×".join(map(str, sizes)) for sizes in problems)]
    operands = case["operands"]
    parts += [f"{one['pitch_name']} = {one['pitch']}" for one in operands if one["pitch"] != one["tight"]]
    if any(one["stride"] for one in operands):
        parts += [f"a batch of {case['batch']}"] + [f"from one {one['name']} to the next {one['stride']}" for one in operands]
    scalars = (("alpha", case["alpha"], 1), ("beta", case["beta"], 0))
    parts += [f"{key} = {'NaN' if x is None else f'{x:.5g}'}" for key, x, usual in scalars if x != usual]
    off = [f"{one['name']} {one['offset']}" for one in operands if one["offset"]]
    parts += [f"elements past an aligned address: {', '.join(off)}"] if off else []
    return ", ".join(parts)


def _right(cases: Sequence[Case]) -> str:
    """What passed, as nouns; of what combines several difficulties only how many there were."""
    together = {
        "alignment": "one address, pitch or size off by 4 or 8 bytes",
        "products": "scalars, pitches, places and K combined",
    }
    alone = list(dict.fromkeys(case["what"] for case in cases if case["id"] not in together))
    for id, what in together.items():
        if count := sum(case["id"] == id for case in cases):
            alone.append(f"{what} ({count} ways)")
    return "; ".join(alone)


def _wrapped(text: str, indent: int = 2, hanging: int = 0) -> str:
    width = max(min(_WIDTH, shutil.get_terminal_size((_WIDTH, 24)).columns), 20)
    return "\n".join(course.wrapped(" " * indent + text, width, hanging))


def _speed_lines(report: Report) -> list[str]:
    speed = report.speed or {}
    parts = [f"{speed['over_before']:.2f} times as fast as your {speed['before']}"] if speed["over_before"] is not None else []
    if speed["over_lesson"] is not None:
        parts.append(f"{speed['over_lesson']:.2f} times as fast as the lesson's own kernel")
    lines = []
    if parts:
        lines = [f"  {'✗' if report.stage == 'speed' else '✓'} {', '.join(parts)} ({speed['shape']}, {report.gpu}, one run)"]
    if speed["over_lesson"] is not None and speed["over_lesson"] < FAR:
        lines.append(f"    The lesson's is faster: compare {report.task.folder}/kernel.cu, and what nvcc makes of the two.")
    return lines + [_wrapped(f"- {reason}", hanging=2) for reason in speed["reasons"]]


def told(report: Report, seconds: float) -> str:
    """The report as text: what is right, then the first thing that is wrong. seconds: it took."""
    task, lines = report.task, [f"{report.task.title}: {report.name}"]
    if report.stage != "compile" or report.cases:
        lines.append("  ✓ It compiles.")
    right = [case for case in report.cases if case["passed"]]
    if right:
        whole = f"in all {len(right)} cases of sizes, pitches and scalars{f', also on {report.gpu}' if report.gpu else ''}"
        which = whole if len(right) == len(report.cases) else f"with {_right(right)}"
        lines.append(_wrapped(f"✓ Right, without races, overruns or uninitialised reads, {which}.", hanging=2))
    for goal in report.goals:
        lines.append(_wrapped(f"{'✓' if goal['reached'] else '✗'} {goal_text(goal)}", hanging=2))
        lines += [_wrapped(goal["note"], indent=4)] if goal["note"] else []
    if report.speed:
        lines += _speed_lines(report)
    if report.found:
        failed = next((case for case in report.cases if not case["passed"]), None)
        if failed:
            lines.append(f"  ✗ Wrong with {failed['what']}: {shape_text(failed)}")
        lines += ["", report.found.mistake]
        lines += [_wrapped(report.found.advice)] if report.found.advice else []
        quoted = report.stage == "compile"  # code, and a caret below it
        for x in report.found.evidence:
            lines += [f"  {x}"] if quoted or x.startswith("line ") else [_wrapped(part.strip()) for part in x.splitlines()]
    lines += [f"  The compiler warns: {line}" for line in report.warnings[:2]]
    if report.found and is_start(report):
        one = report.text.count("// TODO ") == 1
        todo = f"This is still the starting file: its {'TODO says' if one else 'TODOs say'} what to do."
        lines.append(f"  {todo if task.kind == 'exercise' else 'The bug is still there.'} ./gemm hint {task.argument} helps.")
    lines.append("")
    verdict = "PASSED" if report.passed else "NOT YET"
    drawn = {"seed": report.seed, **({"schedule": report.schedule} if report.schedule not in (None, report.seed) else {})}
    named, options = ", ".join(f"{key} {n}" for key, n in drawn.items()), " ".join(f"--{key} {n}" for key, n in drawn.items())
    again = f", {named} (the same again: {options})" if report.seed is not None else ""
    times = f"compiled in {report.compiled:.1f} s, ran in {report.ran:.1f} s, {seconds:.1f} s in all"
    lines.append(f"{verdict}: {task.title}{again}; {times}.")
    return "\n".join(lines) + "\n"


def is_start(report: Report) -> bool:
    """Whether the file is as the learner got it."""
    with suppress(UserError):  # kernel.cu, which it is made from, is damaged: that is another matter
        return report.text == progress.starter(report.task)
    return False


def as_object(report: Report, seconds: float) -> dict:
    """The report for --json; seconds: it took."""
    return {
        "schema": SCHEMA,
        "task": report.task.key,
        "file": report.name,
        "passed": report.passed,
        "stage": report.stage or None,
        **{name: getattr(report.found, name, None) for name in ("id", "mistake", "advice")},
        "evidence": list(report.found.evidence) if report.found else [],
        "seed": report.seed,
        "schedule": report.schedule,
        "cases": report.cases,
        "goals": report.goals,
        "speed": report.speed,
        "warnings": report.warnings,
        "seconds": {"compile": report.compiled, "run": report.ran, "all": seconds},
    }


def _age() -> float:
    """Seconds since this process began, Python's own start included."""
    return time.time() - psutil.Process().create_time()


def source_text(raw: bytes) -> str:
    """A source file as compilers read it: without a byte order mark, its lines ended by \\n. Raises UnicodeDecodeError."""
    return io.StringIO(raw.decode("utf-8-sig"), newline=None).read()


def read(task: Task, path: Path) -> tuple[bytes, str]:
    """The file's bytes, and source_text() of them. Where there is no file for the task yet, it begins."""
    shown = course.shown(path)
    if begun := course.provide(task) if path == task.file else "":
        say(begun)
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UserError(f"{shown} is not an ordinary file; name a file with the kernel.")
        raw = path.read_bytes()
        return raw, source_text(raw)
    except FileNotFoundError as error:
        again = f"; ./gemm start {task.argument} brings back its starting file" if path == task.file else ""
        raise UserError(f"{shown} is not there{again}.") from error
    except OSError as error:
        raise UserError(f"{shown} cannot be read: {error.strerror}; make it readable.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{shown} is not UTF-8 text (byte {error.start}); save it as UTF-8.") from error


def check(name: str, hunt: bool, file: str | None, seed: str | None, as_json: bool, schedule: str | None = None) -> int:
    """Exit status: 0 passed, 1 not passed. The learner's progress remembers what passes, unless it is another file (`file`)."""
    task = exercise.task(lesson.find(name), hunt)
    number = int(lesson.whole("--seed", seed)) if seed is not None else None
    order = int(lesson.whole("--schedule", schedule)) if schedule is not None else None
    if file is not None and not file.strip():
        raise UserError("--file needs the name of a file, such as --file mine.cu.")
    path = Path(file).absolute() if file else task.file
    raw, text = read(task, path)
    report = examine(task, course.shown(path), text, number, order)
    # The verdict comes first: a .progress.json of no use must not take it away.
    remembered = report.passed and path == task.file
    if as_json:
        print(json.dumps(as_object(report, _age()), ensure_ascii=False))
    else:
        sys.stdout.write(told(report, _age()))
    sys.stdout.flush()
    if remembered:
        over = report.speed["over_lesson"] if report.speed else None
        speed = progress.Speed(over, report.gpu) if over is not None else None
        earned = progress.passed(task, raw.decode("utf-8"), speed=speed)
        if not as_json:
            sys.stdout.writelines(f"{line}\n" for line in (achievements.told(earned), _after(task)) if line)
    return 0 if report.passed else 1


def _after(task: Task) -> str:
    """What comes after a task that has just passed."""
    with suppress(UserError):
        following = progress.following(progress.load(), task)
        return f"Next: ./gemm watch {following.argument}" if following else "All done: every task has passed."
    return ""
