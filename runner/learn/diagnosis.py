"""From what gemm_check found wrong to the mistake that explains it, in words that a learner can act on.

The tables are keyed by the ids of common/facts.hpp, and by those of the check's cases; a test holds them against each other.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from runner.inspect.trace_types import Fault, Finding, First, Verdict
from runner.learn.check_types import Case

CodeOf = Callable[[str, int], str]  # file and line -> the source there
Tile = tuple[int, int, int]  # BM, BN, BK


@dataclass(frozen=True)
class Diagnosis:
    """What is told of a check that did not pass."""

    mistake: str  # a sentence that names it
    advice: str  # what to look at
    evidence: tuple[str, ...] = ()  # where, which thread, expected, got
    id: str = (
        ""  # of the mistake: a fault's, a finding's or a pattern's, with_CASE, or what is told here alone, such as far_outside
    )


# What several tables say: mistake, advice.
_PITCH = (
    "A row pitch is taken for the row's length.",
    "Row r of A begins at r * lda, of B at r * ldb, of C at r * ldc, not at r * K or r * N.",
)
_ALPHA_ZERO = (
    "A or B is read although alpha is 0.",
    "BLAS's rule: with alpha == 0 they are not read, since they may hold NaN, and 0 · NaN is NaN.",
)
_BETA_ZERO = (
    "C is read although beta is 0.",
    "With beta == 0, C must not be read at all: it may hold NaN, and 0 · NaN is NaN.",
)

_NEVER_WRITTEN = "Elements of C are never written."
_IMPRECISE = (
    "The result is less precise than FP32.",
    "Something was rounded to a shorter type or to a whole number, or summed in one.",
)
_IMPRECISE_SHORT = (
    "The result is less precise than a sum in FP32 that is rounded once.",
    "Are the sums kept in the short type, or alpha and beta? Is the result cut off instead of rounded?",
)

# What the wrong values have in common -> mistake, advice. None: that alone does not say.
_PATTERNS: dict[str, tuple[str, str] | None] = {
    "never_written": (
        _NEVER_WRITTEN,
        "Each thread writes its own: every row < M, every column < N. Is there an assignment to C, and who reaches it?",
    ),
    "unchanged": (_NEVER_WRITTEN, "They hold what C held before the kernel ran."),
    "c_transposed": (
        "Row and column are swapped.",
        "Look at where row and col are computed, and in which order the addresses use them.",
    ),
    "a_and_b_transposed": (
        "Row and column are swapped in A and in B.",
        "A[row][k] lies at row * lda + k, B[k][col] at k * ldb + col. In shared memory: As[row in the tile][k], Bs[k][column].",
    ),
    "a_transposed": ("A is read with row and column swapped.", "A[row][k] lies at row * lda + k."),
    "a_not_transposed": ("A is read with row and column swapped.", "It lies transposed: A[row][k] lies at k * lda + row."),
    "b_not_transposed": ("B is read with row and column swapped.", "It lies transposed: B[k][col] lies at col * ldb + k."),
    "a_and_b_other_way": (
        "Row and column are swapped in A and in B.",
        "What lies transposed has its columns one after the other: A[row][k] at k * lda + row, B[k][col] at col * ldb + k.",
    ),
    "b_transposed": ("B is read with row and column swapped.", "B[k][col] lies at k * ldb + col."),
    "pitch": _PITCH,
    "nan_with_alpha_zero": _ALPHA_ZERO,
    "alpha_times_c": ("alpha multiplies C, too.", "alpha·acc + beta·C: alpha belongs to the sum alone."),
    "beta_c_missing": ("beta·C is forgotten.", "With beta ≠ 0 the old value of C counts: alpha·acc + beta·C."),
    "beta_is_one": ("The old C is added without its factor beta.", "alpha·acc + beta·C."),
    "product_missing": ("alpha·A·B is forgotten.", "These elements hold beta·C alone: is acc ever added up?"),
    "alpha_missing": ("alpha is forgotten.", "The sum over k is to be multiplied by alpha."),
    "sum_is_zero": (
        "The sum over k is 0.",
        "Is anything added to acc, and are the values that are multiplied ever loaded?",
    ),
    "last_product_alone": ("Each product replaces the sum.", "acc += …, not acc = …"),
    "k_tail": (
        "The last, partial tile along K is left out.",
        "K is no multiple of BK: the loop must run for every k0 < K, with zeros past K.",
    ),
    "first_step_missing": ("The sum begins one step too late.", "k runs from 0."),
    "last_step_missing": ("The sum ends one step too early.", "k runs to K − 1: k < K."),
    "first_tile_alone": ("Only the first tile along K counts.", "The loop over k0 must go on, and acc keep its value."),
    "last_tile_alone": ("Only the last tile along K counts.", "Is acc set to 0 again in every tile?"),
    "inputs_in_bf16": _IMPRECISE,
    "inputs_in_bf16_cut": _IMPRECISE,
    "inputs_in_tf32_or_fp16": _IMPRECISE,
    "inputs_in_tf32": _IMPRECISE,
    "inputs_in_tf32_cut": _IMPRECISE,
    "inputs_in_whole_numbers": _IMPRECISE,
    "products_in_whole_numbers": _IMPRECISE,
    "sum_in_whole_numbers": _IMPRECISE,
    "few_digits": _IMPRECISE,
    "short_inputs_or_sum": _IMPRECISE,
    "short_sum": _IMPRECISE,
    "zero": None,
    "nan": None,
    "nan_with_beta_zero": None,
    "everywhere": None,
    "last_row_of_tiles": None,
    "last_column_of_tiles": None,
    "one_tile": None,
    "one_row": None,
    "one_column": None,
    "every_nth_row": None,
    "every_nth_column": None,
}
_NAN = {"nan", "nan_with_alpha_zero", "nan_with_beta_zero"}
_TRANSPOSED = {"c_transposed", "a_and_b_transposed", "a_and_b_other_way", "a_transposed", "b_transposed", "a_not_transposed",
               "b_not_transposed"}  # fmt: skip
_PLACES = {"everywhere", "last_row_of_tiles", "last_column_of_tiles", "one_tile", "one_row", "one_column", "every_nth_row",
           "every_nth_column"}  # fmt: skip

# What the case adds to those that were right -> mistake, advice, where nothing else explains it.
_CASES = {
    "one_tile": (
        "The result is wrong even where one block tile fits exactly.",
        "Follow one element by hand: which row of A and "
        "column of B does its thread read, in which order, and where does it write?",
    ),
    "tiles": (
        "One block tile is right, several are not.",
        "What depends on blockIdx.x, and what on k0: rows, columns, addresses?",
    ),
    "pitches": _PITCH,
    "edges": (
        "The edges of C are not handled.",
        "M and N are no multiples of the block tile: the last tiles reach past C. "
        "Compare row with M and col with N before every access.",
    ),
    "k_tail": (
        "The end of K is not handled.",
        "K is no multiple of BK: the last tile has fewer valid steps. What lies past K must count as 0, in both tiles.",
    ),
    "odd": (
        "The edges are right where the rows are padded, and wrong without padding.",
        "What is read past the end of a row is the beginning of the next one here. Compare k and col with K and N before every "
        "access.",
    ),
    "fours": (
        "Sizes or pitches that are multiples of 16 bytes, or just not, are not handled.",
        "16-byte accesses need their guards at the edges, too, and a pitch and a pointer that keep every row aligned.",
    ),
    "beta": ("C = A·B is right, beta·C is not added rightly.", "alpha·acc + beta·C, with the old value of the same element."),
    "alpha_alone": ("alpha is not applied rightly where beta is 0.", "C = alpha·A·B there, and not A·B."),
    "alpha": ("alpha is not applied rightly.", "C = alpha·A·B + beta·C: alpha multiplies the sum, not C."),
    "alpha_zero": _ALPHA_ZERO,
    "k_zero": (
        "K = 0 is not handled.",
        "Without any step the result is beta·C. A bound such as K − 1 is below 0 here, and in an unsigned type it is huge.",
    ),
    "small": ("The smallest sizes are wrong.", "Does anything assume at least a whole tile, a row or a vector?"),
    "empty": ("An empty C is not handled.", "With M = 0 or N = 0 nothing may be launched: a grid of 0 blocks is an error."),
    "again": (
        "A second launch gives what the first one gave, or what is left of it.",
        "Each launch computes from what A, B and C hold then. What is kept from the launch before, in a static variable or in "
        "memory of the device?",
    ),
    "products": (
        "Each difficulty alone is handled, and not these together.",
        "Which branch is taken with just these scalars, this K and these addresses? Follow alpha, beta and the old C through it.",
    ),
    "types": (
        "One of the types is handled, and not the other.",
        "The kernel is a template of the elements' type T: is anything written for one type alone?",
    ),
    "paths": (
        "A path that launch() takes for such sizes only is wrong.",
        "Which kernel does launch() choose here, and how do blockIdx.x and the number of tiles give the tile's place in it?",
    ),
    "far": (
        "Offsets beyond 2^31 elements are wrong.",
        "row * lda does not fit into 32 bits here: row, or the pitch, must be a std::int64_t before they are multiplied.",
    ),
    "many_blocks": (
        "More than 65535 blocks are not handled.",
        "Only gridDim.x counts that far: y and z end at 65535. And 16 bits hold no more, wherever blockIdx.x or a row goes.",
    ),
    "long_k": ("It is right up to some thousand steps along K, and not beyond 65536.", "Does a counter have 16 bits?"),
}

# What findings mean, in the order in which they explain each other: a race explains what was read too early.
_FINDINGS = {
    "misaligned_access": (
        "An access is not aligned to its width.",
        "A GPU faults here. An access of 16 bytes needs an address that is a multiple of 16: what if a pitch or a column is odd, "
        "or the matrix itself begins elsewhere?",
    ),
    "host_pointer": ("The kernel uses memory of the host.", "A GPU cannot read it: pass values, or device pointers."),
    "shared_out_of_bounds": (
        "An index into a shared array is too large.",
        "Which of its indices passes the array's size?",
    ),
    "no_dynamic_shared_memory": (
        "launch() gives the kernel too little dynamic shared memory.",
        "What an extern __shared__ array takes is the third argument of <<<grid, block, bytes, stream>>>, in bytes.",
    ),
    "copy_in_flight": (
        "A cp.async copy is used before anyone has waited for it.",
        "Wait for its group, then a barrier, then read.",
    ),
    "race": ("A barrier is missing.", "All threads must have written before anyone reads: __syncthreads() between the two."),
    "load_in_flight": (
        "Shared memory is used while TMA is still bringing it.",
        "Every thread that uses what a load brings waits for the mbarrier first. With the parity of the right phase? A wait for "
        "parity 1 at a fresh mbarrier returns at once.",
    ),
    "load_overwrites": (
        "A load by TMA overwrites what a thread has yet to use.",
        "A stage may be filled again when all who read it have arrived at its mbarrier, after their last read, and the thread "
        "that starts the load has waited for that.",
    ),
    "loads_overlap": (
        "Two loads by TMA bring the same place of shared memory.",
        "Is the box as large as the stage? And has the load before it been waited for?",
    ),
    "store_in_flight": (
        "Shared memory is overwritten while TMA is still storing it.",
        "The thread that started the store waits with cp.async.bulk.wait_group.read, then a barrier, then the others may write.",
    ),
    "no_proxy_fence": (
        "TMA need not see what a thread has written.",
        "Each thread that has written executes fence.proxy.async, then a barrier, then one thread starts the copy.",
    ),
    "mbarrier_not_begun": (
        "An mbarrier is used by a thread that cannot know it to have begun.",
        "One thread begins the mbarriers; __syncthreads() comes before any other uses them.",
    ),
    "mbarrier_unfenced": (
        "TMA need not see that an mbarrier has begun.",
        "The thread that has begun the mbarriers executes fence_mbarrier_init() before the first load.",
    ),
    "wgmma_in_flight": (
        "Shared memory is overwritten while wgmma is still reading it.",
        "wgmma.wait_group first; then whoever has waited releases the stage, at its mbarrier.",
    ),
    "wgmma_unfenced": (
        "wgmma need not see what a thread has written to shared memory.",
        "Each thread that has written executes fence.proxy.async, then a barrier, then the warpgroup multiplies.",
    ),
    "block_left": (
        "A block of a cluster may have returned when another reaches into its shared memory.",
        "All threads of the cluster meet once more before they return: cluster_sync().",
    ),
    "store_past_row": (
        "A store by TMA writes past the end of a row.",
        "It writes whole 16 bytes, also where the last of them are padding or the next matrix: where N elements are no multiple "
        "of 16 bytes, the threads store C themselves.",
    ),
    "out_of_bounds": (
        "The kernel leaves its matrices.",
        "Compute the address of this access by hand, for the thread named here.",
    ),
    "write_to_padding": (
        "The kernel writes between the rows of C.",
        "Compute the address of this access by hand, for the thread named here.",
    ),
    "write_to_input": (
        "The kernel writes to A or B.",
        "They are inputs, const in the kernel's parameters: only C is written.",
    ),
    "uninitialised_read": (
        "Shared memory is read where nobody has written.",
        "Which thread should have loaded this element, and has it done so before the read? Where tiles "
        "are loaded ahead: also those that are loaded before the loop begins?",
    ),
    "forbidden_read": _BETA_ZERO,
    "no_kernel": (
        "C is right, and no kernel has computed it.",
        "launch() is to start the kernel, whose threads write C; it must not compute on the host.",
    ),
    # Last: where a guard is missing, what leaves a row lands in another block's elements, too.
    "block_race": (
        "Two blocks write the same element of C, and not the same value.",
        "No barrier holds for two blocks, which run in any order or at the same time. Which of them should write it? If "
        "each has a part of the sum: atomicAdd() to a C that an earlier launch, or cudaMemsetAsync(), has set to 0 or to beta·C.",
    ),
}
_OUTSIDE = ("out_of_bounds", "write_to_padding")

_PLACE = (
    "The kernel leaves its matrices although every size is a multiple of the block tile.",
    "No guard is missing here: a place is wrong. How do blockIdx.x and the number of tiles give the tile's row and column, and "
    "threadIdx the element in it? Or is a tile loaded that lies behind the last one along K?",
)
_INDICES = ("far", "many_blocks", "long_k")  # cases that are wrong where an index has too few bits
_LONG_K = 512  # one of k_tail's cases has more
_FAR = (
    "An address is far outside of its matrix: no guard is missing, the address is wrong.",
    "Row r of A begins at r * lda, of B at r * ldb, of C at r * ldc. Compute the index by hand, for the thread named here.",
)
_DIAGONAL = (
    "Only the diagonal of a tile is written: many threads share an element of C.",
    "Each thread needs a place of its own: threadIdx.x gives one of row and col, threadIdx.y the other.",
)
_TILES_ROUNDED_DOWN = (
    "The last {0} of tiles is never written.",
    "Is the number of tiles rounded up? {1} is no multiple of {2}: there are ({1} + {2} − 1) / {2} tiles, the last one not full.",
)
_HELD_AGAINST = (
    "It is wrong from {0} {1} on, and {2} is {1}.",
    "Is {0} held against {2}? Rows of A and C end at M, columns of B and C at N: row < M and col < N. If these are right: are "
    "the tile's row and column, which blockIdx.x and the number of tiles give, the wrong way round?",
)
_WHOLE_TILES = (
    "Whole tiles of C are never written.",
    "Every tile needs its block: how do blockIdx.x and the number of tiles give a tile's row and column? The grid has the "
    "dimensions that launch() gives it: blockIdx.y is always 0 in a grid of one.",
)
_BY_HAND = "Compute the index by hand, for the thread named here."
_LAUNCH = ("The launch was refused.", "Look at the grid, the block and the shared memory that launch() asks for.")
ENDED = (
    "launch(), or what it calls, ended the program.",
    "Nothing in the file may call exit() or abort(), or overwrite memory of the host.",
)
_ENDLESS = ("A loop does not end.", "Which variable of its condition changes in every round?")
_NO_MEMORY = (
    "launch() asks for memory that is not there.",
    "A cudaMalloc has failed, which its return value says. The kernel needs no memory beside A, B and C.",
)
_NO_END = ("The kernel could not run to its end.", "")
# Why there is no result -> mistake, advice.
_FAULTS = {
    "endless_loop": _ENDLESS,
    "divergent_barrier": (
        "Not all threads of the block reach the same barrier.",
        "Every thread of the block must reach a __syncthreads(), also those without an element of C: no return before it, no "
        "branch around it.",
    ),
    "deadlock": _NO_END,
    "mbarrier_hang": (
        "No thread of the block can go on: a GPU would hang.",
        "Look at the mbarrier that somebody waits for: who was to arrive there, or which bytes were to come?",
    ),
    "mbarrier_misused": ("An mbarrier is used in a way that a GPU leaves undefined.", "Which thread begins it, and when?"),
    "phase_too_early": (
        "An mbarrier's phase is complete before all bytes have come.",
        "expect_tx must say how many bytes the copies of a phase bring: whole boxes, also where they reach past the matrix.",
    ),
    "copy_refused": ("A copy by TMA is one that a GPU does not do.", "Compute the addresses and sizes named here by hand."),
    "copy_left_behind": (
        "The block ends before a copy by TMA does.",
        "Whoever started a store waits with cp.async.bulk.wait_group before it returns; a load's mbarrier must be waited for.",
    ),
    "wgmma_misused": (
        "wgmma is used in a way that a GPU leaves undefined.",
        "All 128 threads of a warpgroup execute wgmma.fence, the multiplications, commit_group and, before they touch the sums, "
        "wait_group.",
    ),
    "cluster_misused": (
        "What the blocks of a cluster do together is used in a way that a GPU leaves undefined.",
        "Which block is meant, by its number in the cluster, and is it there at that time: begun, and not returned?",
    ),
    "registers_missing": (
        "The warpgroups ask for more registers than the block has.",
        "Add up, over all warpgroups, 128 times what setmaxnreg leaves each: it must fit what the block was launched with.",
    ),
    "null_pointer": ("A null pointer is used.", _BY_HAND),
    "wild_pointer": ("An address is far outside of everything.", _BY_HAND),
    "beyond_allocations": ("An address is far outside of every matrix.", _BY_HAND),
    "division_by_zero": (
        "An integer is divided by zero.",
        "Which divisor can be 0? N / BN is where N < BN: a number of tiles is rounded up, (N + BN − 1) / BN.",
    ),
    "foreign_write": ("The kernel writes to memory that is not the device's.", _BY_HAND),
    "stack_overflow": _NO_END,
    "trap": ("The kernel ends itself.", "Nothing in the exercise needs a __trap()."),
    "kernel_threw": _NO_END,
    "threw": ("launch() or prepare() threw an exception.", "Which function throws what is named here, and why?"),
    "ended_program": ENDED,
    "out_of_memory": _NO_MEMORY,
    "launch_refused": _LAUNCH,
    "launch_failed": _NO_END,
    "no_answer": _NO_END,
    "other": _NO_END,
}


def _line(finding: Finding, code_of: CodeOf) -> str:
    code = code_of(finding["file"], finding["line"])
    return f"line {finding['line']}: {code}" if code else ""


def _of_finding(finding: Finding, code_of: CodeOf, case: Case, tile: Tile | None) -> Diagnosis:
    kind, beyond, what = finding["id"], finding["beyond"], f"{finding['access']}s"
    often = f"; the first of {finding['count']}" if finding["count"] > 1 else ""
    mistake, advice = _FINDINGS[kind]
    named = str(kind)
    if kind == "race" and finding["other"] and finding["access"] == finding["other"]["access"] == "write":
        mistake, advice = "Two threads write the same place of shared memory.", "Which of the two should write it?"
        named = "race_of_writes"
    elif kind == "race" and finding.get("in_one_tile") is False:
        advice = (
            "One tile along K is right. All threads must have read a tile before anyone overwrites it in the next round of the "
            "loop: __syncthreads() at the end of a round."
        )
        named = "race_of_rounds"
    elif kind == "forbidden_read" and finding["array"] != "C":
        (mistake, advice), named = _ALPHA_ZERO, "inputs_read_with_alpha_zero"
    elif kind in _OUTSIDE and case["id"] in ("k_zero", *_INDICES):
        (mistake, advice), named = _CASES[case["id"]], f"with_{case['id']}"
    elif kind in _OUTSIDE and beyond > 1 and tile and beyond >= max(tile):
        (mistake, advice), named = _FAR, "far_outside"
    elif kind in _OUTSIDE and beyond == 1:
        mistake, named = f"The kernel {what} one past the edge of the matrix, and never farther.", "one_past_the_edge"
        advice = "A guard or a loop is off by one: is a < written as <=, or a >= as >? The last valid index is size − 1."
        if case["id"] == "k_tail" and what == "reads":
            advice += " Or there is none: behind the other rows of A lies padding or the next row, which does not show."
    elif kind in _OUTSIDE and beyond > 1:
        mistake = f"The kernel {what} past the edge of the matrix, by up to {beyond} rows or columns: a guard is missing."
        named = "past_the_edge"
        advice = (
            "The last tile reaches past the edge. Compare the row and the column with the matrix's own sizes before this access: "
            "A is M×K, B is K×N, C is M×N."
        )
    return Diagnosis(mistake, advice, tuple(filter(None, (finding["text"] + often, _line(finding, code_of)))), named)


def _of_fault(fault: Fault, case: Case) -> Diagnosis:
    (mistake, advice), named = _FAULTS[fault["id"]], str(fault["id"])
    if case["id"] in _INDICES and fault["id"] in ("launch_refused", "null_pointer", "wild_pointer", "beyond_allocations"):
        (mistake, advice), named = _CASES[case["id"]], f"with_{case['id']}"
    elif fault["id"] == "endless_loop":
        if case["id"] == "k_zero":
            (mistake, advice), named = _CASES["k_zero"], "with_k_zero"
        elif case["k"] > 255:
            advice += " Can it reach the end? 8 bits count to 255, and 16 to 65535."
    return Diagnosis(mistake, advice, (fault["text"],), named)


def _of_place(case: Case, verdict: Verdict, patterns: set[str]) -> tuple[str, str, str] | None:
    """What the place of the wrong elements tells, where every element past an edge of the other matrix is one, and the like."""
    if verdict["failure"] != "elements" or not verdict["first"]:
        return None
    first, wrong = (verdict["first"]["row"], verdict["first"]["column"]), verdict["wrong"]
    never, (m, n) = "never_written" in patterns, (case["m"], case["n"])
    if never and m == n and first == (0, 1) and wrong == m * n - n:
        return *_DIAGONAL, "diagonal"
    if first == (0, m) and wrong == m * (n - m):
        return _HELD_AGAINST[0].format("column", m, "M"), _HELD_AGAINST[1].format("col", "", "M"), "held_against_m"
    if first == (n, 0) and wrong == n * (m - n):
        return _HELD_AGAINST[0].format("row", n, "N"), _HELD_AGAINST[1].format("row", "", "N"), "held_against_n"
    if never and case["id"] not in ("one_tile", "tiles", "pitches"):
        for word, size, tile in (("column", "N", "BN"), ("row", "M", "BM")):
            if f"last_{word}_of_tiles" in patterns:
                mistake, advice = _TILES_ROUNDED_DOWN
                return mistake.format(word), advice.format(word, size, tile), f"last_{word}_of_tiles"
    return (*_WHOLE_TILES, "whole_tiles") if never and case["id"] == "tiles" else None


def _figure(value: float | str | None, digits: int) -> str:
    return f"{value:.{digits}g}" if isinstance(value, int | float) else {"nan": "NaN"}.get(str(value), str(value))


def _first_wrong(first: First) -> tuple[str, str]:
    """Two lines: where and who, got and expected."""
    where = f"first wrong: row {first['row']}, column {first['column']}"
    if first["block"] and first["thread"]:
        block, thread = (",".join(map(str, place)) for place in (first["block"], first["thread"]))
        where += f" (block ({block}), warp {first['warp']}, thread ({thread}))"
    got = "nothing: never written" if first["got"] == "nothing" else _figure(first["got"], 9)
    return where, f"got {got}, expected {_figure(first['expected'], 9)} ± {_figure(first['bound'], 3)}"


def _patterns(verdict: Verdict) -> tuple[str, ...]:
    """One line, or none."""
    values = [p["text"] for p in verdict["patterns"] if p["id"] not in _PLACES]
    places = [p["text"] for p in verdict["patterns"] if p["id"] in _PLACES]
    said = "; ".join(filter(None, ("; ".join(values), ", ".join(places))))
    return (f"pattern: {said}",) if said else ()


def diagnose(case: Case, code_of: CodeOf, tile: Tile | None = None) -> Diagnosis:
    """Of a case that failed; tile: what the kernel declares. Findings explain wrong results, so they come first."""
    findings = sorted(case["findings"], key=lambda f: list(_FINDINGS).index(f["id"]))
    fault, verdict = case["error"], case["verdict"]
    if fault and (fault["id"] in ("divergent_barrier", "endless_loop") or not findings):
        return _of_fault(fault, case)
    wrong = _first_wrong(verdict["first"]) if verdict and verdict["failure"] == "elements" and verdict["first"] else ()
    patterns = {pattern["id"] for pattern in verdict["patterns"]} if verdict else set()
    # Addresses that are computed wrongly leave their matrices as well: here the result says more than the access.
    telling = patterns & _TRANSPOSED
    if findings and findings[0]["id"] == "block_race":
        # So do places: then there are others that nobody writes.
        telling |= patterns & {"never_written"}
    found = _of_finding(findings[0], code_of, case, tile) if findings else None
    outside = any(finding["id"] in _OUTSIDE for finding in findings)
    if found and case["id"] == "pitches" and outside:
        return Diagnosis(*_PITCH, found.evidence, "pitch")
    whole_tiles = case["id"] in ("one_tile", "tiles") and outside and findings[0]["beyond"] != 1
    if found and whole_tiles and findings[0]["id"] in _OUTSIDE and not telling:
        # Every size is a multiple of the tile here: what leaves a matrix has a wrong place, not a guard that is missing.
        return Diagnosis(*_PLACE, found.evidence, "wrong_place")
    if found and not telling:
        return replace(found, evidence=found.evidence + wrong)
    if not verdict or not verdict["failure"]:
        return Diagnosis("The check found it wrong and does not say why.", "", tuple(f["text"] for f in case["findings"]))
    said = wrong + _patterns(verdict) or (verdict["text"].splitlines()[0],)
    told = _of_place(case, verdict, patterns) or _of_patterns(verdict)
    if case["id"] in _INDICES:
        told = None  # it was right where no index is large: what is left of it does not tell more
    if told and told[:2] == _IMPRECISE and case["variant"] != "fp32":
        told = *_IMPRECISE_SHORT, told[2]
    mistake, advice, named = told or _of_case(case, patterns)
    return Diagnosis(mistake, advice, said, named)


def _of_patterns(verdict: Verdict) -> tuple[str, str, str] | None:
    """What the first pattern that says something tells."""
    return next(((*words, p["id"]) for p in verdict["patterns"] if (words := _PATTERNS[p["id"]])), None)


def _of_case(case: Case, patterns: set[str]) -> tuple[str, str, str]:
    """What the case adds to those that were right."""
    if patterns & _NAN and case["id"] in ("one_tile", "tiles"):
        return "NaN gets into the result.", _BETA_ZERO[1], "nan"
    if case["id"] == "k_tail" and case["k"] > _LONG_K:
        return "It is right with a small K, and not beyond 512.", "Does a counter or an index have 8 bits?", "with_k_beyond_512"
    mistake, advice = _CASES.get(case["id"], (f"Wrong as soon as there is {case['what']}.", ""))
    return mistake, advice, f"with_{case['id']}"
