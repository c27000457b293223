"""`./gemm atlas`: the course's fastest lesson beside cuBLAS at 240 shapes, those of a language model and random ones; with --ways
beside what else it could have chosen."""

from __future__ import annotations

import json
import random
import secrets
import tempfile
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from runner.core import atlas as recorded
from runner.core import descriptors, doctor, gpu, lesson, process, tables
from runner.core import ways as recorded_ways
from runner.core.atlas import VARIANTS, AtlasRun, RecordedAtlas
from runner.core.build import build
from runner.core.process import Interrupted, say, say_all
from runner.core.reports import Failed, LeftOut, Results, Run
from runner.core.results import RECORDED_SCHEMA, UserError, gpu_slug, installed, load
from runner.core.ways import RecordedWays
from runner.measure.autotune import lost_in
from runner.measure.recording import Recording, hash_of, named

Shape = tuple[int, int, int]  # M, N, K
Draw = Callable[[RecordedAtlas, bool], list[Path]]  # of an atlas, which is published or not, the picture's files
Publish = Callable[[], list[Path]]  # the tables of ways

SETS = ("llm", "random")
_SLOWEST = 10  # shapes in the second table
_MOST_LOST = 5  # shapes that may end gemm_bench before it is given up

# The shapes

_DRAW, _COUNT = 48, 200  # the seed of the random shapes, and how many there are
_WAYS = 40  # how many shapes --ways draws
_LEAST, _MOST = 16, 16384  # of each of M, N and K
_MOST_FLOP = 2e12
_SKINNY = 16  # one side of C is at least so many times the other

# Rows: tokens that are multiplied at once. N and K: layers of language models of 7 to 70 billion weights, and a vocabulary.
_TOKENS = (1, 16, 64, 128, 256, 1024, 4096, 8192)
_LAYERS = ((4096, 4096), (4096, 14336), (28672, 4096), (6144, 4096), (128256, 4096))


def llm_shapes() -> list[Shape]:
    """The 40 of a language model."""
    return [(m, n, k) for n, k in _LAYERS for m in _TOKENS]


def _side(draw: random.Random, odd: bool) -> int:
    """Log-uniform from 16 to 16384: an odd number, or a multiple of 16."""
    side = _LEAST * (_MOST / _LEAST) ** draw.random()
    return int(side) | 1 if odd else _LEAST * round(side / _LEAST)


def random_shapes(seed: int = _DRAW, count: int = _COUNT, known: Container[Shape] = ()) -> list[Shape]:
    """So many that the seed draws: of three in a row, the first has odd numbers, the second a C that is long or wide, the third
    neither of the two. What is something else, has _MOST_FLOP or more or is there or known already, is drawn again."""
    draw = random.Random(seed)  # noqa: S311  (random() alone is the same in every version of Python)
    found: list[Shape] = []
    while len(found) < count:
        kind = len(found) % 3
        m, n, k = (_side(draw, kind == 0) for _ in range(3))
        skinny = max(m, n) >= _SKINNY * min(m, n)
        new = (m, n, k) not in found and (m, n, k) not in known
        if 2.0 * m * n * k < _MOST_FLOP and new and (kind == 0 or skinny == (kind == 1)):
            found.append((m, n, k))
    return found


def shapes_of(chosen: str | None) -> dict[Shape, str]:
    """The shapes of a set, or of both, each with the set that it belongs to."""
    of: dict[str, Callable[[], list[Shape]]] = {"llm": llm_shapes, "random": random_shapes}
    return {shape: name for name in ([chosen] if chosen else SETS) for shape in of[name]()}


def new_shapes(seed: int) -> dict[Shape, str]:
    """_WAYS shapes that the seed draws as the atlas's were drawn, none of which is there: an estimate may be fitted to those."""
    return dict.fromkeys(random_shapes(seed, _WAYS, shapes_of(None)), "random")


# Measuring


