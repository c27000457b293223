"""What gemm_inspect --history keeps of blocks, as the explorer reads it; and the same of a learner's kernel."""

from __future__ import annotations

import functools
import json
from collections import Counter
from pathlib import Path

import pytest
from conftest import drawn, gemm_inspect, toolchain
from schema import misfits

from runner import mistakes
from runner.core.results import UserError, lessons
from runner.inspect import inspection
from runner.inspect.inspection import Request
from runner.inspect.trace_types import BlockHistory, Trace
from runner.learn import mine
from runner.learn.exercise import Task
from runner.learn.mine import trace_mine

LARGEST = 2_500_000  # bytes of JSON that a block's history may have at 256³


@functools.cache
def traced(name: str, m: int, n: int, k: int, blocks: str = "all", histories: int = 2) -> Trace:
    return inspection.trace(gemm_inspect(), name, Request(m, n, k, blocks, ("--seed=5",)), histories)[0]


def counted(block: BlockHistory) -> dict[int, list[int]]:
    """Requests and sectors or wavefronts of each of the trace's lines."""
    counts: dict[int, list[int]] = {}
    asked = [(event[0], event[4]) for event in block["events"] if isinstance(event, list)]
    asked += [(copy["access"], copy["units"]) for copy in block["copies"] if copy["access"] is not None]
    for access, units in asked:
        line = block["accesses"][access]["line"]
        assert line is not None
        of_line = counts.setdefault(line, [0, 0])
        of_line[0] += 1
        of_line[1] += units
    return counts


@pytest.mark.parametrize("name", drawn(lessons(), 3))
@pytest.mark.parametrize("shape", [(256, 256, 256), (136, 72, 80)])  # the second at no tile, and as TMA takes it
def test_a_block_did_what_its_lines_count(name: str, shape: tuple[int, int, int]) -> None:
    found = traced(name, *shape, "1")
    assert [block["rank"] for block in found["history"]] == list(range(len(found["history"])))
    if len(found["history"]) < found["traced_blocks"]:  # it waited for the others, which were traced, too
        found = traced(name, *shape, histories=found["traced_blocks"])
    blocks = found["history"]  # one, or those of a cluster, or all
    assert [block["index"] for block in blocks] == list(range(found["traced_blocks"]))
    counts: dict[int, list[int]] = {}
    for block in blocks:
        for line, (requests, units) in counted(block).items():
            of_line = counts.setdefault(line, [0, 0])
            of_line[0] += requests
            of_line[1] += units
    assert counts == {
        number: [line["requests"], line["sectors"] + line["wavefronts"]] for number, line in enumerate(found["lines"])
    }
    assert sum(len(block["multiplies"]) for block in blocks) == sum(line["count"] for line in found["wgmma"])
    for block in blocks:
        assert len(json.dumps(block)) < LARGEST
        assert not block["truncated"]
        assert block["threads"] == found["threads_per_block"]
        events = Counter(event["e"] for event in block["events"] if isinstance(event, dict))
        waited = Counter(
            event["e"] for event in block["events"] if isinstance(event, dict) for _ in range(event.get("lanes", 0).bit_count())
        )
        assert waited["barrier"] == block["threads"] * events["met"] == block["threads"] * found["barriers_per_thread"]
        assert events["returned"] == block["threads"] // 32
        for event in block["events"]:
            if isinstance(event, list):
                lanes, offsets = block["patterns"][event[2]]
                assert len(offsets) == lanes.bit_count()
                array = block["arrays"][block["accesses"][event[0]]["array"]]
                assert all(0 <= event[3] + offset < array["bytes"] for offset in offsets)


@pytest.mark.parametrize("name", sorted({*drawn(lessons(), 2), "08a_ring", "09b_mma_sync", "13b_multicast"}))
def test_what_is_written_is_what_the_types_say(name: str) -> None:
    """All fields of runner/inspect/trace_types.py, and no others."""
    assert list(misfits(traced(name, 136, 72, 80, "1"), Trace)) == []


def test_nothing_changes_without_it() -> None:
    plain = inspection.trace(gemm_inspect(), "03_smem", Request(64, 64, 64, options=("--seed=5",)))[0]
    kept = traced("03_smem", 64, 64, 64)
    assert "history" not in plain
    assert [block["index"] for block in kept["history"]] == [0, 3]
    for found in (plain, kept):
        found = {key: value for key, value in found.items() if key not in ("history", "seconds")}
        assert found == {key: value for key, value in plain.items() if key != "seconds"}


