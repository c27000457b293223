"""`./gemm explore`: what gemm_inspect knows of a kernel, as one HTML file to point at."""

from __future__ import annotations

import base64
import html
import json
from pathlib import Path
from typing import TypedDict

from runner.core.results import UserError
from runner.inspect.trace_types import Trace

SCHEMA = 1  # of the payload; website/explorer/payload.js reads the same
FRONT = Path(__file__).resolve().parent / "explorer"


class Source(TypedDict):
    file: str
    lines: list[str]


class Payload(TypedDict):
    """What the page shows; website/explorer/payload.js has the same type."""

    schema: int
    lesson: str
    title: str
    mine: bool
    trace: Trace
    sources: list[Source]
    descriptor: dict  # the lesson's entry of lessons.json
    recorded: dict | None  # device, date, commit, runs
    machines: dict[str, dict]  # limits of an SM, by architecture


# The page


def modules() -> dict[str, str]:
    """The explorer's JavaScript by the names that the modules import each other by: explorer/state."""
    return {f"explorer/{path.stem}": path.read_text(encoding="utf-8") for path in sorted(FRONT.glob("*.js"))}


def imports() -> str:
    """An import map that holds the modules themselves, as data: URLs, so that the page opens from a file and asks nobody."""
    urls = {
        name: "data:text/javascript;base64," + base64.b64encode(code.encode()).decode("ascii") for name, code in modules().items()
    }
    return json.dumps({"imports": urls})


def _embedded(value: object) -> str:
    """JSON that may stand in a <script>."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def page(payload: Payload) -> str:
    """The page that shows it. A UserError where it is of another schema."""
    found = payload.get("schema")
    if found != SCHEMA:
        raise UserError(f"The explorer reads data of schema {SCHEMA}, not {found!r}; trace the kernel again.")
    text = (FRONT / "index.html").read_text(encoding="utf-8")
    for name, value in (
        ("@TITLE@", html.escape(payload["title"])),
        ("@STYLE@", (FRONT / "style.css").read_text(encoding="utf-8")),
        ("@IMPORTS@", imports()),
        ("@PAYLOAD@", _embedded(payload)),
    ):
        text = text.replace(name, value)
    return text
