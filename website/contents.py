"""What the site's pages are: the Markdown files, the sources that they link to, the exercises' starts, and where each of them
stands in the navigation."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from runner.core.descriptors import PARTS, Descriptor
from runner.learn.exercise import Task, content

_LARGEST = 1 << 17  # bytes of a file that is shown; a larger one is copied
_SKIPPED = {"build", "out", "exercises", "node_modules", "__pycache__"}

Kind = Literal["text", "source", "folder", "start", "starts", "framed", "copy"]


@dataclass(frozen=True)
class Page:
    """One of the site's. `uri`: the file that MkDocs believes it to be; `file`: what it shows, below the repository's root."""

    uri: str
    kind: Kind
    file: PurePosixPath
    lesson: str = ""  # of a start

    @property
    def address(self) -> str:
        """Where it is in the site."""
        folder, name = posixpath.split(self.uri)
        if self.kind == "copy":
            return self.uri
        return posixpath.join(folder, "index.html" if name in ("README.md", "index.md") else name[: -len(".md")] + ".html")


def texts(root: Path) -> Iterator[Page]:
    """Every Markdown file that is not built, installed or hidden."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED and not name.startswith("."))
        for name in sorted(files):
            if name.endswith(".md"):
                file = PurePosixPath((Path(folder) / name).relative_to(root).as_posix())
                yield Page(str(file), "text", file)


def page_of(root: Path, file: PurePosixPath) -> Page | None:
    """The page for what a link names, None where nothing is there."""
    real = root / file
    uri = "/".join(part.lstrip(".") for part in file.parts)  # MkDocs leaves hidden files out
    if real.is_dir():
        if (real / "README.md").is_file():
            return Page(f"{uri}/README.md" if uri else "README.md", "text", file / "README.md")
        return Page(f"{uri}/index.md", "folder", file)
    if not real.is_file():
        return None
    if file.suffix == ".md":
        return Page(uri, "text", file)
    if real.stat().st_size <= _LARGEST and b"\0" not in real.read_bytes():
        return Page(f"{uri}.md", "source", file)
    return Page(uri, "copy", file)


def listing(root: Path, folder: PurePosixPath) -> list[PurePosixPath]:
    """What a folder's page names: folders first."""
    found = [path for path in (root / folder).iterdir() if path.name not in _SKIPPED and not path.name.startswith(".")]
    return [folder / path.name for path in sorted(found, key=lambda path: (not path.is_dir(), path.name))]


def starts(lessons: Sequence[Descriptor]) -> list[Page]:
    """A page for each lesson's exercise and bug hunt, and one that lists them."""
    pages = [Page(f"exercises/{one.name}.md", "start", PurePosixPath(one.folder), one.name) for one in lessons]
    return [Page("exercises/index.md", "starts", PurePosixPath("exercises")), *pages]


def tasks(root: Path, lesson: str) -> list[Task]:
    """A lesson's exercise, and its bug hunt if it has one."""
    return [Task(lesson, "exercise", root), *([Task(lesson, "hunt", root)] if content(lesson, root).hunt else [])]


def evidence(lesson: Descriptor) -> str:
    """The file of the measurements behind a lesson, which not every lesson has."""
    return f"{lesson.folder}/EVIDENCE.md"


def navigation(root: Path, lessons: Sequence[Descriptor], titles: dict[str, str], framed: Mapping[str, str]) -> list[object]:
    """MkDocs's nav: parts, in each its lessons, in a lesson of several steps its own text first, below a lesson its evidence.
    `titles`: of texts, by file; `framed`: of pages of their own, by folder."""
    parts: dict[int, list[object]] = {}
    steps: dict[str, list[object]] = {}
    for one in lessons:
        section = parts.setdefault(one.part, [])
        above = posixpath.dirname(one.folder)
        if above and (root / above / "README.md").is_file():
            if above not in steps:
                title = titles[f"{above}/README.md"].split(":")[0]
                steps[above] = [{title: f"{above}/README.md"}]
                section.append({title.split(",")[0]: steps[above]})
            section = steps[above]
        section.append({titles[f"{one.folder}/README.md"].split(":")[0]: f"{one.folder}/README.md"})
        if evidence(one) in titles:
            section.append({f"{one.number}: the evidence": evidence(one)})
    return [
        {"Start": "README.md"},
        *({f"Part {part}: {PARTS.get(part, 'more lessons')}": inside} for part, inside in parts.items()),
        {"Exercises": [{"All exercises": "exercises/index.md"}, *({one.number: f"exercises/{one.name}.md"} for one in lessons)]},
        {"What was measured": "plots/README.md"},
        {"Glossary": "GLOSSARY.md"},
        *({title: f"{name}/index.md"} for name, title in framed.items()),
        {"Your own kernel": "OWN_KERNEL.md"},
        {"Teaching": "classroom/README.md"},
        {"Contributing": "CONTRIBUTING.md"},
        {"Changelog": "CHANGELOG.md"},
    ]
