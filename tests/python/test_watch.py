"""./gemm watch in a real terminal: saves, keys, signals, sizes; with a check that is a script, and once with the real one."""

from __future__ import annotations

import fcntl
import json
import os
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from approvals import hold
from conftest import Checkout, Course, alive, pseudo_terminal
from exercise_synthetic import with_exercises
from rich.cells import cell_len

from runner.learn import course, progress, watch
from runner.learn.exercise import Task, tasks
from runner.learn.watch import View, frame

DEADLINE = 60.0  # seconds, on a loaded machine

# The shell's part: owns the terminal, gives it to the command, notes how it stops and ends, and what it leaves behind.
SHELL = """
import fcntl, json, os, signal, subprocess, sys, termios
from pathlib import Path

note = Path(sys.argv[1])
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGUSR2})
signal.signal(signal.SIGINT, lambda *_: None)
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
before = termios.tcgetattr(0)

def child():
    os.setpgrp()
    signal.signal(signal.SIGHUP, signal.Handlers(int(sys.argv[2])))
    os.tcsetpgrp(0, os.getpgrp())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1, signal.SIGUSR2})

def tell(**what):
    fresh = note.with_suffix(".new")
    fresh.write_text(json.dumps({"pid": process.pid, "stops": stops, **what}))
    fresh.rename(note)

stops = []
process = subprocess.Popen(sys.argv[3:], preexec_fn=child)
tell()
while True:
    _, status = os.waitpid(process.pid, os.WUNTRACED)
    os.tcsetpgrp(0, os.getpgrp())
    restored = termios.tcgetattr(0) == before
    if not os.WIFSTOPPED(status):
        break
    stops.append([os.WSTOPSIG(status), restored])
    termios.tcsetattr(0, termios.TCSANOW, before)
    tell()
    if signal.sigwait({signal.SIGUSR1, signal.SIGUSR2}) == signal.SIGUSR1:
        os.tcsetpgrp(0, process.pid)  # fg; else bg
    os.killpg(process.pid, signal.SIGCONT)
tell(status=os.waitstatus_to_exitcode(status), restored=restored)
"""

# Stands in front of the runner's own __main__.py.
MAIN = """
import sys
if sys.argv[1:2] == ["check"]:
    from runner import fake_check
elif sys.argv[1:2] == ["quiz"]:
    print("Quiz", *sys.argv[2:], "asks: 6 x 7?", flush=True)
    print("You said", input(), flush=True)
else:
    from runner.learn import watch
    watch._ABSENT = 0.3
    from runner import real_main
"""
CHECK = """
import os, signal, sys, time
from pathlib import Path
from runner.learn import achievements, exercise, progress
task = exercise.task({"01": "01_naive", "02": "02_coalesced"}[sys.argv[2]], "--hunt" in sys.argv)
fakes = Path(os.environ["FAKES"])
def log(what):
    with (fakes / "checks").open("a") as file:
        file.write(what + "\\n")
def killed(*_):
    log(f"killed {os.getpid()}")
    sys.exit(143)
signal.signal(signal.SIGTERM, killed)
log(f"began {os.getpid()}")
try:
    text = task.file.read_text()
except FileNotFoundError:
    sys.exit(f"gemm: {task.file} is not there.")
version = next((line for line in text.splitlines() if line.startswith("version")), "no version")
if "SLOW" in text:
    print("Building for cpu: 1/2 kernel.cu", file=sys.stderr, flush=True)
    end = time.monotonic() + 120
    while not (fakes / "go").exists() and time.monotonic() < end:  # whoever has lost it, it ends
        time.sleep(0.02)
print("saw", version)
if "BROKEN" in text:
    print("\\x1b[31mexercise.cu:3: error:\\x1b[0m expected ';'\\tbefore '}'")
    sys.exit(1)
if "REFUSED" in text:
    print("gemm: g++ is missing.", file=sys.stderr)
    sys.exit(2)
if "LONG" in text:
    print(*(f"row {i} " + "x" * 90 for i in range(60)), sep="\\n")
if "RIGHT" not in text:
    print("NOT YET")
    sys.exit(1)
earned = achievements.told(progress.passed(task, text))
print("PASSED", earned, sep="\\n")
"""


def within(meanwhile: Callable[[], None], true: Callable[[], bool]) -> None:
    """Waits until it is true."""
    end = time.monotonic() + DEADLINE
    while not true():
        assert time.monotonic() < end
        meanwhile()


