"""Runs code that nobody has read: without network, with limits, and with nothing of the machine in sight that it does not need.

bubblewrap (Debian's package) makes the sandbox. Inside there are the system's programs, what is bound into it, and two small
folders in memory; everything is read-only but these. As root, the code runs as a user that nothing else belongs to.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import secrets
import shutil
import signal
import struct
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

TMP = Path("/tmp")  # inside: where the code may write  # noqa: S108
_FIRST_USER, _USERS, _SLOTS = 1_900_000_000, 200_000_000, 1000  # no account has such a number
_POLL = 0.02  # seconds between looks at a program
_WEIGH = 0.2  # seconds between looks at how much memory it has
_MiB = 1 << 20
_ENDED = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)  # also where nobody has waited for it yet
_BY_SIGNAL = 128  # + its number: how bubblewrap and sh tell which signal ended a program
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_SETTINGS = ("/etc/alternatives", "/etc/ld.so.cache")  # which g++ is meant, and where libraries are
_ENDING = 20.0  # seconds that killed processes may take to be gone: much memory has to be given back

# System calls that are refused inside, by machine: AUDIT_ARCH_… (linux/audit.h), clone, clone3, and those that make memory which
# belongs to no process, and so is in no limit (memfd_create, memfd_secret, shmget, io_uring_setup), or a namespace in which the
# code would be root and could mount more of it (unshare, setns), or that look into the kernel or into other processes (bpf,
# perf_event_open, userfaultfd, ptrace).
_REFUSED = {
    "x86_64": (0xC000003E, 56, 435, (319, 447, 29, 425, 272, 308, 321, 298, 323, 101)),
    "aarch64": (0xC00000B7, 220, 435, (279, 447, 194, 425, 97, 268, 280, 241, 282, 117)),
}


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
    """How a run ended. `broken`: the limit that ended it, as the end of a sentence; empty: none did."""

    status: int  # negative: the signal
    broken: str
    seconds: float
    late: bool = False  # whether that limit is the one on seconds


def _tree(root: int) -> list[psutil.Process]:
    """The process and everything below it."""
    try:
        top = psutil.Process(root)
        return [top, *top.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def _resident(processes: Sequence[psutil.Process]) -> int:
    """Bytes of memory that these processes have, what they share counted once for each."""
    total = 0
    for one in processes:
        with suppress(psutil.Error):
            total += one.memory_info().rss
    return total


def _filter() -> bytes:
    """The seccomp filter (linux/filter.h, linux/seccomp.h) that refuses _REFUSED; empty on other machines."""
    if platform.machine() not in _REFUSED:
        return b""
    arch, clone, clone3, others = _REFUSED[platform.machine()]
    load, equal, at_least, any_bit, end = 0x20, 0x15, 0x35, 0x45, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ, JGE, JSET, BPF_RET
    number, machine, first_argument = 0, 4, 16  # offsets in struct seccomp_data
    kill, allow, fail = 0x80000000, 0x7FFF0000, 0x00050000
    new_user = 0x10000000  # CLONE_NEWUSER
    code = [
        (load, 0, 0, machine), (equal, 1, 0, arch), (end, 0, 0, kill),  # 32-bit calls have other numbers
        (load, 0, 0, number), (at_least, 0, 1, 1 << 30), (end, 0, 0, fail | errno.ENOSYS),  # so have x32's
        (equal, 0, 1, clone3), (end, 0, 0, fail | errno.ENOSYS),  # libc takes clone then, whose flags can be seen
        *(step for call in others for step in ((equal, 0, 1, call), (end, 0, 0, fail | errno.EPERM))),
        (equal, 0, 3, clone), (load, 0, 0, first_argument), (any_bit, 0, 1, new_user), (end, 0, 0, fail | errno.EPERM),
        (end, 0, 0, allow),
    ]  # fmt: skip
    return b"".join(struct.pack("=HBBI", *step) for step in code)


def _pipe_with(content: bytes) -> int:
    """A descriptor that `content`, less than a pipe holds, can be read from."""
    reading, writing = os.pipe()
    os.write(writing, content)
    os.close(writing)
    return reading


def _gone(pid: int) -> bool:
    """Whether the process has ended; that nobody has waited for it yet does not matter."""
    try:
        return psutil.Process(pid).status() in _ENDED
    except psutil.NoSuchProcess:
        return True


class Sandbox:
    """Where submissions are compiled and run. `bubblewrap` None: only the limits hold.

    private: folders of this machine that must not be seen inside, wherever they are.
    """

    def __init__(self, bubblewrap: Path | None, private: Sequence[Path] = ()) -> None:
        self._bubblewrap = bubblewrap
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
        for name in _SETTINGS:
            made += ["--ro-bind-try", name, name]
        made += ["--proc", "/proc", "--dev", "/dev"]
        for folder, size in ((TMP, limits.folder), (Path("/dev/shm"), _MiB)):  # noqa: S108
            made += ["--size", str(size), "--tmpfs", str(folder), "--chmod", "1777", str(folder)]
        for path in self._private:  # a checkout may lie below /usr
            if path.is_relative_to("/usr"):
                made += ["--tmpfs", str(path)]
        # bubblewrap makes the folders on the way to a bound file for itself alone.
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
        begin = time.monotonic()
        if self._stop.is_set():
            raise Stopped
        told, telling = os.pipe()  # bubblewrap tells its child's number
        given = [telling]
        options = ["--info-fd", str(telling)]
        if refused := _filter():
            given.append(_pipe_with(refused))
            options += ["--seccomp", str(given[-1])]
        full = self._command(command, binds, limits, user, options)
        try:
            started = subprocess.Popen(
                full, cwd=None if self._bubblewrap else folder, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                stderr=messages, pass_fds=(*keep, *(given if self._bubblewrap else ())), start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            os.close(told)
            raise UserError(f"{full[0]} cannot be run: {error.strerror}.") from error
        finally:
            for descriptor in given:
                os.close(descriptor)
        broken, weighed, late = "", begin, False
        try:
            while started.poll() is None:
                time.sleep(_POLL)
                now = time.monotonic()
                if self._stop.is_set():
                    raise Stopped
                if now - begin > limits.seconds:
                    broken, late = f"it did not end within {limits.seconds:g} s", True
                elif now - weighed > _WEIGH:
                    weighed = now
                    if _resident(_tree(started.pid)) > limits.memory:
                        broken = f"it took more than {limits.memory // _MiB} MiB of memory"
                if broken:
                    break
        finally:
            self._end(started, user, told)
        status = started.returncode
        if status > _BY_SIGNAL:
            status = _BY_SIGNAL - status
        if not broken and status == -signal.SIGXCPU:
            broken, late = "it computed for too long", True
        if not broken and status == -signal.SIGXFSZ:
            broken = f"it wrote more than {limits.file // _MiB} MiB"
        return Ended(status, broken, time.monotonic() - begin, late)

    def _end(self, started: subprocess.Popen[bytes], user: int, told: int) -> None:
        """Ends the sandbox, and without one everything below the program and everything of its user. Closes `told`."""
        left = [] if self._bubblewrap else _tree(started.pid)
        with suppress(ProcessLookupError):
            os.killpg(started.pid, signal.SIGKILL)
        started.wait()
        with open(told, "rb") as file:
            said = file.read()
        if self._bubblewrap:
            # Its child, process 1 inside, dies with it, and takes everything else along; but not at once. The next run is by the
            # same user, whose processes are counted.
            with suppress(ValueError, KeyError):
                first, end = json.loads(said)["child-pid"], time.monotonic() + _ENDING
                while not _gone(first):
                    if time.monotonic() > end:
                        raise UserError("The sandbox's processes do not end; end them by hand.")
                    time.sleep(_POLL / 10)
            return
        for _ in range(100):  # what has become an orphan meanwhile is known by its user alone
            left += _of_user(user) if self._root else []
            if not left:
                return
            for one in left:
                with suppress(psutil.Error):
                    one.kill()
            left = []
            if not self._root:
                return
            time.sleep(_POLL)

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
    if unsandboxed:
        return Sandbox(None)
    without = "or write --unsandboxed where something else keeps submissions apart (a container for each)"
    if why := doctor.provide_bubblewrap():
        raise UserError(f"Submissions need a sandbox, and bubblewrap is missing; {why}, {without}.")
    path = str(shutil.which("bwrap"))
    sandbox = Sandbox(Path(path), private)
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages, tempfile.TemporaryDirectory() as folder:
        done = sandbox.run(["true"], Path(folder), {}, output, messages, replace(Limits(), seconds=10))
        messages.seek(0)
        said = messages.read(1000).decode(errors="replace").strip().splitlines()
    if done.status:
        why = said[0].rstrip(".") if said else f"it ended with status {done.status}"
        how = "install version 0.8 or newer" if "nknown option" in why else "allow user namespaces"
        raise UserError(f"Submissions need a sandbox, and bubblewrap cannot make one here ({why}); {how}, {without}.")
    return sandbox
