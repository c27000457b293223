"""Which system calls code in the sandbox may make: a list of what a compiler, a linker and a program with threads need.

A kernel's programs have threads and start no processes: the list for them is shorter.

libseccomp makes the kernel's program of it (a filter in BPF). Whatever is not on the list, what future kernels bring among it,
is answered as by a kernel that has no such call, which libraries know how to do without.
"""

from __future__ import annotations

import ctypes
import errno
import importlib
import platform
import tempfile
from contextlib import suppress
from functools import cache
from typing import Any

from runner.core.results import UserError

# What is on the list, by what it is for. Names that a machine does not have (aarch64 has but openat) are skipped there.
ALLOWED = {
    "reading and writing files": (
        "access", "close", "close_range", "copy_file_range", "creat", "dup", "dup2", "dup3", "faccessat", "faccessat2",
        "fadvise64", "fallocate", "fdatasync", "fstat", "fstatfs", "fsync", "ftruncate", "getdents",
        "getdents64", "lseek", "lstat", "newfstatat", "open", "openat", "pipe", "pipe2", "poll", "ppoll", "pread64", "preadv",
        "pselect6", "pwrite64", "pwritev", "read", "readlink", "readlinkat", "readv", "select", "sendfile", "stat", "statfs",
        "statx", "truncate", "write", "writev",
    ),
    "names of files": (
        "chdir", "chmod", "fchdir", "fchmod", "fchmodat", "fchmodat2", "getcwd", "link", "linkat", "mkdir", "mkdirat",
        "rename", "renameat", "renameat2", "rmdir", "symlink", "symlinkat", "umask", "unlink", "unlinkat",
    ),
    "its own memory": (
        "brk", "mprotect", "mremap", "msync", "munmap",
    ),
    "processes and threads": (
        "arch_prctl", "execve", "exit", "exit_group", "futex", "get_robust_list", "getcpu", "getpgid", "getpgrp",
        "getpid", "getppid", "getpriority", "getrlimit", "getrusage", "getsid", "gettid", "kill", "prlimit64",
        "restart_syscall", "rseq", "sched_get_priority_max", "sched_get_priority_min", "sched_getaffinity", "sched_getparam",
        "sched_getscheduler", "sched_setaffinity", "sched_yield", "set_robust_list", "set_tid_address", "setpgid",
        "setrlimit", "tgkill", "tkill", "wait4", "waitid",
    ),
    "signals": (
        "alarm", "getitimer", "pause", "rt_sigaction", "rt_sigpending", "rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend",
        "rt_sigtimedwait", "setitimer", "sigaltstack",
    ),
    "time": (
        "clock_getres", "clock_gettime", "clock_nanosleep", "gettimeofday", "nanosleep", "time", "times",
    ),
    "what it is and where it runs": (
        "getegid", "geteuid", "getgid", "getgroups", "getrandom", "getresgid", "getresuid", "getuid", "sysinfo", "uname",
    ),
    # setpriv takes root's rights away before the code begins; who has none can win nothing by these.
    "giving up rights": (
        "capget", "capset", "setgid", "setgroups", "setresgid", "setresuid", "setuid",
    ),
}  # fmt: skip

