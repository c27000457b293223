"""Invented results and small checkouts for the tests of plots/. No number in here was measured."""

from __future__ import annotations

import json
import re
from collections import Counter
from html import unescape
from pathlib import Path

TWELVE = ["01_naive", "02_coalesced", "03_smem", "04_1d_blocktile", "05_2d_blocktile", "06_vectorized", "07_double_buffer",
          "08_cp_async", "09_i", "10_j", "11_k", "12_l"]  # fmt: skip
STEPS = {  # of one folder, and of another type
    "09a_wmma": "09_tensorcore/a_wmma", "09b_mma_sync": "09_tensorcore/b_mma_sync", "09c_ring": "09_tensorcore/c_ring",
}  # fmt: skip
STEP_RATES = [210.0, 380.0, 402.0]
CUBLAS_BF16 = 758.0
RATES = [0.5, 6.2, 9.0, 17.5, 30.0, 40.0, 47.0, 52.5, 53.0, 50.5, 51.5, 54.0]  # TFLOP/s at 4096³
CUBLAS = 51.2


def ms(size: int, tflops: float) -> float:
    return 2 * size**3 / tflops / 1e9


def run(lesson: str, rate: float, size: int, cublas: float = CUBLAS, variant: str = "fp32") -> dict:
    return {
        "lesson": lesson, "variant": variant, "m": size, "n": size, "k": size, "alpha": 1, "beta": 0, "checked": size * size,
        "error_over_bound": 0.0123, "rms_error": 1e-6, "rms_limit": 4e-6, "ms_median": ms(size, rate),
        "ms_p10": ms(size, rate) * 0.99, "ms_p90": ms(size, rate) * 1.02, "rounds": 21, "tflops": rate,
        "baseline": "cublasGemmEx CUBLAS_COMPUTE_32F", "baseline_kernel": "some_kernel", "baseline_ms_median": ms(size, cublas),
        "ratio": rate / cublas, "sm_clock_mhz": 1980, "power_w": 531.4, "cache": "cold", "kernel_hash": "0" * 64,
    }  # fmt: skip


def described(runs: list[dict]) -> dict:
    """What gemm_bench says of the lessons, as far as charts need it."""
    ladders = {run["lesson"]: ("fp32" if run["variant"] == "fp32" else "tensorcore", run["variant"]) for run in runs}
    return {name: {"ladder": ladder, "variants": [{"text": text}]} for name, (ladder, text) in ladders.items()}


def gpu_results(lessons: int = 3, sizes: tuple[int, ...] = (256, 1023, 1024, 4096, 4097, 8192)) -> dict:
    runs = []
    for size in sizes:
        share = min(1.0, size / 2048) * (0.9 if size % 2 else 1)
        runs += [run(name, rate * share, size, CUBLAS * share) for name, rate in zip(TWELVE[:lessons], RATES, strict=False)]
    device = {"kind": "cuda", "name": "NVIDIA X999 <Test>", "compute_capability": "9.0", "multiprocessors": 132, "l2_bytes": 1,
              "driver": "13.1", "cuda": "13.0", "power_limit_w": 700}  # fmt: skip
    return {"schema": 2, "device": device, "commit": "0123456789abcdef" * 2 + "01234567", "date": "2031-02-03T04:05:06Z",
            "seed": 7, "lessons": described(runs), "runs": runs, "skipped": [], "failed": []}  # fmt: skip


def _variant(bm: int, rate: float | None, registers: int | None = 100, **more: object) -> dict:
    rates = {512: 1.0, 4096: rate} if rate else {}
    runs = [{"variant": "fp32", "m": n, "n": n, "k": n, "cache": "cold", "tflops": r, "ratio": r / 50} for n, r in rates.items()]
    block = {"registers": registers, "local_bytes": 0, "blocks_per_sm": 2, "threads_per_block": 256, "static_shared_bytes": 8192,
             "dynamic_shared_bytes": 512}  # fmt: skip
    return {"swept": True, "own": False, "constants": {"BM": bm, "BK": 8}, "edited": False, "failure": None, "wrong": False,
            "resources": block if registers else None, "runs": runs, **more}  # fmt: skip