@dataclass
class _Found:
    """What is measured of one type."""

    lesson: str
    variant: str
    left: dict[Shape, str]  # the shapes that are still to be measured, and their sets
    seed: int
    draw: int | None = None  # the seed of the shapes, with --ways
    shapes: int = 0
    head: Results = field(default_factory=dict)  # type: ignore[assignment]  # device, lessons, resources
    runs: dict[Shape, AtlasRun] = field(default_factory=dict)
    others: dict[Shape, list[Run]] = field(default_factory=dict)  # in ways that the lesson does not choose
    failed: list[Failed] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)

    def take(self, results: Results) -> None:
        """Shapes that gemm_bench has finished."""
        self.head = results
        for run in results["runs"]:
            if "way" not in run:
                self.runs[_shape(run)] = cast(AtlasRun, {**run, "set": self.left.pop(_shape(run))})
            else:
                self.others.setdefault(_shape(run), []).append(run)
        for found, kept in ((results.get("failed", []), self.failed), (results.get("left_out", []), self.left_out)):
            for one in found:
                self.left.pop(_shape(one), None)  # of a shape, one way may fail and another not
                cast(list, kept).append(one)

    def results(self, order: Iterable[Shape]) -> dict:
        """As a RecordedAtlas, without commit and date."""
        return {
            "schema": RECORDED_SCHEMA,
            "device": self.head["device"],
            "variant": self.variant,
            "lesson": self.lesson,
            "tile": cast(dict, self.head.get("lessons", {})).get(self.lesson, {}).get("tile", {}),
            "resources": self.head.get("resources", {}),
            "kernel_hashes": {self.lesson: hash_of(self.lesson)},
            "seed": self.seed,
            "shapes": self.shapes,
            "runs": [self.runs[shape] for shape in order if shape in self.runs],
            "failed": self.failed,
            "left_out": self.left_out,
        }

    def ways(self, order: Iterable[Shape]) -> dict:
        """As a RecordedWays, without commit and date."""
        results = {**self.results(order), "draw": self.draw}
        for run in results["runs"]:
            run.pop("set", None)
            run["others"] = [recorded_ways.tried(other) for other in self.others.get(_shape(run), [])]
        return {key: value for key, value in results.items() if key not in ("tile", "resources")}


def _shape(of: Mapping[str, Any]) -> Shape:
    return of["m"], of["n"], of["k"]


def _read(*files: Path) -> Results | None:
    """The first of them that gemm_bench has written results to."""
    for file in files:
        if file.exists() and "runs" in json.loads(file.read_text(encoding="utf-8")):
            return load(file)
    return None


def _measure(program: Path, found: _Found, folder: Path) -> str:
    """Measures what is left, until nothing is, even after a kernel that hangs or takes the device down. Returns why the
    lesson does not run here; empty where it does. What is measured is in `found`, however this ends."""
    output, so_far = folder / "results.json", folder / "so-far.json"
    asked = ["--brief", *(["--ways"] if found.draw is not None else [])]
    asked += ["--lessons", found.lesson, "--dtype", found.variant, "--seed", str(found.seed)]
    ended = 0
    while found.left:
        for file in (output, so_far):
            file.unlink(missing_ok=True)
        sizes = ",".join("x".join(map(str, shape)) for shape in found.left)
        command: list[str | Path] = [program, *asked, "--sizes", sizes, "--so-far", so_far, "--output", output]
        before = len(found.left)
        results = None
        try:
            done = process.stream(command, f"Measuring {found.lesson} {found.variant}", process.PROGRESS)
        finally:
            if results := _read(output, so_far):
                found.take(results)
        if results and (skipped := results.get("skipped", [])):
            return skipped[0]["reason"]
        lost = lost_in(output) if done.status not in (0, 1) else None
        if lost and _shape(lost) in found.left:
            found.left.pop(_shape(lost))
            found.failed.append(lost)
            ended += 1
            if ended == _MOST_LOST:
                raise UserError(
                    f"{found.lesson} hung or took the device down at {ended} shapes, last with this: {lost['failure']}"
                )
            continue
        process.require(done, "gemm_bench", (0, 1), "the shapes before it are kept")
        if len(found.left) == before:
            raise UserError("gemm_bench measured none of the shapes that it was asked to measure; build it again.")
    return ""


