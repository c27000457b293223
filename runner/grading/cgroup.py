"""Control groups (version 2): the kernel counts all that a run takes, and ends it at its limit.

Counted is also what is in no process's memory: buffers of pipes, page tables, the kernel's own records, files in memory. A group
can be made where the system hands over a part of its tree: to root, and by systemd to everybody who is logged in.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from runner.core import process
from runner.core.results import UserError


class Outlived(UserError):
    """Something of a run does not end. It must not be graded beside that, nor after."""

    def __init__(self) -> None:
        super().__init__("Something that a submission has started does not end, and nothing more is graded: end it by hand (ps).")


_NAME = "gemm-grade-"
_SELF = "self"  # the group in ours in which grade itself waits, where it had to leave the one above
_CONTROLLERS = ("memory", "pids")
_SHARES = "cpu"  # where it can be had: runs get equal shares of the processors, however many threads each has
_IN_SCOPE = "GEMM_IN_SCOPE"  # set by enter_scope() for the command that it becomes
_OWN = 8  # processes of a run beside the code's: bubblewrap's, sh, prlimit
_POLL = 0.002  # seconds between looks at a group that is to become empty
_ENDING = 20.0  # seconds that this may take: much memory has to be given back


@dataclass(frozen=True)
class Counted:
    """What the kernel ended in a group: for the group's own limit, or because the machine, or a group above, had no memory."""

    limit: bool
    machine: bool


def _text(path: Path) -> str:
    """Empty where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


def _words(path: Path) -> list[str]:
    return _text(path).split()


def _table(path: Path) -> Mapping[str, int]:
    """Lines of a name and a number, such as memory.events; empty where it cannot be read."""
    words = _words(path)
    return {name: int(number) for name, number in zip(words[::2], words[1::2], strict=False)}


def oom_kills() -> int:
    """How many processes the kernel has ended on this machine so far for want of memory, whosever they were."""
    return _table(Path("/proc/vmstat")).get("oom_kill", 0)


def _write(path: Path, text: str) -> bool:
    """Whether the kernel takes it."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError:
        return False
    return True


def _emptied(path: Path) -> bool:
    """Ends everything in the group. Whether that is so in time."""
    end = time.monotonic() + _ENDING
    while _table(path / "cgroup.events").get("populated"):
        if not _write(path / "cgroup.kill", "1"):  # Linux 5.14
            for number in map(int, _words(path / "cgroup.procs")):
                with suppress(psutil.Error):
                    psutil.Process(number).kill()
        if time.monotonic() > end:
            return False
        time.sleep(_POLL)
    return True


def _removed(path: Path) -> bool:
    """Removes a group without processes. Whether it is gone; what has ended leaves it a moment later."""
    end = time.monotonic() + _ENDING
    while True:
        try:
            path.rmdir()
        except FileNotFoundError:
            return True
        except OSError:
            if time.monotonic() > end:
                return False
            time.sleep(_POLL)
        else:
            return True


class Group:
    """That of one run."""

    def __init__(self, path: Path, memory: int, processes: int) -> None:
        """A new one. Raises UserError."""
        self._path = path
        try:
            path.mkdir()
            (path / "memory.max").write_text(str(memory), encoding="utf-8")
            (path / "pids.max").write_text(str(processes + _OWN), encoding="utf-8")
        except OSError as error:
            raise UserError(f"{path} cannot be made to hold a limit: {error.strerror}.") from error
        _write(path / "memory.swap.max", "0")  # not there where the kernel counts no swap
        _write(path / "memory.oom.group", "1")  # nothing of the run goes on without what was ended

    def entered(self, command: Sequence[str]) -> list[str]:
        """The command so that it is in the group before it begins."""
        return ["/bin/sh", "-c", 'echo $$ >"$0" && exec "$@"', str(self._path / "cgroup.procs"), *command]

    def seconds(self) -> float:
        """For which its processes have had a processor."""
        return _table(self._path / "cpu.stat").get("usage_usec", 0) / 1e6

    def end(self) -> Counted:
        """Ends what is left in it and removes it. What it counted. Raises Outlived."""
        try:
            if not _emptied(self._path):
                raise Outlived
            events = _table(self._path / "memory.events")
        finally:
            _removed(self._path)
        killed, at_limit = bool(events.get("oom_kill")), bool(events.get("oom"))
        return Counted(killed and at_limit, killed and not at_limit)


