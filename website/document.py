"""A page as one HTML document, which needs no other file and asks for none: a template with styles, modules and data in it."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

EXPLORER = Path(__file__).resolve().parent / "explorer"


def embedded(value: object) -> str:
    """JSON that may stand in a <script>."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def url(module: str) -> str:
    """A module's text as an address that it can be imported from."""
    return "data:text/javascript;base64," + base64.b64encode(module.encode()).decode("ascii")


def document(
    folder: Path, modules: Sequence[str], payload: Mapping[str, object], shared: Sequence[str] = ("dom", "theme")
) -> str:
    """The folder's index.html with the explorer's styles and its own, its modules by the names that they import each other by
    (folder/name), and those that the page shares with the explorer."""
    files = {f"explorer/{name}": EXPLORER / f"{name}.js" for name in shared}
    files |= {f"{folder.name}/{name}": folder / f"{name}.js" for name in modules}
    styles = (EXPLORER / "style.css", folder / "style.css")
    text = (folder / "index.html").read_text(encoding="utf-8")
    for name, value in (
        ("@STYLE@", "".join(path.read_text(encoding="utf-8") for path in styles)),
        ("@IMPORTS@", embedded({"imports": {name: url(path.read_text(encoding="utf-8")) for name, path in files.items()}})),
        ("@PAYLOAD@", embedded(payload)),
    ):
        text = text.replace(name, value)
    return text
