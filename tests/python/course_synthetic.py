"""A course of four lessons with all that achievements ask of lessons: parts, tensor cores, Hopper, races, quizzes."""

from __future__ import annotations

from pathlib import Path

from conftest import describe
from exercise_synthetic import KERNEL

LESSONS = ("01_naive", "02_coalesced", "03_tensor", "04_hopper")
QUESTIONS = 2  # of each quiz; the answers are 1 and 2
_EXERCISE = """
from runner.learn.exercise import Exercise, Gap, Hunt
from runner.learn.quiz import Question
HINTS = ("Look.", "Look again.", "Write it.")
EXERCISE = Exercise("write it.", {{"body": Gap("write it.")}}, HINTS, "never written")
HUNT = {hunt}
def one(q):
    return Question("1?", 1, "", "It is 1.")
def two(q):
    return Question("2?", 2, "", "It is 2.")
QUIZ = (one, two)
"""
_HUNT = 'Hunt("find it.", {{"int right;": "int wrong;"}}, HINTS, "wrong", race={race})'


def make_course(root: Path) -> None:
    """Lesson 01 has no bug hunt, that of 03 is a race. 01 and 02 are part 1. Nobody has begun."""
    (root / "CMakeLists.txt").write_text("project(x)\n" + "".join(f"gemm_lesson({name})\n" for name in LESSONS))
    for index, name in enumerate(LESSONS):
        number = name[:2]
        (root / name).mkdir(exist_ok=True)
        (root / name / "kernel.cu").write_text(KERNEL.format(number=number, lesson=name))
        hunt = _HUNT.format(race=index == 2) if index else "None"
        (root / name / "exercise.py").write_text(_EXERCISE.format(hunt=hunt))
        (root / "exercises" / name).mkdir(parents=True, exist_ok=True)
        variant = {"text": "bf16", "architectures": {"exactly": "90a"} if index == 3 else {"from": 80}}
        ladder = "fp32" if index < 2 else "tensorcore"
        describe(root / "build" / "cpu", name, part=1 + index // 2, ladder=ladder, variants=[variant])
