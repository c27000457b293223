"""A page that shows a learner's own .progress.json: lessons, points, level and achievements, as `./gemm progress` does.

What the file comes to stands in it, counted by runner/learn/achievements.py. The page holds the list of tasks, and what an empty
file comes to; the reader's browser does the rest, and sends nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from runner.core.results import ROOT
from runner.learn import achievements, exercise
from website.document import document

_HERE = Path(__file__).resolve().parent


def page(urls: Mapping[str, str] | None = None, home: str | None = None, root: Path = ROOT) -> str:
    """The page as one HTML document, which needs no other file and asks for none.

    urls: the pages of lessons by their names, which become links; home: the page to go back to. Both as the page's links are to
    have them. A UserError where a lesson has no exercise.py.
    """
    lessons: dict[str, dict[str, object]] = {}
    for task in exercise.tasks(root):
        quiz = bool(exercise.content(task.lesson, root).quiz)
        lessons.setdefault(task.lesson, {"lesson": task.lesson, "hunt": None, "quiz": quiz})[task.kind] = task.key
    payload = {
        "lessons": list(lessons.values()),
        "rule": achievements.RULE,
        "begin": {"schema": 1, "tasks": {}, "quizzes": {}, "standing": achievements.standing({"tasks": {}, "quizzes": {}}, root)},
        "urls": dict(urls or {}),
        "home": home,
    }
    return document(_HERE, ["main"], payload)
