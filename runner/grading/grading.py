"""One submitted file, from its bytes to a verdict that does not take the file's word for anything.

The learner's code is compiled and runs in a sandbox, as two programs. gemm_exam computes problems whose seed it is not told,
and gemm_judge, outside, holds what came back against float64: that is the verdict. gemm_check traces accesses and finds the
words for a mistake, in the same process as the learner's code: that is evidence, which can only take a verdict away.

What a compiler or a program prints is for people. Whether it failed for its own sake or for this machine's is told by signals,
limits and what the kernel has counted (sandbox.Ended).
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import re
import shutil
import sys
import tempfile
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from runner.core import compiling, doctor, process
from runner.core.build import build
from runner.core.compiling import Source
from runner.core.results import ROOT, UserError
from runner.grading.sandbox import TMP, Ended, Limits, Sandbox
from runner.learn import check
from runner.learn.check import GOAL, Report
from runner.learn.check_types import Case, Checked, Marked
from runner.learn.diagnosis import Diagnosis, diagnosis_of
from runner.learn.exercise import Task, more_problems

LARGEST = 256 << 10  # bytes of a file: the longest kernel of the course has a tenth
_COURSE, _IN = Path("/course"), Path("/in")  # inside the sandbox: what kernels are compiled with, and what is given to a run
# Bytes of addresses: common/cpu/execution/host_api.cpp's range of device memory, and the guards between stacks.cpp's stacks.
_RESERVED = (1 << 44) + (1 << 30)
_READ = 64 << 10  # bytes of what a compiler or a program says that are looked at
_ROOM = 1 << 20  # bytes free for temporary files: with less, what came of a run may be for lack of them
_WRONG = 1  # a compiler's, for an error of the code
_REFUSED = 2  # gemm_check's exit status where it could not begin
_REPORT = 4 << 20  # bytes of gemm_check's JSON
_LONGEST = 32 << 10  # characters of a text for a learner
_LONGEST_WORDS = 4 << 10  # and of one that its code may have made
_TRANSLATED = 8 * LARGEST  # bytes of a kernel as C++
_LONG_RUN = 4  # times the seconds of a run for a kernel that is asked problems that take long
_MANY = 4  # kernels: from this one on it pays to make ready what they all begin with
_PREPARED = "kernel.hpp"  # in the kit: what is made ready
_OF_HEADERS = 512 << 20  # bytes that it may have
_THREADS = 16  # of a kernel's program, beside two for each core: the CPU device's and the reference's
NO_ROOM = "There is no room left for temporary files; free some, or set TMPDIR to another folder."
_TRANSLATING = 10  # seconds that the translation to C++ may take
_NO_CAT = 99  # no compiler's status
_SAVED = f'o=$1; shift; "$@" || exit $?; cat "$o" || exit {_NO_CAT}'  # what was made in TMP goes out by stdout
_SAVED_TIMED = f"{_SAVED}; times >&2"  # as _TIMED
_ANSWERS = 3  # a descriptor: where a kernel's program writes what is not for people
_APART = f"exec {_ANSWERS}>&1 >&2; "  # that goes out by stdout, and what it prints with the messages
_ALONE = f'{_APART}exec "$@"'
_TIMED = f'{_APART}"$@"; status=$?; times; exit $status'  # POSIX: the last line of the messages says how long it has computed
# A program with a submitted kernel may compute so many times as long as with the lesson's own kernel, and so many seconds at
# least, as far as the limits allow. What is slower probably never ends.
_TIMES, _LEAST = 5, 5.0
_LEAST_COMPILING = 6.0  # the same of a compiler or a linker, which --seconds does not shorten
# Seconds after which gemm_check itself gives a problem up, which tells more than that it was stopped; half of all that it has, if
# that is more: with the lesson's own kernel no problem takes half of a check (at most 0.4 of it, in 01). After 3 s the CPU device
# begins to say which thread does not end.
_PATIENCE = 4

# Of an outcome. "passed" and "failed" are verdicts; the others are what there is no verdict for.
PASSED, FAILED, UNTOUCHED, MISSING, REFUSED, TROUBLE = "passed", "failed", "untouched", "missing", "refused", "trouble"


@dataclass(frozen=True)
class Outcome:
    """What came of one file."""

    state: str
    text: str  # for the learner: what ./gemm check would say, and who says so
    judged: bool | None = None  # whether what it computed is right; None: it computed nothing
    seconds: float = 0.0


class _Failed(Exception):
    """A stage that ends the grading of this file."""

    def __init__(self, stage: str, found: Diagnosis) -> None:
        super().__init__()
        self.stage, self.found = stage, found


def printable(text: str) -> str:
    """`text` with what no terminal, page or file of tables should be given: bytes that are no UTF-8, control characters."""
    text = text.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def without_places(text: str) -> str:
    """`text` with the names of files alone, not where they are on this machine."""
    for place in (ROOT, Path(tempfile.gettempdir()), Path.home()):
        text = text.replace(f"{place}/", "/") if place != Path("/") else text
    return re.sub(r"(?<![\w./])/(?:[^\s/:;,'\"()]+/)*(?=[^\s/])", "", text)


def seed_of(secret: str, *what: str) -> int:
    """A seed for this use that nobody knows who has not the secret; the same each time."""
    digest = hmac.new(secret.encode(), "\0".join(what).encode(errors="surrogateescape"), hashlib.sha256).digest()
    return int.from_bytes(digest[:6], "big")


def _said(file: Path) -> list[str]:
    with file.open("rb") as messages:
        return [line.rstrip() for line in messages.read(_READ).decode(errors="replace").splitlines()]


def _seconds_in(lines: Sequence[str]) -> float:
    """What the shell's `times` has said last, of user's and system's time: 0m1.230s 0m0.040s."""
    found = re.findall(r"(\d+)m([\d.]+)s", lines[-1] if lines else "")
    return sum(60 * int(minutes) + float(seconds) for minutes, seconds in found)


