"""Starts of the runner for tests, which wait for no import of other people's packages: a process that has imported them forks.

Each start is a process of its own, with the copy of the runner, the arguments, the folder, the environment and the output that it
is given, and ends as `python -m runner` does. What depends on how Python itself begins (a locale, PYTHONUNBUFFERED), and tests of
signals and terminals, begin the runner as a person does.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent.parent
# What a start may differ in from the process that forks; other variables with these names are read as Python begins.
_READ_LATER = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
_READ_AT_ONCE = ("PYTHON", "LC_", "LANG", "MALLOC", "LD_")
_MOST = 1 << 18  # bytes of a request


def _read_at_once(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith(_READ_AT_ONCE) and name not in _READ_LATER}


class Warm:
    """The process that forks; it ends with this one."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = {name: value for name, value in os.environ.items() if name not in _READ_LATER}
        self._begun_with = _read_at_once(environment)
        with theirs:
            # Pipes, as the children have: Python's streams are made once, and are other ones for a file or a terminal.
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())], env=environment, pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip

    def can(self, environment: Mapping[str, str]) -> bool:
        """Whether a start in this environment is the same as one by `python -m runner`."""
        return _read_at_once(environment) == self._begun_with

    def run(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float, typed: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """As subprocess.run() of `python -m runner` with these arguments, its output captured. `typed`: its standard input."""
        pipes = [os.pipe() for _ in range(3)]  # stdout, stderr, and what becomes of it
        request = json.dumps([list(arguments), str(folder), dict(environment)])
        try:
            with tempfile.TemporaryFile() as given:
                given.write(typed.encode())
                given.seek(0)
                socket.send_fds(self._socket, [request.encode()], [given.fileno(), *(write for _, write in pipes)])
        finally:
            for _, write in pipes:
                os.close(write)
        out, err, told = _read_all([read for read, _ in pipes], time.monotonic() + seconds, arguments)
        status = int(told.split()[1])  # behind its number
        return subprocess.CompletedProcess(list(arguments), status, _text(out), _text(err))


def _text(raw: bytes) -> str:
    """As subprocess has it of text."""
    return raw.decode().replace("\r\n", "\n").replace("\r", "\n")


def _read_all(pipes: Sequence[int], deadline: float, arguments: Sequence[str]) -> list[bytes]:
    """What comes from each of them until its end. The process whose number is in the last one is ended at the deadline."""
    held = dict.fromkeys(pipes, b"")
    with selectors.DefaultSelector() as selector:
        for pipe in pipes:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            ready = selector.select(max(deadline - time.monotonic(), 0))
            if not ready:
                if number := held[pipes[-1]].split():
                    os.kill(int(number[0]), signal.SIGKILL)
                raise subprocess.TimeoutExpired(list(arguments), 0)
            for key, _ in ready:
                if piece := os.read(key.fd, 1 << 16):
                    held[key.fd] += piece
                else:
                    selector.unregister(key.fd)
                    os.close(key.fd)
    return list(held.values())


# The process that forks


def _import_everything() -> None:
    """What the runner imports is here from now on; not the runner, of which each start has a copy of its own."""
    sys.path.insert(0, str(REPOSITORY))
    import runner

    for room in pkgutil.walk_packages(runner.__path__, "runner."):
        if not room.name.endswith("__main__"):
            importlib.import_module(room.name)
    for name in [name for name in sys.modules if name.partition(".")[0] == "runner"]:
        del sys.modules[name]
    sys.path.remove(str(REPOSITORY))
    # What is here stays, in every child: to look through it for garbage is half of what a start takes.
    gc.collect()
    gc.freeze()


def _next(asked: socket.socket) -> tuple[list, list[int]]:
    """Forks for every request. Returns in the children alone, with theirs."""
    while True:
        request, files, _, _ = socket.recv_fds(asked, _MOST, 4)
        if not request:
            sys.exit()
        if os.fork() == 0:
            asked.close()
            return json.loads(request), files
        for file in files:
            os.close(file)


def _watched(told: int, others: Sequence[int]) -> None:
    """Forks again, and returns in the child alone. The parent tells the child's number and how it ends."""
    child = os.fork()
    if not child:
        os.close(told)
        return
    for number in (0, 1, 2, *others):
        os.close(number)
    os.write(told, f"{child} ".encode())
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.write(told, str(status).encode())
    os._exit(0)


def main() -> None:
    """Waits for requests; becomes the runner in its children."""
    asked = socket.socket(fileno=int(sys.argv[1]))
    del sys.path[0]  # this file's folder
    _import_everything()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children
    (arguments, folder, environment), (*files, told) = _next(asked)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _watched(told, files)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None
    sys.dont_write_bytecode = bool(environment.get("PYTHONDONTWRITEBYTECODE"))
    sys.path[:0] = [folder, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv = ["-m", *arguments]
    runpy.run_module("runner", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
