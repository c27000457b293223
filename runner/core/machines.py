"""What an SM of each compute capability has room for; common/machines.inc has the numbers and their sources."""

from __future__ import annotations

import ast
from typing import TypedDict

from runner.core.results import ROOT

_KIB = 1024


class Machine(TypedDict):
    """Counts are of an SM, memory is in bytes. Read in the browser by explorer/occupancy.js.

    That a warp's registers come from one of an SM's four parts, and in what unit: CUDA's occupancy calculator.
    """

    gpu: str  # one that has it
    sms: int  # of that GPU
    threads: int
    blocks: int
    registers: int  # of 32 bits
    registers_a_thread: int  # at most
    shared: int
    shared_a_block: int  # at most
    shared_reserved: int  # of each block, by CUDA
    shared_unit: int  # in which it is given out
    register_unit: int  # in which a warp gets its registers
    parts: int


def _machine(line: str) -> tuple[str, Machine]:
    sm, gpu, sms, threads, blocks, shared, reserved, unit = ast.literal_eval(f"({line.strip('{},')})")
    return f"sm_{sm}", {
        "gpu": gpu,
        "sms": sms,
        "threads": threads,
        "blocks": blocks,
        "registers": 65536,
        "registers_a_thread": 255,
        "shared": shared * _KIB,
        "shared_a_block": (shared - reserved) * _KIB,
        "shared_reserved": reserved * _KIB,
        "shared_unit": unit,
        "register_unit": 256,
        "parts": 4,
    }


_TABLE = (ROOT / "common" / "machines.inc").read_text(encoding="utf-8")
MACHINES = dict(_machine(line) for line in _TABLE.splitlines() if line.startswith("{"))  # by architecture: sm_90
