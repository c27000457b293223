"""The numbers of the system calls that the sandbox refuses, on every machine that it knows, whichever this is."""

from __future__ import annotations

import ctypes
import ctypes.util
import re
from pathlib import Path

import pytest

from runner.grading.sandbox import _REFUSED

NAMES = (
    "clone", "clone3", "memfd_create", "memfd_secret", "shmget", "io_uring_setup", "unshare", "setns", "bpf", "perf_event_open",
    "userfaultfd", "ptrace",
)  # fmt: skip
# The kernel's headers; those of a machine of another kind lie beside them at most.
HEADERS = {
    "x86_64": ("x86_64-linux-gnu/asm/unistd_64.h", "asm/unistd_64.h"),
    "aarch64": ("asm-generic/unistd.h",),
}


def numbers_of_libseccomp(architecture: int) -> dict[str, int] | None:
    """libseccomp knows the numbers of every machine; apt needs it, so every Debian has it."""
    path = ctypes.util.find_library("seccomp")
    if path is None:
        return None
    resolve = ctypes.CDLL(path).seccomp_syscall_resolve_name_arch
    resolve.argtypes = [ctypes.c_uint32, ctypes.c_char_p]
    return {name: resolve(architecture, name.encode()) for name in NAMES}


def numbers_of_header(machine: str) -> dict[str, int] | None:
    for name in HEADERS[machine]:
        path = Path("/usr/include", name)
        if path.exists():
            found = dict(re.findall(r"^#define\s+__NR_(\w+)\s+(\d+)$", path.read_text(), re.MULTILINE))
            return {name: int(found[name]) for name in NAMES}
    return None


@pytest.mark.parametrize("machine", sorted(_REFUSED))
def test_refused_calls_have_the_numbers_of_the_machine(machine: str) -> None:
    architecture, clone, clone3, others = _REFUSED[machine]
    refused = dict(zip(NAMES, (clone, clone3, *others), strict=True))
    known = [numbers for numbers in (numbers_of_libseccomp(architecture), numbers_of_header(machine)) if numbers]
    assert known, "neither libseccomp nor the kernel's headers are here; install libseccomp2 or linux-libc-dev"
    assert all(numbers == refused for numbers in known)