def test_copies_of_threads_land_in_groups_and_say_where_they_come_from() -> None:
    (block,) = traced("08a_ring", 256, 256, 256, "1")["history"]
    for warp in range(block["threads"] // 32):
        groups, opened, landed = 0, 0, 0
        for event in block["events"]:
            if isinstance(event, list):
                copy = event[1] == warp and block["accesses"][event[0]]["copy"]
                if copy and block["accesses"][event[0]]["op"] == "store":
                    assert len(event) == 8
                    opened += 1
            elif event.get("warp") == warp and event["e"] == "commit":
                groups += 1
            elif event.get("warp") == warp and event["e"] == "copied":
                landed += event["count"]
                assert landed <= groups
        assert opened
        assert landed


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the learner's files are, with a gemm_inspect without lessons that is built already."""
    tools = toolchain("inspect", "gemm_traced_headers")
    monkeypatch.setattr(mine, "toolchain", lambda *_: tools)
    monkeypatch.setattr(mine, "declared_tile", lambda _: (32, 32, 32))
    monkeypatch.setattr(Task, "file", property(lambda _: tmp_path / "exercise.cu"))
    return tmp_path / "exercise.cu"


def test_a_learners_race_is_in_the_history_of_its_block(own: Path) -> None:
    task = Task("03_smem", "exercise")
    barrier = "__syncthreads();  // the tiles are complete before anyone reads them"
    # In the block of the last columns alone.
    own.write_text(task.solution().replace(barrier, f"if (blockIdx.x != 1) {barrier}"), encoding="utf-8")
    found = trace_mine(task, Request(32, 64, 64, options=("--seed=5",)), history=2)
    assert {finding["id"] for finding in found["findings"]} >= {"race"}
    assert {finding["block"] for finding in found["findings"]} == {1}
    assert [block["index"] for block in found["history"]] == [0, 1]
    met = [sum(isinstance(event, dict) and event["e"] == "met" for event in block["events"]) for block in found["history"]]
    assert met == [4, 2]
    assert found["lines"][0]["file"].endswith("exercise.cu")
    assert found["lesson"] == "exercise 03"
    assert list(misfits(found, Trace)) == []


def test_a_learners_hang_is_told_with_its_autopsy(own: Path) -> None:
    mistake = next(one for one in mistakes.mistakes("10a_swizzle") if "mbarrier_hang" in one.found.get("tracer", ()))
    task = Task("10a_swizzle", "exercise")
    text = task.solution()
    for change in mistake.changes:
        text = change.made(text, mistake.key)
    own.write_text(text, encoding="utf-8")
    found = trace_mine(task, Request(128, 128, 128, options=("--seed=5",)), history=1)
    assert found["error"] and found["error"]["autopsy"]["barriers"]
    assert list(misfits(found, Trace)) == []


def test_a_learners_kernel_that_does_not_compile_or_ends_the_program(own: Path) -> None:
    task = Task("03_smem", "exercise")
    own.write_text(task.solution().replace("__syncthreads();", "__syncthread();"), encoding="utf-8")
    with pytest.raises(UserError, match=r"exercise.cu .*\n.*exercise.cu:38:\d+: error:") as refused:
        trace_mine(task, Request(32, 64, 64))
    assert refused.value.status == 1
    own.write_text(task.solution().replace("sgemm_smem<<<", "std::exit(0);\n    sgemm_smem<<<"), encoding="utf-8")
    with pytest.raises(UserError, match=r"own code ended the program by exit\(\)"):
        trace_mine(task, Request(32, 64, 64))


def test_a_field_that_the_types_do_not_have_is_named() -> None:
    found = traced("03_smem", 136, 72, 80, "1")
    changed = {**{key: value for key, value in found.items() if key != "seed"}, "dtype": "fp32", "m": "136"}
    changed["lines"] = [{**found["lines"][0], "op": "prefetch"}]
    places = sorted(one.split(" is ")[0] for one in misfits(changed, Trace))
    assert places == [".dtype", ".lines[0].op", ".m", ".seed"]
