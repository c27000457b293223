"""The lesson list, and results files: names, hashes, reading, checking, writing. Nothing else of the repository is needed."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from runner.core.reports import Results

ROOT = Path(__file__).resolve().parent.parent.parent
SCHEMA = 2  # of results
RECORDED_SCHEMA = 1  # of what is recorded beside them: profile, ceilings, autotune
PUBLISHED = "h200"  # the GPU whose results README.md and the lessons show

_RUN_KEYS = {"lesson", "variant", "m", "n", "k", "alpha", "beta", "error_over_bound"}
_TIMED_KEYS = {"ms_median", "ms_p10", "ms_p90", "tflops", "baseline", "baseline_ms_median", "ratio"}


class UserError(Exception):
    """What the user can act on: one sentence saying what is wrong and what to do. `status` is the exit status."""

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.status = status
        self.lines: Sequence[str] = ()  # what a compiler said, where it was one that ended


class _Listed(NamedTuple):
    """What a lesson's line in CMakeLists.txt says."""

    folder: str
    architecture: str | None  # that it is for alone
    installed: bool  # programs of one's own get it
    formerly: tuple[str, ...]  # names that it had


def _listed(root: Path) -> dict[str, _Listed]:
    """The lessons in course order: from the lines `gemm_lesson(NAME [FOLDER] [INSTALLED] [ARCHITECTURES SM]
    [FORMERLY NAME...])` of CMakeLists.txt."""
    try:
        text = (root / "CMakeLists.txt").read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"{root} has no readable CMakeLists.txt, which lists the lessons; clone the repository again.") from error
    found = {}
    for line in re.findall(r"^[ \t]*gemm_lesson\(\s*([0-9][^)]*)", text, re.MULTILINE):
        words: dict[str, list[str]] = {"": []}
        key = ""
        for word in line.split():
            if word in ("INSTALLED", "ARCHITECTURES", "FORMERLY"):
                key = word
                words[key] = []
            else:
                words[key].append(word)
        name, *folder = words[""]
        architectures = words.get("ARCHITECTURES", [])
        found[name] = _Listed(
            folder[0] if folder else name,
            architectures[0] if architectures else None,
            "INSTALLED" in words,
            tuple(words.get("FORMERLY", [])),
        )
    return found


class Key(NamedTuple):
    """What a result is of. Two results with one key are the same thing measured twice."""

    lesson: str
    variant: str  # "fp32", "bf16.nt"
    m: int
    n: int
    k: int
    batch: int  # how many problems: 1 where the result says nothing
    groups: tuple[tuple[int, int, int], ...] = ()  # M, N, K of each, where they differ; m, n and k are then the largest

    @property
    def shape(self) -> str:
        """`4096×4096×4096`: M×N×K, and in front of it how many there are of it, unless it is one: `64 · 1024×1024×1024`. Of
        groups, how many and the largest sizes: `64 groups · 1024×1024×1024`."""
        many = f"{self.batch} groups · " if self.groups else f"{self.batch} · " if self.batch != 1 else ""
        return f"{many}{self.m}×{self.n}×{self.k}"

    @property
    def flop(self) -> int:
        problems = self.groups or ((self.m, self.n, self.k),) * self.batch
        return sum(2 * m * n * k for m, n, k in problems)

    @property
    def square(self) -> int | None:
        """The size of one problem with M = N = K; None of all others."""
        return self.m if self.m == self.n == self.k and self.batch == 1 and not self.groups else None


def key_of(result: Mapping) -> Key:
    """The key of a run, or of what failed."""
    groups = tuple((m, n, k) for m, n, k in result.get("groups", ()))
    return Key(result["lesson"], result["variant"], result["m"], result["n"], result["k"], result.get("batch", 1), groups)


def is_charted(results: Mapping, key: Key) -> bool:
    """Whether this is with the lesson's first variant, which is what charts and tables show of it; so is a lesson of which the
    results say no variants."""
    described = results.get("lessons", {}).get(key.lesson)
    return described is None or described["variants"][0]["text"] == key.variant


def rows_of(keys: Iterable[Key]) -> dict[tuple[str, str], str]:
    """What a table calls the row of each lesson and variant, in order: the lesson, and its variant where it has several."""
    pairs = list(dict.fromkeys((key.lesson, key.variant) for key in keys))
    names = [lesson for lesson, _ in pairs]
    return {(lesson, variant): lesson if names.count(lesson) == 1 else f"{lesson} {variant}" for lesson, variant in pairs}


def lessons(root: Path = ROOT) -> list[str]:
    """The lessons in course order."""
    return list(_listed(root))


def folder_of(lesson: str, root: Path = ROOT) -> str:
    """Where a lesson's files are, below `root`: `03_smem`, or `09_tensorcore/a_wmma` for the step 09a_wmma."""
    listed = _listed(root).get(lesson)
    return listed.folder if listed else lesson


