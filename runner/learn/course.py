"""`./gemm start`, `./gemm hint`, `./gemm reset`, `./gemm progress`."""

from __future__ import annotations

import errno
import json
import os
import shutil
import textwrap
from pathlib import Path

from rich import box
from rich.cells import get_character_cell_size
from rich.table import Table

from runner.core import lesson, tables
from runner.core.descriptors import PARTS, known
from runner.core.results import ROOT, UserError, write_atomically
from runner.learn import achievements, exercise, progress
from runner.learn.achievements import Standing
from runner.learn.exercise import Task
from runner.learn.progress import HINTS, State

_SCHEMA = 1
_BAR = 20  # columns of a part's bar
_WIDTH = 100  # columns where there is no terminal to ask
_NO_LINKS = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)  # what file systems without hard links answer


def find(name: str, hunt: bool) -> Task:
    """The task of a lesson as a user names it: `3`, `03`, `03_smem`. A UserError where there is none."""
    return exercise.task(lesson.find(name), hunt)


def shown(path: Path) -> str:
    """A path as messages name it: relative to the checkout, where it lies in it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def fitting(text: str, width: int) -> int:
    """How many characters of `text` fit into `width` columns."""
    used = 0
    for index, character in enumerate(text):
        used += get_character_cell_size(character)
        if used > width:
            return index
    return len(text)


def wrapped(text: str, width: int, hanging: int = 0) -> list[str]:
    """The text in lines of at most `width` columns, broken at spaces where it has some; each keeps its line's indentation, and
    what goes on from a line has `hanging` more."""
    lines = []
    for line in text.split("\n"):
        rest = line.rstrip()
        indent = rest[: len(rest) - len(rest.lstrip())] + " " * hanging
        if len(indent) > width // 2:
            indent = ""
        while (end := fitting(rest, width)) < len(rest):
            end = max(end, 1)
            space = rest.rfind(" ", len(indent) + 1, end + 1)
            end = space if space > 0 and rest[:space].strip() else end
            lines.append(rest[:end].rstrip())
            rest = indent + rest[end:].lstrip() if rest[end:].strip() else ""
        lines.append(rest)
    return lines


# Hints


def show_hint(task: Task, level: int | None = None) -> str:
    """The hint of this level (None: the next one), as text; it is remembered as shown."""
    level = level or min(progress.load(task.root).hints(task) + 1, HINTS)
    text = task.hints[level - 1].strip("\n")
    progress.hint_shown(task, level)
    return f"Hint {level} of {HINTS}: {text}" + ("\nThis is the last hint." if level == HINTS else "")


def hint(name: str, hunt: bool, level: str | None) -> int:
    """`./gemm hint`: exit status 0."""
    task = find(name, hunt)
    if level is not None and level not in [str(number + 1) for number in range(HINTS)]:
        raise UserError(f"--level must be 1, 2 or {HINTS}, not {level!r}.")
    text = show_hint(task, int(level) if level else None)
    width = shutil.get_terminal_size((_WIDTH, 24)).columns
    print("\n".join(wrapped(text, max(width, 1))))
    return 0


# Start and reset


def provide(task: Task) -> str:
    """Writes the learner's file, the start, where there is none. What was done, as a sentence; an empty one where the file is
    there."""
    if task.file.exists() or task.file.is_symlink():
        return ""
    write_atomically(task.file, progress.starter(task))
    old = "".join(f" Your {shown(file)} is of an earlier version of this lesson, and stays as it is." for file in task.earlier)
    return f"Written: {shown(task.file)}, the starting file of {task.title}.{old}"


def start(name: str, hunt: bool) -> int:
    """`./gemm start`: the learner's file, which nothing overwrites. Exit status 0."""
    task = find(name, hunt)
    print(provide(task) or f"{shown(task.file)} is already there; ./gemm reset {task.argument} starts over.")
    explore = exercise.explored(task.lesson, task.kind)
    print(f"./gemm watch {task.argument} checks it at every save; ./gemm {explore} shows it at work.")
    return 0