class Groups:
    """The group in which runs have theirs. It is locked as long as its grading lives, by which others know what is left over."""

    def __init__(self, parent: Path) -> None:
        """A new one below `parent`. Raises OSError where that may not be."""
        self._parent, self._lock, self._added = parent, -1, list[str]()
        _clear(parent)
        self._path = parent / f"{_NAME}{secrets.token_hex(4)}"
        self._path.mkdir()
        self._lock = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            lacking = [name for name in _CONTROLLERS if name not in _words(parent / "cgroup.subtree_control")]
            # Only the root of all groups may have both processes and groups with limits.
            if lacking and (parent / "cgroup.type").exists() and _words(parent / "cgroup.procs"):
                self._move()
            for path in (parent, self._path):
                (path / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in _CONTROLLERS), encoding="utf-8")
                self._added = lacking
            shared = _SHARES in _words(parent / "cgroup.subtree_control")
            if _write(parent / "cgroup.subtree_control", f"+{_SHARES}") and not shared:
                self._added = [*lacking, _SHARES]
            _write(self._path / "cgroup.subtree_control", f"+{_SHARES}")
        except OSError:
            self.close()
            raise

    def _move(self) -> None:
        """Takes this process, and those that started it, out of the parent. Raises OSError where others are there, too."""
        chain = {os.getpid(), *(above.pid for above in psutil.Process().parents())}
        numbers = [int(word) for word in _words(self._parent / "cgroup.procs")]
        if not chain.issuperset(numbers):
            raise PermissionError(f"others have processes in {self._parent}")
        (self._path / _SELF).mkdir()
        for number in numbers:
            (self._path / _SELF / "cgroup.procs").write_text(str(number), encoding="utf-8")

    def group(self, memory: int, processes: int) -> Group:
        """For a run that begins. Raises UserError."""
        return Group(self._path / f"run-{secrets.token_hex(4)}", memory, processes)

    def close(self) -> None:
        """Ends what runs and leaves everything as it was."""
        if self._lock >= 0:
            _dissolve(self._path, self._added)
            os.close(self._lock)
            self._lock = -1


def _dissolve(path: Path, added: Sequence[str] = _CONTROLLERS) -> None:
    """Removes a group of ours with all in it; who had to wait in it goes back. `added`: what its parent counts for its sake."""
    for run in [inner for inner in _folders(path) if inner.name != _SELF]:
        _emptied(run)
        _removed(run)
    for name in (*_CONTROLLERS, _SHARES):
        _write(path / "cgroup.subtree_control", f"-{name}")
    for name in added:  # it stays where another group needs it
        _write(path.parent / "cgroup.subtree_control", f"-{name}")
    for number in _words(path / _SELF / "cgroup.procs"):
        _write(path.parent / "cgroup.procs", number)
    for inner in (path / _SELF, path):
        if inner.exists():
            _removed(inner)


def _folders(path: Path) -> list[Path]:
    try:
        return [inner for inner in path.iterdir() if inner.is_dir()]
    except OSError:
        return []


def _clear(parent: Path) -> None:
    """Removes what a grading that was killed has left there: nobody holds its lock."""
    for path in _folders(parent):
        if path.name.startswith(_NAME):
            with suppress(OSError):
                lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    # A new one is locked a moment after it is there, and holds nothing until then.
                    _dissolve(path) if _folders(path) else path.rmdir()
                finally:
                    os.close(lock)


def _places() -> Iterator[Path]:
    """This process's group, and those above it as far as they can be seen."""
    own = next((line[3:] for line in _lines("/proc/self/cgroup") if line.startswith("0::/")), None)
    mounts = (line.split() for line in _lines("/proc/self/mountinfo"))
    found = next((Path(words[4]) for words in mounts if words[words.index("-") + 1] == "cgroup2" and words[3] == "/"), None)
    if own is None or found is None or "/.." in own:
        return
    place = found / own[1:]
    # Below a group of a grading that was killed: it is cleared, and this process with it taken back, before it is looked at.
    for above in (place, *place.parents):
        if above.name.startswith(_NAME):
            place = above.parent
            _clear(place)
    while place.is_relative_to(found):
        yield place
        place = place.parent


def _lines(path: str) -> list[str]:
    return _text(Path(path)).splitlines()


def find() -> Groups | None:
    """Groups for runs, where this process may make them; close() removes them."""
    for place in _places():
        if all(name in _words(place / "cgroup.controllers") for name in _CONTROLLERS) and os.access(place, os.W_OK):
            for _ in range(2):  # another grading, which begins now, may have taken the first for a leftover
                with suppress(OSError):
                    return Groups(place)
    return None


def scope() -> list[str]:
    """What a command is written behind so that systemd hands a part of its tree over to it; empty where it does not."""
    if not shutil.which("systemd-run") or not Path("/run/systemd/system").is_dir():
        return []
    manager = [] if os.geteuid() == 0 else ["--user"]
    command = ["systemd-run", *manager, "--scope", "--quiet", "--collect", "--property=Delegate=yes", "--"]
    return command if process.quiet([*command, "true"], seconds=10)[0] == 0 else []


def enter_scope(command: Sequence[str]) -> None:
    """Becomes `command`, which does the same as this process has been started for, in a scope of systemd's, where there is one:
    of the groups that a login has, nobody may make one. Returns where there is none, or where this is in one already."""
    if os.environ.get(_IN_SCOPE) != str(os.getpid()) and (before := scope()):
        # The process stays the same one, and so does its terminal.
        os.execvpe(before[0], [*before, *command], {**os.environ, _IN_SCOPE: str(os.getpid())})
