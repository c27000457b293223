"""Builds the site with MkDocs, in a process of its own: `python -m website.builder LESSONS.json FOLDER [EXPLORERS]`. It prints
the runner's progress lines, and a sentence for each problem; exit status 1 then.

MkDocs and its theme give the frame: navigation, search, colours. What stands in a page comes from texts.py.
"""

from __future__ import annotations

import html
import logging
import posixpath
import re
import shutil
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from markdown.extensions.toc import nest_toc_tokens
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import MkDocsException
from mkdocs.plugins import BasePlugin, event_priority
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page as Rendered
from mkdocs.structure.toc import get_toc

from runner.core.descriptors import Descriptor, all_described
from runner.core.results import ROOT, UserError, folder_of, former_folder, former_names
from website import at_work, atlas, beside, contents
from website.at_work import row
from website.contents import Page
from website.texts import Heading, Reader, Term, Text, source

_GLOSSARY = "GLOSSARY.md"
_EVERYDAY = (  # outside of the lessons
    "atom", "batch", "box", "composition", "divide", "hit", "layout", "mode", "phase", "place", "product", "stage",
)  # fmt: skip
_ATLAS, _ATLAS_URI = "atlas", "atlas/index.md"
# Pages of their own: folders of website/, and titles.
_FRAMED = {_ATLAS: "Shape atlas", "progress": "Your progress", "layouts": "Layouts"}
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
HERE = Path(__file__).resolve().parent


