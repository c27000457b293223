"""The running text of a lesson's two pages: what is left without code, tables, captions, pictures and comments.

README.md teaches, EVIDENCE.md proves. A README.md without the other is no lesson's: a folder's of several steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from plots import tables
from runner.core.results import folder_of, lessons

README, EVIDENCE = "README.md", "EVIDENCE.md"
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_ITEM = re.compile(r"\s*(?:[-*+]|\d+\.)\s")
_NO_PROSE = re.compile(r"#|\s*[|<]|\s*!\[")
_LINK = re.compile(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_CODE = re.compile(r"`[^`]*`")
_WORD = re.compile(r"[A-Za-z0-9][\w'’.,×³·/%-]*")
_END = re.compile(r"[.!?][)\"”’]*\s+(?=[A-Z0-9(“\"])")


@dataclass(frozen=True)
class Paragraph:
    """A paragraph or an item of a list. Of a link only its words are left, of a piece of code the word `code`."""

    section: str
    folded: bool  # in <details>
    line: int  # in the file, from 1
    text: str  # with the file's line breaks

    def sentences(self) -> Iterator[tuple[int, str]]:
        """Each with the line on which it begins."""
        start = 0
        for end in [*(match.end() for match in _END.finditer(self.text)), len(self.text)]:
            yield self.line + self.text.count("\n", 0, start), self.text[start:end]
            start = end


def of_lesson(page: Path) -> bool:
    """Whether a Markdown file is one of a lesson's two pages."""
    return page.name in (README, EVIDENCE) and (page.parent / EVIDENCE).exists()


def pages(root: Path) -> list[tuple[str, Path]]:
    """The lesson and the file of every lesson's page that is there."""
    homes = [(lesson, root / folder_of(lesson, root)) for lesson in lessons(root)]
    return [(lesson, home / name) for lesson, home in homes for name in (README, EVIDENCE) if of_lesson(home / name)]


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Number and text of the lines outside of fenced code and of generated tables, whose captions go with them."""
    fence, generated = "", False
    text = _COMMENT.sub(lambda match: "\n" * match[0].count("\n") if "\n" in match[0] else match[0], text)
    for number, line in enumerate(text.splitlines(), 1):
        mark, marker = tables.FENCE.match(line), tables.MARKER.match(line)
        if mark and not fence:
            fence = mark[1]
        elif fence:
            fence = "" if line.strip().startswith(fence) else fence
        elif marker:
            generated = bool(marker["open"])
        elif not generated:
            yield number, line


def _is_caption(text: str) -> bool:
    return bool(re.fullmatch(r"\*(?![*\s]).*[^*]\*", text, re.DOTALL))


def paragraphs(page: Path) -> Iterator[Paragraph]:
    """Those of the running text, those in folds included."""
    section, folded, first, found = "", False, 0, list[str]()
    for number, line in [*_lines(page.read_text(encoding="utf-8")), (0, "")]:
        beside = not line.strip() or _NO_PROSE.match(line) or (not found and re.match(r" {4}|\t", line))
        if found and (beside or _ITEM.match(line) or number != first + len(found)):
            text = "\n".join(found)
            if not _is_caption(text):
                text = _CODE.sub("`code`", _COMMENT.sub("", _LINK.sub(r"\1", text))).replace("*", "")
                yield Paragraph(section, folded, first, text)
            found = []
        if line.startswith("## "):
            section = line.removeprefix("## ").strip()
        folded = ("<details" in line or folded) and "</details" not in line
        if not beside:
            first = first if found else number
            found.append(line)


def sections(page: Path) -> list[str]:
    """The headings of the second level."""
    return [line.removeprefix("## ").strip() for _, line in _lines(page.read_text(encoding="utf-8")) if line.startswith("## ")]


def words(page: Path) -> int:
    """How many words of running text a page has outside of folds."""
    return sum(len(_WORD.findall(paragraph.text)) for paragraph in paragraphs(page) if not paragraph.folded)


def tables_of(page: Path) -> list[list[list[str]]]:
    """The cells of each table, its header first, without marks of bold and code."""
    found: list[list[list[str]]] = [[]]
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            found[-1].append([cell.strip(" *`") for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif found[-1]:
            found.append([])
    return [[table[0], *table[2:]] for table in found if table]
