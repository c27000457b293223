#!/usr/bin/env python3
"""Mutants of the lessons' own kernels: one planted mistake each, by replacing a piece of kernel.cu.

usage: derive.py --list                 the names, separated by semicolons (for CMake)
       derive.py --source NAME          the lesson's kernel.cu
       derive.py NAME OUTPUT            writes the mutant, in namespace mutant_NAME
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

# Name: lesson, and what is replaced. Every piece must be there exactly once.
MUTANTS: dict[str, tuple[str, dict[str, str]]] = {
    "no_barrier_05": (
        "05_2d_blocktile",
        {"__syncthreads();  // the tiles are complete before anyone reads them": ""},
    ),
    "stale_tail_05": (  # what lies past K keeps the value of the tile before instead of 0
        "05_2d_blocktile",
        {
            "row0 + a_row + i < M && k0 + a_k < K ? a[i * lda] : 0.0f": "row0 + a_row + i < M && k0 + a_k < K ? a[i * lda] : "
            "As[a_row + i][a_k]",
            "k0 + b_k + i < K && col0 + b_col < N ? b[i * ldb] : 0.0f": "k0 + b_k + i < K && col0 + b_col < N ? b[i * ldb] : "
            "Bs[b_k + i][b_col]",
        },
    ),
    "transposed_05": (  # hidden by a symmetric A, and by nothing else
        "05_2d_blocktile",
        {
            "const float* a = A + (row0 + a_row) * lda + a_k;": "const float* a = A + a_k * lda + row0 + a_row;",
            "k0 += BK, a += BK, b += BK * ldb": "k0 += BK, a += BK * lda, b += BK * ldb",
            "? a[i * lda] : 0.0f": "? a[i] : 0.0f",
        },
    ),
    "unaligned_06": ("06_vectorized", {"(p.K | p.N | p.lda | p.ldb | p.ldc) % 4 == 0": "(p.K | p.N) % 4 == 0"}),
    "no_barrier_07": ("07_double_buffer", {"__syncthreads();  // the next tiles are complete, and everyone has read these": ""}),
    "stage_kept_07": ("07_double_buffer", {"stage ^= 1;": ""}),
    "wait_too_short_08": (
        "08_cp_async",
        {
            f"{16 * ' '}gemm::ptx::cp_async_wait<STAGES - 2>();\n": f"{16 * ' '}gemm::ptx::cp_async_wait<STAGES - 1>();\n",
            "    gemm::ptx::cp_async_wait<STAGES - 2>();\n    __syncthreads();": "    gemm::ptx::cp_async_wait<STAGES - 1>();\n"
            "    __syncthreads();",
        },
    ),
    "no_zeros_08": ("08_cp_async", {"a_k < steps && ": "", "b_k + i < steps && ": ""}),
}


def derive(name: str) -> str:
    lesson, changes = MUTANTS[name]
    text = (ROOT / lesson / "kernel.cu").read_text(encoding="utf-8")
    for right, wrong in changes.items():
        if text.count(right) != 1:
            raise SystemExit(f"derive.py: {lesson}/kernel.cu has {text.count(right)} times what {name} replaces: {right!r}")
        text = text.replace(right, wrong)
    number = lesson.partition("_")[0]
    text = text.replace(f"lesson_{number}", f"mutant_{name}").replace(f'"{lesson}"', f'"{name}"')
    return re.sub(r"^// (?:gap: [\w-]+|end gap)\n", "\n", text, flags=re.MULTILINE)


def main(arguments: list[str]) -> int:
    if arguments == ["--list"]:
        print(";".join(MUTANTS), end="")
    elif len(arguments) == 2 and arguments[0] == "--source":
        print(ROOT / MUTANTS[arguments[1]][0] / "kernel.cu", end="")
    elif len(arguments) == 2 and arguments[0] in MUTANTS:
        output = Path(arguments[1])
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(derive(arguments[0]), encoding="utf-8")
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
