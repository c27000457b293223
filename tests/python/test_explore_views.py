"""The explorer in a real browser: what needs one (pointer, keyboard, layout, colours), a visit for each kind of page. What the
views work out is tested under node (test_explore_modules.py)."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, Visit
from conftest import seed, some
from explorer_pages import OVERRUN, RACE, bare, clustered, made, real, selection, written
from inspect_synthetic import hang

from runner.core.machines import MACHINES
from runner.core.results import ROOT, lessons
from website import explore
from website.recorded import recorded

LARGEST = 5_000_000  # bytes of a page at 256³
SOONEST = 2.0  # seconds until the first view is drawn
_one_browser = pytest.mark.xdist_group("browser")


@pytest.fixture
def visit(browser: Browser, tmp_path: Path) -> Iterator[Visit]:
    """Lesson 03's page. Nothing may have gone wrong on it."""
    with browser.visit(written(real("03_smem"), tmp_path)) as found:
        yield found
        found.clean()


@pytest.fixture
def known(browser: Browser, tmp_path: Path) -> Iterator[Visit]:
    """The page that is made, with two findings."""
    with browser.visit(written(made(findings=[RACE, OVERRUN]), tmp_path)) as found:
        yield found
        found.clean()


def point(visit: Visit, row: int, col: int, do: str = "hover") -> None:
    """Moves the mouse to the middle of an element of C, or taps it."""
    canvas = visit.page.locator("#product canvas").first
    canvas.scroll_into_view_if_needed()
    x, y, scale = map(float, (canvas.get_attribute("data-c") or "").split())
    getattr(canvas, do)(position={"x": x + (col + 0.5) * scale, "y": y + (row + 0.5) * scale})


