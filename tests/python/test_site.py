"""The site: every text is a page, every link leads somewhere, and in a browser it does what a reader wants of it."""

from __future__ import annotations

import itertools
import json
import os
import posixpath
import random
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from browser import Browser
from conftest import PATIENCE, descriptors, drawn, put, seed, whole_families
from explorer_pages import bare

from runner.core import doctor
from runner.core.descriptors import Descriptor
from runner.core.results import ROOT, UserError
from website import explore

pytestmark = pytest.mark.xdist_group("browser")  # in one process, so that the site is built once

_MISSING = "Python lacks what builds the site; type: .venv/bin/pip install -r requirements-site.txt"
_LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}  # which a browser fetches by itself
_STUB = '<!doctype html><html lang="en"><title>Explorer</title><h1>Explorer</h1></html>'


def _needed() -> None:
    try:
        import mkdocs  # noqa: F401

        from website import builder  # noqa: F401
    except ImportError:
        if os.environ.get("GEMM_BROWSER") == "required":
            pytest.fail(_MISSING)
        pytest.skip(_MISSING)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of this checkout, with a stub for lesson 03's explorer, and for lesson 01's one that has little to show."""
    _needed()
    from website import builder

    folder = tmp_path_factory.mktemp("site")
    stub = folder / "03_smem.html"
    stub.write_text(_STUB)
    real = folder / "01_naive.html"
    traced = bare()
    for line in traced["trace"]["lines"]:
        line["line"] += 3  # where this checkout's kernel has them
    real.write_text(explore.page(traced), encoding="utf-8")
    builder.write(ROOT, list(descriptors().values()), {"03_smem": stub, "01_naive": real}, folder / "built")
    return folder / "built"


class _Page(HTMLParser):
    """What a page links to, what it loads, and its ids."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.ids: set[str] = set()
        self.levels: list[int] = []  # of its headings
        self.wordless: list[str] = []  # pictures that say nothing to those who do not see them
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
        if tag == "img" and not found.get("alt"):
            self.wordless.append(found.get("src") or "")
        if name := found.get("id"):
            self.ids.add(name)
        if tag == "a" and (link := found.get("href")):
            self.links.append(link)
        if (loaded := found.get(_LOADED.get(tag, ""))) and found.get("rel") not in ("prev", "next", "canonical"):
            self.loaded.append(loaded)


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, _Page]:
    """By their addresses in the site."""
    found = sorted(site.rglob("*.html"))
    return {path.relative_to(site).as_posix(): _Page(path.read_text(encoding="utf-8")) for path in found}


def _wrong(pages: dict[str, _Page], site: Path) -> Iterator[str]:
    for address, page in pages.items():
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme:
                continue
            there = posixpath.normpath(posixpath.join(posixpath.dirname(address), unquote(parts.path))) if parts.path else address
            there = "index.html" if there == "." else there
            if not (site / there).is_file():
                yield f"{address}: {link} is not there"
            elif there.startswith(("explore/", "atlas/")):
                continue  # whose fragment is what is chosen
            elif parts.fragment and there in pages and parts.fragment not in pages[there].ids | {"__drawer", "__search"}:
                yield f"{address}: {link}: no such place"


def test_every_link_of_the_built_pages_leads_somewhere(pages: dict[str, _Page], site: Path) -> None:
    assert list(_wrong(pages, site)) == []


def test_nothing_is_loaded_from_elsewhere(pages: dict[str, _Page], site: Path) -> None:
    loaded = [(address, one) for address, page in pages.items() for one in page.loaded]
    assert [one for one in loaded if urlsplit(one[1]).scheme not in ("", "data") or one[1].startswith("//")] == []
    styles = [path for path in site.rglob("*.css") if re.search(r"url\(\s*['\"]?(https?:)?//|@import", path.read_text())]
    assert styles == []


