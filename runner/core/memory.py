"""What a warp's request asks of memory: sectors of global memory, banks and wavefronts of shared memory.

The tracer's rules (common/cpu/trace/banks.cpp says where they come from) decide what a page or a table says of a kernel. These
are for what nobody traced: a quiz's numbers, a picture. tests/recorded/requests.json holds them against the tracer's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

WARP, BANKS = 32, 32  # threads; banks of shared memory, WORD bytes each
WORD, SECTOR, LINE = 4, 32, 128  # bytes


def pieces(addresses: Iterable[int], width: int, size: int) -> set[int]:
    """Numbers of the pieces of memory, `size` bytes each, that these accesses of `width` bytes lie in."""
    return {piece for at in addresses for piece in range(at // size, (at + width - 1) // size + 1)}


def sectors(addresses: Iterable[int], width: int = WORD) -> int:
    """32-byte sectors that a warp's request to global memory touches.

    addresses: in bytes, one a thread; width: bytes a thread. CUDA C++ Programming Guide, "Device Memory Accesses".
    """
    return len(pieces(addresses, width, SECTOR))


def words_of_banks(words: Iterable[int]) -> Counter[int]:
    """By bank, how many different words of it are asked for; words: index of a 4-byte word, word i in bank i mod 32."""
    return Counter(word % BANKS for word in set(words))


def wavefronts(words: Iterable[int]) -> int:
    """Passes that a warp's 4-byte request to shared memory takes; words: index of a 4-byte word, one a thread.

    A pass reads one word of each of the 32 banks, for all threads that want it. CUDA C++ Programming Guide, "Shared Memory"
    under the compute capabilities.
    """
    return max(words_of_banks(words).values(), default=0)