def only_architecture(lesson: str, root: Path = ROOT) -> str | None:
    """`90a`, of a lesson that runs on that architecture alone; None of all others."""
    listed = _listed(root).get(lesson)
    return listed.architecture if listed else None


def installed(root: Path = ROOT) -> list[str]:
    """The lessons that programs of one's own get, in course order. Of those that multiply the same types on a GPU, the last one
    is the fastest."""
    return [name for name, listed in _listed(root).items() if listed.installed]


def former_names(root: Path = ROOT) -> dict[str, str]:
    """The lesson of each name that no lesson has any more: what learners wrote, and others' links, have these."""
    return {name: lesson for lesson, listed in _listed(root).items() for name in listed.formerly}


def former_folder(name: str, root: Path = ROOT) -> str:
    """Where the files of a lesson were while it had this name: of a step, beside where they are now."""
    number, _, words = name.partition("_")
    letter = number.lstrip("0123456789")
    above = PurePosixPath(folder_of(former_names(root)[name], root)).parent
    return str(above / f"{letter}_{words}") if letter else name


def gpu_slug(name: str) -> str:
    """`NVIDIA H200` -> `h200`: the name of a device's results file."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower().replace("nvidia ", "")).strip("-")


def _again(path: Path) -> str:
    """What helps where a results file is of no use, for a sentence."""
    if path.parts[-3:-1] != ("plots", "results"):
        return "measure again with ./gemm chart"
    kept = "/".join(path.parts[-3:])  # `./gemm chart` alone never writes here
    return f"bring back the committed one with git checkout {kept}, or measure again with ./gemm chart --record on that GPU"


def check(results: object, where: str, again: str = "measure again with ./gemm chart") -> Results:
    """`results` if it is an object of schema SCHEMA; otherwise raises a UserError: `where`, what, `again`."""
    if not isinstance(results, dict):
        raise UserError(f"{where} is not a results file: it holds no JSON object; {again}.")
    if (found := results.get("schema")) != SCHEMA:
        raise UserError(f"{where} has results schema {found!r}, but this version reads schema {SCHEMA}; {again}.")
    runs, device = results.get("runs"), results.get("device")
    if not isinstance(runs, list) or not isinstance(device, dict) or not {"name", "kind"} <= device.keys():
        raise UserError(f"{where} lacks its runs or its device; {again}.")
    for run in runs:
        missing = _RUN_KEYS - run.keys() if isinstance(run, dict) else _RUN_KEYS
        if not missing and "ms_median" in run:
            missing = _TIMED_KEYS - run.keys()
        if missing:
            raise UserError(f"{where} has a run without {', '.join(sorted(missing))}; {again}.")
    return cast("Results", results)


def _read(path: Path, again: str) -> object:
    """The JSON in `path`. Raises a UserError where it is of no use; `again` helps."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise UserError(f"{path} is not valid JSON ({error}); {again}.") from error


def load(path: Path) -> Results:
    """Reads and checks a results file."""
    if not path.exists():
        raise UserError(f"There are no results in {path}; measure with ./gemm chart.")
    return check(_read(path, _again(path)), str(path), _again(path))


def recorded(path: Path, keys: Iterable[str], command: str) -> dict | None:
    """What `command` wrote beside the results, with these keys; None where there is no such file."""
    if not path.exists():
        return None
    again = f"record it again with {command}"
    found = _read(path, again)
    if not isinstance(found, dict) or found.get("schema") != RECORDED_SCHEMA:
        raise UserError(f"{path} is not of schema {RECORDED_SCHEMA}, which this version reads; {again}.")
    if missing := [key for key in keys if key not in found]:
        raise UserError(f"{path} lacks its {', '.join(missing)}; {again}.")
    return found


def of_version(found: object, program: str, schema: int) -> dict:
    """The object that one of this project's programs wrote, if this version reads it; a UserError otherwise."""
    here = found.get("schema") if isinstance(found, dict) else None
    if not isinstance(found, dict) or here != schema:
        raise UserError(f"{program} wrote schema {here!r}, but this version reads schema {schema}; build it again.")
    return found


def parsed(text: str, program: str, schema: int) -> dict:
    """The same of its text."""
    try:
        return of_version(json.loads(text), program, schema)
    except ValueError as error:
        raise UserError(f"{program} wrote no valid JSON ({error}); build it again.") from error


def writable_folder(path: Path) -> None:
    """Makes the folder where there is none; a UserError unless files can be written there."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            pass
    except FileExistsError as error:
        raise UserError(f"{path} must be a folder, and is something else; move it away.") from error
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}; free space or make the folder writable.") from error


def write_atomically(path: Path, content: str | bytes, mode: int = 0o666) -> None:
    """Writes through a temporary file beside `path` and a rename: whatever happens, `path` is the old file or the new one.

    `mode`: who may read and write the new one, less the umask; nobody else could at any time.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.unlink(missing_ok=True)
        temporary.touch(mode, exist_ok=False)
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
        temporary.replace(path)
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror}; free space or make the folder writable.") from error
    finally:
        temporary.unlink(missing_ok=True)
