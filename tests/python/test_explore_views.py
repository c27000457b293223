"""The explorer's access, findings and what-if views, in a real browser: what they say is what the tracer counted, the findings
are where they were found, and the arithmetic is the recorded runs'."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from browser import Browser
from conftest import alone, drawn
from inspect_synthetic import hang, line, traced

from runner.core.machines import MACHINES
from runner.core.results import ROOT, lessons
from website import explore
from website.recorded import recorded

pytestmark = pytest.mark.xdist_group("browser")

# Every request of every block, and every wgmma, by the page's own rules.
_COUNTED = """async () => {
  const { decode } = await import("explorer/payload");
  const sectors = await import("explorer/sectors"), wavefronts = await import("explorer/wavefronts");
  const { sourceOf } = await import("explorer/memory");
  const { chunks, decode: fields } = await import("explorer/descriptors");
  const data = decode(document.getElementById("payload").textContent);
  const wrong = [];
  let requests = 0, multiplied = 0;
  for (const block of data.blocks) {
    for (let event = 0; event < block.raw.events.length; ++event) {
      const request = block.request(event);
      if (!request || request.box) continue;
      ++requests;
      const { access, array, lanes, offsets, units } = request;
      const touching = { array, lanes, offsets, width: access.width, op: access.op, matrix: access.matrix, units, copied: null };
      if (access.copy && access.op === "store") {
        const source = sourceOf(block, request);
        touching.copied = new Map(source ? source.lanes.map((lane, index) => [lane, source.offsets[index]]) : []);
      }
      const same = array.space === "global"
        ? sectors.figures(touching).sectors.length === units : wavefronts.split(touching) !== null;
      if (!same) wrong.push({ event, access, units });
    }
    for (const multiply of block.raw.multiplies) {
      const entry = data.trace.wgmma[multiply.wgmma];
      for (const [place, number, major, rows] of [[multiply.a, multiply.a_descriptor, entry.major_a, multiply.m],
                                                  [multiply.b, multiply.b_descriptor, entry.major_b, multiply.n]]) {
        if (!number || !place) continue;
        ++multiplied;
        const start = block.raw.arrays[place.array].offset + place.offset;
        const mine = chunks(fields(number), major, rows, multiply.k).map((chunk) => chunk.address - start).sort((a, b) => a - b);
        const theirs = [...block.raw.places[place.places]].sort((a, b) => a - b);
        if (JSON.stringify(mine) !== JSON.stringify(theirs)) wrong.push({ multiply });
      }
    }
  }
  return { requests, multiplied, wrong: wrong.slice(0, 3) };
}"""


@cache
def real(lesson: str) -> explore.Payload:
    """What ./gemm explore shows of a lesson."""
    with alone("build"), pytest.MonkeyPatch.context() as patched:
        patched.setenv("GEMM_NO_INSTALL", "1")
        return explore.traced(explore.Asked(lesson, None, {}, None, None))[0]


_LANES = [(1 << 32) - 1, [4 * lane for lane in range(32)]]
_COLUMN = [(1 << 32) - 1, [132 * lane for lane in range(32)]]  # of a tile that is 33 floats wide
_SAME = [(1 << 32) - 1, [128 * lane for lane in range(32)]]  # of one that is 32 wide: every lane in the same bank


def made(**changes: object) -> Any:
    """A page's data: a block of 64 threads that stores a row of As, reads a column of it and a padded one of Bs, and stores C."""
    trace = traced("03_smem", [
        line(34, "A", "load", 2, 4, 4, lesson="03_smem"),
        line(34, "As", "store", 2, 1, 1, shared=True, lesson="03_smem"),
        line(38, "As", "load", 2, 32, 1, shared=True, lesson="03_smem"),
        line(38, "Bs", "load", 2, 1, 1, shared=True, lesson="03_smem"),
        line(44, "C", "store", 2, 4, 4, lesson="03_smem"),
    ])  # fmt: skip
    matrix = {"space": "global", "rows": 128, "cols": 128, "pitch": 128, "element_bytes": 4, "bytes": 65536, "offset": None}
    shared = {"space": "shared", "rows": None, "cols": None, "pitch": None, "element_bytes": None}
    arrays = [{"name": "A", **matrix}, {"name": "C", **matrix}, {"name": "As", **shared, "bytes": 4096, "offset": 0},
              {"name": "Bs", **shared, "bytes": 4224, "offset": 4096}]  # fmt: skip
    accesses = [(0, 0, "load"), (1, 2, "store"), (2, 2, "load"), (3, 3, "load"), (4, 1, "store")]
    events: list[object] = []
    for warp in range(2):
        events += [
            [0, warp, 0, 512 * warp, 4],
            [1, warp, 0, 128 * warp, 1, 0, 0, 512 * warp],
            {"e": "barrier", "warp": warp, "lanes": (1 << 32) - 1, "site": 1},
        ]
    events.append({"e": "met"})
    for warp in range(2):
        events += [
            [2, warp, 2, 4 * warp, 32],
            [3, warp, 1, 4 * warp, 1],
            [4, warp, 0, 512 * warp, 4],
            {"e": "returned", "warp": warp},
        ]
    sites = [
        {"file": "03_smem/kernel.cu", "line": number, "what": what}
        for number, what in ((34, "access"), (36, "__syncthreads()"), (38, "access"), (44, "access"))
    ]
    block = {
        "block": [0, 0, 0], "index": 0, "rank": 0, "threads": 64, "arrays": [{**array, "rank": None} for array in arrays],
        "sites": sites, "patterns": [_LANES, _COLUMN, _SAME], "events": events, "copies": [], "multiplies": [], "places": [],
        "accesses": [{"site": 0, "line": which, "array": array, "op": op, "width": 4, "copy": False, "matrix": False}
                     for which, array, op in accesses],
        "mbarriers": [], "truncated": False,
    }  # fmt: skip
    trace.update(variant="fp32", threads_per_block=64, history=[block], **changes)
    descriptor = {
        "name": "03_smem", "number": "03", "folder": "03_smem", "part": 1, "ladder": "fp32", "constants": {}, "block": [8, 8, 1],
        "tile": {"BM": 32, "BN": 32, "BK": 32}, "dynamic_shared_bytes": 0, "variants": [],
    }  # fmt: skip
    text = (ROOT / "03_smem/kernel.cu").read_text(encoding="utf-8").splitlines()
    return {
        "schema": 1, "lesson": "03_smem", "title": "03 smem", "mine": False, "trace": trace, "descriptor": descriptor,
        "sources": [{"file": "03_smem/kernel.cu", "lines": text}], "recorded": recorded(ROOT, "03_smem"),
        "machines": MACHINES,
    }  # fmt: skip


