"""The shape atlas: its data are the record's, and in a browser one chooses a shape with pointer, keyboard or address."""

from __future__ import annotations

import copy
import math
import random
from pathlib import Path

import pytest
from browser import Browser, Visit
from conftest import descriptors, seed

from plots import atlas as picture
from plots import data
from runner.core import atlas as recorded
from runner.core.results import ROOT
from website import atlas

in_browser = pytest.mark.xdist_group("browser")
EVIDENCE = {"15d_choose": "../evidence.html"}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("page") / "page.html"
    file.write_text(atlas.page({"15d_choose": "../lesson.html"}, EVIDENCE), encoding="utf-8")
    return file.as_uri()


def name(point: dict) -> str:
    return f"{point['m']}×{point['n']}×{point['k']}"


def points(variant: str) -> list[dict]:
    """What the page knows of a type."""
    return next(one for one in atlas.payload({}, {})["atlases"] if one["variant"] == variant)["points"]


def button(visit: Visit, shape: str):
    return visit.page.locator(f'[data-shape="{shape}"]')


def pick(visit: Visit, shape: str) -> None:
    """Clicks a shape, also one that another covers."""
    button(visit, shape).dispatch_event("click")


def asked(visit: Visit, field: str) -> str:
    return visit.page.evaluate(f"new URLSearchParams(location.hash.slice(1)).get('{field}')")


@pytest.mark.parametrize("variant", recorded.VARIANTS)
def test_its_data_are_the_records(variant: str) -> None:
    results = data.atlas(ROOT, variant)
    assert results
    shown = next(one for one in atlas.payload({}, {})["atlases"] if one["variant"] == variant)
    same = {"m": "m", "n": "n", "k": "k", "set": "set", "ms": "ms_median", "p10": "ms_p10", "p90": "ms_p90", "rounds": "rounds",
            "tflops": "tflops", "ratio": "ratio", "baseline": "baseline", "baseline_kernel": "baseline_kernel",
            "baseline_ms": "baseline_ms_median", "cache": "cache"}  # fmt: skip
    assert [{here: point[here] for here in same} for point in shown["points"]] == [
        {here: run[there] for here, there in same.items()} for run in results["runs"]
    ]
    for point, run in zip(shown["points"], results["runs"], strict=True):
        assert point["group"] == recorded.group_of(run)
        assert point["mark"] == picture.class_of(run["ratio"])
        assert point["baseline_tflops"] * run["baseline_ms_median"] == pytest.approx(run["tflops"] * run["ms_median"])
        assert (point["bytes_ms"] is None) == (run["cache"] == "warm")
        panel = picture.PANELS[point["panel"]]
        assert panel.least <= run["k"] < (panel.most or math.inf)
        assert point["tiling"] == run.get("tiling")
    assert {one["group"]: (one["shapes"], one["mean"]) for one in shown["means"]} == {
        group: (found.shapes, found.mean) for group, found in recorded.groups(results["runs"]).items()
    }
    assert [shown["multiprocessors"], shown["tile"]] == [
        results["device"]["multiprocessors"],
        [results["tile"]["BM"], results["tile"]["BN"]],
    ]


def test_a_bound_is_bytes_at_a_copys_rate_and_products_at_that_of_multiply_adds() -> None:
    point = next(one for one in points("fp32") if name(one) == "16×4096×4096")
    assert point["bytes"] == 4 * (16 * 4096 + 4096 * 4096 + 16 * 4096)
    figures = data.ceilings(ROOT)["figures"]
    assert point["bytes_ms"] == pytest.approx(point["bytes"] / figures["DRAM copy"]["value"] / 1e9)
    assert point["flop_ms"] == pytest.approx(2 * 16 * 4096 * 4096 / figures["FFMA"]["value"] / 1e9)
    assert all(one["flop_ms"] is None for one in points("bf16"))  # of which no rate was measured


def test_another_gpus_ceilings_are_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    other = {**data.ceilings(ROOT), "gpu": "NVIDIA X999"}
    monkeypatch.setattr(data, "ceilings", lambda _: other)
    assert all(one["bytes_ms"] is None and one["flop_ms"] is None for one in points("fp32"))


