"""A page that shows a learner's own .progress.json: lessons, points, level and achievements, as `./gemm progress` does.

What the file comes to stands in it, counted by runner/learn/achievements.py. The page holds the list of tasks, and what an empty
file comes to; the reader's browser does the rest, and sends nothing.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from pathlib import Path

from runner.core.results import ROOT
from runner.learn import achievements, exercise

_HERE = Path(__file__).resolve().parent
_EXPLORER = _HERE.parent / "explorer"
# By the names that they import each other by.
_MODULES = {
    **{f"explorer/{name}": _EXPLORER / f"{name}.js" for name in ("dom", "theme")},
    "progress/main": _HERE / "main.js",
}


def _embedded(value: object) -> str:
    """JSON that may stand in a <script>."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _url(module: Path) -> str:
    return "data:text/javascript;base64," + base64.b64encode(module.read_bytes()).decode("ascii")


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
    styles = (_EXPLORER / "style.css", _HERE / "style.css")
    text = (_HERE / "index.html").read_text(encoding="utf-8")
    for name, value in (
        ("@STYLE@", "".join(path.read_text(encoding="utf-8") for path in styles)),
        ("@IMPORTS@", _embedded({"imports": {name: _url(path) for name, path in _MODULES.items()}})),
        ("@PAYLOAD@", _embedded(payload)),
    ):
        text = text.replace(name, value)
    return text
