"""`./gemm autotune`: other tile sizes for a lesson's kernel, each verified and timed; which constants to set."""

from __future__ import annotations

import json
import math
import re
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic

from rich.table import Table

from runner.core import compiling, doctor, gpu, lesson, process, tables
from runner.core.compiling import NotCompiled, Source
from runner.core.process import Interrupted, say
from runner.core.reports import Failed
from runner.core.results import ROOT, Key, UserError, folder_of, gpu_slug, key_of, load
from runner.measure import chart, tuning
from runner.measure.recording import Recording, hash_of
from runner.measure.tuning import Configuration, Tuning

SCHEMA = 1
ABREAST = 2  # sizes in a table
CLOSE = 0.01  # of the best ratio: nearer than this is as good
PATIENCE = 60.0  # seconds that a step of a configuration may take, beyond ten times the longest before it (large sizes)

Row = dict  # what came of a configuration: see row_of()


# Measuring


def sources(configurations: Sequence[Configuration], tune: Tuning, kernel: str) -> list[Source]:
    """What is compiled, in the configurations' order. A UserError where kernel.cu and tune.py don't fit."""
    try:
        return [
            Source(tuning.source(v, tune, kernel), f"{v.lesson}/kernel.cu", v.namespace, v.name, v.lesson) for v in configurations
        ]
    except ValueError as error:
        raise UserError(f"{error}; tune.py must fit its kernel.cu.") from error


def _why_not_compiled(lines: Sequence[str]) -> str:
    """The first error, in one line."""
    first = next((line for line in lines if re.search(r"\berror\b", line)), lines[-1] if lines else "the compiler said nothing")
    return "does not compile: " + " ".join(first.replace(f"{ROOT}/", "").split())


def compile_all(tools: Mapping, wanted: Sequence[Source], folder: Path) -> tuple[list[Source], list[Path], dict[str, str]]:
    """Compiles the configurations, several at a time: those that compile, their objects, and by title why the others don't."""
    failed: dict[str, str] = {}
    commands, made = [], []
    for source in wanted:
        try:
            command, made_here = compiling.compile_command(tools, source, folder)
        except NotCompiled as error:
            failed[source.title] = _why_not_compiled(error.lines)
            continue
        commands.append((source.title, command))
        made.append((source, made_here))
    compiled, objects = [], []
    for (source, made_here), done in zip(made, process.together(commands, "Compiling", {"TMPDIR": str(folder)}), strict=True):
        if done.status:
            compiling.blame_the_machine("The compiler", done.status, done.lines)
            failed[source.title] = _why_not_compiled(done.lines)
        else:
            compiled.append(source)
            objects.append(made_here)
    return compiled, objects, failed


def link(tools: Mapping, compiled: Sequence[Source], objects: Sequence[Path], folder: Path) -> Path:
    """A gemm_bench of the configurations."""
    compiling.unlinked(
        compiling.link(tools, compiling.lessons_of(compiled), objects, folder / "bench"), "the program of the configurations"
    )
    return folder / "bench"


class _Watch:
    """Reads gemm_bench's progress, and says which configuration of `names` hangs on the GPU, which would hang the command."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names, self.culprit, self.limit = names, "", PATIENCE
        self._step, self._began = "", monotonic()  # the one under way

    def parse(self, line: str) -> tuple[int, int, str] | None:
        """Of a line of progress, as process.stream() wants it."""
        step = process.PROGRESS(line)
        if step:
            now = monotonic()
            self.limit = max(self.limit, PATIENCE + 10 * (now - self._began))
            self._step, self._began = step[2], now
        return step

    def hung(self) -> bool:
        """Whether a configuration's step takes longer than the limit. Others (inputs, cuBLAS) may take any time."""
        configuration = self._step.partition(" ")[0]
        if configuration in self.names and monotonic() - self._began > self.limit:
            self.culprit = configuration
        return bool(self.culprit)


