"""`python3 -m runner.learn.starters [--check]`: writes every exercise.cu and bug_hunt.cu, or says which of them differ.

For authors: what learners have written there is overwritten.
"""

from __future__ import annotations

import sys

from runner.core.results import ROOT, write_atomically
from runner.learn.exercise import tasks


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print("usage: python3 -m runner.learn.starters [--check]", file=sys.stderr)
        return 2
    different = [t for t in tasks() if not t.file.exists() or t.file.read_text(encoding="utf-8") != t.starter()]
    names = ", ".join(str(t.file.relative_to(ROOT)) for t in different)
    if arguments:
        if different:
            print(f"Not what kernel.cu and exercise.py give: {names}; run python3 -m runner.learn.starters.", file=sys.stderr)
        return 1 if different else 0
    for t in different:
        write_atomically(t.file, t.starter())
    print(f"Written: {names}." if names else "All are as they should be.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
