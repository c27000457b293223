"""./gemm explore: the page that it writes, what it refuses, its server, and the page in a real browser: pointing at an element
of C, going along K and through a block's events."""

from __future__ import annotations

import base64
import copy
import json
import re
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from browser import Browser, Visit
from conftest import PATIENCE, REPOSITORY, Checkout, alone, describe, descriptors, seed, stop, whole_families
from inspect_synthetic import finding, naive, tracer

from runner import mistakes
from runner.core.machines import MACHINES
from runner.core.results import UserError, lessons
from runner.inspect import inspection
from runner.learn import exercise
from website import explore
from website.explore import Asked, Payload

LARGEST = 5_000_000  # bytes of a page at 256³
SOONEST = 2.0  # seconds until the first view is drawn


def _spread(names: list[str]) -> list[Any]:
    """The lessons as parameters, in groups that run side by side, each with a browser of its own."""
    return [pytest.param(name, marks=pytest.mark.xdist_group(f"browser{index % 4}")) for index, name in enumerate(names)]


def asked(lesson: str, **sizes: int) -> Asked:
    return Asked(lesson, None, {key: str(size) for key, size in sizes.items()}, None, None)


@cache
def real(lesson: str, *sizes: int) -> Payload:
    """What ./gemm explore shows of a lesson in this checkout."""
    with alone("build"), pytest.MonkeyPatch.context() as patched:
        patched.setenv("GEMM_NO_INSTALL", "1")
        return explore.traced(asked(lesson, **dict(zip("mnk", sizes, strict=False))))[0]


def made() -> Payload:
    """A page's data without a history."""
    trace: Any = naive("01_naive")
    entry = {"name": "01_naive", "number": "01", "tile": {"BM": 32, "BN": 32, "BK": 1}, "constants": {}, "block": [32, 32, 1],
             "dynamic_shared_bytes": 0, "variants": [{"text": "fp32", "architectures": {"from": 50}}]}  # fmt: skip
    sources: list[explore.Source] = [{"file": "01_naive/kernel.cu", "lines": ["// </script><b>", *["x"] * 40]}]
    return {"schema": 1, "lesson": "01_naive", "title": "01 <naive>", "mine": False, "trace": trace, "sources": sources,
            "descriptor": entry, "recorded": None, "machines": MACHINES}  # fmt: skip


# The page


def test_a_page_holds_all_that_it_needs() -> None:
    text = explore.page(made())
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
    assert json.loads(embedded[1]) == made()  # its </script> ends nothing


def test_data_of_another_schema_is_refused() -> None:
    with pytest.raises(UserError, match=r"^The explorer reads data of schema 1, not 7; trace the kernel again\.$"):
        explore.page({**made(), "schema": 7})


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
    done = explored.run("explore", "1")
    assert done.returncode == 0, done.stderr
    page = explored.root / "out" / "explore" / "01_naive.html"
    assert re.fullmatch(r"Written: out/explore/01_naive.html \(\d+ kB\)\.\n", done.stdout)
    assert done.stderr.splitlines()[-1] == f"No browser could be opened here; open {page.as_uri()} in one."
    assert "<title>" in page.read_text()
    call = (explored.fakes / "inspected").read_text()
    assert call.startswith("--lesson 01_naive --m=64 --n=64 --k=64 --blocks=all --history=4 ")


def test_the_browser_is_opened_where_there_is_one(explored: Checkout) -> None:
    opener = explored.tool("opens", 'echo "$1" >>"$FAKES/opened"\n')
    explored.env.update(DISPLAY=":0", BROWSER=str(opener))
    page = explored.root / "out" / "explore" / "01_naive.html"
    done = explored.run("explore", "01", "--m", "33", "--k", "7", "--blocks", "2", "--seed", "5", "--variant", "fp32")
    assert done.returncode == 0, done.stderr
    assert "No browser" not in done.stderr
    assert (explored.fakes / "opened").read_text() == f"{page.as_uri()}\n"
    assert "--m=33 --n=64 --k=7 --blocks=2 --seed=5 --variant=fp32" in (explored.fakes / "inspected").read_text()
    assert explored.run("explore", "01", "--no-open").returncode == 0
    assert (explored.fakes / "opened").read_text() == f"{page.as_uri()}\n"


