"""Child processes and what is shown while they run: progress, interrupts, crashes."""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, BinaryIO

from runner.core.results import ROOT, UserError

if TYPE_CHECKING:
    from rich.progress import Progress

Command = Sequence[str | Path]
Parser = Callable[[str], tuple[int, int, str] | None]  # a line of output -> (done, total, what), None: no progress line

_PLAIN_FIRST, _PLAIN_EVERY = 2.0, 5.0  # seconds until the first progress line, and between them, without a terminal
_GRACE = 3.0  # seconds a child has to end after SIGTERM
_POLL = 0.02  # seconds between looks at commands that run together
_LONGEST = 1 << 15  # bytes of a line: a longer one is read as several
_KEPT_LINES, _KEPT_CHARACTERS = 200, 1 << 16  # of an output without end


class Interrupted(BaseException):
    """SIGINT, SIGTERM or SIGHUP arrived. `note` says what became of the work, where some was to be kept."""

    def __init__(self, number: int, note: str = "") -> None:
        super().__init__(note)
        self.number, self.note = number, note


class _Signals:
    """While a child is being started a signal waits, so that no child is left behind unknown."""

    starting = False
    pending = 0

    def handle(self, number: int, _frame: FrameType | None = None) -> None:
        """Raises Interrupted, once; later signals are ignored."""
        if self.starting:
            self.pending = number
            return
        for other in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # the clean-up is short, and is not interrupted
            signal.signal(other, signal.SIG_IGN)
        raise Interrupted(number)


_signals = _Signals()


def catch_signals() -> None:
    """From here on SIGINT, SIGTERM and SIGHUP (unless it is ignored) raise Interrupted."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup ignores it on purpose
            signal.signal(number, _signals.handle)


def say(text: str) -> None:
    """A line for the person in front: to stderr, since stdout is for what was asked for."""
    print(text, file=sys.stderr, flush=True)


def say_all(lines: Sequence[str]) -> None:
    """As say(), for several lines."""
    for line in lines:
        say(line)


def kill(process: subprocess.Popen[bytes], grace: float = _GRACE) -> None:
    """Ends a child and what it has started. grace: seconds that it has for that after SIGTERM."""
    # By its group, not by a tree of processes: a tree does not hold what its parent left behind.
    for number in (signal.SIGTERM, signal.SIGKILL):  # the second one for what the child started and left
        try:
            os.killpg(process.pid, number)
            process.wait(grace)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            continue


def _started(command: Command, started: list[subprocess.Popen[bytes]], **options: object) -> None:
    """Starts `command` in a process group of its own. It is in `started` before a signal can interrupt anything."""
    main = threading.current_thread() is threading.main_thread()  # signals arrive in no other
    if main:
        _signals.starting = True
    try:
        started.append(
            subprocess.Popen(  # type: ignore[call-overload]
                [str(part) for part in command], cwd=ROOT, stdin=subprocess.DEVNULL, start_new_session=True, **options
            )
        )
    except OSError as error:
        raise UserError(f"{command[0]} cannot be run: {error.strerror}.") from error
    finally:
        if main:
            _signals.starting = False
    if _signals.pending and main:
        _signals.handle(_signals.pending)


@contextmanager
def child(command: Command, **options: object) -> Iterator[subprocess.Popen[bytes]]:
    """Starts `command` in a process group of its own, which is killed when the block is left by an exception."""
    started: list[subprocess.Popen[bytes]] = []
    try:
        _started(command, started, **options)
        yield started[0]
    except BaseException:
        for process in started:
            kill(process)
        raise


def cores() -> int:
    """The CPU cores that this process may use, which in a container are often not all of the machine's."""
    return len(os.sched_getaffinity(0))


def crash(status: int) -> str:
    """`SIGSEGV` for the exit status of a process that signal ended, else an empty string."""
    if status == -signal.SIGKILL:  # no bug of the program sends this one; the kernel does, where memory ends
        return "SIGKILL (probably out of memory)"
    try:
        return signal.Signals(-status).name if status < 0 else ""
    except ValueError:
        return f"signal {-status}"