class Session:
    """A command on a terminal of its own, and what that shows."""

    def __init__(
        self,
        root: Path,
        env: dict[str, str],
        note: Path,
        *arguments: str,
        size: tuple[int, int] = (80, 24),
        hangup: signal.Handlers = signal.SIG_DFL,
    ) -> None:
        self.master, slave = pseudo_terminal()
        self.note = note
        self.seen = ""
        self.resize(*size)
        shell = [sys.executable, "-c", SHELL, str(note), str(int(hangup)), sys.executable, "-m", "runner", *arguments]
        env = {"TERM": "xterm-256color", **env}
        self.shell = subprocess.Popen(shell, cwd=root, env=env, stdin=slave, stdout=slave, stderr=slave, start_new_session=True)
        os.close(slave)

    def resize(self, width: int, height: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def type(self, keys: str, *texts: str) -> None:
        """Types, and waits for what that brings."""
        os.write(self.master, keys.encode())
        if texts:
            self.wait(*texts)

    def read(self) -> None:
        if self.master < 0:
            time.sleep(0.02)
        elif select.select([self.master], [], [], 0.05)[0]:
            try:
                self.seen += os.read(self.master, 65536).decode(errors="replace")
            except OSError:  # nobody holds the other end any more
                time.sleep(0.01)

    @property
    def screen(self) -> list[str]:
        """The last frame; where the alternate screen was left, what came since."""
        text = re.split(r"\x1b\[H|\x1b\[\?1049l", self.seen)[-1]
        return re.split(r"\r+\n", re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]", "", text))

    def until(self, true: Callable[[], bool]) -> None:
        """Waits until it is true, of a command that goes on: what has ended (a runner that somebody edits, say) shows no more."""
        end = time.monotonic() + DEADLINE
        while not true():
            ended = self.shell.poll() is not None
            self.read()
            assert true() or (time.monotonic() < end and not ended), "\n".join(self.screen)

    def wait(self, *texts: str) -> str:
        """Waits until the screen shows them all; returns it as one text."""
        self.until(lambda: all(text in " ".join(self.screen) for text in texts))
        return "\n".join(self.screen)

    @property
    def told(self) -> dict:
        """What the shell has noted."""
        return json.loads(self.note.read_text()) if self.note.exists() else {}

    @property
    def pid(self) -> int:
        self.until(lambda: "pid" in self.told)
        return self.told["pid"]

    @property
    def cooked(self) -> bool:
        return bool(termios.tcgetattr(self.master)[3] & termios.ICANON)

    def wait_for_reading(self) -> None:
        """Waits until the child that asks something sleeps: a Ctrl-C that comes between its question and its read() is seen after
        an answer alone, which is Python's way."""

        def sleep() -> bool:
            children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
            return [Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] for child in children] == ["S"]

        self.until(sleep)

    def end(self, keys: str = "") -> int:
        """Types, and waits for the end: the exit status. The terminal must be as it was, and the ordinary screen back."""
        if keys:
            self.type(keys)
        within(self.read, lambda: self.shell.poll() is not None)
        for _ in range(3):
            self.read()
        assert self.told["restored"]
        for on, off in (("\x1b[?1049h", "\x1b[?1049l"), ("\x1b[?25l", "\x1b[?25h"), ("\x1b[?7l", "\x1b[?7h")):
            assert self.seen.rfind(on) <= self.seen.rfind(off)
        return self.told["status"]

    def close_terminal(self) -> None:
        """As a person closes its window."""
        if self.master >= 0:
            os.close(self.master)
            self.master = -1

    def close(self) -> None:
        self.shell.kill()
        self.shell.wait()
        if "status" not in self.told and alive(self.told.get("pid", 0) or self.shell.pid):  # it may have outlived its shell
            os.kill(self.told["pid"], signal.SIGKILL)
        self.close_terminal()