# Threads and processes, but none in a namespace of its own, where the code would be root and could mount more memory:
# CLONE_NEWNS, …NEWCGROUP, …NEWUTS, …NEWIPC, …NEWUSER, …NEWPID, …NEWNET (linux/sched.h). A filter cannot see clone3's flags;
# libc takes clone where clone3 is unknown.
_NAMESPACES = 0x0002_0000 | 0x0200_0000 | 0x0400_0000 | 0x0800_0000 | 0x1000_0000 | 0x2000_0000 | 0x4000_0000
_THREAD = 0x0001_0000  # CLONE_THREAD
# Of a mapping: MAP_SHARED and MAP_HUGETLB (asm-generic/mman-common.h, mman.h). Memory of these is in no process's account once it
# is let go of, and goes on taking room.
_UNCOUNTED = 0x01 | 0x0004_0000
# Of fcntl: F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC (asm-generic/fcntl.h). Locks, leases and notices are of a
# file's, which all on this machine see.
_OF_DESCRIPTORS = (0, 1, 2, 3, 4, 1030)
# Of prctl: PR_SET_KEEPCAPS, PR_SET_NAME, PR_GET_NAME, PR_CAPBSET_READ, PR_CAPBSET_DROP, PR_GET_SECUREBITS, PR_SET_SECUREBITS,
# PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, PR_CAP_AMBIENT (linux/prctl.h): what setpriv asks for, and threads' names. Not filters
# of its own, which can write to the kernel's log, nor memory that others share.
_OF_ITSELF = (8, 15, 16, 23, 24, 27, 28, 38, 39, 47)
# Of madvise: MADV_NORMAL, …RANDOM, …SEQUENTIAL, …WILLNEED, …DONTNEED, …FREE, …HUGEPAGE, …NOHUGEPAGE, …GUARD_INSTALL and
# …GUARD_REMOVE (asm-generic/mman-common.h).
_OF_PAGES = (0, 1, 2, 3, 4, 8, 14, 15, 102, 103)
_JOIN_SESSION_KEYRING = 1  # linux/keyctl.h
# Of a file: what libraries ask to learn whether it is a terminal, and how much of a pipe can be read; its flags.
# TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX (asm-generic/ioctls.h).
_REQUESTS = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)


def binding() -> Any:  # noqa: ANN401  (it has no types)
    """libseccomp's: Debian's python3-seccomp, or PyPI's pyseccomp, which has the same names. Raises UserError."""
    why = "it is not installed"
    for name in ("seccomp", "pyseccomp"):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        except (ImportError, RuntimeError, OSError) as error:  # the binding is there, and the library is not
            why = str(error).rstrip(".")
    raise UserError(f"libseccomp cannot be used ({why}); install Debian's libseccomp2 and python3-seccomp.")


@cache
def program(forks: bool = True, machine: str = "") -> bytes:
    """The filter as the kernel takes it, for this machine or for another (`x86_64`, `aarch64`). Raises UserError.

    `forks`: whether processes may be started, beside threads."""
    library = binding()
    made = library.SyscallFilter(defaction=library.ERRNO(errno.ENOSYS))
    # Calls of another kind than the machine's own (32 bits, x32) have other numbers: they end the process.
    made.set_attr(library.Attr.ACT_BADARCH, library.KILL_PROCESS)
    if machine and machine != platform.machine():
        made.add_arch(getattr(library.Arch, machine.upper()))
    for name in (name for names in ALLOWED.values() for name in names):
        if _known(library, name):
            made.add_rule(library.ALLOW, name)
    for name in ("fork", "vfork"):
        if forks and _known(library, name):
            made.add_rule(library.ALLOW, name)
    kept, are = (_NAMESPACES, 0) if forks else (_NAMESPACES | _THREAD, _THREAD)
    made.add_rule(library.ALLOW, "clone", library.Arg(0, library.MASKED_EQ, kept, are))
    made.add_rule(library.ALLOW, "mmap", library.Arg(3, library.MASKED_EQ, _UNCOUNTED, 0))
    for name, place, values in (("fcntl", 1, _OF_DESCRIPTORS), ("prctl", 0, _OF_ITSELF), ("madvise", 2, _OF_PAGES)):
        for value in values:
            made.add_rule(library.ALLOW, name, library.Arg(place, library.MASKED_EQ, 0xFFFF_FFFF, value))
    for request in _REQUESTS:
        made.add_rule(library.ALLOW, "ioctl", library.Arg(1, library.MASKED_EQ, 0xFFFF_FFFF, request))
    if machine and machine != platform.machine():
        made.remove_arch(getattr(library.Arch, platform.machine().upper()))
    with tempfile.TemporaryFile() as file:
        made.export_bpf(file)
        file.seek(0)
        return file.read()


def leave_keyring() -> None:
    """Gives this thread, and what it starts from here on, a session keyring of their own: those of a login are named in /proc."""
    with suppress(UserError):
        library = binding()
        ctypes.CDLL(None).syscall(library.resolve_syscall(library.Arch.NATIVE, "keyctl"), _JOIN_SESSION_KEYRING, None)


def _known(library: Any, name: str) -> bool:  # noqa: ANN401
    """Whether this libseccomp is new enough for the name."""
    try:
        return library.resolve_syscall(library.Arch.NATIVE, name) != -1
    except (OSError, ValueError, RuntimeError):
        return False