def _keep(file: Path) -> Path:
    """Gives the file a second name beside it that nothing has yet, exercise.1.cu for one; returns its path."""
    number, linked = 1, True
    while True:
        kept = file.with_name(f"{file.stem}.{number}{file.suffix}")
        try:
            if linked:
                os.link(file, kept)
            else:
                with kept.open("xb") as copy:
                    copy.write(file.read_bytes())
            return kept
        except FileExistsError:
            number += 1
        except OSError as error:
            if not linked or error.errno not in _NO_LINKS:
                raise UserError(f"{shown(kept)} cannot be written: {error.strerror}; nothing was changed.") from error
            linked = False


def reset(name: str, hunt: bool) -> int:
    """`./gemm reset`: the learner's file gets another name, and the starter its place. Exit status 0."""
    task = find(name, hunt)
    start, file = progress.starter(task), shown(task.file)
    if told := provide(task):
        print(told)
        return 0
    text = progress.text_of(task.file)
    if text == start:
        print(f"{file} is still the starting file; there is nothing to reset.")
        return 0
    kept = _keep(task.file)
    try:
        write_atomically(task.file, start)
    except UserError:
        kept.unlink()  # task.file still holds it
        raise
    print(f"Your version is now {shown(kept)}; {file} is the starting file again.")
    return 0


# Progress


def _cell(task: Task, state: State) -> str:
    standing, date = progress.state_of(task, state), state.passed(task)
    if standing == "passed":
        return f"passed {date[:10]}" if date else standing
    if standing == "changed since it passed":
        return "passed, then changed"
    return "passed, then reset" if date and standing == "not begun" else standing


def _object(tasks: list[Task], state: State, standing: Standing | None) -> dict:
    """What `./gemm progress --json` prints; standing: None leaves out points, level and achievements."""

    def of_task(task: Task) -> dict:
        return {
            "file": shown(task.file),
            "state": progress.state_of(task, state),
            "passed": state.passed(task),
            "hints": state.hints(task),
        }

    lessons: dict[str, dict] = {}
    for task in tasks:
        row = lessons.setdefault(task.lesson, {"lesson": task.lesson, "exercise": None, "hunt": None})
        row[task.kind] = of_task(task)
    for name, row in lessons.items():
        row["quiz"] = state.quiz(name)
    found = {"schema": _SCHEMA, "lessons": list(lessons.values()), **_sums(tasks, state), "next": _next(tasks, state)}
    if not standing:
        return found
    for of_lesson in standing["lessons"]:
        lessons[of_lesson["lesson"]]["points"] = {"points": of_lesson["points"], "of": of_lesson["of"]}
    level = {"level": standing["level"], "name": standing["name"], "next": standing["next"]}
    points = {"points": standing["points"], "of": standing["of"]}
    return {**found, "points": points, "level": level, "achievements": standing["achievements"]}


def _quizzes(tasks: list[Task]) -> list[str]:
    """The lessons that have a quiz."""
    return [name for name in dict.fromkeys(task.lesson for task in tasks) if exercise.content(name).quiz]


def _sums(tasks: list[Task], state: State) -> dict[str, dict[str, int]]:
    quizzes = _quizzes(tasks)
    return {
        "tasks": {"passed": sum(state.passed(task) is not None for task in tasks), "of": len(tasks)},
        "quizzes": {"taken": sum(state.quiz(name) is not None for name in quizzes), "of": len(quizzes)},
    }


def _next(tasks: list[Task], state: State) -> str | None:
    """The command that goes on from what passed last, None where everything is done."""
    if task := progress.following(state, progress.latest(state)):
        return f"./gemm watch {task.argument}"
    quiz = next((name for name in _quizzes(tasks) if state.quiz(name) is None), None)
    return f"./gemm quiz {quiz.partition('_')[0]}" if quiz else None


def summary(state: State) -> str:
    """`3 of 4 tasks passed, 1 of 3 quizzes taken. Next: ./gemm watch 02`."""
    tasks = exercise.tasks()
    sums, following = _sums(tasks, state), _next(tasks, state)
    done = f"{sums['tasks']['passed']} of {sums['tasks']['of']} tasks passed"
    quizzes = f", {sums['quizzes']['taken']} of {sums['quizzes']['of']} quizzes taken" if sums["quizzes"]["of"] else ""
    return f"{done}{quizzes}. {f'Next: {following}' if following else 'Everything is done.'}"


