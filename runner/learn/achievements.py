"""Points, levels and achievements: the rules, as data, and what a .progress.json comes to by them.

The rules stand here alone. website/progress/ has the same object, as JSON, and evaluates it in a browser; a test holds the two
evaluations against each other. Everything is earned by what `./gemm check`, `hint` and `quiz` wrote into .progress.json
(progress.py). Which tasks there are, and what their lessons are about, is asked of the lessons.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, TypedDict

from runner.core.descriptors import known
from runner.core.results import ROOT
from runner.learn import exercise
from runner.learn.exercise import Hunt, Task

SCHEMA = 1
FASTER = 1.05  # times as fast as the lesson's own kernel: what is less is noise
OFF = "GEMM_ACHIEVEMENTS"  # "0" in the environment: nothing is said of points, levels and achievements, and none is written down

Term = float | list[str]  # a number, or the first of these fields that an entry has; 0 where it has none, 1 of a text
Item = list[str]  # a fact, and the key of what it is asked of: ["passed", "03_smem/exercise"]


class Fact(TypedDict):
    """What an entry of .progress.json may show: every condition holds."""

    of: Literal["tasks", "quizzes"]  # which entries
    when: list[tuple[Term, Literal[">=", "<="], Term]]


class Row(TypedDict):
    """A lesson's tasks."""

    lesson: str
    exercise: str  # its key in .progress.json
    hunt: str | None
    questions: int  # of its quiz


class Points(TypedDict):
    """What each is worth."""

    exercise: int
    hunt: int
    hint: int  # less, for each that was shown before the task passed
    hints: list[str]  # a Term: how many those were
    answer: int  # of the best quiz, if it is right
    rule: str  # all that in words


class Level(TypedDict):
    name: str
    points: int  # from so many on


class Achievement(TypedDict):
    """It is earned when all items of one of the groups are facts."""

    id: str
    title: str
    how: str  # a sentence of at most 46 characters, beside which a title of 20 and a date fit into 80 columns
    groups: list[list[Item]]


class Rules(TypedDict):
    schema: int
    lessons: list[Row]
    points: Points
    levels: list[Level]
    facts: dict[str, Fact]
    achievements: list[Achievement]


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
    done: int  # items of the group that has come furthest
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


# The rules

_HELPED = ["helped", "hints"]  # hints before it passed; what passed before these were told apart has but the hints
_FACTS: dict[str, Fact] = {
    "passed": {"of": "tasks", "when": [(["passed"], ">=", 1)]},
    "unaided": {"of": "tasks", "when": [(["passed"], ">=", 1), (_HELPED, "<=", 0)]},
    "right again": {"of": "tasks", "when": [(["versions"], ">=", 2)]},
    "faster": {"of": "tasks", "when": [(["over_lesson"], ">=", FASTER)]},
    "perfect": {"of": "quizzes", "when": [(["of"], ">=", 1), (["right"], ">=", ["of"])]},
}
_EXERCISE, _HUNT, _HINT, _ANSWER = 10, 10, 2, 1
_POINTS: Points = {
    "exercise": _EXERCISE,
    "hunt": _HUNT,
    "hint": _HINT,
    "hints": _HELPED,
    "answer": _ANSWER,
    "rule": f"Points: an exercise that passes {_EXERCISE}, a bug hunt {_HUNT}, less {_HINT} for each hint shown before; "
    f"each right answer of your best quiz {_ANSWER}.",
}
# So many threads are a warp, a warpgroup and the blocks of many lessons.
_LEVELS: list[Level] = [
    {"name": "thread", "points": 0},
    {"name": "warp", "points": 32},
    {"name": "warpgroup", "points": 128},
    {"name": "block", "points": 256},
    {"name": "grid", "points": 400},
]
_HOPPER = 90  # 10 times the compute capability


