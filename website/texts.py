"""The Markdown files as HTML. They are written for GitHub's renderer, so a renderer of the same specification (CommonMark with
tables: markdown-it) reads them here, and no file is changed for the site."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.util import ClassNotFound

_RAW_LINK = re.compile(r'(<(?:img|a|source|video)\b[^>]*?\b(?:src|href)=")([^"]+)(")')
_IMAGE = re.compile(r"<img\b[^>]*>")
_PROSE = ("paragraph_open", "td_open")  # whose text gets the glossary's explanations; headings do not
_LANGUAGES = {".cu": "cuda", ".h": "cpp", ".hpp": "cpp", ".cpp": "cpp", ".cff": "yaml"}


def code(text: str, language: str) -> str:
    """A piece of code, coloured where the language is known."""
    try:
        lexer = get_lexer_by_name(language or "text", stripnl=False)
    except ClassNotFound:
        lexer = get_lexer_by_name("text", stripnl=False)
    return highlight(text, lexer, HtmlFormatter(cssclass="highlight", wrapcode=True))


def source(name: str, text: str) -> str:
    """A whole file, coloured, its lines numbered; line 12 has the id L12, as on GitHub."""
    try:
        suffix = "." + name.rpartition(".")[2]
        known = _LANGUAGES.get(suffix)
        lexer = get_lexer_by_name(known, stripnl=False) if known else get_lexer_for_filename(name, stripnl=False)
    except ClassNotFound:
        lexer = get_lexer_by_name("text", stripnl=False)
    formatter = HtmlFormatter(cssclass="highlight source", wrapcode=True, linenos="inline", linespans="L")
    return re.sub(r'id="L-(\d+)"', r'id="L\1"', highlight(text, lexer, formatter))


@dataclass
class Heading:
    """One of a page: what links call it, and its text as HTML."""

    level: int
    id: str
    text: str


def _slug(text: str) -> str:
    """What GitHub makes of a heading's text."""
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def _plain(token: Token) -> str:
    return "".join(child.content for child in token.children or [] if child.type in ("text", "code_inline"))


@dataclass(frozen=True)
class Term:
    """An entry of the glossary: its id there, what it means, as HTML without links, and the text that explains it."""

    name: str
    id: str
    meaning: str
    explained: str


class Glossary:
    """GLOSSARY.md's terms, and how a text shows them: the first time that a page has one, with what it means."""

    def __init__(self, terms: Sequence[Term]) -> None:
        self.terms = {term.name: term for term in terms}
        by_length = sorted(self.terms, key=len, reverse=True)
        self._known = {_folded(name): name for name in by_length}
        names = "|".join(_pattern(name) for name in by_length)
        self._regex = re.compile(rf"(?<![\w.-])({names})(s|es)?(?![\w-])") if by_length else re.compile(r"(?!)")

    def found(self, text: str) -> Iterator[tuple[int, int, Term]]:
        """Where in a text which term stands, its plural included."""
        for match in self._regex.finditer(text):
            yield match.start(), match.end(), self.terms[self._known[_folded(match[1])]]


def _folded(name: str) -> str:
    """Names of lower-case letters may begin a sentence; the others (TMA, cuBLAS) are always written the same."""
    return name[0].lower() + name[1:] if name[1:].islower() or not name[1:] else name


def _pattern(name: str) -> str:
    first, rest = name[0], re.escape(name[1:]).replace(r"\ ", r"\s+")
    return f"[{first}{first.upper()}]{rest}" if name[1:].islower() else re.escape(first) + rest