def test_every_text_is_a_page_and_stands_unchanged_in_it(pages: dict[str, _Page], site: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True)
    for file in listed.stdout.split():
        folder, name = posixpath.split(file)
        address = posixpath.join(folder, "index.html" if name == "README.md" else name.replace(".md", ".html"))
        assert address in pages, file
        shown = re.sub(r"<[^>]+>", "", (site / address).read_text(encoding="utf-8"))
        title = re.search(r"^# (.*)$", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
        assert title and title[1].replace("`", "").replace("&", "&amp;") in shown


def test_a_lesson_has_its_kernel_its_start_and_its_explorer(pages: dict[str, _Page], site: Path) -> None:
    for one in descriptors().values():
        page = pages[f"{one.folder}/index.html"]
        assert "kernel.cu.html" in page.links
        assert any(link.endswith(f"exercises/{one.name}.html") for link in page.links)
    assert "../explore/03_smem.html" in pages["03_smem/index.html"].loaded
    assert "explorer" not in pages["04_1d_blocktile/index.html"].ids
    start = re.sub(r"<[^>]+>", "", (site / "exercises" / "03_smem.html").read_text(encoding="utf-8"))
    assert "TODO 1: " in start and "./gemm watch 03 --hunt" in start


def test_folds_tables_and_code_are_rendered(site: Path) -> None:
    text = (site / "05_2d_blocktile" / "index.html").read_text(encoding="utf-8")
    fold = re.search(r"<details><summary>Answers</summary>(.*?)</details>", text, re.DOTALL)
    assert fold and "<ol>" in fold[1] and "<strong>" in fold[1] and "**" not in fold[1]
    assert '<table class="plain">' in text and "| :-- |" not in text
    assert re.search(r'<span class="k[a-z]*">const</span>', text)  # coloured


def test_a_term_is_explained_once_and_where_the_course_has_come_to_it(site: Path) -> None:
    third = (site / "03_smem" / "index.html").read_text(encoding="utf-8")
    assert third.count('aria-describedby="tip-term-bank"') == 1
    assert re.search(r'<div id="tip-term-bank">[^<]*\b32\b', third)
    assert "tip-term-phase" not in third  # an everyday word until lesson 10 has mbarriers
    assert "tip-term-phase" in (site / "10_tma" / "a_swizzle" / "index.html").read_text(encoding="utf-8")
    assert 'class="term"' not in re.sub(r"<h\d.*?</h\d>", "", (site / "GLOSSARY.html").read_text(encoding="utf-8"))


def test_only_prose_is_searched(site: Path) -> None:
    entries = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    places = {entry["location"].partition("#")[0] for entry in entries}
    assert "03_smem/index.html" in places and not any(".cu.html" in place or ".hpp.html" in place for place in places)


def test_a_term_of_the_glossary_is_found_by_itself(site: Path) -> None:
    entries = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    (bank,) = [entry for entry in entries if entry["location"] == "GLOSSARY.html#term-bank"]
    assert bank["title"] == "bank" and "32" in bank["text"]


def test_a_lessons_text_leads_to_the_view_that_shows_what_it_speaks_of(pages: dict[str, _Page]) -> None:
    links = pages["03_smem/index.html"].links
    assert [f"../explore/03_smem.html?view={view}" for view in ("product", "access")] == [
        link for link in links if "?view=" in link
    ]
    assert not [link for link in pages["04_1d_blocktile/index.html"].links if "?view=" in link]


def test_a_line_in_a_text_leads_to_what_it_moves(site: Path, browser: Browser) -> None:
    """The page of lesson 01 quotes the line that loads; its explorer here was traced of the same kernel."""
    with browser.visit((site / "01_naive" / "index.html").as_uri()) as visit:
        link = visit.page.locator(".beside a", has_text=re.compile(r"^line 33 at work: A, B$"))
        assert link.count() == 1
        link.click()
        visit.page.wait_for_url("**/explore/01_naive.html?view=access#line=0")


def test_code_that_a_text_quotes_is_found_in_the_kernel() -> None:
    _needed()
    from website import at_work

    kernel = ["float x = A[i];  // a comment", "same();", "y += x;", "same();"]
    text = (
        '<h2 id="in-short">S</h2><div class="highlight">float x = A[i];</div>'
        '<h2 id="the-code">C</h2><div class="highlight"><code>float <b>x</b> = A[i];\nsame();\ny += x;</code></div>'
        '<div class="highlight">float x = A[i];  // again</div><h2 id="measure">M</h2><div class="highlight">y += x;</div>'
    )
    written = at_work.linked(text, "e.html", kernel, {1: [(4, "A"), (5, "x")], 2: [(6, "B")]})
    assert re.findall(r'href="([^"]*)">([^<]*)<', written) == [
        ("e.html?view=access", "see it in the explorer: what each line moves"),
        ("e.html?view=access#line=4", "line 1 at work: A, x"),
    ]


def test_the_first_page_has_lesson_01_beside_lesson_02(site: Path, browser: Browser) -> None:
    for width, dark in ((1366, False), (390, True)):
        with browser.visit((site / "index.html").as_uri(), width=width, dark=dark) as visit:
            figure = visit.page.locator("figure.compare")
            assert re.findall(r"\d+ sectors", figure.inner_text()) == ["32 sectors", "4 sectors"]  # as counts.json has it
            drawings = figure.locator("svg")
            assert [drawings.nth(one).locator(".touched").count() for one in (0, 1)] == [32, 4]
            assert [drawings.nth(one).locator(".used").count() for one in (0, 1)] == [32, 32]
            cut = "(one) => getComputedStyle(one).clipPath"
            assert "50%" in drawings.nth(1).evaluate(cut)
            figure.locator("input").focus()
            visit.page.keyboard.press("Home")
            assert "50%" not in drawings.nth(1).evaluate(cut)
            visit.fits()
            visit.clean()


# What is wrong is found


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course of one lesson, all of whose links lead somewhere."""
    _needed()
    put(tmp_path, {
        "README.md": "# Course\n\n[Lesson](01_naive/README.md#in-short), [it](#course)\n",
        "GLOSSARY.md": "# Glossary\n\n| term | meaning |\n| :-- | :-- |\n| warp | 32 threads ([01](01_naive/README.md)). |\n",
        "01_naive/README.md": '# 01 naive: one\n\n## In short\n\n[kernel](kernel.cu#L2)\n\n<img src="a.png" alt="A">\n',
        "01_naive/kernel.cu": "// one\n// two\n",
        "01_naive/a.png": b"\x89PNG\0",
    })  # fmt: skip
    return tmp_path


def _problems(root: Path) -> list[str]:
    from website import builder

    lesson = Descriptor("01_naive", "01", "01_naive", 1, "fp32", (1, 1, 1), {}, (1, 1, 1), 0, ())
    try:
        builder.Course(root, [lesson]).collect()
    except builder.Broken as broken:
        return str(broken).splitlines()
    return []


def test_a_course_without_fault_has_none(course: Path) -> None:
    assert _problems(course) == []


def test_a_lessons_evidence_is_a_page_below_it_that_is_searched_and_does_not_come_between_lessons(course: Path) -> None:
    from website import builder

    for lesson in ("01_naive", "02_coalesced"):
        put(course, {f"{lesson}/README.md": f"# {lesson[:2]} x: one\n\n## In short\n\nA text.\n"})
        for name in ("kernel.cu", "exercise.py"):
            shutil.copy(ROOT / lesson / name, course / lesson)
    shutil.copy(ROOT / "CMakeLists.txt", course)
    (course / "01_naive" / "EVIDENCE.md").write_text("# 01 x: the evidence\n\n## Stores\n\nRhinoceros.\n")
    for name in ("plots/README", "classroom/README", "CONTRIBUTING", "CHANGELOG", "OWN_KERNEL"):
        put(course, {f"{name}.md": f"# {name}\n\n[it]({'../' * name.count('/')}01_naive/EVIDENCE.md#stores)\n"})
    builder.write(course, list(descriptors().values())[:2], {}, course / "out")
    texts = {name: (course / "out" / name).read_text(encoding="utf-8") for name in
             ("01_naive/index.html", "01_naive/EVIDENCE.html", "02_coalesced/index.html")}  # fmt: skip
    lesson, evidence, second = (_Page(text).links for text in texts.values())
    assert lesson.count("EVIDENCE.html") == 3  # in the navigation, above the text and below it
    assert evidence.count("index.html") >= 3
    assert "../01_naive/EVIDENCE.html" in second
    footers = [re.findall(r'<a href="([^"]+)" class="md-footer__link', text) for text in texts.values()]
    assert footers[0][-1] == footers[1][-1] == "../02_coalesced/index.html"
    assert footers[1][0] == "index.html"
    assert footers[2][0] == "../01_naive/index.html"
    found = json.loads((course / "out" / "search" / "search_index.json").read_text(encoding="utf-8"))["docs"]
    assert [entry["location"] for entry in found if "Rhinoceros" in entry["text"]] == ["01_naive/EVIDENCE.html#stores"]


def test_the_addresses_of_a_lesson_that_had_another_name_lead_on(course: Path) -> None:
    from website import builder

    for name in ("kernel.cu", "exercise.py"):
        shutil.copy(ROOT / "01_naive" / name, course / "01_naive")
    (course / "CMakeLists.txt").write_text("gemm_lesson(01_naive FORMERLY 00a_start)\n")
    for name in ("plots/README", "classroom/README", "CONTRIBUTING", "CHANGELOG", "OWN_KERNEL"):
        put(course, {f"{name}.md": f"# {name}\n\nA text.\n"})
    (course / "01_naive" / "README.md").write_text("# 01 naive: one\n\n## In short\n\n[kernel](kernel.cu)\n")
    builder.write(course, list(descriptors().values())[:1], {}, course / "out")
    for old, now in (("a_start/index.html", "../01_naive/index.html"), ("a_start/kernel.cu.html", "../01_naive/kernel.cu.html"),
                     ("exercises/00a_start.html", "01_naive.html")):  # fmt: skip
        page = (course / "out" / old).read_text(encoding="utf-8")
        assert f'content="0; url={now}"' in page
        assert (course / "out" / old).parent.joinpath(now).resolve().is_file()
    assert not (course / "out" / "a_start" / "EVIDENCE.html").exists()


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        ("[a](kernel2.cu)", "01_naive/README.md links to kernel2.cu, which does not exist."),
        ("[a](../../elsewhere)", "01_naive/README.md links to ../../elsewhere, which does not exist."),
        ("[a](../README.md#lost)", "01_naive/README.md links to ../README.md#lost: README.md has no such heading or line."),
        ("[a](#lost)", "01_naive/README.md links to #lost: 01_naive/README.md has no such heading or line."),
        ("[a](kernel.cu#L9)", "01_naive/README.md links to kernel.cu#L9: 01_naive/kernel.cu has no such heading or line."),
        ("![a](b.png)", "01_naive/README.md shows the picture b.png, which does not exist."),
        ('<img alt="b" src="../b.png">', "01_naive/README.md shows the picture ../b.png, which does not exist."),
        ('text <a href="gone.md">a</a>', "01_naive/README.md links to gone.md, which does not exist."),
        (
            "![a](https://example.org/b.png)",
            "01_naive/README.md shows https://example.org/b.png, which a reader without a network would not see; add the file.",
        ),
    ],
)
def test_what_leads_nowhere_is_named_with_its_page(course: Path, planted: str, said: str) -> None:
    with (course / "01_naive" / "README.md").open("a") as file:
        file.write(f"\n{planted}\n\n    [code](not/a/link)\n")
    assert _problems(course) == [said]


def test_a_broken_link_ends_the_build_and_leaves_the_old_site(
    course: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from website import builder

    (course / "README.md").write_text("# Course\n\n[a](gone.md)\n")
    (course / "site").mkdir()
    (course / "lessons.json").write_text('{"lessons": []}')
    monkeypatch.setattr(builder, "ROOT", course)
    assert builder.main([str(course / "lessons.json"), str(course / "site")]) == 1
    assert capsys.readouterr().out.startswith("README.md links to gone.md")
    assert (course / "site").is_dir()


def test_without_its_packages_one_sentence_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMM_NO_INSTALL", "1")
    monkeypatch.setattr(doctor.process, "quiet", lambda *_, **__: (1, ""))
    with pytest.raises(UserError, match=r" type: .*-r requirements-site\.txt\.$"):
        doctor.provide_site()


@pytest.mark.long
@pytest.mark.skipif(not whole_families(), reason="every lesson is traced: ./gemm test --all")
def test_the_command_builds_it_with_every_lessons_explorer(browser: Browser) -> None:
    _needed()
    command = [sys.executable, "-m", "runner", "site", "--json"]
    environment = {**os.environ, "GEMM_NO_INSTALL": "1", "GEMM_DEVICE": "cpu"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    built = Path(json.loads(done.stdout)["site"]).parent
    for name in descriptors():
        page = built / "explore" / f"{name}.html"
        assert page.stat().st_size < 5_000_000
        with browser.visit(page.as_uri(), width=390) as visit:
            visit.page.locator("html[data-ready]").wait_for(state="attached")
            visit.fits()
            assert visit.page.locator("[data-failed]").count() == 0
            visit.clean()


# In a browser


def test_search_finds_a_word_in_a_file_without_a_server(site: Path, browser: Browser) -> None:
    with browser.visit((site / "03_smem" / "index.html").as_uri()) as visit:
        visit.page.keyboard.press("f")  # the theme's key for the search
        visit.page.keyboard.type("swizzle")
        result = visit.page.locator(".md-search-result__link", has_text="10a swizzle").first
        result.wait_for()
        result.click()
        visit.page.wait_for_url("**/10_tma/a_swizzle/index.html*")
        visit.clean()


def test_a_page_that_is_not_there_leads_to_the_course_wherever_the_site_lies(site: Path, browser: Browser) -> None:
    class Server(SimpleHTTPRequestHandler):
        """As GitHub's pages of a project: the site in a folder, its 404.html for whatever is not there."""

        def translate_path(self, path: str) -> str:
            return str(site / path.removeprefix("/a/course/").partition("?")[0]) if path.startswith("/a/course/") else "/nowhere"

        def send_error(self, code: int, *_: object) -> None:
            self.send_response(code)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            if self.command == "GET":
                self.wfile.write((site / "404.html").read_bytes())

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        home = f"http://127.0.0.1:{server.server_port}/a/course/"
        with browser.visit(f"{home}13_clusters/c_ping_pong/gone.html", width=390) as visit:
            visit.page.locator("html[data-base='/a/course/']").wait_for(state="attached")
            assert "/a/course/13_clusters/c_ping_pong/gone.html" in visit.page.inner_text("main")
            visit.fits()
            visit.accessible()
            visit.page.click("text=from its beginning")
            visit.page.wait_for_url(f"{home}index.html")
            visit.page.locator("h1", has_text="CUDA GEMM").wait_for()
        server.shutdown()


def test_pages_follow_each_other_in_the_courses_order(site: Path, browser: Browser) -> None:
    with browser.visit((site / "01_naive" / "index.html").as_uri()) as visit:
        for name in ("02_coalesced", "03_smem"):
            visit.page.click("a.md-footer__link--next")
            visit.page.wait_for_url(f"**/{name}/index.html")
        visit.page.click("a.md-footer__link--prev")
        visit.page.wait_for_url("**/02_coalesced/index.html")
        visit.clean()


def test_a_reader_chooses_dark_and_it_stays(site: Path, browser: Browser) -> None:
    with browser.visit((site / "02_coalesced" / "index.html").as_uri()) as visit:
        scheme = "document.body.dataset.mdColorScheme"
        assert visit.page.evaluate(scheme) == "default"
        visit.page.click('label[title="Switch to the light colours"]')
        visit.page.click('label[title="Switch to the dark colours"]')
        assert visit.page.evaluate(scheme) == "slate"
        visit.page.reload()
        assert visit.page.evaluate(scheme) == "slate"
        visit.clean()


def test_pictures_are_dark_where_the_page_is_and_lessons_names_are_not_broken(site: Path, browser: Browser) -> None:
    for dark in (False, True):
        with browser.visit((site / "index.html").as_uri(), width=390, dark=dark) as visit:
            filtered = visit.page.locator("a.picture img").first.evaluate("(one) => getComputedStyle(one).filter")
            assert ("invert" in filtered) == dark
            name = visit.page.locator("table.plain a", has_text="12 warp specialized").first
            assert name.evaluate("(one) => one.getClientRects().length") == 1
            visit.fits()


def test_the_systems_dark_is_followed(site: Path, browser: Browser) -> None:
    with browser.visit((site / "index.html").as_uri(), dark=True) as visit:
        assert visit.page.evaluate("document.body.dataset.mdColorScheme") == "slate"


@pytest.mark.parametrize("address", ["01_naive/index.html", "progress/index.html"])
def test_a_page_in_a_frame_has_the_sites_colours(site: Path, browser: Browser, address: str) -> None:
    def dark(where: Any) -> bool:
        colour = where.locator("body").evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in re.findall(r"\d+", colour)[:3]) < 200

    def until(where: Any, wanted: bool) -> None:
        where.locator(f'html[data-theme="{"dark" if wanted else "light"}"]').wait_for(state="attached")
        assert dark(where) == wanted

    with browser.visit((site / address).as_uri()) as visit:
        visit.page.locator("iframe.explorer").scroll_into_view_if_needed()
        frame = visit.page.frame_locator("iframe.explorer")
        until(frame, False)
        visit.page.click('label[title="Switch to the light colours"]')
        visit.page.click('label[title="Switch to the dark colours"]')
        until(frame, True)
        visit.page.reload()  # a frame asks as it comes up
        until(frame, True)
        visit.page.click('label[title="Switch to the colours of the system"]')
        until(frame, False)
        visit.page.emulate_media(color_scheme="dark")
        until(frame, True)
        if address.startswith("01"):  # what the reader chooses in the frame is stronger
            frame.locator("#theme").click()
            until(frame, False)
        visit.clean()


