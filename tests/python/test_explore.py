"""./gemm explore: the page that it writes, what it refuses, and its server. The page itself: test_explore_views.py (in a browser)
and test_explore_modules.py (without one)."""

from __future__ import annotations

import base64
import json
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from browser import Browser
from conftest import PATIENCE, REPOSITORY, Checkout, alone, describe, descriptors, drawn, stop, whole_families
from explorer_pages import bare, real, selection, written
from inspect_synthetic import finding, naive, tracer

from runner import mistakes
from runner.core.results import UserError, lessons
from runner.inspect import inspection
from runner.learn import exercise
from runner.learn.mine import inspect_mine
from website import explore
from website.explore import Asked

# The page


def test_a_page_holds_all_that_it_needs() -> None:
    text = explore.page(bare())
    found = re.search(r'<script type="importmap">(.*?)</script>', text, re.DOTALL)
    assert found
    urls = json.loads(found[1])["imports"]
    modules = {name: base64.b64decode(url.partition("base64,")[2]).decode() for name, url in urls.items()}
    assert modules == explore.modules()
    wanted = {name for code in modules.values() for name in re.findall(r'(?:from|import) "(.*?)"', code)}
    assert wanted <= modules.keys()
    assert not re.search(r'(?:src|href|action)="?(?:https?:|//)', text)
    assert not re.search(r"url\(|@import", explore.styles())
    assert "01 &lt;naive&gt;" in text
    embedded = re.search(r'<script type="application/json" id="payload">(.*?)</script>', text, re.DOTALL)
    assert embedded
    assert json.loads(embedded[1]) == bare()  # its </script> ends nothing


def test_data_of_another_schema_is_refused() -> None:
    with pytest.raises(UserError, match=r"schema 1\b.*\b7\b"):
        explore.page({**bare(), "schema": 7})


def test_as_many_blocks_are_kept_as_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    block: Any = {"events": [[0, 0, 0, 0, 4]] * 1000, "truncated": False}
    trace: Any = {**naive("01_naive"), "history": [block] * 4}
    assert explore.fitted(trace)["history"] == [block] * 4
    monkeypatch.setattr(explore, "LARGEST", len(json.dumps(naive("01_naive"))) + 30_000)
    assert explore.fitted(trace)["history"] == [block] * 2
    monkeypatch.setattr(explore, "LARGEST", len(json.dumps(naive("01_naive"))) + 6_000)
    (cut,) = explore.fitted(trace)["history"]
    assert cut["truncated"]
    assert 300 < len(cut["events"]) < 600


@pytest.mark.parametrize("lesson", lessons())
def test_default_shapes_show_several_tiles_and_are_traced_soon(lesson: str) -> None:
    descriptor = descriptors()[lesson]
    size = explore.shape(descriptor)
    request = inspection.parse(dict(size), {}, None, None)
    assert inspection.estimate(request, descriptor.tile) <= 10
    assert request.k >= 4 * descriptor.tile[2]
    assert request.m * request.n > descriptor.tile[0] * descriptor.tile[1]


# The command


@pytest.fixture
def explored(checkout: Checkout) -> Checkout:
    """A checkout whose gemm_inspect writes $FAKES/<lesson>.json."""
    tracer(checkout, naive("01_naive"))
    describe(checkout.root / "build" / "cpu", "01_naive")
    shutil.rmtree(checkout.root / "plots")
    shutil.copytree(REPOSITORY / "plots", checkout.root / "plots", ignore=shutil.ignore_patterns("*.png", "*.svg", "__pycache__"))
    shutil.copytree(REPOSITORY / "website", checkout.root / "website", ignore=shutil.ignore_patterns("__pycache__"))
    return checkout


def test_a_page_is_written_and_where_is_said(explored: Checkout) -> None:
    done = explored.run("explore", "1", status=0)
    page = explored.root / "out" / "explore" / "01_naive.html"
    assert re.fullmatch(r"Written: out/explore/01_naive\.html \(\d+ kB\)\.\n", done.stdout)
    assert f" {page.as_uri()} " in done.stderr.splitlines()[-1]
    assert "<title>" in page.read_text()
    call = (explored.fakes / "inspected").read_text()
    assert call.startswith("--lesson 01_naive --m=64 --n=64 --k=64 --blocks=all --history=64 ")


