"""What a hostile submission tries, by the system's own Python, inside the sandbox and with what that has: nothing is imported.

`hostile.py MARKER PLACES` makes all attempts that leave it alive, or those that are named after it, and prints what came of each
as JSON: "through", or what held it. MARKER is a secret in the environment of who started the sandbox, and in files of theirs at
PLACES, which colons separate. `hostile.py NAME` makes one of those that only a limit ends.
"""

# ruff: noqa: PTH100, PTH101, PTH108, PTH110, PTH113, PTH120, PTH123, PTH208  (system calls are what it is about)
from __future__ import annotations

import ctypes
import fcntl
import json
import mmap
import os
import platform
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable

MiB = 1 << 20
ANONYMOUS, PRIVATE, SHARED, HUGE, FIXED_SIZE = 0x20, 0x02, 0x01, 0x40000, 0x01
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
X86 = platform.machine() == "x86_64"


def libc_call(name: str, *arguments: object) -> bool:
    """Whether libc's function succeeds. Raises OSError."""
    ctypes.set_errno(0)
    if (done := getattr(libc, name)(*arguments)) in (-1, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return done is not None


def call(x86: int, arm: int, *arguments: object) -> bool:
    """The same of a system call that libc has no function for."""
    numbers = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return libc_call("syscall", ctypes.c_long(x86 if X86 else arm), *numbers)


def opens(path: str, flags: int = os.O_RDONLY) -> bool:
    os.close(os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666))
    return True


def writes(path: str) -> bool:
    return opens(path, os.O_WRONLY | (0 if os.path.exists(path) else os.O_CREAT))


def told(path: str, word: bytes) -> bool:
    with open(path, "rb") as file:
        return word in file.read(16 * MiB)


def lists(path: str) -> bool:
    return bool(os.listdir(path))


def mapped(flags: int) -> int:
    return libc.mmap(None, MiB, 3, flags, -1, 0)


def maps(flags: int, descriptor: int = -1) -> bool:
    return libc_call("mmap", None, 64 * MiB, 3, flags, descriptor, 0)


def fills(folder: str, most: int) -> bool:
    """Whether more can be written there than its limit."""
    written, names = 0, [f"{folder}/{n}" for n in range(80)]
    try:
        for name in names:
            with open(name, "wb", buffering=0) as file:
                for _ in range(16):
                    written += file.write(bytes(MiB))
    except OSError:
        pass
    for name in names:
        if os.path.exists(name):
            os.unlink(name)
    return written > most


def allocates(descriptor: int, most: int) -> bool:
    return libc_call("fallocate", descriptor, FIXED_SIZE, ctypes.c_long(0), ctypes.c_long(most))


def allocates_in(folder: str, most: int) -> bool:
    with open(f"{folder}/reserved", "wb") as file:
        try:
            return allocates(file.fileno(), most)
        finally:
            os.unlink(file.name)


def locks(path: str, command: int, kind: int) -> bool:
    with open(path, "rb") as file:
        lock = kind.to_bytes(2, "little") + bytes(30)
        fcntl.fcntl(file, command, lock)
        return True


