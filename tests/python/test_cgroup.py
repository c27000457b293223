"""Control groups of the grader: what the kernel counts, and that nothing is left. Needs a system that hands over a group."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from conftest import PATIENCE

from runner.core.results import ROOT, UserError
from runner.grading import cgroup, sandbox
from runner.grading.sandbox import Limits, Sandbox

MiB = 1 << 20


def ours() -> list[str]:
    """Groups of gradings."""
    return [str(path) for place in cgroup._places() for path in cgroup._folders(place) if path.name.startswith(cgroup._NAME)]


@pytest.fixture
def counting() -> Iterator[Sandbox]:
    try:
        found = sandbox.find(False, [])
    except UserError as error:
        pytest.skip(str(error))
    with closing(found):
        if not found.counted:
            pytest.skip("this system hands over no control group")
        yield found
    assert not ours()


def ran(box: Sandbox, *command: str, limits: Limits) -> sandbox.Ended:
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:
        return box.run(list(command), Path("/"), {}, output, messages, limits)


FORKS = "import os\nfor _ in range(4): os.fork()\nx = b'x' * (20 << 20)\nimport time; time.sleep(600)"
# What waits in a pipe is in nobody's memory; each user may fill some 64 MiB of them.
PIPES = """
import os, time
for _ in range(5): os.fork()
for _ in range(100):
    end = os.pipe()[1]
    os.set_blocking(end, False)
    os.write(end, bytes(1 << 16))
time.sleep(600)
"""
# A page table for every byte that is read, and no page: it is the zero page.
TABLES = """
import mmap
held = mmap.mmap(-1, 1 << 40, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, mmap.PROT_READ)
for at in range(0, 1 << 40, 1 << 21): held[at]
"""


@pytest.mark.parametrize(
    "command",
    [
        ("/usr/bin/python3", "-c", FORKS),
        ("/usr/bin/python3", "-c", PIPES),
        ("/usr/bin/python3", "-c", TABLES),
        ("head", "-c", "300000000", "/dev/zero", ">/tmp/x"),
    ],
    ids=["all its processes", "buffers of pipes", "page tables", "a file in memory"],
)
def test_memory_ends_exactly_at_the_limit(counting: Sandbox, command: tuple[str, ...]) -> None:
    limits = Limits(seconds=300, memory=64 * MiB, reserved=1 << 44, file=512 * MiB, folder=512 * MiB)
    full = ("sh", "-c", " ".join(command)) if command[0] == "head" else command
    how = ran(counting, *full, limits=limits)
    assert (how.broken, how.doubt) == ("it took more than 64 MiB of memory", "")


def test_what_stays_below_the_limits_is_not_touched(counting: Sandbox) -> None:
    code = "x = b'x' * (60 << 20); open('/tmp/x', 'wb').write(x[: 20 << 20])"
    how = ran(counting, "/usr/bin/python3", "-c", code, limits=Limits(memory=256 * MiB))
    assert (how.status, how.broken) == (0, "")


def test_processes_are_counted(counting: Sandbox) -> None:
    code = "import os, time\nn = 0\ntry:\n    while os.fork(): n += 1\n    time.sleep(600)\nexcept OSError: os._exit(n)"
    how = ran(counting, "/usr/bin/python3", "-c", code, limits=Limits(processes=30, seconds=60))
    assert 20 <= how.status <= 30 + cgroup._OWN


WAITING = """
import sys, tempfile
from pathlib import Path
from runner.core.process import Interrupted, catch_signals
from contextlib import closing
from runner.grading import sandbox
catch_signals()
try:
    with closing(sandbox.find(False, [])) as box, tempfile.TemporaryFile() as out:
        print(box.counted, flush=True)
        box.run(["sleep", "1000"], Path("/"), {}, out, out, sandbox.Limits(seconds=600))
except Interrupted:
    pass
"""


def test_nothing_is_left_of_a_grading_that_was_interrupted_or_killed(counting: Sandbox) -> None:
    before = ours()  # that of the fixture, which is locked
    for number in (signal.SIGINT, signal.SIGKILL):
        process = subprocess.Popen([sys.executable, "-c", WAITING], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert process.stdout
        with process.stdout:
            assert process.stdout.readline() == "True\n"
        end = time.monotonic() + PATIENCE
        while not any(cgroup._folders(Path(path)) for path in ours() if path not in before):
            assert time.monotonic() < end
            time.sleep(0.02)
        [group] = [Path(path) for path in ours() if path not in before]
        process.send_signal(number)
        process.wait(PATIENCE)
        if number == signal.SIGKILL:
            assert group.exists()
            with closing(sandbox.find(False, [])):  # the next grading
                assert not group.exists()
        assert ours() == before


def test_a_group_of_our_own_is_left_as_it_was(counting: Sandbox) -> None:
    """The one that a process was given, with itself in it: it has to leave it for a while."""
    parent = next(cgroup._places())
    own = parent / "gemm-test-own"
    if os.geteuid() != 0 or (parent / "cgroup.type").exists():
        pytest.skip("only root can make one here")
    own.mkdir()
    try:
        code = f"import os; open('{own}/cgroup.procs', 'w').write(str(os.getpid()))\n" + WAITING.replace("sleep", "true")
        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
        assert done.stdout == "True\n", done.stderr
        assert not cgroup._folders(own)
        assert not cgroup._words(own / "cgroup.subtree_control")
    finally:
        own.rmdir()


def test_where_no_group_is_handed_over_there_is_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cgroup, "_places", lambda: iter([tmp_path, tmp_path / "none"]))
    assert cgroup.find() is None
    monkeypatch.setattr(cgroup, "_lines", lambda path: ["4:memory:/x", "1:name=systemd:/"])


def test_a_login_asks_systemd_for_a_scope_once(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[tuple] = []
    monkeypatch.setattr(cgroup, "scope", lambda: ["systemd-run", "--"])
    monkeypatch.setattr(os, "execvpe", lambda *arguments: begun.append(arguments))
    monkeypatch.delenv(cgroup._IN_SCOPE, raising=False)
    cgroup.enter_scope(["python3", "-m", "runner"])
    [(program, command, environment)] = begun
    assert (program, command) == ("systemd-run", ["systemd-run", "--", "python3", "-m", "runner"])
    monkeypatch.setenv(cgroup._IN_SCOPE, environment[cgroup._IN_SCOPE])
    cgroup.enter_scope(["python3", "-m", "runner"])
    monkeypatch.setattr(cgroup, "scope", list)
    monkeypatch.delenv(cgroup._IN_SCOPE)
    cgroup.enter_scope(["python3", "-m", "runner"])  # there is none, and it goes on
    assert len(begun) == 1
