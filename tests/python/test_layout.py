"""./gemm layout: what the real gemm_layout says of layouts, and of texts that are none."""

from __future__ import annotations

import json
import random
import re
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import Checkout, seed

from plots import prose
from runner.core.results import ROOT
from runner.learn import exercise, quiz

LESSON = ROOT / "20_layout_algebra"
PROGRAM = ROOT / "build" / "cpu" / "bin" / "gemm_layout"


@pytest.fixture
def layouts(checkout: Checkout) -> Checkout:
    """A checkout with the real gemm_layout."""
    if not PROGRAM.exists():
        pytest.skip("build/cpu/bin/gemm_layout is not built; ./gemm layout 1:0 builds it")
    checkout.program("gemm_layout", f'exec {PROGRAM} "$@"\n')
    return checkout


def test_a_layout_is_shown_as_it_is_computed(layouts: Checkout) -> None:
    """Of a drawn matrix in drawn tiles; the numbers are those that its definition gives."""
    numbers = random.Random(seed())
    rows, columns, pitch = numbers.choice([2, 4, 8]), numbers.choice([2, 4, 8]), numbers.randrange(8, 20)
    given = ("layout", f"({rows},{columns}):({pitch},1)", "--tile", "(2,2)")
    found = json.loads(layouts.run(*given, "--json").stdout)["layouts"]
    plain, tiled = found[0], next(entry for entry in found if entry["operation"] == "tile")
    assert plain["values"] == [row * pitch + column for column in range(columns) for row in range(rows)]
    assert (plain["size"], plain["cosize"]) == (rows * columns, (rows - 1) * pitch + columns)
    assert tiled["values"] == [
        (2 * y + row) * pitch + 2 * x + column
        for x in range(columns // 2)
        for y in range(rows // 2)
        for column in range(2)
        for row in range(2)
    ]
    lines = layouts.run("layout", given[1]).stdout.splitlines()[-rows:]
    assert [line.split()[2:] for line in lines] == [[str(r * pitch + c) for c in range(columns)] for r in range(rows)]


def results(layouts: Checkout, given: str, *options: str) -> list[dict]:
    """The layout, and what each option makes of it."""
    return json.loads(layouts.run("layout", given, *options, "--json").stdout)["layouts"]


OPERATIONS = {
    "composition": "--compose", "complement": "--complement", "logical_divide": "--divide", "zipped_divide": "--tile",
    "tiled_divide": "--tiled-divide", "flat_divide": "--flat-divide", "blocked_product": "--blocked-product",
    "raked_product": "--raked-product", "right_inverse": "--right-inverse", "left_inverse": "--left-inverse",
}  # fmt: skip


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_option_is_the_operation_of_its_name(operation: str, layouts: Checkout) -> None:
    """As CuTe has it, of recorded operands that are drawn; tests/layout/layout_test.cpp has all of them."""
    recorded = json.loads((ROOT / "tests" / "recorded" / "cute_layouts.json").read_text(encoding="utf-8"))["cases"]
    case = random.Random(seed()).choice([one for one in recorded if one["op"] == operation])
    given, *operand = map(str, case["args"])
    assert results(layouts, given, OPERATIONS[operation], *operand)[1]["result"] == case["result"]


def test_modes_are_flattened_and_grouped(layouts: Checkout) -> None:
    assert results(layouts, "((2,2),(4,3)):((9,1),(18,2))", "--flatten")[1]["result"] == "(2,2,4,3):(9,1,18,2)"
    assert results(layouts, "(2,2,4,3):(9,1,18,2)", "--group-modes", "0,2")[1]["result"] == "((2,2),4,3):((9,1),18,2)"


def test_a_composition_that_is_not_one_says_where(layouts: Checkout) -> None:
    found = json.loads(layouts.run("layout", "(6,4):(4,1)", "--compose", "8:4", "--json").stdout)["layouts"][1]
    assert (found["result"], found["differs_at"]) == ("(2,4):(16,1)", 2)
    found = json.loads(layouts.run("layout", "(6,4):(4,1)", "--compose", "8:3", "--json").stdout)["layouts"][1]
    assert (found["result"], found["differs_at"]) == ("(2,4):(12,1)", None)


def test_an_svg_has_a_cell_for_each_element(layouts: Checkout, tmp_path: Path) -> None:
    file = tmp_path / "layout.svg"
    layouts.run("layout", "(2,2):(2,1)", "--raked-product", "(1,2):(0,1)", "--svg", str(file))
    texts = [element.text for element in ElementTree.parse(file).getroot().iter("{http://www.w3.org/2000/svg}text")]
    assert texts[1 + 4 :] == ["0", "0", "4", "1", "5", "1", "2", "6", "3", "7"]
    layouts.run("layout", "(4,8):(8,1)", "--swizzle", "2,0,3", "--svg", str(file))
    root = ElementTree.parse(file).getroot()
    texts = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    swizzled = [row * 8 + (column ^ row) for row in range(4) for column in range(8)]
    cells = [int(text) for text in texts[1 + 8 :] if text]
    assert cells == [n for row in range(4) for n in (row, *swizzled[8 * row : 8 * row + 8])]


@pytest.mark.parametrize(
    ("given", "character"),
    [("(4,(2,3:1", 8), ("4:x", 3), ("(4,2):8", 7), ("4:1)", 4), ("(4,0)", 1), ("9999999999", 1)],
)
def test_a_malformed_layout_is_pointed_at(layouts: Checkout, given: str, character: int) -> None:
    done = layouts.run("layout", given, status=2)
    marked, sentence = done.stderr.splitlines()[-2:]
    assert marked.index("^") == character - 1
    assert f"At character {character} of" in sentence


@pytest.mark.parametrize(
    "options",
    [
        ("--complement", "16"),
        ("--swizzle", "3,4"),
        ("--swizzle", "3,4,2"),
        ("--tile", "(2,2,2)"),
        ("--svg", "missing/x.svg"),
        ("--tiled-divide", "(2,2,2)"),
        ("--flat-divide", "(2,2,2)"),
        ("--left-inverse",),
        ("--blocked-product", "2:1"),
        ("--group-modes", "1,3"),
        ("--group-modes", "1,1"),
        ("--group-modes", "0"),
        ("--flatten", "--raked-product", "x"),
    ],
)
def test_what_is_not_defined_is_refused(layouts: Checkout, options: tuple[str, ...]) -> None:
    done = layouts.run("layout", "(4,4):(1,2)", *options, status=2)
    assert done.stderr.splitlines()[-1].startswith("gemm: ")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--blocked-product", "2:1"), "the block has 2, and the copies have 1."),
        (("--raked-product", "(2,2,2)"), "the block has 2, and the copies have 3."),
        (("--group-modes", "1,3"), 'such as 0,2, of 2 here, and not "1,3".'),
    ],
)
def test_products_and_groups_say_what_does_not_fit(layouts: Checkout, options: tuple[str, ...], words: str) -> None:
    assert words in layouts.run("layout", "(4,4):(4,1)", *options, status=2).stderr.splitlines()[-1]


