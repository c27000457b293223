"""`./gemm test --fuzz N`: random problems through every lesson, until one comes out wrong; gemm_fuzz makes that one small."""

from __future__ import annotations

import secrets

from runner.core import doctor, lesson, process
from runner.core.build import build


def fuzz(number: str, name: str | None, seed: str | None) -> int:
    """Exit status: 0 all came out right, 1 one did not."""
    count = int(lesson.whole("--fuzz", number, 1))
    drawn = int(lesson.whole("--seed", seed)) if seed is not None else secrets.randbelow(10**9)
    device = doctor.choose()
    program = build(device, doctor.provide(device), ["gemm_fuzz"]) / "bin" / "gemm_fuzz"
    chosen = [f"--lesson={lesson.find(name)}"] if name else []
    done = process.stream([program, f"--cases={count}", f"--seed={drawn}", *chosen], "Fuzzing", process.PROGRESS)
    process.require(done, "gemm_fuzz", (0, 1), "that problem crashes it")
    print("\n".join(done.lines))
    alone = f" --lesson {name}" if name else ""
    print(f"Seed {drawn}: repeat with ./gemm test --fuzz {count} --seed {drawn}{alone}.")
    return done.status