def raises_limit(what: int) -> bool:
    resource.setrlimit(what, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return True


def joins(kind: str) -> bool:
    descriptor = os.open(f"/proc/1/ns/{kind}", os.O_RDONLY)
    return call(308, 268, descriptor, 0)


def connects(family: int, address: object) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.connect(address)  # type: ignore[arg-type]
    return True


def forks(x86: int) -> bool:
    """By the call with this number."""
    if not X86:
        raise OSError("no such call here")
    return child(x86)


def child(number: int, *arguments: int) -> bool:
    """Whether there is one by that system call. It ends at once."""
    own = os.getpid()
    there = call(number, number, *arguments)
    if os.getpid() != own:
        os._exit(0)
    return there


def begins(most: int) -> bool:
    """Whether that many threads are let begin. Those that have begun wait, and end with the program."""
    for _ in range(most):
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    return True


def others() -> bool:
    """Whether other processes can be looked at."""
    numbers = {name for name in os.listdir("/proc") if name.isdigit()} - {str(os.getpid())}
    return any(os.path.exists(f"/proc/{number}/status") for number in numbers)


def is_someone() -> bool:
    return os.getuid() == 0 or os.geteuid() == 0 or bool(os.getgroups())


def rights() -> bool:
    with open("/proc/self/status") as file:
        words = dict(line.split(":", 1) for line in file)
    return any(int(words[f"Cap{kind}"], 16) for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")) or words["NoNewPrivs"].strip() != "1"


def attempts(marker: str, places: list[str]) -> dict[str, Callable[[], bool]]:
    secret, script = marker.encode(), os.path.abspath(__file__)
    made: dict[str, Callable[[], bool]] = {}
    for folder in ("/", "/usr", "/etc", "/in", "/proc", "/dev", "/usr/lib", "/bin"):
        made[f"leaves a file in {folder}"] = lambda folder=folder: writes(f"{folder}/{marker}")
    settings = ("/proc/self/oom_score_adj", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger", "/etc/ld.so.cache")
    for path in ("/proc/1/mem", *settings):
        made[f"writes {path}"] = lambda path=path: writes(path)
    for path in ("/proc/1/mem", "/proc/1/status", "/proc/1/maps", "/proc/1/environ", "/proc/1/fd", "/proc/1/root", "/proc/1/cwd"):
        made[f"looks into {path}"] = lambda path=path: lists(path) if path[8:] in ("fd", "root", "cwd") else told(path, b"")
    for path in ("/proc/keys", "/proc/key-users", "/proc/kcore", "/dev/mem", "/dev/kmsg", "/etc/passwd", "/etc/shadow"):
        made[f"reads {path}"] = lambda path=path: told(path, b"root" if "etc" in path else b"")
    for n, place in enumerate(places):
        made[f"reads a file that others have, {n}"] = lambda place=place: told(place, secret)
        made[f"lists where it is, {n}"] = lambda place=place: marker in " ".join(os.listdir(os.path.dirname(place)))
    made |= {
        "finds the secret in its environment": lambda: marker in "".join(os.environ.values()),
        "sees other processes": others,
        "is somebody here": is_someone,
        "has rights": rights,
        # What others on this machine see, too.
        "sets the times of /dev/null": lambda: os.utime("/dev/null") is None,
        "sets the times of its input": lambda: os.utime(0) is None,
        "sets the times of its output": lambda: os.utime(1) is None,
        "changes who may use /dev/null": lambda: os.chmod("/dev/null", 0) is None,
        "locks a program": lambda: fcntl.flock(os.open("/usr/bin/env", os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB) is None,
        "locks a part of a program": lambda: locks("/usr/bin/env", fcntl.F_SETLK, fcntl.F_RDLCK),
        "locks it for its descriptor": lambda: locks("/usr/bin/env", 37, fcntl.F_RDLCK),
        "has a lease of a program": lambda: fcntl.fcntl(os.open("/usr/bin/env", os.O_RDONLY), 1024, fcntl.F_RDLCK) == 0,
        "is told of changes to a folder": lambda: fcntl.fcntl(os.open("/usr", os.O_RDONLY), 1026, 1) == 0,
        "locks what it is given": lambda: locks(script, fcntl.F_SETLK, fcntl.F_RDLCK),
        "changes what it is given": lambda: opens(script, os.O_RDWR),
        "removes what it is given": lambda: os.unlink(script) is None,
        "makes room on the disk by its output": lambda: allocates(1, 1 << 30),
        "makes its output long": lambda: os.ftruncate(1, 1 << 40) is None,
        "opens its output anew": lambda: os.path.isfile(os.path.realpath("/proc/self/fd/1")),
        "opens the terminal": lambda: opens("/dev/tty", os.O_RDWR),
        "types for others": lambda: fcntl.ioctl(0, 0x5412, b"x") == 0,
        "makes a device": lambda: os.mknod("/tmp/disk", 0o60666, os.makedev(8, 0)) is None,
        "has a file of another's": lambda: os.link("/usr/bin/env", "/tmp/env") is None,
        "gives a file away": lambda: os.chown(script, 0, 0) is None,
        "sets an attribute": lambda: os.setxattr("/tmp", "user.x", b"x") is None,
        # Memory and disk.
        "shares memory": lambda: maps(SHARED | ANONYMOUS),
        "shares /dev/zero": lambda: maps(SHARED, os.open("/dev/zero", os.O_RDWR)),
        "takes large pages": lambda: maps(PRIVATE | ANONYMOUS | HUGE),
        "keeps memory without a process": lambda: os.memfd_create("x") >= 0,
        "keeps shared memory": lambda: libc_call("shmget", 0, 1 << 20, 0o1600),
        "keeps messages": lambda: libc_call("msgget", 0, 0o1600),
        "keeps semaphores": lambda: libc_call("semget", 0, 1, 0o1600),
        "locks memory": lambda: libc_call("mlock", ctypes.create_string_buffer(1 << 16), 1 << 16),
        "fills /tmp": lambda: fills("/tmp", 256 * MiB),  # noqa: S108
        "fills /dev/shm": lambda: fills("/dev/shm", MiB),  # noqa: S108
        "reserves all of /tmp": lambda: allocates_in("/tmp", 1 << 30),  # noqa: S108
        "has long pipes": lambda: fcntl.fcntl(os.pipe()[1], 1031, MiB) > 0,
        "has many descriptors": lambda: len([os.pipe() for _ in range(1000)]) == 1000,
        "rings": lambda: call(425, 425, 4, ctypes.create_string_buffer(256)),
        # Processes and their time.
        "forks": lambda: forks(57),
        "forks otherwise": lambda: forks(58),
        "clones": lambda: child(56 if X86 else 220, signal.SIGCHLD, 0, 0, 0, 0),
        "runs a program beside": lambda: os.posix_spawn("/bin/true", ["true"], {}) > 0,
        "runs a shell": lambda: os.system("true") == 0,  # noqa: S605, S607
        "has a session of its own": lambda: os.setsid() is None,
        "has a filter of its own": lambda: libc_call("prctl", 22, 2, ctypes.create_string_buffer(16)),
        "shares pages that are alike": lambda: libc_call("prctl", 67, 1, 0, 0, 0),
        "marks pages that are alike": lambda: libc_call("madvise", ctypes.c_void_p(mapped(PRIVATE | ANONYMOUS)), MiB, 12),
        "fills /tmp with names": lambda: all(opens(f"/tmp/{n}", os.O_CREAT) for n in range(1000)),  # noqa: S108
        "goes before others": lambda: os.setpriority(os.PRIO_PROCESS, 0, -10) is None,
        "goes in real time": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)) is None,  # type: ignore[call-arg]
        "raises its memory": lambda: raises_limit(resource.RLIMIT_AS),
        "raises its processes": lambda: raises_limit(resource.RLIMIT_NPROC),
        "raises its time": lambda: raises_limit(resource.RLIMIT_CPU),
        "raises its files": lambda: raises_limit(resource.RLIMIT_FSIZE),
        "lets a core be written": lambda: raises_limit(resource.RLIMIT_CORE),
        "ends who watches it": lambda: os.kill(os.getppid(), signal.SIGKILL) is None and os.getppid() != 1,
        "ends all others": lambda: os.kill(-1, signal.SIGKILL) is None,
        # More rights, and ways out.
        "becomes root": lambda: os.setuid(0) is None,
        "joins a group": lambda: os.setgid(0) is None,
        "has a namespace": lambda: libc_call("unshare", 0x10000000),
        "mounts": lambda: libc_call("mount", b"x", b"/tmp", b"tmpfs", 0, b"size=10G"),
        "mounts anew": lambda: libc_call("mount", None, b"/usr", None, 0x20, None),
        "unmounts": lambda: libc_call("umount2", b"/proc/keys", 2),
        "has another root": lambda: os.chroot("/tmp") is None,  # noqa: S108
        "traces": lambda: libc_call("ptrace", 16, 1, 0, 0),
        "reads another's memory": lambda: libc_call("process_vm_readv", 1, 0, 0, 0, 0, 0),
        "loads a program into the kernel": lambda: call(321, 280, 0, ctypes.create_string_buffer(128), 72),
        "counts the kernel's events": lambda: call(298, 241, ctypes.create_string_buffer(128), 0, -1, -1, 0),
        "handles page faults": lambda: call(323, 282, 1),
        "leaves a key": lambda: call(248, 217, b"user", b"gemm-attack", b"secret", 6, -4),
        "reads the login's keys": lambda: call(250, 219, 6, -3, ctypes.create_string_buffer(256), 256),
        # The network.
        "connects": lambda: connects(socket.AF_INET, ("127.0.0.1", 22)),
        "connects by IPv6": lambda: connects(socket.AF_INET6, ("::1", 22)),
        "connects to a name": lambda: connects(socket.AF_UNIX, "\0dbus"),
        "connects to the host": lambda: connects(40, (2, 1024)),
        "has a pair of sockets": lambda: bool(socket.socketpair()),
        "asks the kernel's network": lambda: bool(socket.socket(16, socket.SOCK_RAW, 0)),
    }
    for kind in ("mnt", "net", "pid", "user", "ipc"):
        made[f"joins another {kind} namespace"] = lambda kind=kind: joins(kind)
    made["begins a thousand threads"] = lambda: begins(1000)
    return made


def spins() -> None:
    while True:
        pass


def spins_in_threads() -> None:
    """In this language one at a time; the others wait."""
    for _ in range(8):
        threading.Thread(target=spins).start()


def does_not_hear() -> None:
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_IGN)
    spins()


def takes_and_gives_back() -> None:
    """Much memory, for a moment."""
    held = mmap.mmap(-1, 700 * MiB, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    for at in range(0, 700 * MiB, 4096):
        held[at] = 1
    held.close()
    time.sleep(600)


def takes_without_its_first_thread() -> None:
    """Much memory, when the thread has ended that the process is known by."""

    def takes() -> None:
        time.sleep(0.2)
        held = mmap.mmap(-1, 700 * MiB, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        for at in range(0, 700 * MiB, 4096):
            held[at] = 1
        time.sleep(600)

    threading.Thread(target=takes).start()
    libc.syscall(ctypes.c_long(60 if X86 else 93), ctypes.c_long(0))


def tables() -> None:
    """A page table for every byte that is read, and no page of its own."""
    held = mmap.mmap(-1, 1 << 40, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, mmap.PROT_READ)
    for at in range(0, 1 << 40, 1 << 21):
        held[at]
    time.sleep(600)


def speaks(descriptor: int) -> None:
    while True:
        os.write(descriptor, bytes(MiB))


ENDED: dict[str, Callable[[], None]] = {
    "spins": spins,
    "spins in threads": spins_in_threads,
    "hears no signal": does_not_hear,
    "sleeps": lambda: time.sleep(600),
    "waits for its input": lambda: time.sleep(600 if os.read(0, 1) else 0),
    "takes and gives back": takes_and_gives_back,
    "takes without its first thread": takes_without_its_first_thread,
    "has page tables": tables,
    "speaks without end": lambda: speaks(1),
    "complains without end": lambda: speaks(2),
}


def main() -> None:
    if sys.argv[1] in ENDED:
        ENDED[sys.argv[1]]()
        return
    found, chosen = {}, sys.argv[3:]
    for name, attempt in attempts(sys.argv[1], sys.argv[2].split(":")).items():
        if chosen and name not in chosen:
            continue
        try:
            found[name] = "through" if attempt() else "nothing was there"
        except OSError as error:
            found[name] = error.strerror or str(error)
        except (AttributeError, RuntimeError, ValueError) as error:  # no such function here; a thread that may not begin
            found[name] = f"{type(error).__name__}: {error}"
    os.write(1, json.dumps(found).encode())
    os._exit(0)


if __name__ == "__main__":
    main()