def test_a_terms_meaning_is_shown_by_pointer_and_keyboard(site: Path, browser: Browser) -> None:
    with browser.visit((site / "03_smem" / "index.html").as_uri()) as visit:
        term, tip = visit.page.locator('a.term[href$="#term-tile"]'), visit.page.locator(".tip")
        assert not tip.is_visible()
        term.hover()
        assert "part of a matrix" in tip.inner_text()
        visit.page.keyboard.press("Escape")
        assert not tip.is_visible()
        visit.page.mouse.move(0, 0)
        term.focus()
        assert "part of a matrix" in tip.inner_text()
        term.press("Enter")
        visit.page.wait_for_url("**/GLOSSARY.html#term-tile")
        visit.clean()


def test_ones_progress_is_a_page_whose_links_lead_to_the_lessons(site: Path, browser: Browser) -> None:
    with browser.visit((site / "progress" / "index.html").as_uri()) as visit:
        visit.page.frame_locator("iframe.explorer").locator('a[href$="03_smem/index.html"]').first.click()
        visit.page.wait_for_url("**/03_smem/index.html")
        visit.clean()


def test_a_lessons_shapes_are_those_of_its_type(site: Path, browser: Browser) -> None:
    with browser.visit((site / "15_split_k" / "index.html").as_uri()) as visit:
        visit.page.click(".beside >> text=shape atlas")
        visit.page.wait_for_url("**/atlas/index.html")
        frame = visit.page.frame_locator("iframe.explorer")
        frame.locator("#fp32[aria-pressed=true]").wait_for()
        visit.page.goto((site / "15_split_k" / "c_wgmma" / "index.html").as_uri())
        visit.page.click(".beside >> text=shape atlas")
        visit.page.wait_for_url("**/atlas/index.html#type=bf16")
        frame.locator("#bf16[aria-pressed=true]").wait_for()
        frame.locator('[data-shape="16×28672×4096"]').click()
        frame.locator("text=A link to this shape").click()
        visit.page.wait_for_url("**/atlas/page.html#type=bf16&shape=16x28672x4096")
        visit.page.click("#shape table a")
        visit.page.wait_for_url("**/15_split_k/c_wgmma/index.html")
        visit.clean()


