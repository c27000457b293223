"""`./gemm watch`: checks a learner's file at every save, on a terminal, with keys for hint, next, quiz and quit."""

from __future__ import annotations

import errno
import os
import re
import select
import signal
import sys
import termios
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.cells import cell_len

from runner.core import process
from runner.core.results import UserError
from runner.learn import course, exercise, progress
from runner.learn.exercise import Task
from runner.learn.progress import State

_TICK = 0.1  # seconds between looks at the file, the check and the terminal's size
_SETTLED = 0.05  # seconds without another change before a saved file is read: some editors write twice
_ABSENT = 2.0  # seconds until a missing file is spoken of: some editors delete it and write it anew
_GRACE = 6.0  # seconds an unwanted check has to end its compiler and itself after SIGTERM
_KEPT = 1 << 20  # bytes of a check's output that are read
_LINES, _COLUMNS = 1000, 2000  # of a report, at most

_STYLES = {"good": "\x1b[32m", "bad": "\x1b[31m", "busy": "\x1b[33m", "bold": "\x1b[1m", "here": "\x1b[7m", "dim": "\x1b[2m"}
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)?")
_KEY_ESCAPE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|.)?", re.DOTALL)  # arrows and the like, whose letters are no keys
_PROGRESS = re.compile(r" … \d+ s$|: \d+ s$|: \d+/\d+( |$)")  # what process.stream() says without a terminal

_KEYS = (
    "h hint · n next · z quiz · c check again · q quit",
    "h hint n next z quiz c check q quit",
    "h n z c q",
)


# The frame: what is shown, as a function of what is known


@dataclass(frozen=True)
class View:
    """Everything that a frame shows."""

    tasks: tuple[tuple[str, bool], ...]  # in course order: its label ("03", "hunt"), whether it has passed
    current: int  # index into tasks
    title: str
    path: str
    status: str = ""
    tone: str = ""  # of the status: good, bad, busy or nothing
    note: str = ""  # a hint, or what could not be done
    report: tuple[str, ...] = ()  # lines of the last check
    old: bool = False  # the report is about what the file was


Segments = list[tuple[str, str]]  # pieces of a line, each with its style: a key of _STYLES, or nothing


def _cut(segments: Segments, width: int) -> str:
    """One line of at most `width` columns, styled; what does not fit ends in …"""
    total = sum(cell_len(text) for text, _ in segments)
    left = width if total <= width else width - 1
    out = []
    for text, style in segments:
        piece = text[: course.fitting(text, left)]
        left -= cell_len(piece)
        out.append(f"{_STYLES[style]}{piece}\x1b[0m" if style and piece else piece)
        if piece != text:
            break
    return "".join(out) + ("…" if total > width > 0 else "")


def _course(view: View, width: int) -> Segments:
    """The course's progress in the longest form that fits."""
    marks = [
        ("✓" if passed else "▸" if index == view.current else "·", "here" if index == view.current else "good" if passed else "")
        for index, (_, passed) in enumerate(view.tasks)
    ]
    done, total = sum(passed for _, passed in view.tasks), len(view.tasks)
    sums: Segments = [(f"{done}/{total}", "")]
    filled = 10 * done // max(total, 1)
    bar: Segments = [("█" * filled, "good"), ("░" * (10 - filled) + " ", "dim")]
    labelled: Segments = []
    short: Segments = []
    for (label, _), (mark, style) in zip(view.tasks, marks, strict=True):
        labelled += [(f"{label} {mark}", style), ("  ", "")]
        short.append((mark, style))
    forms = (
        [*labelled, (" ", ""), *bar, *sums],
        [*labelled, *sums],
        [*short, ("  ", ""), *bar, *sums],
        [*short, (" ", ""), *sums],
    )
    return next((form for form in forms if sum(cell_len(text) for text, _ in form) <= width), sums)