class Watched:
    """A checkout with two lessons to watch."""

    def __init__(self, checkout: Checkout) -> None:
        self.checkout, self.root, self.fakes = checkout, checkout.root, checkout.fakes
        self.sessions: list[Session] = []
        with_exercises(self.root)
        main = self.root / "runner" / "__main__.py"
        main.rename(main.with_name("real_main.py"))
        main.write_text(MAIN)
        (self.root / "runner" / "fake_check.py").write_text(CHECK)
        for name, hunt in (("01", False), ("02", False), ("02", True)):
            self.file(name, hunt).write_text(f"version start {name}{' hunt' if hunt else ''}\n")

    def file(self, number: str = "01", hunt: bool = False) -> Path:
        folder = {"01": "01_naive", "02": "02_coalesced"}[number]
        return self.root / "exercises" / folder / ("bug_hunt.cu" if hunt else "exercise.cu")

    def write(self, text: str, number: str = "01", hunt: bool = False, shows: Sequence[str] = ()) -> None:
        """Saves, and waits until the last session shows these texts."""
        self.file(number, hunt).write_text(text + "\n")
        if shows:
            self.sessions[-1].wait(*shows)

    def start(
        self,
        *arguments: str,
        shows: Sequence[str] = (),
        size: tuple[int, int] = (80, 24),
        hangup: signal.Handlers = signal.SIG_DFL,
    ) -> Session:
        """What watches, once it shows these texts."""
        note = self.fakes / f"shell{len(self.sessions)}.json"
        self.sessions.append(Session(self.root, self.checkout.env, note, "watch", *arguments, size=size, hangup=hangup))
        self.sessions[-1].wait(*shows)
        return self.sessions[-1]

    def log(self, what: str) -> list[int]:
        """The checks that `began` or were `killed`, by process."""
        path = self.fakes / "checks"
        lines = path.read_text().splitlines() if path.exists() else []
        return [int(line.split()[1]) for line in lines if line.startswith(what)]

    @property
    def progress(self) -> dict:
        return json.loads((self.root / ".progress.json").read_text())


@pytest.fixture
def watched(checkout: Checkout) -> Iterator[Watched]:
    made = Watched(checkout)
    yield made
    for session in made.sessions:
        session.close()


# The frame


def view(**more: object) -> View:
    given = {"tasks": (("01", True), ("02", False), ("hunt", False)), "current": 1, "title": "Exercise 02", **more}
    return View(**{"path": "exercises/02_coalesced/exercise.cu", **given})  # type: ignore[arg-type]


def plain(lines: list[str]) -> list[str]:
    return [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]


def test_frames() -> None:
    report, many = tuple(f"row {i}" for i in range(50)), tuple((f"{i:02}", i < 9) for i in range(35))
    views = {
        "with a hint and a report, 60×12": frame(
            view(status="Not passed.", tone="bad", note="Hint 1 of 3: x", report=("NOT YET", "  row 0")), 60, 12
        ),
        "with a report that is too long, 40×10": frame(view(status="Not passed.", report=report), 40, 10),
        "with a report that just fits, 40×10": frame(view(status="Not passed.", report=report[:5]), 40, 10),
        "of many tasks, 80×8": frame(view(tasks=many, current=9), 80, 8),
        "of many tasks, 20×8": frame(view(tasks=many, current=9), 20, 8),
    }
    hold("watch", {f"a frame {name}": "\n".join(plain(lines)) for name, lines in views.items()})


@pytest.mark.parametrize("width", [1, 2, 5, 11, 20, 37, 80, 200])
@pytest.mark.parametrize("height", [1, 2, 3, 4, 5, 8, 13, 14, 40])
def test_a_frame_fits_its_window(width: int, height: int) -> None:
    report = ("wide 行列の積 行列の積", "    indented " + "word " * 40, "x" * 333, "", "end")
    tasks = tuple((f"{i:02}", i < 9) for i in range(40))
    for given in ({}, {"report": report}, {"report": report, "note": "Hint\n  two", "status": "s " * 70, "tasks": tasks}):
        shown = plain(frame(view(**given), width, height))
        assert len(shown) == height
        # A character of two columns does not fit into one.
        assert all(cell_len(line) <= max(width, 2) for line in shown)


def test_wrapping() -> None:
    assert course.wrapped("one two three", 8) == ["one two", "three"]
    assert course.wrapped("    int a = b + c;", 12) == ["    int a =", "    b + c;"]
    assert course.wrapped("    int a = b + c;", 14, hanging=2) == ["    int a = b", "      + c;"]
    assert course.wrapped("abcdefgh", 3) == ["abc", "def", "gh"]
    assert course.wrapped("行列の積", 4) == ["行列", "の積"]
    assert course.wrapped("a\n\nb", 4) == ["a", "", "b"]
    assert course.wrapped("", 4) == [""]