@pytest.mark.parametrize("address", ["progress/index.html", "layouts/index.html", "atlas/index.html"])
def test_a_page_in_a_frame_says_its_name_once_and_has_the_room_beside_it(site: Path, browser: Browser, address: str) -> None:
    with browser.visit((site / address).as_uri(), width=1366, height=768) as visit:
        frame = visit.page.frame_locator("iframe.explorer")
        frame.locator("html[data-framed]").wait_for(state="attached")
        name = frame.locator("h1").bounding_box()
        assert name and name["width"] <= 1
        box = visit.page.locator("iframe.explorer").bounding_box()
        assert box and box["width"] > 850
        visit.clean()
    with browser.visit((site / address).with_name("page.html").as_uri()) as visit:
        name = visit.page.locator("h1").bounding_box()
        assert name and name["width"] > 100


def test_a_table_of_a_lessons_times_fits_a_phone(site: Path, browser: Browser) -> None:
    with browser.visit((site / "12_warp_specialized" / "index.html").as_uri(), width=390) as visit:
        times = visit.page.locator(".table", has_text="TFLOP/s").first
        assert times.evaluate("(one) => one.scrollWidth <= one.clientWidth")


_SHOWN = ("index.html", "05_2d_blocktile/index.html", "03_smem/kernel.cu.html", "exercises/03_smem.html", "plots/index.html",
          "GLOSSARY.html", "classroom/index.html", "common/index.html")  # fmt: skip