def tuned_results(best: int | None = 1) -> dict:
    rows = [
        _variant(128, 40.0, own=True),
        _variant(64, 42.5),
        _variant(128, 35.0, swept=False, edited=True),
        _variant(16, None, None, swept=False, failure="does not compile"),
    ]
    found = {"sizes": "4096", "best": best, "compared": {"the idea alone": 2, "nothing": 3}, "rows": rows}
    return {**gpu_results(), "schema": 1, "kernel_hashes": {"03_smem": "0"}, "lessons": {"03_smem": found}}


def mixed_results(lessons: int = 3, sizes: tuple[int, ...] = (1024, 4096, 4097)) -> dict:
    """FP32 lessons, and the steps of a folder in BF16."""
    results = gpu_results(lessons, sizes)
    for size in sizes:
        share = min(1.0, size / 2048)
        results["runs"] += [
            run(name, rate * share, size, CUBLAS_BF16 * share, "bf16") for name, rate in zip(STEPS, STEP_RATES, strict=True)
        ]
    results["lessons"] = described(results["runs"])
    return results


def several_results() -> dict:
    """The same with two more variants of some of the steps, which other calls of cuBLAS won against."""
    results = mixed_results(sizes=(4096,))
    lt = "cublasLt heuristic {}, CUBLAS_COMPUTE_32F"
    more = [("09a_wmma", 220.0, 800.0, "fp16", lt.format(3)), ("09c_ring", 880.0, 800.0, "fp16", lt.format(0)),
            ("09c_ring", 900.0, 1000.0, "e4m3_bf16.nt", f"{lt.format(5)}, fast accumulation")]  # fmt: skip
    for lesson, rate, cublas, variant, baseline in more:
        results["runs"].append({**run(lesson, rate, 4096, cublas, variant), "baseline": baseline})
    for name in STEPS:
        results["lessons"][name]["variants"] = [{"text": text} for text in ("bf16", "fp16", "e4m3_bf16.nt")]
    return results


def cpu_results(lessons: int = 3) -> dict:
    runs = [
        {"lesson": name, "variant": "fp32", "m": m, "n": n, "k": k, "alpha": 1, "beta": 0, "checked": m * n,
         "error_over_bound": value, "rms_error": 1e-7, "rms_limit": 1e-6}
        for name in TWELVE[:lessons]
        for (m, n, k), value in (((1, 1, 1), 0), ((33, 31, 65), 0.0456), ((256, 256, 256), 0.34), ((64, 1024, 8), 1e-5))
    ]  # fmt: skip
    device = {"kind": "cpu", "name": "CPU", "compute_capability": "9.0", "multiprocessors": 2, "l2_bytes": 1}
    return {"schema": 2, "device": device, "seed": 4711, "lessons": described(runs), "runs": runs, "skipped": [], "failed": []}


def profile(lessons: int = 3) -> dict:
    """What ./gemm profile records: 1 GB of DRAM for lesson 1, 2 GB for lesson 2; shared memory from 2 on, tensor cores in 3."""
    counted = {}
    for n, name in enumerate(TWELVE[:lessons], start=1):
        shared = n > 1
        counted[name] = {
            "issue slots used": 10.0 * n, "FMA pipe": 5.5, "tensor pipe": 40.0 if n == 3 else 0.01, "load/store pipe": 50.0,
            "achieved occupancy": 99.99, "L2 throughput": 3.25, "DRAM throughput": 2.0,
            "instructions": n * 1e8, "DRAM bytes": n * 1e9, "L2 bytes": n * 4e9,
            "shared load wavefronts": shared * 2e8, "shared store wavefronts": shared * 3e7,
            "shared copy wavefronts": shared * 5e6, "shared load bank conflicts": shared * 1e6,
            "shared store bank conflicts": shared * 500_000,
            "warps stalled: barrier": 1.5, "warps stalled: not selected": 9.0, "warps stalled: math pipe": 0.25 * n,
        }  # fmt: skip
    return {"schema": 1, "gpu": "NVIDIA X999 <Test>", "ncu": "2031.1", "commit": "abcdef0" * 6, "date": "2031-02-04T04:05:06Z",
            "m": 4096, "n": 4096, "k": 4096, "units": {}, "metrics": {},
            "kernel_hashes": dict.fromkeys(counted, "0" * 64), "lessons": counted}  # fmt: skip


