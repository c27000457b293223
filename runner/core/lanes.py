"""What the warps of one block do over time, as lanes: from what the CPU device kept of a block (gemm_inspect --history), and
from the stamps that a GPU wrote down (./gemm timeline --record). Both become the same.

Both begin behind the barrier that a block's warps meet at before anything else: on a GPU stamps take most of the time before it.

A lane is a producer, a consumer or a warpgroup, told by its first warp; in a kernel without wgmma a warp.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from runner.core.figures import grouped

_WARPS = 4  # of a warpgroup
WAITS = ("full", "empty", "turn", "mbarrier", "barrier", "cluster", "drain")  # kinds of spans in which a lane does nothing
TOLD = {
    "loads": "tiles on their way",
    "products": "products under way",
    "writes": "writes results to C",
    "full": "waits for tiles (full)",
    "empty": "waits for an empty stage",
    "turn": "waits for its turn",
    "mbarrier": "waits at an mbarrier",
    "barrier": "waits at the block's barrier",
    "cluster": "waits at the cluster's barrier",
    "drain": "waits for the copy engine's stores",
}

# The same of a lane whose name stands in front of it.
DOES = {**TOLD, "loads": "has tiles on their way", "products": "has products under way"}


@dataclass(frozen=True)
class Span:
    """kind: one of TOLD's; of waits and tiles the mbarrier, where it is one."""

    kind: str
    begin: float
    end: float


@dataclass(frozen=True)
class Lane:
    name: str
    begin: float
    end: float
    spans: tuple[Span, ...]

    def of(self, kind: str) -> list[Span]:
        return [span for span in self.spans if span.kind == kind]

    def spent(self, kind: str) -> float:
        """How long it is there, overlaps counted once."""
        return sum(end - begin for begin, end in union(self.of(kind)))


@dataclass(frozen=True)
class Timeline:
    """unit: "cycles", or "steps", of which the CPU device knows the order alone."""

    lanes: tuple[Lane, ...]
    unit: str

    @property
    def length(self) -> float:
        return max(lane.end for lane in self.lanes)

    @property
    def kinds(self) -> list[str]:
        """That occur, in TOLD's order."""
        return [kind for kind in TOLD if any(lane.of(kind) for lane in self.lanes)]

    def idle(self) -> tuple[float, float, float] | None:
        """How long no products are under way in any lane: before the first, between two, behind the last. None: no lane's
        products are known."""
        busy = union([span for lane in self.lanes for span in lane.of("products")])
        if not busy:
            return None
        between = sum(later[0] - earlier[1] for earlier, later in zip(busy, busy[1:], strict=False))
        return busy[0][0], between, self.length - busy[-1][1]


def union(spans: Iterable[Span]) -> list[tuple[float, float]]:
    """The spans' times, overlapping ones joined."""
    joined: list[tuple[float, float]] = []
    for span in sorted(spans, key=lambda span: (span.begin, span.end)):
        if joined and span.begin <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], span.end)
        else:
            joined.append((span.begin, span.end))
    return joined


def rows(parts: Sequence[Timeline]) -> list[list[str]]:
    """Of a table: what a lane does, in words, and for each of the timelines how long, and how much of the block's time."""

    def cells(found: Timeline, name: str, kind: str) -> list[str]:
        spent = sum(lane.spent(kind) for lane in found.lanes if lane.name == name)
        return [grouped(round(spent)), f"{100 * spent / found.length:.0f} %"] if spent else ["–", "–"]

    keys = dict.fromkeys((lane.name, kind) for found in parts for lane in found.lanes for kind in TOLD if lane.of(kind))
    return [[f"{name} {DOES[kind]}", *(cell for found in parts for cell in cells(found, name, kind))] for name, kind in keys]


def _named(asks: bool, multiplies: bool, number: int, warp: int, split: bool, wgmma: bool) -> str:
    """What a lane is called. split: another lane alone asks for tiles; number: of those that multiply."""
    if not wgmma:
        return f"warp {warp}"
    if multiplies:
        return f"consumer {number}" if split else f"warpgroup {number}"
    return "producer" if asks else ""


class _Raw:
    """A lane that is being put together."""

    def __init__(self, warp: int) -> None:
        self.warp = warp
        self.begin = self.end = 0.0
        self.spans: list[Span] = []
        self.asks = self.multiplies = False

    def add(self, kind: str, begin: float, end: float) -> None:
        if end > begin:
            self.spans.append(Span(kind, begin, end))

    def cut(self, at: float) -> None:
        """Leaves out what is before, and counts from there on."""
        left = [span for span in self.spans if span.end > at]
        self.spans = [Span(span.kind, max(span.begin - at, 0), span.end - at) for span in left]
        self.begin, self.end = max(self.begin - at, 0), self.end - at