def test_a_wrong_kernel_has_its_page_and_status_1(explored: Checkout) -> None:
    tracer(explored, {**naive("01_naive"), "findings": [finding()]}, status=1)
    done = explored.run("explore", "01", "--no-open")
    assert done.returncode == 1
    assert "The kernel is not right; the page's findings show what was found." in done.stderr
    assert (explored.root / "out" / "explore" / "01_naive.html").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("explore", "44"), ("no lesson '44'",)),
        (("explore", "01", "--m", "-1"), ("--m must be a whole number",)),
        (("explore", "01", "--blocks", "0"), ("--blocks must be all or a whole number from 1",)),
        (("explore", "01", "--m", "8192", "--n", "8192", "--k", "8192"), ("Tracing 8192×8192×8192 would take", "--blocks 4")),
        (("explore", "01", "--m", "0"), ("There is nothing to see of 0×64×64", "1 or more")),
    ],
)
def test_bad_input_is_one_sentence(explored: Checkout, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    (explored.root / "out").mkdir(exist_ok=True)
    explored.fails(*arguments, words=words)
    assert not (explored.root / "out" / "explore").exists()


def test_a_trace_of_another_schema_is_refused(explored: Checkout) -> None:
    tracer(explored, {**naive("01_naive"), "schema": 99})
    explored.fails("explore", "01", words=("schema 99", "build it again"))


def test_a_kernel_that_does_not_compile(explored: Checkout) -> None:
    (explored.fakes / "build_fails").touch()
    done = explored.run("explore", "01")
    assert done.returncode == 2
    assert "kernel.cu:3: error: expected ';'" in done.stderr
    assert done.stderr.splitlines()[-1] == "gemm: The build failed; the message is above."


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
        assert line.endswith(" shows 01_naive, anew at every save of 01_naive/kernel.cu; Ctrl-C ends it.\n")
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
        _until(address, version=1, note="The build failed; the message is above.")
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
            row = visit.page.get_by_label("Row of C")
            assert row.input_value() == "3"
            visit.page.mouse.wheel(0, 2000)
            (explored.fakes / "build_fails").touch()
            (explored.root / "01_naive" / "kernel.cu").write_text("// broken\n")
            trouble = visit.page.get_by_role("alert")
            trouble.get_by_text("The build failed").wait_for()
            box = trouble.bounding_box()
            assert box and 0 <= box["y"] < 450  # in sight, though the reader is far down
            (explored.fakes / "build_fails").unlink()
            (explored.root / "01_naive" / "kernel.cu").write_text("// another\n")
            visit.page.wait_for_selector('html[data-served="2"]', timeout=PATIENCE * 1000)
            assert row.input_value() == "3"
            assert "step=2" in visit.page.url
            visit.clean()


# In a browser


@pytest.fixture
def visit(browser: Browser, tmp_path: Path) -> Iterator[Visit]:
    """Lesson 03's page."""
    with browser.visit(written(real("03_smem"), tmp_path)) as found:
        yield found


def written(payload: Payload, folder: Path) -> str:
    path = folder / "page.html"
    path.write_text(explore.page(payload), encoding="utf-8")
    return path.as_uri()


def said(visit: Visit) -> str:
    return visit.page.locator("#product-words").inner_text()


def stepped(visit: Visit) -> str:
    return visit.page.locator("#product-step").inner_text()


def point(visit: Visit, row: int, col: int) -> None:
    """Moves the mouse to the middle of an element of C."""
    canvas = visit.page.locator("#product canvas").first
    canvas.scroll_into_view_if_needed()
    x, y, scale = map(float, (canvas.get_attribute("data-c") or "").split())
    canvas.hover(position={"x": x + (col + 0.5) * scale, "y": y + (row + 0.5) * scale})


def owned(payload: Payload) -> dict[tuple[int, int], int]:
    owners = payload["trace"]["owners"]
    return {(row, col): thread for row, col, thread in zip(owners["rows"], owners["cols"], owners["threads"], strict=True)}


def owner_words(payload: Payload, row: int, col: int) -> str:
    thread = owned(payload)[row, col]
    block = ", ".join(map(str, payload["trace"]["history"][0]["block"]))
    return f"C[{row}][{col}]: block ({block}), warp {thread // 32}, thread {thread} (lane {thread % 32})."


@pytest.mark.xdist_group("browser")
def test_pointing_at_an_element_names_its_thread(visit: Visit) -> None:
    payload = real("03_smem")
    elements = sorted(owned(payload))
    for row, col in (elements[seed() % len(elements)], elements[0], elements[-1], (12, 34 % 32)):
        point(visit, row, col)
        assert owner_words(payload, row, col) in said(visit)
        assert f"It is row {row} of A times column {col} of B." in said(visit)
    # A click holds it, another lets it go.
    visit.page.mouse.down()
    visit.page.mouse.up()
    held = said(visit)
    point(visit, 0, 0)
    assert said(visit) == held
    visit.page.mouse.down()
    visit.page.mouse.up()
    assert said(visit).startswith("C[0][0]")
    visit.clean()


@pytest.mark.xdist_group("browser")
def test_an_element_of_another_block(visit: Visit) -> None:
    point(visit, 40, 50)
    assert "C[40][50]: block (3, 0, 0), warp 8, thread 274 (lane 18)." in said(visit)
    assert visit.page.get_by_label("Block", exact=True).input_value() == "3"


@pytest.mark.xdist_group("browser")
def test_along_k(visit: Visit) -> None:
    slider = visit.page.get_by_role("slider", name="Along K:")
    assert "Loaded into registers: A[0–31][0–31] and B[0–31][0–31]." in stepped(visit)
    slider.focus()
    visit.page.keyboard.press("ArrowRight")
    assert "Step 1 of 0 to 8: behind the block’s barrier 1." in stepped(visit)
    assert "Read in this step: A[0–31][0–31] and B[0–31][0–31]." in stepped(visit)
    assert re.search(r"As \(4.096 bytes\), filled through registers, holds A\[0–31\]\[0–31\] in use\.", stepped(visit))
    visit.page.keyboard.press("ArrowRight")
    assert "Loaded into registers: A[0–31][32–63] and B[32–63][0–31]." in stepped(visit)
    # The time view has the same step.
    assert "Step 2 of 0 to 8" in visit.page.locator("#time-words").inner_text()
    visit.page.locator("#time").get_by_role("button", name="One step on").click()
    assert "Step 3 of 0 to 8" in stepped(visit)
    visit.clean()


@pytest.mark.xdist_group("browser")
def test_it_plays_to_the_end(visit: Visit) -> None:
    visit.page.clock.install(time=0)
    visit.page.clock.pause_at(60_000)  # from here on time passes in run_for() alone, however busy the machine is
    play = visit.page.locator("#product").get_by_role("button", name="Play")
    play.click()
    visit.page.clock.run_for(3000)
    assert "Step 4 of" in stepped(visit)
    visit.page.locator("#product").get_by_role("button", name="Pause").click()
    visit.page.clock.run_for(3000)
    assert "Step 4 of" in stepped(visit)
    play.click()
    visit.page.clock.run_for(20_000)
    assert "Step 8 of" in stepped(visit)
    assert play.is_visible()


@pytest.mark.xdist_group("browser")
def test_the_keyboard_alone(visit: Visit) -> None:
    payload, keyboard = real("03_smem"), visit.page.keyboard

    def tab_to(test: str) -> None:
        for _ in range(60):
            keyboard.press("Tab")
            if visit.page.evaluate(f"(() => {{ const at = document.activeElement; return {test}; }})()"):
                return
        raise AssertionError(f"Tab never comes to where {test}")

    tab_to("at.tagName === 'CANVAS' && at.closest('#product') !== null")
    outline = visit.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"
    for key in ("ArrowDown", "ArrowDown", "Shift+ArrowRight", "ArrowRight", "ArrowUp"):
        keyboard.press(key)
    assert owner_words(payload, 1, 9) in said(visit)
    tab_to("at.closest('#source li') !== null && at.textContent.includes('acc +=')")
    keyboard.press("Enter")
    chosen = visit.page.locator("#source li.chosen")
    assert "acc +=" in chosen.inner_text()
    assert "line=" in visit.page.evaluate("new Promise((done) => setTimeout(() => done(location.hash), 300))")
    tab_to("at.tagName === 'CANVAS' && at.closest('#time') !== null")
    before = visit.page.locator("#time-words").inner_text()
    keyboard.press("ArrowRight")
    after = visit.page.locator("#time-words").inner_text()
    assert after != before
    assert re.match(r"Event .+ of .+, step \d+: warp 1 ", after)
    keyboard.press("ArrowDown")
    assert ": warp 2 " in visit.page.locator("#time-words").inner_text()
    visit.clean()


@pytest.mark.xdist_group("browser")
def test_choosing_an_event_chooses_its_line_in_all_views(visit: Visit) -> None:
    history = real("03_smem")["trace"]["history"][0]
    time_words = visit.page.locator("#time-words")
    for _ in range(2):
        visit.page.get_by_role("button", name="The next event, as the CPU device ran them").click()
    event = 2
    access = history["accesses"][history["events"][event][0]]  # type: ignore[index]
    line = real("03_smem")["trace"]["lines"][access["line"]]
    assert f"Event {event} of" in time_words.inner_text()
    assert f"line {line['line']}." in time_words.inner_text()
    assert visit.page.locator("#source li.chosen .number").inner_text() == str(line["line"])
    assert f"{line['array']}" in visit.page.locator("#source .note").inner_text()
    # The address has it: the page comes up with the same event.
    visit.page.wait_for_timeout(300)
    words = time_words.inner_text()
    visit.page.reload()
    assert time_words.inner_text() == words


@pytest.mark.xdist_group("browser")
def test_all_views_name_the_same_thread(browser: Browser, tmp_path: Path) -> None:
    payload = copy.deepcopy(real("03_smem"))
    del payload["trace"]["history"][1:]

    def named(words: str) -> set[str]:
        return set(re.findall(r"thread (\d+)", words, re.IGNORECASE))

    with browser.visit(written(payload, tmp_path)) as visit:
        point(visit, 3, 5)
        assert visit.page.locator("#product .controls [role=status]").inner_text() == "Follows the pointer."
        visit.page.mouse.down()
        visit.page.mouse.up()
        assert visit.page.locator("#product .controls [role=status]").inner_text().startswith("Held")
        assert named(said(visit)) == {"101"}
        # A lane that is chosen elsewhere is another thread, and so another element.
        visit.page.locator("#access [data-lane='9']").first.click()
        assert named(said(visit)) == named(visit.page.locator("#access .readout").inner_text()) == {"105"}
        assert said(visit).startswith("C[3][9]: block (0, 0, 0), warp 3, thread 105 (lane 9).")
        visit.page.get_by_label("Warp, slider").press("ArrowLeft")
        assert named(said(visit)) == named(visit.page.locator("#access .readout").inner_text()) == {"73"}
        # Another warp's event: no lane of it is chosen, so no thread is.
        address = visit.page.url.partition("#")[0]
        visit.page.goto("about:blank")  # a page that is open would write what it shows over the address
        visit.page.goto(f"{address}#element=3,5&thread=7")
        assert named(said(visit)) == {"101"}  # what contradicts the element gives way
        visit.page.get_by_label("Column of C").fill("40")
        visit.page.keyboard.press("Enter")
        assert said(visit) == "C[3][40]: nobody stores it among the blocks whose history was kept: (0, 0, 0)."
        visit.clean()


@pytest.mark.xdist_group("browser")
def test_a_wgmma_is_its_warpgroups(browser: Browser, tmp_path: Path) -> None:
    payload = real("11a_one_stage")
    events = payload["trace"]["history"][0]["events"]
    event = next(at for at, one in enumerate(events) if isinstance(one, dict) and one["e"] == "wgmma")
    with browser.visit(written(payload, tmp_path)) as visit:
        time_words = visit.page.locator("#time-words")
        address, counts = visit.page.url.partition("#")[0], []
        for warp in range(4):
            visit.page.goto("about:blank")  # a page that is open would write what it shows over the address
            visit.page.goto(f"{address}#event={event}&warp={warp}&step=1")
            assert "warpgroup 0, warps 0–3, multiplies by wgmma, m64" in time_words.inner_text()
            found = re.search(rf"Warp {warp}: .*?(\d+) products with its warpgroup", time_words.inner_text())
            assert found
            counts.append(found[1])
        assert len(set(counts)) == 1
        assert "warpgroup 0 (warps 0–3) multiplies A[0–127][0–63] by B[0–63][0–127] in its wgmma." in stepped(visit)
        assert (
            "Warpgroup 0 (warps 0–3) multiplies together and stores 16\u202f384 elements of C, rows 0–127 and columns 0–127."
        ) in said(visit)
        # The keyboard goes along the row of a warp that did not begin it, and comes to the next product of its warpgroup.
        visit.page.locator("#time canvas").first.press("ArrowRight")
        assert "multiplies by wgmma" in time_words.inner_text()
        assert "Warp 3: " in time_words.inner_text()
        visit.clean()


@pytest.mark.xdist_group("browser")
@pytest.mark.parametrize(("width", "dark"), [(390, False), (1280, True)])
def test_it_fits_and_is_accessible(browser: Browser, tmp_path: Path, width: int, dark: bool) -> None:
    with browser.visit(written(real("03_smem"), tmp_path), width=width, dark=dark, has_touch=width < 500) as visit:
        visit.fits()
        visit.accessible()
        paper = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, re.findall(r"\d+", paper)[:3])) < 200) == dark
        visit.page.locator("#theme").click()  # light
        visit.page.locator("#theme").click()  # dark
        paper = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert sum(map(int, re.findall(r"\d+", paper)[:3])) < 200
        if width < 500:
            canvas = visit.page.locator("#product canvas").first
            x, y, scale = map(float, (canvas.get_attribute("data-c") or "").split())
            canvas.tap(position={"x": x + 5.5 * scale, "y": y + 4.5 * scale})
            assert owner_words(real("03_smem"), 4, 5) in said(visit)
        visit.clean()