def _candidates(variant: str, given: str | None, ways: bool, built: Path) -> list[str]:
    """The lessons to try, the fastest first: the one that was given, or those of the library that take the type, of which the
    others are no substitute where ways are compared. A UserError where a lesson does not."""
    takes = {name: [one.text for one in found.variants] for name, found in descriptors.all_described(built).items()}
    if given is None:
        takers = [name for name in reversed(installed()) if variant in takes.get(name, ())]
        return takers[:1] if ways else takers
    if variant not in takes.get(given, ()):
        raise UserError(f"{given} does not take {variant}; it takes {', '.join(takes.get(given, ())) or 'nothing'}.")
    return [given]


def _one_type(program: Path, candidates: Sequence[str], variant: str, shapes: dict[Shape, str], draw: int | None) -> _Found:
    """Measures one type with the first of the lessons that runs here. Raises an _Unfinished where it ends early."""
    why = ""
    for name in candidates:
        found = _Found(name, variant, dict(shapes), secrets.randbelow(10**9), draw, len(shapes))
        with tempfile.TemporaryDirectory(prefix="gemm-") as folder:
            try:
                why = _measure(program, found, Path(folder))
            except (Interrupted, UserError) as error:
                raise _Unfinished(found, error) from error
        if not why:
            return found
    raise UserError(f"Nothing was measured for {variant}: {why or 'no lesson of the library takes it.'}")


class _Unfinished(BaseException):
    """What was measured before a signal or an error came, and that."""

    def __init__(self, found: _Found, error: Interrupted | UserError) -> None:
        super().__init__()
        self.found, self.error = found, error


# Telling


def microseconds(ms: float) -> str:
    return f"{1000 * ms:.0f}" if ms >= 0.1 else f"{1000 * ms:.1f}"


def short_kernel(name: str) -> str:
    """The part of a cuBLAS kernel's name that says most, in a table's width."""
    first = name.partition("<")[0].partition(" + ")[0]
    return first if len(first) <= 48 else f"{first[:47]}…"


def tile_of(results: RecordedAtlas) -> str:
    """`128×256×64`, of the lesson, or nothing where the results do not say."""
    return "×".join(str(size) for size in results["tile"].values())


def tiling_text(run: Run) -> str:
    """`16×256×16 · 8`: the C tile, and the slices of K where there are several; nothing where the results do not say."""
    if not (tiling := run.get("tiling")):
        return ""
    return _tile_text((tiling["BM"], tiling["BN"], tiling["BK"]), tiling["slices"])


def _tile_text(tile: Iterable[int], slices: int) -> str:
    """`16×256×16 · 8`: the C tile, and the slices of K where there are several."""
    return f"{'×'.join(map(str, tile))}{f' · {slices}' if slices > 1 else ''}"


def _tried_text(way: recorded_ways.Tried) -> str:
    return _tile_text((way["BM"], way["BN"], way["BK"]), way["slices"])


def _show_ways(results: RecordedWays) -> None:
    runs = results["runs"]
    print(
        f"{results['device']['name']}, {results['variant']}: the C tile and the slices of K that {results['lesson']} chooses, "
        f"beside {sum(len(run['others']) for run in runs)} other choices;\n"
        f"how much longer it takes than the fastest, at shapes of seed {results['draw']}"
    )
    rows = [
        [name, str(group.shapes), f"{group.close} ({group.close / group.shapes:.0%})", f"{group.mean:.1%}",
         f"{recorded_ways.loss(group.most):.1%}", _text(_shape(group.most))]
        for name, group in recorded_ways.summaries(runs).items()
    ]  # fmt: skip
    columns = ["group", "shapes", f"within {recorded_ways.CLOSE:.0%}", "on average", "at most", "at M×N×K"]
    tables.show(tables.grid(columns, rows, left=("group",)))
    print("Where it loses most:")
    rows = [
        [_text(_shape(run)), recorded.group_of(run), _tried_text(recorded_ways.tried(run)), microseconds(run["ms_median"]),
         _tried_text(fastest), microseconds(fastest["ms_median"]), f"{recorded_ways.loss(run):.1%}", f"{run['ratio']:.3f}"]
        for run in recorded_ways.worst(runs, _SLOWEST)
        for fastest in [recorded_ways.fastest(run)]
    ]  # fmt: skip
    columns = ["M×N×K", "", "chosen: C tile · slices", "µs", "fastest", "µs", "longer", "its ratio to cuBLAS"]
    tables.show(tables.grid(columns, rows, left=("", columns[2], columns[4])), 140)