def _together(raw: Sequence[_Raw], unit: str) -> Timeline:
    """The lanes that take part, the one that only asks first; from the barrier on that all meet at before anything else."""
    met = [next((span.end for span in lane.spans if span.kind in ("barrier", "cluster")), 0.0) for lane in raw]
    for lane in raw:
        lane.cut(max(met, default=0))
    wgmma = any(lane.multiplies for lane in raw)
    split = any(lane.asks and not lane.multiplies for lane in raw)
    number, lanes = 0, []
    for lane in raw:
        if name := _named(lane.asks, lane.multiplies, number, lane.warp, split, wgmma):
            lanes.append(Lane(name, lane.begin, lane.end, tuple(lane.spans)))
        number += lane.multiplies
    lanes.sort(key=lambda lane: lane.name != "producer")
    return Timeline(tuple(lanes), unit)


# From a GPU's stamps


def base(argument: str) -> str:
    """full[n % STAGES], barriers.full[stage] -> full."""
    return argument.partition("[")[0].rpartition(".")[2].strip()


def from_stamps(block: Mapping) -> Timeline:
    """Of a block of <gpu>-timeline.json.

    No warp sees a tile land or a batch end. Here they end when the first warp that has waited for them goes on: by then they did.
    """
    sites = [tuple(site) for site in block["sites"]]
    passed: dict[int, list[float]] = {}  # of an mbarrier's address: when waits there ended
    for warp in block["warps"]:
        for site, _, end, detail in warp["stamps"]:
            if sites[site][0].startswith("mbarrier_wait"):
                passed.setdefault(detail, []).append(end)
    return _together([_of_warp(warp, sites, passed) for warp in block["warps"]], "cycles")


def _of_warp(warp: Mapping, sites: Sequence[tuple], passed: Mapping[int, Sequence[float]]) -> _Raw:
    lane = _Raw(warp["warp"])
    open_batches: list[float] = []  # when each batch that is under way was begun
    written_from: float | None = None  # since when the lane has sums that it may write
    in_loop = sum(what == "wgmma_wait" for what, *_ in sites) == 1  # the one wait for a batch is each batch's, not the last one's
    waits_for_batch = [number for number, stamp in enumerate(warp["stamps"]) if sites[stamp[0]][0] == "wgmma_wait"]
    for number, (site, begin, end, detail) in enumerate(warp["stamps"]):
        what, _, argument = sites[site]
        waits = what.startswith("mbarrier_wait") or what in ("syncthreads", "cluster_sync", "cluster_sync_relaxed", "returns")
        if written_from is not None and waits:
            lane.add("writes", written_from, begin)
            written_from = None
        if what == "begins":
            lane.begin = begin
        elif what == "returns":
            lane.end = end
        elif what.startswith("mbarrier_wait"):
            lane.add(base(argument), begin, end)
        elif what == "mbarrier_arrive_expect_tx":
            lane.asks = True
            # Nobody asks for a phase's bytes before all have gone on who waited for the phase before.
            if came := [when for when in passed.get(detail, ()) if when > end]:
                lane.add("loads", begin, min(came))
        elif what == "wgmma_commit":
            lane.multiplies = True
            open_batches.append(begin)
        elif what == "wgmma_wait":
            while len(open_batches) > detail:
                lane.add("products", open_batches.pop(0), end)
            if detail == 0 and lane.multiplies and (not in_loop or number == waits_for_batch[-1]):
                written_from = end
        elif what in ("bulk_wait", "bulk_wait_read"):
            lane.add("drain", begin, end)
        elif what == "syncthreads":
            lane.add("barrier", begin, end)
        elif what.startswith("cluster_sync"):
            lane.add("cluster", begin, end)
    lane.end = max([lane.end, *(stamp[2] for stamp in warp["stamps"])])
    return lane


# From what the CPU device kept


