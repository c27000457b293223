"""`./gemm profile --energy`: what a launch of each lesson, and of cuBLAS, takes in joules and SM cycles, in turns."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypedDict, cast

from runner.core import doctor, gpu, lesson, process, tables
from runner.core.build import build
from runner.core.process import Interrupted, say
from runner.core.reports import EnergyUse, Results, Run, Spread
from runner.core.results import Key, UserError, gpu_slug, key_of, load
from runner.measure import chart
from runner.measure.recording import Recording, hash_of

SCHEMA = 1
SIZE = "4096"  # M = N = K


class LessonEnergy(EnergyUse):
    """What a launch of a lesson takes, and how fast it is beside cuBLAS."""

    ratio: float  # of cuBLAS's time to the lesson's


class _Batch(TypedDict, total=False):
    batch: int  # how many problems; 1 where it is missing
    groups: list[list[int]]  # M, N, K of each, where they differ


class Turns(_Batch):
    """Lessons of one variant that took turns at one size and batch, with cuBLAS."""

    variant: str
    m: int
    n: int
    k: int
    rounds: int
    baseline: str  # what of cuBLAS: "cublasGemmEx CUBLAS_COMPUTE_32F"
    cublas: EnergyUse
    lessons: dict[str, LessonEnergy]


class RecordedEnergy(TypedDict):
    schema: int
    gpu: str
    driver: str
    power_limit_w: float | None
    seed: int
    kernel_hashes: dict[str, str]
    turns: list[Turns]


def _measured(program: Path, names: Sequence[str], sizes: str) -> tuple[Results, list[str]]:
    """Runs gemm_bench: its checked results, and what it said."""
    with tempfile.TemporaryDirectory(prefix="gemm-") as folder:
        output = Path(folder) / "results.json"
        asked = ["--energy", "--lessons", ",".join(names), "--sizes", sizes]
        done = process.stream([program, *asked, "--output", output], "Measuring energy", process.PROGRESS)
        process.require(done, "gemm_bench", (0, 1))
        return load(output), done.lines


def turns_of(runs: Sequence[Run]) -> list[Turns]:
    """What is kept of gemm_bench's runs. A UserError where one has no energy."""
    found: dict[Key, Turns] = {}  # by key, the lesson left out
    for run in runs:
        if "energy" not in run:
            raise UserError("gemm_bench measured no energy; build it again.")
        key = key_of(run)
        turns = found.setdefault(
            key._replace(lesson=""),
            {"variant": key.variant, "m": key.m, "n": key.n, "k": key.k, "rounds": run["rounds"],
             "baseline": run["baseline"], "cublas": run["baseline_energy"], "lessons": {}},
        )  # fmt: skip
        if key.batch != 1:
            turns["batch"] = key.batch
        if key.groups:
            turns["groups"] = [list(sizes) for sizes in key.groups]
        turns["lessons"][key.lesson] = {**run["energy"], "ratio": run["ratio"]}
    return list(found.values())


def has_joules(results: Mapping) -> bool:
    return any(turns["cublas"]["joules"] for turns in results["turns"])


def spread(value: Spread | None) -> str:
    """`0.1184 (0.1172 … 0.1191)`, in the unit of the figure."""
    return f"{value['median']:.4g} ({value['p10']:.4g} … {value['p90']:.4g})" if value else "–"


def _show(results: RecordedEnergy) -> None:
    for turns in results["turns"]:
        shape = key_of({"lesson": "", **turns}).shape
        print(f"{results['gpu']}, {shape}, {turns['variant']}: medians of {turns['rounds']} rounds (p10 … p90)")
        uses: dict[str, EnergyUse] = {**turns["lessons"], "cuBLAS": turns["cublas"]}
        ratios = [f"{use['ratio']:.3f}" for use in turns["lessons"].values()]
        columns = [
            ("J a launch", [spread(use["joules"]) for use in uses.values()]),
            ("ms", [spread(use["ms"]) for use in uses.values()]),
            ("million cycles", [spread(use["megacycles"]) for use in uses.values()]),
            ("average power (W)", [f"{use['power_w']:.0f}" if use["power_w"] else "–" for use in uses.values()]),
            ("ratio", [*ratios, "1.000"]),
        ]
        tables.show_pieces("lesson", list(uses), columns)
    if not has_joules(results):
        print("This GPU, or its driver, has no counter of energy, so there are no joules.")


def measure(names: Sequence[str], sizes: str | None, record: bool, as_json: bool, publish: Callable[[], list[Path]]) -> int:
    """Exit status: 0 every lesson is right, 1 one is wrong (and is in no figure)."""
    if not names:
        raise UserError("--energy takes the lessons that are to take turns, such as ./gemm profile --energy 13a 13b 13c.")
    chosen = list(dict.fromkeys(lesson.find(name) for name in names))
    wanted = chart.parse_sizes(SIZE if sizes is None else sizes)
    device = doctor.choose_gpu("profile --energy")
    recording = Recording(record, "measured")
    program = build(device, doctor.provide(device), ["gemm_bench"]) / "bin" / "gemm_bench"
    try:
        with gpu.alone(device):
            found, said = _measured(program, chosen, wanted)
    except Interrupted as stop:
        raise Interrupted(stop.number, "nothing was recorded") from None
    process.say_all(said)
    for failure in found.get("failed", []):
        say(failure["failure"])
    if not (turns := turns_of(found["runs"])):
        raise UserError("No lesson was measured; the lines above say why.", 1 if found.get("failed") else 2)
    measured = found["device"]
    results: RecordedEnergy = {
        "schema": SCHEMA,
        "gpu": measured["name"],
        "driver": measured.get("driver", ""),
        "power_limit_w": measured.get("power_limit_w"),
        "seed": found["seed"],
        "kernel_hashes": {name: hash_of(name) for name in chosen if any(name in group["lessons"] for group in turns)},
        "turns": turns,
    }
    wrong = ", ".join(sorted({failure["lesson"] for failure in found.get("failed", [])}))
    recording.write(gpu_slug(measured["name"]), "-energy", cast(dict, results), f"{wrong} is wrong" if wrong else "")
    recording.tell(results, as_json, lambda: _show(results), publish)
    return int(bool(wrong or recording.refused))
