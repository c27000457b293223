"""`./gemm inspect --against-ncu`: what gemm_inspect counts beside what a GPU's own counters say, read by NVIDIA's ncu."""

from __future__ import annotations

import csv
import json
import re
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from runner.core import doctor, gpu, lesson, process, tables
from runner.core.build import build
from runner.core.figures import grouped
from runner.core.git import commit_here
from runner.core.process import say_all
from runner.core.results import ROOT, UserError, lessons, write_atomically
from runner.inspect import inspection
from runner.inspect.inspection import Request
from runner.inspect.trace_types import Figure, Line, Trace

SHAPES = ((128, 128, 128), (256, 64, 32), (127, 129, 65), (257, 63, 300), (1000, 1, 77), (33, 31, 65))
_GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
# Counted for each instruction. (l1tex__data_pipe_lsu_wavefronts_mem_shared counts up to 9 % more, by other numbers in every run.)
_SHARED = "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"


def _is_stmatrix(line: Line) -> bool:
    return line["matrix"] and line["op"] == "store"


def seen(found: Trace, space: str, op: str) -> list[Line]:
    """Without boxes of the copy engine, which pass by what these metrics count (lsu: the threads' own accesses), and without
    stmatrix (STSM), which an H200 adds to none of them."""
    lines = (line for line in found["lines"] if (line["space"], line["op"]) == (space, op))
    return [line for line in lines if line["width"] and not _is_stmatrix(line)]


@dataclass(frozen=True)
class Quantity:
    """One row of the comparison: a sum over traced lines, and the sum of ncu's metrics."""

    name: str
    metrics: tuple[str, ...]
    space: str
    op: str
    key: Figure  # what is summed

    def traced(self, found: Trace) -> int:
        return sum(line[self.key] for line in seen(found, self.space, self.op))

    def counted(self, values: Mapping[str, int]) -> int:
        return sum(values[metric] for metric in self.metrics)


_MOVED: tuple[Figure, ...] = ("requests", "sectors")
QUANTITIES = [
    Quantity(f"global {op} {key}", (_GLOBAL.format(key, short),), "global", op, key)
    for op, short in (("load", "ld"), ("store", "st"))
    for key in _MOVED
] + [
    Quantity(f"shared {op} wavefronts", tuple(_SHARED.format(kind) for kind in kinds), "shared", op, "wavefronts")
    for op, kinds in (("load", ("ld", "ldsm")), ("store", ("st", "ldgsts")))  # ldmatrix; the stores of cp.async
]
# Not compared, but the evidence for fused accesses: warp instructions that load from and store to shared memory.
EXECUTED = {"load": "smsp__inst_executed_op_shared_ld.sum", "store": "smsp__inst_executed_op_shared_st.sum"}
METRICS = [*(metric for quantity in QUANTITIES for metric in quantity.metrics), *EXECUTED.values()]


