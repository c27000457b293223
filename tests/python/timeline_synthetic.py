"""Stamps as a GPU could have written them: a block of lesson 12 whose every time follows from a few."""

from __future__ import annotations

from runner.core.kernel_hash import kernel_hash
from runner.core.results import ROOT, folder_of
from runner.measure import stamping

LESSON = "12_warp_specialized"
STAGES, STEPS = 4, 8
FLIGHT, BATCH, STORE = 700, 1000, 1500  # cycles: a tile's way, a batch of products, writing C
FULL, EMPTY = 0x400, 0x420  # where the mbarriers lie


def sites() -> list[stamping.Site]:
    return list(stamping.stamped((ROOT / folder_of(LESSON) / "kernel.cu").read_text(encoding="utf-8")).sites)


def block() -> dict:
    """The producer asks as soon as a stage is empty; both consumers do the same at the same time."""
    places = sites()

    def site(what: str, argument: str = "", last: bool = False) -> int:
        found = [i for i, s in enumerate(places) if s.what == what and s.argument.partition("[")[0] == argument]
        return found[-1 if last else 0]

    asked, landed, done = [], [], []
    producer, consumer = [[0, 0, 0, 7000], [site("syncthreads"), 10, 60, 0]], [[0, 0, 0, 7000], [site("syncthreads"), 20, 60, 0]]
    at = 60
    for n in range(STEPS):
        free = done[n - STAGES] if n >= STAGES else 0
        came = max(at, free)
        producer.append([site("mbarrier_wait", "empty"), at, came, EMPTY + 8 * (n % STAGES)])
        producer.append([site("mbarrier_arrive_expect_tx", "arrived"), came, came + 5, FULL + 8 * (n % STAGES)])
        asked.append(came)
        landed.append(came + FLIGHT)
        at = came + 20
        done.append(max(landed[n], done[-1] if done else 0) + BATCH)
    producer.append([1, at, at, 7000 + at])
    at = 60
    for n in range(STEPS):
        came = max(at, landed[n])
        consumer.append([site("mbarrier_wait", "full"), at, came, FULL + 8 * (n % STAGES)])
        consumer.append([site("wgmma_commit"), came + 5, came + 30, 0])
        waited = done[n - 1] if n else came + 35
        consumer.append([site("wgmma_wait"), came + 30, max(waited, came + 35), 1])
        at = max(waited, came + 35) + 10
    consumer.append([site("wgmma_wait", "acc"), at, done[-1], 0])
    consumer.append([1, done[-1] + STORE, done[-1] + STORE, 7000 + done[-1] + STORE])
    warps = [{"warp": warp, "lost": 0, "stamps": stamps} for warp, stamps in ((0, consumer), (4, consumer), (8, producer))]
    return {
        "variant": "bf16", "m": 2048, "n": 4096, "k": 512, "seed": 1, "warps_of_block": 12, "warps": warps,
        "kernel_hash": kernel_hash(ROOT / folder_of(LESSON) / "kernel.cu"),
        "sites": [[s.what, s.line, s.argument] for s in places],
    }  # fmt: skip


def recorded() -> dict:
    return {
        "schema": 1,
        "gpu": "NVIDIA H200",
        "commit": "a" * 40,
        "date": "2031-01-01T00:00:00+00:00",
        "lessons": {LESSON: block()},
    }
