"""What only a run on a GPU covers: files that the CPU device's build leaves out, and branches of the preprocessor in others."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

from runner.core.results import ROOT

_CONDITION = re.compile(r"#\s*(if|ifdef|ifndef|elif|else|endif)\b(.*)")


def _left_out(kind: str, condition: str) -> bool:
    """Whether a branch that begins so is not the CPU device's. An #else is what the branch before it is not."""
    negative = kind == "ifndef" or "!defined(GEMM_CPU_DEVICE)" in condition
    if "GEMM_CPU_DEVICE" in condition:
        return negative
    return "__CUDA" in condition and not negative


def lines_left_out(text: str) -> int:
    """How many lines of a C++ file only nvcc sees."""
    stack: list[bool] = []
    decided: list[bool] = []  # of each level: whether a branch of it depends on who compiles
    count = 0
    for line in text.splitlines():
        if found := _CONDITION.match(line):
            kind, condition = found.groups()
            if kind.startswith("if"):
                stack.append(_left_out(kind, condition))
                decided.append("GEMM_CPU_DEVICE" in condition or "__CUDA" in condition)
            elif kind == "endif":
                stack.pop()
                decided.pop()
            elif kind == "elif":
                stack[-1] = _left_out("if", condition)
                decided[-1] = decided[-1] or stack[-1]
            else:
                stack[-1] = decided[-1] and not stack[-1]
        elif any(stack):
            count += bool(line.strip())
    return count


def files(build: Path) -> list[str]:
    """Those that the CPU device's build leaves out, as CMake wrote them down; none of another build."""
    listed = build / "gpu_only.json"
    return json.loads(listed.read_text(encoding="utf-8"))["files"] if listed.is_file() else []


def told(build: Path) -> str:
    """A paragraph that lists it; empty for a build that runs on a GPU."""
    if not (alone := files(build)):
        return ""
    inside: Counter[str] = Counter()
    for folder in ("common", "runner/programs"):
        for path in (ROOT / folder).rglob("*.[ch]pp"):
            if (name := path.relative_to(ROOT).as_posix()) not in alone:
                inside[str(Path(name).parent)] += lines_left_out(path.read_text(encoding="utf-8"))
    parts = [f"{count} lines in {folder}" for folder, count in sorted(inside.items()) if count]
    return f"Only a run on a GPU covers: {', '.join(alone)}; and, inside #ifdef, {', '.join(parts)}."