def written(folder: Path, payload: Any) -> str:
    """The address of its page."""
    path = folder / "page.html"
    path.write_text(explore.page(payload), encoding="utf-8")
    return path.as_uri()


RACE = {
    "id": "race", "access": "read", "array": "As", "row": None, "column": None, "offset": 132, "beyond": 0, "block": 0,
    "text": "thread (1,0,0) wrote As + 132 bytes at 03_smem/kernel.cu:34 and thread (1,4,0) reads it at 03_smem/kernel.cu:38, "
            "with no barrier in between (block 0)",
    "thread": [1, 4, 0], "file": "03_smem/kernel.cu", "line": 38,
    "other": {"access": "write", "thread": [1, 0, 0], "file": "03_smem/kernel.cu", "line": 34}, "count": 7,
}  # fmt: skip
OVERRUN = {
    "id": "out_of_bounds", "access": "write", "array": "C", "row": 128, "column": 3, "offset": 65548, "beyond": 2, "block": 5,
    "text": "thread (3,0,0) writes C[128][3], outside C of 128×128, at 03_smem/kernel.cu:44 (block 5)", "thread": [3, 0, 0],
    "file": "03_smem/kernel.cu", "line": 44, "other": None, "count": 1,
}  # fmt: skip


# The tracer's numbers


@pytest.mark.parametrize("lesson", drawn(lessons(), 1))
def test_every_request_is_split_as_the_tracer_counts(browser: Browser, tmp_path: Path, lesson: str) -> None:
    payload = real(lesson)
    with browser.visit(written(tmp_path, payload)) as visit:
        counted = visit.page.evaluate(_COUNTED)
        visit.clean()
    assert counted["wrong"] == []
    assert counted["requests"] > 0
    assert bool(counted["multiplied"]) == bool(payload["trace"]["wgmma"])