def _body(view: View, width: int, height: int) -> list[str]:
    """Status, note and report, wrapped, and cut to the height with a note: the top matters most."""
    sources = [(view.status, view.tone)] if view.status else []
    if view.note:
        sources += [("", ""), *((line, "") for line in view.note.split("\n"))]
    if view.report:
        sources += [("", ""), *((line, "dim" if view.old else "") for line in view.report)]
    lines: list[str] = []
    fit = 0  # source lines that end above the place of the note
    for text, style in sources:
        lines += [_cut([(piece, style)], width) for piece in course.wrapped(text, width)]
        if len(lines) > height:
            break
        fit += len(lines) < height
    if len(lines) <= height:
        return lines
    left = len(sources) - fit
    note = f"… {left} more line{'s' * (left != 1)}: enlarge the window"
    return [*lines[: height - 1], _cut([(note, "dim")], width)] if height > 1 else lines[:height]


def frame(view: View, width: int, height: int) -> list[str]:
    """Exactly `height` lines (at least one) of at most `width` columns."""
    head = [_course(view, width), [(view.title, "bold"), (f"  {view.path}", "")]]
    lines = [_cut(segments, width) for segments in head[max(0, 5 - height) :]] if height > 3 else []
    spaced = height >= 14
    lines += [""] * spaced
    keys = next((form for form in _KEYS if cell_len(form) <= width), _KEYS[-1])
    foot = [*[""] * spaced, _cut([(keys, "dim")], width)] if height > 1 else []
    room = max(height - len(lines) - len(foot), 1)
    body = _body(view, width, room)
    return [*lines, *body, *[""] * (room - len(body)), *foot]


def cleaned(text: str) -> tuple[str, ...]:
    """A program's output as lines that a terminal shows as they are: no escape sequences, tabs or control characters."""
    lines = _ESCAPE.sub("", text).rstrip().splitlines()
    shown = []
    for line in lines[:_LINES]:
        expanded = line.expandtabs(8)[:_COLUMNS].rstrip()
        shown.append("".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cf", "Cs") else c for c in expanded))
    return (*shown, "…") if len(lines) > _LINES else tuple(shown)


# The terminal


class Terminal:
    """The terminal in cbreak mode with its alternate screen; leave() gives it back as it was, however often it is called.

    By hand: rich.live redraws line by line, does not give way to Ctrl-Z, and does not end with its terminal.
    """

    def __init__(self) -> None:
        self.input, self.output = sys.stdin.fileno(), sys.stdout.fileno()
        self._encoding = sys.stdout.encoding or "utf-8"
        self._before: list[Any] | None = None
        self._drawn: tuple[str, ...] = ()
        self.gone = False  # hung up
        self._controlling = False  # our session's

    def ours(self) -> bool:
        """Whether we are in its foreground, where alone its mode may be set."""
        try:
            ours = os.tcgetpgrp(self.input) == os.getpgrp()
            self._controlling = True
            return ours
        except OSError:  # it is not our controlling terminal, which then takes no part
            # Where it was, its session has ended. SIGHUP says so too, but nohup has us ignore that.
            self.gone = self.gone or self._controlling
            return True

    def enter(self) -> None:
        """Waits for the foreground first: stops, as every full-screen program does that was started or continued with &."""
        while not self.ours():
            signal.raise_signal(signal.SIGTTIN)
            time.sleep(_TICK)  # where nobody could continue it, the system does not stop it
        if self.gone:
            return
        sys.stdout.flush()
        mode = termios.tcgetattr(self.input)
        if self._before is None:
            self._before = [*mode[:6], list(mode[6])]
        mode[3] &= ~(termios.ICANON | termios.ECHO)
        mode[6][termios.VMIN], mode[6][termios.VTIME], mode[6][termios.VQUIT] = 1, 0, b"\0"  # Ctrl-\ would leave it like this
        self._set(mode)
        self._write("\x1b[?1049h\x1b[?25l\x1b[?7l")  # alternate screen; no cursor; no wrapping by the terminal
        self._drawn = ()

    def leave(self) -> None:
        if self._before is None:
            return
        blocked = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP}
        before = signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
        try:
            with suppress(OSError, termios.error):  # it may be gone
                if self.ours():
                    self._write("\x1b[?7h\x1b[?25h\x1b[?1049l")
                    self._set(self._before)
            self._before = None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def size(self) -> tuple[int, int]:
        """Columns and lines."""
        try:
            width, height = os.get_terminal_size(self.output)
        except OSError:
            width, height = 0, 0
        return width or 80, height or 24

    def draw(self, lines: Sequence[str]) -> None:
        """Shows a whole frame in one write, if it differs from what is there."""
        if self._drawn != tuple(lines):
            self._write("\x1b[H" + "\r\n".join(f"\x1b[K{line}" for line in lines))
            self._drawn = tuple(lines)

    def forget(self) -> None:
        """The next frame is drawn anew: something else was written here."""
        self._drawn = ()

    def _set(self, mode: list[Any]) -> None:
        while True:
            try:
                return termios.tcsetattr(self.input, termios.TCSANOW, mode)
            except termios.error as error:
                if error.args[0] != errno.EINTR:
                    raise

    def _write(self, text: str) -> None:
        data = text.encode(self._encoding, "replace")
        try:
            while data:
                data = data[os.write(self.output, data) :]
        except OSError:
            self.gone = True

    def read(self) -> bytes:
        """What was typed, in cooked mode up to a line; nothing at its end."""
        try:
            data = os.read(self.input, 1024)
        except OSError:
            data = b""
        self.gone = self.gone or not data
        return data