def _bare(*columns: str) -> Table:
    """A table without lines between its columns, which has room for five of them in 80."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for column in columns:
        table.add_column(column, justify="right" if column == "Points" else "left", overflow="fold")
    return table


def _parts(tasks: list[Task], state: State) -> list[str]:
    """A line for each part of the course: `Part 1: FP32, any GPU       ████░░░░░░  8 of 19 tasks`."""
    described = known()
    parts: dict[int, list[bool]] = {}
    part = 0
    for task in tasks:
        part = described[task.lesson].part if task.lesson in described else part  # a new one: that of the lesson before it
        parts.setdefault(part, []).append(state.passed(task) is not None)
    names = {part: f"Part {part}: {PARTS.get(part, 'more lessons')}" if part else "Lessons" for part in parts}
    wide = max(map(len, names.values()))
    return [
        f"{names[part]:{wide}}  {_bar(sum(passed), len(passed))}  {sum(passed)} of {len(passed)} tasks"
        for part, passed in sorted(parts.items())
    ]


def _bar(done: int, of: int) -> str:
    """Full only where all is done, and not empty where anything is."""
    filled = min(max(done * _BAR // of, int(done > 0)), _BAR)
    return "█" * filled + "░" * (_BAR - filled)


def _begun(tasks: list[Task], state: State) -> list[str]:
    """The lessons of which something was done."""
    touched = {
        task.lesson for task in tasks if progress.state_of(task, state) != "not begun" or state.passed(task) or state.hints(task)
    }
    return [name for name in dict.fromkeys(task.lesson for task in tasks) if name in touched or state.quiz(name)]


def _lessons(tasks: list[Task], state: State, standing: Standing | None) -> Table:
    table = _bare("Lesson", "Exercise", "Bug hunt", "Quiz", *(["Points"] if standing else []))
    points = {row["lesson"]: [str(row["points"])] for row in standing["lessons"]} if standing else {}
    for name in _begun(tasks, state):
        cells = {task.kind: _cell(task, state) for task in tasks if task.lesson == name}
        quiz = state.quiz(name)
        taken = f"{quiz['right']} of {quiz['of']}" if quiz else "not taken" if exercise.content(name).quiz else "–"
        table.add_row(name, cells.get("exercise", "–"), cells.get("hunt", "–"), taken, *points.get(name, []))
    return table


def _achieved(standing: Standing) -> Table:
    found = standing["achievements"]
    table = _bare("Earned", f"{sum(a['earned'] for a in found)} of {len(found)} achievements", "What for")
    for a in found:
        when = (a["date"] or "earned")[:10] if a["earned"] else f"{a['done']} of {a['of']}" if a["of"] > 1 else "–"
        table.add_row(when, a["title"], a["how"])
    return table


def _points(standing: Standing) -> str:
    """`Level 2, warp: 58 of 455 points. Level 3, warpgroup, begins at 128.`"""
    after = standing["next"]
    more = f" Level {standing['level'] + 1}, {after['name']}, begins at {after['points']}." if after else " It is the highest."
    return f"Level {standing['level']}, {standing['name']}: {standing['points']} of {standing['of']} points.{more}"


def show_progress(with_achievements: bool, as_json: bool) -> int:
    """`./gemm progress`: a bar a part, the lessons that are begun, and what comes next. Exit status 0."""
    state, tasks = progress.load(), exercise.tasks()
    standing = progress.standing() if with_achievements and achievements.wanted() else None
    if as_json:
        print(json.dumps(_object(tasks, state, standing)))
        return 0
    print("\n".join(_parts(tasks, state)))
    begun = _lessons(tasks, state, standing)
    if begun.row_count:
        print()
        tables.show(begun, tables.PAPER)
    if standing:
        print()
        tables.show(_achieved(standing), tables.PAPER)
        print(f"\n{_points(standing)}")
        print(textwrap.fill(achievements.RULE, tables.PAPER))
    print(summary(state))
    return 0