def launches_of(text: str, metrics: Sequence[str], optional: Sequence[str] = ()) -> list[dict[str, float]]:
    """Metric -> value from what `ncu --csv` prints, of each launch in turn. A UserError where one is missing that is not
    `optional`.

    ncu's own lines begin with ==; a program's output may stand before the header too.
    """
    lines = text.splitlines()
    start = next((index for index, line in enumerate(lines) if line.lstrip("\ufeff").startswith('"ID",')), None)
    if start is None:
        if "ERR_NVGPUCTRPERM" in text:
            raise UserError(
                "ncu may not read the GPU's counters as this user (ERR_NVGPUCTRPERM); run ./gemm as root, or see "
                "https://developer.nvidia.com/ERR_NVGPUCTRPERM."
            )
        said = [line.removeprefix("==ERROR==").strip() for line in lines if line.startswith("==ERROR==")]
        said += [line.removeprefix("==WARNING==").strip() for line in lines if line.startswith("==WARNING==")]
        raise UserError(f"ncu counted nothing (it says: {(said or ['nothing'])[0].rstrip('.')}).")
    rows = csv.DictReader([lines[start].lstrip("\ufeff"), *(line for line in lines[start + 1 :] if line.startswith('"'))])
    if missing := {"ID", "Metric Name", "Metric Value"} - set(rows.fieldnames or ()):
        raise UserError(f"ncu's CSV output has no column {', '.join(sorted(missing))}; this version of ncu is not known here.")
    launches: dict[str, dict[str, float]] = {}
    for row in rows:
        text_ = (row["Metric Value"] or "").replace(",", "").replace("\u202f", "").replace(" ", "")
        if not re.fullmatch(r"[0-9]+(\.[0-9]*)?", text_):
            if row["Metric Name"] in optional:  # "n/a"
                continue
            raise UserError(f"ncu gives {row['Metric Value']!r} for {row['Metric Name']}, not a number; this GPU lacks it.")
        launches.setdefault(row["ID"], {})[row["Metric Name"]] = float(text_)
    if not launches:
        raise UserError("ncu saw no launch of the lesson's kernel.")
    for values in launches.values():
        if lacking := [metric for metric in metrics if metric not in values and metric not in optional]:
            raise UserError(f"ncu did not count {', '.join(lacking)}; this version of ncu or this GPU lacks it.")
    return list(launches.values())


def summed(text: str) -> dict[str, int]:
    """METRICS, which are counts, over all launches."""
    launches = launches_of(text, METRICS)
    for values in launches:
        if broken := next((metric for metric in METRICS if values[metric] != int(values[metric])), None):
            raise UserError(f"ncu gives {str(values[broken])!r} for {broken}, not a count; this GPU lacks it.")
    return {metric: sum(int(values[metric]) for values in launches) for metric in METRICS}


def _place(line: Line) -> str:
    return f"{line['array']} (line {line['line']})"


def fused(found: Trace, op: str, executed: int) -> str:
    """Which of the source's shared accesses nvcc made wider, as far as the GPU's number of instructions tells; "" if none.

    nvcc may fuse 2 or 4 neighboring loads or stores of a thread into one. That shows as fewer instructions than requests.
    """
    lines = seen(found, "shared", op)
    saved = sum(line["requests"] for line in lines) - executed
    if saved <= 0:
        return ""
    places = [(line, wide) for line in lines for wide in (2, 4) if line["width"] * wide <= 16]
    exact = [(line, wide) for line, wide in places if saved * wide == line["requests"] * (wide - 1)]
    # Where several would fit, those that a warp reads at one address: only there do wider loads need fewer wavefronts.
    exact = [(line, wide) for line, wide in exact if len(set(line["sample"]["offsets"])) == 1] or exact
    if exact:
        which = (f"{wide} {op}s of {_place(line)} into one of {wide * line['width']} B" for line, wide in exact)
        return f"nvcc fuses {' or '.join(which)}"
    names = dict.fromkeys(_place(line) for line, _ in places)
    return f"nvcc fuses {op}s of {' or '.join(names)}" if names else ""


def unseen(found: Trace) -> list[dict]:
    """Rows of what ncu counts for no instruction: boxes of TMA (UTMALDG, UTMASTG), wgmma (HGMMA) and stmatrix (STSM)."""
    also = "and ncu's metrics count threads"
    copied = f"the copy engine moves them, no thread does, {also}"
    multiplied = f"the tensor cores read shared memory, no thread does, {also}"
    rows = []
    for op in ("load", "store"):
        if boxes := [line for line in found["lines"] if line["op"] == op and not line["width"]]:
            rows.append((f"TMA {op} boxes", sum(line["requests"] for line in boxes), copied))
            rows.append((f"TMA {op} sectors", sum(line["sectors"] for line in boxes), copied))
    if wgmma := found["wgmma"]:
        rows.append(("wgmma instructions", sum(entry["count"] for entry in wgmma), multiplied))
        rows.append(("wgmma bytes of shared memory", sum(entry["shared_bytes"] for entry in wgmma), multiplied))
    if stmatrix := [line for line in found["lines"] if _is_stmatrix(line)]:
        why = "ncu's metric of stores to shared memory leaves out stmatrix"
        rows.append(("stmatrix wavefronts", sum(line["wavefronts"] for line in stmatrix), why))
    return [{"quantity": name, "traced": traced, "counted": None, "verdict": "unseen", "note": why} for name, traced, why in rows]