def quiet(command: Command, seconds: float = 60) -> tuple[int, str]:
    """Runs a short command unseen: (exit status, stdout and stderr); status 127 when it cannot be run or takes too long."""
    try:
        with child(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            output, _ = process.communicate(timeout=seconds)
            return process.returncode, output.decode(errors="replace")
    except (UserError, subprocess.TimeoutExpired) as error:
        return 127, str(error)


def show(command: Command) -> int:
    """Runs a command whose output goes where ours goes; returns its exit status."""
    with child(command) as process:
        return process.wait()


def foreground(command: Command) -> int:
    """Runs a command that may ask for a password: it keeps the terminal, and Ctrl-C reaches it from there."""
    return subprocess.run([str(part) for part in command], cwd=ROOT, check=False).returncode


@dataclass(frozen=True)
class Finished:
    """How a command ended, and what it said."""

    status: int
    lines: list[str]  # the output without its progress lines; of a long one that is not kept whole, its two ends
    last: str  # what the last progress line was about
    left_out: int = 0  # lines between the two ends


def require(done: Finished, program: str, statuses: Sequence[int], then: str = "nothing was recorded") -> None:
    """A UserError unless the program ended with one of these: its last line, after the others were shown. `then`: what follows
    from a crash."""
    if what := crash(done.status):
        say_all(done.lines)
        raise UserError(f"{program} was ended by {what}{f' during {done.last}' if done.last else ''}; {then}.")
    if done.status not in statuses:
        say_all(done.lines[:-1])
        said = done.lines[-1] if done.lines else f"{program} ended with status {done.status} and said nothing."
        raise UserError(said.removeprefix(f"{program}: "))


@dataclass
class _Kept:
    """The first and the last lines of an output, or all of them."""

    whole: bool
    first: list[str] = field(default_factory=list)
    last: deque[str] = field(default_factory=deque)
    sizes: list[int] = field(default_factory=lambda: [0, 0])  # characters of the two
    left_out: int = 0

    def add(self, line: str) -> None:
        most, characters = _KEPT_LINES // 2, _KEPT_CHARACTERS // 2
        room = len(self.first) < most and self.sizes[0] + len(line) <= characters
        if self.whole or (room and not self.last):
            self.first.append(line)
            self.sizes[0] += len(line)
            return
        self.last.append(line)
        self.sizes[1] += len(line)
        while len(self.last) > most or self.sizes[1] > characters:
            self.sizes[1] -= len(self.last.popleft())
            self.left_out += 1


class _Lines:
    """Cuts what a pipe gives into lines."""

    def __init__(self, file: int) -> None:
        self.file, self._rest, self.ended = file, b"", False

    def read(self) -> list[str]:
        """What is there; at the end also a line that nothing ends."""
        data = os.read(self.file, 65536)
        *whole, self._rest = (self._rest + data).split(b"\n")
        self.ended = not data
        while len(self._rest) > _LONGEST:
            whole, self._rest = [*whole, self._rest[:_LONGEST]], self._rest[_LONGEST:]
        if self._rest and self.ended:
            whole, self._rest = [*whole, self._rest], b""
        pieces = (raw[at : at + _LONGEST] for raw in whole for at in range(0, max(len(raw), 1), _LONGEST))
        return [piece.decode(errors="replace").rstrip() for piece in pieces]


def stream(
    command: Command,
    title: str,
    parse: Parser,
    env: Mapping[str, str] | None = None,
    *,
    whole: bool = False,
    progress: str = "",
    hung: Callable[[], bool] | None = None,
) -> Finished:
    """Runs a command, shows its progress as `parse` reads it from the output, and keeps the rest of the output.

    Of a long output the first and the last lines are kept, or everything where `whole`. `progress`: the option that gives the
    command a descriptor for its progress lines (--progress-fd), where its output is not its own; all of that is kept then.
    `hung`: asked whenever the command has said nothing for a second; where it says so, the command is killed.
    """
    kept, last = _Kept(whole), ""
    reading, writing = os.pipe() if progress else (-1, -1)
    try:
        options: dict[str, object] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        options["env"] = {**os.environ, **(env or {})}
        if progress:
            command, options["pass_fds"] = [*command, f"{progress}={writing}"], (writing,)
        with child(command, **options) as process, shown(title) as update:
            assert process.stdout
            with process.stdout as pipe, selectors.DefaultSelector() as selector:
                output, told = _Lines(pipe.fileno()), _Lines(reading)
                selector.register(output.file, selectors.EVENT_READ, output)
                if progress:
                    os.close(writing)
                    writing = -1
                    selector.register(reading, selectors.EVENT_READ, told)
                while not output.ended:
                    ready = selector.select(timeout=1)
                    if not ready:
                        update(None)
                        if hung and hung():
                            kill(process)
                    # Progress comes first: it says during what the output ended.
                    for source in sorted((key.data for key, _ in ready), key=lambda source: source is output):
                        for line in source.read():
                            step = None if progress and source is output else parse(line)
                            if step is not None:
                                last = step[2]
                            elif source is output:
                                kept.add(line)
                            update(step)
                        if source is told and told.ended:
                            selector.unregister(reading)
            return Finished(process.wait(), [*kept.first, *kept.last], last, kept.left_out)
    finally:
        for end in (reading, writing):
            if end >= 0:
                os.close(end)


def together(commands: Sequence[tuple[str, Command]], title: str, env: Mapping[str, str] | None = None) -> list[Finished]:
    """Runs (what it is, command) pairs, as many at a time as there are cores, and shows how many are done.

    Returns how each ended, in their order. All are killed when one cannot be run, or by a signal.
    """
    # Without threads, and so without concurrent.futures: signals arrive in this thread, which knows all that it has started.
    waiting = list(enumerate(commands))[::-1]
    running: list[subprocess.Popen[bytes]] = []
    places: dict[int, tuple[int, BinaryIO]] = {}  # of a process: which command it is, and its output
    ended: dict[int, Finished] = {}
    options = {"stderr": subprocess.STDOUT, "env": {**os.environ, **(env or {})}}
    try:
        with shown(title) as update, ExitStack() as files:
            update((0, len(commands), ""))
            while waiting or running:
                while waiting and len(running) < cores():
                    place, (_, command) = waiting.pop()
                    output: BinaryIO = files.enter_context(tempfile.TemporaryFile())
                    _started(command, running, stdout=output, **options)
                    places[running[-1].pid] = place, output
                time.sleep(_POLL)
                for process in [process for process in running if process.poll() is not None]:
                    place, output = places.pop(process.pid)
                    output.seek(0)
                    lines = output.read().decode(errors="replace").splitlines()
                    output.close()
                    ended[place] = Finished(process.returncode, [line.rstrip() for line in lines], commands[place][0])
                    running.remove(process)
                    update((len(ended), len(commands), commands[place][0]))
                update(None)
    except BaseException:
        for process in running:
            kill(process)
        raise
    return [ended[place] for place in range(len(commands))]


def _bar() -> Progress | None:
    """What draws on a terminal that can do it."""
    # Here: without a terminal a third of what most commands take to begin.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Column

    console = Console(stderr=True, highlight=False)
    if not console.is_terminal or console.is_dumb_terminal:
        return None
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[what]}", markup=False, table_column=Column(no_wrap=True, ratio=1)),
        console=console,
        transient=True,
        expand=True,
    )