def _writable(text: str) -> str:
    """A text in which the learner's code may have had its say, so that it can be written, shown and kept: UTF-8, no control
    characters, not too long."""
    cut = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} …\n"
    return "".join(c if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs") else "\N{REPLACEMENT CHARACTER}" for c in cut)


def _short(value: Any) -> Any:  # noqa: ANN401  (of JSON)
    """`value` with its texts cut: to lay out long ones takes long."""
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_WORDS else f"{value[:_LONGEST_WORDS]} …"
    if isinstance(value, list):
        return [_short(one) for one in value]
    return {_short(key): _short(one) for key, one in value.items()} if isinstance(value, dict) else value


_OF_A_LINE = ("line", "width", "requests", "threads", "bytes", "sectors", "ideal_sectors", "wavefronts", "ideal_wavefronts")
_OF_A_TRACE = ("blocks", "threads_per_block", "barriers_per_thread")
_OF_A_CASE = ("m", "n", "k", "lda", "ldb", "ldc", "batch")
_OF_AN_OPERAND = ("pitch", "tight", "offset", "stride")


def evidence(raw: bytes) -> Checked:
    """gemm_check's object, which the learner's code may have written: there are cases, texts are short, and what is computed with
    are numbers, and small ones.

    Raises ValueError, KeyError, TypeError, AttributeError or RecursionError where it is not.
    """
    found = _short(json.loads(raw))
    numbers = [found["tile"][key] for key in ("BM", "BN", "BK")]
    numbers += [case[key] for case in found["cases"] for key in _OF_A_CASE]
    numbers += [number for case in found["cases"] for sizes in case["groups"] for number in sizes]
    numbers += [one[key] for case in found["cases"] for one in case["operands"] for key in _OF_AN_OPERAND]
    numbers += [scalar for case in found["cases"] for key in ("alpha", "beta") if (scalar := case[key]) is not None]
    if (trace := found["trace"]) is not None:
        trace.update(dict.fromkeys("mnk", GOAL))  # as asked for
        numbers += [trace[key] for key in _OF_A_TRACE] + [
            line[key] for line in trace["lines"] for key in _OF_A_LINE if key in line
        ]
        numbers += [value for value in trace["totals"].values() if value is not None]
    if any(type(number) not in (int, float) or not abs(number) < 1 << 53 for number in numbers):
        raise ValueError("a figure is no number")
    if not found["cases"]:
        raise ValueError("it has no cases")
    return found


def whole(found: Checked, asked: Sequence[Case]) -> bool:
    """Whether the object holds the problems that gemm_check asks, all of them or those up to the one that failed."""

    def named(cases: Sequence[Case]) -> list[tuple]:
        return [(case["id"], case["groups"], *(case[key] for key in _OF_A_CASE)) for case in cases]  # type: ignore[literal-required]

    held, expected, last = named(found["cases"]), named(asked), found["cases"][-1]
    if found["passed"]:
        return held == expected and all(case["passed"] for case in found["cases"])
    return held == expected[: len(held)] or (held[:-1] == expected and last["id"] == "goal")


_PREFIX = "gemm-grade-"


def _locked(folder: Path) -> int:
    """A descriptor that holds the folder's lock; negative where somebody else has it, or the folder is gone."""
    try:
        held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return -1
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(held), folder.lstat()):
            return held
    except OSError:
        pass
    os.close(held)
    return -1


