"""What an SM of each compute capability has room for: what the explorer's "What if" divides.

Sources: CUDA C++ Programming Guide, "Technical specifications per compute capability"; the kilobyte that CUDA takes of a block's
shared memory from 8.0 on: Ampere tuning guide, "Shared Memory". In what units registers and shared memory are given out, and
that a warp's registers come from one of an SM's four parts: CUDA's occupancy calculator (cuda_occupancy.h). A compute capability
has no number of SMs: it is that of the GPU that is named.
"""

from __future__ import annotations

from typing import TypedDict

KIB = 1024


class Machine(TypedDict):
    """Counts are of an SM, memory is in bytes. Read in the browser by explorer/occupancy.js."""

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


def _machine(gpu: str, sms: int, threads: int, blocks: int, shared: int, reserved: int = KIB, unit: int = 128) -> Machine:
    """A block may have all of an SM's shared memory but what CUDA takes for itself."""
    return {
        "gpu": gpu,
        "sms": sms,
        "threads": threads,
        "blocks": blocks,
        "registers": 65536,
        "registers_a_thread": 255,
        "shared": shared,
        "shared_a_block": shared - reserved,
        "shared_reserved": reserved,
        "shared_unit": unit,
        "register_unit": 256,
        "parts": 4,
    }


MACHINES: dict[str, Machine] = {
    "sm_75": _machine("T4", 40, 1024, 16, 64 * KIB, reserved=0, unit=256),
    "sm_80": _machine("A100", 108, 2048, 32, 164 * KIB),
    "sm_86": _machine("A40", 84, 1536, 16, 100 * KIB),
    "sm_87": _machine("AGX Orin", 16, 1536, 16, 164 * KIB),
    "sm_89": _machine("RTX 4090", 128, 1536, 24, 100 * KIB),
    "sm_90": _machine("H100 SXM, H200", 132, 2048, 32, 228 * KIB),
    "sm_100": _machine("B200", 148, 2048, 32, 228 * KIB),
    "sm_120": _machine("RTX 5090", 170, 1536, 24, 100 * KIB),
}