def _achievements(tasks: list[Task], rows: list[Row], root: Path) -> Iterator[Achievement]:
    """In the order in which they are shown."""
    exercises = [task for task in tasks if task.kind == "exercise"]
    hunts = [task for task in tasks if task.kind == "hunt"]
    quizzes = [row["lesson"] for row in rows if row["questions"]]
    lessons = known(root)

    def one(fact: str, among: list[Task]) -> list[list[Item]]:
        return [[[fact, task.key]] for task in among]

    def every(fact: str, keys: list[str]) -> list[list[Item]]:
        return [[[fact, key] for key in keys]] if keys else []

    def is_race(task: Task) -> bool:
        return isinstance(task.spec, Hunt) and task.spec.race

    def part(task: Task) -> int | None:
        return lessons[task.lesson].part if task.lesson in lessons else None

    whole = []
    for row in rows:
        items = [["passed", key] for key in (row["exercise"], row["hunt"]) if key]
        whole.append(items + [["perfect", row["lesson"]]] * bool(row["questions"]))
    # A lesson of which nothing is known yet may belong to any part.
    parts = sorted({number for task in tasks if (number := part(task)) is not None})
    of_parts = [group for p in parts for group in every("passed", [task.key for task in tasks if part(task) in (p, None)])]
    on_tensor_cores = [t for t in exercises if t.lesson in lessons and lessons[t.lesson].ladder == "tensorcore"]
    on_hopper = [t for t in exercises if t.lesson in lessons and (lessons[t.lesson].least_sm or 0) >= _HOPPER]

    yield {
        "id": "first_kernel",
        "title": "Right at every shape",
        "how": "A kernel of yours is right at every shape.",
        "groups": one("passed", exercises),
    }
    yield {
        "id": "unaided",
        "title": "By yourself",
        "how": "An exercise has passed before you saw a hint.",
        "groups": one("unaided", exercises),
    }
    yield {
        "id": "perfect_quiz",
        "title": "Without a miss",
        "how": "Every answer of a quiz was right.",
        "groups": [[["perfect", name]] for name in quizzes],
    }
    yield {
        "id": "whole_lesson",
        "title": "A whole lesson",
        "how": "Exercise, bug hunt, and a quiz without a miss.",
        "groups": whole,
    }
    yield {
        "id": "right_again",
        "title": "Right again",
        "how": "What had passed passes with other code.",
        "groups": one("right again", exercises),
    }
    yield {
        "id": "first_race",
        "title": "A race found",
        "how": "A bug hunt whose bug is a race has passed.",
        "groups": one("passed", list(filter(is_race, hunts))),
    }
    yield {
        "id": "tensor_cores",
        "title": "Tensor cores",
        "how": "An exercise for tensor cores has passed.",
        "groups": one("passed", on_tensor_cores),
    }
    yield {
        "id": "hopper",
        "title": "Hopper",
        "how": "An exercise for Hopper GPUs has passed.",
        "groups": one("passed", on_hopper),
    }
    yield {
        "id": "faster",
        "title": "Faster",
        "how": f"On a GPU, {100 * (FASTER - 1):.0f} % faster than the lesson's kernel.",
        "groups": one("faster", exercises),
    }
    yield {
        "id": "whole_part",
        "title": "A whole part",
        "how": "All exercises and hunts of a part have passed.",
        "groups": of_parts,
    }
    yield {
        "id": "all_hunts",
        "title": "Every bug found",
        "how": "All bug hunts have passed.",
        "groups": every("passed", [task.key for task in hunts]),
    }
    yield {
        "id": "all_quizzes",
        "title": "Every quiz",
        "how": "A quiz without a miss in every lesson.",
        "groups": every("perfect", quizzes),
    }


def rules(root: Path = ROOT) -> Rules:
    """The rules for this course. A UserError where a lesson has no exercise.py."""
    tasks = exercise.tasks(root)
    keys = {(task.lesson, task.kind): task.key for task in tasks}
    rows: list[Row] = [
        {
            "lesson": task.lesson,
            "exercise": task.key,
            "hunt": keys.get((task.lesson, "hunt")),
            "questions": len(exercise.content(task.lesson, root).quiz),
        }
        for task in tasks
        if task.kind == "exercise"
    ]
    return {
        "schema": SCHEMA,
        "lessons": rows,
        "points": _POINTS,
        "levels": _LEVELS,
        "facts": _FACTS,
        "achievements": list(_achievements(tasks, rows, root)),
    }