class _Steps:
    """Counts the events that the lanes show; the others take no place."""

    def __init__(self, history: Mapping, waits: Mapping[int, str] | None) -> None:
        self.history = history
        self.names = waits
        self.at = 0
        self.lanes = {warp: _Raw(warp) for warp in range(0, -(-history["threads"] // 32), _WARPS)}
        self.waits: dict[tuple, int] = {}  # what a lane waits for, since when
        self.phases: dict[tuple[int, int], tuple[int, int]] = {}  # of an mbarrier: who has asked for a phase's bytes, and when
        self.filled: set[tuple[int, int]] = set()  # of an mbarrier: phases that bytes are expected in
        self.batches: dict[tuple[int, int], int] = {}  # of a warpgroup: when a batch was begun
        self.writes: dict[int, list[int]] = {}  # of a lane: the first store and the last since it has waited
        self.stored = -1  # the warp whose stores came last

    def _waited(self, warp: int, what: tuple, kind: str) -> None:
        if (since := self.waits.pop((warp, *what), None)) is not None:
            self.lanes[warp].add(kind, since, self.at)

    def _store(self, warp: int) -> None:
        first = warp // _WARPS * _WARPS
        self.at += self.stored != warp
        self.stored = warp
        run = self.writes.setdefault(first, [self.at, self.at])
        run[1] = self.at + 1

    def _written(self, warp: int) -> None:
        if run := self.writes.pop(warp, None):
            self.lanes[warp].add("writes", *run)

    def request(self, event: Sequence[int]) -> None:
        access = self.history["accesses"][event[0]]
        if access["op"] == "store" and self.history["arrays"][access["array"]]["space"] == "global":
            self._store(event[1])

    def _what_for(self, event: Mapping, where: tuple[int, int]) -> str:
        """What a wait is for, by the name of its mbarrier; in a kernel whose names say nothing, by what comes."""
        if self.names is not None:
            return base(self.names[self.history["sites"][event["site"]]["line"]])
        name = base(self.history["mbarriers"][event["barrier"]]["name"])
        return name if name in ("full", "empty", "turn") else "full" if where in self.filled else "mbarrier"

    def _barrier(self, event: Mapping) -> None:
        """Events of mbarriers."""
        e, warp, where = event["e"], event.get("warp", -1), (event["barrier"], event.get("phase", 0))
        if e == "wait" and warp in self.lanes:
            self._written(warp)
            self.waits.setdefault((warp, *where), self.at)
        elif e == "passed" and warp in self.lanes:
            self._waited(warp, where, self._what_for(event, where))
        elif e == "expect" and warp in self.lanes:
            self.lanes[warp].asks = True
            self.phases[where] = warp, self.at
            self.filled.add(where)
        elif e == "phase" and where in self.phases:
            asker, since = self.phases.pop(where)
            self.lanes[asker].add("loads", since, self.at)
        else:
            self.at -= 1

    def event(self, event: Mapping) -> None:
        e, warp = event["e"], event.get("warp", -1)
        self.at += 1
        if event.get("rank") is not None:
            self.at -= 1
        elif "barrier" in event:
            self._barrier(event)
        elif e == "wgmma":
            multiply = self.history["multiplies"][event["multiply"]]
            self.lanes[multiply["warpgroup"] * _WARPS].multiplies = True
            if self.batches.setdefault((multiply["warpgroup"], multiply["batch"]), self.at) != self.at:
                self.at -= 1
        elif e == "summed" and warp in self.lanes:
            done = [key for key in self.batches if key[0] == event["warpgroup"] and key[1] <= event["batch"]]
            for key in done:
                since = self.batches[key]
                if since >= 0:
                    self.lanes[warp].add("products", since, self.at)
                self.batches[key] = -1
        elif e == "box" and self.history["copies"][event["copy"]]["barrier"] is None:
            self.at -= 1
            self._store(warp)
        elif e in ("barrier", "cluster_arrive") and warp in self.lanes:
            self._written(warp)
            self.waits.setdefault((warp, e), self.at)
        elif e in ("met", "cluster_met"):
            what = "barrier" if e == "met" else "cluster_arrive"
            for lane in self.lanes:
                self._waited(lane, (what,), "barrier" if e == "met" else "cluster")
        elif e == "returned" and warp in self.lanes:
            self.lanes[warp].end = self.at  # its warpgroup's other warps may still write
        else:
            self.at -= 1


def from_history(history: Mapping, waits: Mapping[int, str] | None) -> Timeline:
    """Of one block's history (BlockHistory in runner/inspect/trace_types.py). waits: by line of kernel.cu, at which mbarrier it
    waits, as it stands there; None: nobody knows."""
    steps = _Steps(history, waits)
    for event in history["events"]:
        if isinstance(event, Mapping):
            steps.event(event)
            if event["e"] not in ("box", "landed"):
                steps.stored = -1
        else:
            steps.request(event)
    for warp, lane in steps.lanes.items():
        steps._written(warp)
        lane.end = max([lane.end, *(span.end for span in lane.spans)])
    return _together(list(steps.lanes.values()), "steps")


# From what is recorded


def as_recorded(found: Timeline) -> list[dict]:
    """Its lanes, for cpu-timeline.json."""
    return [
        {"name": lane.name, "begin": lane.begin, "end": lane.end, "spans": [[s.kind, s.begin, s.end] for s in lane.spans]}
        for lane in found.lanes
    ]


def from_recorded(block: Mapping) -> Timeline:
    """Of a block of cpu-timeline.json."""
    lanes = (
        Lane(lane["name"], lane["begin"], lane["end"], tuple(Span(kind, begin, end) for kind, begin, end in lane["spans"]))
        for lane in block["lanes"]
    )
    return Timeline(tuple(lanes), "steps")
