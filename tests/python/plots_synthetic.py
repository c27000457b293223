"""Invented results and small checkouts for the tests of plots/. No number in here was measured."""

from __future__ import annotations

import json
import re
from collections import Counter
from html import unescape
from pathlib import Path

TWELVE = ["01_naive", "02_coalesced", "03_smem", "04_1d_blocktile", "05_2d_blocktile", "06_vectorized", "07_double_buffer",
          "08_cp_async", "09_i", "10_j", "11_k", "12_l"]  # fmt: skip
RATES = [0.5, 6.2, 9.0, 17.5, 30.0, 40.0, 47.0, 52.5, 53.0, 50.5, 51.5, 54.0]  # TFLOP/s at 4096³
CUBLAS = 51.2


def ms(size: int, tflops: float) -> float:
    return 2 * size**3 / tflops / 1e9


def run(lesson: str, rate: float, size: int, cublas: float = CUBLAS) -> dict:
    return {
        "lesson": lesson, "dtype": "fp32", "m": size, "n": size, "k": size, "alpha": 1, "beta": 0, "checked": size * size,
        "error_over_bound": 0.0123, "rms_error": 1e-6, "rms_limit": 4e-6, "ms_median": ms(size, rate),
        "ms_p10": ms(size, rate) * 0.99, "ms_p90": ms(size, rate) * 1.02, "rounds": 21, "tflops": rate,
        "baseline": "cublasGemmEx CUBLAS_COMPUTE_32F", "baseline_kernel": "some_kernel", "baseline_ms_median": ms(size, cublas),
        "ratio": rate / cublas, "sm_clock_mhz": 1980, "power_w": 531.4, "cache": "cold", "kernel_hash": "0" * 64,
    }  # fmt: skip


def gpu_results(lessons: int = 3, sizes: tuple[int, ...] = (256, 1023, 1024, 4096, 4097, 8192)) -> dict:
    runs = []
    for size in sizes:
        share = min(1.0, size / 2048) * (0.9 if size % 2 else 1)
        runs += [run(name, rate * share, size, CUBLAS * share) for name, rate in zip(TWELVE[:lessons], RATES, strict=False)]
    device = {"kind": "cuda", "name": "NVIDIA X999 <Test>", "compute_capability": "9.0", "multiprocessors": 132, "l2_bytes": 1,
              "driver": "13.1", "cuda": "13.0", "power_limit_w": 700}  # fmt: skip
    return {"schema": 1, "device": device, "commit": "0123456789abcdef" * 2 + "01234567", "date": "2031-02-03T04:05:06Z",
            "seed": 7, "runs": runs, "skipped": [], "failed": []}  # fmt: skip


def cpu_results(lessons: int = 3) -> dict:
    runs = [
        {"lesson": name, "dtype": "fp32", "m": m, "n": n, "k": k, "alpha": 1, "beta": 0, "checked": m * n,
         "error_over_bound": value, "rms_error": 1e-7, "rms_limit": 1e-6}
        for name in TWELVE[:lessons]
        for (m, n, k), value in (((1, 1, 1), 0), ((33, 31, 65), 0.0456), ((256, 256, 256), 0.34), ((64, 1024, 8), 1e-5))
    ]  # fmt: skip
    device = {"kind": "cpu", "name": "CPU", "compute_capability": "9.0", "multiprocessors": 2, "l2_bytes": 1}
    return {"schema": 1, "device": device, "seed": 4711, "runs": runs, "skipped": [], "failed": []}


def svg_texts(path: Path) -> Counter[str]:
    """The labels of an SVG and how often each occurs."""
    texts = re.findall(r"<text\b[^>]*>(.*?)</text>", path.read_text(encoding="utf-8"), re.DOTALL)
    return Counter(" ".join(unescape(re.sub(r"<[^>]*>", " ", text)).split()) for text in texts)


def checkout(root: Path, lessons: int = 3, results: dict | None = None) -> Path:
    """A folder with a lesson list, a kernel per lesson and, if given, recorded results whose hashes fit."""
    from runner.results import kernel_hash

    (root / "CMakeLists.txt").write_text("".join(f"gemm_lesson({name})\n" for name in TWELVE[:lessons]), encoding="utf-8")
    for name in TWELVE[:lessons]:
        (root / name).mkdir()
        (root / name / "kernel.cu").write_text(f"// {name}\n    int a = 1;\n\n    int b = 2;\n", encoding="utf-8")
    if results:
        for entry in results["runs"]:
            entry["kernel_hash"] = kernel_hash(root / entry["lesson"] / "kernel.cu")
        (root / "plots" / "results").mkdir(parents=True)
        (root / "plots" / "results" / "h200.json").write_text(json.dumps(results), encoding="utf-8")
    return root
