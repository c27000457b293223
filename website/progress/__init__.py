"""A page that shows a learner's own .progress.json: lessons, points, level and achievements, as `./gemm progress` does.

What the file comes to stands in it, counted by runner/learn/achievements.py. The page holds the list of tasks, and what an empty
file comes to; the reader's browser does the rest, and sends nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from runner.core.results import ROOT, write_atomically
from runner.learn import achievements, exercise, progress
from website import explore
from website.document import document

OUT = ROOT / "out" / "progress.html"
_HERE = Path(__file__).resolve().parent


def page(
    urls: Mapping[str, str] | None = None,
    home: str | None = None,
    root: Path = ROOT,
    kept: Mapping[str, object] | None = None,
    points: bool = True,
) -> str:
    """The page as one HTML document, which needs no other file and asks for none.

    kept: what .progress.json holds, to be shown from the start; points: whether points and achievements are. urls: the pages of
    lessons by their names, which become links; home: the page to go back to. Both as the page's links are to have them. A
    UserError where a lesson has no exercise.py.
    """
    lessons: dict[str, dict[str, object]] = {}
    for task in exercise.tasks(root):
        quiz = bool(exercise.content(task.lesson, root).quiz)
        lessons.setdefault(task.lesson, {"lesson": task.lesson, "hunt": None, "quiz": quiz})[task.kind] = task.key
    payload = {
        "lessons": list(lessons.values()),
        "rule": achievements.RULE,
        "kept": kept,
        "points": points,
        "begin": {"schema": 1, "tasks": {}, "quizzes": {}, "standing": achievements.standing({"tasks": {}, "quizzes": {}}, root)},
        "urls": dict(urls or {}),
        "home": home,
    }
    return document(_HERE, ["main"], payload)


def show(points: bool) -> int:
    """`./gemm progress --open`: writes the page with what the learner has done, and opens it. Exit status 0."""
    standing = progress.standing()
    kept = {**progress.load().raw, "standing": standing}
    OUT.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(OUT, page(kept=kept, points=points and achievements.wanted()))
    print(f"Written: {OUT.relative_to(ROOT)}.", flush=True)
    explore.show(OUT.as_uri(), True)
    return 0
