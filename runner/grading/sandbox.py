"""Runs code that nobody has read: without network, with limits, and with nothing of the machine in sight that it does not need.

bubblewrap (Debian's package) makes the sandbox. Inside there are the system's programs, what is bound into it, and two small
folders in memory; everything is read-only but these. As root, the code runs as a user that nothing else belongs to. Of the
kernel it gets what is on a list (calls.py), and no more than a control group lets it have (cgroup.py).
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

import psutil

from runner.core import doctor, process
from runner.core.process import Command
from runner.core.results import UserError
from runner.grading import calls, cgroup

TMP = Path("/tmp")  # inside: where the code may write  # noqa: S108
_FIRST_USER, _USERS, _SLOTS = 1_900_000_000, 200_000_000, 1000  # no account has such a number
_POLL = 0.02  # seconds between looks at a program
_WEIGH = 0.2  # seconds between looks at how much memory it has
_MiB = 1 << 20
_ENDED = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)  # also where nobody has waited for it yet
_BY_SIGNAL = 128  # + its number: how bubblewrap and sh tell which signal ended a program
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = ("/etc/alternatives", "/etc/ld.so.cache")  # which g++ is meant, and where libraries are
_TOO_MUCH = "it took more than {} MiB of memory"
_ENDING = 20.0  # seconds that killed processes may take to be gone: much memory has to be given back


@dataclass(frozen=True)
class Limits:
    """What one run may take. The memory is that of all its processes together, and of its files in memory."""

    seconds: float = 60
    memory: int = 4096 * _MiB
    reserved: int = 0  # bytes of addresses that it takes beside and never uses
    processes: int = 64
    file: int = 64 * _MiB  # bytes of any file, its output among them
    folder: int = 256 * _MiB  # bytes of all files in TMP


@dataclass(frozen=True)
class Ended:
    """How a run ended. `broken`: the limit that ended it, as the end of a sentence; empty: none did. `doubt`: what the machine
    may have done to it, as a sentence; empty where it ended by itself."""

    status: int  # negative: the signal
    broken: str
    seconds: float
    late: bool = False  # whether that limit is the one on seconds
    doubt: str = ""


def _tree(root: int) -> list[psutil.Process]:
    """The process and everything below it."""
    try:
        top = psutil.Process(root)
        return [top, *top.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _resident(processes: Sequence[psutil.Process]) -> int:
    """Bytes of memory that these processes have, the tables of their pages among it, what they share counted once for each."""
    total = 0
    for one in processes:
        with suppress(OSError):
            status = Path(f"/proc/{one.pid}/status").read_text(encoding="utf-8", errors="replace")
            total += sum(int(kib) for kib in re.findall(r"^Vm(?:RSS|PTE):\s*(\d+) kB$", status, re.MULTILINE)) << 10
    return total


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


def _doubt(status: int, ended: bool, memory: bool) -> str:
    """What the machine may have done to a run that failed without breaking a limit. `ended`: whether the command began, and
    somebody was left to say how it ended; `memory`: whether the machine had no memory meanwhile."""
    if memory:
        return "This machine had no memory left."
    if not ended:
        return "The sandbox could not be made, or something else on this machine ended it."
    if status == -signal.SIGKILL:  # nothing that a limit here sends
        return "It was ended by SIGKILL."
    return ""


def _gone(pid: int) -> bool:
    """Whether the process has ended; that nobody has waited for it yet does not matter."""
    try:
        return psutil.Process(pid).status() in _ENDED
    except psutil.NoSuchProcess:
        return True


class Sandbox:
    """Where submissions are compiled and run. `bubblewrap` None: only the limits hold.

    private: folders of this machine that must not be seen inside, wherever they are. groups: in which the kernel counts what runs
    take; None: their processes are looked at now and then. close() removes them.
    """

    def __init__(self, bubblewrap: Path | None, private: Sequence[Path] = (), groups: cgroup.Groups | None = None) -> None:
        self._bubblewrap, self._groups = bubblewrap, groups
        self._calls = calls.program() if bubblewrap else b""
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

    def _mounts(self, binds: Mapping[Path, Path], limits: Limits) -> list[str]:
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
        return [*made, "--remount-ro", "/dev", "--remount-ro", "/"]

    def _command(
        self, command: Command, binds: Mapping[Path, Path], limits: Limits, user: int, options: Sequence[str]
    ) -> list[str]:
        """`options`: further ones of bubblewrap."""
        # Of all threads together; time on the clock has a limit of its own.
        cpu = int(limits.seconds * min(limits.processes, process.cores())) + 1
        bounds = [
            f"--as={limits.memory + limits.reserved}", f"--fsize={limits.file}",
            f"--cpu={cpu}:{cpu + 5}", "--core=0", "--nofile=256", "--stack=8388608", "--memlock=0", "--msgqueue=0",
        ]  # fmt: skip
        if self._bubblewrap or self._root:  # elsewhere it would count what else the user runs
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
        return [*outer, *options, *self._mounts(binds, limits), "--chdir", str(TMP), "--", *inner]

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
        keep: Sequence[int] = (),
    ) -> Ended:
        """Runs `command` and waits for it; nothing that it started is left.

        `binds`: outside → inside, for reading. `folder`: TMP where there is no sandbox (see place()); `slot`: 0 … , of those that
        run together. `keep`: descriptors that stay open. Raises UserError where it cannot be started, Stopped after stop().
        """
        user = self._first + slot
        environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
        environment |= {key: str(TMP if self._bubblewrap else folder) for key in ("HOME", "TMPDIR")}
        if self._stop.is_set():
            raise Stopped
        told, telling = os.pipe()  # bubblewrap tells its child's number, and how that ended
        given = [telling]
        options = ["--json-status-fd", str(telling)]
        if self._calls:
            given.append(_pipe_with(self._calls))
            options += ["--seccomp", str(given[-1])]
        group, begin, kills = None, time.monotonic(), cgroup.oom_kills()
        try:
            full = self._command(command, binds, limits, user, options)
            if self._groups:
                group = self._groups.group(limits.memory, limits.processes)
                full = group.entered(full)
            started = subprocess.Popen(
                full, cwd=None if self._bubblewrap else folder, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=messages, pass_fds=(*keep, *(given if self._bubblewrap else ())), start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            os.close(told)
            if group:
                group.end()
            raise UserError(f"{full[0]} cannot be run: {error.strerror}.") from error
        except UserError:
            os.close(told)
            raise
        finally:
            for descriptor in given:
                os.close(descriptor)
        broken, late, said, counted = "", False, [], None
        try:
            broken, late = self._watched(started, begin, limits, counted=group is not None)
        finally:
            try:
                said = self._end(started, user, told)
            finally:
                counted = group.end() if group else None
        status = started.returncode
        if status > _BY_SIGNAL:
            status = _BY_SIGNAL - status
        if not broken and counted and counted.limit:
            broken = _TOO_MUCH.format(limits.memory // _MiB)
        if not broken and status == -signal.SIGXCPU:
            broken, late = "it computed for too long", True
        if not broken and status == -signal.SIGXFSZ:
            broken = f"it wrote more than {limits.file // _MiB} MiB"
        doubt = ""
        if status and not broken:
            ended = not self._bubblewrap or any("exit-code" in one for one in said)
            doubt = _doubt(status, ended, counted.machine if counted else cgroup.oom_kills() > kills)
        return Ended(status, broken, time.monotonic() - begin, late, doubt)

    def _watched(self, started: subprocess.Popen[bytes], begin: float, limits: Limits, counted: bool) -> tuple[str, bool]:
        """Waits for the program. The limit that it has broken, if any, and whether that is the one on seconds."""
        weighed = begin
        while started.poll() is None:
            time.sleep(_POLL)
            now = time.monotonic()
            if self._stop.is_set():
                raise Stopped
            if now - begin > limits.seconds:
                return f"it did not end within {limits.seconds:g} s", True
            if not counted and now - weighed > _WEIGH:
                weighed = now
                if _resident(_tree(started.pid)) > limits.memory:
                    return _TOO_MUCH.format(limits.memory // _MiB), False
        return "", False

    def _end(self, started: subprocess.Popen[bytes], user: int, told: int) -> list[dict]:
        """Ends the sandbox, and without one everything below the program and everything of its user. Closes `told`, whose objects
        it returns."""
        left = [] if self._bubblewrap else _tree(started.pid)
        with suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()
        with open(told, "rb") as file:
            said = _objects(file.read())
        if self._bubblewrap:
            # Its child, process 1 inside, dies with it, and takes everything else along; but not at once. The next run is by the
            # same user, whose processes are counted.
            first, end = next((one["child-pid"] for one in said if "child-pid" in one), None), time.monotonic() + _ENDING
            while first and not _gone(first):
                if time.monotonic() > end:
                    raise UserError("The sandbox's processes do not end; end them by hand.")
                time.sleep(_POLL / 10)
            return said
        for _ in range(100):  # what has become an orphan meanwhile is known by its user alone
            left += _of_user(user) if self._root else []
            if not left:
                break
            for one in left:
                with suppress(psutil.Error):
                    one.kill()
            left = []
            if not self._root:
                break
            time.sleep(_POLL)
        return said

    def place(self, inside: Path, folder: Path) -> Path:
        """What a path in TMP is called by the code: in `folder` where there is no sandbox."""
        return inside if self._bubblewrap else folder / inside.relative_to(TMP)


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
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages, tempfile.TemporaryDirectory() as folder:
        done = sandbox.run(["true"], Path(folder), {}, output, messages, replace(Limits(), seconds=10))
        messages.seek(0)
        said = messages.read(1000).decode(errors="replace").strip().splitlines()
    return (said[0].rstrip(".") if said else f"it ended with status {done.status}") if done.status else ""
