"""Points, level and achievements: what a .progress.json comes to.

Everything is earned by what `./gemm check`, `hint` and `quiz` wrote into .progress.json (progress.py). Which tasks there are, and
what their lessons are about, is asked of the lessons. What it comes to is counted here alone, and written into the same file as
its "standing": the page of one's progress (website/progress/) shows that.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from runner.core.descriptors import Descriptor, known
from runner.core.results import ROOT
from runner.learn import exercise
from runner.learn.exercise import Hunt, Task

FASTER = 1.05  # times as fast as the lesson's own kernel: what is less is noise
OFF = "GEMM_ACHIEVEMENTS"  # "0" in the environment: nothing is said of points, levels and achievements, and none is written down
_EXERCISE, _HUNT, _HINT, _ANSWER = 10, 10, 2, 1  # points
RULE = (
    f"Points: an exercise that passes {_EXERCISE}, a bug hunt {_HUNT}, less {_HINT} for each hint shown before; "
    f"each right answer of your best quiz {_ANSWER}."
)
# From how many points on; so many threads are a warp, a warpgroup and the blocks of many lessons.
LEVELS = {"thread": 0, "warp": 32, "warpgroup": 128, "block": 256, "grid": 400}
_HOPPER = 90  # 10 times the compute capability

# Title and what for, in the order in which they are shown: at most 20 and 46 characters, which with a date fit into 80 columns.
ACHIEVEMENTS = {
    "first_kernel": ("Right at every shape", "A kernel of yours is right at every shape."),
    "unaided": ("By yourself", "An exercise has passed before you saw a hint."),
    "perfect_quiz": ("Without a miss", "Every answer of a quiz was right."),
    "whole_lesson": ("A whole lesson", "Exercise, bug hunt, and a quiz without a miss."),
    "right_again": ("Right again", "A passed task passes again with other code."),
    "first_race": ("A race found", "A bug hunt whose bug is a race has passed."),
    "tensor_cores": ("Tensor cores", "An exercise for tensor cores has passed."),
    "hopper": ("Hopper", "An exercise for Hopper GPUs has passed."),
    "faster": ("Faster", f"On a GPU, {100 * (FASTER - 1):.0f} % faster than the lesson's kernel."),
    "whole_part": ("A whole part", "All exercises and hunts of a part have passed."),
    "all_hunts": ("Every bug found", "All bug hunts have passed."),
    "all_quizzes": ("Every quiz", "A quiz without a miss in every lesson."),
}


class Level(TypedDict):
    name: str
    points: int  # from so many on


class LessonPoints(TypedDict):
    lesson: str
    points: int
    of: int


class Earned(TypedDict):
    """How an achievement stands."""

    id: str
    title: str
    how: str
    earned: bool
    date: str | None  # when; None: not earned, or before that was written down
    done: int  # of what it asks for
    of: int


class Standing(TypedDict):
    """What a .progress.json comes to."""

    points: int
    of: int
    level: int  # from 1
    name: str  # the level's
    next: Level | None
    lessons: list[LessonPoints]
    achievements: list[Earned]


# What is known of a course that somebody learns from


@dataclass(frozen=True)
class Done:
    """A task, and what .progress.json holds of it."""

    task: Task
    lesson: Descriptor | None  # what its lesson is about, where that is known
    entry: Mapping[str, Any]

    @property
    def passed(self) -> bool:
        return "passed" in self.entry

    @property
    def hints(self) -> int:
        """That were shown before it passed; of what passed before these were told apart, all."""
        return self.entry.get("helped", self.entry.get("hints", 0))

    @property
    def points(self) -> int:
        worth = _EXERCISE if self.task.kind == "exercise" else _HUNT
        return max(0, worth - _HINT * self.hints) if self.passed else 0


@dataclass(frozen=True)
class _Quiz:
    """A lesson's quiz, and the learner's best answers."""

    questions: int
    right: int
    of: int

    @property
    def perfect(self) -> bool:
        return 1 <= self.of <= self.right

    @property
    def points(self) -> int:
        return _ANSWER * min(self.right, self.questions)


def _done(raw: Mapping[str, Any], root: Path) -> list[Done]:
    lessons = known(root)
    return [Done(task, lessons.get(task.lesson), raw["tasks"].get(task.key, {})) for task in exercise.tasks(root)]


def _quizzes(raw: Mapping[str, Any], lessons: Iterable[str], root: Path) -> dict[str, _Quiz]:
    """By lesson, also of lessons without questions."""
    made = {}
    for name in lessons:
        best = raw["quizzes"].get(name, {})
        made[name] = _Quiz(len(exercise.content(name, root).quiz), best.get("right", 0), best.get("of", 0))
    return made


# What it comes to

_Count = tuple[int, int]  # how much of what is asked for is done, and of how much


def _one(facts: Iterable[bool]) -> _Count:
    return int(any(facts)), 1


def _every(facts: Sequence[bool]) -> _Count:
    """Nothing is not everything."""
    return sum(facts), len(facts) or 1


def _furthest(counts: Iterable[_Count]) -> _Count:
    """Of several that have come as far the first."""
    return max(counts, key=lambda count: count[0] / count[1], default=(0, 1))


def _of_parts(done: Sequence[Done]) -> _Count:
    """A lesson of which nothing is known yet may belong to any part."""
    passed = [(one.lesson.part if one.lesson else None, one.passed) for one in done]
    parts = sorted({part for part, _ in passed if part is not None})
    return _furthest(_every([done for part, done in passed if part in (number, None)]) for number in parts)


def _counts(done: Sequence[Done], quizzes: Mapping[str, _Quiz]) -> dict[str, _Count]:
    """Of each achievement."""
    exercises = [one for one in done if one.task.kind == "exercise"]
    hunts = [one for one in done if one.task.kind == "hunt"]
    asked = [quiz.perfect for quiz in quizzes.values() if quiz.questions]
    lessons = (
        [one.passed for one in done if one.task.lesson == name] + [quiz.perfect] * bool(quiz.questions)
        for name, quiz in quizzes.items()
    )
    return {
        "first_kernel": _one(one.passed for one in exercises),
        "unaided": _one(one.passed and not one.hints for one in exercises),
        "perfect_quiz": _one(asked),
        "whole_lesson": _furthest(map(_every, lessons)),
        "right_again": _one(one.entry.get("versions", 0) >= 2 for one in exercises),
        "first_race": _one(one.passed for one in hunts if isinstance(one.task.spec, Hunt) and one.task.spec.race),
        "tensor_cores": _one(one.passed for one in exercises if one.lesson and one.lesson.ladder == "tensorcore"),
        "hopper": _one(one.passed for one in exercises if one.lesson and (one.lesson.least_sm or 0) >= _HOPPER),
        "faster": _one(one.entry.get("over_lesson", 0) >= FASTER for one in exercises),
        "whole_part": _of_parts(done),
        "all_hunts": _every([one.passed for one in hunts]),
        "all_quizzes": _every(asked),
    }


def standing(raw: Mapping[str, Any], root: Path = ROOT) -> Standing:
    """raw: what .progress.json holds. A UserError where a lesson has no exercise.py."""
    done = _done(raw, root)
    quizzes = _quizzes(raw, dict.fromkeys(one.task.lesson for one in done), root)
    lessons: list[LessonPoints] = []
    for name, quiz in quizzes.items():
        tasks = [one for one in done if one.task.lesson == name]
        of = sum(_EXERCISE if one.task.kind == "exercise" else _HUNT for one in tasks) + _ANSWER * quiz.questions
        lessons.append({"lesson": name, "points": sum(one.points for one in tasks) + quiz.points, "of": of})
    points = sum(row["points"] for row in lessons)
    levels: list[Level] = [{"name": name, "points": least} for name, least in LEVELS.items()]
    level = sum(points >= least for least in LEVELS.values())
    noted, counts = raw.get("achievements", {}), _counts(done, quizzes)
    achievements: list[Earned] = [
        {"id": id, "title": title, "how": how, "earned": counts[id][0] == counts[id][1] or id in noted, "date": noted.get(id),
         "done": counts[id][0], "of": counts[id][1]}
        for id, (title, how) in ACHIEVEMENTS.items()
    ]  # fmt: skip
    return {
        "points": points,
        "of": sum(row["of"] for row in lessons),
        "level": level,
        "name": levels[level - 1]["name"],
        "next": next(iter(levels[level:]), None),
        "lessons": lessons,
        "achievements": achievements,
    }


def earned(found: Standing) -> set[str]:
    """The ids of what is earned."""
    return {a["id"] for a in found["achievements"] if a["earned"]}


def note(before: Standing, raw: dict[str, Any], date: str, root: Path = ROOT) -> list[Earned]:
    """Writes down in `raw`, which has just changed, what it comes to now; returns what was not earned `before`."""
    now, old = standing(raw, root), earned(before)
    noted = raw.setdefault("achievements", {})
    for achievement in now["achievements"]:
        if achievement["earned"]:
            achievement["date"] = noted.setdefault(achievement["id"], None if achievement["id"] in old else date)
    raw["standing"] = now
    return [a for a in now["achievements"] if a["earned"] and a["id"] not in old]


def told(new: list[Earned]) -> str:
    """What has just been earned, as a line; empty where nothing has."""
    return f"Earned: {', '.join(a['title'] for a in new)}. ./gemm progress lists them all." if new else ""


def wanted() -> bool:
    """Whether the environment lets anything be said of them."""
    return os.environ.get(OFF) != "0"
