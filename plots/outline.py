"""The course at a glance: the README's table of lessons and the syllabus, from what each lesson says of itself.

A lesson's README.md says it below its heading, in comments that no reader sees:

    # 02 coalesced: neighbors read neighbors
    <!-- idea: two changed lines: the 32 threads of a warp read neighboring addresses -->
    <!-- predict: sectors of a warp's load of A and of B -->
    <!-- in class: the two changed lines -->

`<!-- hour: shared -->` puts it into the hour of the lesson before it. The tables stand between <!-- outline:lessons --> or
<!-- outline:syllabus --> and <!-- /outline -->.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from runner.core.results import UserError, folder_of, lessons

NAMES = ("lessons", "syllabus")
_HEADING = re.compile(r"^# (\S+ [^:\n]+)", re.MULTILINE)
_FIELD = re.compile(r"^<!-- (idea|predict|in class|hour): (.*) -->$", re.MULTILINE)
# The last hour belongs to no lesson.
_LAST = (
    "[what limits each](../plots/README.md#what-limits-each-lesson)", "where each lesson is on the roofline",
    "the recorded charts; how a time is measured and cited", "late work",
)  # fmt: skip


@dataclass(frozen=True)
class Outline:
    """What a lesson says of itself."""

    number: str
    title: str  # "02 coalesced"
    folder: str
    idea: str
    predict: str
    in_class: str
    shared: bool  # in the hour of the lesson before it
    tasks: tuple[str, ...]  # "03", "03-hunt"


def of_lesson(lesson: str, root: Path) -> Outline:
    """Raises UserError where the README lacks its heading or its idea."""
    folder, number = folder_of(lesson, root), lesson.partition("_")[0]
    text = (root / folder / "README.md").read_text(encoding="utf-8")
    heading, said = _HEADING.search(text), dict(_FIELD.findall(text))
    if heading is None or not said.get("idea"):
        raise UserError(f"{folder}/README.md needs a heading, # {number} title: …, and below it a line <!-- idea: … -->.")
    exercise = root / folder / "exercise.py"
    hunt = exercise.exists() and re.search(r"^HUNT\b", exercise.read_text(encoding="utf-8"), re.MULTILINE)
    tasks = (number, f"{number}-hunt") if hunt else (number,)
    return Outline(
        number, heading[1], folder, said["idea"], said.get("predict", ""), said.get("in class", ""), "hour" in said, tasks
    )


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _lessons(course: list[Outline], root: Path) -> list[str]:
    rows, around = [], ""
    for lesson in course:
        idea, home = lesson.idea, str(Path(lesson.folder).parent)
        if home not in (".", around) and (root / home / "README.md").exists():
            idea += f" ([its steps]({home}/README.md))"
        around = home
        rows.append(_row(f"[{lesson.title}]({lesson.folder}/README.md)", idea))
    return [_row("lesson", "idea"), _row(":--", ":--"), *rows]


def _syllabus(course: list[Outline], home: str) -> list[str]:
    hours: list[list[Outline]] = []
    for lesson in course:
        if hours and lesson.shared:
            hours[-1].append(lesson)
        else:
            hours.append([lesson])
    rows, quiz = [], "–"
    for number, hour in enumerate(hours, 1):
        links = (f"[{one.title}]({os.path.relpath(one.folder, home)}/README.md)" for one in hour)
        predict, in_class = (
            "; ".join(filter(None, texts)) or "–" for texts in zip(*((o.predict, o.in_class) for o in hour), strict=True)
        )
        tasks = ", ".join(task for one in hour for task in one.tasks)
        rows.append(_row(str(number), ", ".join(links), predict, in_class, tasks, quiz))
        quiz = ", ".join(one.number for one in hour)
    header = _row("hour", "lesson", "before class: predict", "in class", "exercise", "quiz")
    return [header, _row("--:", *[":--"] * 5), *rows, _row(str(len(hours) + 1), *_LAST, quiz)]


def render(name: str, root: Path) -> str:
    """The Markdown of a table, without markers, ending in a newline. `root`: of the course. Throws UserError."""
    if name not in NAMES:
        raise UserError(f"There is no outline {name!r}; there are {' and '.join(NAMES)}.")
    course = [of_lesson(lesson, root) for lesson in lessons(root)]
    return "\n".join(_lessons(course, root) if name == "lessons" else _syllabus(course, "classroom")) + "\n"
