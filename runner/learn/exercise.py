"""The exercises: what a lesson's exercise.py says, and the files that learners edit, made from the lesson's kernel.cu.

kernel.cu marks what a learner is to write:

    // gap: NAME
    …
    // end gap

`exercise.cu` is kernel.cu without these regions, `bug_hunt.cu` is kernel.cu with one planted bug. Both have a head, a
namespace and a name of their own. They are written to exercises/LESSON/, which git ignores, when a learner begins with them
(runner/learn/course.py); nothing but the standard library is needed.
"""

from __future__ import annotations

import importlib.util
import json
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from runner.core.results import ROOT, UserError, folder_of, former_names, lessons

if TYPE_CHECKING:
    from runner.inspect.counts import Counts, Measured

Kind = Literal["exercise", "hunt"]
_FILES: dict[Kind, str] = {"exercise": "exercise.cu", "hunt": "bug_hunt.cu"}
FOLDER = "exercises"  # the learner's own files, below the root
_WORDS: dict[Kind, str] = {"exercise": "exercise", "hunt": "bug hunt"}
_WIDTH = 110  # columns of comments, as clang-format makes them
_MARK = re.compile(r"^([ \t]*)// (?:gap: ([\w-]+)|(end gap))[ \t]*\n", re.MULTILINE)
_HEAD = re.compile(r"\A(?://[^\n]*\n)+")


def more_problems(text: str) -> list[str]:
    """What gemm_check and gemm_judge are asked for this kernel beside what they are for all: problems that take too long to be
    everybody's. common/check/problems.json says which code asks for which, and why."""
    asked = json.loads((ROOT / "common" / "check" / "problems.json").read_text(encoding="utf-8"))
    code = re.sub(asked["no code"], " ", text.replace("\\\n", ""), flags=re.DOTALL)
    return [option for option, pattern in asked["asked for by"].items() if re.search(pattern, code)]


# What a lesson's exercise.py is made of


@dataclass(frozen=True)
class Gap:
    """What stands in the starter instead of a marked region. `placeholder`: code that keeps the rest compiling."""

    todo: str
    placeholder: str = ""


@dataclass(frozen=True)
class Goal:
    """What is asked of a right kernel's memory accesses, counted on an aligned shape.

    `measure` returns the figure and the traced line that it comes from; without a line the goal is missed. `least` False: the
    figure may be at most `bound`. `advice` follows where it is missed. `reached`, `missed`: what follows `text` in the report,
    with {value}, {bound} and {unit}.
    """

    text: str  # "A warp's load takes at most 4 sectors"
    measure: Callable[[Counts], Measured]
    bound: Callable[[Counts], float]
    unit: str  # of value and bound: "bytes"
    advice: str
    least: bool = False
    reached: str = "{value} {unit}"
    missed: str = "{value} {unit}, at most {bound}"


@dataclass(frozen=True)
class Exercise:
    """A lesson's exercise.cu."""

    task: str  # one or two sentences for the head of exercise.cu
    gaps: Mapping[str, Gap]
    hints: tuple[str, str, str]  # from a nudge to nearly the answer
    starter_fails: str  # the id of what the check finds of the starter, or `goal 2`; a test holds it against the check
    goals: tuple[Goal, ...] = ()


@dataclass(frozen=True)
class Hunt:
    """A lesson's bug_hunt.cu."""

    task: str
    bug: Mapping[str, str]  # pieces of kernel.cu, each there once, and what stands there instead
    hints: tuple[str, str, str]
    check_finds: str  # the id of what it finds of the planted bug, or the goal that is missed
    race: bool = False  # it is one: two use the same memory, and nothing puts them in order. A test asks the check


@dataclass(frozen=True)
class Content:
    """What a lesson's exercise.py says."""

    exercise: Exercise
    hunt: Hunt | None
    quiz: tuple[Any, ...]  # runner.learn.quiz's questions


