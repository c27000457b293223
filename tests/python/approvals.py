"""What people read, held against texts that somebody has read and approved: tests/python/approved/NAME.txt, in which each text
stands below a line `== its key`. GEMM_APPROVE=1 writes what is said now; git diff shows what is new about it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

_FOLDER = Path(__file__).resolve().parent / "approved"


def hold(name: str, now: Mapping[str, str]) -> None:
    """Of a sample of the keys; spaces at the ends of lines, and the last line's end, do not matter."""
    file = _FOLDER / f"{name}.txt"
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    before = dict(re.findall(r"^== (.*)\n((?:(?!== ).*\n)*)", text, re.MULTILINE))
    said = {key: "".join(f"{line.rstrip()}\n" for line in told.splitlines()) for key, told in now.items()}
    if os.environ.get("GEMM_APPROVE"):
        _FOLDER.mkdir(exist_ok=True)
        before |= said
        file.write_text("".join(f"== {key}\n{before[key]}" for key in sorted(before)), encoding="utf-8")
    assert said == {key: before.get(key) for key in said}
