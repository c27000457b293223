"""`./gemm profile`: what a GPU's own counters say of each lesson while it runs, read by NVIDIA's ncu."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.core import doctor, gpu, lesson, tables
from runner.core.build import build
from runner.core.results import UserError, gpu_slug, lessons
from runner.inspect.counters import find_ncu, first_launch, launches_of, run_ncu, version
from runner.inspect.inspection import Request
from runner.measure.recording import Recording, hash_of

SCHEMA = 1
SIZE = 4096  # M = N = K


@dataclass(frozen=True)
class Figure:
    """One figure of the profile. `metric`: ncu's name of it."""

    name: str
    metric: str
    unit: str
    shown: bool = True  # in the table; the others are in the JSON only
    everywhere: bool = True  # False: GPUs without it leave it out


_STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
FIGURES = (
    Figure("time", "gpu__time_duration.sum", "ns"),
    Figure("issue slots used", "smsp__issue_active.avg.pct_of_peak_sustained_active", "%"),
    Figure("FMA pipe", "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active", "%"),
    Figure("tensor pipe", "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_active", "%"),
    Figure("load/store pipe", "l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed", "%"),
    Figure("achieved occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active", "%"),
    Figure("L2 throughput", "lts__t_sectors.avg.pct_of_peak_sustained_elapsed", "%"),
    Figure("DRAM throughput", "dram__throughput.avg.pct_of_peak_sustained_elapsed", "%"),
    Figure("L1 hit rate", "l1tex__t_sector_hit_rate.pct", "%"),
    Figure("DRAM bytes", "dram__bytes.sum", "B"),
    Figure("L2 bytes", "lts__t_bytes.sum", "B"),
    Figure("registers a thread", "launch__registers_per_thread", ""),
    Figure("instructions", "smsp__inst_executed.sum", "", False),
    Figure("FFMA", "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum", "threads", False),
    Figure("global load sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "", False),
    Figure("global store sectors", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", "", False),
    Figure("shared load wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum", "", False),
    Figure("shared store wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum", "", False),
    Figure("shared copy wavefronts", "smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldgsts.sum", "", False),
    Figure("shared load bank conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum", "", False),
    Figure("shared store bank conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", "", False),
    *(
        Figure(f"warps stalled: {name}", _STALL.format(key), "a cycle with an issue", False)
        for name, key in (
            ("barrier", "barrier"),
            ("dispatch", "dispatch_stall"),
            ("global memory (long scoreboard)", "long_scoreboard"),
            ("load/store queue (lg throttle)", "lg_throttle"),
            ("math pipe", "math_pipe_throttle"),
            ("shared memory queue (mio throttle)", "mio_throttle"),
            ("not selected", "not_selected"),
            ("shared memory (short scoreboard)", "short_scoreboard"),
            ("fixed latency (wait)", "wait"),
        )
    ),
    # Of Hopper alone: warps that wait for the tensor cores' asynchronous products.
    Figure("warps stalled: wgmma (gmma)", _STALL.format("gmma"), "a cycle with an issue", False, everywhere=False),
)


def _number(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else f"{value:.3e}"


def _columns(found: Mapping[str, Mapping[str, float]]) -> list[tuple[str, list[str]]]:
    """A column a figure, a row a lesson."""
    return [
        (
            f"{figure.name} ({figure.unit})" if figure.unit else figure.name,
            [_number(values[figure.name]) for values in found.values()],
        )
        for figure in FIGURES
        if figure.shown
    ]


def _counted(ncu: Path, program: Path, request: Request) -> dict[str, float]:
    """The figures of a lesson's first launch, but those that this GPU does not have."""
    optional = [figure.metric for figure in FIGURES if not figure.everywhere]
    metrics = [figure.metric for figure in FIGURES]
    text = run_ncu(ncu, program, first_launch(program.name), request, metrics)
    # ncu gives n/a for a metric that it does not know, or refuses to count anything.
    if any(line.startswith("==ERROR==") and metric in line for line in text.splitlines() for metric in optional):
        known = [metric for metric in metrics if metric not in optional]
        text = run_ncu(ncu, program, first_launch(program.name), request, known)
    values = launches_of(text, metrics, optional)[0]
    return {figure.name: values[figure.metric] for figure in FIGURES if figure.metric in values}


def profile(names: Sequence[str], record: bool, as_json: bool, publish: Callable[[], list[Path]]) -> int:
    """Runs each lesson once at SIZE under ncu. Exit status 0."""
    chosen = [lesson.find(name) for name in names] or lessons()
    if record and names:
        raise UserError("--record profiles every lesson; leave the lessons out.")
    device = doctor.choose_gpu("profile")
    ncu = find_ncu("profile")
    recording = Recording(record, "profiled")
    programs = build(device, doctor.provide(device), chosen) / "bin"
    request = Request(SIZE, SIZE, SIZE, options=("--alpha=1", "--beta=0", "--seed=1"))
    found: dict[str, dict[str, float]] = {}
    for name in chosen:
        with gpu.alone(device):
            found[name] = _counted(ncu, programs / name, request)
    results = {
        "schema": SCHEMA,
        "gpu": device.gpus[0],
        "ncu": version(ncu),
        "m": SIZE,
        "n": SIZE,
        "k": SIZE,
        "units": {figure.name: figure.unit for figure in FIGURES},
        "metrics": {figure.name: figure.metric for figure in FIGURES},
        "kernel_hashes": {name: hash_of(name) for name in chosen},
        "lessons": found,
    }
    recording.write(gpu_slug(device.gpus[0]), "-profile", results)

    def show() -> None:
        print(f"{device.gpus[0]}, {SIZE}×{SIZE}×{SIZE}, one launch each, caches as ncu leaves them (flushed before each pass)")
        tables.show_pieces("lesson", list(found), _columns(found))
        print("The file also has the reasons why warps stalled.")

    recording.tell(results, as_json, show, publish)
    return int(bool(recording.refused))