class Broken(Exception):
    """The texts do not fit together: a sentence for each place."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))


@dataclass
class Course(BasePlugin):
    """What MkDocs asks for the pages. A plugin, since it calls those at each step of a build."""

    root: Path
    lessons: list[Descriptor]
    explorers: dict[str, Path] = field(default_factory=dict)  # by lesson

    def __post_init__(self) -> None:
        self.reader = Reader()
        self.pages: dict[str, Page] = {}  # by uri
        self.texts: dict[str, Text] = {}
        self.problems: list[str] = []
        self.anchors: list[tuple[Page, str, Page, str]] = []  # page, what its link says, where that leads: page, anchor
        self.framed = {name: title for name, title in _FRAMED.items() if (self.root / "website" / name / "__init__.py").is_file()}
        self.atlas = atlas.lessons(self.root) if _ATLAS in self.framed else {}  # types by the lesson that was measured
        if not self.atlas:
            self.framed.pop(_ATLAS, None)
        self.done = 0

    # What is there

    def collect(self) -> None:
        """Reads the texts, and follows their links to everything that is to be a page. Raises Broken."""
        for page in contents.texts(self.root):
            self._add(page)
        for page in contents.starts(self.lessons):
            self._add(page)
        for one in self.lessons:
            self._add_file(PurePosixPath(one.folder) / "kernel.cu")
        for name in self.framed:
            self._add(Page(f"{name}/index.md", "framed", PurePosixPath("website") / name))
        known = len(self.texts)
        for page in list(self.pages.values()):
            if page.kind == "text":
                self.texts[page.uri].relink(partial(self._resolved, page))
        assert known == len(self.texts)
        for page, said, there, anchor in self.anchors:
            if anchor not in self._ids(there):
                self.problems.append(f"{page.file} links to {said}: {there.file} has no such heading or line.")
        if self.problems:
            raise Broken(self.problems)
        self.glossary = self.reader.glossary(self.texts[_GLOSSARY])

    def _add(self, page: Page) -> Page:
        if page.uri in self.pages:
            return self.pages[page.uri]
        self.pages[page.uri] = page
        if page.kind == "text":
            self.texts[page.uri] = self.reader.read((self.root / page.file).read_text(encoding="utf-8"))
        if page.kind == "folder":
            for file in contents.listing(self.root, page.file):
                self._add_file(file)
        return page

    def _add_file(self, file: PurePosixPath) -> Page | None:
        page = contents.page_of(self.root, file)
        return self._add(page) if page else None

    def _resolved(self, page: Page, target: str, picture: bool) -> str:
        """A link of a text, as the site has it."""
        if _SCHEME.match(target):
            if picture:
                self.problems.append(f"{page.file} shows {target}, which a reader without a network would not see; add the file.")
            return target
        name, _, anchor = target.partition("#")
        place = posixpath.normpath(posixpath.join(str(page.file.parent), name)) if name else str(page.file)
        there = None if place.startswith("..") else self._add_file(PurePosixPath(place))
        if there is None or (picture and there.kind != "copy" and not place.endswith(".svg")):
            verb = "shows the picture" if picture else "links to"
            self.problems.append(f"{page.file} {verb} {target}, which does not exist.")
            return target
        if picture and there.kind != "copy":  # an SVG is text
            there = self._add(Page(place, "copy", PurePosixPath(place)))
        if anchor:
            self.anchors.append((page, target, there, anchor))
        link = "" if there == page and anchor else self._link(page, there)
        return link + (f"#{anchor}" if anchor else "")

    def _ids(self, page: Page) -> set[str]:
        if page.kind == "text":
            return self.texts[page.uri].ids()
        if page.kind == "source":
            lines = (self.root / page.file).read_text(encoding="utf-8", errors="replace").count("\n") + 1
            return {f"L{number + 1}" for number in range(lines)}
        return set()

    @staticmethod
    def _link(page: Page, there: Page) -> str:
        return posixpath.relpath(there.address, posixpath.dirname(page.address) or ".")

    def _to(self, page: Page, uri: str) -> str:
        return self._link(page, self.pages[uri])

    # What MkDocs asks

    def on_config(self, config: MkDocsConfig) -> MkDocsConfig:
        """The navigation."""
        titles = {uri: re.sub(r"<[^>]+>", "", text.title) for uri, text in self.texts.items()}
        config.nav = contents.navigation(self.root, self.lessons, titles, self.framed)
        return config

    def on_nav(self, nav: Navigation, config: MkDocsConfig, files: Files) -> Navigation:
        """Who reads on comes from a lesson to the next one, not to the evidence."""
        beside = {contents.evidence(one) for one in self.lessons}
        for page in (page for page in nav.pages if page.file.src_uri in beside):
            page.previous_page.next_page = page.next_page
            page.next_page.previous_page = page.previous_page
        return nav

    def on_files(self, files: Files, config: MkDocsConfig) -> Files:
        """All pages, and what they show."""
        for page in self.pages.values():
            if page.kind == "copy":
                files.append(File.generated(config, page.uri, abs_src_path=str(self.root / page.file)))
            else:
                files.append(File.generated(config, page.uri, content="", inclusion=InclusionLevel.INCLUDED))
        for old, now in self._moved():
            files.append(File.generated(config, old, content=_leading(posixpath.relpath(now, posixpath.dirname(old)))))
        for path in self.explorers.values():
            files.append(File.generated(config, f"explore/{path.name}", abs_src_path=str(path)))
        for name in self.framed:
            files.append(File.generated(config, f"{name}/page.html", content=self._own_page(name)))
        return files

    def on_page_markdown(self, _markdown: str, /, *, page: Rendered, **_: Any) -> str:
        """Nothing for MkDocs to render; what is not prose is not searched."""
        mine = self.pages[page.file.src_uri]
        if mine.kind in ("source", "folder", "start"):
            page.meta["search"] = {"exclude": True}
        if mine.uri in {contents.evidence(one) for one in self.lessons}:
            page.meta["search"] = {"boost": 0.5}  # the lesson comes first
        if mine.kind in ("source", "folder"):
            page.meta["title"] = str(mine.file)
        if mine.kind in ("source", "folder", "framed"):
            page.meta["hide"] = ["toc"]
        return ""

    @event_priority(100)  # before the search reads it
    def on_page_content(self, _html: str, /, *, page: Rendered, **_: Any) -> str:
        """The page itself."""
        mine = self.pages[page.file.src_uri]
        written, headings = getattr(self, f"_{mine.kind}")(mine)
        tokens = [{"level": one.level, "id": one.id, "name": one.text, "html": one.text} for one in headings]
        page.toc = get_toc(nest_toc_tokens(tokens))
        self.done += 1
        print(f"progress {self.done} {sum(one.kind != 'copy' for one in self.pages.values())} {mine.file}", flush=True)
        return str(written)

    @event_priority(100)  # before the search is written
    def on_post_build(self, *, config: MkDocsConfig, **_: Any) -> None:
        """The glossary's terms are found by themselves."""
        where = Page(_GLOSSARY, "text", PurePosixPath(_GLOSSARY)).address
        for name in ("search", "material/search"):
            if name in config.plugins:
                config.plugins[name].search_index.entries.extend(
                    {"location": f"{where}#{term.id}", "title": term.name, "text": term.meaning}
                    for term in self.glossary.terms.values()
                )
                return

    def _known(self, page: Page, term: Term) -> bool:
        """Whether a word means on a page what the glossary says: in lessons from the one on that explains it, since a phase or a
        place is an everyday word before."""
        order = [one.folder for one in self.lessons]
        here = next((i for i, folder in enumerate(order) if f"{folder}/".startswith(f"{page.file.parent}/")), None)
        where = PurePosixPath(term.explained.removesuffix("index.html").rstrip("/"))
        there = next((i for i, folder in enumerate(order) if f"{folder}/".startswith(f"{where}/")), 0)
        return term.name not in _EVERYDAY if here is None else there <= here

    def _moved(self) -> list[tuple[str, str]]:
        """Addresses of pages of lessons that had another name, and where these are now."""
        moved = []
        for former, name in former_names(self.root).items():
            pages = [(f"{former_folder(former, self.root)}/{file}", f"{folder_of(name, self.root)}/{file}")
                     for file in ("README.md", "EVIDENCE.md", "kernel.cu.md")]  # fmt: skip
            pages.append((f"exercises/{former}.md", f"exercises/{name}.md"))
            moved += [(Page(old, "text", PurePosixPath(old)).address, self.pages[uri].address)
                      for old, uri in pages if old not in self.pages and uri in self.pages]  # fmt: skip
            if name in self.explorers:
                moved.append((f"explore/{former}.html", f"explore/{self.explorers[name].name}"))
        return moved

    # Kinds of pages: their HTML, and their headings

    def _text(self, page: Page) -> tuple[str, list[Heading]]:
        text, headings = self.texts[page.uri], list(self.texts[page.uri].headings)
        glossary = "" if page.uri == _GLOSSARY else self._to(page, _GLOSSARY)
        terms = text.explain(self.glossary, glossary, partial(self._known, page)) if glossary else []
        written = self.reader.write(text)
        if page.uri == "README.md":
            begin, end, rest = written.partition("</p>")  # of its first paragraph
            written = begin + end + self._beside_each_other(page) + rest
        for one in self.lessons:
            if page.uri == contents.evidence(one):
                lesson = row([("the lesson", self._to(page, f"{one.folder}/README.md"))])
                written = written.replace("</h1>", "</h1>" + lesson, 1) + lesson
            if page.uri == f"{one.folder}/README.md":
                written = written.replace("</h1>", "</h1>" + self._beside(page, one), 1)
                written += row(self._evidence(page, one))
                if one.name in self.explorers:
                    written = self._at_work(page, one, written) + self._explorer(page, one)
                    headings.append(Heading(2, "explorer", "Explorer"))
        if page.uri in {f"{posixpath.dirname(one.folder)}/README.md" for one in self.lessons if one.name in self.atlas}:
            written = written.replace("</h1>", "</h1>" + row([("shape atlas", self._to(page, _ATLAS_URI))]), 1)
        tips = {term.id: f'<div id="tip-{term.id}">{term.meaning}</div>' for term in terms}
        return written + f'<div class="tips" hidden data-search-exclude="">{"".join(tips.values())}</div>', headings

    def _beside_each_other(self, page: Page) -> str:
        """The course's first step as a picture, where both lessons were recorded."""
        stores = [store for one in self.lessons[:2] if (store := beside.recorded(self.root, one))]
        if len(stores) < 2:
            return ""
        first, second = (self._to(page, f"{store.lesson.folder}/README.md") for store in stores)
        return beside.figure(stores[0], stores[1], (first, second))

    def _beside(self, page: Page, lesson: Descriptor) -> str:
        """What belongs to a lesson beside its text."""
        links = [("kernel.cu", self._to(page, f"{lesson.folder}/kernel.cu.md"))]
        links += [("the exercise's start", self._to(page, f"exercises/{lesson.name}.md"))]
        if lesson.name in self.explorers:
            links.insert(0, ("explorer", "#explorer"))
        if lesson.name in self.atlas:
            links.append(("shape atlas", self._to_atlas(page, lesson)))
        return row([*links, *self._evidence(page, lesson)])

    def _to_atlas(self, page: Page, lesson: Descriptor) -> str:
        """The atlas of the type that the lesson was measured with."""
        return f"{self._to(page, _ATLAS_URI)}#type={self.atlas[lesson.name]}"

    def _evidence(self, page: Page, lesson: Descriptor) -> list[tuple[str, str]]:
        """The link to the measurements behind a lesson, if it has such a page."""
        uri = contents.evidence(lesson)
        return [("the evidence", self._to(page, uri))] if uri in self.pages else []

    def _at_work(self, page: Page, lesson: Descriptor, written: str) -> str:
        """A lesson's text with links to its explorer where it speaks of what that shows."""
        explorer, kernel = self.explorers[lesson.name], f"{lesson.folder}/kernel.cu"
        address = posixpath.relpath(f"explore/{explorer.name}", posixpath.dirname(page.address))
        lines = (self.root / kernel).read_text(encoding="utf-8").splitlines()
        return at_work.linked(written, address, lines, at_work.accesses(explorer, kernel))

    def _explorer(self, page: Page, lesson: Descriptor) -> str:
        address = posixpath.relpath(f"explore/{self.explorers[lesson.name].name}", posixpath.dirname(page.address))
        shapes = ""
        if lesson.name in self.atlas:
            shapes = f' The <a href="{self._to_atlas(page, lesson)}">shape atlas</a> shows how fast it is at other shapes.'
        return (
            '<h2 id="explorer">Explorer</h2>'
            f'<p>The kernel at work, to point at; <a href="{address}">as a page of its own</a>, it has more room.{shapes}</p>'
            f'<iframe class="explorer" loading="lazy" src="{address}" title="The explorer of lesson {lesson.number}"></iframe>'
        )

    def _source(self, page: Page) -> tuple[str, list[Heading]]:
        shown = (self.root / page.file).read_text(encoding="utf-8", errors="replace")
        return f"<h1>{_wrapping(str(page.file))}</h1>{source(page.file.name, shown)}", []

    def _folder(self, page: Page) -> tuple[str, list[Heading]]:
        rows = []
        for file in contents.listing(self.root, page.file):
            there = contents.page_of(self.root, file)
            assert there
            name = file.name + ("/" if (self.root / file).is_dir() else "")
            rows.append(f'<li><a href="{self._link(page, there)}"><code>{html.escape(name)}</code></a></li>')
        return f'<h1>{_wrapping(str(page.file))}/</h1><ul class="files">{"".join(rows)}</ul>', []

    def _starts(self, page: Page) -> tuple[str, list[Heading]]:
        rows = []
        for one in self.lessons:
            link, lesson = self._to(page, f"exercises/{one.name}.md"), self._to(page, f"{one.folder}/README.md")
            kinds = " and bug hunt" if len(contents.tasks(self.root, one.name)) > 1 else ""
            rows.append(f'<li><a href="{link}">{one.number}: exercise{kinds}</a>, of <a href="{lesson}">{one.name}</a></li>')
        return (
            "<h1>Exercises</h1><p>The starting file of each. <code>./gemm watch 03</code> puts the file where you edit it, "
            f"and checks it whenever you save.</p><ul>{''.join(rows)}</ul>"
        ), []

    def _start(self, page: Page) -> tuple[str, list[Heading]]:
        found = contents.tasks(self.root, page.lesson)
        headings = [Heading(1, page.lesson, f"{found[0].number}: where you begin")]
        written = [f'<h1 id="{headings[0].id}">{headings[0].text}</h1>']
        lesson = self._to(page, f"{page.file}/README.md")
        for task in found:
            name = "Exercise" if task.kind == "exercise" else "Bug hunt"
            headings.append(Heading(2, task.kind, name))
            file = task.file.relative_to(self.root).as_posix()
            written.append(
                f'<h2 id="{task.kind}">{name}</h2><p>What <code>./gemm watch {task.argument}</code> writes to '
                f'<code>{file}</code>. It belongs to <a href="{lesson}">{page.lesson}</a>.</p>{source(file, task.starter())}'
            )
        return "".join(written).replace(' id="L', ' data-line="L'), headings

    def _own_page(self, name: str) -> str:
        """What a frame shows: a page of its own, so that its scripts and the theme's do not meet. Its links leave its frame."""
        from website import layouts, progress

        if name == "layouts":
            return layouts.page(self.root)
        urls = {one.name: f"../{self.pages[f'{one.folder}/README.md'].address}" for one in self.lessons}
        if name == _ATLAS:
            behind = {one.name: contents.evidence(one) for one in self.lessons}
            evidence = {lesson: f"../{self.pages[uri].address}" for lesson, uri in behind.items() if uri in self.pages}
            written = atlas.page(urls, evidence, self.root)
        else:
            written = progress.page(urls, None, self.root)
        return written.replace("<head>", '<head><base target="_top">', 1)

    def _framed(self, page: Page) -> tuple[str, list[Heading]]:
        title = self.framed[page.file.name]
        frame = f'<iframe class="explorer" src="page.html" title="{title}"></iframe>'
        return f'<h1>{title}</h1><p><a href="page.html">As a page of its own</a></p>{frame}', []


