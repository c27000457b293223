"""One program at a time on a machine's GPU: timings of several people would disturb each other."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from runner.core.doctor import Device
from runner.core.process import say
from runner.core.results import UserError

# /tmp and not $TMPDIR, which is another folder for each user or job: two files would lock nothing.
_FOLDERS = (Path("/run/lock"), Path("/tmp"))  # noqa: S108
_NAME = "gemm-gpu.lock"


def lock_file() -> Path:
    """$GEMM_GPU_LOCK, or else one file for the machine: the first that is there or can be made."""
    if named := os.environ.get("GEMM_GPU_LOCK"):
        return Path(named).absolute()
    for folder in _FOLDERS:
        if (folder / _NAME).exists() or os.access(folder, os.W_OK | os.X_OK):
            return folder / _NAME
    return _FOLDERS[-1] / _NAME


def _opened(path: Path) -> int:
    """A descriptor of the file, which is made where there is none. Raises OSError.

    It may be another user's. To lock it takes no more than reading, and Linux refuses O_CREAT on others' files in a folder
    such as /tmp (fs.protected_regular), so that it is made only where it is not there.
    """
    reading = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe that someone put there must not hold us
    try:
        return os.open(path, reading)
    except FileNotFoundError:
        pass
    try:
        descriptor = os.open(path, reading | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:  # another made it meanwhile
        return os.open(path, reading)
    os.fchmod(descriptor, 0o666)  # whatever the umask says
    return descriptor


@contextmanager
def alone(device: Device) -> Iterator[None]:
    """While a program runs on the GPU: waits until no other ./gemm of this machine does. On the CPU device it does nothing.

    It cannot be nested. Raises UserError where the lock's file is of no use.
    """
    if device.kind != "cuda":
        yield
        return
    path = lock_file()
    try:
        descriptor = _opened(path)
    except OSError as error:
        raise UserError(
            f"{path}, which keeps timings on one GPU apart, cannot be opened: {error.strerror}; make it readable for all, or set "
            "GEMM_GPU_LOCK to another file."
        ) from error
    try:
        try:  # by hand: filelock opens the file to write, which another user's cannot be
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Waiting for the GPU: another ./gemm is timing on it.")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
