"""The page that shows a learner's own .progress.json, in a browser: what stands in the file, counted by the command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, Visit

from runner.core.results import lessons
from runner.learn import achievements, exercise, progress
from website import progress as site

pytestmark = pytest.mark.xdist_group("browser")
TASKS = [task.key for task in exercise.tasks()]
NOTHING: dict[str, Any] = {"schema": 1, "tasks": {}, "quizzes": {}}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("page") / "index.html"
    file.write_text(site.page({"01_naive": "../01_naive/"}, "../"), encoding="utf-8")
    return file.as_uri()


def give(visit: Visit, content: bytes, name: str = ".progress.json") -> None:
    """As a person who chooses the file."""
    visit.page.set_input_files("#file", [{"name": name, "mimeType": "application/json", "buffer": content}])


def some(counted: bool = True) -> dict:
    """A .progress.json that is well under way; not counted: as versions wrote it that left that to the page."""
    tasks = {
        "01_naive/exercise": {"passed": "2026-11-20T12:00:05", "sha256": "0", "hints": 2, "helped": 1},
        "03_smem/hunt": {"passed": "2026-11-21T12:00:05", "sha256": "0"},
        "03_smem/exercise": {"hints": 1},
    }
    quizzes = {"01_naive": {"right": 5, "of": 5}}
    made = {**NOTHING, "tasks": tasks, "quizzes": quizzes, "achievements": {"first_kernel": "2026-11-20T12:00:05"}}
    return {**made, "standing": achievements.standing(made)} if counted else made


def test_a_file_is_chosen(browser: Browser, address: str) -> None:
    with browser.visit(address) as visit:
        page = visit.page
        assert page.inner_text("#earned").startswith("0 of 12 ")  # before a file has been read
        assert page.locator("#lessons tbody tr").count() == len(lessons())
        give(visit, json.dumps(some()).encode())
        page.wait_for_selector(f"#said:has-text('2 of {len(TASKS)} ')")
        expected = achievements.standing(some(False))
        for number in (expected["level"], expected["name"], expected["points"], expected["of"]):
            assert str(number) in page.inner_text("#points")
        assert achievements.RULE in page.inner_text("#level")
        for one in expected["achievements"]:
            card = page.locator(f"[data-id={one['id']}]")
            assert card.get_attribute("class") == ("earned" if one["earned"] else "open")
            assert card.locator("h3").inner_text() == one["title"]
            assert card.locator(".how").inner_text() == one["how"]
        assert "2026-11-20" in page.inner_text("[data-id=first_kernel] .when")
        rows = [row.split("\t") for row in page.inner_text("#lessons tbody").splitlines()]
        assert [row[0] for row in rows] == lessons()
        assert rows[0][1:] == ["passed 2026-11-20", "–", "5 of 5", "13"]
        assert rows[lessons().index("03_smem")][1:] == ["not passed, 1 hint", "passed 2026-11-21", "not taken", "10"]
        assert page.get_attribute("#lessons tbody a", "href") == "../01_naive/"
        assert page.get_attribute("#home a", "href") == "../"
        give(visit, b"{")
        page.wait_for_selector("#trouble:visible")
        assert page.inner_text("#lessons tbody").splitlines()[0].endswith("13")  # what was read last is still there
        give(visit, json.dumps(NOTHING).encode(), "mine.json")
        page.wait_for_selector("#said:has-text('mine.json')")
        assert not page.is_visible("#trouble")
        assert page.evaluate("localStorage.length + sessionStorage.length") == 0
        visit.clean()


def test_a_file_of_an_older_version_shows_what_was_done(browser: Browser, address: str) -> None:
    with browser.visit(address) as visit:
        give(visit, json.dumps(some(False)).encode())
        visit.page.wait_for_selector(f"#said:has-text('2 of {len(TASKS)} ')")
        assert not visit.page.locator("#points, #earned").count()
        assert "./gemm progress" in visit.page.inner_text("#level")
        assert visit.page.inner_text("#lessons tbody tr").split("\t")[1:] == ["passed 2026-11-20", "–", "5 of 5", "–"]
        visit.clean()


@pytest.mark.parametrize("points", [True, False])
def test_the_command_writes_a_page_that_shows_what_is_done_at_once(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, points: bool
) -> None:
    monkeypatch.setattr(progress, "load", lambda: progress.State(some(False)))
    monkeypatch.setattr(progress, "standing", lambda: achievements.standing(some(False)))
    monkeypatch.setattr(site, "ROOT", tmp_path)
    monkeypatch.setattr(site, "OUT", tmp_path / "out" / "progress.html")
    opened: list[str] = []
    monkeypatch.setattr(site.explore, "show", lambda address, _: opened.append(address))
    assert site.show(points) == 0
    with browser.visit(opened[0]) as visit:
        assert visit.page.inner_text("#said").startswith(f"2 of {len(TASKS)} ")
        assert visit.page.inner_text("#lessons tbody tr").split("\t")[1] == "passed 2026-11-20"
        assert visit.page.is_visible("#level") == points
        assert not visit.page.is_visible("#asking")
        visit.clean()


def test_files_of_no_use_are_refused(browser: Browser, address: str) -> None:
    with browser.visit(address) as visit:
        for text in (
            "garbage",
            "null",
            '{"schema": 2, "tasks": {}, "quizzes": {}}',
            '{"tasks": {}, "quizzes": {}}',
            '{"schema": 1}',
            '{"schema": 1, "tasks": {"a": {"passed": 3}}, "quizzes": {}}',
            '{"schema": 1, "tasks": {"a": {"hints": "2"}}, "quizzes": {}}',
            '{"schema": 1, "tasks": {}, "quizzes": {"a": {"right": 1}}}',
            '{"schema": 1, "tasks": {}, "quizzes": {}, "standing": {}}',
        ):
            give(visit, text.encode())
            visit.page.wait_for_selector("#trouble:visible")
            assert visit.page.inner_text("#trouble").startswith("This file "), text
            give(visit, json.dumps(NOTHING).encode())
            visit.page.wait_for_selector("#trouble", state="hidden")
        visit.clean()


def test_a_file_is_dropped(browser: Browser, address: str) -> None:
    drop = """(text) => {
        const data = new DataTransfer();
        data.items.add(new File([text], ".progress.json"));
        for (const kind of ["dragenter", "dragover", "drop"]) {
            document.getElementById("lessons").dispatchEvent(
                new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: data }));
        }
    }"""
    with browser.visit(address) as visit:
        visit.page.evaluate(drop, json.dumps(some()))
        visit.page.wait_for_selector("#said:has-text('2 of ')")
        assert not visit.page.locator("body.dropping").count()
        visit.clean()


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_it_can_be_read_and_used_by_everybody(browser: Browser, address: str, width: int, dark: bool) -> None:
    with browser.visit(address, width=width, dark=dark) as visit:
        page = visit.page
        give(visit, json.dumps(some()).encode())
        page.wait_for_selector("#said:has-text('2 of ')")
        visit.accessible()
        visit.fits()
        page.evaluate("document.activeElement.blur()")
        for wanted in ("A", "file", "shown"):  # the link home, the file, the box
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.id || document.activeElement.tagName") == wanted
        page.keyboard.press("Space")
        assert not page.is_visible("#achievements")
        assert not page.is_visible("#level")
        assert not page.is_visible("#lessons th.points")
        assert page.is_visible("#lessons tbody")
        page.keyboard.press("Space")
        assert page.is_visible("#achievements")
        visit.clean()


def test_the_page_is_whole_and_may_ask_nobody() -> None:
    text = site.page()
    for word in ("@STYLE@", "@IMPORTS@", "@PAYLOAD@", 'src="http', 'href="http', "url("):
        assert word not in text
    assert "default-src 'none'; " in text
    assert "connect-src" not in text
    assert len(text) < 100_000