def _leading(address: str) -> str:
    """A page that leads on to another."""
    to = html.escape(address, quote=True)
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={to}">'
        f'<link rel="canonical" href="{to}"><title>Moved</title><a href="{to}">This page has moved.</a></html>\n'
    )


def _wrapping(path: str) -> str:
    """A path that may be broken behind its slashes."""
    return html.escape(path).replace("/", "/<wbr>").replace("_", "_<wbr>")


def write(root: Path, lessons: list[Descriptor], explorers: dict[str, Path], folder: Path) -> None:
    """Writes the site of the course at `root` into `folder`, which is replaced once all of it is right. Raises Broken."""
    course = Course(root, lessons, explorers)
    course.collect()
    fresh = folder.with_name(f".{folder.name}.new")
    config = load_config(str(HERE / "mkdocs.yml"), site_dir=str(fresh))
    config.plugins["course"] = course
    try:
        build(config)
        shutil.copy(HERE / "assets" / "404.html", fresh)  # for the theme's, which must know where on a server the site will lie
        shutil.rmtree(folder, ignore_errors=True)
        fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def main(arguments: list[str]) -> int:
    """Exit status 1: problems were printed."""
    logging.getLogger("mkdocs").setLevel(logging.ERROR)
    lessons = list(all_described(Path(arguments[0]).parent).values())
    folder = Path(arguments[2]) if len(arguments) > 2 else None
    explorers = {one.name: folder / f"{one.name}.html" for one in lessons} if folder else {}
    try:
        write(ROOT, lessons, explorers, Path(arguments[1]))
    except (Broken, MkDocsException, UserError) as problem:
        print(problem)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