# The check


class Check:
    """`./gemm check` as a child process, without waiting for it. It writes to files in memory, and waits for no reader."""

    def __init__(self, task: Task, width: int) -> None:
        self.began = time.monotonic()
        self.stopped: float | None = None  # when it was told to end
        self._context = ExitStack()
        self._said = {name: os.memfd_create(name) for name in ("stdout", "stderr")}
        for file in self._said.values():
            self._context.callback(os.close, file)
        command = [sys.executable, "-m", "runner", "check", *task.argument.split()]
        # The report's text is wrapped to the width, and read as UTF-8, whatever the locale.
        env = {**os.environ, "COLUMNS": str(width), "PYTHONIOENCODING": "utf-8"}
        self.process = self._context.enter_context(process.child(command, env=env, **self._said))

    def stop(self) -> None:
        """Tells it to end; over() says when it has."""
        if self.stopped is None:
            self.stopped = time.monotonic()
            self._signal(signal.SIGTERM)

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def over(self) -> bool:
        if self.stopped is not None and time.monotonic() - self.stopped > _GRACE:
            self._signal(signal.SIGKILL)
        return self.process.poll() is not None

    def close(self) -> None:
        """Ends it, if it has not ended, and waits for that."""
        if self.process.poll() is None:
            process.kill(self.process, _GRACE)
        self._context.close()

    def _text(self, name: str) -> str:
        """What it has said so far; its own place in the file stays."""
        return os.pread(self._said[name], _KEPT, 0).decode("utf-8", "replace")

    @property
    def doing(self) -> str:
        """What its progress says last."""
        lines = cleaned(self._text("stderr")[-1000:])
        return lines[-1] if lines else ""

    def report(self) -> tuple[str, ...]:
        """Its verdict, then its messages and what the kernel printed."""
        said = [line for line in cleaned(self._text("stderr")) if not _PROGRESS.search(line)]
        verdict = cleaned(self._text("stdout"))
        return (*verdict, *[""] * bool(verdict and said), *said)


# The loop

Signature = tuple[int, int, int]  # of a file's state: mtime in ns, size, inode