def test_output_is_shown_without_what_would_move_the_cursor() -> None:
    assert watch.cleaned("\x1b[31mred\x1b[0m\r\na\tb\x07\x1b]0;title\x07\x1b[2J\n\n") == ("red", "a       b\ufffd")


# The loop


def test_edit_error_fix_pass_hint_next_quit(watched: Watched) -> None:
    session = watched.start()
    first = session.wait("saw version start 01", "NOT YET", "Not passed (", "q quit")
    assert first.splitlines()[0].startswith("01 ▸  02 ·  hunt ·")
    assert "Exercise 01  exercises/01_naive/exercise.cu" in first
    watched.write("version 2 BROKEN", shows=["saw version 2", "exercise.cu:3: error: expected ';'      before '}'"])
    session.type("h", "Hint 1 of 3: Look at row 01.", "saw version 2")
    session.type("hH", "Hint 3 of 3: Write C[row]. This is the last hint.")
    assert watched.progress["tasks"]["01_naive/exercise"]["hints"] == 3
    watched.write("version 3 RIGHT", shows=["saw version 3", "PASSED Earned: Right at every shape.", "Passed (", "01 ✓", "1/3"])
    session.wait("n goes on to exercise 02.")
    session.type("xX?\x1b[C\x1bOBé ")  # no keys: nothing happens
    session.type("n")
    assert "Hint" not in session.wait("Exercise 02", "saw version start 02", "02 ▸")
    watched.write("version 4", "01")  # no longer watched
    watched.write("version 5 RIGHT", "02", shows=["saw version 5", "n goes on to bug hunt 02."])
    session.type("n", "Bug hunt 02  exercises/02_coalesced/bug_hunt.cu", "saw version start 02 hunt")
    session.type("n", "Every other task has passed; this one is left.")
    watched.write("version 6 RIGHT", "02", hunt=True, shows=["saw version 6", "All done: every task has passed.", "3/3"])
    session.type("n")
    assert session.end("q") == 0
    assert re.search(r"3 of 3 .*0 of 2 .* ./gemm quiz 01", session.seen)
    assert not any(alive(pid) for pid in watched.log("began"))


def test_it_starts_at_the_first_task_that_has_not_passed(watched: Watched) -> None:
    entry = {"passed": "2026-11-20T14:03:00", "sha256": "0"}
    raw = {"schema": 1, "tasks": {"01_naive/exercise": entry}, "quizzes": {}}
    (watched.root / ".progress.json").write_text(json.dumps(raw))
    session = watched.start(shows=["Exercise 02", "01 ✓  02 ▸", "saw version start 02"])
    assert session.end("\x04") == 0
    session = watched.start("--hunt", shows=["Bug hunt 02", "saw version start 02 hunt"])
    assert session.end("Q") == 0
    session = watched.start("1")  # named: although it has passed
    session.wait("Exercise 01", "saw version start 01")
    session.type("n", "Exercise 02", "saw version start 02")
    session.type("n", "Bug hunt 02")
    session.type("n", "Exercise 02")  # round the end, past what has passed
    assert session.end("q") == 0
    raw["tasks"] |= dict.fromkeys(("02_coalesced/exercise", "02_coalesced/hunt"), entry)
    (watched.root / ".progress.json").write_text(json.dumps(raw))
    session = watched.start()
    assert session.end() == 0
    assert session.seen.rstrip().endswith("./gemm watch 01")
    session = watched.start("--hunt")
    assert session.end() == 0
    assert session.seen.rstrip().endswith("./gemm watch 02 --hunt")


def test_editors_that_replace_or_delete_the_file(watched: Watched) -> None:
    file = watched.file()
    session = watched.start("01", shows=["saw version start 01"])
    fresh = file.with_name(".exercise.cu.swp")
    fresh.write_text("version renamed\n")
    fresh.replace(file)
    session.wait("saw version renamed")
    times = file.stat()
    fresh.write_text("version replaced\n"[:16].ljust(16) + "\n")
    os.utime(fresh, ns=(times.st_atime_ns, times.st_mtime_ns))  # the inode alone tells
    fresh.replace(file)
    session.wait("saw version replaced")
    file.unlink()
    session.wait("exercises/01_naive/exercise.cu is not there; save it again, or ./gemm reset 01 brings back the starting file.")
    file.write_text("version again\n")
    assert "not there" not in session.wait("saw version again", "Not passed (")
    file.rename(file.with_suffix(".cu~"))
    file.write_text("version backup\n")
    session.wait("saw version backup")
    assert session.end("q") == 0


