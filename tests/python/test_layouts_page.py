"""The page on which one types layouts, in a browser; and its algebra without one, held against CuTe's results."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from urllib.parse import urlencode

import pytest
from browser import Browser, Visit
from conftest import PATIENCE, seed
from explorer_pages import node

from runner.core.results import ROOT
from website import layouts

NODE_TESTS = ROOT / "tests" / "layouts"
PROGRAM = ROOT / "build" / "cpu" / "bin" / "gemm_layout"
in_browser = pytest.mark.xdist_group("browser")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("page") / "page.html"
    file.write_text(layouts.page(), encoding="utf-8")
    return file.as_uri()


def asking(address: str, **fields: str) -> str:
    return f"{address}#{urlencode(fields)}"


def offsets(visit: Visit, which: int) -> list[str]:
    """What a grid shows, row by row."""
    return visit.page.locator(f".grid >> nth={which} >> td[data-cell]").all_inner_texts()


def test_its_algebra_is_cutes() -> None:
    command = [node(), "--test", NODE_TESTS / "algebra.test.js"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_rule_has_the_headers_sentence() -> None:
    named = (ROOT / "website" / "layouts" / "algebra.js").read_text(encoding="utf-8")
    found = layouts.rules()
    for rule in ("stride_divides", "modes_carry", "shape_divides", "complement_disjoint", "inverse_ordered", "tiler_rank"):
        assert f'"{rule}"' in named
        assert len(found[rule]) > 20


@in_browser
def test_one_types_a_layout_and_divides_it(browser: Browser, address: str) -> None:
    numbers = random.Random(seed())
    rows, columns, pitch = numbers.choice([2, 4]), numbers.choice([4, 8]), numbers.randrange(8, 20)
    with browser.visit(address) as visit:
        page = visit.page
        page.fill("#a", f"({rows},{columns}):({pitch},1)")
        page.select_option("#operation", "tile")
        page.fill("#b", "(2,2)")
        assert page.inner_text("#written").startswith(f"((2,2),({rows // 2},{columns // 2})):(({pitch},1),")
        assert offsets(visit, 0) == [str(row * pitch + column) for row in range(rows) for column in range(columns)]
        tiles = rows * columns // 4
        expected = [
            (2 * (tile % (rows // 2)) + row) * pitch + 2 * (tile // (rows // 2)) + column
            for column in range(2)
            for row in range(2)
            for tile in range(tiles)
        ]
        assert offsets(visit, 1) == [str(one) for one in expected]
        page.locator(".grid >> nth=1 >> td[data-index]").last.click()
        marked = page.locator("td.at").all_inner_texts()
        assert marked == [str(expected[-1])] * 2  # in A, and in the tiles
        assert f"of tile {tiles - 1}." in page.inner_text("#step")
        visit.clean()


@in_browser
def test_an_index_moves_through_a_composition(browser: Browser, address: str) -> None:
    with browser.visit(asking(address, a="(4,8):(8,1)", operation="compose", b="(4,4):(1,8)")) as visit:
        page = visit.page
        page.focus("input[type=range]")
        for _ in range(5):
            page.keyboard.press("ArrowRight")
        assert page.inner_text("#step") == "B(5) = 9, and A(9) = 10, so R(5) = 10."
        assert page.locator("td.at").all_inner_texts() == ["10", "9", "10"]
        assert page.evaluate("new URLSearchParams(location.hash.slice(1)).get('i')") == "5"
        page.fill("#a", "(6,4):(4,1)")
        page.fill("#b", "8:4")
        assert "not A(B(i)): it differs first at i = 2" in page.inner_text("#said")
        visit.clean()


@in_browser
def test_a_swizzle_moves_columns(browser: Browser, address: str) -> None:
    with browser.visit(asking(address, a="(8,8):(8,1)", operation="swizzle", b="3,0,3")) as visit:
        assert offsets(visit, 1) == [str(8 * row + (column ^ row)) for row in range(8) for column in range(8)]
        shades = visit.page.locator(".grid >> nth=1 >> td[data-cell]").evaluate_all("all => all.map((one) => one.className)")
        assert all(len(set(shades[column::8])) == 8 for column in range(8))  # a column has every shade, one in each row
        visit.clean()


@in_browser
def test_what_is_no_layout_is_pointed_at_as_the_command_does(browser: Browser, address: str) -> None:
    texts = ["(4,(2,3:1", "4:x", "(4,2):8", "4:1)", "(4,0)", "9999999999"]
    with browser.visit(address) as visit:
        page = visit.page
        for text in texts:
            page.fill("#a", text)
            said = page.inner_text("#trouble p")
            assert page.get_attribute("#a", "aria-invalid") == "true"
            if not PROGRAM.exists():
                continue
            done = subprocess.run([PROGRAM, text], capture_output=True, text=True, check=False)
            sentence = done.stderr.splitlines()[-1].removeprefix("gemm_layout: ")
            assert said == sentence.replace(f'"{text}"', "A")
            assert page.inner_text("#trouble pre").splitlines()[-1].index("^") == done.stderr.splitlines()[1].index("^")
        page.fill("#a", "(4,2):(1,2)")
        page.select_option("#operation", "complement")
        assert layouts.rules()["complement_disjoint"] in page.inner_text("#trouble")
        page.fill("#a", "(4,2):(1,4)")
        assert not page.is_visible("#trouble")
        page.fill("#a", "(100,100)")
        assert "too many" in page.inner_text("#trouble")
        visit.clean()


@in_browser
@pytest.mark.parametrize(("width", "dark"), [(1366, False), (390, True)])
def test_it_can_be_read_and_used_by_everybody(browser: Browser, address: str, width: int, dark: bool) -> None:
    with browser.visit(address, width=width, height=768, dark=dark) as visit:
        page = visit.page
        page.click("#examples summary")
        for link in page.locator("#examples a").all():
            link.click()
            assert page.locator("td.at").count()
            visit.accessible()
            visit.fits()
        visit.clean()


def test_the_page_is_whole_and_may_ask_nobody() -> None:
    text = layouts.page()
    for word in ("@STYLE@", "@IMPORTS@", "@PAYLOAD@", 'src="http', 'href="http', "url("):
        assert word not in text
    assert "default-src 'none'; " in text
    assert len(text) < 150_000
    assert json.dumps(layouts.rules()["tiler_rank"])[1:-1] in text


def test_it_is_written_with_what_the_command_was_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "page.html"
    layouts.write(file, "(4,8):(8,1)", {"--tile": "(2,4)", "--product": None, "--svg": "x.svg"})
    assert f"{file.as_uri()}#a=%284%2C8%29%3A%288%2C1%29&operation=tile&b=%282%2C4%29" in capsys.readouterr().err
    assert file.read_text(encoding="utf-8") == layouts.page()