def lost_in(output: Path) -> Failed | None:
    """Which one took the device down or did not end, as gemm_bench says in the place of results."""
    try:
        return json.loads(output.read_text(encoding="utf-8")).get("lost")
    except (OSError, ValueError):
        return None


def run(
    program: Path, name: str, configurations: Sequence[str], sizes: str, seed: int, folder: Path, more: Sequence[str] = ()
) -> dict:
    """gemm_bench's results of these configurations of lesson `name`. One that hangs or takes the device down fails, and the
    others run again."""
    left, lost = list(configurations), []
    output = folder / "results.json"
    while left:
        asked = ["--lessons", ",".join(left), "--sizes", sizes, "--seed", str(seed), *more]
        command: list[str | Path] = [program, *asked, "--output", output]
        output.unlink(missing_ok=True)
        watch = _Watch(left)
        done = process.stream(command, f"Verifying and timing {name}", watch.parse, hung=watch.hung)
        if watch.culprit:
            left.remove(watch.culprit)
            failure = f"It did not end within {watch.limit:.0f} s: probably an endless loop."
            lost.append({"lesson": watch.culprit, "ran": True, "failure": failure})
            continue
        culprit = lost_in(output) if done.status not in (0, 1) else None
        if not culprit or culprit["lesson"] not in left:
            process.require(done, "gemm_bench", (0, 1))
            found = load(output)
            return {**found, "failed": [*found.get("failed", []), *lost]}
        left.remove(culprit["lesson"])
        why = f"It took the device down: {culprit['failure']}"
        failure = "It did not end: probably an endless loop." if culprit["ran"] else why
        lost.append({"lesson": culprit["lesson"], "ran": True, "failure": failure})
    return {"runs": [], "failed": lost}


def row_of(configuration: Configuration, found: Mapping, not_compiled: Mapping[str, str]) -> Row:
    """What came of a configuration. `failure`: why it has no figures (None: it has); `wrong`: it ran, and its result is wrong."""
    name = configuration.name
    failures = [failure for failure in found.get("failed", []) if failure["lesson"] == name]
    skipped = [entry["reason"] for entry in found.get("skipped", []) if entry["lesson"] == name]
    reasons = [not_compiled[name]] if name in not_compiled else [*(failure["failure"] for failure in failures), *skipped]
    runs = [] if reasons else [{k: v for k, v in r.items() if k != "lesson"} for r in found["runs"] if r["lesson"] == name]
    return {
        "swept": configuration.swept,
        "own": configuration.own,
        "constants": dict(configuration.constants),
        "edited": bool(configuration.edits),
        "resources": found.get("resources", {}).get(name),
        "failure": reasons[0] if reasons else None,
        "wrong": any(failure["ran"] for failure in failures),
        "runs": runs,
    }


# Judging


def ratio(row: Row) -> float:
    """To cuBLAS: the geometric mean over the sizes and variants, which have the constants in common; 0 without times."""
    ratios = [run["ratio"] for run in row["runs"] if "ratio" in run]
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 0.0


def spills(row: Row) -> bool:
    """Whether its threads use local memory, which a lesson's kernel must not."""
    return bool(row["resources"] and row["resources"]["local_bytes"])


def by_ratio(rows: Sequence[Row]) -> list[Row]:
    """Of the set, the fastest first; those without times last, in the set's order."""
    return sorted((row for row in rows if row["swept"]), key=ratio, reverse=True)


def best(rows: Sequence[Row]) -> Row | None:
    """The fastest of the set that does not spill. What is wrong has no times."""
    return next((row for row in by_ratio(rows) if ratio(row) and not spills(row)), None)


