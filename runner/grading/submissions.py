"""What learners handed in: one folder or zip each. Nothing is unpacked or followed; only files that are asked for are read."""

from __future__ import annotations

import io
import os
import re
import stat
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from runner.core.results import UserError
from runner.grading.grading import LARGEST, printable
from runner.learn.exercise import Task

_MOST = 20_000  # names in a submission
_LONGEST = 1024  # characters of a name in it, its folders among them
_DEEPEST = 8  # folders above a file
_LARGEST_ZIP = 64 << 20
_RIGHT = "who grades needs the right to read it"
_ENTRY = b"PK\1\2"  # what each name in a zip begins with


class Refused(Exception):
    """A submission or a file of it that is not graded; the message says why."""


@dataclass(frozen=True)
class Submission:
    """One learner's. `path` is a folder, a zip, or something else that was left there."""

    learner: str  # the folder's name, or the zip's without .zip; unique among all
    path: Path

    def read(self, task: Task) -> tuple[str, bytes] | None:
        """What the file is called in it, and its bytes; None where it is not there. Raises Refused."""
        files = self._files()
        name = _chosen(task, files.names)
        if name is not None:
            return printable(name), files.read(name)
        if inner := next((name for name in files.names if name.lower().endswith(".zip")), None):
            raise Refused(f"{printable(inner)} is a zip inside of it, and is not opened; unpack it, and zip everything once.")
        return None

    def _files(self) -> _Folder | _Zip:
        try:
            mode = self.path.lstat().st_mode
            if stat.S_ISDIR(mode):
                return _Folder(self.path)
            if stat.S_ISREG(mode) and self.path.suffix.lower() == ".zip":
                return _Zip(self.path)
        except OSError as error:
            raise Refused(f"It cannot be read: {error.strerror}; {_RIGHT}.") from error
        raise Refused("It is neither a folder nor a zip; hand in one of the two.")


def _rank(task: Task, name: str) -> int | None:
    """0 for exercises/03_smem/exercise.cu below any folder, 1 for 03_smem/exercise.cu, as it used to be, and for
    exercise_03.cu anywhere; None for what is another file."""
    parts = PurePosixPath(name.replace("\\", "/")).parts  # as old zippers of Windows write it: read() says what is wrong
    if parts[-3:] == task.file.relative_to(task.root).parts:
        return 0
    former, short = task.former.relative_to(task.root).parts, task.file.parts[-2:]
    flat = f"{task.file.stem}_{task.number}.cu"
    return 1 if parts[-len(former) :] == former or parts[-2:] == short or parts[-1] == flat else None


def _chosen(task: Task, names: Sequence[str]) -> str | None:
    """The best of the files for the task: by rank, the one nearest to the top, of several there the first."""
    ranked = [(rank, name.count("/"), name) for name in names if (rank := _rank(task, name)) is not None]
    return min(ranked)[2] if ranked else None


class _Folder:
    def __init__(self, path: Path) -> None:
        self._path, self._seen = path, 0
        self.names = list(self._walk(path, "", _DEEPEST))

    def _walk(self, path: Path, above: str, deeper: int) -> Iterator[str]:
        """Names of files, links among them: who hands in a link is told so."""
        try:
            for entry in os.scandir(path):
                self._seen += 1
                if self._seen > _MOST:
                    raise Refused(f"It has more than {_MOST} files; hand in the folder exercises alone.")
                if entry.name in (".git", "build", ".venv"):
                    continue
                if not entry.is_dir(follow_symlinks=False):
                    yield above + entry.name
                elif deeper:
                    yield from self._walk(Path(entry.path), f"{above}{entry.name}/", deeper - 1)
        except OSError as error:
            raise Refused(f"It cannot be read: {error.strerror}.") from error

    def read(self, name: str) -> bytes:
        # Every folder on the way is opened as what it is: a link in its place, put there meanwhile, is not followed.
        opened = []
        try:
            at = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY)
            opened.append(at)
            *folders, last = name.split("/")
            for folder in folders:
                at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
                opened.append(at)
            if not stat.S_ISREG(os.stat(last, dir_fd=at, follow_symlinks=False).st_mode):
                raise Refused(f"{printable(name)} is not an ordinary file.")
            at = os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)
            opened.append(at)
            with os.fdopen(os.dup(at), "rb") as file:
                return _small(name, file.read(LARGEST + 1))
        except OSError as error:
            raise Refused(f"{printable(name)} cannot be read: {error.strerror}; {_RIGHT}.") from error
        finally:
            for descriptor in opened:
                os.close(descriptor)


