"""Pages of the explorer for tests: of real lessons, and one that is made so that its numbers are known."""

from __future__ import annotations

import os
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from browser import Visit
from conftest import alone
from inspect_synthetic import line, naive, traced

from runner.core.machines import MACHINES
from runner.core.results import ROOT
from website import explore
from website.explore import Asked, Payload
from website.recorded import recorded

FP32 = {"text": "fp32", "architectures": {"from": 50}, "element_bytes": {"A": 4, "B": 4, "C": 4}}


@cache
def real(lesson: str, *sizes: int) -> Payload:
    """What ./gemm explore shows of a lesson in this checkout."""
    with alone("build"), pytest.MonkeyPatch.context() as patched:
        patched.setenv("GEMM_NO_INSTALL", "1")
        given = {key: str(size) for key, size in zip("mnk", sizes, strict=False)}
        return explore.traced(Asked(lesson, None, given, None, None))[0]


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
        "block": [0, 0, 0], "index": 0, "rank": 0, "cluster": 0, "threads": 64,
        "arrays": [{**array, "rank": None} for array in arrays],
        "sites": sites, "patterns": [_LANES, _COLUMN, _SAME], "events": events, "copies": [], "multiplies": [], "places": [],
        "accesses": [{"site": 0, "line": which, "array": array, "op": op, "width": 4, "copy": False, "matrix": False}
                     for which, array, op in accesses],
        "mbarriers": [], "truncated": False,
    }  # fmt: skip
    trace.update(variant="fp32", threads_per_block=64, history=[block], **changes)
    descriptor = {
        "name": "03_smem", "number": "03", "folder": "03_smem", "part": 1, "ladder": "fp32", "constants": {}, "block": [8, 8, 1],
        "tile": {"BM": 32, "BN": 32, "BK": 32}, "dynamic_shared_bytes": 0, "variants": [FP32],
    }  # fmt: skip
    text = (ROOT / "03_smem/kernel.cu").read_text(encoding="utf-8").splitlines()
    return {
        "schema": 1, "lesson": "03_smem", "title": "03 smem", "mine": False, "trace": trace, "descriptor": descriptor,
        "sources": [{"file": "03_smem/kernel.cu", "lines": text}], "recorded": recorded(ROOT, "03_smem"), "machines": MACHINES,
    }  # fmt: skip


def clustered(across: bool = True) -> Any:
    """Two blocks of a cluster: block 1 asks for a box of C that comes to both, and each for one of A of its own. across: they are
    neighbors along the grid's x; else along y, beside those of another cluster."""
    page = made()
    first = page["trace"]["history"][0]
    second = {**first, "block": [1, 0, 0] if across else [0, 1, 0], "index": 1 if across else 2, "rank": 1}
    box = {"access": None, "units": 0, "thread": 0, "shared": 2, "bytes": 2048, "barrier": 0, "rows": 16, "cols": 32,
           "element_bytes": 4, "swizzle": "none"}  # fmt: skip
    brought = [[{"e": "box", "warp": 0, "lanes": 1, "copy": copy}, {"e": "landed", "copy": copy}] for copy in (0, 1)]
    everyone = [*({"e": "barrier", "warp": warp, "lanes": (1 << 32) - 1, "site": 1} for warp in range(2)), {"e": "met"}]
    for block in (first, second):
        own = {**box, "offset": 0, "array": 0, "row": 16 * block["rank"], "col": 0, "rank": block["rank"]}
        both = {**box, "offset": 2048, "array": 1, "row": 32, "col": 64, "rank": 1}
        met = block["events"].index({"e": "met"}) + 1
        # Its own box is brought at once, the other after the block's first barrier.
        events = [*brought[0], *block["events"][:met], *brought[1], *everyone, *block["events"][met:]]
        block.update(copies=[own, both], events=events, mbarriers=[{"name": "full[0]", "array": 2, "offset": 0, "arrivals": 1}])
    others = [{**one, "block": [1, *one["block"][1:]], "index": one["index"] + 1, "cluster": 1} for one in (first, second)]
    history = [first, second, *([] if across else others)]
    page["trace"].update(blocks=len(history), traced_blocks=len(history), history=history)
    return page


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


def bare() -> Payload:
    """A page's data without a history."""
    trace: Any = naive("01_naive")
    entry = {"name": "01_naive", "number": "01", "tile": {"BM": 32, "BN": 32, "BK": 1}, "constants": {}, "block": [32, 32, 1],
             "dynamic_shared_bytes": 0, "variants": [FP32]}  # fmt: skip
    sources: list[explore.Source] = [{"file": "01_naive/kernel.cu", "lines": ["// </script><b>", *["x"] * 40]}]
    return {"schema": 1, "lesson": "01_naive", "title": "01 <naive>", "mine": False, "trace": trace, "sources": sources,
            "descriptor": entry, "recorded": None, "machines": MACHINES}  # fmt: skip


def written(payload: Any, folder: Path) -> str:
    """The address of its page."""
    path = folder / "page.html"
    path.write_text(explore.page(payload), encoding="utf-8")
    return path.as_uri()


def selection(visit: Visit) -> dict[str, str]:
    """What is chosen on the page, as its address will have it."""
    text = visit.page.locator("#views").get_attribute("data-selection") or ""
    return dict(part.split("=") for part in text.split("&") if part)


def node() -> str:
    """The program. The test is left out where there is none, and fails where GEMM_BROWSER=required."""
    if path := shutil.which("node"):
        return path
    why = "There is no node; type: apt-get install nodejs"
    if os.environ.get("GEMM_BROWSER") == "required":
        pytest.fail(why)
    pytest.skip(why)