def test_a_file_that_is_written_at_the_start_or_cannot_be_checked(watched: Watched) -> None:
    watched.file().unlink()
    session = watched.start("01", shows=["Written: exercises/01_naive/exercise.cu, the starting file of exercise 01."])
    assert watched.file().read_text().startswith("// Exercise 01")
    watched.write("version 1 REFUSED", shows=["gemm: g++ is missing.", "It could not be checked ("])
    watched.file().write_bytes(b"")
    session.wait("saw no version")
    watched.file().write_bytes(b"version 2\r\nRIGHT\r\n")
    session.wait("saw version 2", "Passed (")
    assert session.end("q") == 0


def test_saved_during_a_check_and_quit_during_a_check(watched: Watched) -> None:
    watched.write("version 1 SLOW")
    session = watched.start("01", shows=["Checking …", "Building for cpu: 1/2 kernel.cu"])
    session.until(lambda: bool(re.search("Checking … [1-9]", " ".join(session.screen))))
    session.type("h", "Checking …", "Hint 1 of 3")  # keys answer meanwhile
    watched.write("version 2 SLOW")
    session.until(lambda: len(watched.log("began")) == 2)
    assert watched.log("killed") == watched.log("began")[:1]
    (watched.fakes / "go").touch()
    session.wait("saw version 2", "Not passed (")
    assert "version 1" not in session.seen
    (watched.fakes / "go").unlink()
    session.type("c", "Checking …", "saw version 2")  # the old report stays meanwhile
    session.until(lambda: len(watched.log("began")) == 3)
    session.wait("Building for cpu")
    session.type("c")
    session.until(lambda: len(watched.log("began")) == 4)
    session.wait("Building for cpu")
    session.type("n", "Exercise 02", "saw version start 02")
    watched.write("version 3 SLOW", "02")
    session.until(lambda: len(watched.log("began")) == 6)
    session.wait("Building for cpu")
    assert session.end("q") == 0
    assert watched.log("killed") == [watched.log("began")[i] for i in (0, 2, 3, 5)]
    assert not any(alive(pid) for pid in watched.log("began"))


def test_resizes(watched: Watched) -> None:
    watched.write("version 1 LONG")
    session = watched.start("01", size=(100, 30), shows=["saw version 1", "row 0", "more lines: enlarge the window"])
    for width, height in ((20, 5), (40, 12), (1, 1), (300, 90), (7, 3), (80, 24)):
        session.resize(width, height)
        last = {20: "h n z c q", 1: ""}.get(width)
        session.until(
            lambda width=width, height=height: (
                len(session.screen) == height and all(cell_len(line) <= width for line in session.screen)
            )
        )
        assert last is None or last in session.screen[-1]
    session.wait("Not passed (", "row 4", "q quit")
    # While a check runs, too.
    watched.write("version 2 LONG SLOW", shows=["Checking …", "Building"])
    session.resize(20, 5)
    session.until(lambda: len(session.screen) == 5)
    (watched.fakes / "go").touch()
    session.resize(90, 20)
    session.wait("saw version 2", "Not passed (")
    session.until(lambda: len(session.screen) == 20)
    assert session.end("q") == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_leave_the_terminal_as_it_was(watched: Watched, number: signal.Signals) -> None:
    watched.write("version 1 SLOW")
    session = watched.start("01", shows=["Checking …", "Building"])
    assert not session.cooked
    if number == signal.SIGINT:
        session.type("\x03")
    else:
        os.kill(session.pid, number)
    assert session.end() == 128 + number
    assert "Interrupted." in session.screen
    assert watched.log("killed") == watched.log("began")
    assert not any(alive(pid) for pid in watched.log("began"))


def test_suspended_and_continued(watched: Watched) -> None:
    session = watched.start("01", shows=["saw version start 01"])
    session.type("\x1a")
    session.until(lambda: session.told["stops"] == [[signal.SIGTSTP, True]])
    assert session.cooked
    assert session.seen.rfind("\x1b[?1049l") > session.seen.rfind("\x1b[?1049h")
    session.shell.send_signal(signal.SIGUSR2)  # in the background it stops again, and draws nothing
    session.until(lambda: session.told["stops"][1:] == [[signal.SIGTTIN, True]])
    assert session.cooked
    assert session.seen.rfind("\x1b[?1049l") > session.seen.rfind("\x1b[H")
    watched.write("version 2")
    session.shell.send_signal(signal.SIGUSR1)
    session.wait("saw version 2")
    assert not session.cooked
    os.kill(session.pid, signal.SIGSTOP)  # which cannot be caught
    session.until(lambda: len(session.told["stops"]) == 3)
    assert session.cooked  # the shell's doing
    watched.write("version 3")
    session.shell.send_signal(signal.SIGUSR1)
    session.wait("saw version 3")
    session.until(lambda: not session.cooked)
    os.kill(session.pid, signal.SIGCONT)  # in the foreground all along
    watched.write("version 4", shows=["saw version 4"])
    session.type("\x1c")  # Ctrl-\ does nothing
    assert session.end("q") == 0