def compare(found: Trace, counted: Mapping[str, int]) -> list[dict]:
    """A row for each quantity: what both say, the verdict (equal, fused, differs, unseen) and a note."""
    rows = []
    for quantity in QUANTITIES:
        traced, here = quantity.traced(found), quantity.counted(counted)
        verdict, note = "equal" if traced == here else "differs", ""
        if quantity.space == "shared" and here < traced:  # which is what wider accesses do
            note = fused(found, quantity.op, counted[EXECUTED[quantity.op]])
            verdict = "fused" if note else verdict
        guessed = any(line["diverged"] for line in found["lines"] if (line["space"], line["op"]) == (quantity.space, quantity.op))
        if verdict == "differs" and guessed:
            note = "threads diverge here, and nvcc joins them elsewhere than g++"
        rows.append({"quantity": quantity.name, "traced": traced, "counted": here, "verdict": verdict, "note": note})
    return rows + unseen(found)


def find_ncu(command: str) -> Path:
    """ncu's path; a UserError, which names the command that needs it, where there is none."""
    if found := doctor.of_cuda("ncu"):
        return found
    raise UserError(
        f"{command} needs NVIDIA's ncu (Nsight Compute), which is neither on PATH nor in $CUDA_HOME/bin nor in "
        "/usr/local/cuda/bin; install it with the CUDA toolkit."
    )


def version(ncu: Path) -> str:
    return "".join(re.findall(r"Version ([\d.]+)", process.quiet([ncu, "--version"])[1])[:1])


def run_ncu(ncu: Path, program: Path, which: Sequence[str], request: Request, metrics: Sequence[str]) -> str:
    """Runs the lesson once under ncu: what it prints of the launches that the options `which` choose."""
    with tempfile.TemporaryDirectory(prefix="gemm-") as folder:
        log = Path(folder) / "ncu.csv"
        command: list[str | Path] = [ncu, "--clock-control", "none", "--csv", "--print-units", "base", "--log-file", log,
                                     "--metrics", ",".join(metrics), *which,
                                     program, "--verify-only", "--alpha=1", "--beta=0", "--seed=1",
                                     *(f"--{key}={getattr(request, key)}" for key in ("m", "n", "k"))]  # fmt: skip
        done = process.stream(command, f"ncu {program.name} {request.shape}", process.unseen, whole=True)
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
        if '"ID",' not in text:
            say_all(done.lines)
        return text or "\n".join(done.lines)


def first_launch(name: str) -> list[str]:
    """ncu's options that choose the first launch of a lesson's own kernels, by their namespace."""
    return ["--kernel-name-base", "demangled", "--kernel-name", f"regex:lesson_{name.partition('_')[0]}::", "--launch-count", "1"]


def every_launch(name: str) -> list[str]:
    """Those that choose all that the tracer counts, too: the lesson's kernels, and those of common/ that it launches before.

    A library's gemm:: (cutlass::gemm) is none of them.
    """
    return ["--kernel-name-base", "demangled", "--kernel-name", f"regex:(^| )(lesson_{name.partition('_')[0]}|gemm)::"]


def _count(device: doctor.Device, ncu: Path, program: Path, request: Request) -> dict[str, int]:
    with gpu.alone(device):
        text = run_ncu(ncu, program, every_launch(program.name), request, METRICS)
    return summed(text)


