"""The page that shows a learner's own .progress.json, in a browser, against what the command makes of the same file."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from browser import Browser, Visit
from conftest import seed

from runner.core.results import lessons
from runner.learn import achievements, progress
from website import progress as site

pytestmark = pytest.mark.xdist_group("browser")
RULES = achievements.rules()
TASKS = [key for row in RULES["lessons"] for key in (row["exercise"], row["hunt"]) if key]
NOTHING: dict[str, Any] = {"schema": 1, "tasks": {}, "quizzes": {}}
# In the page: the same as _standing() here, or the sentence with which the file is refused.
STANDING = """async (text) => {
    const { read, standing } = await import("progress/rules");
    try {
        const { rules } = JSON.parse(document.getElementById("payload").textContent);
        return standing(rules, read(new TextEncoder().encode(text).buffer));
    } catch (error) {
        return error.message;
    }
}"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("page") / "index.html"
    file.write_text(site.page({"01_naive": "../01_naive/"}, "../"), encoding="utf-8")
    return file.as_uri()


def give(visit: Visit, content: bytes, name: str = ".progress.json") -> None:
    """As a person who chooses the file."""
    visit.page.set_input_files("#file", [{"name": name, "mimeType": "application/json", "buffer": content}])


def some() -> dict:
    """A .progress.json that is well under way."""
    first, hunt = RULES["lessons"][0], next(row for row in RULES["lessons"] if row["hunt"])
    tasks = {
        first["exercise"]: {"passed": "2026-11-20T12:00:05", "sha256": "0", "hints": 2, "helped": 1},
        hunt["hunt"]: {"passed": "2026-11-21T12:00:05", "sha256": "0"},
        hunt["exercise"]: {"hints": 1},
    }
    quizzes = {first["lesson"]: {"right": first["questions"], "of": first["questions"]}}
    return {**NOTHING, "tasks": tasks, "quizzes": quizzes, "achievements": {"first_kernel": "2026-11-20T12:00:05"}}


def drawn_files(count: int) -> list[dict]:
    """Files such as learners have, from beginners' to all but finished ones."""
    draw = random.Random(seed())
    files = [NOTHING, some()]
    for _ in range(count):
        share, tasks, quizzes = draw.random(), {}, {}
        for key in TASKS:
            if draw.random() < share:
                entry: dict[str, Any] = {"passed": f"2026-11-{draw.randint(1, 30):02}T12:00:05", "sha256": "0"}
                for name, most in (("hints", 3), ("helped", 3), ("versions", 3)):
                    entry |= {name: draw.randint(0, most)} if draw.random() < 0.6 else {}
                entry |= {"over_lesson": draw.uniform(0.9, 1.2), "gpu": "a GPU"} if draw.random() < 0.2 else {}
                tasks[key] = entry
            elif draw.random() < 0.2:
                tasks[key] = {"hints": draw.randint(0, 3)}
        for row in RULES["lessons"]:
            if draw.random() < share:
                quizzes[row["lesson"]] = {"right": draw.choice((0, 3, 5, 5, 5)), "of": 5}
        noted = {a["id"]: draw.choice((None, "2026-11-20T12:00:05")) for a in RULES["achievements"] if draw.random() < 0.2}
        files.append({**NOTHING, "tasks": tasks, "quizzes": quizzes, **({"achievements": noted} if noted else {})})
    return files


def test_the_page_and_the_command_agree(browser: Browser, address: str) -> None:
    with browser.visit(address) as visit:
        for raw in drawn_files(60):
            assert visit.page.evaluate(STANDING, json.dumps(raw)) == achievements.standing(RULES, raw), raw
        visit.clean()


REFUSED = [
    "",
    "garbage",
    "[]",
    "null",
    '{"schema": 2, "tasks": {}, "quizzes": {}}',
    '{"tasks": {}, "quizzes": {}}',
    '{"schema": 1}',
    '{"schema": 1, "tasks": [], "quizzes": {}}',
    '{"schema": 1, "tasks": {"a": 1}, "quizzes": {}}',
    '{"schema": 1, "tasks": {"a": {"hints": "2"}}, "quizzes": {}}',
    '{"schema": 1, "tasks": {"a": {"helped": true}}, "quizzes": {}}',
    '{"schema": 1, "tasks": {"a": {"versions": -1}}, "quizzes": {}}',
    '{"schema": 1, "tasks": {"a": {"passed": 3}}, "quizzes": {}}',
    '{"schema": 1, "tasks": {"a": {"over_lesson": "1"}}, "quizzes": {}}',
    '{"schema": 1, "tasks": {}, "quizzes": {"a": {"right": 1}}}',
    '{"schema": 1, "tasks": {}, "quizzes": {}, "achievements": []}',
    '{"schema": 1, "tasks": {}, "quizzes": {}, "achievements": {"faster": 1}}',
]