@contextmanager
def shown(title: str) -> Iterator[Callable[[tuple[int, int, str] | None], None]]:
    """A progress bar on a terminal; elsewhere a line every few seconds, for what takes longer than two.

    Gives what is to be called with (done, total, what), and now and then with None."""
    if bar := _bar() if sys.stderr.isatty() else None:
        try:  # not `with`: a signal may come when the cursor is hidden already and the block is not begun yet
            bar.start()
            task = bar.add_task(title, total=1, what="")

            def update(step: tuple[int, int, str] | None) -> None:
                if step:
                    bar.update(task, completed=step[0], total=max(step[1], 1), what=step[2])

            yield update
        finally:
            bar.stop()
        return
    begin = time.monotonic()
    said = begin + _PLAIN_FIRST - _PLAIN_EVERY
    now = (0, 0, "")

    def update_plain(step: tuple[int, int, str] | None) -> None:
        nonlocal said, now
        now = step or now
        if time.monotonic() - said >= _PLAIN_EVERY:
            said = time.monotonic()
            say(f"{title}: {now[0]}/{now[1]} {now[2]}" if now[1] else f"{title} … {said - begin:.0f} s")

    yield update_plain
    if time.monotonic() - begin > _PLAIN_FIRST:
        say(f"{title}: {time.monotonic() - begin:.0f} s")


def unseen(_line: str) -> None:
    """The parser of what has no progress lines."""


def matcher(pattern: str) -> Parser:
    """A parser for lines that match `pattern`, whose groups are done, total (absent: 100) and what."""
    regex = re.compile(pattern)

    def parse(line: str) -> tuple[int, int, str] | None:
        found = regex.search(line)
        if not found:
            return None
        groups = found.groupdict()
        return int(groups["done"]), int(groups.get("total") or 100), groups.get("what") or ""

    return parse


PROGRESS = matcher(r"^progress (?P<done>\d+) (?P<total>\d+) ?(?P<what>.*)")  # what this project's own programs say