def owner(row: int, col: int) -> dict[str, str]:
    """Who stores it, of lesson 03's first block, as the page has it; thread 0 and the like are written, block 0 is not."""
    owners = real("03_smem")["trace"]["owners"]
    thread = {(r, c): who for r, c, who in zip(owners["rows"], owners["cols"], owners["threads"], strict=True)}[row, col]
    return {"thread": str(thread), "warp": str(thread // 32), "lane": str(thread % 32), "element": f"{row},{col}"}


def background(visit: Visit) -> int:
    """How light the page is: three channels together."""
    paper = visit.page.evaluate("getComputedStyle(document.body).backgroundColor")
    return sum(map(int, re.findall(r"\d+", paper)[:3]))


# Other types


def of_slow_kernel(name: str, folder: Path) -> Any:
    """The page's data of one of tests/kernels, which no lesson's list has."""
    programs = ROOT / "build" / "cpu" / "bin"
    if not (programs / "slow_inspect").exists():
        pytest.skip("build/cpu/bin/slow_inspect is not built; cmake --build build/cpu --target gemm_tests builds it")
    sizes = ["--m=20", "--n=33", "--k=17", "--beta=2", "--seed=1", "--history=6"]
    command = [programs / "slow_inspect", f"--lesson={name}", *sizes]
    trace = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    described = folder / "descriptor.json"
    subprocess.run([programs / name, f"--describe={described}", "--folder=tests/kernels"], check=True)
    return {
        "schema": explore.SCHEMA, "lesson": name, "title": name, "mine": False, "checked": None, "trace": trace,
        "sources": explore._sources(trace), "descriptor": json.loads(described.read_text(encoding="utf-8")), "recorded": None,
        "machines": MACHINES,
    }  # fmt: skip


@_one_browser
@pytest.mark.parametrize("kernel", ["int8", "fp8", "fused", "quantized", "strided", "grouped"])
def test_matrices_of_other_types(kernel: str, browser: Browser, tmp_path: Path) -> None:
    payload = of_slow_kernel(f"slow_{kernel}", tmp_path)
    result = payload["trace"]["owners"]["array"]
    assert result == ("D" if kernel == "fused" else "C")
    (variant,) = (one for one in payload["descriptor"]["variants"] if one["text"] == payload["trace"]["variant"])
    arrays = payload["trace"]["history"][0]["arrays"]
    assert {one["name"]: one["element_bytes"] for one in arrays if one["rows"] is not None} == variant["element_bytes"]
    with browser.visit(written(payload, tmp_path)) as visit:
        point(visit, 3, 5, "click")
        at = 16 * 3 + 5  # of a block of 16×16 threads
        expected = {"thread": str(at), "warp": str(at // 32), "lane": str(at % 32), "element": "3,5"}
        assert expected.items() <= selection(visit).items()
        visit.clean()


# A wrong kernel


def raced() -> Any:
    """The page that is made, without its barrier: warp 1 stores the row of As whose first element warp 0 reads."""
    text = "thread (0,4,0) wrote As + 128 bytes and thread (1,0,0) reads it, with no barrier in between (block 0)"
    race = {**RACE, "offset": 128, "text": text, "thread": [1, 0, 0], "other": {**RACE["other"], "thread": [0, 4, 0]}}
    payload = made(findings=[OVERRUN, race])
    (block,) = payload["trace"]["history"]
    block["events"] = [event for event in block["events"] if isinstance(event, list) or event["e"] == "returned"]
    return payload


WRONG: dict[str, tuple[str, dict[str, object]]] = {
    "numbers": ("result is wrong", {"verdict": {"passed": False, "failure": None, "text": "3 of 16384 elements are wrong"}}),
    "race": ("race", {}),
    "hang": ("hangs", {"error": {"id": "mbarrier_hang", "text": "waits for ever", "autopsy": hang("03_smem")}, "verdict": None}),
}


@_one_browser
@pytest.mark.parametrize("size", [(1366, 768), (390, 844)], ids=["laptop", "phone"])
@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_kernel_looks_wrong_in_the_first_screen(
    browser: Browser, tmp_path: Path, kind: str, size: tuple[int, int]
) -> None:
    words, changes = WRONG[kind]
    payload = raced() if kind == "race" else made(**changes)
    with browser.visit(written(payload, tmp_path), *size) as visit:
        wrong = visit.page.locator("[data-wrong]")
        box = wrong.bounding_box()
        assert box and box["y"] >= 0 and box["y"] + box["height"] <= size[1]
        assert words in wrong.inner_text()
        many = wrong.get_attribute("data-wrong")
        assert visit.page.get_by_role("link", name=f"Findings ({many})").is_visible()
        wrong.get_by_role("button", name="Go there").click()
        top = visit.page.locator("#findings").bounding_box()
        assert top and 0 <= top["y"] < size[1] / 2
        visit.fits()
        visit.accessible()
        visit.clean()


@_one_browser
def test_a_right_kernel_says_of_nothing_that_it_is_wrong(visit: Visit) -> None:
    assert not visit.page.locator("[data-wrong]").count()
    assert visit.page.get_by_role("link", name="Findings", exact=True).is_visible()


@_one_browser
def test_a_race_says_its_rounds_and_chooses_its_two_accesses(browser: Browser, tmp_path: Path) -> None:
    payload = raced()
    events = payload["trace"]["history"][0]["events"]
    with browser.visit(written(payload, tmp_path)) as visit:
        visit.page.get_by_role("button", name="Go there").click()
        chosen = selection(visit)
        assert events[int(chosen["event"])][:2] == [2, 0] and chosen["lane"] == "1"  # warp 0's read, not the first event
        said = visit.page.locator("#findings [data-rounds]").inner_text()
        assert "written in" in said and "no barrier after the write" in said
        red = """() => {
            const canvas = document.querySelector("#time .timeline canvas");
            const probe = document.createElement("canvas").getContext("2d");
            probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--bad").trim();
            probe.fillRect(0, 0, 1, 1);
            const bad = probe.getImageData(0, 0, 1, 1).data.slice(0, 3).join();
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            let count = 0;
            for (let at = 0; at < data.length; at += 4) if (data.slice(at, at + 3).join() === bad) count += 1;
            return count;
        }"""
        assert visit.page.evaluate(red) > 20
        visit.clean()


# The stage


@_one_browser
@pytest.mark.parametrize("lesson", ["03_smem", "made"])
def test_product_source_and_access_are_side_by_side_in_the_first_screen(browser: Browser, tmp_path: Path, lesson: str) -> None:
    payload = made() if lesson == "made" else real(lesson)
    with browser.visit(written(payload, tmp_path), 1366, 768) as visit:
        boxes = [visit.page.locator(one).bounding_box() for one in ("#transport", "#product", "#source", "#access")]
        assert all(boxes)
        bar, *three = boxes
        assert len({box["y"] for box in three}) == 1
        assert all(box["height"] > 450 and box["y"] + box["height"] <= 768 for box in three)
        assert [box["x"] for box in three] == sorted(box["x"] for box in three)
        assert bar["y"] + bar["height"] <= three[0]["y"]
        # The matrices, shared memory, the chosen line and the picture of its request are in sight without a scroll.
        for one in ("#product canvas >> nth=0", "#product canvas >> nth=1", "#source li.chosen", "#access svg >> nth=0"):
            box = visit.page.locator(one).bounding_box()
            assert box and box["y"] >= 0 and box["y"] + box["height"] <= 768, one
        visit.fits()
        visit.clean()


@_one_browser
def test_the_source_marks_what_accesses_memory_and_how_far_it_is_from_the_ideal(known: Visit) -> None:
    source = known.page.locator("#source")
    assert source.locator(".ratio.far").all_inner_texts() == ["32×"]
    assert source.locator("li", has=known.page.locator(".ratio.far")).locator(".number").inner_text() == "38"
    lines = (ROOT / "03_smem/kernel.cu").read_text(encoding="utf-8").splitlines()
    assert source.locator("li").count() == len(lines)
    assert source.locator(".code-comment").count() > 5 and source.locator(".code-word").count() > 10


@_one_browser
def test_load_and_store_of_a_line_are_chosen_apart(visit: Visit) -> None:
    line = visit.page.locator("#source li", has_text="As[y][x] = row")
    chosen = []
    for words in ("As[y][x]", "A[row * lda + k0 + x]"):
        line.get_by_role("button", name=words, exact=True).click()
        assert line.locator("[aria-pressed=true]").all_inner_texts() == [words]
        chosen.append(visit.page.locator("#access .cost").inner_text())
    assert "store As" in chosen[0] and "load A" in chosen[1]


@_one_browser
@pytest.mark.parametrize("size", [(1366, 768), (390, 844)], ids=["laptop", "phone"])
def test_an_address_may_name_the_view_to_begin_with(browser: Browser, tmp_path: Path, size: tuple[int, int]) -> None:
    with browser.visit(f"{written(made(), tmp_path)}?view=whatif#line=2", *size) as visit:
        visit.page.locator("#whatif h2:focus").wait_for()
        box = visit.page.locator("#whatif").bounding_box()
        assert box and 0 <= box["y"] < size[1] / 2
        assert selection(visit)["line"] == "2"
        assert selection(visit)["event"]  # one of its requests, and not nothing
        visit.clean()


_SPY = """() => {
    window.drawn = [];
    const draw = CanvasRenderingContext2D.prototype.fillText;
    CanvasRenderingContext2D.prototype.fillText = function (words, x, y) {
        if (this.canvas.closest(".matrices") && this.textAlign !== "center") {
            window.drawn.push({ words, x, y, end: x + this.measureText(words).width });
        }
        draw.apply(this, arguments);
    };
}"""


@_one_browser
@pytest.mark.parametrize("width", [1366, 390])
def test_no_name_lies_over_another_in_the_picture_of_the_matrices(browser: Browser, tmp_path: Path, width: int) -> None:
    page = made(m=256, n=256, k=64)
    for array in page["trace"]["history"][0]["arrays"][:2]:
        array.update(rows=256, cols=256, pitch=256, bytes=262144)
    with browser.visit(f"{written(page, tmp_path)}#element=144,144", width, 768) as visit:
        visit.page.evaluate(_SPY)
        visit.page.click("#theme")  # which has all drawn anew
        visit.page.wait_for_function("window.drawn.some(({ words }) => words === 'B')")
        drawn = visit.page.evaluate("window.drawn")
        assert any(one["words"].startswith("C[") for one in drawn)
        for one in drawn:
            beside = [other for other in drawn if other["words"] != one["words"] and abs(other["y"] - one["y"]) < 8]
            assert not [other for other in beside if one["x"] < other["x"] < one["end"]], one
        visit.clean()


@_one_browser
def test_what_scrolls_in_a_column_of_the_stage_fades_at_its_end(browser: Browser, tmp_path: Path) -> None:
    with browser.visit(written(made(), tmp_path), 1366, 768) as visit:
        for name in ("product", "access"):
            style = f"getComputedStyle(document.getElementById('{name}'), '::after')"
            assert visit.page.evaluate(f"{style}.position") == "sticky"
            assert "gradient" in visit.page.evaluate(f"{style}.backgroundImage")


# In every line of the source, what of its ends of expressions and statements is the first of a line on the screen.
_BEGINNING = """[...document.querySelectorAll("#source .code")].flatMap((code) => {
  const walk = document.createTreeWalker(code, NodeFilter.SHOW_TEXT), letters = [];
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    for (let at = 0; at < node.length; at++) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      const { left, top, width } = range.getBoundingClientRect();
      if (width && node.data[at].trim()) letters.push({ letter: node.data[at], left, top });
    }
  }
  return letters.filter(({ letter, left, top }) => ";,)".includes(letter) &&
    !letters.some((other) => other.left < left && Math.abs(other.top - top) < 8))
    .map(({ letter }) => `${letter} of ${code.textContent}`);
})"""


@_one_browser
@pytest.mark.parametrize("width", [1366, 390])
def test_no_line_begins_with_the_end_of_a_statement(browser: Browser, tmp_path: Path, width: int) -> None:
    payload = made()
    lines = payload["sources"][0]["lines"]
    lines[37] = (
        "        sum += As[row_of_the_thread][k] * Bs[k_of_the_tile_in_shared_memory][column_of_it];"  # where both are read
    )
    with browser.visit(written(payload, tmp_path), width, 844) as visit:
        visit.page.locator("#source button.access").first.wait_for()
        assert visit.page.evaluate(_BEGINNING) == []
        visit.fits()
        visit.clean()


# Of each framed expression: how far the lines under it go beyond its letters. Of each excerpt: how far it is cut off.
_SPILLED = """() => ({
  lines: [...document.querySelectorAll("#source .access")].map((access) => {
    const under = access.querySelector(".expression");
    const lines = getComputedStyle(under).textDecorationLine === "underline" ? [...under.getClientRects()] : [];
    const letters = document.createRange();
    letters.selectNodeContents(under);
    const ends = [...letters.getClientRects()].map(({ right }) => right);
    return lines.length ? Math.max(...lines.map(({ right }) => right)) - Math.max(...ends) : Infinity;
  }),
  excerpts: [...document.querySelectorAll("#findings pre")].map((one) => one.scrollWidth - one.clientWidth),
})"""


@_one_browser
@pytest.mark.parametrize("width", [1366, 390])
def test_a_line_of_source_has_its_findings_under_it_and_nothing_is_cut_off(browser: Browser, tmp_path: Path, width: int) -> None:
    payload = made(findings=[RACE, OVERRUN])
    payload["sources"][0]["lines"][37] += " // which goes on for longer than a telephone or a column of a stage is wide"
    with browser.visit(written(payload, tmp_path), width, 844) as visit:
        visit.page.locator("#source button.access").first.wait_for()
        row = visit.page.locator("#source li", has=visit.page.locator(".found"))
        said = [(one.locator(".number").inner_text(), one.locator(".found").all_inner_texts()) for one in row.all()]
        assert said == [
            ("34", ["1. race: writes As + 132 bytes"]),
            ("38", ["1. race: reads As + 132 bytes"]),
            ("44", ["2. out of bounds: writes C[128][3]"]),
        ]
        spilled = visit.page.evaluate(_SPILLED)
        assert len(spilled["lines"]) == 5 and all(abs(one) < 1 for one in spilled["lines"])
        assert spilled["excerpts"] == [0, 0]
        visit.fits()
        visit.accessible()
        visit.clean()


# The cluster


@_one_browser
@pytest.mark.parametrize(("width", "across"), [(1366, True), (390, True), (1366, False)], ids=["laptop", "phone", "along y"])
def test_one_bar_moves_the_blocks_of_a_cluster(browser: Browser, tmp_path: Path, width: int, across: bool) -> None:
    dark, other = width == 390, "(1, 0, 0)" if across else "(0, 1, 0)"
    with browser.visit(f"{written(clustered(across), tmp_path)}?view=cluster#block=1", width, 768, dark) as visit:
        visit.page.locator("#cluster h2:focus").wait_for()

        def standings() -> list[str | None]:
            cells = visit.page.locator("#cluster td.place")
            return [cells.nth(place).get_attribute("data-standing") for place in range(cells.count())]

        assert standings() == ["arrives", "empty"] * 2
        assert visit.page.locator("#cluster .readout").inner_text().startswith("Nothing")
        visit.page.get_by_role("button", name="One step forward").click()
        assert standings() == ["there", "arrives"] * 2
        assert visit.page.locator("#cluster td.foreign").all_inner_texts() == [f"C[32–47][64–95]\narrives\nfrom {other}"]
        said = visit.page.locator("#cluster .readout").inner_text()
        assert said.startswith(f"C[32–47][64–95]: 1 request by block {other}") and "both" in said
        visit.fits()
        visit.clean()
        visit.accessible()


@_one_browser
def test_a_kernel_without_clusters_has_no_such_view(browser: Browser, tmp_path: Path) -> None:
    with browser.visit(written(made(), tmp_path)) as visit:
        assert visit.page.locator("#cluster, nav a[href='#cluster']").count() == 0
        visit.clean()


# The product and time


@_one_browser
def test_pointing_at_an_element_chooses_its_thread_until_a_click_holds_it(visit: Visit) -> None:
    for row, col in (divmod(seed() % 1024, 32), (0, 0), (31, 31)):
        point(visit, row, col)
        assert owner(row, col).items() <= selection(visit).items()
    mouse, words = visit.page.mouse, visit.page.locator("#product-words")
    for chosen in ("31,31", "12,2"):  # a click holds it, another chooses what it is at and lets it go
        mouse.down()
        mouse.up()
        point(visit, 12, 2)
        assert selection(visit)["element"] == chosen
    assert {"12", "2", owner(12, 2)["thread"]} <= set(re.findall(r"\d+", words.inner_text()))
    # What other views choose is what this one shows.
    visit.page.locator("#access [data-lane='9']").first.click()
    assert owner(12, 9).items() <= selection(visit).items()
    assert owner(12, 9)["thread"] in re.findall(r"\d+", words.inner_text())


@_one_browser
def test_one_bar_moves_all_views_and_plays_to_the_end(visit: Visit) -> None:
    bar = visit.page.locator("#transport")
    assert visit.page.get_by_role("button", name="Play").count() == 1
    words = ["#product-step", "#time-words", "#access .readout"]
    said = [visit.page.locator(one).inner_text() for one in words]
    bar.get_by_role("slider", name="Step").press("ArrowRight")
    bar.get_by_role("button", name="One step forward").click()
    assert selection(visit)["step"] == "3"
    assert all(visit.page.locator(one).inner_text() != before for one, before in zip(words, said, strict=True))
    bar.get_by_role("button", name="One step back").click()
    visit.page.clock.install(time=0)
    visit.page.clock.pause_at(60_000)  # from here on time passes in run_for() alone, however busy the machine is
    play = bar.get_by_role("button", name="Play")
    play.click()
    visit.page.clock.run_for(1500)
    bar.get_by_role("button", name="Pause").click()
    visit.page.clock.run_for(3000)
    assert selection(visit)["step"] == "4"
    play.click()
    visit.page.clock.run_for(20_000)
    assert selection(visit)["step"] == "8"
    assert play.is_visible()


@_one_browser
def test_the_keyboard_alone_and_the_address_that_keeps_it(visit: Visit) -> None:
    keyboard = visit.page.keyboard

    def tab_to(test: str) -> None:
        for _ in range(60):
            keyboard.press("Tab")
            if visit.page.evaluate(f"(() => {{ const at = document.activeElement; return {test}; }})()"):
                return
        raise AssertionError(f"Tab never comes to where {test}")

    tab_to("at.tagName === 'CANVAS' && at.closest('#product') !== null")
    assert visit.page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    for key in ("ArrowDown", "ArrowDown", "Shift+ArrowRight", "ArrowRight", "ArrowUp"):
        keyboard.press(key)
    assert {"element": "37,45", "warp": "5", "lane": "13"}.items() <= selection(visit).items()
    tab_to("at.closest('#source li') !== null && at.textContent.includes('Bs[k][x]')")
    keyboard.press("Enter")
    assert "acc +=" in visit.page.locator("#source li.chosen").inner_text()
    tab_to("at.tagName === 'CANVAS' && at.closest('#time') !== null")
    before = int(selection(visit)["event"])
    keyboard.press("ArrowRight")
    assert int(selection(visit)["event"]) > before and selection(visit)["warp"] == "5"
    keyboard.press("ArrowDown")
    assert selection(visit)["warp"] == "6"
    chosen = selection(visit)
    visit.page.wait_for_url(lambda url: f"event={chosen['event']}" in url)
    visit.page.reload()
    assert selection(visit) == chosen


@_one_browser
def test_a_wgmma_stands_in_the_rows_of_its_four_warps(browser: Browser, tmp_path: Path) -> None:
    payload = real("11a_one_stage")
    events = payload["trace"]["history"][0]["events"]
    products = [str(at) for at, one in enumerate(events) if isinstance(one, dict) and one["e"] == "wgmma"]
    with browser.visit(f"{written(payload, tmp_path)}#event={products[0]}&warp=3&step=1") as visit:
        # The keyboard goes along the row of a warp that did not begin it, and comes to the next product of its warpgroup.
        visit.page.locator("#time .timeline canvas").first.press("ArrowRight")
        found = selection(visit)
        assert (found["event"], found["warp"]) == (products[1], "3")
        visit.clean()


def event_on_canvas(visit: Visit, warp: int, clock: float) -> dict[str, float]:
    """Where in Time's picture a warp's row has a clock."""
    canvas = visit.page.locator("#time .timeline canvas").first
    left, top, begin, each, row = map(float, (canvas.get_attribute("data-scale") or "").split())
    return {"x": left + (clock - begin) * each, "y": top + (warp + 0.5) * row}


@_one_browser
def test_a_click_on_a_wait_draws_the_arrow_from_the_arrival_that_ends_it(known: Visit) -> None:
    canvas, tip = known.page.locator("#time .timeline canvas").first, known.page.locator("#time .tooltip")
    at = event_on_canvas(known, 0, 3.5)  # behind its load and its store
    canvas.hover(position=at)
    assert "__syncthreads()" in tip.inner_text() and known.page.locator("#time .hovered").is_visible()
    assert canvas.get_attribute("data-arrow") == ""
    canvas.click(position=at)
    events = made()["trace"]["history"][0]["events"]
    reached = [index for index, one in enumerate(events) if isinstance(one, dict) and one["e"] == "barrier"]
    assert selection(known)["event"] == str(reached[0])
    assert canvas.get_attribute("data-arrow") == str(reached[1])
    assert "What ends the wait: " in known.page.locator("#time-words").inner_text()
    known.page.mouse.move(0, 0)
    assert not tip.is_visible()


@_one_browser
def test_in_a_hang_the_arrow_leads_to_nobody(browser: Browser, tmp_path: Path) -> None:
    payload = made(error={"id": "mbarrier_hang", "text": "waits for ever", "autopsy": hang("03_smem")}, verdict=None)
    (block,) = payload["trace"]["history"]
    block["events"] = [[0, 0, 0, 0, 4], {"e": "barrier", "warp": 0, "lanes": (1 << 32) - 1, "site": 1}, [0, 1, 0, 512, 4]]
    with browser.visit(written(payload, tmp_path)) as visit:
        canvas = visit.page.locator("#time .timeline canvas").first
        canvas.click(position=event_on_canvas(visit, 0, 2.5))
        assert canvas.get_attribute("data-arrow") == "nobody"
        assert "Nobody" in visit.page.locator("#time-words").inner_text()
        visit.clean()


@_one_browser
def test_time_goes_along_with_the_pointer_that_drags_it(visit: Visit) -> None:
    canvas, before = visit.page.locator("#time .timeline canvas").first, selection(visit)
    visit.page.get_by_role("button", name="Zoom in").click(click_count=3)
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    begin, each = map(float, (canvas.get_attribute("data-scale") or "").split()[2:4])
    assert box
    x, y = box["x"] + 600, box["y"] + 100
    visit.page.mouse.move(x, y)
    visit.page.mouse.down()
    visit.page.mouse.move(x - 50, y)
    visit.page.mouse.move(x - 200, y)
    visit.page.mouse.up()
    now = float((canvas.get_attribute("data-scale") or "").split()[2])
    assert now == pytest.approx(begin + 200 / each, abs=1)
    assert selection(visit) == before  # what is dragged is not clicked


# A warp's access


@_one_browser
def test_line_request_and_lane_are_chosen_and_read(known: Visit) -> None:
    page, readout = known.page, known.page.locator("#access .readout")
    for line, wavefronts in (("2", 32), ("3", 1)):
        page.locator(f"#access [data-line='{line}']").click()
        assert (readout.get_attribute("data-units"), readout.get_attribute("data-ideal")) == (str(wavefronts), "1")
        assert page.locator("#access [data-wavefront]").count() == wavefronts
    # With the keyboard alone: the warp, then along the lanes.
    page.locator("#access [data-line='0']").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Warp, slider").press("ArrowRight")
    page.locator("#access [data-lane='0']").first.focus()
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert {"line": "0", "warp": "1", "lane": "3", "thread": "35"}.items() <= selection(known).items()
    assert "A[1][3]" in readout.inner_text()
    # What is chosen has an outline that paper surrounds, whatever it lies on: the lane and its word.
    outlines = page.locator("#access .marked")
    assert [outlines.nth(at).evaluate("(one) => one.previousSibling.classList.contains('halo')") for at in range(2)] == [True] * 2
    assert outlines.count() == 2


# Findings


@_one_browser
def test_race_and_overrun_are_drawn_where_they_are(known: Visit) -> None:
    page, sides = known.page, known.page.locator("#findings .side")
    assert [sides.nth(which).locator(".chosen .number").inner_text().split()[-1] for which in range(2)] == ["34", "38"]
    assert [re.findall(r"thread (\d+)", sides.nth(which).inner_text()) for which in range(2)] == [["1"], ["33"]]
    assert page.locator("#findings svg[aria-label*='132 bytes: bank 1']").count() == 1
    # Chosen, the other views show its line, warp and lane, at the request that touches the place.
    page.locator("[data-finding='0']").click()
    assert {"line": "2", "warp": "1", "lane": "1", "thread": "33"}.items() <= selection(known).items()
    assert "As + 132 B" in page.locator("#access .readout").inner_text()
    page.locator("[data-finding='0']").press("ArrowDown")
    assert sides.count() == 1
    assert page.locator("#findings svg[aria-label*='128×128: row 128, column 3']").count() == 1
    assert page.locator("#findings [data-kept='false']").count() == 1  # its block is another than those that are shown


@_one_browser
def test_hang_is_shown_as_its_autopsy(browser: Browser, tmp_path: Path) -> None:
    payload = made(error={"id": "mbarrier_hang", "text": "…", "autopsy": hang("03_smem")}, verdict=None)
    payload["trace"]["threads_per_block"] = 160
    with browser.visit(written(payload, tmp_path)) as visit:
        page = visit.page
        assert page.locator("[data-likely='bytes_missing']").count() == 1
        assert page.locator(".mbarrier.suspect").get_attribute("data-barrier") == "full[0]"
        names = [page.locator(f"[data-barrier='{name}[0]'] svg").get_attribute("aria-label") for name in ("full", "empty")]
        figures = [re.findall(r"\d+", name.replace("\u202f", "")) for name in names]
        assert figures[0] == [
            "0",
            "2",
            "0",
            "1",
            "1",
            "8192",
            "8208",
        ]  # stage, phase, parity, arrivals of how many, bytes of how many
        assert figures[1][3:5] == ["127", "128"]
        page.get_by_role("button", name="thread 128").first.click()
        assert {"thread": "128", "warp": "4"}.items() <= selection(visit).items()
        visit.clean()


# What if


@_one_browser
def test_sliders_and_recorded_points(known: Visit) -> None:
    page = known.page

    def value(row: str, kind: str = "predicted") -> str:
        return page.locator(f"[data-row='{row}'] [data-kind='{kind}']").inner_text().replace("\u202f", "")

    five = page.locator("#whatif [data-five]")
    assert five.count() == 5
    firsts = [page.locator(one).first.bounding_box() for one in ("#whatif [data-five]", "#whatif input")]
    assert firsts[0] and firsts[1] and firsts[0]["y"] < firsts[1]["y"]
    page.locator("#whatif summary").click()
    page.get_by_label("BM", exact=True).fill("64")
    page.get_by_label("BN", exact=True).fill("64")
    assert "16 FLOP/B" in page.locator("[data-five='tile-intensity']").inner_text()
    assert (value("tile-intensity"), value("grid"), value("blocks-an-sm")) == (
        "16 FLOP/B",
        "4096",
        "0",
    )  # of 4096 threads a block
    page.get_by_role("button", name="The lesson’s values").click()
    page.get_by_label("GPU").select_option("sm_86")
    assert (value("tile-intensity"), value("blocks-an-sm"), value("blocks-an-sm", "recorded")) == ("8 FLOP/B", "1", "2")
    page.get_by_role("button", name="As traced").click()
    assert value("grid", "traced").split()[0] == "16"

    # Points are chosen by keyboard.
    sweep, roof = page.get_by_label("Sweep over sizes, recorded"), page.get_by_label("Roofline, recorded")
    of_lesson = recorded(ROOT, "03_smem")
    assert of_lesson
    run = next(run for run in of_lesson["runs"] if run["lesson"] == "03_smem" and run["m"] == run["n"] == 4096)
    page.get_by_role("button", name="03_smem, 4096 cubed").focus()
    told = sweep.get_by_role("status").inner_text()
    assert f"{run['tflops']:.3g}" in told and run["baseline"] in told
    page.keyboard.press("ArrowLeft")
    assert "4095×4095×4095" in sweep.get_by_role("status").inner_text()
    page.get_by_label("shared memory", exact=True).check()
    page.get_by_role("button", name="03_smem: ").last.click()
    assert "shared memory" in roof.get_by_role("status").inner_text()


@pytest.mark.parametrize("lesson", lessons())
def test_recorded_has_the_lesson_and_the_one_before(lesson: str) -> None:
    found = recorded(ROOT, lesson)
    if found is None:
        pytest.skip(f"Nothing is recorded of {lesson}.")
    names = {run["lesson"] for run in found["runs"]}
    assert lesson in names
    assert len(names) <= 2
    assert all(run["tflops"] > 0 and run["baseline_tflops"] > 0 for run in found["runs"])


@_one_browser
def test_a_number_out_of_range_is_refused_with_a_sentence(known: Visit) -> None:
    page = known.page
    field, five = page.get_by_label("BM", exact=True), page.locator("#whatif [data-five]")
    before = field.input_value(), five.all_inner_texts()
    for wrong in ("5000", "0", "1.5"):
        field.fill(wrong)
        assert [words for words in page.locator("#whatif .refused").all_inner_texts() if words] == [
            f"BM is a whole number from 1 to 512, not {wrong}."
        ]
        field.press("Tab")
        assert (field.input_value(), five.all_inner_texts()) == before
    field.fill("16")
    assert "".join(page.locator("#whatif .refused").all_inner_texts()) == ""
    assert five.all_inner_texts() != before[1]


@_one_browser
def test_words_are_those_of_a_person(browser: Browser, tmp_path: Path) -> None:
    payload = made(kernel="kernel", m=32, n=32, blocks=1)
    with browser.visit(written(payload, tmp_path)) as visit:
        visit.page.get_by_role("button", name="As traced").click()
        text = visit.page.locator("body").evaluate("(one) => one.textContent")
        assert "kernel kernel" not in text and not re.search(r"\b1 (blocks|threads)\b", text)
        assert "registers decides" not in text and "threads decides" not in text
        assert "1 block per SM, limited by" in text or "blocks per SM, limited by" in text
        visit.clean()


# Everybody


@_one_browser
def test_where_there_is_nothing_to_show_every_view_says_so(browser: Browser, tmp_path: Path) -> None:
    with browser.visit(written(bare(), tmp_path)) as visit:
        for view in ("product", "source", "access", "time", "findings", "whatif"):
            assert visit.page.locator(f"#{view} .view").inner_text()
        assert visit.page.locator("[data-findings='0']").count() == 1
        assert visit.page.locator("canvas, [data-lane], .chart").count() == 0
        assert "01 <naive>" in visit.page.locator("h1").inner_text()
        visit.clean()


@_one_browser
def test_the_page_refuses_data_of_another_schema(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(explore.page(bare()).replace('id="payload">{"schema":1', 'id="payload">{"schema":5'), encoding="utf-8")
    with browser.visit(path.as_uri()) as visit:
        assert re.findall(r"schema (\d)", visit.page.get_by_role("alert").inner_text()) == ["5", "1"]
        visit.clean()


# With copies of threads, of the copy engine into a cluster, and wgmma.
_LOOKED_AT = [("made", 390, True), ("made", 1280, False), ("03_smem", 390, False), ("13b_multicast", 1280, True)]


@_one_browser
@pytest.mark.parametrize(("name", "width", "dark"), _LOOKED_AT)
def test_it_fits_and_is_accessible(browser: Browser, tmp_path: Path, name: str, width: int, dark: bool) -> None:
    payload: Any = made(findings=[RACE, OVERRUN]) if name == "made" else real(name)
    with browser.visit(written(payload, tmp_path), width=width, dark=dark, has_touch=width < 500) as visit:
        visit.fits()
        visit.accessible()
        assert (background(visit) < 200) == dark
        for colours in ("light", "dark"):
            visit.page.locator("#theme").click()
            assert (background(visit) < 200) == (colours == "dark")
        if name == "03_smem":
            point(visit, 4, 5, "tap")
            assert owner(4, 5).items() <= selection(visit).items()
        for which in range(visit.page.locator("#access [data-line]").count()):
            visit.page.locator(f"#access [data-line='{which}']").click()
            cut = visit.page.evaluate(
                """[...document.querySelectorAll("#access svg text, #findings svg text")].filter((words) => {
                  const at = words.getBoundingClientRect(), all = words.ownerSVGElement.getBoundingClientRect();
                  return at.left < all.left - 1 || at.right > all.right + 1;
                }).map((words) => words.textContent)"""
            )
            assert not cut
        visit.clean()


# In groups that run side by side, each with a browser of its own. (Smaller ones of all lessons: test_site.py.)
_SPREAD = [
    pytest.param(name, marks=pytest.mark.xdist_group(f"browser{index % 4}")) for index, name in enumerate(some(lessons(), 1, 6))
]


@pytest.mark.long
@pytest.mark.parametrize("lesson", _SPREAD)
def test_a_lesson_at_256_cubed_is_small_soon_there_and_fits_a_phone(browser: Browser, tmp_path: Path, lesson: str) -> None:
    payload = real(lesson, 256, 256, 256)
    address = written(payload, tmp_path)
    assert (tmp_path / "page.html").stat().st_size < LARGEST
    assert payload["trace"]["history"]
    times = []
    for _ in range(5):  # a busy machine may hold one up
        with browser.visit(address, width=390) as visit:
            times.append(float(visit.page.locator("html[data-ready]").get_attribute("data-ready")) / 1000)
            visit.fits()
            assert visit.page.locator("[data-failed]").count() == 0
            visit.clean()
        if times[-1] < SOONEST:
            break
    assert min(times) < SOONEST, times


# Contrast of neighbors in a picture, as a screen without colours shows them: relative luminance, WCAG 2.
def _light(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("rule", [r":root", r':root:not\(\[data-theme="light"\]\)', r':root\[data-theme="dark"\]'])
def test_what_must_be_told_apart_is_so_in_grey(rule: str) -> None:
    sheet = explore.styles()
    light = dict[str, str]()
    for block in re.findall(rf"^\s*(?::root|{rule}) {{(.*?)}}", sheet, re.MULTILINE | re.DOTALL):
        light |= dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))

    def apart(one: str, other: str) -> float:
        low, high = sorted((_light(light[one]), _light(light[other])))
        return (high + 0.05) / (low + 0.05)

    fills = ["strong", "mid", "light", "pale"]  # thread, warp, block; in use, landed, needed
    for at, one in enumerate(fills):
        for other in fills[at + 1 :]:
            assert apart(one, other) > 1.25, (one, other)
    kinds = ["product", "store", "copy", "load", "wait"]  # what a warp does in time
    for at, one in enumerate(kinds):
        for other in kinds[at + 1 :]:
            assert apart(f"t-{one}", f"t-{other}") > 1.25, (one, other)
    for at in range(7):  # shades of neighbors: sectors, wavefronts, chunks
        assert apart(f"s{at}", f"s{at + 1}") > 2.5, at
    assert apart("mark", "paper") > 4.5
