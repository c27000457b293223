"""Runs code that nobody has read: without network, with limits, and with nothing of the machine in sight that it does not need.

bubblewrap (Debian's package) makes the sandbox. Inside there are the system's programs, what is bound into it, and two small
folders in memory; everything is read-only but these, and no file outside is open: what the code writes comes out by pipes. As
root, the code runs as a user that nothing else belongs to. Of the kernel it gets what is on a list (calls.py), and no more than
a control group lets it have (cgroup.py).
"""

from __future__ import annotations

import json
import math
import os
import platform
import re
import secrets
import select
import selectors
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Literal

import psutil

from runner.core import doctor
from runner.core.process import Command
from runner.core.results import UserError
from runner.grading import calls, cgroup

TMP = Path("/tmp")  # inside: where the code may write  # noqa: S108
_FIRST_USER, _USERS, _SLOTS = 1_900_000_000, 200_000_000, 1000  # no account has such a number
_POLL = 0.02  # seconds between looks at a program
_WEIGH = 0.05  # seconds between looks at what it has taken, where no group counts that
_COUNT = 0.2  # seconds between looks at which processes it has, where it may start some: all of the machine's are read for that
_IDLE = 10  # seconds for which a run may not compute at all: it has nobody to wait for
_SUSPENDED = 1  # seconds between two looks that this process, or the whole machine, must have been stopped for
_STARVED = 4  # times its seconds after which a run that waits for a processor is given up, on a machine with too much to do
_MiB = 1 << 20
_ENDED = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)  # also where nobody has waited for it yet
_BY_SIGNAL = 128  # + its number: how bubblewrap and sh tell which signal ended a program
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = ("/etc/alternatives", "/etc/ld.so.cache")  # which g++ is meant, and where libraries are
_LATE, _WROTE = "it did not end within {:g} s", "it wrote more than {} MiB"
_COMPUTED, _WAITED = "it computed for more than {:g} s", "it computed nothing for {:g} s"
_NAMES = ("/proc/keys", "/proc/key-users")  # what the kernel tells of others
_TOO_MUCH = "it took more than {} MiB of memory"
_ENDING = 20.0  # seconds that killed processes may take to be gone: much memory has to be given back
_TELLING = 5.0  # seconds that bubblewrap may take to say who is process 1
_TICK = os.sysconf("SC_CLK_TCK")
_OWN_COUNT = (5, 14)  # Linux: from this version on a user namespace's processes are counted by themselves


@dataclass(frozen=True)
class Limits:
    """What one run may take, all its processes together. Where a group counts it, the memory is also that of files in memory."""

    seconds: float = 30  # on the clock, less those that it waited for a processor; and of computing, on all processors together
    computing: float = math.inf  # seconds of computing, where it may have fewer of these
    memory: int = 4096 * _MiB
    reserved: int = 0  # bytes of addresses that it takes beside and never uses
    processes: int = 64
    file: int = 64 * _MiB  # bytes of any file, of its output, and of its messages
    folder: int = 256 * _MiB  # bytes of all files in TMP

    @property
    def most(self) -> float:
        """Seconds of computing that both limits allow."""
        return min(self.seconds, self.computing)


Late = Literal["", "computing", "clock"]


@dataclass(frozen=True)
class Ended:
    """How a run ended. `broken`: the limit that ended it, as the end of a sentence; empty: none did. `doubt`: what the machine
    may have done to it, as a sentence; empty where it ended by itself. `lost`: that is sure, whatever the code did."""

    status: int  # negative: the signal
    broken: str
    seconds: float
    late: Late = ""  # of which seconds that limit is, if it is one on seconds
    doubt: str = ""
    lost: bool = False


