"""What a learner has done: which tasks passed, which hints were shown, the best quiz of each lesson. Kept in .progress.json:

    {"schema": 1,
     "tasks": {"03_smem/exercise": {"passed": "2026-11-20T14:03:00", "sha256": "…", "hints": 2, "helped": 1,
                                    "code": "…", "versions": 1, "over_lesson": 0.97, "gpu": "NVIDIA H200"}},
     "quizzes": {"03_smem": {"right": 4, "of": 5, "date": "2026-11-20T14:10:00", "seed": 7}},
     "achievements": {"first_kernel": "2026-11-20T14:03:00", "unaided": null},
     "standing": {"points": 42, …}}

Dates are local time. `sha256` is of the text that passed, its lines ended by \\n; `code` the same without comments and spaces,
and `versions` how often it was another one than before. `helped`: hints that were shown before it first passed. `over_lesson`:
how many times as fast as the lesson's own kernel it was, at best, on `gpu`. An achievement without a date was earned before
such were written down. `standing` is what all that comes to (achievements.py), for the page that shows it. All but schema, tasks
and quizzes may be missing: older versions wrote less.

Every change is made under a lock and written at once; keys that are not known here are kept. Nothing but the standard library
is needed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from runner.core import lock
from runner.core.kernel_hash import code_of
from runner.core.results import ROOT, UserError, former_names, write_atomically
from runner.learn import achievements, exercise
from runner.learn.achievements import Earned
from runner.learn.exercise import Task

NAME = ".progress.json"
SCHEMA = 1
HINTS = 3  # levels

Standing = Literal["not begun", "begun", "passed", "changed since it passed"]


@dataclass(frozen=True)
class State:
    """What .progress.json held when it was read."""

    raw: Mapping[str, Any]

    def _task(self, task: Task) -> Mapping[str, Any]:
        return self.raw["tasks"].get(task.key, {})

    def passed(self, task: Task) -> str | None:
        """When the task passed last (ISO 8601), None: never. It stays passed whatever becomes of the file."""
        return self._task(task).get("passed")

    def sha256(self, task: Task) -> str | None:
        """The digest() of the text that passed."""
        return self._task(task).get("sha256")

    def hints(self, task: Task) -> int:
        """How many of the hints were shown, 0 to 3."""
        return min(self._task(task).get("hints", 0), HINTS)

    def quiz(self, lesson: str) -> Mapping[str, Any] | None:
        """The best quiz: right, of, date, seed."""
        return self.raw["quizzes"].get(lesson)


# The file


# What a task's or a quiz's entry may hold, as far as it is read. true is no number, and whole numbers count something.
_WHOLE, _TEXT = (int,), (str,)
_TYPES = {"hints": _WHOLE, "helped": _WHOLE, "versions": _WHOLE, "right": _WHOLE, "of": _WHOLE, "over_lesson": (int, float),
          "passed": _TEXT, "sha256": _TEXT, "code": _TEXT, "gpu": _TEXT}  # fmt: skip


def _is_entry(entry: object, *needed: str) -> bool:
    if not isinstance(entry, dict) or not entry.keys() >= set(needed):
        return False
    read = [(entry[name], types) for name, types in _TYPES.items() if name in entry]
    return all(type(value) in types and not (types == _WHOLE and value < 0) for value, types in read)


def _fits(raw: object) -> bool:
    """Whether `raw` has the types that State reads."""
    if not isinstance(raw, dict) or not all(isinstance(raw.get(key), dict) for key in ("tasks", "quizzes")):
        return False
    noted = raw.get("achievements", {})
    return (
        all(map(_is_entry, raw["tasks"].values()))
        and all(_is_entry(quiz, "right", "of") for quiz in raw["quizzes"].values())
        and isinstance(noted, dict)
        and all(date is None or isinstance(date, str) for date in noted.values())
    )


def _read(root: Path) -> dict[str, Any]:
    path = root / NAME
    try:
        raw = json.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        return {"schema": SCHEMA, "tasks": {}, "quizzes": {}}
    except OSError as error:
        raise UserError(f"{path}, which keeps your progress, cannot be read: {error.strerror}; make it readable.") from error
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path}, which keeps your progress, is not valid JSON; fix it or move it away.") from error
    if isinstance(raw, dict) and raw.get("schema") != SCHEMA:
        found = raw.get("schema")
        raise UserError(f"{path} has schema {found!r}, but this version keeps progress in schema {SCHEMA}; move it away.")
    if not _fits(raw):
        raise UserError(f"{path} does not hold your progress; fix it or move it away.")
    return _with_names_of_now(raw, root)


def _with_names_of_now(raw: dict[str, Any], root: Path) -> dict[str, Any]:
    """The same, where what a lesson's entries are called by a name that it had is called by the one that it has."""
    for former, now in former_names(root).items():
        for entries in (raw["tasks"], raw["quizzes"]):
            for key in [key for key in entries if key.partition("/")[0] == former]:
                entries.setdefault(key.replace(former, now, 1), entries.pop(key))
    return raw


def load(root: Path = ROOT) -> State:
    """The learner's state; an empty one where there is no file. A UserError where the file is of no use."""
    return State(_read(root))


@contextmanager
def _changing(root: Path) -> Iterator[dict[str, Any]]:
    """The object in the file, to be changed in the block and then written; nobody else changes it meanwhile."""
    with lock.alone(root / f"{NAME}.lock", "Waiting for another ./gemm, which writes down your progress."):
        raw = _read(root)
        yield raw
        write_atomically(root / NAME, json.dumps(raw, indent=1) + "\n")