def test_rules_on_known_requests(browser: Browser, tmp_path: Path) -> None:
    with browser.visit(written(tmp_path, made())) as visit:
        found = visit.page.evaluate(
            """async () => {
              const { wavefronts, copyWavefronts, sectors, idealWavefronts } = await import("explorer/banks");
              const { swizzled, boxChunks } = await import("explorer/descriptors");
              const lanes = [...Array(32).keys()], at = (f) => lanes.map(f);
              const count = (f, width, apart) => wavefronts(lanes, at(f), width, apart).length;
              return [
                count((lane) => 4 * lane, 4, false), count((lane) => 128 * lane, 4, false), count((lane) => 132 * lane, 4, false),
                count(() => 0, 4, false), count((lane) => 16 * lane, 16, false), count((lane) => 16 * (lane >> 2), 16, false),
                count((lane) => 16 * (lane >> 2), 16, true), count((lane) => 8 * lane, 8, true),
                copyWavefronts(lanes, at((lane) => 4 * lane), new Map(lanes.map((lane) => [lane, 128 * lane])), 4).length,
                sectors(at((lane) => 4 * lane), 4).length, sectors(at((lane) => 1024 * lane), 4).length, sectors([30], 4).length,
                idealWavefronts(lanes, at((lane) => 16 * (lane >> 4)), 16),
                swizzled("128B", 128), swizzled("none", 128), boxChunks(2, 32, "128B", 0).map((chunk) => chunk.address).join(),
              ];
            }"""
        )
    assert found == [1, 32, 1, 1, 4, 2, 4, 2, 32, 4, 32, 2, 2, 144, 128, "0,16,144,128"]


# A warp's access


def test_line_request_and_lane_are_chosen_and_read(browser: Browser, tmp_path: Path) -> None:
    with browser.visit(written(tmp_path, made())) as visit:
        page = visit.page
        readout = page.locator("#access .readout")
        page.locator("#access [data-line='2']").click()
        assert "32 wavefronts, ideal 1" in readout.inner_text()
        assert "a 32-way bank conflict" in readout.inner_text()
        assert page.locator("#access [data-wavefront]").count() == 32
        page.locator("#access [data-line='3']").click()
        assert "1 wavefront, ideal 1" in readout.inner_text()
        assert "no bank conflict" in readout.inner_text()

        # With the keyboard alone: the warp, then along the lanes.
        page.locator("#access [data-line='0']").focus()
        page.keyboard.press("Enter")
        page.get_by_label("Warp, slider").focus()
        page.keyboard.press("ArrowRight")
        assert "by warp 1" in readout.inner_text()
        page.locator("#access [data-lane='0']").first.focus()
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        assert "Lane 3 (thread 35): A[1][3], bytes 524–527, sector 1." in readout.inner_text()
        page.wait_for_url(lambda url: "lane=3" in url and "warp=1" in url)
        visit.clean()


def test_store_says_what_it_stores_and_means_are_the_tables(browser: Browser, tmp_path: Path) -> None:
    payload = made()
    with browser.visit(written(tmp_path, payload) + "#line=1&warp=1&lane=2") as visit:
        readout = visit.page.locator("#access .readout")
        assert "Lane 2 (thread 34): As + 136 B, bank 2, wavefront 1, and stores A[1][2]." in readout.inner_text()
        rows = visit.page.locator("#access table.accesses tbody tr").all_inner_texts()
        assert [row.split("\t")[-2] for row in rows] == ["4 sectors", "1 wavefront", "32 wavefronts", "1 wavefront", "4 sectors"]


def test_unknown_split_shows_the_tracers_number(browser: Browser, tmp_path: Path) -> None:
    payload = made()
    events = payload["trace"]["history"][0]["events"]
    events[events.index([2, 0, 2, 0, 32])] = [2, 0, 2, 0, 17]
    with browser.visit(written(tmp_path, payload) + "#line=2&warp=0") as visit:
        text = visit.page.locator("#access .readout").inner_text()
        assert "The split into wavefronts isn’t known here: the tracer counts 17." in text
        assert visit.page.locator("#access [data-wavefront]").count() == 0
        visit.clean()


# Findings


def test_nothing_found_is_one_sentence(browser: Browser, tmp_path: Path) -> None:
    with browser.visit(written(tmp_path, made())) as visit:
        assert visit.page.locator("#findings .view").inner_text().startswith("Nothing was found: no race")


