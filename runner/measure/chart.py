"""`./gemm chart`: verify, time, record, draw."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from runner.core import doctor, gpu, lesson, process, tables
from runner.core.build import build
from runner.core.process import Interrupted, say, say_all
from runner.core.reports import Failed, Results, Run
from runner.core.results import UserError, gpu_slug, key_of, load, rows_of
from runner.measure.recording import Recording, hash_of, named

Draw = Callable[[Results, bool], list[Path]]  # of results, which are published or not, the charts' files
SIZES = {
    "cuda": "256,512,768,1023,1024,1536,2047,2048,3072,4095,4096,4097,6144,8192,16384x4096x4096",
    # Together under a minute on 2 cores, odd ones included: the CPU device interprets every thread.
    "cpu": "256,1x1x1,31x33x7,127x129x65,257x63x300,64x1024x8,1000x1x77,512x256x128",
}
VARIANTS = {"cuda": "4096"}  # where lessons are measured with every variant that they take: gemm_bench --variant-sizes
LARGE = {"cuda": "16384"}  # more, for lessons that are fast enough there: gemm_bench --large-sizes


def parse_sizes(text: str) -> str:
    """`4096,1000x77x513`, each number checked; a UserError otherwise."""
    shapes = [shape.split("x") for shape in text.split(",")]
    if any(len(shape) not in (1, 3) for shape in shapes):
        raise UserError(f"--sizes must be sizes such as 4096 or 1000x77x513, separated by commas, not {text!r}.")
    return ",".join("x".join(lesson.whole("Each number of --sizes", part.strip()) for part in shape) for shape in shapes)


def measured(program: Path, sizes: str, options: Sequence[str] = ()) -> tuple[Results, list[str]]:
    """Runs gemm_bench with these options, too: its checked results, and what it said."""
    with tempfile.TemporaryDirectory(prefix="gemm-") as folder:
        output = Path(folder) / "results.json"
        done = process.stream([program, "--sizes", sizes, *options, "--output", output], "Verifying and timing", process.PROGRESS)
        process.require(done, "gemm_bench", (0, 1))
        return load(output), done.lines


def columns(results: Results, sizes: str) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """The rows' names, a lesson with a variant each and cuBLAS below; a column a shape, in the order of `sizes`: verdict with
    error/bound, or TFLOP/s and ratio to cuBLAS."""
    everything: list[Run | Failed] = [*results["runs"], *results.get("failed", [])]
    keys = [key_of(run) for run in everything]
    rows = rows_of(sorted(keys, key=lambda key: key.lesson))
    there = dict.fromkeys(key.shape for key in keys)
    asked = ["×".join(size.split("x") if "x" in size else [size] * 3) for size in sizes.split(",")]
    shapes = [*(shape for shape in dict.fromkeys(asked) if shape in there), *(shape for shape in there if shape not in asked)]
    cells = {key_of(run): "WRONG" for run in results.get("failed", [])}
    baseline: dict[tuple[str, str], str] = {}  # by shape and variant
    for run in results["runs"]:
        key = key_of(run)
        if "ms_median" in run:
            cells[key] = f"{run['tflops']:.3g} ({100 * run['ratio']:.3g} %)"
            baseline[key.shape, key.variant] = f"{1e-9 * key.flop / run['baseline_ms_median']:.3g}"
        else:
            error = run["error_over_bound"]
            cells[key] = "ok" if error is None else f"ok {error:.2g}"
    variants = list(dict.fromkeys(run["variant"] for run in results["runs"] if "ms_median" in run))
    of_cublas = ["cuBLAS"] if len(variants) == 1 else [f"cuBLAS {variant}" for variant in variants]
    found = {(key.shape, key.lesson, key.variant): cell for key, cell in cells.items()}
    return [*rows.values(), *of_cublas], [
        (
            _title(shape),
            [
                *(found.get((shape, *row), "–") for row in rows),
                *(baseline.get((shape, variant), "–") for variant in variants),
            ],
        )
        for shape in shapes
    ]


def _winners(results: Results) -> list[str]:
    """What of cuBLAS was the fastest where, a line a variant and call."""
    won: dict[tuple[str, str], dict[str, None]] = {}
    for run in results["runs"]:
        if "baseline" in run:
            won.setdefault((run["variant"], run["baseline"]), {})[_title(key_of(run).shape)] = None
    several = len({variant for variant, _ in won}) > 1
    return [
        f"cuBLAS{f' {variant}' if several else ''} is {baseline} at {', '.join(shapes)}."
        for (variant, baseline), shapes in won.items()
    ]


def _title(shape: str) -> str:
    """`4096³` for a cube."""
    count, dot, one = shape.rpartition(" · ")
    sides = one.split("×")
    return f"{count}{dot}{sides[0]}³" if len(set(sides)) == 1 else shape


def say_wrong(results: Results) -> None:
    """Where a lesson is wrong, or could not be run, and its report at the smallest of these shapes."""
    failed = results.get("failed", [])
    for row, name in sorted(rows_of(map(key_of, [*results["runs"], *failed])).items()):
        mine = sorted((f for f in failed if key_of(f)[:2] == row), key=lambda f: key_of(f).flop)
        for ran, what in ((True, "is WRONG"), (False, "could not be run")):
            if those := [failure for failure in mine if failure["ran"] == ran]:
                where = ", ".join(key_of(failure).shape for failure in those)
                say(f"{name} {what} at {where}.{' At the first of them:' if len(those) > 1 else ''}")
                say(those[0]["failure"])


def _measured(
    record: bool, sizes: str | None, variant: str | None, batch: str | None
) -> tuple[Results, str, list[str], Recording]:
    """Measures and writes down: the results, the sizes asked for, what gemm_bench said, and where it is written."""
    wanted = parse_sizes(sizes) if sizes is not None else ""
    options = [
        *lesson.variant_options(variant, None),
        *([f"--batch={lesson.whole('--batch', batch)}"] if batch is not None else []),
    ]
    device = doctor.choose()
    if record and device.kind == "cpu":
        raise UserError("--record needs a GPU and nvcc: the CPU device has no times to record; leave --record out.")
    if record and (wanted or options):
        raise UserError("--record measures what is published; leave --sizes, --variant and --batch out.")
    recording = Recording(record, "measured")
    program = build(device, doctor.provide(device), ["gemm_bench"]) / "bin" / "gemm_bench"
    if not wanted and not options:
        for option, at in (("--variant-sizes", VARIANTS), ("--large-sizes", LARGE)):
            options += [option, at[device.kind]] if device.kind in at else []
    wanted = wanted or SIZES[device.kind]
    with gpu.alone(device):
        results, said = measured(program, wanted, options)
    for run in results["runs"]:
        run["kernel_hash"] = hash_of(run["lesson"])
    wrong = ", ".join(sorted({failure["lesson"] for failure in results.get("failed", [])}))
    slug = "cpu" if device.kind == "cpu" else gpu_slug(results["device"]["name"])
    recording.write(slug, "", cast(dict, results), f"{wrong} is wrong" if wrong else "")
    return results, wanted, said, recording


def chart(record: bool, sizes: str | None, variant: str | None, batch: str | None, as_json: bool, draw: Draw) -> int:
    """Exit status: 0 every lesson is right, 1 one is wrong (and is in no figure)."""
    try:
        results, wanted, said, recording = _measured(record, sizes, variant, batch)
    except Interrupted as stop:
        raise Interrupted(stop.number, "nothing was recorded") from None
    try:
        return _show(results, wanted, said, recording, as_json, draw)
    except Interrupted as stop:
        written = named([recording.file])[0]
        raise Interrupted(stop.number, f"the results are in {written}; the charts may be out of date") from None


def _show(results: Results, sizes: str, said: list[str], recording: Recording, as_json: bool, draw: Draw) -> int:
    """Prints and draws what was measured. Returns the exit status."""
    name, failed = results["device"]["name"], results.get("failed", [])
    timed = any("ms_median" in run for run in results["runs"])
    if not as_json:
        print(name + (": TFLOP/s (% of cuBLAS)" if timed else ": verified, error as a fraction of its bound"))
        tables.show_pieces("lesson", *columns(results, sizes))
        for line in _winners(results):
            print(line)
    say_all(said)
    for skipped in results.get("skipped", []):
        say(f"{skipped['lesson']} skipped: {skipped['reason']}")
    say_wrong(results)
    if recording.refused:
        say(f"Not recorded: {recording.refused}.")
    files = named([recording.file, *draw(results, recording.published)])
    if as_json:
        print(json.dumps({**results, "files": files}), flush=True)
    wrong = {failure["lesson"] for failure in failed}
    right = len({run["lesson"] for run in results["runs"]} - wrong)
    say(
        f"{right} lesson{'s' * (right != 1)} {'verified and timed' if timed else 'verified'} on {name}"
        + (f", {len(wrong)} WRONG" if wrong else "")
        + f". Written: {', '.join(files)}."
    )
    if not results["runs"] and not failed:
        raise UserError("No lesson ran on this device; the lines above say what each needs.")
    return 1 if failed or recording.refused else 0
