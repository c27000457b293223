"""One ./gemm at a time where two would disturb each other in a checkout. What a killed one held is free again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from runner.core.process import say
from runner.core.results import UserError


@contextmanager
def alone(path: Path, waiting: str) -> Iterator[None]:
    """Holds the lock in this file, which is made where there is none, and stays; says `waiting` while another has it.

    It cannot be nested. A disk that knows no locks holds nobody back.
    """
    lock = FileLock(str(path))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(NotImplementedError):
            try:
                lock.acquire(timeout=0)
            except Timeout:
                say(waiting)
                lock.acquire()
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}; make its folder writable.") from error
    try:
        yield
    finally:
        lock.release()