def test_race_and_overrun_are_drawn_where_they_are(browser: Browser, tmp_path: Path) -> None:
    payload = made(findings=[RACE, OVERRUN])
    with browser.visit(written(tmp_path, payload)) as visit:
        page = visit.page
        sides = page.locator("#findings .side")
        assert sides.count() == 2
        assert "thread 1: warp 0, lane 1 wrote it" in sides.nth(0).inner_text()
        assert "thread 33: warp 1, lane 1 reads it" in sides.nth(1).inner_text()
        sources = payload["sources"][0]["lines"]
        for which, number in enumerate((34, 38)):
            assert sources[number - 1].strip() in sides.nth(which).locator(".chosen").inner_text()
        assert page.get_by_role("img", name="As + 132 bytes: bank 1").count() == 1

        # Chosen, the other views show its line, warp and lane, at the request that touches the place.
        page.locator("[data-finding='0']").click()
        text = page.locator("#access .readout").inner_text()
        assert "by warp 1" in text
        assert "Lane 1 (thread 33): As + 132 B" in text

        page.locator("[data-finding='0']").focus()
        page.keyboard.press("ArrowDown")
        assert page.locator("#findings .side").count() == 1
        assert page.get_by_role("img", name="C, 128×128: row 128, column 3, outside of it").count() == 1
        assert "The history of block 5 was not kept" in page.locator("#findings").inner_text()
        visit.clean()


def test_hang_is_shown_as_its_autopsy(browser: Browser, tmp_path: Path) -> None:
    payload = made(error={"id": "mbarrier_hang", "text": "…", "autopsy": hang("03_smem")}, verdict=None)
    payload["trace"]["threads_per_block"] = 160
    with browser.visit(written(tmp_path, payload)) as visit:
        page = visit.page
        assert (
            page.locator("[data-likely='bytes_missing']")
            .inner_text()
            .endswith("full[0] was told to expect 16 bytes more than come.")
        )
        assert page.locator(".mbarrier.suspect").get_attribute("data-barrier") == "full[0]"
        name = page.locator("[data-barrier='full[0]'] svg").get_attribute("aria-label")
        assert name == "full[0], phase 2, parity 0: 1 of 1 arrivals, 8\u202f192 of 8\u202f208 bytes"
        assert "127 of 128 arrivals" in page.locator("[data-barrier='empty[0]'] svg").get_attribute("aria-label")
        page.get_by_role("button", name="thread 128").first.click()
        page.wait_for_url(lambda url: "thread=128" in url and "warp=4" in url)
        visit.clean()


# What if


def test_occupancy_is_that_of_the_recorded_runs(browser: Browser, tmp_path: Path) -> None:
    """Every lesson's registers, threads and shared memory give the blocks that CUDA said on the GPU."""
    results = json.loads((ROOT / "plots/results/h200.json").read_text(encoding="utf-8"))
    asked = {
        name: {
            "threads": taken["threads_per_block"],
            "registers": taken["registers"],
            "shared": taken["static_shared_bytes"] + taken["dynamic_shared_bytes"],
        }
        for name, taken in results["resources"].items()
    }
    with browser.visit(written(tmp_path, made())) as visit:
        blocks = visit.page.evaluate(
            """async ([asked, machine]) => {
              const { limits } = await import("explorer/occupancy");
              return Object.fromEntries(Object.entries(asked).map(([name, one]) =>
                [name, Math.min(...limits(machine, one).limits.map((limit) => limit.blocks))]));
            }""",
            [asked, MACHINES["sm_90"]],
        )
    assert blocks == {name: taken["blocks_per_sm"] for name, taken in results["resources"].items()}


def test_sliders_change_what_is_predicted(browser: Browser, tmp_path: Path) -> None:
    with browser.visit(written(tmp_path, made())) as visit:
        page = visit.page

        def value(row: str, kind: str = "predicted") -> str:
            return page.locator(f"[data-row='{row}'] [data-kind='{kind}']").inner_text().replace("\u202f", "")

        assert (value("blocks-an-sm"), value("blocks-an-sm", "recorded")) == ("2", "2")
        assert value("tile-intensity") == "8 FLOP/B"
        assert value("grid") == "16384"
        page.get_by_label("BM", exact=True).fill("64")
        page.get_by_label("BN", exact=True).fill("64")
        assert value("tile-intensity") == "16 FLOP/B"
        assert value("grid") == "4096"
        assert "2 · 64 · 64 / ((64 + 64) · 4)" in page.locator("[data-row='tile-intensity']").inner_text()
        assert "cannot be launched" in page.locator("#whatif .readout").first.inner_text()  # 4096 threads a block
        page.get_by_role("button", name="The lesson’s values").click()
        page.get_by_label("GPU").select_option("sm_86")
        assert value("blocks-an-sm") == "1"
        page.get_by_role("button", name="As traced").click()
        assert value("grid", "traced") == "16 blocks"
        visit.clean()