def _show(results: RecordedAtlas) -> None:
    chosen = any("tiling" in run for run in results["runs"])  # for each shape
    tile = "" if chosen else tile_of(results)
    print(
        f"{results['device']['name']}, {results['variant']}: {results['lesson']}{f' ({tile})' if tile else ''}, "
        "ratio to cuBLAS in the same run"
    )
    rows = [
        [name, str(group.shapes), f"{group.mean:.3f}", f"{group.least['ratio']:.3f}", _text(_shape(group.least)), str(group.slow)]
        for name, group in recorded.groups(results["runs"]).items()
    ]
    columns = ["group", "shapes", "geometric mean", "lowest", "at M×N×K", f"below {recorded.SLOW}"]
    tables.show(tables.grid(columns, rows, left=("group",)))
    if slowest := recorded.slowest(results["runs"], _SLOWEST):
        print(f"The lowest ratios, among shapes that take cuBLAS {1000 * recorded.TINY_MS:.0f} µs or longer:")
        rows = [
            [_text(_shape(run)), recorded.group_of(run), microseconds(run["ms_median"]), f"{run['tflops']:.3g}",
             f"{run['ratio']:.3f}", *([tiling_text(run)] if chosen else []), short_kernel(run["baseline_kernel"])]
            for run in slowest
        ]  # fmt: skip
        tiles = ["C tile · slices"] if chosen else []
        columns = ["M×N×K", "", "µs", "TFLOP/s", "ratio", *tiles, "cuBLAS's kernel"]
        tables.show(tables.grid(columns, rows, left=("", *tiles, "cuBLAS's kernel")), 140)


def _text(shape: Shape) -> str:
    return "×".join(map(str, shape))


def _say_lost(results: RecordedAtlas | RecordedWays) -> None:
    """Which shapes have no ratio, and why."""
    for one in results["failed"]:
        way = f" in its way {one['way']['kernel']}, {one['way']['slices']} slices" if "way" in one else ""
        say(f"{one['lesson']} failed at {_text(_shape(one))}{way}: {one['failure']}")
    for left in results["left_out"]:
        say(f"{_text(_shape(left))} is left out. {left['reason']}")


def _list(variants: Sequence[str], shapes: Mapping[Shape, str], as_json: bool) -> int:
    """What would be measured."""
    rows = [{"set": name, "m": m, "n": n, "k": k, "gflop": 2e-9 * m * n * k} for (m, n, k), name in shapes.items()]
    if as_json:
        print(json.dumps({"variants": variants, "shapes": rows}))
        return 0
    for row in rows:
        print(f"{row['set']:6}  {_text(_shape(row)):>17}  {row['gflop']:8.3f} GFLOP")
    return 0


# The command


def _kept(recording: Recording, unfinished: _Unfinished, shapes: Mapping[Shape, str]) -> str:
    """Writes what was measured before the end came, and says where, for a sentence."""
    found = unfinished.found
    done = found.shapes - len(found.left)
    if not found.runs:
        return "nothing was recorded"
    recording.write(*_place(found), _results(found, shapes), f"only {done} of {found.shapes} shapes were measured")
    return f"{done} of {found.shapes} shapes are in {named([recording.file])[0]}"