@contextmanager
def workplace() -> Iterator[Path]:
    """A folder for all temporary files of a grading, which is removed. First, those are that killed gradings have left: a folder
    whose lock nobody holds."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if left.lstat().st_uid == os.geteuid() and (held := _locked(left)) >= 0:
                shutil.rmtree(left, ignore_errors=True)
                os.close(held)
    while True:  # another grading may have taken it for a leftover before it was locked
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        if (held := _locked(folder)) >= 0:
            break
    try:
        folder.chmod(0o711)  # where there is no sandbox, submissions have users of their own
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def without_a_run(task: Task, name: str, raw: bytes) -> Outcome | None:
    """What is said of a file that there is nothing to compile of; None where there is."""
    try:
        text = check.source_text(raw)
    except UnicodeDecodeError as error:
        return Outcome(FAILED, f"{task.title}: {name} is not UTF-8 text (byte {error.start}); save it as UTF-8.\n")
    if check.is_start(Report(task, name, text)):
        return Outcome(UNTOUCHED, f"{task.title}: {name} is still as it was given out.\n")
    return None


class Kit:
    """What submissions are compiled and linked with: headers and libraries of the CPU device, in a folder of their own.

    There is no lesson in it, no reference, and nothing of other submissions.
    """

    def __init__(self, place: Path, sandbox: Sandbox) -> None:
        """place: where temporary files go (see workplace()). Builds what is not built yet."""
        device = doctor.Device("cpu", None, (), "submissions are graded on the CPU device")
        self._tools = {name: compiling.toolchain(device, name) for name in ("check", "exam")}
        self.judge = build(device, doctor.provide(device), ["gemm_judge", "gemm_lessons_json"]) / "bin" / "gemm_judge"
        folder = Path(tempfile.mkdtemp(prefix="kit-", dir=place))
        self.place, self.folder, self.sandbox = place, folder, sandbox
        self._inside = _COURSE if sandbox.isolated else folder
        self.binds: dict[Path, Path] = {folder: _COURSE}
        for source in [*(ROOT / "common").rglob("*.hpp"), *(ROOT / "common" / "cpu" / "include").rglob("*")]:
            if source.is_file():
                self._copy(source, folder / source.relative_to(ROOT))
        self.kernel = [self._kept(argument) for argument in self._tools["check"]["kernel"]]
        self.links = {
            name: ([self._kept(a) for a in tools["link_before"]], [b for a in tools["link_after"] for b in self._library(a)])
            for name, tools in self._tools.items()
        }
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        self._compiled, self._prepared = 0, False  # how many kernels; whether what they begin with is ready
        self._preparing = threading.Lock()

    def commands(self, text: str, slot: int) -> list[list[str]]:
        """How a kernel is compiled: the first command that succeeds has done it, and the last one says what is wrong otherwise.

        `slot`: of the sandbox, which the caller has for itself."""
        with self._preparing:
            self._compiled += 1
            if self._compiled == _MANY and self.sandbox.isolated:
                self._prepared = self._prepare(slot)
        ready = self._prepared and compiling.begins_as_prepared(text)
        return [compiling.with_prepared(self.kernel, str(self._inside / _PREPARED))] * ready + [self.kernel]

    def _prepare(self, slot: int) -> bool:
        """Makes ready what kernels begin with, by the compiler that sees it at the same place as they do: inside."""
        header, inside = self.folder / _PREPARED, str(self._inside / _PREPARED)
        header.write_text('#include "common/gemm.hpp"\n', encoding="utf-8")
        made, limits = str(TMP / f"{_PREPARED}.gch"), replace(Limits(), file=_OF_HEADERS, folder=2 * _OF_HEADERS)
        command = ["sh", "-c", _SAVED, "sh", made, *self.kernel, "-x", "c++-header", "-o", made, "-c", inside]
        with tempfile.TemporaryDirectory(dir=self.place) as folder:
            output, messages = Path(folder) / "made", Path(folder) / "messages"
            with output.open("wb") as out, messages.open("wb") as said:
                ended = self.sandbox.run(command, Path(folder), self.binds, out, said, limits, slot)
            if ended.status or ended.broken:
                return False
            self._copy(output, self.folder / f"{_PREPARED}.gch")
        for path in self.folder.glob(f"{_PREPARED}*"):
            path.chmod(0o644)
        return True

    @staticmethod
    def _copy(source: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)

    def _kept(self, argument: str) -> str:
        """An argument whose paths are those inside; what lies elsewhere than in the checkout or the system is bound, too."""
        option, path = (argument[:2], Path(argument[2:])) if argument[:2] in ("-I", "-L") else ("", Path(argument))
        if path.is_relative_to(ROOT):
            return f"{option}{self._inside / path.relative_to(ROOT)}"
        if path.is_absolute() and not path.is_relative_to("/usr") and path.exists():
            self.binds[path] = path
        return argument

    def _library(self, argument: str) -> list[str]:
        """A library of the checkout is linked whole: who defines one of its names, main() among them, is told so."""
        path = Path(argument)
        if not path.is_absolute() or not path.is_relative_to(ROOT):
            return [self._kept(argument)]
        self._copy(path, self.folder / "lib" / path.name)
        return ["-Wl,--whole-archive", str(self._inside / "lib" / path.name), "-Wl,--no-whole-archive"]


class Grader:
    """Grades files, each in a sandbox of its own; several threads may."""

    def __init__(self, kit: Kit, secret: str, limits: Limits) -> None:
        self._kit, self._secret = kit, secret
        self._limits = replace(limits, reserved=_RESERVED, processes=2 * process.cores() + _THREADS)
        self._compiling = replace(limits, seconds=max(limits.seconds, 60))
        self._own: dict[tuple[str, ...], Mapping[str, float]] = {}  # what own() returns, by lesson and further problems
        self._measuring = threading.Lock()

    def stop(self) -> None:
        """Ends what is being graded, in all threads: they raise sandbox.Stopped."""
        self._kit.sandbox.stop()

    def grade(self, task: Task, learner: str, name: str, raw: bytes, slot: int, final: bool = False) -> Outcome:
        """`name`: what the file is called in messages. `slot`: 0 …, another one for each thread.

        Raises UserError where no verdict should rest on what happened, since this machine may be at fault. `final`: it is known
        not to be, so that what ended the code counts against it.
        """
        if outcome := without_a_run(task, name, raw):
            return outcome
        report = Report(task, name, check.source_text(raw))
        return self._graded(report, learner, slot, more_problems(report.text), final)[0]

    def prove(self, task: Task, slot: int, more: Sequence[str] = ()) -> Outcome:
        """Grades the lesson's own kernel, and keeps how long it computes, if it passes. Raises UserError as grade() does.

        `more`: what it is asked beside what all are (more_problems()).
        """
        report = Report(task, str(task.file.relative_to(ROOT)), task.solution())
        outcome, computed = self._graded(report, None, slot, more)
        if outcome.state == PASSED:
            self._own[(task.lesson, *more)] = computed
        return outcome

    def own(self, task: Task, more: Sequence[str]) -> Mapping[str, float]:
        """Seconds for which each program computes with the lesson's own kernel, by name; empty as long as nobody had to know."""
        return self._own.get((task.lesson, *more), {})

    def measure(self, task: Task, slot: int, more: Sequence[str]) -> None:
        """Sees to it that own() knows. Raises UserError."""
        with self._measuring:
            if not self.own(task, more) and self.prove(task, slot, more).state != PASSED:
                raise UserError("The lesson's own kernel does not pass here.")

    def _graded(
        self, report: Report, learner: str | None, slot: int, more: Sequence[str], final: bool = False
    ) -> tuple[Outcome, Mapping[str, float]]:
        """What came of it, and what own() returns where it is the lesson's own kernel: `learner` None."""
        begin, judged, computed = time.monotonic(), None, dict[str, float]()
        with tempfile.TemporaryDirectory(dir=self._kit.place) as held:
            try:
                run = _Run(self, report, learner, Path(held), slot, more, final)
                programs = run.compiled()
                run.checked(programs["check"])
                judged = run.examined(programs["exam"])
                computed = run.computed
            except _Failed as failed:
                report.stage, report.found = failed.stage, failed.found
        seconds = time.monotonic() - begin
        text = check.told(report, seconds)
        if report.passed:
            assert judged
            text += (
                "Judged from outside: what it computed, in a process that knows no results, is right in every problem.\n"
                "Races, overruns and goals are what its own run says.\n"
            )
        return Outcome(PASSED if report.passed else FAILED, _writable(text), judged, seconds), computed


