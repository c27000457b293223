"""What a trace counted, in the words that goals and quiz questions use. Nothing but the standard library is needed."""

from __future__ import annotations

from dataclasses import dataclass

from runner.inspect.trace_types import Figure, Line, Trace


@dataclass(frozen=True)
class Counts:
    """A trace as gemm_inspect writes it."""

    found: Trace
    tile: tuple[int, int, int] = (0, 0, 0)  # BM, BN, BK that the kernel's descriptor says; only in the counts of a check

    @property
    def shape(self) -> tuple[int, int, int]:
        """M, N, K."""
        return self.found["m"], self.found["n"], self.found["k"]

    @property
    def blocks(self) -> int:
        """That were launched, traced or not."""
        return self.found["blocks"]

    @property
    def threads_per_block(self) -> int:
        """As launched."""
        return self.found["threads_per_block"]

    @property
    def barriers_per_thread(self) -> float:
        """Mean over the traced threads of how many __syncthreads() each has met."""
        return self.found["barriers_per_thread"]

    @property
    def flop_per_byte(self) -> float:
        """Over whole sectors that went to and from global memory."""
        return self.found["totals"]["flop_per_byte"] or 0.0

    def lines(self, space: str | None = None, op: str | None = None, array: str | None = None) -> list[Line]:
        """Traced lines; space: global, shared; op: load, store; array: A, As."""
        return [
            line
            for line in self.found["lines"]
            if space in (None, line["space"]) and op in (None, line["op"]) and array in (None, line["array"])
        ]

    def sum(self, key: Figure, **which: str | None) -> int:
        """Of requests, threads, bytes, sectors, ideal_sectors, wavefronts, ideal_wavefronts over lines(**which)."""
        return sum(line[key] for line in self.lines(**which))

    @property
    def global_load_bytes(self) -> int:
        """Whole sectors that global loads asked for."""
        return 32 * self.sum("sectors", space="global", op="load")

    @property
    def global_bytes(self) -> int:
        """Whole sectors that went to and from global memory."""
        return self.found["totals"]["global_bytes"]

    @property
    def shared_bytes(self) -> int:
        """That threads load from and store to shared memory."""
        return self.sum("bytes", space="shared")


def tiles(counts: Counts, BM: int, BN: int) -> int:
    """Of BM×BN, that cover C."""
    M, N, _ = counts.shape
    return -(-M // BM) * -(-N // BN)


def bytes_of_tiles(counts: Counts, BM: int, BN: int, element: int = 4) -> int:
    """Where each tile of C takes its rows of A and its columns of B, in elements of so many bytes, once from global memory."""
    M, N, K = counts.shape
    return element * K * (M * -(-N // BN) + N * -(-M // BM))


# Measures for goals

Measured = tuple[float, Line | None]  # a figure and the line that it comes from, or None where no line does such a thing


def _sectors_of(counts: Counts, op: str) -> Measured:
    counted = [line for line in counts.lines("global", op) if line["requests"] and line["width"]]  # no box has a width
    each = [(line["sectors"] * 4 / max(line["width"], 4) / line["requests"], line) for line in counted]
    return max(each, key=lambda pair: pair[0], default=(0.0, None))


def sectors_a_load(counts: Counts) -> Measured:
    """Sectors a request of the worst line that loads from global memory, for each 4 bytes that a thread loads."""
    return _sectors_of(counts, "load")


def sectors_a_store(counts: Counts) -> Measured:
    """Sectors a request of the worst line that stores to global memory, for each 4 bytes that a thread stores."""
    return _sectors_of(counts, "store")


def bytes_loaded(counts: Counts) -> Measured:
    """From global memory in whole sectors, and the line that loads most of them."""
    lines = counts.lines(space="global", op="load")
    return float(counts.global_load_bytes), max(lines, key=lambda line: line["sectors"], default=None)


def bank_conflicts(counts: Counts) -> Measured:
    """Wavefronts of shared memory beyond the fewest that move the bytes, and the line with most of them."""
    lines = counts.lines(space="shared")
    line = max(lines, key=lambda line: line["wavefronts"] - line["ideal_wavefronts"], default=None)
    return float(sum(line["wavefronts"] - line["ideal_wavefronts"] for line in lines)), line


def shared_bytes_a_flop(counts: Counts) -> Measured:
    """Bytes to and from shared memory over the FLOP of A·B, and the line that moves most of them."""
    m, n, k = counts.shape
    return counts.shared_bytes / (2 * m * n * k), max(counts.lines(space="shared"), key=lambda line: line["bytes"], default=None)


def barriers(counts: Counts) -> Measured:
    """Of a thread, the mean where threads meet different numbers of them; any line, where the kernel ran at all."""
    return counts.barriers_per_thread, next(iter(counts.lines()), None)


def shared_reads(counts: Counts) -> Measured:
    """Requests of all warps that read shared memory, whatever their width, and the line with most of them."""
    lines = counts.lines(space="shared", op="load")
    return float(sum(line["requests"] for line in lines)), max(lines, key=lambda line: line["requests"], default=None)


def narrow_requests(counts: Counts) -> Measured:
    """Requests to global memory of fewer than 16 bytes a thread, and the line with most of them."""
    lines = [line for line in counts.lines(space="global") if 0 < line["width"] < 16]
    return float(sum(line["requests"] for line in lines)), max(lines, key=lambda line: line["requests"], default=None)


def _shared_wavefronts(counts: Counts, op: str) -> Measured:
    lines = counts.lines(space="shared", op=op)
    line = max(lines, key=lambda line: line["wavefronts"] - line["ideal_wavefronts"], default=None)
    return float(sum(line["wavefronts"] for line in lines)), line


def shared_load_wavefronts(counts: Counts) -> Measured:
    """Of all reads of shared memory, and the line with most beyond the ideal."""
    return _shared_wavefronts(counts, "load")


def shared_store_wavefronts(counts: Counts) -> Measured:
    return _shared_wavefronts(counts, "store")
