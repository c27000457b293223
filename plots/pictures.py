"""The explanatory pictures of the lessons: each is drawn by the picture.py beside its kernel.cu, which is found by its place.

A picture.py has `picture(lesson: Descriptor) -> Figure`. Where the matrices stand in it, they meet: A on the left of C, B above
it, so that a row of A and a column of B cross at their element of C. Coordinates are inches from the top left corner.
"""

from __future__ import annotations

import importlib.util
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


def _drawing(file: Path) -> Callable[[Descriptor], Figure]:
    """The picture() of a picture.py."""
    try:
        return module_of(file).picture
    except AttributeError as error:
        raise UserError(f"{file} has no picture(lesson), which draws the lesson's picture; define it.") from error


def draw(root: Path, lesson: Descriptor, out_stem: Path) -> list[Path]:
    """Draws the picture of `lesson`, by the picture.py in its folder below `root`, to out_stem.png and .svg."""
    with style():
        return save(_drawing(root / lesson.folder / FILE)(lesson), out_stem)


def draw_all(root: Path, described: Mapping[str, Descriptor], folder: Path) -> list[Path]:
    """Every lesson's picture, into `folder`. Returns the files."""
    return [path for name in lessons_with_pictures(root) for path in draw(root, described[name], folder / name)]