def test_the_quiz_has_the_terminal_to_itself(watched: Watched) -> None:
    session = watched.start("01", shows=["saw version start 01"])
    session.type("z", "Quiz 01 asks: 6 x 7?")
    assert session.cooked
    watched.write("version 2")
    session.type("42\n", "You said 42", "Enter returns to ./gemm watch.")
    session.type("\n", "Exercise 01", "saw version 2")
    session.type("z", "Quiz 01 asks")
    session.wait_for_reading()
    session.type("\x03", "KeyboardInterrupt", "Enter returns to ./gemm watch.")  # ends the quiz alone
    session.type("\n", "Exercise 01", "saw version 2")
    session.type("z", "Quiz 01 asks")
    os.kill(session.pid, signal.SIGTERM)
    assert session.end() == 143
    session = watched.start("01", shows=["saw version 2"])
    session.type("z", "Quiz 01 asks")
    session.type("7\n", "Enter returns")
    assert session.end("\x04") == 0


def test_without_a_terminal_it_names_the_check(watched: Watched) -> None:
    watched.checkout.fails("watch", "01", words=("needs a terminal", "./gemm check 01"))
    watched.checkout.fails("watch", "02", "--hunt", words=("./gemm check 02 --hunt checks once",))
    watched.checkout.fails("watch", "7", words=("There is no lesson '7'",))
    watched.checkout.fails("watch", "01", "--hunt", words=("01_naive has no bug hunt",))
    watched.checkout.env["TERM"] = "dumb"
    session = watched.start("01")
    assert session.end() == 2
    assert re.search(r"gemm: .*terminal.* ./gemm check 01", session.seen)


def test_progress_that_cannot_be_read(watched: Watched) -> None:
    file = watched.root / ".progress.json"
    session = watched.start("01", shows=["saw version start 01"])
    file.write_text("garbage")
    session.type("h", "which keeps your progress, is not valid JSON")
    watched.write("version 2", shows=["saw version 2"])
    assert file.read_text() == "garbage"
    file.unlink()
    session.type("h", "Hint 1 of 3")
    file.write_text("garbage")
    assert session.end("q") == 2
    session = watched.start("01")
    assert session.end() == 2
    assert "move it away" in " ".join(session.screen)


@pytest.mark.parametrize("ignored", [False, True])
@pytest.mark.parametrize("how", ["its owner ends", "it is closed"])
def test_a_terminal_that_goes_away_ends_it(watched: Watched, how: str, ignored: bool) -> None:
    """Also where SIGHUP is ignored, as nohup has it."""
    watched.write("version 1 SLOW")
    session = watched.start("01", hangup=signal.SIG_IGN if ignored else signal.SIG_DFL, shows=["Building for cpu"])
    pid = session.pid
    if how == "its owner ends":
        session.shell.kill()  # its end hangs the terminal up
        session.shell.wait()
    else:
        session.close_terminal()
    within(session.read, lambda: not alive(pid))
    within(session.read, lambda: not any(alive(child) for child in watched.log("began")))


def test_the_real_check(course: Course, tmp_path: Path) -> None:
    task = Task("01_naive", "exercise", course.root)
    session = Session(course.root, course.env, tmp_path / "shell.json", "watch", size=(110, 40))
    try:
        session.wait("Exercise 01", "NOT YET", "Not passed (")
        task.file.write_text(task.solution())
        session.wait("PASSED", "Passed (", f" 1/{len(tasks())}")
        assert session.end("q") == 0
        assert progress.load(course.root).passed(task)
    finally:
        session.close()
        task.file.write_text(task.starter())
        (course.root / ".progress.json").unlink(missing_ok=True)
        shutil.rmtree(course.root / "out", ignore_errors=True)