class _Run:
    """The stages of one file."""

    def __init__(
        self, grader: Grader, report: Report, learner: str | None, folder: Path, slot: int, more: Sequence[str], final: bool
    ) -> None:
        """`learner`: None for the lesson's own kernel."""
        self.computed: dict[str, float] = {}  # seconds, by program; of the lesson's own kernel alone
        self._more, self._final = more, final
        self._grader, self._report, self._learner, self._folder, self._slot = grader, report, learner, folder, slot
        self._kit = grader._kit
        self._source = Source(report.text, report.name, report.task.namespace, report.task.title)
        self._late = False  # whether gemm_check did not end in time
        self._void = False  # whether gemm_check ended well and left what is no report of a check
        seconds = grader._limits.seconds * (_LONG_RUN if more else 1)
        self._running = replace(grader._limits, seconds=seconds)
        self._given = folder / "in"
        self._given.mkdir()
        self._own = folder / "tmp"  # TMP, where there is no sandbox
        self._own.mkdir()
        # Where there is no sandbox, the code's user reads what it is given and writes in its own folder. What is opened here, and
        # what that user must not put a link in the place of, lies in one that it can only pass through.
        folder.chmod(0o711)
        self._given.chmod(0o755)  # noqa: S103
        self._kit.sandbox.hand_over(self._own, slot)

    def _run(
        self, command: Sequence[str | Path], output: Path, limits: Limits, files: Sequence[Path], forks: bool = True
    ) -> Ended:
        """Runs it in the sandbox, where `files` are in IN. Returns how it ended; its messages are in the file messages."""
        for file in files:
            file.chmod(0o755)  # noqa: S103
        binds = {**self._kit.binds, **{file: _IN / file.name for file in files}}
        with output.open("wb") as out, (self._folder / "messages").open("wb") as messages:
            ended = self._kit.sandbox.run(command, self._own, binds, out, messages, limits, self._slot, forks)
        if shutil.disk_usage(self._folder).free < _ROOM:  # however it ended: what came of it may be for lack of room
            raise UserError(NO_ROOM)
        if ended.lost:
            raise UserError(ended.doubt)
        if ended.doubt:
            self._doubt(ended.doubt)
        return ended

    def _kernel(self, program: Path, options: Sequence[str | Path], output: Path, files: Sequence[Path]) -> Ended:
        """Runs a program with the kernel, which starts no other; its ANSWERS come to `output`."""
        command = [self._given_as(program), *options]
        if self._learner is None:
            return self._timed(program.name, ["sh", "-c", _TIMED, "sh", *command], output, self._running, files)

        def run(limits: Limits, known: bool) -> Ended:
            patience = [f"--patience={max(_PATIENCE, int(limits.most / 2))}"] if known and program.name == "check" else []
            return self._run(["sh", "-c", _ALONE, "sh", *command, *patience], output, limits, files, forks=False)

        return self._limited(program.name, self._running, _LEAST, run)

    def _timed(self, what: str, command: Sequence[str | Path], output: Path, limits: Limits, files: Sequence[Path]) -> Ended:
        """Runs it with the lesson's own kernel, and keeps how long `what` has computed: the last line of its messages."""
        ended = self._run(command, output, limits, files)
        self.computed[what] = _seconds_in(self._lines())
        return ended

    def _limited(self, what: str, most: Limits, least: float, run: Callable[[Limits, bool], Ended]) -> Ended:
        """Runs it within the seconds that `what` has by the lesson's own kernel; `run` is told whether these are known.

        Almost all need no more than the least: the lesson's own kernel runs first where one of them takes longer.
        """
        task = self._report.task
        while True:
            own = self._grader.own(task, self._more)
            limits = replace(most, computing=max(least, round(_TIMES * own.get(what, 0.0), 1)))
            ended = run(limits, bool(own))
            if own or ended.late != "computing":
                return ended
            self._grader.measure(task, self._slot, self._more)

    def _doubt(self, why: str) -> None:
        """A UserError, unless this machine is known not to be at fault."""
        if not self._final:
            raise UserError(why)

    def _seed(self, use: str) -> int:
        """Another one for another text: nobody hands in twice for the same problems."""
        text = hashlib.sha256(self._report.text.encode(errors="surrogatepass")).hexdigest()
        return seed_of(self._grader._secret, self._learner or "", self._report.task.key, text, use)

    def _schedule(self, use: str) -> str:
        """The option with the seed of what a GPU leaves open."""
        return f"--schedule={self._seed(f'schedule of the {use}')}"

    def _given_as(self, file: Path) -> Path:
        return _IN / file.name if self._kit.sandbox.isolated else file

    def _made_in(self, name: str) -> Path:
        return self._kit.sandbox.place(TMP / name, self._own)

    def _lines(self) -> list[str]:
        course = f"{self._kit.folder}/", f"{_COURSE}/"
        lines = _said(self._folder / "messages")
        for path in course:
            lines = [line.replace(path, "") for line in lines]
        return lines

    def _make(self, commands: Sequence[Sequence[str | Path]], made: str, output: Path, files: Sequence[Path]) -> None:
        """A compiler or a linker makes TMP/made, which becomes `output`: by the first of the commands that succeeds."""
        for command in commands:
            ended = self._making(made, ["sh", self._made_in(made), *command], output, files)
            if not ended.status or ended.broken:
                break
        if ended.broken:
            advice = "The lesson's own kernel needs much less." if ended.late == "computing" else ""
            raise _Failed("compile", Diagnosis(f"It does not compile: {ended.broken}.", advice))
        lines = self._lines()
        if not ended.status:
            return
        if ended.status == _NO_CAT:
            raise UserError("What the compiler or the linker made could not be taken out of the sandbox.")
        how = f"was ended by {number}" if (number := process.crash(ended.status)) else f"ended with status {ended.status}"
        if ended.status != _WRONG or not lines:  # as no compiler ends for an error of the code
            self._doubt(f"The compiler or the linker {how}.")
        if not lines:
            raise _Failed("compile", Diagnosis("It does not compile.", "", (f"The compiler or the linker {how}.",)))
        raise _Failed("compile", Diagnosis("It does not compile.", "", compiling.first_error(lines)))

    def _making(self, made: str, words: Sequence[str | Path], output: Path, files: Sequence[Path]) -> Ended:
        """One such command, after the shell's words for it."""
        what, most = f"making {made}", self._grader._compiling
        if self._learner is None:
            return self._timed(what, ["sh", "-c", _SAVED_TIMED, *words], output, most, files)
        return self._limited(
            what, most, _LEAST_COMPILING, lambda limits, _: self._run(["sh", "-c", _SAVED, *words], output, limits, files)
        )

    def _translated(self) -> str:
        """The source as C++. By a process of its own: its regular expressions take very long over text that is made for it."""
        given, made = self._folder / "source.cu", self._folder / "source.cpp"
        given.write_text(self._report.text, encoding="utf-8", newline="")
        begin = time.monotonic()
        status, said = process.quiet([sys.executable, ROOT / "common" / "cpu" / "translate.py", given, made], _TRANSLATING)
        line = said.strip().rpartition("\n")[2]
        if status == 1 and line.startswith(f"{given}:"):
            raise _Failed("compile", Diagnosis("It does not compile.", "", (line.replace(str(given), self._report.name),)))
        if status and time.monotonic() - begin >= _TRANSLATING:
            raise _Failed("compile", Diagnosis(f"It does not compile: its launches are not found within {_TRANSLATING} s.", ""))
        if status:
            raise UserError(f"The translation to C++ could not be done: {line.rstrip('.') or f'status {status}'}.")
        if made.stat().st_size > _TRANSLATED:
            raise _Failed("compile", Diagnosis("It does not compile: as C++ it is too long.", ""))
        return made.read_text(encoding="utf-8").split("\n", 1)[1]

    def compiled(self) -> dict[str, Path]:
        """gemm_check and gemm_exam with this kernel."""
        begin = time.monotonic()
        source, listed = self._given / "kernel.cpp", self._given / "list.cpp"
        source.write_text(compiling.named_lines(self._report.name, self._translated()), encoding="utf-8")
        listed.write_text(compiling.list_of([self._source]), encoding="utf-8")
        made = self._given / "kernel.o"
        into = self._made_in("kernel.o")
        commands = self._kit.commands(self._report.text, self._slot)
        self._make([[*command, "-o", into, "-c", self._given_as(source)] for command in commands], "kernel.o", made, [source])
        programs = {}
        for name, (before, after) in self._kit.links.items():
            program = self._given / name
            files = [listed, made]
            command: list[str | Path] = [*before, *map(self._given_as, files), "-o", self._made_in(name), *after]
            self._make([command], name, program, files)
            programs[name] = program
        self._report.compiled = time.monotonic() - begin
        return programs

    def checked(self, program: Path) -> None:
        """What gemm_check says goes into the report."""
        begin, report = time.monotonic(), self._report
        seed = self._seed("check")
        output = self._folder / "check.json"
        options = [f"--goal={GOAL}x{GOAL}x{GOAL}", f"--seed={seed}", self._schedule("check"), *self._more, "--computing"]
        ended = self._kernel(program, [*options, "--output-fd", str(_ANSWERS)], output, [program])
        with output.open("rb") as told:
            raw = told.read(_REPORT)
        report.seed, report.ran, self._late = seed, time.monotonic() - begin, bool(ended.late)
        try:
            # A report that the learner's code wrote may hold anything.
            found = evidence(raw)
            if not whole(found, self._asked(found, seed)):
                raise ValueError("it is not about the problems that were asked")
            check.hold(report, found)
            check.told(report, 0.0)
        except Exception:  # noqa: BLE001
            report.cases, report.goals, report.stage = [], [], "run"
            how = ended.broken or (f"it was ended by {number}" if (number := process.crash(ended.status)) else "")
            refused = [line for line in self._lines() if line.startswith("gemm_check: ")] if ended.status == _REFUSED else []
            if refused:
                report.found = Diagnosis("It cannot be checked.", "", (refused[0].removeprefix("gemm_check: "),))
            elif how:
                advice = (
                    "Probably a loop does not end: the lesson's own kernel needs much less." if ended.late == "computing" else ""
                )
                report.found = Diagnosis(f"It was stopped: {how}.", advice)
            else:
                self._void = bool(raw)
                left = "no report" if not raw else "what is no report of the whole check"
                report.found = diagnosis_of("ended_program", (f"The program ended with status {ended.status} and left {left}.",))

    def _asked(self, found: Checked, seed: int) -> list[Case]:
        """The problems of gemm_check with this seed, for a kernel with the tiles that the object says. Raises ValueError."""
        tile = ",".join(str(size) for size in (found["tile"]["BM"], found["tile"]["BN"], found["tile"]["BK"]))
        listed = self._folder / "asked.json"
        lesson = self._report.task.lesson
        options = ["--lesson", lesson, "--seed", str(seed), "--tile", tile, *self._more, "--output", str(listed)]
        status, said = process.quiet([self._kit.judge, *options])
        if status:
            raise ValueError(said.strip())
        return json.loads(listed.read_text(encoding="utf-8"))["cases"]

    def examined(self, program: Path) -> bool | None:
        """Whether what the kernel computes is right; None where there is no answer to look at. What is wrong is in the report."""
        report = self._report
        fault = report.cases[-1]["error"] if report.cases else None
        if report.found and ((fault and fault["id"] == "endless_loop") or self._late):
            return None  # it would not end again
        seed = self._seed("exam")
        paper, answers, verdict = (self._folder / name for name in ("paper", "answers", "verdict.json"))
        judge: list[str | Path] = [self._kit.judge, "--lesson", report.task.lesson, "--seed", str(seed)]
        judge += [self._schedule("exam"), *self._more]
        status, said = process.quiet([*judge, "--paper", paper])
        if status:
            raise UserError(f"gemm_judge could not set an exam: {said.strip()}")
        given = self._given_as(paper) if self._kit.sandbox.isolated else paper
        ended = self._kernel(program, ["--paper", given, "--answers-fd", str(_ANSWERS)], answers, [program, paper])
        status, said = process.quiet([*judge, "--answers", answers, "--output", verdict], seconds=300)
        if status not in (0, 1):
            raise UserError(f"gemm_judge could not mark an exam: {said.strip()}")
        marked: Marked = json.loads(verdict.read_text(encoding="utf-8"))
        if marked["passed"] and not ended.broken:
            return True
        if not report.found or self._void:  # its own run says that it is right, or nothing to go by
            # Its cases are those of gemm_check, which had nothing against them.
            report.stage, report.cases, report.goals, report.seed = "run", marked["cases"][-1:], [], None
            report.found = _judged_wrong(marked["cases"][-1], ended.broken)
        return False


def _judged_wrong(case: Case, broken: str) -> Diagnosis:
    mistake = "What it computes is wrong, on inputs that it was not told before."
    stopped = (f"It was stopped: {broken}.",) if broken else ()
    if case["error"]:
        return Diagnosis(mistake, "", (case["error"]["text"], *stopped))
    if case["passed"] or not case["verdict"]:
        return Diagnosis("What it computes is right, but it had to be stopped.", "", stopped)
    return Diagnosis(mistake, "", tuple(line.strip() for line in case["verdict"]["text"].splitlines()))