def energy(sizes: tuple[int, ...] = (4096,), lessons: int = 2) -> dict:
    """What ./gemm profile --energy records."""

    def use(size: int, ms: float, watts: float) -> dict:
        ms *= (size / 4096) ** 3
        spreads = {"ms": ms, "joules": watts * ms / 1000, "megacycles": 1.5 * ms}
        return {**{key: {"median": x, "p10": 0.99 * x, "p90": 1.02 * x} for key, x in spreads.items()}, "power_w": watts}

    turns = [
        {"variant": "bf16", "m": size, "n": size, "k": size, "rounds": 20, "baseline": "cublasGemmEx CUBLAS_COMPUTE_32F",
         "cublas": use(size, 0.2, 690.0),
         "lessons": {name: {**use(size, 0.2 + n / 50, 650.0 + 10 * n), "ratio": 0.9} for n, name in enumerate(TWELVE[:lessons])}}
        for size in sizes
    ]  # fmt: skip
    return {"schema": 1, "gpu": "NVIDIA X999 <Test>", "driver": "13.1", "power_limit_w": 700, "seed": 7,
            "commit": "fedcba9" * 6, "date": "2031-02-06T04:05:06Z",
            "kernel_hashes": dict.fromkeys(TWELVE[:lessons], "0" * 64), "turns": turns}  # fmt: skip


def ceilings() -> dict:
    """What ./gemm doctor --measure records."""
    figures = {
        name: {"value": value, "p10": value, "p90": value, "unit": unit, "theoretical": theoretical, "how": "by a test",
               "work": 1e9, "ms_median": 1.0, "rounds": 9, "launches_per_sample": 1, "sm_clock_mhz": 1980, "power_w": 500}
        for name, value, unit, theoretical in (
            ("DRAM copy", 4.0, "TB/s", 5.0), ("L2 read", 6.0, "TB/s", None), ("shared memory read", 30.0, "TB/s", 33.0),
            ("FFMA", 60.0, "TFLOP/s", 66.0), ("FFMA, 8×16 outer product", 55.0, "TFLOP/s", 66.0),
        )
    }  # fmt: skip
    return {"schema": 1, "gpu": "NVIDIA X999 <Test>", "device": gpu_results()["device"], "commit": "fedcba9" * 6,
            "date": "2031-02-05T04:05:06Z", "sm_clock_mhz": 1980, "figures": figures}  # fmt: skip


def record(root: Path, profiled: dict | None = None, measured: dict | None = None) -> None:
    """Writes both beside the recorded results of a checkout(), the profile's hashes being those of the kernels."""
    from runner.core.kernel_hash import kernel_hash

    profiled = profiled or profile()
    profiled["kernel_hashes"] = {name: kernel_hash(root / name / "kernel.cu") for name in profiled["lessons"]}
    for kind, found in (("profile", profiled), ("ceilings", measured or ceilings())):
        (root / "plots" / "results" / f"h200-{kind}.json").write_text(json.dumps(found), encoding="utf-8")


def svg_texts(path: Path) -> Counter[str]:
    """The labels of an SVG and how often each occurs."""
    texts = re.findall(r"<text\b[^>]*>(.*?)</text>", path.read_text(encoding="utf-8"), re.DOTALL)
    return Counter(" ".join(unescape(re.sub(r"<[^>]*>", " ", text)).split()) for text in texts)


def checkout(root: Path, lessons: int = 3, results: dict | None = None, steps: dict[str, str] | None = None) -> Path:
    """A folder with a lesson list, a kernel per lesson and, if given, recorded results whose hashes fit. `steps`: lessons in
    folders of other names."""
    from runner.core.kernel_hash import kernel_hash

    folders = {**{name: name for name in TWELVE[:lessons]}, **(steps or {})}
    lines = [f"gemm_lesson({name if name == folder else f'{name} {folder}'})\n" for name, folder in folders.items()]
    (root / "CMakeLists.txt").write_text("".join(lines), encoding="utf-8")
    for name, folder in folders.items():
        (root / folder).mkdir(parents=True)
        (root / folder / "kernel.cu").write_text(f"// {name}\n    int a = 1;\n\n    int b = 2;\n", encoding="utf-8")
    if results:
        for entry in results["runs"]:
            entry["kernel_hash"] = kernel_hash(root / folders[entry["lesson"]] / "kernel.cu")
        (root / "plots" / "results").mkdir(parents=True)
        (root / "plots" / "results" / "h200.json").write_text(json.dumps(results), encoding="utf-8")
    return root
