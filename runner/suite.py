"""`./gemm test`: ctest and pytest, one sum."""

from __future__ import annotations

import json
import os
import re
import secrets
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from runner.core import doctor, git, gpu_only, lesson, process
from runner.core.build import build
from runner.core.kernel_hash import kernel_sources
from runner.core.process import say, say_all
from runner.core.results import ROOT, UserError, folder_of, lessons

# What the tests of both kinds read: whether whole families run, the seed of what is drawn from them otherwise, the lesson that
# alone is drawn, and the names of lessons and files whose cases are drawn first.
ALL, SEED, LESSON, FIRST = "GEMM_TEST_ALL", "GEMM_TEST_SEED", "GEMM_TEST_LESSON", "GEMM_TEST_FIRST"
_SLOWEST = 10
_OF_LESSONS = "gemm_lesson_tests"  # the program whose tests are a lesson's; what pytest needs it builds itself
# A failed test's line is none of progress: it heads that test's output, which is shown.
_CTEST = process.matcher(r"^\s*(?P<done>\d+)/(?P<total>\d+) Test\s+#\d+: (?P<what>.*?) \.\.(?!.*\*\*\*(?!Skipped))")
_SERIAL = process.matcher(r"^(?P<what>\S+::.*?) .*\[\s*(?P<done>\d+)%\]$")
_PARALLEL = process.matcher(r"^\[gw\d+\] \[\s*(?P<done>\d+)%\] \w+ (?P<what>\S+::.*)$")
# Of a failed run's output, what says no more than that a test began.
_BEGUN = re.compile(r"\s+Start\s+\d+: |\S+\.py::\S")


@dataclass
class _Part:
    """What ctest or pytest came to."""

    counts: dict[str, int] = field(default_factory=lambda: {"passed": 0, "failed": 0, "skipped": 0})
    tests: list[tuple[float, str]] = field(default_factory=list)  # seconds, name
    seconds: float = 0.0


