"""A page on which one types layouts and sees what lesson 20's operations make of them, computed by the reader's browser."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlencode

from runner.core.process import say
from runner.core.results import ROOT, write_atomically
from website.document import document

HEADER = Path("20_layout_algebra") / "layout.hpp"
_CASE = re.compile(r'case Rule::(\w+):\s*return ((?:"[^"]*"\s*)+);')


def rules(root: Path = ROOT) -> dict[str, str]:
    """The header's sentence for each rule that an operation can break."""
    text = (root / HEADER).read_text(encoding="utf-8")
    return {name: "".join(re.findall(r'"([^"]*)"', said)) for name, said in _CASE.findall(text) if name != "none"}


def page(root: Path = ROOT) -> str:
    """The page as one HTML document. What it shows first is in its address: #a=(4,8):(8,1)&operation=tile&b=(2,4)."""
    return document(Path(__file__).resolve().parent, ["algebra", "text", "operations", "main"], {"rules": rules(root)})


def write(file: Path, text: str, options: Mapping[str, str | None]) -> None:
    """Writes the page, and says at which address it shows the layout and the last of ./gemm layout's operations."""
    write_atomically(file, page())
    asked = {"a": text, "operation": "show"}
    for key, operand in options.items():
        if operand is not None and key != "--svg":
            asked |= {"operation": key.removeprefix("--").replace("-", "_"), "b": operand}
    say(f"Open {file.resolve().as_uri()}#{urlencode(asked)} in a browser.")