@dataclass
class Text:
    """A Markdown file that has been read."""

    tokens: list[Token]
    headings: list[Heading] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The first heading, as HTML."""
        return self.headings[0].text if self.headings else ""

    def ids(self) -> set[str]:
        """Everything that a link into this page may name."""
        raw = (token.content for token in _all(self.tokens) if token.type in ("html_block", "html_inline"))
        return {heading.id for heading in self.headings} | {name for text in raw for name in re.findall(r'\bid="([^"]+)"', text)}

    def relink(self, resolve: Callable[[str, bool], str]) -> None:
        """Puts resolve(target, is it a picture) in the place of every link's and picture's target."""
        for token in _all(self.tokens):
            if token.type in ("html_block", "html_inline"):
                token.content = _RAW_LINK.sub(
                    lambda match: match[1] + html.escape(resolve(html.unescape(match[2]), "<img" in match[1])) + match[3],
                    token.content,
                )
            for name in ("href", "src"):
                if (target := token.attrGet(name)) is not None:
                    token.attrSet(name, resolve(str(target), name == "src"))

    def explain(self, glossary: Glossary, page: str, known: Callable[[Term], bool]) -> list[Term]:
        """Marks the first occurrence of each term that is `known` here; `page` is the glossary's address. Returns the terms that
        were found."""
        seen: dict[str, Term] = {}
        for before, token in zip([None, *self.tokens], self.tokens, strict=False):
            if token.type == "inline" and before and before.type in _PROSE:
                token.children = list(_explained(token.children or [], glossary, page, known, seen))
        return list(seen.values())


def _explained(
    children: Sequence[Token], glossary: Glossary, page: str, known: Callable[[Term], bool], seen: dict[str, Term]
) -> Iterator[Token]:
    links = 0
    for child in children:
        links += {"link_open": 1, "link_close": -1}.get(child.type, 0)
        if child.type != "text" or links:
            yield child
            continue
        at = 0
        for start, end, term in glossary.found(child.content):
            if term.id in seen or not known(term):
                continue
            seen[term.id] = term
            yield Token("text", "", 0, content=child.content[at:start])
            word = html.escape(child.content[start:end])
            link = f'<a class="term" href="{html.escape(page)}#{term.id}" aria-describedby="tip-{term.id}">{word}</a>'
            yield Token("html_inline", "", 0, content=link)
            at = end
        yield Token("text", "", 0, content=child.content[at:])


def _all(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        yield token
        yield from token.children or []


class Reader:
    """Reads and writes texts; one for a whole site."""

    def __init__(self) -> None:
        self._markdown = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
        renderer: Any = self._markdown.renderer
        renderer.rules.update(fence=_fence, code_block=_indented, table_open=_table, table_close=_end_of_table)

    def read(self, text: str) -> Text:
        """Headings get the ids that GitHub gives them."""
        found, used = Text(self._markdown.parse(text)), dict[str, int]()
        for token, inside in zip(found.tokens, found.tokens[1:], strict=False):
            if token.type == "heading_open":
                name = _slug(_plain(inside))
                used[name] = used.get(name, -1) + 1
                unique = f"{name}-{used[name]}" if used[name] else name
                token.attrSet("id", unique)
                found.headings.append(Heading(int(token.tag[1:]), unique, self._inline(inside.children or [])))
        return found

    def _inline(self, children: Sequence[Token]) -> str:
        renderer: Any = self._markdown.renderer
        return str(renderer.renderInline(children, self._markdown.options, {}))

    def write(self, text: Text) -> str:
        """As HTML. A picture leads to itself, so that it can be seen as large as it is."""
        written = str(self._markdown.renderer.render(text.tokens, self._markdown.options, {}))
        return _IMAGE.sub(_linked, written)

    def glossary(self, text: Text) -> Glossary:
        """The terms of GLOSSARY.md's first table, whose rows get ids. The link at the end of a meaning is left out."""
        terms = []
        table = text.tokens[: next((i for i, token in enumerate(text.tokens) if token.type == "table_close"), 0)]
        cells = [(token, inside) for token, inside in zip(table, table[1:], strict=False) if token.type == "td_open"]
        for (cell, name), (_, meaning) in zip(cells[::2], cells[1::2], strict=True):
            cell.attrSet("id", row := f"term-{_slug(name.content)}")
            children = meaning.children or []
            end = next((i for i, child in enumerate(children) if child.type == "link_open"), len(children))
            said = re.sub(r"\s*\($", "", self._inline(children[:end]).rstrip())
            said += "" if said.endswith(".") else "."
            where = str(children[end].attrGet("href") or "").partition("#")[0] if end < len(children) else ""
            terms += [Term(one, row, said, where) for one in name.content.split(", ")]
        return Glossary(terms)


def _linked(match: re.Match[str]) -> str:
    image = match[0].replace("<img", '<img loading="lazy"', 1)
    address = re.search(r'\bsrc="([^"]+)"', image)
    return f'<a class="picture" href="{address[1]}">{image}</a>' if address else image


def _fence(tokens: Sequence[Token], at: int, _options: Mapping, _env: Mapping) -> str:
    language = tokens[at].info.split()[0] if tokens[at].info.split() else ""
    if language == "mermaid":  # whose renderer is larger than the site
        said = "A diagram, as the text that GitHub draws it from"
        return f"<details><summary>{said}</summary>{code(tokens[at].content, '')}</details>"
    return code(tokens[at].content, language)


def _indented(tokens: Sequence[Token], at: int, _options: Mapping, _env: Mapping) -> str:
    return code(tokens[at].content, "text")


def _table(_tokens: Sequence[Token], _at: int, _options: Mapping, _env: Mapping) -> str:
    # A frame that scrolls, so that the page does not; with the keyboard, too.
    return '<div class="table" role="region" aria-label="Table" tabindex="0"><table class="plain">\n'


def _end_of_table(_tokens: Sequence[Token], _at: int, _options: Mapping, _env: Mapping) -> str:
    return "</table></div>\n"