def _read(junit: Path) -> _Part:
    """The tests of a JUnit file, by outcome and with their times; ctest and pytest both write one."""
    part = _Part()
    try:
        cases = list(ElementTree.parse(junit).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return part
    for case in cases:
        bad = case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail"
        idle = case.find("skipped") is not None or case.get("status") in ("notrun", "disabled")
        part.counts["failed" if bad else "skipped" if idle else "passed"] += 1
        file = case.get("classname", "").rpartition(".")[2]  # ctest repeats the name there
        name = case.get("name", "")
        part.tests.append((float(case.get("time") or 0), f"{file}.py::{name}" if file.startswith("test_") else name))
    return part


def _pytest(line: str) -> tuple[int, int, str] | None:
    return _SERIAL(line) or _PARALLEL(line)


def _run(command: process.Command, title: str, parse: process.Parser, junit: Path) -> _Part:
    begin = time.monotonic()
    done = process.stream(command, title, parse, whole=True)
    part = _read(junit)
    part.seconds = time.monotonic() - begin
    if done.status and not part.counts["failed"]:  # it ended without a verdict: that is a failure, too
        what = process.crash(done.status)
        say(f"{title} {f'was ended by {what}' if what else f'ended with status {done.status}'} and names no failed test.")
        part.counts["failed"] = 1
    if part.counts["failed"]:
        say_all([line for line in done.lines if not _BEGUN.match(line)])
    return part


def _asked(everything: bool, seed: str | None) -> tuple[bool, int]:
    """Whether whole families run, and the seed: of the options, or else of the environment, where both kinds of tests, which are
    also run without us, look for them."""
    given = os.environ.get(SEED, "")
    if seed is not None:
        number = int(lesson.whole("--seed", seed))
    else:
        number = int(lesson.whole(SEED, given)) if given else secrets.randbelow(10**9)
    wanted = os.environ.get(ALL, "")
    if wanted not in ("", "0", "1"):
        raise UserError(f"{ALL} must be 0 or 1, not {wanted!r}.")
    return everything or wanted == "1", number


def lessons_of(changed: Iterable[str], root: Path = ROOT) -> list[str]:
    """Those whose tests may come out otherwise since these files changed, from `root`: what lies in a lesson's folder is its own,
    a header that of the lessons whose kernel reads it. None where all are: then none is to be preferred."""
    files = {(root / name).resolve() for name in changed}
    found = []
    for name in lessons(root):
        folder = (root / folder_of(name, root)).resolve()
        read = kernel_sources(folder / "kernel.cu") if (folder / "kernel.cu").exists() else []
        if files & {*read, *(path.with_suffix(".cpp") for path in read)} or any(folder in file.parents for file in files):
            found.append(name)
    return found if len(found) < len(lessons(root)) else []


def first_of(changed: Sequence[str]) -> list[str]:
    """What GEMM_TEST_FIRST has of these files: lessons, kernels and files of tests."""
    return [*lessons_of(changed), *(name for name in changed if re.search(r"\.cu$|\btest_\w+\.py$", name))]


def _tell(parts: dict[str, _Part], build_seconds: float, again: str) -> None:
    """What took longest, and what the parts came to."""
    slowest = sorted(((seconds, kind, name) for kind, part in parts.items() for seconds, name in part.tests), reverse=True)
    print(f"The slowest {_SLOWEST}, in seconds:")
    for seconds, kind, name in slowest[:_SLOWEST]:
        print(f"{seconds:7.1f}  {kind}  {name}")
    walls = {"build": build_seconds, **{kind: part.seconds for kind, part in parts.items()}}
    print(f"Took: {', '.join(f'{name} {seconds:.0f} s' for name, seconds in walls.items())}.")
    print(again)
    for kind, part in parts.items():
        print(f"{kind}: {', '.join(f'{count} {outcome}' for outcome, count in part.counts.items())}")


def test(everything: bool, only: str | None, seed: str | None, as_json: bool) -> int:
    """`only`: a lesson, as people name it, whose tests alone run. Exit status: 0 all passed, 1 some failed or none ran."""
    everything, number = _asked(everything, seed)
    only = lesson.find(only) if only else None
    os.environ.update({ALL: str(int(everything)), SEED: str(number)})
    if only:
        os.environ[LESSON] = only
    options = (" --all" if everything else "") + (f" --lesson {only}" if only else "")
    again = f"Seed {number}: repeat with ./gemm test{options} --seed {number}"
    device = doctor.choose()
    tools = doctor.provide(device)
    python, parallel = doctor.provide_pytest()
    if why := doctor.provide_bubblewrap():
        say(f"The tests of ./gemm grade's sandbox are left out, since bubblewrap is missing; {why}.")
    elif why := doctor.provide_seccomp():
        say(f"The tests of ./gemm grade's sandbox are left out, since libseccomp for Python is missing; {why}.")
    say(again)
    first = [] if everything or only else first_of(git.changed_files())
    os.environ[FIRST] = ",".join(first)
    if first:
        say(f"Drawn first, since they changed: {', '.join(first)}.")
    begin = time.monotonic()
    folder = build(device, tools, [_OF_LESSONS] if only else [])
    build_seconds = time.monotonic() - begin
    ctest = tools.cmake.with_name("ctest")
    if not ctest.exists():
        raise UserError(f"{ctest} is missing, which comes with CMake; install CMake again.")
    parts: dict[str, _Part] = {}
    cores = str(process.cores())
    with tempfile.TemporaryDirectory(prefix="gemm-", ignore_cleanup_errors=True) as temporary:
        junit = Path(temporary) / "ctest.xml"
        command: list[str | Path] = [ctest, "--test-dir", folder, "-j", cores, "--output-on-failure", "--output-junit", junit]
        command += ["-R", f"^{only}(/|$)"] if only else []
        parts["ctest"] = _run(command, f"ctest ({device.kind})", _CTEST, junit)
        tests = ROOT / "tests" / "python"
        if tests.is_dir():
            junit = Path(temporary) / "pytest.xml"
            command = [python, "-m", "pytest", tests, "-v", "--color=no", f"--junitxml={junit}"]
            # A folder of our own: one that all runs share is closed to other users whenever another pytest begins.
            command.append(f"--basetemp={temporary}/pytest")
            command += ["-k", only] if only else []
            # Many tests wait for something: twice as many as there are cores keep these busy, but no more than eight beside them.
            workers = process.cores() + min(process.cores(), 8)
            command += ["-n", str(workers), "--dist=loadgroup"] if parallel else []
            parts["pytest"] = _run(command, "pytest", _pytest, junit)
    passed, failed, skipped = (sum(part.counts[key] for part in parts.values()) for key in ("passed", "failed", "skipped"))
    if as_json:
        counts = {kind: {**part.counts, "seconds": round(part.seconds, 1)} for kind, part in parts.items()}
        head = {
            "device": device.kind,
            "all": everything,
            "seed": number,
            "first": first,
            "build": {"seconds": round(build_seconds, 1)},
        }
        print(json.dumps({**head, "passed": passed, "failed": failed, "skipped": skipped, **counts}))
    else:
        _tell(parts, build_seconds, again)
        if not only and (uncovered := gpu_only.told(folder)):
            print(uncovered)
        print(f"{passed} passed, {failed} failed", flush=True)
    if not passed + failed:
        say("gemm: No test ran; look at tests/ and at the build's messages.")
    sys.stdout.flush()
    return 0 if passed and not failed else 1