def test_recorded_points_are_chosen_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    with browser.visit(written(tmp_path, made())) as visit:
        page = visit.page
        sweep = page.get_by_label("Sweep over sizes, recorded")
        page.get_by_role("button", name="03_smem, 4096 cubed").focus()
        said = sweep.get_by_role("status").inner_text()
        run = next(
            run for run in recorded(ROOT, "03_smem")["runs"] if run["lesson"] == "03_smem" and run["m"] == run["n"] == 4096
        )  # type: ignore[index]
        assert f"{run['tflops']:.3g} TFLOP/s" in said
        assert run["baseline"] in said
        page.keyboard.press("ArrowLeft")
        assert "4095×4095×4095" in sweep.get_by_role("status").inner_text()
        roof = page.get_by_label("Roofline, recorded")
        page.get_by_label("shared memory", exact=True).check()
        page.get_by_role("button", name="03_smem: ").last.click()
        assert "FLOP per byte of shared memory. The roof there is" in roof.get_by_role("status").inner_text()
        visit.clean()


def test_nothing_recorded(browser: Browser, tmp_path: Path) -> None:
    with browser.visit(written(tmp_path, {**made(), "recorded": None})) as visit:
        assert "Nothing is recorded of this lesson" in visit.page.locator("#whatif").inner_text()
        visit.clean()


@pytest.mark.parametrize("lesson", lessons())
def test_recorded_has_the_lesson_and_the_one_before(lesson: str) -> None:
    found = recorded(ROOT, lesson)
    if found is None:
        pytest.skip(f"Nothing is recorded of {lesson}.")
    names = {run["lesson"] for run in found["runs"]}
    assert lesson in names
    assert len(names) <= 2
    assert all(run["tflops"] > 0 and run["baseline_tflops"] > 0 for run in found["runs"])


# Everybody


@pytest.mark.parametrize(("width", "dark"), [(390, True), (1280, False)])
def test_fits_and_is_accessible(browser: Browser, tmp_path: Path, width: int, dark: bool) -> None:
    payload = copy.deepcopy(made(findings=[RACE, OVERRUN]))
    with browser.visit(written(tmp_path, payload) + "#line=2&warp=0&lane=4", width=width, dark=dark) as visit:
        visit.fits()
        visit.accessible()
        visit.clean()


@pytest.mark.parametrize("width", [390, 1280])
def test_no_words_of_a_picture_are_cut_off(browser: Browser, tmp_path: Path, width: int) -> None:
    payload = made(findings=[RACE, OVERRUN])
    with browser.visit(written(tmp_path, payload), width=width) as visit:
        for which in range(5):
            visit.page.locator(f"#access [data-line='{which}']").click()
            cut = visit.page.evaluate(
                """[...document.querySelectorAll("#access svg text, #findings svg text")].filter((words) => {
                  const at = words.getBoundingClientRect(), all = words.ownerSVGElement.getBoundingClientRect();
                  return at.left < all.left - 1 || at.right > all.right + 1;
                }).map((words) => words.textContent)"""
            )
            assert not cut
        visit.clean()


# Contrast of neighbours in a picture, as a screen without colours shows them: relative luminance, WCAG 2.
_GREY = """() => {
  const style = getComputedStyle(document.documentElement);
  const light = (name) => {
    const parts = style.getPropertyValue(`--${name}`).trim().match(/[0-9a-f]{2}/g).map((part) => parseInt(part, 16) / 255)
      .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
  };
  return (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
}"""


@pytest.mark.parametrize("dark", [False, True])
def test_what_must_be_told_apart_is_so_in_grey(browser: Browser, tmp_path: Path, dark: bool) -> None:
    with browser.visit(written(tmp_path, made()) + "#line=0&warp=0&lane=4", dark=dark) as visit:

        def apart(one: str, other: str) -> float:
            return visit.page.evaluate(f"([one, other]) => ({_GREY})()(one, other)", [one, other])

        fills = ["strong", "mid", "light", "pale"]  # thread, warp, block; in use, landed, needed
        for at, one in enumerate(fills):
            for other in fills[at + 1 :]:
                assert apart(one, other) > 1.25, (one, other)
        for at in range(7):  # shades of neighbours: sectors, wavefronts, chunks
            assert apart(f"s{at}", f"s{at + 1}") > 2.5, at
        assert apart("mark", "paper") > 4.5
        # What is chosen has an outline that paper surrounds, whatever it lies on.
        outlines = visit.page.locator("#access .marked")
        assert outlines.count() == 2  # the lane and its word
        for at in range(2):
            assert outlines.nth(at).evaluate("(one) => one.previousSibling.classList.contains('halo')")
        visit.clean()