def test_the_browser_is_opened_where_there_is_one(explored: Checkout) -> None:
    opener = explored.tool("opens", 'echo "$1" >>"$FAKES/opened"\n')
    explored.env.update(DISPLAY=":0", BROWSER=str(opener))
    page = explored.root / "out" / "explore" / "01_naive.html"
    done = explored.run("explore", "01", "--m", "33", "--k", "7", "--blocks", "2", "--seed", "5", "--variant", "fp32", status=0)
    assert "No browser" not in done.stderr
    assert (explored.fakes / "opened").read_text() == f"{page.as_uri()}\n"
    assert "--m=33 --n=64 --k=7 --blocks=2 --seed=5 --variant=fp32" in (explored.fakes / "inspected").read_text()
    explored.run("explore", "01", "--no-open", status=0)
    assert (explored.fakes / "opened").read_text() == f"{page.as_uri()}\n"


def test_a_wrong_kernel_has_its_page_and_status_1(explored: Checkout) -> None:
    tracer(explored, {**naive("01_naive"), "findings": [finding()]}, status=1)
    explored.run("explore", "01", "--no-open", status=1)
    assert (explored.root / "out" / "explore" / "01_naive.html").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("explore", "44"), ("'44'",)),
        (("explore", "01", "--m", "-1"), ("--m",)),
        (("explore", "01", "--blocks", "0"), ("--blocks",)),
        (("explore", "01", "--m", "8192", "--n", "8192", "--k", "8192"), ("8192×8192×8192", "--blocks 4")),
        (("explore", "01", "--m", "0"), ("0×64×64",)),
    ],
)
def test_bad_input_is_one_sentence(explored: Checkout, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    (explored.root / "out").mkdir(exist_ok=True)
    explored.fails(*arguments, words=words)
    assert not (explored.root / "out" / "explore").exists()


def test_a_lessons_tracer_needs_nothing_of_a_check() -> None:
    """What ./gemm explore 03 builds on a fresh clone."""
    descriptors()  # so that it is configured
    folder = REPOSITORY / "build" / "cpu"
    if not (folder / "build.ninja").exists():
        pytest.skip("build/cpu is not Ninja's")
    command = ["ninja", "-C", folder, "-t", "inputs", "03_smem_inspect"]
    files = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert any(file.endswith("inspect_lesson.cpp") for file in files)
    assert [file for file in files if re.search(r"gemm_cases|check\.cpp|04_1d", file)] == []


# The server


def _now(address: str) -> dict[str, Any]:
    with urlopen(f"{address}now", timeout=PATIENCE) as answer:
        return json.loads(answer.read())


def _until(address: str, **fields: Any) -> dict[str, Any]:
    """What /now says, as soon as it says that."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        found = _now(address)
        if all(found[key] == value for key, value in fields.items()):
            return found
        time.sleep(0.05)
    raise AssertionError(f"{found} never became {fields}")


@contextmanager
def serving(checkout: Checkout) -> Iterator[str]:
    process = checkout.start("explore", "01", "--serve", "--no-open")
    try:
        assert process.stdout
        line = process.stdout.readline()
        address = line.partition(" ")[0]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address), line
        assert " 01_naive/kernel.cu;" in line and "Ctrl-C" in line
        yield address
        assert stop(process, signal.SIGINT)[0] == 130
    finally:
        process.kill()


def test_the_server_follows_the_kernel(explored: Checkout) -> None:
    kernel = explored.root / "01_naive" / "kernel.cu"
    with serving(explored) as address:
        _until(address, version=1, note="")
        with urlopen(address, timeout=PATIENCE) as answer:
            assert '<html data-served="1" lang="en">' in answer.read().decode()
        (explored.fakes / "build_fails").touch()
        kernel.write_text("// broken\n")
        told = _until(address, version=1, note="The kernel does not compile.\nkernel.cu:3: error: expected ';'")
        assert "above" not in told["note"]  # there is nothing above it on the page
        (explored.fakes / "build_fails").unlink()
        kernel.write_text("// mended\n")
        _until(address, version=2, note="")
        kernel.rename(kernel.with_suffix(".away"))
        _until(address, version=2, note="01_naive/kernel.cu is not there; the page shows it as it last was.")
        kernel.with_suffix(".away").rename(kernel)
        _until(address, version=2, note="")
        for path, host in (("other", None), ("", "elsewhere.example")):
            with pytest.raises(HTTPError, match="404"):
                urlopen(Request(f"{address}{path}", headers={"Host": host} if host else {}), timeout=PATIENCE)


@pytest.mark.xdist_group("browser")
def test_the_served_page_comes_anew_and_keeps_what_is_chosen(explored: Checkout, browser: Browser) -> None:
    tracer(explored, {**naive("01_naive"), "history": real("03_smem")["trace"]["history"]})
    with serving(explored) as address:
        _until(address, version=1)
        with browser.visit(f"{address}#element=3,5&step=2") as visit:
            chosen = selection(visit)
            assert {"element": "3,5", "step": "2"}.items() <= chosen.items()
            visit.page.locator("#time").scroll_into_view_if_needed()
            visit.page.evaluate("scrollTo({ top: 1100, behavior: 'instant' })")
            (explored.fakes / "build_fails").touch()
            (explored.root / "01_naive" / "kernel.cu").write_text("// broken\n")
            trouble = visit.page.get_by_role("alert")
            trouble.wait_for()
            box = trouble.bounding_box()
            assert box and 0 <= box["y"] < 450  # in sight, though the reader is far down
            font = trouble.locator("pre").evaluate("(one) => getComputedStyle(one).fontFamily")
            assert "Mono" in font and "error: expected ';'" in trouble.locator("pre").inner_text()
            where = "document.querySelector('#time').getBoundingClientRect().top"
            assert visit.page.evaluate("scrollY") > 500
            top = visit.page.evaluate(where)
            (explored.fakes / "build_fails").unlink()
            (explored.root / "01_naive" / "kernel.cu").write_text("// another\n")
            visit.page.wait_for_selector('html[data-served="2"]', timeout=PATIENCE * 1000)
            assert selection(visit) == chosen
            end = time.monotonic() + PATIENCE
            while abs(visit.page.evaluate(where) - top) > 40 and time.monotonic() < end:
                time.sleep(0.05)
            assert abs(visit.page.evaluate(where) - top) <= 40  # a sentence's height
            visit.clean()


@pytest.mark.xdist_group("browser")
@pytest.mark.long
@pytest.mark.skipif(not whole_families(), reason="compiles a learner's kernel: whole families alone")
def test_a_learners_race_is_on_the_page(browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = exercise.task("03_smem", False)
    mistake = next(one for one in mistakes.mistakes("03_smem") if one.found.get("tracer") == ("race",))
    text = task.solution()
    for change in mistake.changes:
        text = change.made(text, mistake.key)
    mine = exercise.Task(task.lesson, task.kind, tmp_path)
    monkeypatch.setattr(exercise.Task, "file", property(lambda _: tmp_path / "exercise.cu"))
    (tmp_path / "exercise.cu").write_text(text, encoding="utf-8")
    with alone("build"):
        payload, status = explore.traced(Asked("03_smem", mine, {}, None, None))
    assert status == 1
    assert payload["mine"] and "race" in {one["id"] for one in payload["trace"]["findings"]}
    with browser.visit(written(payload, tmp_path)) as visit:
        assert visit.page.locator("#findings [data-finding]").count() == len(payload["trace"]["findings"])
        assert visit.page.locator("#checked [data-checked=failed] p").count() >= 2  # where, and what
        visit.clean()


HUNTS = [task for task in exercise.tasks() if task.kind == "hunt"]


@pytest.mark.parametrize("hunt", drawn(HUNTS, 1), ids=str)
def test_a_hunts_page_shows_the_case_at_which_the_check_fails(
    hunt: exercise.Task, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = hunt.starter()
    monkeypatch.setattr(exercise.Task, "file", property(lambda _: tmp_path / "bug_hunt.cu"))
    (tmp_path / "bug_hunt.cu").write_text(text, encoding="utf-8")
    with alone("build"):
        payload, status = explore.traced(Asked(hunt.lesson, hunt, {}, None, None))
    checked, trace = payload["checked"], payload["trace"]
    assert status == 1 and checked is not None and not checked["passed"]
    shown = trace["findings"] or trace["error"] or not trace["verdict"] or not trace["verdict"]["passed"]
    assert shown or "./gemm check fails." in checked["told"]  # a goal, which is no case's
    with alone("build"):
        assert inspect_mine(hunt, None, None, None, False, None, None) == 1
    said = capsys.readouterr().out
    assert said.startswith("./gemm check fails") and ("Global memory" in said or trace["error"])