def _place(found: _Found) -> tuple[str, str]:
    kind = "atlas" if found.draw is None else "ways"
    return gpu_slug(found.head["device"]["name"]), f"-{kind}-{found.variant}"


def _results(found: _Found, shapes: Mapping[Shape, str]) -> dict:
    return found.results(shapes) if found.draw is None else found.ways(shapes)


def _drawn(results: RecordedAtlas, recording: Recording, draw: Draw) -> list[Path]:
    if not results["runs"]:
        return []
    try:
        return draw(results, recording.published)
    except Interrupted as stop:
        written = named([recording.file])[0]
        raise Interrupted(stop.number, f"the results are in {written}; the picture may be out of date") from None


def _finish(
    found: _Found, recording: Recording, shapes: Mapping[Shape, str], draw: Draw, publish: Publish, as_json: bool
) -> dict:
    """Writes, draws and prints one type's atlas: what --json prints of it."""
    results = _results(found, shapes)
    shapes_failed = {_shape(one) for one in found.failed}
    wrong = f"{found.lesson} failed at {len(shapes_failed)} of {found.shapes} shapes" if found.failed else ""
    recording.write(*_place(found), results, wrong)
    whole = cast(RecordedAtlas, results)
    if not as_json and found.runs:
        _show(whole) if found.draw is None else _show_ways(cast(RecordedWays, results))
    _say_lost(whole)
    if recording.refused:
        say(f"Not recorded: {recording.refused}.")
    made = _drawn(whole, recording, draw) if found.draw is None else []
    if found.draw is not None and recording.published:
        made = publish()
    files = named([recording.file, *made])
    say(f"Written: {', '.join(files)}.")
    return {**results, "files": files}


def atlas(
    dtype: str | None, chosen: str | None, given: str | None, ways: bool, seed: int | None, record: bool, listed: bool,
    as_json: bool, draw: Draw, publish: Publish,
) -> int:  # fmt: skip
    """seed: of the shapes of `ways`. Exit status: 0 the lesson is right at every shape, 1 it is wrong at one."""
    for option, value, values in (("--dtype", dtype, VARIANTS), ("--set", chosen, SETS)):
        if value is not None and value not in values:
            raise UserError(f"{option} must be {' or '.join(values)}, not {value!r}.")
    if seed is not None and not ways:
        raise UserError("--seed draws the shapes of --ways; those of the atlas are always the same.")
    if ways and chosen:
        raise UserError("--ways draws shapes of its own; leave --set out.")
    name = lesson.find(given) if given is not None else None
    variants = [dtype] if dtype else list(VARIANTS)
    if ways and seed is None:
        seed = secrets.randbelow(10**6)
    shapes = shapes_of(chosen) if seed is None else new_shapes(seed)
    if seed is not None:
        say(f"Shapes of seed {seed}.")
    if listed:
        return _list(variants, shapes, as_json)
    if record and (chosen or name):
        raise UserError("--record measures whole sets with the course's fastest lesson; leave --set and --lesson out.")
    device = doctor.choose_gpu("atlas")
    recordings = {variant: Recording(record, "measured") for variant in variants}
    built = build(device, doctor.provide(device), ["gemm_bench", "gemm_lessons_json"])
    candidates = {variant: _candidates(variant, name, ways, built) for variant in variants}
    printed, status = [], 0
    for variant in variants:
        try:
            with gpu.alone(device):
                found = _one_type(built / "bin" / "gemm_bench", candidates[variant], variant, shapes, seed)
        except _Unfinished as unfinished:
            note = _kept(recordings[variant], unfinished, shapes)
            if isinstance(unfinished.error, Interrupted):
                raise Interrupted(unfinished.error.number, note) from None
            say_all([f"{note[0].upper()}{note[1:]}."])
            raise unfinished.error from None
        printed.append(_finish(found, recordings[variant], shapes, draw, publish, as_json))
        status |= bool(found.failed) or bool(recordings[variant].refused)
    if as_json:
        print(json.dumps({"atlases": printed}, ensure_ascii=False))
    return int(status)
