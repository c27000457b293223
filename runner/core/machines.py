"""What an SM of each compute capability has room for; common/machines.inc has the numbers and their sources."""

from __future__ import annotations

import ast
from dataclasses import asdict, dataclass

from runner.core.results import ROOT

_KIB = 1024


@dataclass(frozen=True)
class Machine:
    """Counts are of an SM, memory is in bytes. The explorer gets it as JSON (website/explorer/occupancy.js).

    That a warp's registers come from one of an SM's four parts, and in what unit: CUDA's occupancy calculator.
    """

    capability: str  # "9.0"
    gpu: str  # one that has it
    sms: int  # of that GPU
    threads: int
    blocks: int
    shared: int
    shared_a_block: int  # at most
    shared_reserved: int  # of each block, by CUDA
    shared_unit: int  # in which it is given out
    registers: int = 65536  # of 32 bits
    registers_a_thread: int = 255  # at most
    register_unit: int = 256  # in which a warp gets its registers
    parts: int = 4


def _machine(line: str) -> tuple[str, Machine]:
    sm, gpu, sms, threads, blocks, shared, reserved, unit = ast.literal_eval(f"({line.strip('{},')})")
    return f"sm_{sm}", Machine(
        capability=f"{sm // 10}.{sm % 10}",
        gpu=gpu,
        sms=sms,
        threads=threads,
        blocks=blocks,
        shared=shared * _KIB,
        shared_a_block=(shared - reserved) * _KIB,
        shared_reserved=reserved * _KIB,
        shared_unit=unit,
    )


_TABLE = (ROOT / "common" / "machines.inc").read_text(encoding="utf-8")
MACHINES = dict(_machine(line) for line in _TABLE.splitlines() if line.startswith("{"))  # by architecture: sm_90


def as_json() -> dict[str, dict]:
    """The same for a page."""
    return {name: asdict(machine) for name, machine in MACHINES.items()}
