"""Two lessons with exercises: 01_naive, and 02_coalesced, which has a bug hunt. Both have a quiz of one question."""

from __future__ import annotations

from pathlib import Path

KERNEL = """// The kernel.
namespace lesson_{number} {{
// gap: body
int right;
// end gap
const char* name = "{lesson}";
}}
"""
EXERCISE = """
from runner.learn.exercise import Exercise, Gap, Hunt
HINTS = ("Look at row {number}.", "Look at\\n    C[row];", "Write C[row].")
EXERCISE = Exercise("write it.", {{"body": Gap("write it.")}}, HINTS, "never written")
HUNT = {hunt}
QUIZ = ("a question",)
"""


def with_exercises(root: Path) -> None:
    """Gives the lessons of a checkout their kernel.cu and exercise.py; the learner has not begun."""
    for lesson in ("01_naive", "02_coalesced"):
        number = lesson[:2]
        hunt = 'Hunt("find it.", {"int right;": "int wrong;"}, HINTS, "out of bounds")' if number == "02" else "None"
        (root / lesson / "kernel.cu").write_text(KERNEL.format(number=number, lesson=lesson))
        (root / "exercises" / lesson).mkdir(parents=True, exist_ok=True)
        (root / lesson / "exercise.py").write_text(EXERCISE.format(number=number, hunt=hunt))