def against(names: Sequence[str], file: Path | None, as_json: bool) -> int:
    """Exit status: 0 where all counts agree, but for accesses that nvcc fused; 1 otherwise. A file that is there keeps what it
    has of other lessons, and gets each of these as soon as it is counted."""
    chosen = list(dict.fromkeys(lesson.find(name) for name in names)) or lessons()
    device = doctor.choose_gpu("--against-ncu")
    ncu = find_ncu("--against-ncu")
    before = counted_before(file, device.gpus[0]) if file else []
    tracer = inspection.build_tracer() / "gemm_inspect"
    folder = build(device, doctor.provide(device), chosen) / "bin"
    results: list[dict] = []
    commit, counted_by = commit_here()[0], version(ncu)
    for name in chosen:
        for m, n, k in SHAPES:
            request = Request(m, n, k, options=("--alpha=1", "--beta=0", "--seed=1"))
            found, status = inspection.trace(tracer, name, request)
            if status:
                raise UserError(f"{name} is wrong at {request.shape}; ./gemm inspect {name} says more.", status=1)
            rows = compare(found, _count(device, ncu, folder / name, request))
            results.append({"lesson": name, "m": m, "n": n, "k": k, "commit": commit, "ncu": counted_by, "rows": rows})
        if file:
            counted = {result["lesson"] for result in results}
            write_atomically(file, _text(device, [*(run for run in before if run["lesson"] not in counted), *results]))
    if as_json and not file:
        sys.stdout.write(_text(device, results))
    else:
        _print(results)
    if file:
        print(f"Written: {file.relative_to(ROOT) if file.is_relative_to(ROOT) else file}.", flush=True)
    return 1 if any(row["verdict"] == "differs" for result in results for row in result["rows"]) else 0


def _text(device: doctor.Device, results: Iterable[dict]) -> str:
    order = lessons()
    runs = sorted(results, key=lambda run: order.index(run["lesson"]))
    return json.dumps({"schema": 2, "gpu": device.gpus[0], "runs": runs}, indent=1, ensure_ascii=False) + "\n"


def counted_before(file: Path, gpu_name: str) -> list[dict]:
    """What the file, if there is one, has of the course's lessons. (Schema 1 has one commit and one ncu for all.) A UserError
    where it is another file, or another GPU's."""
    if not file.exists():
        return []
    try:
        held = json.loads(file.read_text(encoding="utf-8"))
        whole = {key: held[key] for key in ("commit", "ncu") if key in held}
        found, counted_on = [{**whole, **run} for run in held["runs"] if run["lesson"] in lessons()], held["gpu"]
    except (ValueError, KeyError, TypeError):
        raise UserError(f"{file} is there and is not what --against-ncu --json writes; name another file.") from None
    if counted_on != gpu_name:
        raise UserError(f"{file} has counts of {counted_on}, and this is {gpu_name}; name another file.")
    return found


def _print(results: Sequence[Mapping]) -> None:
    shown = Table()
    for column in ("lesson", "M×N×K", "counts", "inspect", "ncu", "verdict"):
        shown.add_column(column, justify="right" if column in ("inspect", "ncu") else "left")
    notes: dict[str, list[str]] = {}
    for result in results:
        shape = f"{result['m']}×{result['n']}×{result['k']}"
        for index, row in enumerate(result["rows"]):
            start = [result["lesson"], shape] if index == 0 else ["", ""]
            here = "–" if row["counted"] is None else grouped(row["counted"])
            shown.add_row(*start, row["quantity"], grouped(row["traced"]), here, row["verdict"])
            if row["note"]:
                notes.setdefault(f"{result['lesson']}, {row['quantity']}: {row['note']}", []).append(shape)
        shown.add_section()
    tables.show(shown)
    for note, shapes in notes.items():
        print(f"{note} ({', '.join(shapes)}).")
    verdicts = [row["verdict"] for result in results for row in result["rows"]]
    kinds = ("equal", "fused", "differs", *(["unseen"] if "unseen" in verdicts else []))
    sums = [f"{verdicts.count(key)} {key}" for key in kinds]
    print(f"{', '.join(sums)}, of {len(verdicts)}.", flush=True)