def signature(path: Path) -> Signature | None:
    """None: there is no such file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


@contextmanager
def _handled(number: signal.Signals, handler: Any) -> Iterator[None]:
    """Another handler of a signal in the block; the old one afterwards, unless a signal is ending us, which ignores it."""
    before = signal.signal(number, handler)
    try:
        yield
    finally:
        if signal.getsignal(number) is handler:
            signal.signal(number, before)


class Watch:
    """One learner's session: what happened, and what follows from it. run() is the loop."""

    def __init__(self, task: Task, terminal: Terminal) -> None:
        self.terminal = terminal
        self.order = exercise.tasks()
        self.check: Check | None = None
        self.done = False
        self.state: State = progress.load()
        self._signals: set[int] = set()
        self.begin(task)

    def begin(self, task: Task) -> None:
        """Turns to a task: everything known is about another one."""
        self.task = task
        self.report: tuple[str, ...] = ()
        self.status: int | None = None  # the last check's exit status
        self.seconds = 0.0  # how long it took
        self.note = ""
        self.wanted = False  # a check is to start as soon as none runs
        self.checked: Signature | None = None  # the file as it was when a check began
        self.last: Signature | None = None  # … at the last look
        self.changed = float("-inf")  # when it last looked different
        self.load()
        with self._noting():
            self.note = course.provide(task) or self.note
        if self.check:
            self.check.stop()

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """What cannot be done is shown."""
        try:
            yield
        except UserError as error:
            self.note = str(error)

    def load(self) -> None:
        with self._noting():
            self.state = progress.load()

    # What is shown

    def following(self) -> Task | None:
        return progress.following(self.state, self.task)

    def _status(self) -> tuple[str, str]:
        """The status line and its tone."""
        now = time.monotonic()
        if self.check and self.check.stopped is None:
            doing = self.check.doing
            return f"Checking … {int(now - self.check.began)} s" + (f"  {doing}" if doing else ""), "busy"
        if self.last is None and now - self.changed > _ABSENT:
            back = f"./gemm reset {self.task.argument} brings back the starting file"
            return f"{course.shown(self.task.file)} is not there; save it again, or {back}.", "bad"
        if self.wanted or self.check:
            return "Checking …", "busy"
        if self.status is None:
            return "", ""
        took = f"({self.seconds:.1f} s)"
        if self.status == 0:
            after = self.following()
            return f"Passed {took}. {f'n goes on to {after.title}.' if after else 'All done: every task has passed.'}", "good"
        if self.status == 1:
            return f"Not passed {took}. Saving the file checks it again.", "bad"
        how = process.crash(self.status)
        return f"The check was ended by {how}." if how else f"It could not be checked {took}.", "bad"

    def view(self) -> View:
        status, tone = self._status()
        labels = tuple((t.number if t.kind == "exercise" else "hunt", self.state.passed(t) is not None) for t in self.order)
        current, path = self.order.index(self.task), course.shown(self.task.file)
        running = self.check is not None or self.wanted
        return View(labels, current, self.task.title.capitalize(), path, status, tone, self.note, self.report, running)

    # What happens

    def look_at_file(self) -> None:
        found, now = signature(self.task.file), time.monotonic()
        if found != self.last:
            first = self.last is None and self.changed == float("-inf")
            self.last, self.changed = found, now - (_SETTLED if first else 0)
        if found and found != self.checked and now - self.changed >= _SETTLED:
            self.again()

    def again(self) -> None:
        """Checks the file as it is now, whatever is being checked."""
        self.checked, self.wanted = self.last, True
        if self.check:
            self.check.stop()

    def look_at_check(self) -> None:
        if self.check and self.check.over():
            check, now = self.check, time.monotonic()
            if check.stopped is None:
                self.report, self.status, self.seconds = check.report(), check.process.returncode, now - check.began
            self._release()
            self.load()
        if self.wanted and not self.check:
            self.wanted = False
            self.check = Check(self.task, self.terminal.size()[0])

    def _release(self) -> None:
        """Closes the check and forgets it."""
        if self.check:
            self.check.close()
        self.check = None

    def look_at_terminal(self) -> None:
        """Signals that came: Ctrl-Z, a continuation, a new size."""
        came, self._signals = self._signals, set()
        if signal.SIGTSTP in came:
            self.terminal.leave()
            with _handled(signal.SIGTSTP, signal.SIG_DFL):
                signal.raise_signal(signal.SIGTSTP)
            self._signals.clear()
            self.terminal.enter()
        elif signal.SIGCONT in came or not self.terminal.ours():
            self.terminal.enter()
        elif signal.SIGWINCH in came:
            self.terminal.forget()

    def keys(self) -> None:
        """What was typed."""
        data = self.terminal.read()
        actions: dict[str, Callable[[], None]] = {
            "h": self.hint, "n": self.next, "z": self.quiz, "c": self.again, "q": self.quit, "\x04": self.quit,
        }  # fmt: skip
        for key in _KEY_ESCAPE.sub(b"", data).decode("latin-1").lower():
            if key in actions and not self.done:
                actions[key]()

    def hint(self) -> None:
        with self._noting():
            self.note = course.show_hint(self.task)

    def next(self) -> None:
        self.load()
        if after := self.following():
            self.begin(after)
        elif self.state.passed(self.task):
            self.note = "All done: every task has passed."
        else:
            self.note = "Every other task has passed; this one is left."

    def quit(self) -> None:
        self.done = True

    def quiz(self) -> None:
        """The quiz asks on the ordinary screen of this terminal; Ctrl-C there ends the quiz alone."""
        self.terminal.leave()
        with _handled(signal.SIGTSTP, signal.SIG_DFL):  # Ctrl-Z stops both of us
            with _handled(signal.SIGINT, lambda *_: None):  # unlike SIG_IGN, it is not handed on to the child
                process.foreground([sys.executable, "-m", "runner", "quiz", self.task.number])
            process.say("Enter returns to ./gemm watch.")
            while not self.terminal.read().endswith(b"\n") and not self.terminal.gone:
                pass
        self._signals.clear()
        self.load()
        if not self.terminal.gone:
            self.terminal.enter()

    # The loop

    def _came(self, number: int, _frame: object) -> None:
        self._signals.add(number)

    def _catching(self) -> Iterator[tuple[int, Any]]:
        """The signals of a full-screen program, with the handlers that they had."""
        for number in (signal.SIGWINCH, signal.SIGCONT, signal.SIGTSTP):
            if signal.getsignal(number) != signal.SIG_IGN:
                yield number, signal.signal(number, self._came)

    def run(self) -> None:
        """Until q, the end of stdin, or a signal, which passes through. The terminal is then as it was, no child is left."""
        with ExitStack() as after:
            # Each twice: a signal may arrive as the first one begins, and none later.
            after.callback(self._release)
            after.callback(self._release)
            for number, handler in self._catching():
                after.callback(signal.signal, number, handler)
            after.callback(self.terminal.leave)
            after.callback(self.terminal.leave)
            self.terminal.enter()
            while not (self.done or self.terminal.gone):
                self.look_at_terminal()
                self.look_at_file()
                self.look_at_check()
                self.terminal.draw(frame(self.view(), *self.terminal.size()))
                if select.select([self.terminal.input], [], [], _TICK if self.checked == self.last else _SETTLED)[0]:
                    self.keys()


def first(hunt: bool) -> Task | None:
    """The first task (bug hunt, where `hunt`) in course order that has not passed; None: all have."""
    state = progress.load()
    return next((t for t in exercise.tasks() if state.passed(t) is None and (t.kind == "hunt" or not hunt)), None)


def watch(name: str | None, hunt: bool) -> int:
    """`./gemm watch`: exit status 0."""
    task = course.find(name, hunt) if name else first(hunt)
    if not task:
        some = next((t.argument for t in exercise.tasks() if t.kind == "hunt" or not hunt), "01")
        print(f"Every {'bug hunt' if hunt else 'task'} has passed; name a lesson to look at it again: ./gemm watch {some}")
        return 0
    missing = not (sys.stdin and sys.stdin.isatty() and sys.stdout and sys.stdout.isatty())
    if missing or os.environ.get("TERM") in ("dumb", "unknown"):
        what = "needs a terminal" if missing else "needs a terminal that can place text"
        raise UserError(f"watch {what}; ./gemm check {task.argument} checks once, without one.")
    terminal = Terminal()
    Watch(task, terminal).run()
    if not terminal.gone:
        print(course.summary(progress.load()))
    return 0
