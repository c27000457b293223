"""Two ./gemm at once in a checkout: one builds, the other says for whom it waits; what is killed holds nobody up."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import PATIENCE, Checkout, alive, wait_for

from runner.core import doctor, lock
from runner.core.results import ROOT, UserError

WAITING = "Waiting for another ./gemm, which builds in build/cpu."
# What a build says, and that it takes until the test allows its end.
SLOW = """
echo "begin $$" >>"$FAKES/steps"; trap 'exit 143' TERM
while [ -e "$FAKES/slow" ]; do sleep 0.1; done; echo "end $$" >>"$FAKES/steps"
"""


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def slow(checkout: Checkout) -> Checkout:
    """Configures and builds as long as $FAKES/slow is there."""
    cmake = (checkout.fakes / "bin" / "cmake").read_text().removeprefix("#!/bin/sh\n")
    for step in ("--preset)", "--build)"):
        cmake = cmake.replace(step, step + SLOW, 1)
    checkout.tool("cmake", cmake)
    checkout.program("01_naive", "exit 0\n")
    (checkout.fakes / "slow").touch()
    return checkout


def begin(checkout: Checkout, said: Path) -> subprocess.Popen[str]:
    with said.open("w") as err:
        return checkout.start("run", "01", stderr=err)


def test_two_builds_at_once_follow_each_other(slow: Checkout) -> None:
    steps = slow.fakes / "steps"
    first = begin(slow, slow.fakes / "first")
    wait_for(steps)
    second = begin(slow, slow.fakes / "second")
    until(lambda: (slow.fakes / "second").read_text().splitlines() == [WAITING])
    (slow.fakes / "slow").unlink()
    assert [process.wait(timeout=PATIENCE) for process in (first, second)] == [0, 0]
    lines = [line.split() for line in steps.read_text().splitlines()]
    assert [what for what, _ in lines] == ["begin", "end"] * 3  # it is configured once, and built twice
    assert all(lines[at][1] == lines[at + 1][1] for at in (0, 2, 4))
    assert WAITING not in (slow.fakes / "first").read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_who_builds_is_ended(slow: Checkout, number: signal.Signals) -> None:
    first = begin(slow, slow.fakes / "first")
    cmake = int(wait_for(slow.fakes / "steps").split()[1])
    second = begin(slow, slow.fakes / "second")
    until(lambda: WAITING in (slow.fakes / "second").read_text())
    first.send_signal(number)
    first.wait(timeout=PATIENCE)
    if number == signal.SIGKILL:  # which leaves the child alive
        os.kill(cmake, signal.SIGTERM)
    until(lambda: not alive(cmake))
    (slow.fakes / "slow").unlink()
    assert second.wait(timeout=PATIENCE) == 0


def test_who_waits_is_ended(slow: Checkout) -> None:
    first = begin(slow, slow.fakes / "first")
    wait_for(slow.fakes / "steps")
    second = begin(slow, slow.fakes / "second")
    until(lambda: WAITING in (slow.fakes / "second").read_text())
    second.send_signal(signal.SIGTERM)
    assert second.wait(timeout=PATIENCE) == 143
    assert (slow.fakes / "second").read_text().splitlines() == [WAITING, "Interrupted."]
    (slow.fakes / "slow").unlink()
    assert first.wait(timeout=PATIENCE) == 0


def test_the_first_build_says_so_at_once(slow: Checkout) -> None:
    shutil.rmtree(slow.root / "build")
    first = begin(slow, slow.fakes / "first")
    wait_for(slow.fakes / "steps")
    assert (slow.fakes / "first").read_text().startswith("Building for cpu for the first time")
    until(lambda: "Configuring for cpu … " in (slow.fakes / "first").read_text())
    (slow.fakes / "slow").unlink()
    assert first.wait(timeout=PATIENCE) == 0
    assert slow.run("run", "01").stderr == ""


def test_the_shells_lock_is_the_runners(tmp_path: Path) -> None:
    """./gemm takes it with flock(2), the runner with filelock."""
    path = tmp_path / "folder" / "a.lock"
    code = f"import fcntl; fcntl.flock(open({str(path)!r}, 'a'), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    with lock.alone(path, "never said"):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "BlockingIOError" in done.stderr
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_a_lock_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        pytest.raises(UserError, match=r"file/a\.lock .*\.$"),
        lock.alone(tmp_path / "file" / "a.lock", "never said"),
    ):
        pass


def test_everything_names_the_same_packages() -> None:
    script, pins = (ROOT / "gemm").read_text(), (ROOT / "requirements.txt").read_text()
    assert f"packages='{' '.join(doctor.PACKAGES)}'\n" in script
    assert f"debian='{' '.join(f'python3-{name}' for name in doctor.PACKAGES)}'\n" in script
    assert all(f"\n{name}==" in pins for name in doctor.PACKAGES)