# The lesson's pages.


def swizzled(layouts: Checkout, given: str, *bits: int) -> list[int]:
    """By index."""
    options = ("layout", given, "--swizzle", ",".join(map(str, bits)), "--json")
    return json.loads(layouts.run(*options).stdout)["layouts"][1]["values"]


def test_the_swizzle_pages_tables_are_what_is_computed(layouts: Checkout) -> None:
    tables = prose.tables_of(LESSON / "SWIZZLE.md")
    pictures = [table for table in tables if table[0][0].startswith("line, ")]
    assert [table[0][0] for table in pictures] == ["line, 64 bytes", "line, 128 bytes"]
    for (head, *lines), bits in zip(pictures, (2, 3), strict=True):
        places = swizzled(layouts, "(8,8):(8,1)", bits, 0, 3)
        assert head[1:] == [str(place) for place in range(8)]
        for line, *chunks in lines:
            row = int(line)
            assert [places[8 * int(chunk) + row] for chunk in chunks] == [8 * row + place for place in range(8)]
    elements = next(table for table in tables if table[0][0] == "bytes of an element")
    for size, *named in elements[1:]:
        for name, bits in zip(named, (1, 2, 3), strict=True):
            numbers = [int(number) for number in name.removeprefix("Swizzle<").removesuffix(">").split(",")]
            in_bytes = swizzled(layouts, f"2048:{size}", bits, 4, 3)
            assert [int(size) * i for i in swizzled(layouts, "2048:1", *numbers)] == in_bytes


def test_the_loops_that_the_lesson_shows_are_09bs() -> None:
    text = (LESSON / "README.md").read_text(encoding="utf-8")
    shown = text.partition("```cpp\n")[2].partition("```")[0].splitlines()
    kernel = (ROOT / "09_tensorcore" / "b_mma_sync" / "kernel.cu").read_text(encoding="utf-8").splitlines()
    assert len(shown) > 3
    assert [line for line in shown if line not in kernel] == ["    // …"]


@pytest.mark.usefixtures("layouts")
def test_the_answers_of_the_quiz_are_the_headers() -> None:
    """Of each question a few, whose operands are read from what it says."""

    def result(*given: str) -> dict:
        return json.loads(subprocess.check_output([PROGRAM, *given, "--json"], text=True))["layouts"][-1]

    def answer(text: str) -> int:
        found = dict(re.findall(r"([AB]) = (\S+?:\S+?)[,.]? ", text))
        if "composition" in text:
            return result(found["A"], f"--compose={found['B']}")["values"][numbers(r"R\((\d+)\)", text)[0]]
        if "complement" in text:
            (limit,) = numbers(r"in (\d+)\?", text)
            return result(found["B"], f"--complement={limit}")["cosize"] - 1
        if "tiler" in text:
            rows, columns = numbers(r"tiler \((\d+),(\d+)\)", text)
            return result(found["A"], f"--tile=({rows},{columns})")["values"][rows * columns]
        if "swizzled" in text:
            *swizzle, place = numbers(r"Swizzle<(\d),(\d),(\d)>.* offset (\d+) go", text)
            return result("1024:1", f"--swizzle={','.join(map(str, swizzle))}")["values"][place]
        return result(found["A"])["values"][numbers(r"A\((\d+)\)", text)[0]]

    def numbers(pattern: str, text: str) -> list[int]:
        match = re.search(pattern, text)
        assert match, text
        return [int(group) for group in match.groups()]

    declared = exercise.content("20_layout_algebra").quiz
    for drawn in range(seed(), seed() + 4):
        for q in quiz.questions("20_layout_algebra", declared, drawn, quiz.Tracer("20_layout_algebra")):
            assert q.answer == answer(q.text), q.text
            assert re.search(rf"(?<![\d.]){re.escape(quiz.number(q.answer))}(?![\d])", q.explanation), q.explanation