def _tree(root: int) -> list[psutil.Process]:
    """The process and everything below it."""
    try:
        top = psutil.Process(root)
        return [top, *top.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _resident(processes: Sequence[int]) -> int:
    """Bytes of memory that these processes have had at most, the tables of their pages among it, what they share counted once
    for each: what a program gives back between two looks is seen at the second."""
    return sum(_resident_of(Path("/proc", str(one))) for one in processes)


def _resident_of(place: Path) -> int:
    # Of a process whose first thread has ended, its other threads tell.
    for status in (place / "status", *place.glob("task/*/status")):
        with suppress(OSError):
            text = status.read_text(encoding="utf-8", errors="replace")
            if found := re.findall(r"^Vm(?:HWM|PTE):\s*(\d+) kB$", text, re.MULTILINE):
                return sum(map(int, found)) << 10
    return 0


def _computed(processes: Sequence[int]) -> float:
    """Seconds for which these processes have had a processor, and those of theirs that have ended."""
    ticks = 0
    for one in processes:
        with suppress(OSError):
            fields = Path(f"/proc/{one}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))  # proc(5): utime, stime, cutime, cstime
    return ticks / _TICK


def _waited(processes: Sequence[int]) -> float:
    """Seconds for which that one of their threads that had to wait longest for a processor has waited; 0 where nobody knows."""
    longest = 0
    for one in processes:
        for thread in Path(f"/proc/{one}/task").glob("*/schedstat"):
            with suppress(OSError):
                longest = max(longest, int(thread.read_text(encoding="utf-8").split()[1]))  # nanoseconds
    return longest / 1e9


def _pipe_with(content: bytes) -> int:
    """A descriptor that `content`, less than a pipe holds, can be read from."""
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    return reading


def _objects(lines: bytes) -> list[dict]:
    """What bubblewrap has told; of a line at which it was ended, nothing."""
    found = []
    for line in lines.splitlines():
        with suppress(ValueError):
            found.append(json.loads(line))
    return found


def _waits_for_disk(processes: Sequence[int]) -> bool:
    """Whether one of their threads waits for what nothing can interrupt."""
    for one in processes:
        for thread in Path(f"/proc/{one}/task").glob("*/stat"):
            with suppress(OSError):
                if thread.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0] == "D":
                    return True
    return False


def _doubt(status: int, memory: bool) -> str:
    """What the machine may have done to a run that failed without breaking a limit. `memory`: whether the machine had none left
    meanwhile."""
    if memory:
        return "This machine had no memory left."
    if status == -signal.SIGKILL:  # nothing that a limit here sends
        return "It was ended by SIGKILL."
    return ""


def _counts_namespaces() -> bool:
    """Whether the kernel counts a sandbox's processes by themselves, and not with what else its user runs."""
    found = re.match(r"(\d+)\.(\d+)", platform.release())
    return bool(found) and tuple(map(int, found.groups())) >= _OWN_COUNT  # type: ignore[union-attr]


def _ends(process: int, seconds: float) -> bool:
    """Whether the process of that descriptor ends within that time."""
    waiting = select.poll()  # (select() takes no number from 1024 on)
    waiting.register(process, select.POLLIN)
    return bool(waiting.poll(1000 * seconds))


class _Processes:
    """Those of a run, by their numbers."""

    def __init__(self, first: int, forks: bool) -> None:
        """`forks`: whether there may be others from one look to the next."""
        self._first, self._forks, self._at, self._numbers = first, forks, 0.0, list[int]()

    def numbers(self) -> list[int]:
        now = time.monotonic()
        # bubblewrap, its process 1, and what that starts: until all three are there, somebody is looked for.
        if (self._forks or len(self._numbers) < 3) and now - self._at > _COUNT:
            self._numbers, self._at = [one.pid for one in _tree(self._first)], now
        return self._numbers


class _Sink:
    """What comes out of a pipe, and the file that it goes to, up to a number of bytes."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self.file, self.left = file, most

    def take(self, descriptor: int) -> bool:
        """What is there now. Whether more may come."""
        data = os.read(descriptor, 1 << 16)
        self.file.write(data[: self.left + 1])
        self.left -= len(data)
        return bool(data) and self.left >= 0


class Sandbox:
    """Where submissions are compiled and run. `bubblewrap` None: only the limits hold.

    private: folders of this machine that must not be seen inside, wherever they are. groups: in which the kernel counts what runs
    take; None: their processes are looked at now and then. close() removes them.
    """

    def __init__(self, bubblewrap: Path | None, private: Sequence[Path] = (), groups: cgroup.Groups | None = None) -> None:
        self._bubblewrap, self._groups = bubblewrap, groups
        self._private = [path.resolve() for path in private]
        self._prlimit = shutil.which("prlimit")
        self._setpriv = shutil.which("setpriv")
        self._root = os.geteuid() == 0
        # One for each slot, and others than another grading has: a user's processes are counted, and end together.
        self._first = _FIRST_USER + secrets.randbelow(_USERS // _SLOTS) * _SLOTS
        self._stop = threading.Event()
        if not self._prlimit or not self._setpriv:
            raise UserError("prlimit or setpriv is missing; type: apt-get install util-linux.")

    @property
    def isolated(self) -> bool:
        """Whether it is more than limits."""
        return self._bubblewrap is not None

    @property
    def counted(self) -> bool:
        """Whether the kernel counts all memory that a run takes."""
        return self._groups is not None

    def close(self) -> None:
        """Nothing runs any more."""
        if self._groups:
            self._groups.close()

    def stop(self) -> None:
        """Ends what runs, in whatever thread, and lets nothing more begin."""
        self._stop.set()

    def _mounts(self, binds: Mapping[Path, Path], limits: Limits, forks: bool) -> list[str]:
        made = ["--ro-bind", "/usr", "/usr"]
        for name in _SYSTEM:
            path = Path(name)
            if path.is_symlink():
                made += ["--symlink", str(path.readlink()), name]
            elif path.exists():
                made += ["--ro-bind", name, name]
        made += ["--perms", "0755", "--dir", "/etc"]  # bubblewrap makes folders on the way to what is bound for itself alone
        for name in _SETTINGS:
            made += ["--ro-bind-try", name, name]
        made += ["--proc", "/proc", "--dev", "/dev"]
        for name in _NAMES:
            if Path(name).exists():
                made += ["--ro-bind", "/dev/null", name]
        for folder, size in ((TMP, limits.folder), (Path("/dev/shm"), _MiB)):  # noqa: S108
            made += ["--size", str(size), "--tmpfs", str(folder), "--chmod", "1777", str(folder)]
        for path in self._private:  # a checkout may lie below /usr
            if path.is_relative_to("/usr"):
                made += ["--tmpfs", str(path)]
        for parent in sorted({parent for inside in binds.values() for parent in inside.parents if parent != Path("/")}):
            if not parent.is_relative_to("/usr"):
                made += ["--perms", "0755", "--dir", str(parent)]
        for outside, inside in binds.items():
            made += ["--ro-bind", str(outside), str(inside)]
        # Process 1, whose end is that of all others, cannot be looked at; its memory would be as open as their own.
        made += ["--size", "4096", "--tmpfs", "/proc/1", "--remount-ro", "/proc/1"]
        for folder in () if forks else (TMP, Path("/dev/shm")):  # noqa: S108  (a kernel's program needs no files)
            made += ["--remount-ro", str(folder)]
        return [*made, "--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/"]

    def _command(
        self, command: Command, binds: Mapping[Path, Path], limits: Limits, user: int, options: Sequence[str], forks: bool
    ) -> list[str]:
        """`options`: further ones of bubblewrap."""
        cpu = int(limits.most) + 1  # of each process, all its threads together
        bounds = [
            f"--as={limits.memory + limits.reserved}", f"--fsize={limits.file}",
            f"--cpu={cpu}:{cpu + 5}", "--core=0", "--nofile=256", "--stack=8388608", "--memlock=0", "--msgqueue=0",
        ]  # fmt: skip
        if self._root or (self._bubblewrap and _counts_namespaces()):  # elsewhere it would count what else the user runs
            bounds.append(f"--nproc={limits.processes}")
        inner = [str(self._prlimit), *bounds]
        if self._root:
            drop = ["--reuid", str(user), "--regid", str(user), "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]
            inner += [str(self._setpriv), *drop, "--no-new-privs"]
        inner += map(str, command)
        if not self._bubblewrap:
            return inner
        apart = ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"]
        if self._root:
            apart += ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID", "--cap-add", "CAP_SETPCAP"]
        else:
            apart += ["--unshare-user", "--uid", "65534", "--gid", "65534", "--cap-drop", "ALL"]
        outer = [str(self._bubblewrap), *apart, "--die-with-parent", "--new-session", "--hostname", "grading"]
        return [*outer, *options, *self._mounts(binds, limits, forks), "--chdir", str(TMP), "--", *inner]

    def hand_over(self, folder: Path, slot: int) -> None:
        """Makes the folder that of the user that runs in this slot, where there is no sandbox."""
        if self._root and not self._bubblewrap:
            os.chown(folder, self._first + slot, self._first + slot)

    def run(
        self,
        command: Command,
        folder: Path,
        binds: Mapping[Path, Path],
        output: BinaryIO,
        messages: BinaryIO,
        limits: Limits,
        slot: int = 0,
        forks: bool = True,
    ) -> Ended:
        """Runs `command` and waits for it; what it says on both comes to files. Nothing that it started is left.

        `binds`: outside → inside, for reading. `folder`: TMP where there is no sandbox (see place()); `slot`: 0 … , of those that
        run together. `forks`: whether it may start processes, and write files in TMP. Raises UserError where it cannot be
        started, Stopped after stop(), Outlived where something does not end.
        """
        user = self._first + slot
        environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
        environment |= {key: str(TMP if self._bubblewrap else folder) for key in ("HOME", "TMPDIR")}
        if self._stop.is_set():
            raise Stopped
        group, begin, kills = None, time.monotonic(), cgroup.oom_kills()
        with ExitStack() as stack:
            # Closed as soon as it has begun: what it is given, and its ends of pipes.
            given = stack.enter_context(ExitStack())

            def pipe() -> tuple[int, int]:
                reading, writing = os.pipe()
                stack.callback(os.close, reading)
                given.callback(os.close, writing)
                return reading, writing

            told, telling = pipe()  # bubblewrap tells its child's number, and how that ended
            nothing, spoken, complaint = _pipe_with(b""), pipe(), pipe()
            given.callback(os.close, nothing)
            options, inherited = ["--json-status-fd", str(telling)], [telling]
            if self._bubblewrap:
                filters = _pipe_with(calls.program(forks))
                given.callback(os.close, filters)
                options += ["--seccomp", str(filters)]
                inherited.append(filters)
            full = self._command(command, binds, limits, user, options, forks)
            if self._groups:
                group = self._groups.group(limits.memory, limits.processes)
                full = group.entered(full)
            try:
                started = subprocess.Popen(
                    full, cwd=None if self._bubblewrap else folder, env=environment, stdin=nothing, stdout=spoken[1],
                    stderr=complaint[1], pass_fds=inherited if self._bubblewrap else (), start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                if group:
                    group.end()
                raise UserError(f"{full[0]} cannot be run: {error.strerror}.") from error
            given.close()
            run = _Running(started, told, {spoken[0]: _Sink(output, limits.file), complaint[0]: _Sink(messages, limits.file)})
            counted = None
            try:
                broken, late, doubt = run.watched(begin, limits, forks, group, self._stop)
            finally:
                try:
                    run.end(self._bubblewrap is not None, user if self._root else None)
                finally:
                    counted = group.end() if group else None
                    run.close()
            broken = broken or run.too_much(limits)
        status = started.returncode
        if status > _BY_SIGNAL:
            status = _BY_SIGNAL - status
        if not broken and counted and counted.limit:
            broken = _TOO_MUCH.format(limits.memory // _MiB)
        if not broken and status == -signal.SIGXCPU:
            broken, late = _COMPUTED.format(limits.most), "computing"
        if not broken and status == -signal.SIGXFSZ:
            broken = _WROTE.format(limits.file // _MiB)
        lost = bool(status) and not broken and self._bubblewrap is not None and not run.told_end
        if lost:
            doubt = "The sandbox could not be made, or something else on this machine ended it."
        elif status and not broken:
            doubt = _doubt(status, counted.machine if counted else cgroup.oom_kills() > kills)
        return Ended(status, broken, time.monotonic() - begin, late, doubt, lost)

    def place(self, inside: Path, folder: Path) -> Path:
        """What a path in TMP is called by the code: in `folder` where there is no sandbox."""
        return inside if self._bubblewrap else folder / inside.relative_to(TMP)


class _Running:
    """A run from its beginning to its end. `told`: where bubblewrap says what became of it; `sinks`: by the pipe."""

    def __init__(self, started: subprocess.Popen[bytes], told: int, sinks: Mapping[int, _Sink]) -> None:
        self._started, self._told, self._sinks, self._said = started, told, sinks, b""
        self._first = -1  # a descriptor of the sandbox's process 1, by which it is known whatever becomes of its number
        self._waiting = selectors.DefaultSelector()
        for descriptor in (told, *sinks):
            os.set_blocking(descriptor, False)
            self._waiting.register(descriptor, selectors.EVENT_READ)

    def close(self) -> None:
        self._waiting.close()
        if self._first >= 0:
            os.close(self._first)

    @property
    def told_end(self) -> bool:
        """Whether bubblewrap was left to say how the command ended."""
        return any("exit-code" in one for one in _objects(self._said))

    def too_much(self, limits: Limits) -> str:
        """The limit on what it says, if it has broken that."""
        return _WROTE.format(limits.file // _MiB) if any(sink.left < 0 for sink in self._sinks.values()) else ""

    def _take(self, seconds: float) -> bool:
        """What comes within that time. Whether there was anything."""
        if not self._waiting.get_map():
            time.sleep(seconds)
            return False
        ready = self._waiting.select(seconds)
        for key, _ in ready:
            more = self._listen() if key.fd == self._told else self._sinks[key.fd].take(key.fd)
            if not more:
                self._waiting.unregister(key.fd)
        return bool(ready)

    def _listen(self) -> bool:
        """To bubblewrap, which says first who is process 1."""
        data = os.read(self._told, 1 << 12)
        self._said += data
        number = next((one["child-pid"] for one in _objects(self._said) if "child-pid" in one), None)
        if number and self._first < 0:
            with suppress(OSError, psutil.NoSuchProcess):
                descriptor = os.pidfd_open(number)
                if psutil.Process(number).ppid() == self._started.pid:
                    self._first = descriptor
                else:  # it has ended, and the number is another's by now
                    os.close(descriptor)
        return bool(data)

    def watched(
        self, begin: float, limits: Limits, forks: bool, group: cgroup.Group | None, stop: threading.Event
    ) -> tuple[str, Late, str]:
        """Waits for the program. The limit that it has broken, if any, of which seconds that is, and a doubt about that."""
        processes, weighed = _Processes(self._started.pid, forks), begin
        most, since, last = 0.0, begin, time.monotonic()  # what it has computed, and when it last did; the last look
        while self._started.poll() is None:
            self._take(_POLL)
            now = time.monotonic()
            if now - last > _SUSPENDED:  # the run's time goes on when ours does
                begin, since = begin + now - last, since + now - last
            last = now
            if stop.is_set():
                raise Stopped
            if broken := self.too_much(limits):
                return broken, "", ""
            if now - weighed < _WEIGH:
                continue
            weighed, numbers = now, [] if group else processes.numbers()
            computed = group.seconds() if group else _computed(numbers)
            if computed > most or not (group or numbers):
                most, since = computed, now
            if now - since > _IDLE:
                slow = _waits_for_disk([one.pid for one in _tree(self._started.pid)])
                return _WAITED.format(_IDLE), "clock", "This machine's disk was slow." if slow else ""
            if computed > limits.most:
                return _COMPUTED.format(limits.most), "computing", ""
            if not group and _resident(numbers) > limits.memory:
                return _TOO_MUCH.format(limits.memory // _MiB), "", ""
            if now - begin > limits.seconds:
                waited = _waited([one.pid for one in _tree(self._started.pid)])
                late = _LATE.format(limits.seconds)
                if now - begin - waited > limits.seconds:
                    return late, "clock", ""
                if now - begin > _STARVED * limits.seconds:
                    return late, "clock", "This machine had too much to do: it waited most of the time for a processor."
        return "", "", ""

    def end(self, isolated: bool, user: int | None) -> None:
        """Ends the sandbox, and without one everything below the program and everything of `user`, if any. Takes what is still to
        be taken. Raises Outlived."""
        left = [] if isolated else _tree(self._started.pid)
        end = time.monotonic() + _TELLING
        while isolated and self._first < 0 and self._started.poll() is None and time.monotonic() < end:
            self._take(_POLL)  # it has just begun, and will say who is process 1
        if self._first >= 0:  # all others of its namespace end with it, whatever they do, and before it is gone
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._first, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.killpg(self._started.pid, signal.SIGKILL)
        self._started.wait()
        if isolated and self._first >= 0 and not _ends(self._first, _ENDING):
            raise cgroup.Outlived
        while self._take(0):
            pass
        if isolated:
            return
        for _ in range(100):  # what has become an orphan meanwhile is known by its user alone
            left += _of_user(user) if user is not None else []
            if not left:
                return
            for one in left:
                with suppress(psutil.Error):
                    one.kill()
            left = []
            if user is None:
                return
            time.sleep(_POLL)
        raise cgroup.Outlived


def _of_user(user: int) -> list[psutil.Process]:
    """Its processes that have not ended."""
    found = []
    for one in psutil.process_iter():
        with suppress(psutil.Error):
            if one.uids().effective == user and one.status() not in _ENDED:
                found.append(one)
    return found


class Stopped(Exception):
    """Everything is to end."""


def find(unsandboxed: bool, private: Sequence[Path]) -> Sandbox:
    """A sandbox that was seen to work. Raises UserError where there is none, unless `unsandboxed`."""
    without = "or write --unsandboxed where something else keeps submissions apart (a container for each)"
    calls.leave_keyring()
    needed = (("bubblewrap", doctor.provide_bubblewrap), ("libseccomp for Python", doctor.provide_seccomp))
    for what, provide in () if unsandboxed else needed:
        if why := provide():
            raise UserError(f"Submissions need a sandbox, and {what} is missing; {why}, {without}.")
    path = None if unsandboxed else Path(str(shutil.which("bwrap")))
    if groups := cgroup.find():
        counting = Sandbox(path, private, groups)
        if not _flaw(counting):
            return counting
        counting.close()
    sandbox = Sandbox(path, private)
    if not unsandboxed and (why := _flaw(sandbox)):
        how = "install version 0.8 or newer" if "nknown option" in why else "allow user namespaces"
        raise UserError(f"Submissions need a sandbox, and bubblewrap cannot make one here ({why}); {how}, {without}.")
    return sandbox


def _flaw(sandbox: Sandbox) -> str:
    """What is in the way of running anything in it, or nothing."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:
        done = sandbox.run(["true"], Path(tempfile.gettempdir()), {}, output, messages, replace(Limits(), seconds=10))
        messages.seek(0)
        said = messages.read(1000).decode(errors="replace").strip().splitlines()
    return (said[0].rstrip(".") if said else f"it ended with status {done.status}") if done.status else ""
