"""`./gemm test`: ctest and pytest, one sum."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

from runner.core import doctor, process
from runner.core.build import build
from runner.core.process import say, say_all
from runner.core.results import ROOT, UserError

# A failed test's line is none of progress: it heads that test's output, which is shown.
_CTEST = process.matcher(r"^\s*(?P<done>\d+)/(?P<total>\d+) Test\s+#\d+: (?P<what>.*?) \.\.(?!.*\*\*\*(?!Skipped))")
_PYTEST = process.matcher(r"^(?P<what>\S+::.*?) .*\[\s*(?P<done>\d+)%\]$")


def _count(junit: Path) -> dict[str, int]:
    """Tests of a JUnit file, by outcome; ctest and pytest both write one."""
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    try:
        cases = list(ElementTree.parse(junit).iter("testcase"))
    except (OSError, ElementTree.ParseError):
        return counts
    for case in cases:
        bad = case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail"
        idle = case.find("skipped") is not None or case.get("status") in ("notrun", "disabled")
        counts["failed" if bad else "skipped" if idle else "passed"] += 1
    return counts


def _run(command: process.Command, title: str, parse: process.Parser, junit: Path) -> dict[str, int]:
    done = process.stream(command, title, parse, whole=True)
    counts = _count(junit)
    if done.status and not counts["failed"]:  # it ended without a verdict: that is a failure, too
        what = process.crash(done.status)
        say(f"{title} {f'was ended by {what}' if what else f'ended with status {done.status}'} and names no failed test.")
        counts["failed"] = 1
    if counts["failed"]:
        say_all([line for line in done.lines if not re.match(r"\s+Start\s+\d+: ", line)])
    return counts


def test(as_json: bool) -> int:
    """Exit status: 0 all passed, 1 some failed or none ran."""
    device = doctor.choose()
    tools = doctor.provide(device)
    python = doctor.provide_pytest()
    if why := doctor.provide_bubblewrap():
        say(f"The tests of ./gemm grade's sandbox are left out, since bubblewrap is missing; {why}.")
    folder = build(device, tools)
    ctest = tools.cmake.with_name("ctest")
    if not ctest.exists():
        raise UserError(f"{ctest} is missing, which comes with CMake; install CMake again.")
    parts: dict[str, dict[str, int]] = {}
    with tempfile.TemporaryDirectory(prefix="gemm-") as temporary:
        junit = Path(temporary) / "ctest.xml"
        command = [ctest, "--test-dir", folder, "-j", str(process.cores()), "--output-on-failure", "--output-junit", junit]
        parts["ctest"] = _run(command, f"ctest ({device.kind})", _CTEST, junit)
        tests = ROOT / "tests" / "python"
        if tests.is_dir():
            junit = Path(temporary) / "pytest.xml"
            command = [python, "-m", "pytest", tests, "-v", "--color=no", f"--junitxml={junit}"]
            parts["pytest"] = _run(command, "pytest", _PYTEST, junit)
    passed, failed, skipped = (sum(part[key] for part in parts.values()) for key in ("passed", "failed", "skipped"))
    if as_json:
        print(json.dumps({"device": device.kind, "passed": passed, "failed": failed, "skipped": skipped, **parts}))
    else:
        for name, part in parts.items():
            print(f"{name}: {part['passed']} passed, {part['failed']} failed, {part['skipped']} skipped")
        print(f"{passed} passed, {failed} failed", flush=True)
    if not passed + failed:
        say("gemm: No test ran; look at tests/ and at the build's messages.")
    sys.stdout.flush()
    return 0 if passed and not failed else 1
