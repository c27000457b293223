"""Hostile submissions (hostile.py), as whoever runs the tests and, where that is root, as an ordinary user, too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import hostile
import psutil
import pytest
from conftest import ordinary_python

from runner.core.results import ROOT

SCRIPT = Path(__file__).with_name("hostile.py")
MARKER = "gemm-hostile-marker"
# Outside they work, whoever runs the tests: it is the sandbox that holds them. They leave nothing behind.
HARMLESS = (
    "looks into /proc/1/status", "sees other processes", "finds the secret in its environment", "sets the times of its output",
    "locks what it is given", "shares memory", "keeps memory without a process", "clones", "runs a program beside",
    "runs a shell", "has a pair of sockets", "has long pipes", "reads a file that others have, 0",
)  # fmt: skip
SPINS = ("spins", "spins in threads", "hears no signal", "sleeps")
LATE = ("it did not end within 1 s", "it computed for more than 1 s")  # whichever is first
MUCH = ("it took more than 512 MiB of memory",)
WROTE = ("it wrote more than 1 MiB",)
ENDED = {
    **dict.fromkeys(SPINS, LATE), "waits for its input": ("",), "takes and gives back": MUCH,
    "takes without its first thread": MUCH, "has page tables": MUCH, "speaks without end": WROTE, "complains without end": WROTE,
}  # fmt: skip
# Runs them all in the sandbox that grade has, by the runner's own means, and prints what came of it.
DRIVER = """
import json, os, sys, tempfile
from contextlib import closing
from pathlib import Path
from runner.grading import sandbox
from runner.grading.sandbox import Limits
script, marker, place, late, *names = sys.argv[1:]
made, inside = {}, f"/in/hostile-{os.getpid()}.py"  # a name by which its processes are known
with closing(sandbox.find(False, [Path(place).parent, Path("/usr/share/doc")])) as box:
    for arguments in ([marker, f"{place}:/usr/share/doc/{marker}"], *([name] for name in names)):
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:
            seconds = 1 if arguments[0] in late.split(":") else 60
            limits = Limits(seconds, memory=512 << 20, reserved=1 << 44, file=1 << 20, processes=20)
            command, given = ["/usr/bin/python3", inside, *arguments], {Path(script): Path(inside)}
            how = box.run(command, Path(tempfile.gettempdir()), given, output, messages, limits, forks=False)
            output.seek(0)
            said = output.read(1 << 18).decode(errors="replace")
            made[arguments[0]] = [how.status, how.broken, how.lost, said if arguments[0] == marker else ""]
print(json.dumps([inside, made]))
"""


@pytest.fixture(params=["whoever runs the tests", "an ordinary user"])
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, box: object) -> dict[str, list]:
    """What came of each, by name; of the attempts by `MARKER`."""
    before: list[str] = [sys.executable]
    if request.param == "an ordinary user":
        before = ordinary_python()
    place = tmp_path_factory.mktemp("others") / MARKER
    place.write_text(MARKER)
    environment = {**os.environ, "X": MARKER, "HOME": "/", "TMPDIR": "/tmp", "PYTHONDONTWRITEBYTECODE": "1"}  # noqa: S108
    command = [*before, "-c", DRIVER, SCRIPT, MARKER, place, ":".join(SPINS), *ENDED]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    inside, made = json.loads(done.stdout)
    left = [one.info["cmdline"] for one in psutil.process_iter(["cmdline"])]
    assert [command for command in left if command and inside in command] == []
    return made


def test_all_are_held(found: dict[str, list]) -> None:
    status, broken, _, said = found[MARKER]
    assert (status, broken) == (0, "")
    made = json.loads(said)
    assert set(made) == set(hostile.attempts(MARKER, ["", ""])) and len(made) > 100
    assert [name for name, came in made.items() if came == "through"] == []
    for name, limits in ENDED.items():
        status, broken, lost, _ = found[name]
        assert (broken in limits, lost) == (True, False), (name, status, broken)


def test_what_is_harmless_works_outside(tmp_path: Path) -> None:
    place = tmp_path / "others"
    place.write_text(MARKER)
    command = [sys.executable, SCRIPT, MARKER, f"{place}:{place}", *HARMLESS]
    done = subprocess.run(command, env={**os.environ, "X": MARKER}, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == dict.fromkeys(HARMLESS, "through")