@in_browser
def test_a_shape_is_clicked(browser: Browser, address: str) -> None:
    with browser.visit(address) as visit:
        page = visit.page
        assert page.locator(".plane").count() == len(picture.PANELS)
        point = random.Random(seed()).choice(points("fp32"))
        pick(visit, name(point))
        assert page.inner_text("#shape-title") == name(point)
        assert page.locator('[aria-pressed="true"][data-shape]').get_attribute("data-shape") == name(point)
        said = page.inner_text("#shape")
        assert point["baseline"] in said
        assert all(kernel in said for kernel in point["baseline_kernel"].split(" + "))
        assert f"./gemm run 15d --dtype fp32 --m {point['m']} --n {point['n']} --k {point['k']}" in said
        assert asked(visit, "shape") == name(point).replace("×", "x")
        page.goto("about:blank")  # what is chosen is on top, and may cover the next one
        page.goto(address)
        button(visit, "16×4096×14336").click()  # with the pointer: it covers another K
        assert page.inner_text("#shape-title") == "16×4096×14336"
        assert page.get_attribute("#shape table a", "href") == "../lesson.html"
        page.click("#shape .controls button")  # which is to be had here
        assert page.inner_text("#shape-title") == "16×4096×4096"
        ratio = next(one["ratio"] for one in points("fp32") if name(one) == "16×4096×4096")
        words = {"^": "faster", "o": "about as fast", "v": "slower"}[picture.CLASSES[picture.class_of(ratio)].marker]
        assert page.inner_text(".verdict") == f"{float(f'{ratio:.3g}')} of cuBLAS’s speed: {words}"
        visit.clean()


def without_tilings(variant: str) -> dict:
    """The record as one was before runs said what a lesson chose."""
    results = copy.deepcopy(data.atlas(ROOT, variant))
    assert results
    for run in results["runs"]:
        run.pop("tiling", None)
    return results