def advice(name: str, rows: Sequence[Row], tune: Tuning, kernel: str) -> str:
    """One sentence: which constants to set, or that there is nothing to change."""
    first, own = best(rows), next(row for row in rows if row["own"])
    if first is None:
        return f"{name}: no configuration of the set runs here, is right and keeps to its registers."
    if ratio(own) >= (1 - CLOSE) * ratio(first) and not spills(own):
        return f"The constants in {name}/kernel.cu are the best of the set within {100 * CLOSE:.0f} % here."
    why = ", which spills" if spills(own) else f", {ratio(first) / ratio(own):.3f} times as fast as now" if ratio(own) else ""
    lines = "  ".join(tuning.changed_lines(tune, kernel, first["constants"]))
    return f"Set in {name}/kernel.cu{why}: {lines}"


# Telling


def _verdict(row: Row) -> str:
    return "WRONG" if row["wrong"] else "not run" if row["failure"] else "–"


def _cells(row: Row) -> list[str]:
    block = row["resources"]
    if not block:
        return ["–"] * 4
    shared = block["static_shared_bytes"] + block["dynamic_shared_bytes"]
    return ["–" if x is None else str(x) for x in (block["registers"], block["local_bytes"], shared, block["blocks_per_sm"])]


def _timed(row: Row, variant: str, shape: tuple[int, int, int]) -> list[str]:
    key = Key("", variant, *shape, 1)
    timed = next((run for run in row["runs"] if key_of({"lesson": "", **run}) == key and "ratio" in run), None)
    return [f"{timed['tflops']:.2f}", f"{timed['ratio']:.3f}"] if timed else ["–", _verdict(row)]


def table(rows: Sequence[tuple[str, Row]], variant: str, shapes: Sequence[tuple[int, int, int]]) -> Table:
    """A row a configuration, with its label and its figures with that variant; the lesson's own is marked."""
    names = list(rows[0][1]["constants"])
    at = [""] if len(shapes) == 1 else [f" {'×'.join(map(str, shape))}" for shape in shapes]
    timed = [column for where in at for column in (f"TFLOP/s{where}", "ratio")]
    columns = ["", *names, "registers", "spills (B)", "shared (B)", "blocks/SM", *timed]
    cells = [
        [" ".join([label] * bool(label) + ["(kernel.cu)"] * row["own"]), *(str(row["constants"][n]) for n in names), *_cells(row),
         *(cell for shape in shapes for cell in _timed(row, variant, shape))]
        for label, row in rows
    ]  # fmt: skip
    return tables.grid(columns, cells, left=("",))


def _say_failures(name: str, rows: Sequence[Row]) -> None:
    for row in rows:
        if row["failure"]:
            which = ", ".join(f"{key} = {value}" for key, value in row["constants"].items())
            say(f"{name} with {which}{' and edits' if row['edited'] else ''}: {row['failure']}")


def _shapes(sizes: str) -> list[tuple[int, int, int]]:
    numbers = [[int(n) for n in size.split("x")] for size in sizes.split(",")]
    return [(n[0], n[0], n[0]) if len(n) == 1 else (n[0], n[1], n[2]) for n in numbers]


def _variants_of(rows: Sequence[Row]) -> list[str]:
    """What a lesson's kernels multiplied, and so the variants of cuBLAS beside them; one without a name where none ran."""
    return list(dict.fromkeys(run["variant"] for row in rows for run in row["runs"])) or [""]


def _show(results: Mapping, tunes: Mapping[str, tuple[Tuning, str]]) -> None:
    print(f"{results['device']['name']}: TFLOP/s, and the ratio to cuBLAS in the same run")
    for name, found in results["lessons"].items():
        rows, compared, shapes = found["rows"], found["compared"], _shapes(found["sizes"])
        sizes = ", ".join("×".join(map(str, shape)) for shape in shapes)
        pieces = [shapes[at : at + ABREAST] for at in range(0, len(shapes), ABREAST)]
        for variant in _variants_of(rows):
            title = ", ".join(filter(None, [name, variant, sizes]))
            print(f"\n{title}: {sum(row['swept'] for row in rows)} configurations")
            for piece in pieces:
                tables.show(table([("", row) for row in by_ratio(rows)], variant, piece), 160)
            if compared:
                print("One idea at a time:")
            for piece in pieces if compared else ():
                tables.show(table([(label, rows[place]) for label, place in compared.items()], variant, piece), 160)
        sys.stdout.flush()
        _say_failures(name, rows)
        print(advice(name, rows, *tunes[name]))


