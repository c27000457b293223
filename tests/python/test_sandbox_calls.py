"""System calls in the sandbox: what the filter says of every number on each machine. hostile.py has what is tried in it."""

from __future__ import annotations

import errno
import os
import platform
import signal
import struct
import tempfile
from pathlib import Path

import pytest

from runner.core.results import UserError
from runner.grading import calls, sandbox
from runner.grading.sandbox import Limits, Sandbox

MACHINES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # AUDIT_ARCH_… (linux/audit.h)
ALLOW, KILL, FAIL = 0x7FFF0000, 0x80000000, 0x00050000 | errno.ENOSYS  # SECCOMP_RET_… (linux/seccomp.h)
X32 = 1 << 30
# By kind. Everything else that is not on the list is refused, too; these are what a hostile submission asks for.
REFUSED = {
    "the kernel's keys, which outlive a run": ("add_key", "keyctl", "request_key"),
    "sockets": ("socket", "socketpair", "bind", "connect", "listen", "accept4", "sendto", "sendmsg", "recvmsg"),
    "memory that is in no process": (
        "memfd_create", "memfd_secret", "shmget", "msgget", "semget", "mq_open", "io_uring_setup", "io_setup", "eventfd2",
        "epoll_create1", "inotify_init1", "fanotify_init", "timer_create", "vmsplice", "mlock",
    ),
    "more rights": (
        "unshare", "setns", "clone3", "mount", "umount2", "pivot_root", "chroot", "fsopen", "open_tree", "move_mount",
        "personality", "seccomp", "open_by_handle_at", "mknodat", "chown" , "fchownat",
    ),
    "files that others have, too": ("flock", "utime", "utimes", "utimensat", "futimesat"),
    "a session of its own, with a share of the processors": ("setsid",),
    "a look into the kernel or at others": (
        "bpf", "perf_event_open", "userfaultfd", "ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_open",
        "pidfd_getfd", "syslog", "init_module", "finit_module", "kexec_load", "reboot", "swapon", "quotactl", "move_pages",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def numbers() -> dict[str, dict[str, int]]:
    """Of every call that is named here, by machine; negative where the machine has none."""
    try:
        library = calls.binding()
    except UserError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    names = {name for names in (*calls.ALLOWED.values(), *REFUSED.values()) for name in names if calls._known(library, name)}
    names |= {"clone", "fcntl", "fork", "ioctl", "madvise", "mmap", "prctl", "vfork"}
    return {
        machine: {name: library.resolve_syscall(getattr(library.Arch, machine.upper()), name) for name in names}
        for machine in MACHINES
    }


def verdict(program: bytes, architecture: int, number: int, *arguments: int) -> int:
    """What the kernel does at this call: a machine for what libseccomp makes (linux/filter.h)."""
    data = struct.pack("<IIQ6Q", number, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    code = list(struct.iter_unpack("<HBBI", program))
    at, held = 0, 0
    while True:
        what, yes, no, value = code[at]
        at += 1
        if what == 0x06:
            return value
        if what == 0x20:
            (held,) = struct.unpack_from("<I", data, value)
        elif what == 0x54:
            held &= value
        elif what == 0x05:
            at += value
        else:
            holds = {0x15: held == value, 0x25: held > value, 0x35: held >= value, 0x45: bool(held & value)}[what]
            at += yes if holds else no


@pytest.mark.parametrize("forks", [False, True])
@pytest.mark.parametrize("machine", MACHINES)
def test_every_call_is_on_the_list_or_unknown(machine: str, forks: bool, numbers: dict[str, dict[str, int]]) -> None:
    program, architecture = calls.program(forks, machine), MACHINES[machine]
    listed = {numbers[machine][name] for names in calls.ALLOWED.values() for name in names if name in numbers[machine]}
    zeros = ("fcntl", "madvise", "mmap", *(("clone", "fork", "vfork") if forks else ()))  # are arguments that are taken
    listed |= {numbers[machine][name] for name in zeros}
    for number in range(700):
        expected = ALLOW if number in listed else FAIL
        assert verdict(program, architecture, number) == expected, number
        # As 32-bit code calls it, whose numbers are others.
        for other in (0x40000003, 0x40000028):
            assert verdict(program, other, number) == KILL
        if machine == "x86_64":
            assert verdict(program, architecture, X32 | number) == KILL
    for kind, names in REFUSED.items():
        known = {name: numbers[machine][name] for name in names if name in numbers[machine]}
        assert len(known) >= len(names) - 3, kind
        assert all(verdict(program, architecture, number) == FAIL for number in known.values() if number >= 0), kind


@pytest.mark.parametrize("machine", MACHINES)
def test_flags_and_requests_are_looked_at(machine: str, numbers: dict[str, dict[str, int]]) -> None:
    program, architecture, own = calls.program(machine=machine), MACHINES[machine], numbers[machine]
    alone = calls.program(False, machine)
    thread, child = 0x3D0F00, signal.SIGCHLD  # as libc starts them
    for flags in (thread, child, child | 0x4100):
        assert verdict(program, architecture, own["clone"], flags) == ALLOW
        assert verdict(alone, architecture, own["clone"], flags) == (ALLOW if flags == thread else FAIL)
    for flags, expected in ((0x22, ALLOW), (0x02, ALLOW), (0x21, FAIL), (0x03, FAIL), (0x40022, FAIL)):  # of mappings
        assert verdict(program, architecture, own["mmap"], 0, 4096, 3, flags) == expected
    for option, expected in ((38, ALLOW), (15, ALLOW), (4, FAIL), (22, FAIL), (67, FAIL)):
        assert verdict(program, architecture, own["prctl"], option) == expected
    for advice, expected in ((4, ALLOW), (14, ALLOW), (12, FAIL), (100, FAIL)):
        assert verdict(program, architecture, own["madvise"], 0, 4096, advice) == expected
    for command, expected in ((1, ALLOW), (1030, ALLOW), (6, FAIL), (7, FAIL), (37, FAIL), (1024, FAIL), (1031, FAIL)):
        assert verdict(program, architecture, own["fcntl"], 0, command) == expected
    for namespace in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert verdict(program, architecture, own["clone"], child | namespace) == FAIL
    for request, expected in ((0x5401, ALLOW), (0x541B, ALLOW), (0x5412, FAIL), (0x541C, FAIL), (0x8B01, FAIL)):
        assert verdict(program, architecture, own["ioctl"], 0, request) == expected
        assert verdict(program, architecture, own["ioctl"], 0, request | 1 << 32) == expected  # the kernel takes 32 bits


# mmap a page, put `mov eax, 20; int 0x80; ret` there (getpid, as 32-bit code asks), and go there.
THIRTY_TWO = r"""
import ctypes, mmap
page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, 7)
page.write(b"\xb8\x14\0\0\0\xcd\x80\xc3")
ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
"""
X32_CALL = "import ctypes; ctypes.CDLL(None).syscall(ctypes.c_long(0x40000000 | 39))"


def inside(box: Sandbox, code: str, *arguments: str) -> tuple[sandbox.Ended, str]:
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:
        how = box.run(["/usr/bin/python3", "-c", code, *arguments], Path("/"), {}, output, messages, Limits(seconds=30))
        output.seek(0)
        return how, output.read().decode()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="only x86-64 has calls of other kinds")
def test_calls_of_another_kind_end_the_process(box: Sandbox) -> None:
    for code in (THIRTY_TWO, X32_CALL):
        how, _ = inside(box, code)
        # Where the kernel knows no 32-bit code, its instruction is none.
        assert how.status in (-signal.SIGSYS, *([-signal.SIGSEGV] if code is THIRTY_TWO else [])), code