@in_browser
def test_the_last_wave_is_as_full_as_the_records_tile_makes_it(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    results = without_tilings("fp32")
    monkeypatch.setattr(data, "atlas", lambda _, variant: results if variant == "fp32" else None)
    file = tmp_path / "page.html"
    file.write_text(atlas.page({}, EVIDENCE), encoding="utf-8")
    blocks = results["resources"][results["lesson"]]["blocks_per_sm"]
    places = results["device"]["multiprocessors"] * blocks
    with browser.visit(file.as_uri()) as visit:
        for shape in ("16×4096×4096", "8192×4096×4096", "7600×1152×64"):
            pick(visit, shape)
            m, n, _ = map(int, shape.split("×"))
            tiles = math.ceil(m / results["tile"]["BM"]) * math.ceil(n / results["tile"]["BN"])
            last = tiles % places or places
            bar = visit.page.locator("#shape [role=img]")
            assert bar.get_attribute("aria-label") == f"The last wave fills {round(100 * last / places)} % of its places"
            box, full = bar.locator("div").bounding_box(), bar.bounding_box()
            assert box["width"] / full["width"] == pytest.approx(last / places, abs=0.02)
            assert f": {math.ceil(tiles / places)} wave" in visit.page.inner_text("#shape")
        visit.clean()


@in_browser
def test_where_the_record_holds_the_tiles_they_are_shown(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    results = without_tilings("fp32")
    sms = results["device"]["multiprocessors"]
    said = {  # the rows and columns of C tiles, slices, blocks, and blocks an SM: what the page says of them, and how full
        ("16×4096×4096", 16, 256, 20, 320, 3): (
            "15d_choose chose C tiles of 16×256 and k-tiles of 16. There are 1·16 = 16 C tiles, "
            f"each in 20 slices of K: 320 blocks. {sms} SMs with 3 blocks each have room for 396 at once: 1 wave.",
            "It fills 320 of 396 places, 81 %.", 320 / 396),
        ("8192×4096×4096", 128, 256, 1, 1024, 1): (
            "There are 64·16 = 1 024 C tiles, a block each, K in one slice. "
            f"{sms} SMs with 1 block each have room for 132 at once: 8 waves.",
            "The last wave fills 100 of 132 places, 76 %.", 100 / 132),
        ("7600×1152×64", 256, 128, 1, 90, 1): (
            "There are 30·9 = 270 C tiles, which 90 persistent blocks computed one after another. "
            f"{sms} SMs with 1 block each have room for 132 at once: 3 waves.",
            "The last wave fills 90 of 132 places, 68 %.", 90 / 132),
    }  # fmt: skip
    for shape, rows, columns, slices, blocks, per_sm in said:
        run = next(one for one in results["runs"] if name(one) == shape)
        run["tiling"] = {"BM": rows, "BN": columns, "BK": 16, "slices": slices, "blocks": blocks, "blocks_per_sm": per_sm}
    monkeypatch.setattr(data, "atlas", lambda _, variant: results if variant == "fp32" else None)
    file = tmp_path / "page.html"
    file.write_text(atlas.page({}, EVIDENCE), encoding="utf-8")
    with browser.visit(file.as_uri()) as visit:
        for (shape, *_), (words, filling, share) in said.items():
            pick(visit, shape)
            shown = visit.page.inner_text("#shape").replace("\u202f", " ").replace("\xa0", " ")
            assert words in shown
            assert filling in shown
            assert "The record does not say" not in shown
            bar = visit.page.locator("#shape [role=img]")
            box, full = bar.locator("div").bounding_box(), bar.bounding_box()
            assert box["width"] / full["width"] == pytest.approx(share, abs=0.02)
        pick(visit, "64×4096×4096")
        assert "The record does not say" in visit.page.inner_text("#shape")  # of this one
        visit.clean()


@in_browser
def test_the_keyboard_reaches_every_shape(browser: Browser, address: str) -> None:
    with browser.visit(f"{address}#type=bf16") as visit:
        page = visit.page
        at = "document.activeElement.dataset.shape"
        for panel, title in enumerate(one.title for one in picture.PANELS):
            here = [one for one in points("bf16") if one["panel"] == panel]
            here.sort(key=lambda one: (one["n"], one["m"], one["k"]))
            page.locator(f".plane >> nth={panel} >> [tabindex='0']").focus()
            reached = [page.evaluate(at)]
            for _ in here[1:]:
                page.keyboard.press("ArrowRight")
                reached.append(page.evaluate(at))
            assert reached == [name(one) for one in here]
            assert reached[-1] in page.inner_text(f"figcaption:has-text('{title}')")  # what the keyboard is at
            page.keyboard.press("ArrowLeft")
            page.keyboard.press("Enter")
            assert page.inner_text("#shape-title") == reached[-2]
            assert page.evaluate(at) == reached[-2]  # one goes on from there
        page.focus("#bf16")
        stops = [page.keyboard.press("Tab") or page.evaluate(f"{at} ?? document.activeElement.value") for _ in range(7)]
        assert stops[:3] == list(recorded.GROUPS)
        assert all("×" in stop for stop in stops[3:])  # one in each panel
        visit.clean()


@in_browser
def test_type_groups_and_address(browser: Browser, address: str) -> None:
    with browser.visit(f"{address}#type=bf16&shape=16x4096x4096&groups=tiny") as visit:
        page = visit.page
        tiny = [name(one) for one in points("bf16") if one["group"] == "tiny"]
        assert page.locator("[data-shape]").count() == len(tiny)
        assert page.inner_text("#shape-title") == "16×4096×4096"
        page.click("#fp32")  # the shape is the same, and not tiny in FP32
        assert page.inner_text("#shape-title") == "16×4096×4096"
        assert (asked(visit, "type"), asked(visit, "groups")) == ("fp32", "aligned tiny")
        page.uncheck("#groups input[value=aligned]")
        assert page.inner_text("#shape-title") == "No shape chosen"
        assert asked(visit, "shape") is None
        page.check("#groups input[value=odd]")
        counted = page.locator("[data-shape]").count()
        assert counted == sum(one["group"] != "aligned" for one in points("fp32"))
        page.goto(f"{address}#type=fp32&shape=64x4096x4096")
        assert page.inner_text("#shape-title") == "64×4096×4096"
        page.goto(f"{address}#type=int8&shape=1x2x3&groups=none")  # nothing of it is there
        assert page.inner_text("#shape-title") == "No shape chosen"
        assert page.get_attribute("#fp32", "aria-pressed") == "true"
        visit.clean()


@in_browser
@pytest.mark.parametrize("width", [1366, 930, 390])
def test_what_the_pointer_is_at_moves_no_panel(browser: Browser, address: str, width: int) -> None:
    """Each panel is as tall with any of its shapes' names above it as with none: else press and release are at two shapes."""
    with browser.visit(f"{address}#type=bf16", width=width, height=768) as visit:
        tall = visit.page.evaluate("""() => [...document.querySelectorAll(".plane")].map((plane) => {
          const height = () => plane.getBoundingClientRect().height;
          const before = height();
          return [before, ...[...plane.querySelectorAll("[data-shape]")].map((one) => {
            one.dispatchEvent(new PointerEvent("pointerenter"));
            return height();
          })];
        })""")
        assert len(tall) == len(picture.PANELS)
        assert all(len(heights) > 1 and len(set(heights)) == 1 for heights in tall)
        visit.clean()


@in_browser
@pytest.mark.parametrize(("width", "dark"), [(1366, False), (390, True)])
def test_it_can_be_read_and_used_by_everybody(browser: Browser, address: str, width: int, dark: bool) -> None:
    with browser.visit(f"{address}#type=bf16", width=width, height=768, dark=dark) as visit:
        visit.accessible()
        visit.fits()
        first = visit.page.locator(".plane >> nth=0").bounding_box()
        pick(visit, "1431×1739×37")
        visit.accessible()
        visit.fits()
        there, second = (visit.page.locator(one).bounding_box() for one in ("#shape", ".plane >> nth=1"))
        if width < 500:  # what was measured comes after its shape's panel
            assert first["y"] + first["height"] <= there["y"] < second["y"]
        else:
            assert there["x"] > second["x"] + second["width"]
        visit.clean()


def test_the_page_is_whole_and_may_ask_nobody() -> None:
    text = atlas.page({}, {})
    for word in ("@STYLE@", "@IMPORTS@", "@PAYLOAD@", 'src="http', 'href="http', "url("):
        assert word not in text
    assert "default-src 'none'; " in text
    assert len(text) < 500_000


@pytest.mark.parametrize("there", [True, False])
def test_a_lesson_leads_to_its_types_atlas_where_one_is_recorded(monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    builder = pytest.importorskip("website.builder")
    if not there:
        monkeypatch.setattr(data, "ATLAS", "plots/results/none-{}.json")
    course = builder.Course(ROOT, list(descriptors().values()), {"15c_wgmma": Path("15c_wgmma.html")})
    course.collect()
    lesson, page = descriptors()["15c_wgmma"], course.pages["15_split_k/c_wgmma/README.md"]
    for written in (course._beside(page, lesson), course._explorer(page, lesson)):
        assert ('href="../../atlas/index.html#type=bf16">shape atlas</a>' in written) == there
    assert ("atlas/index.md" in course.pages, "atlas" in course.framed) == (there, there)


def test_a_type_alone_is_shown_alone(tmp_path: Path) -> None:
    folder = tmp_path / "plots" / "results"
    folder.mkdir(parents=True)
    file = Path(data.ATLAS.format("bf16"))
    (folder / file.name).write_bytes((ROOT / file).read_bytes())
    shown = atlas.payload({"15d_choose": "a", "15c_wgmma": "b"}, {}, tmp_path)
    assert [one["variant"] for one in shown["atlases"]] == ["bf16"]
    assert shown["urls"] == {"15c_wgmma": "b"}
    assert shown["atlases"][0]["bandwidth"] is None  # no ceilings there