class _Zip:
    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            raw = file.read(_LARGEST_ZIP + 1)
        if len(raw) > _LARGEST_ZIP:
            raise Refused(f"The zip is larger than {_LARGEST_ZIP >> 20} MiB; zip the folder exercises alone.")
        if raw.count(_ENTRY) > _MOST:  # before they are read: each takes much more memory than in the zip
            raise Refused(f"The zip has more than {_MOST} files; zip the folder exercises alone.")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(raw))
        except Exception as error:  # noqa: BLE001  (what zipfile raises is written down nowhere)
            raise Refused("It is no zip that can be read; zip the folder anew.") from error
        entries = self._zip.infolist()
        self._entries = {entry.filename: entry for entry in entries if not entry.is_dir()}
        # A Mac's zips hold a shadow of every file there.
        self.names = [name for name in self._entries if not name.startswith("__MACOSX/")]
        if any(len(name) > _LONGEST for name in self.names):
            raise Refused(f"The zip has a name of more than {_LONGEST} characters; zip the folder exercises alone.")

    def read(self, name: str) -> bytes:
        entry, shown = self._entries[name], printable(name)
        parts = PurePosixPath(name).parts
        if name.startswith("/") or ".." in parts or re.match(r"[A-Za-z]:", name) or "\\" in name:
            raise Refused(f"{shown} names a place outside of the zip.")
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind not in (0, stat.S_IFREG):
            raise Refused(f"{shown} is not an ordinary file.")
        if entry.flag_bits & 1:
            raise Refused(f"{shown} is encrypted; zip it without a password.")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):  # the others are unpacked by blocks of any size
            raise Refused(f"{shown} is packed by another method than an ordinary zip's.")
        try:
            with self._zip.open(entry) as file:
                return _small(name, file.read(LARGEST + 1))
        except Refused:
            raise
        except Exception as error:  # noqa: BLE001
            raise Refused(f"{shown} cannot be read from the zip; zip the folder anew.") from error


def _small(name: str, raw: bytes) -> bytes:
    if len(raw) > LARGEST:
        raise Refused(f"{printable(name)} is larger than {LARGEST >> 10} KiB.")
    return raw


def _is_left_over(path: Path) -> bool:
    """Whether it is what systems and programs leave in folders: no learner's."""
    if path.name in ("__MACOSX", ".git") or path.name.startswith("._"):
        return True
    return path.name.startswith(".") and path.suffix.lower() != ".zip" and not path.is_dir()


def find(folder: Path) -> list[Submission]:
    """Everything in the folder, by name, but for what systems leave there. A UserError where it is no folder or is empty."""
    try:
        names = sorted(path.name for path in folder.iterdir() if not _is_left_over(path))
    except OSError as error:
        raise UserError(f"{folder} cannot be read: {error.strerror}; name the folder with the submissions.") from error
    if not names:
        raise UserError(f"{folder} is empty; it should hold a folder or a zip for each learner.")
    learners: dict[str, str] = {}
    taken: set[str] = set()
    # Names that are shown as they are come first: nobody gets another's by handing in what looks the same.
    for name in sorted(names, key=lambda name: printable(name) != name):
        whole = printable(name)
        short = whole[:-4] if name.lower().endswith(".zip") else whole
        others = (f"{whole} ({n})" for n in range(2, len(names) + 2))
        learners[name] = next(candidate for candidate in (short, whole, *others) if candidate not in taken)
        taken.add(learners[name])
    return [Submission(learners[name], folder / name) for name in names]
