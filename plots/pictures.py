"""The explanatory pictures of the lessons: each is drawn by the picture.py beside its kernel.cu, which is found by its place.

A picture.py has `picture(lesson: Descriptor) -> Figure`, and for a second question, in a picture of its own,
`picture_threads(lesson)` with any word for `threads`: it becomes 03_smem_threads.png beside 03_smem.png. Where the matrices
stand in a picture, they meet: A on the left of C, B above it, so that a row of A and a column of B cross at their element of
C. Coordinates are inches from the top left corner.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

from matplotlib.figure import Figure

from plots.style import save, style
from runner.core.descriptors import Descriptor
from runner.core.results import UserError, folder_of, lessons

FILE = "picture.py"


def lessons_with_pictures(root: Path) -> list[str]:
    """Those of the course that have a picture.py."""
    return [lesson for lesson in lessons(root) if (root / folder_of(lesson, root) / FILE).exists()]


def module_of(file: Path) -> ModuleType:
    """A picture.py, imported."""
    spec = importlib.util.spec_from_file_location(f"picture_of_{file.parent.name}", file)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _drawings(file: Path) -> dict[str, Callable[[Descriptor], Figure]]:
    """The functions of a picture.py that draw, by what their file's name has behind the lesson's: "" and "_threads"."""
    functions = vars(module_of(file))
    if "picture" not in functions:
        raise UserError(f"{file} has no picture(lesson), which draws the lesson's picture; define it.")
    return {name.removeprefix("picture"): drawn for name, drawn in functions.items() if re.fullmatch(r"picture(_[a-z]+)?", name)}


def draw(root: Path, lesson: Descriptor, out_stem: Path) -> list[Path]:
    """Draws the pictures of `lesson`, by the picture.py in its folder below `root`, to out_stem.png and .svg, and
    out_stem_threads.png and so on where there are more. Returns the files, a picture's PNG before its SVG."""
    drawings = _drawings(root / lesson.folder / FILE)
    with style():
        files = [save(drawn(lesson), out_stem.with_name(out_stem.name + more)) for more, drawn in drawings.items()]
    return [file for pair in files for file in pair]


def draw_all(root: Path, described: Mapping[str, Descriptor], folder: Path) -> list[Path]:
    """Every lesson's picture, into `folder`. Returns the files."""
    return [path for name in lessons_with_pictures(root) for path in draw(root, described[name], folder / name)]