@contextmanager
def _earning(root: Path, when: datetime | None) -> Iterator[tuple[dict[str, Any], list[Earned]]]:
    """_changing(), and the achievements that the change has earned: the list is filled behind the block. Where they are not
    wanted, or what they ask of lessons cannot be read, it stays empty."""
    new: list[Earned] = []
    with _changing(root) as raw:
        before = None
        with suppress(UserError):  # a lesson's exercise.py is missing: what was done is remembered all the same
            before = achievements.standing(raw, root) if achievements.wanted() else None
        raw.pop("standing", None)
        yield raw, new
        if before:
            new += achievements.note(before, raw, _date(when), root)


def standing(root: Path = ROOT) -> achievements.Standing:
    """What the learner's file comes to. An older version's file holds it from now on, too, if it can be written."""
    raw = _read(root)
    found = achievements.standing(raw, root)
    if raw.get("standing") != found and (root / NAME).exists():
        with suppress(UserError), _changing(root) as raw:
            raw["standing"] = found = achievements.standing(raw, root)
    return found


def _date(when: datetime | None) -> str:
    return (when or datetime.now()).isoformat(timespec="seconds")


# What happens


def text_of(path: Path) -> str:
    """A source file's text, whatever its bytes and its line ends."""
    return path.read_bytes().decode("utf-8", "surrogateescape").replace("\r\n", "\n")


def digest(text: str) -> str:
    """SHA-256 of a source file's text in UTF-8, its lines ended by \\n."""
    return hashlib.sha256(text.replace("\r\n", "\n").encode("utf-8", "surrogateescape")).hexdigest()


class Speed(NamedTuple):
    """What a check on a GPU measured in one run."""

    over_lesson: float  # times as fast as the lesson's own kernel
    gpu: str


def passed(task: Task, text: str | None = None, when: datetime | None = None, speed: Speed | None = None) -> list[Earned]:
    """Remembers that the task passed with this text (None: the file's as it is now) at this time (None: now). Returns the
    achievements that it has earned."""
    text = text_of(task.file) if text is None else text
    code = digest(code_of(text))
    with _earning(task.root, when) as (raw, new):
        entry = raw["tasks"].setdefault(task.key, {})
        if "passed" not in entry:
            entry["helped"] = entry.get("hints", 0)
        if code != entry.get("code"):
            # What passed before `code` was written down may have been the same.
            entry["versions"] = entry.get("versions", 0) + 1 if "code" in entry else 1
        entry.update(passed=_date(when), sha256=digest(text), code=code)
        if speed and speed.over_lesson > entry.get("over_lesson", 0):
            entry.update(over_lesson=speed.over_lesson, gpu=speed.gpu)
    return new


def hint_shown(task: Task, level: int) -> None:
    """Remembers that the hint of this level (1 to 3), and so those before it, was shown."""
    if load(task.root).hints(task) >= level:
        return
    with _changing(task.root) as raw:
        entry = raw["tasks"].setdefault(task.key, {})
        if "passed" in entry:
            entry.setdefault("helped", entry.get("hints", 0))
        entry["hints"] = max(level, entry.get("hints", 0))


class Taken(NamedTuple):
    """What a quiz has come to."""

    best: Mapping[str, Any]  # of all so far: right, of, date, seed
    earned: list[Earned]


def quiz_taken(lesson: str, right: int, of: int, seed: int, when: datetime | None = None, root: Path = ROOT) -> Taken:
    """Remembers a quiz if it is better than the best one so far."""
    with _earning(root, when) as (raw, new):
        best = raw["quizzes"].get(lesson)
        if best is None or right * best["of"] > best["right"] * of:
            raw["quizzes"][lesson] = {**(best or {}), "right": right, "of": of, "date": _date(when), "seed": seed}
    return Taken(dict(raw["quizzes"][lesson]), new)


# What follows from it


def starter(task: Task) -> str:
    """The file as a learner gets it. A UserError where it cannot be made."""
    try:
        return task.starter()
    except (ValueError, KeyError) as error:
        kernel = f"{task.folder}/kernel.cu"
        raise UserError(f"The start of {task.title} cannot be made ({error}); git checkout {kernel} may help.") from error


def state_of(task: Task, state: State | None = None) -> Standing:
    """How the learner's file stands: against the starter, and against the text that passed."""
    try:
        text = text_of(task.file)
    except FileNotFoundError:
        return "not begun"
    state = state or load(task.root)
    if text == starter(task):
        return "not begun"
    if state.passed(task) is None:
        return "begun"
    return "passed" if digest(text) == state.sha256(task) else "changed since it passed"


def latest(state: State, root: Path = ROOT) -> Task | None:
    """The task that passed last, of several at the same time the one that comes later in the course; None: none has passed."""
    done = [(date, at, task) for at, task in enumerate(exercise.tasks(root)) if (date := state.passed(task))]
    return max(done)[2] if done else None


def following(state: State, after: Task | None = None, root: Path = ROOT) -> Task | None:
    """The next task in course order that has not passed: after this one, then from the beginning; None: there is no other."""
    order = exercise.tasks(root)
    at = order.index(after) + 1 if after else 0
    return next((task for task in order[at:] + order[:at] if task != after and state.passed(task) is None), None)