# What a .progress.json comes to. website/progress/rules.js does the same.


def _value(entry: Mapping[str, Any], term: Term) -> float:
    if not isinstance(term, list):
        return term
    found = next((entry[name] for name in term if name in entry), 0)
    return found if isinstance(found, int | float) and not isinstance(found, bool) else 1


def _is_fact(rules: Rules, raw: Mapping[str, Any], item: Item) -> bool:
    fact = rules["facts"][item[0]]
    entry = raw[fact["of"]].get(item[1], {})
    for left, relation, right in fact["when"]:
        a, b = _value(entry, left), _value(entry, right)
        if not (a >= b if relation == ">=" else a <= b):
            return False
    return True


def _points(rules: Rules, raw: Mapping[str, Any], row: Row) -> LessonPoints:
    worth = rules["points"]
    points, of = 0, 0
    for key, each in ((row["exercise"], worth["exercise"]), (row["hunt"], worth["hunt"])):
        if key:
            of += each
            if _is_fact(rules, raw, ["passed", key]):
                points += max(0, each - worth["hint"] * int(_value(raw["tasks"][key], worth["hints"])))
    best = raw["quizzes"].get(row["lesson"], {})
    points += worth["answer"] * min(int(_value(best, ["right"])), row["questions"])
    return {"lesson": row["lesson"], "points": points, "of": of + worth["answer"] * row["questions"]}


def _earned(rules: Rules, raw: Mapping[str, Any], achievement: Achievement) -> Earned:
    noted = raw.get("achievements", {})
    counts = [(sum(_is_fact(rules, raw, item) for item in group), len(group)) for group in achievement["groups"]]
    done, of = max(counts, key=lambda count: Fraction(*count), default=(0, 1))  # of several the first
    return {
        "id": achievement["id"],
        "title": achievement["title"],
        "how": achievement["how"],
        "earned": done == of or achievement["id"] in noted,
        "date": noted.get(achievement["id"]),
        "done": done,
        "of": of,
    }


def standing(rules: Rules, raw: Mapping[str, Any]) -> Standing:
    """raw: what .progress.json holds."""
    lessons = [_points(rules, raw, row) for row in rules["lessons"]]
    points = sum(row["points"] for row in lessons)
    level = sum(points >= level["points"] for level in rules["levels"])
    return {
        "points": points,
        "of": sum(row["of"] for row in lessons),
        "level": level,
        "name": rules["levels"][level - 1]["name"],
        "next": next(iter(rules["levels"][level:]), None),
        "lessons": lessons,
        "achievements": [_earned(rules, raw, achievement) for achievement in rules["achievements"]],
    }


def note(rules: Rules, before: set[str], raw: dict[str, Any], date: str) -> list[Earned]:
    """Writes down in `raw`, which has just changed, what is earned by now, and returns what was not `before`."""
    now = [a for a in standing(rules, raw)["achievements"] if a["earned"]]
    noted = raw.setdefault("achievements", {})
    for achievement in now:
        noted.setdefault(achievement["id"], None if achievement["id"] in before else date)
    return [achievement for achievement in now if achievement["id"] not in before]


def earned(rules: Rules, raw: Mapping[str, Any]) -> set[str]:
    """The ids of what is earned."""
    return {a["id"] for a in standing(rules, raw)["achievements"] if a["earned"]}


def told(new: list[Earned]) -> str:
    """What has just been earned, as a line; empty where nothing has."""
    return f"Earned: {', '.join(a['title'] for a in new)}. ./gemm progress lists them all." if new else ""


def wanted() -> bool:
    """Whether the environment lets anything be said of them."""
    return os.environ.get(OFF) != "0"