def test_both_refuse_the_same_files(browser: Browser, address: str) -> None:
    with browser.visit(address) as visit:
        for text in REFUSED:
            said = visit.page.evaluate(STANDING, text)
            assert isinstance(said, str), text
            assert said.startswith("This file ")
            assert said.endswith(".")
            try:
                fits = progress._fits(json.loads(text)) and json.loads(text)["schema"] == 1
            except (ValueError, KeyError):
                fits = False
            assert not fits, text


def test_a_file_is_chosen(browser: Browser, address: str) -> None:
    with browser.visit(address) as visit:
        page = visit.page
        assert page.inner_text("#said") == "No file has been read: this is the course before you begin."
        assert page.inner_text("#earned") == "0 of 12 earned."
        assert page.locator("#lessons tbody tr").count() == len(lessons())
        give(visit, json.dumps(some()).encode())
        page.wait_for_selector("#said:has-text('has been read')")
        expected = achievements.standing(RULES, some())
        assert page.inner_text("#said") == f".progress.json has been read: 2 of {len(TASKS)} tasks passed."
        level = f"Level {expected['level']}, {expected['name']}: {expected['points']} of {expected['of']} points."
        assert page.inner_text("#points").startswith(level)
        assert RULES["points"]["rule"] in page.inner_text("#level")
        for one in expected["achievements"]:
            card = page.locator(f"[data-id={one['id']}]")
            assert card.locator("h3").inner_text() == one["title"]
            assert card.locator(".how").inner_text() == one["how"]
            assert card.locator(".when").inner_text().startswith("Earned") == one["earned"]
        assert page.inner_text("[data-id=first_kernel] .when") == "Earned 2026-11-20"
        rows = [row.split("\t") for row in page.inner_text("#lessons tbody").splitlines()]
        assert [row[0] for row in rows] == lessons()
        assert rows[0][1:] == ["passed 2026-11-20", "–", "5 of 5", "13"]
        assert rows[lessons().index("03_smem")][1:] == ["not passed, 1 hint", "passed 2026-11-21", "not taken", "10"]
        assert page.get_attribute("#lessons tbody a", "href") == "../01_naive/"
        assert page.get_attribute("#home a", "href") == "../"
        give(visit, b"{")
        page.wait_for_selector("#trouble:visible")
        assert page.inner_text("#trouble").startswith("This file is not valid JSON;")
        assert page.inner_text("#earned").startswith(f"{sum(a['earned'] for a in expected['achievements'])} of")  # still there
        give(visit, json.dumps(NOTHING).encode(), "mine.json")
        page.wait_for_selector("#said:has-text('mine.json has been read: 0 of')")
        assert not page.is_visible("#trouble")
        assert page.evaluate("localStorage.length + sessionStorage.length") == 0
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
        visit.page.wait_for_selector("#said:has-text('has been read: 2 of')")
        assert not visit.page.locator("body.dropping").count()
        visit.clean()


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_it_can_be_read_and_used_by_everybody(browser: Browser, address: str, width: int, dark: bool) -> None:
    with browser.visit(address, width=width, dark=dark) as visit:
        page = visit.page
        give(visit, json.dumps(some()).encode())
        page.wait_for_selector("#said:has-text('has been read')")
        visit.accessible()
        visit.fits()
        page.evaluate("document.activeElement.blur()")
        for wanted in ("A", "file", "shown"):  # the link home, the file, the box
            page.keyboard.press("Tab")
            assert page.evaluate("document.activeElement.id || document.activeElement.tagName") == wanted
        page.keyboard.press("Space")
        assert not page.is_visible("#achievements")
        assert not page.is_visible("#level")
        assert "Points" not in page.inner_text("#lessons thead")
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