# The command


def _measured(chosen: Sequence[str], tunes: Mapping[str, tuple[Tuning, str]], device: doctor.Device, sizes: str | None) -> dict:
    """Every configuration of the lessons, compiled, verified and timed, lesson after lesson in one program. `sizes`: None for
    those that each lesson's tune.py says."""
    configurations: dict[str, list[Configuration]] = {}
    compared: dict[str, dict[str, int]] = {}
    for name in chosen:
        try:
            configurations[name], compared[name] = tuning.configurations(name, *tunes[name])
        except ValueError as error:
            raise UserError(f"{error}; {name}/tune.py must fit its kernel.cu.") from error
    wanted = [source for name in chosen for source in sources(configurations[name], *tunes[name])]
    tools = compiling.toolchain(device, "bench")
    seed = secrets.randbelow(10**9)
    results: dict = {"schema": SCHEMA, "device": {"name": device.gpus[0]}, "seed": seed, "lessons": {}}
    with compiling.scratch() as folder:
        compiled, objects, failed = compile_all(tools, wanted, folder)
        program = link(tools, compiled, objects, folder) if compiled else None
        for name in chosen:
            names = [configuration.name for configuration in configurations[name] if configuration.name not in failed]
            tune, _ = tunes[name]
            wanted_here, found = sizes or tune.sizes, {}
            if program and names:
                with gpu.alone(device):
                    found = run(program, name, names, wanted_here, seed, folder)
            results["device"] = found.get("device", results["device"])
            rows = [row_of(configuration, found, failed) for configuration in configurations[name]]
            first = best(rows)
            results["lessons"][name] = {
                "sizes": wanted_here,
                "best": rows.index(first) if first else None,
                "compared": compared[name],
                "by_shape": list(tune.by_shape),
                "rows": rows,
            }
    return results


def autotune(names: Sequence[str], record: bool, sizes: str | None, as_json: bool, publish: Callable[[], list[Path]]) -> int:
    """Exit status: 0 every configuration that runs is right, 1 one is wrong."""
    chosen = list(dict.fromkeys(lesson.find(name) for name in names)) or tuning.tunable()
    wanted = chart.parse_sizes(sizes) if sizes is not None else None
    if record and (names or sizes is not None):
        raise UserError("--record measures every lesson with a tune.py at the sizes that it says; leave lessons and --sizes out.")
    tunes = {name: (tuning.load(name), (ROOT / folder_of(name) / "kernel.cu").read_text(encoding="utf-8")) for name in chosen}
    if not tunes:
        raise UserError("No lesson has a tune.py; bring them back with git checkout.")
    device = doctor.choose_gpu("autotune")
    recording = Recording(record, "measured")
    try:
        results = _measured(chosen, tunes, device, wanted)
    except Interrupted as stop:
        raise Interrupted(stop.number, "nothing was recorded") from None
    rows = [row for found in results["lessons"].values() for row in found["rows"]]
    wrong = [name for name, found in results["lessons"].items() if any(row["wrong"] for row in found["rows"])]
    results["kernel_hashes"] = {name: hash_of(name) for name in chosen}
    recording.write(
        gpu_slug(device.gpus[0]), "-autotune", results, f"a configuration of {', '.join(wrong)} is wrong" if wrong else ""
    )
    recording.tell(results, as_json, lambda: _show(results, tunes), publish)
    if not any(map(ratio, rows)):
        raise UserError("No configuration ran on this GPU; the file that was written says why of each.", 1 if wrong else 2)
    return 1 if wrong or recording.refused else 0
