"""Who imports whom: dependencies point one way, also those that an import inside a function would hide."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.core.results import ROOT

# A room, and what it may import beside itself. DESIGN: core <- inspect <- {learn, measure}; learn <- grading.
ROOMS = {
    "runner.core": set(),
    "plots": {"runner.core"},
    "runner.inspect": {"runner.core", "plots"},
    "runner.learn": {"runner.core", "runner.inspect"},
    "runner.measure": {"runner.core", "runner.inspect", "plots"},
    "runner.grading": {"runner.core", "runner.learn"},
    "website": {"runner.core", "runner.inspect", "runner.learn", "plots"},
    # A lesson's exercise.py, tune.py and picture.py say things in the words that these rooms define.
    "lessons": {"runner.core", "runner.inspect", "runner.learn", "runner.measure", "plots"},
    "runner": {"runner.core", "runner.inspect", "runner.learn", "runner.measure", "runner.grading", "website"},
}


def room(module: str) -> str | None:
    """The room of a dotted name; None outside the project."""
    parts = module.split(".")
    if parts[0] in ("plots", "website"):
        return parts[0]
    if parts[0] != "runner":
        return None
    name = ".".join(parts[:2])
    return name if name in ROOMS else "runner"


def imports(tree: ast.AST) -> Iterator[str]:
    """Dotted names of everything that the code imports, wherever it does so."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def sources(root: Path) -> Iterator[tuple[Path, str]]:
    """Every Python file of the project's own with its room."""
    for file in sorted(root.glob("runner/**/*.py")):
        yield file, room(".".join(file.relative_to(root).with_suffix("").parts)) or ""
    for name in ("plots", "website"):
        for file in sorted(root.glob(f"{name}/**/*.py")):
            yield file, name
    for file in sorted(root.glob("[0-9]*/**/*.py")):
        yield file, "lessons"


def wrong(root: Path) -> list[str]:
    """Imports against the direction, each as a line."""
    found = []
    for file, mine in sources(root):
        for name in imports(ast.parse(file.read_text(encoding="utf-8"))):
            theirs = room(name)
            if theirs and theirs != mine and theirs not in ROOMS[mine]:
                found.append(f"{file.relative_to(root)} ({mine}) imports {name} ({theirs})")
    return found


def test_imports_between_rooms_point_one_way() -> None:
    assert wrong(ROOT) == []


def test_the_directions_allow_no_cycle() -> None:
    order: list[str] = []
    left = dict(ROOMS)
    while left:
        free = [name for name, needs in left.items() if needs <= set(order)]
        assert free, f"a cycle among {sorted(left)}"
        order += free
        for name in free:
            del left[name]
    assert order[0] == "runner.core"


@pytest.mark.parametrize(
    ("file", "text", "bad"),
    [
        ("runner/core/a.py", "def f():\n    from runner.learn import check\n", True),
        ("runner/core/a.py", "import runner.inspect.counts\n", True),
        ("runner/inspect/a.py", "from runner.measure.chart import x\n", True),
        ("runner/learn/a.py", "from runner.core import process\nfrom runner.inspect import counts\n", False),
        ("plots/a.py", "if True:\n    from runner.measure import chart\n", True),
        ("03_smem/exercise.py", "from runner.grading import grade\n", True),
        ("09_tensorcore/a_wmma/exercise.py", "from runner.learn import quiz\n", False),
    ],
)
def test_an_import_against_the_direction_is_found(tmp_path: Path, file: str, text: str, bad: bool) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text)
    assert bool(wrong(tmp_path)) == bad
