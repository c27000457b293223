"""Writes what an NVIDIA GPU of compute capability 9.0 gives for the random boxes of the copy engine and the random
multiplications of a warpgroup, for test_hopper.py to hold every device against:

    cmake --build --preset cuda --target tma_cases wgmma_cases
    .venv/bin/python tests/python/record_hopper.py
"""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from runner.core import git  # noqa: E402
from runner.core.results import write_atomically  # noqa: E402

RECORDED = ROOT / "tests" / "recorded" / "h200-hopper.json"
MODES = {"tma_cases": 16, "wgmma_cases": 150}  # of a program; the copy engine's last one is the refusals of tensor maps alone
SEEDS = (1, 2)
CASES = 100  # a mode and seed
_SECONDS = 60
_AT_ONCE = 8  # processes on the GPU


def printed(build: Path, program: str, seed: int, mode: int) -> list[str]:
    """The lines of a mode, in a process of its own: a GPU that refuses a case takes no further one from the process."""
    command = [str(build / "bin" / program), str(CASES), str(seed), str(mode)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_SECONDS)
    if done.returncode != 0:
        raise RuntimeError(f"{program}, mode {mode}, seed {seed}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return done.stdout.splitlines()


def record(to: Path, programs: dict[str, int], seeds: tuple[int, ...]) -> int:
    """Runs every mode and writes those that are right; says what the others printed, and is then 1."""
    query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    gpu = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0]
    commit = git.commit_for(True, "run")
    asked = [(program, seed, mode) for program, modes in programs.items() for seed in seeds for mode in range(modes)]

    def answer(program: str, seed: int, mode: int) -> list[str] | Exception:
        try:
            return printed(ROOT / "build" / "cuda", program, seed, mode)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return error

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        answers = list(pool.map(lambda one: answer(*one), asked))
    runs = []
    for (program, seed, mode), lines in zip(asked, answers, strict=True):
        if isinstance(lines, Exception):
            print(f"wrong: {lines}", file=sys.stderr)
        else:
            runs.append({"program": program, "seed": seed, "mode": mode, "printed": lines})
    content = {"gpu": gpu, "commit": commit, "date": datetime.now(timezone.utc).isoformat(timespec="seconds"), "runs": runs}
    write_atomically(to, json.dumps(content, indent=1) + "\n")
    print(f"{to.relative_to(ROOT)}: {len(runs)} of {len(asked)} modes.")
    return 0 if len(runs) == len(asked) else 1


if __name__ == "__main__":
    sys.exit(record(RECORDED, MODES, SEEDS))
