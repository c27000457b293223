"""report.py GRADES.JSON REQUIRED: tells GitHub what ./gemm grade found of one submission. Needs only Python itself.

REQUIRED: names of tasks that must pass, such as 01,03-hunt; all where it is empty. Exit status: 0 they have, 1 they have not, 2
GRADES.JSON has more or fewer than one submission, or nothing that is required.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

WORDS = {"passed": "passed", "untouched": "not begun", "missing": "not handed in", "refused": "could not be read"}


def short(key: str) -> str:
    """`03_smem/hunt` -> `03-hunt`, as --tasks has it."""
    lesson, _, kind = key.partition("/")
    return lesson.partition("_")[0] + ("-hunt" if kind == "hunt" else "")


def main(file: str, required: str) -> int:
    learners = json.loads(Path(file).read_text(encoding="utf-8"))["learners"]
    if len(learners) != 1:
        print(f"There are {len(learners)} submissions; this grades one.", file=sys.stderr)
        return 2
    states = {short(key): result["state"] for key, result in learners[0]["results"].items()}
    wanted = [name.strip() for name in required.split(",")] if required else list(states)
    if unknown := [name for name in wanted if name not in states]:
        print(f"REQUIRED names {', '.join(unknown)}, which TASKS does not.", file=sys.stderr)
        return 2
    passed = sum(state == "passed" for state in states.values())
    lines = [f"{passed} of {len(states)} passed.", "", "| task | |", "| :-- | :-- |"]
    lines += [f"| {name} | {WORDS.get(state, 'not passed')} |" for name, state in states.items()]
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as page:
            page.write("\n".join(lines) + "\n")
    if os.environ.get("GITHUB_ACTIONS") == "true":
        # What GitHub Classroom read the points from.
        points = json.dumps({"totalPoints": passed, "maxPoints": len(states)})
        print(f"::notice title=Autograding complete::Points {passed}/{len(states)}")
        print(f"::notice title=Autograding report::{points}")
    return 0 if all(states[name] == "passed" for name in wanted) else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