@cache
def _module(path: Path, root: Path = ROOT) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"exercise_{path.parent.name}", path)
    if spec is None or spec.loader is None or not path.exists():
        raise UserError(f"{path.relative_to(root)} is missing; bring it back with git checkout.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def content(lesson: str, root: Path = ROOT) -> Content:
    """EXERCISE, HUNT and QUIZ of the lesson's exercise.py. A UserError where there is no such file."""
    module = _module(root / folder_of(lesson, root) / "exercise.py", root)
    return Content(module.EXERCISE, getattr(module, "HUNT", None), tuple(getattr(module, "QUIZ", ())))


# The files


def without_marks(kernel: str) -> str:
    """kernel.cu's text as a reader sees it who does not care about gaps."""
    return _MARK.sub("", kernel)


def _comment(indent: str, text: str) -> str:
    lines = textwrap.wrap(text, _WIDTH - len(indent) - 3)
    return "".join(f"{indent}// {line}\n" for line in lines)


def explored(lesson: str, kind: Kind) -> str:
    """What ./gemm is told to show the learner's file in the explorer."""
    return f"explore {lesson.partition('_')[0]} --{'mine' if kind == 'exercise' else 'hunt'}"


def _head(lesson: str, kind: Kind, task: str, argument: str) -> str:
    number, _, word = lesson.partition("_")
    commands = {
        f"check {argument}": "says what is right and what is not",
        f"watch {argument}": "checks at every save",
        explored(lesson, kind): "shows it at work, in a browser",
        f"hint {argument}": "three hints, one at a time",
        f"reset {argument}": "begins it again; yours is kept beside it",
    }
    wide = max(map(len, commands)) + 2
    listed = "".join(f"//   ./gemm {command:{wide}}{what}\n" for command, what in commands.items())
    title = f"{_WORDS[kind].capitalize()} {number} {word.replace('_', ' ')}: {task}"
    return _comment("", title) + "//\n" + listed


def _renamed(kernel: str, lesson: str, kind: Kind) -> str:
    """Namespace and name of the lesson replaced; both must be there."""
    number = lesson.partition("_")[0]
    for old, new in ((f"lesson_{number}", f"{kind}_{number}"), (f'"{lesson}"', f'"{_WORDS[kind]} {number}"')):
        if old not in kernel:
            raise ValueError(f"the kernel of {lesson} does not contain {old}")
        kernel = kernel.replace(old, new)
    return kernel


def filled(kernel: str, fill: Callable[[str, str, str], str]) -> str:
    """kernel.cu with every gap replaced by fill(name, indent, the code in it). Raises ValueError on marks that don't pair."""
    out, at, opened = [], 0, None
    for mark in _MARK.finditer(kernel):
        if mark[2]:
            if opened:
                raise ValueError(f"gap {mark[2]} begins inside gap {opened[2]}")
            out.append(kernel[at : mark.start()])
            opened = mark
        else:
            if not opened:
                raise ValueError("end gap without a gap")
            out.append(fill(opened[2], opened[1], kernel[opened.end() : mark.start()]))
            opened = None
        at = mark.end()
    if opened:
        raise ValueError(f"gap {opened[2]} has no end")
    return "".join(out) + kernel[at:]


@dataclass(frozen=True)
class Task:
    """One file for a learner to work on."""

    lesson: str  # "03_smem"
    kind: Kind
    root: Path = ROOT

    @property
    def number(self) -> str:
        """Of the lesson: `03`."""
        return self.lesson.partition("_")[0]

    @property
    def folder(self) -> str:
        """Of the lesson's files, below the root."""
        return folder_of(self.lesson, self.root)

    @property
    def title(self) -> str:
        """ "exercise 03", also the name in the kernel's descriptor."""
        return f"{_WORDS[self.kind]} {self.number}"

    @property
    def argument(self) -> str:
        """What the commands call it: `03`, `03 --hunt`."""
        return self.number + (" --hunt" if self.kind == "hunt" else "")

    @property
    def key(self) -> str:
        """Its name in .progress.json."""
        return f"{self.lesson}/{self.kind}"

    @property
    def file(self) -> Path:
        """That the learner edits: exercises/03_smem/exercise.cu."""
        return self.root / FOLDER / self.lesson / _FILES[self.kind]

    @property
    def former(self) -> Path:
        """Beside kernel.cu, where a submission may have it, too."""
        return self.root / self.folder / _FILES[self.kind]

    @property
    def earlier(self) -> list[Path]:
        """Files of the lesson's earlier versions, which had another name or lay beside kernel.cu."""
        names = [name for name, now in former_names(self.root).items() if now == self.lesson]
        files = [*(self.root / FOLDER / name / _FILES[self.kind] for name in names), self.former]
        return [file for file in files if file.is_file()]

    @property
    def namespace(self) -> str:
        """In the learner's file: `exercise_03`."""
        return f"{self.kind}_{self.number}"

    @property
    def spec(self) -> Exercise | Hunt:
        """What exercise.py says of it. A UserError where the lesson has no such task."""
        there = content(self.lesson, self.root)
        chosen = there.exercise if self.kind == "exercise" else there.hunt
        if chosen is None:
            raise UserError(f"{self.lesson} has no bug hunt.")
        return chosen

    @property
    def hints(self) -> tuple[str, str, str]:
        """From a nudge to nearly the answer."""
        return self.spec.hints

    @property
    def goals(self) -> tuple[Goal, ...]:
        """Of the lesson, which hold for its bug hunt as well."""
        return content(self.lesson, self.root).exercise.goals

    def kernel(self) -> str:
        """The lesson's kernel.cu, with its marks."""
        return (self.root / self.folder / "kernel.cu").read_text(encoding="utf-8")

    def _made(self, body: str) -> str:
        head = _head(self.lesson, self.kind, self.spec.task, self.argument)
        return _HEAD.sub(lambda _: head, _renamed(body, self.lesson, self.kind), count=1)

    def solution(self) -> str:
        """The file as kernel.cu does it."""
        return self._made(without_marks(self.kernel()))

    def starter(self) -> str:
        """The file as a learner gets it. Raises ValueError where kernel.cu and exercise.py don't fit."""
        spec, kernel = self.spec, self.kernel()
        if isinstance(spec, Hunt):
            body = without_marks(kernel)
            for right, wrong in spec.bug.items():
                if body.count(right) != 1:
                    raise ValueError(f"{self.folder}/kernel.cu has {body.count(right)} times what its bug replaces: {right!r}")
                body = body.replace(right, wrong)
            return self._made(body)
        gaps, seen = spec.gaps, []

        def fill(name: str, indent: str, _code: str) -> str:
            seen.append(name)
            gap = gaps[name]
            code = f"{gap.placeholder}\n" if gap.placeholder else ""
            return _comment(indent, f"TODO {len(seen)}: {gap.todo}") + textwrap.indent(code, indent)

        body = filled(kernel, fill)
        if seen != list(gaps):
            raise ValueError(f"{self.lesson}: kernel.cu has the gaps {seen}, exercise.py {list(gaps)}")
        return self._made(body)


def tasks(root: Path = ROOT) -> list[Task]:
    """Every task in course order: a lesson's exercise, then its bug hunt if it has one."""
    found = []
    for lesson in lessons(root):
        found.append(Task(lesson, "exercise", root))
        if content(lesson, root).hunt:
            found.append(Task(lesson, "hunt", root))
    return found


def task(lesson: str, hunt: bool) -> Task:
    """`lesson` as in lessons(). A UserError where it has no bug hunt."""
    chosen = Task(lesson, "hunt" if hunt else "exercise")
    _ = chosen.spec
    return chosen
