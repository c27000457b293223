"""Invented traces, as gemm_inspect writes them."""

from __future__ import annotations

import json

from conftest import Checkout


def line(number: int, array: str, op: str, requests: int, each: int, ideal: int, *, shared: bool = False, width: int = 4,
         offsets: list[int] | None = None, lesson: str = "01_naive") -> dict:  # fmt: skip
    """`each` and `ideal`: sectors or wavefronts a request."""
    here, ideals = requests * each, requests * ideal
    offsets = [width * lane for lane in range(32)] if offsets is None else offsets
    return {
        "file": f"{lesson}/kernel.cu", "line": number, "array": array, "space": "shared" if shared else "global", "op": op,
        "width": width, "matrix": False, "requests": requests, "threads": 32 * requests, "bytes": 32 * requests * width,
        "sectors": 0 if shared else here, "ideal_sectors": 0 if shared else ideals,
        "wavefronts": here if shared else 0, "ideal_wavefronts": ideals if shared else 0, "diverged": False, "tensor_map": None,
        "sample": {"block": 0, "warp": 0, "lanes": list(range(len(offsets))), "offsets": offsets},
    }  # fmt: skip


def traced(lesson: str, lines: list[dict], barriers: float = 0) -> dict:
    """128×128×128 on 16 blocks, totals from the lines."""
    moved = {op: 32 * sum(entry["sectors"] for entry in lines if entry["op"] == op) for op in ("load", "store")}
    shared, flop = sum(entry["bytes"] for entry in lines if entry["space"] == "shared"), 2.0 * 128**3
    both = sum(moved.values())
    totals = {
        "flop": flop, "global_load_bytes": moved["load"], "global_store_bytes": moved["store"], "global_bytes": both,
        "flop_per_byte": flop / both if both else None, "shared_bytes": shared, "shared_bytes_per_flop": shared / flop,
    }  # fmt: skip
    owners = {"array": "C", "block": 0, "rows": [0, 0, 1, 1], "cols": [0, 1, 0, 1], "threads": [0, 1, 32, 33]}
    return {
        "schema": 1, "lesson": lesson, "variant": "fp32", "kernel": "sgemm", "m": 128, "n": 128, "k": 128, "alpha": 1.0,
        "batch": 1, "groups": [], "beta": 0.0, "seed": 1, "like": "sm_90", "blocks": 16, "traced_blocks": 16,
        "threads_per_block": 1024, "barriers_per_thread": barriers,
        "seconds": 0.1, "lines": lines, "wgmma": [], "findings": [], "totals": totals, "owners": owners,
        "verdict": {"passed": True, "failure": None, "text": ""}, "error": None,
        "before": {"02_coalesced": "01_naive", "03_smem": "02_coalesced"}.get(lesson),
    }  # fmt: skip


def naive(lesson: str, *, coalesced: bool = False) -> dict:
    a, b, c = (1, 4, 4) if coalesced else (32, 1, 32)
    return traced(lesson, [
        line(30, "A", "load", 65536, a, 1 if coalesced else 4, lesson=lesson),
        line(30, "B", "load", 65536, b, b, lesson=lesson),
        line(34, "C", "store", 512, c, 4, lesson=lesson),
    ])  # fmt: skip


def smem() -> dict:
    return traced("03_smem", [
        line(34, "A", "load", 2048, 4, 4, lesson="03_smem"),
        line(34, "As", "store", 2048, 1, 1, shared=True, lesson="03_smem"),
        line(35, "B", "load", 2048, 4, 4, lesson="03_smem"),
        line(35, "Bs", "store", 2048, 1, 1, shared=True, lesson="03_smem"),
        line(38, "As", "load", 65536, 1, 1, shared=True, lesson="03_smem"),
        line(38, "Bs", "load", 65536, 1, 1, shared=True, lesson="03_smem"),
        line(44, "C", "store", 512, 4, 4, lesson="03_smem"),
    ], 8)  # fmt: skip


def hopper(lesson: str = "03_smem") -> dict:
    """Boxes of the copy engine, and wgmma: of 4 tiles with 2 steps."""
    boxes = line(20, "A", "load", 8, 256, 256, width=0, offsets=[0], lesson=lesson)
    boxes.update(threads=8, bytes=8 * 8192)
    wgmma = {
        "file": f"{lesson}/kernel.cu", "line": 26, "m": 64, "n": 128, "k": 16, "count": 32, "flop": 32 * 2.0 * 64 * 128 * 16,
        "shared_bytes": 32 * 6144, "wavefronts": None, "a": "0x4000004000010000", "major_a": "k", "b": "0x4000004002000200",
        "major_b": "row",
    }  # fmt: skip
    stored = line(31, "C", "store", 512, 4, 4, lesson=lesson)
    return {**traced(lesson, [boxes, stored], 1), "wgmma": [wgmma]}


def hang(lesson: str = "01_naive") -> dict:
    """Consumers and a producer that wait for each other; a thread that has returned."""

    def at(what: str, number: int) -> dict:
        return {"what": what, "file": f"{lesson}/kernel.cu", "line": number}

    def barrier(name: str, threads: list[int], number: int, **changes: object) -> dict:
        waiting = [{"threads": threads, "parity": 0, "at": at("mbarrier.try_wait", number)}] if threads else []
        return {
            "name": name, "phase": 2, "arrivals": 128, "arrivals_missing": 128, "arrived": [], "absent": [], "passed": [],
            "bytes_expected": 0, "bytes_missing": 0, "bytes_under_way": 0, "waiting": waiting, **changes,
        }  # fmt: skip

    consumers = list(range(128))
    return {
        "kernel": "sgemm", "block": [1, 0, 0],
        "barriers": [
            barrier("full[0]", consumers, 60, arrivals=1, arrivals_missing=0, bytes_expected=8208, bytes_missing=16),
            barrier("empty[0]", [128], 40, arrivals_missing=1, arrived=consumers[1:]),
            barrier("met", [], 0, phase=0),
        ],
        "groups": [
            {"threads": consumers, "returned": False, "at": at("mbarrier.try_wait", 60), "at_mbarrier": True,
             "last": at("mbarrier.arrive", 70)},
            {"threads": [128], "returned": False, "at": at("mbarrier.try_wait", 40), "at_mbarrier": True, "last": None},
            {"threads": [129, 130], "returned": True, "at": None, "at_mbarrier": False, "last": None},
        ],
        "likely": {"id": "bytes_missing", "text": "full[0] was told to expect 16 bytes more than come.", "barriers": ["full[0]"],
                   "threads": [], "phase": 2, "bytes": 16, "arrivals": 1, "came": 1},
    }  # fmt: skip


def finding(count: int = 1) -> dict:
    text = "Thread 0 reads what thread 32 writes."
    return {"id": "uninitialised_read", "text": text, "file": "01_naive/kernel.cu", "line": 30, "count": count}


def tracer(checkout: Checkout, *found: dict, status: int = 0) -> None:
    """A gemm_inspect, and these lessons' own tracers, that write these traces, by lesson."""
    for trace in found:
        (checkout.fakes / f"{trace['lesson']}.json").write_text(json.dumps(trace, indent=1) + "\n")
    text = (
        'echo "$@" >>"$FAKES/inspected"\nlesson=$2\nfor output; do :; done\necho "progress 1 2 tracing" >&2\n'
        f'cat "$FAKES/$lesson.json" >"$output" || {{ rm "$output"; exit 2; }}\nexit {status}\n'
    )
    for program in ("gemm_inspect", *(f"{trace['lesson']}_inspect" for trace in found)):
        checkout.program(program, text)