@pytest.mark.xdist_group("browser")
def test_the_page_refuses_data_of_another_schema(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(explore.page(made()).replace('id="payload">{"schema":1', 'id="payload">{"schema":5'), encoding="utf-8")
    with browser.visit(path.as_uri()) as visit:
        trouble = visit.page.get_by_role("alert")
        assert trouble.inner_text() == (
            "This page holds data of schema 5, but reads schema 1; write it again with ./gemm explore."
        )
        visit.clean()


@pytest.mark.xdist_group("browser")
def test_without_a_history_the_views_say_so(browser: Browser, tmp_path: Path) -> None:
    with browser.visit(written(made(), tmp_path)) as visit:
        assert "No block’s history was kept" in visit.page.locator("#product").inner_text()
        assert "No block’s history was kept" in visit.page.locator("#time").inner_text()
        assert "naive" in visit.page.locator("h1").inner_text()
        visit.clean()


def _drawn_after(visit: Visit) -> float:
    """Seconds from the page's address to its views."""
    return visit.page.evaluate(
        "new Promise((done) => requestAnimationFrame(() => done(document.documentElement.dataset.ready === undefined"
        " ? Infinity : Number(document.documentElement.dataset.ready) / 1000)))"
    )


@pytest.mark.parametrize("lesson", _spread(lessons() if whole_families() else ["03_smem"]))
def test_256_cubed_is_small_and_soon_there(browser: Browser, tmp_path: Path, lesson: str) -> None:
    payload = real(lesson, 256, 256, 256)
    address = written(payload, tmp_path)
    assert (tmp_path / "page.html").stat().st_size < LARGEST
    assert payload["trace"]["history"]
    times = []
    for _ in range(5):  # a busy machine may hold one up
        with browser.visit(address) as visit:
            times.append(_drawn_after(visit))
            visit.clean()
        if times[-1] < SOONEST:
            break
    assert min(times) < SOONEST, times


@pytest.mark.long
@pytest.mark.parametrize("lesson", _spread(lessons() if whole_families() else []))
def test_every_lesson(browser: Browser, tmp_path: Path, lesson: str) -> None:
    payload = real(lesson)
    address = written(payload, tmp_path)
    with browser.visit(address) as visit:
        elements = sorted(owned(payload))
        for row, col in (elements[0], elements[-1], elements[seed() % len(elements)]):
            visit.page.get_by_label("Row of C").fill(str(row))
            visit.page.get_by_label("Column of C").fill(str(col))
            visit.page.keyboard.press("Enter")
            assert owner_words(payload, row, col) in said(visit)
        slider = visit.page.get_by_role("slider", name="Along K:")
        assert int(slider.get_attribute("max") or 0) >= 4
        slider.focus()
        visit.page.keyboard.press("ArrowRight")
        visit.page.keyboard.press("ArrowRight")
        assert re.search(r"Read in this step|Loaded into registers|On its way", stepped(visit))
        assert visit.page.get_by_text("This view could not be drawn.").count() == 0
        visit.accessible()
        visit.clean()
    with browser.visit(address, width=390, dark=True) as visit:
        visit.fits()
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
    assert payload["mine"]
    with browser.visit(written(payload, tmp_path)) as visit:
        assert re.search("race", visit.page.locator("#findings").inner_text(), re.IGNORECASE)
        visit.clean()
