"""The CPU device, the tracer and the verifier do nothing that C++ leaves undefined: their tests, built with AddressSanitizer and
UBSan. Kernels that are wrong on purpose are; what the tracer compiles has its own hooks instead."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import REPOSITORY, whole_families

FOLDER = REPOSITORY / "build" / "sanitized"
# The lessons' and other programs' tests take most of the time and call the same code; so do these groups.
PROGRAMS = ("gemm_tests", "gemm_trace_tests")
LEFT_OUT = "_NOT_BUILT$|^(cases|bench|kernels)$"
WRONG_ON_PURPOSE = re.compile(r"_?faults\.cu:\d+")


def run(*command: str | Path, **environment: str) -> str:
    done = subprocess.run(
        command, cwd=REPOSITORY, env={**os.environ, **environment}, capture_output=True, text=True, errors="replace", check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-20_000:]
    return done.stdout


@pytest.mark.long
@pytest.mark.skipif(not whole_families(), reason="builds the CPU device anew: whole families alone")
def test_nothing_that_is_undefined_happens() -> None:
    run("cmake", "--preset", "sanitized", "-G", "Ninja")
    run("cmake", "--build", FOLDER, "--target", *PROGRAMS)
    # Fibers that a crash has left keep their stacks' memory, which is no leak of ours.
    ctest = ("ctest", "--test-dir", FOLDER, "--verbose", "--exclude-regex", LEFT_OUT, "--parallel", str(os.cpu_count()))
    said = run(*ctest, ASAN_OPTIONS="detect_leaks=0", UBSAN_OPTIONS="print_stacktrace=1", GEMM_TEST_ALL="0")
    errors = [line for line in said.splitlines() if "runtime error: " in line and not WRONG_ON_PURPOSE.search(line)]
    assert not errors, "\n".join(errors)
    assert "runtime error: " in said  # those on purpose: so it would be seen