@pytest.mark.parametrize("dark", [False, True])
def test_pages_fit_a_phone_and_are_accessible(site: Path, browser: Browser, dark: bool) -> None:
    """Every text's page fits, in one of the two colours. axe-core, which takes longer than all else, looks at those of each kind
    and at a sample of the texts; what it could find wrong in a text alone is looked for in all of them without a browser."""
    built = [path for path in site.rglob("index.html") if 'http-equiv="refresh"' not in path.read_text(encoding="utf-8")]
    texts = sorted(path.relative_to(site).as_posix() for path in built)[dark::2]
    looked_at = [*(drawn(_SHOWN, 3)), *random.Random(seed()).sample(texts, 4 if whole_families() else 1)]
    others = texts if whole_families() else []
    with browser.visit("about:blank", width=390, height=844, dark=dark) as visit:
        for address in dict.fromkeys((*looked_at, *others)):
            visit.page.goto((site / address).as_uri())
            visit.fits()
        visit.clean()  # before axe-core, which asks for the style sheets again and is refused
        for address in looked_at:
            visit.page.goto((site / address).as_uri())
            visit.accessible()


def test_pictures_have_words_and_headings_leave_no_level_out(pages: dict[str, _Page]) -> None:
    assert [(address, image) for address, page in pages.items() for image in page.wordless] == []
    gaps = [
        (address, before, after)
        for address, page in pages.items()
        if not address.startswith(("explore/", "progress/page"))
        for before, after in itertools.pairwise(page.levels)
        if after > before + 1
    ]
    assert gaps == []


def test_a_wide_page_is_accessible_and_frames_the_explorer(site: Path, browser: Browser) -> None:
    with browser.visit((site / "03_smem" / "index.html").as_uri(), width=1300) as visit:
        visit.page.locator("iframe.explorer").scroll_into_view_if_needed()
        visit.page.frame_locator("iframe.explorer").get_by_role("heading", name="Explorer").wait_for()
        visit.clean()
        visit.accessible()
