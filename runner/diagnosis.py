"""From what gemm_check found wrong to the mistake that explains it, in words that a learner can act on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

CodeOf = Callable[[str, int], str]  # file and line -> the source there


@dataclass(frozen=True)
class Diagnosis:
    mistake: str  # a sentence that names it
    advice: str  # what to look at
    evidence: tuple[str, ...] = ()  # where, which thread, expected, got


# What findings mean, in the order in which they explain each other: a race explains what was read too early.
_KINDS = (
    "misaligned access",
    "host pointer",
    "shared memory out of bounds",
    "copy in flight",
    "race",
    "out of bounds",
    "write to padding",
    "uninitialised read",
)

# Words of the verifier's pattern -> mistake, advice.
_PATTERNS = (
    ("never written", "Elements of C are never written.", "Each thread writes its own: every row < M, every column < N."),
    ("still hold what C held before", "Elements of C are never written.", "They hold what C held before the kernel ran."),
    (
        "rows and columns are swapped",
        "Row and column are swapped.",
        "Look at where row and col are computed, and in which order the addresses use them.",
    ),
    (
        "A and B are read transposed",
        "Row and column are swapped in A and in B.",
        "A[row][k] is row * lda + k, B[k][col] k * ldb + col.",
    ),
    ("A is read transposed", "A is read with row and column swapped.", "A[row][k] lies at row * lda + k."),
    ("B is read transposed", "B is read with row and column swapped.", "B[k][col] lies at k * ldb + col."),
    (
        "padding between rows is ignored",
        "A row pitch is taken for the row's length.",
        "Row r of A begins at r * lda, of B at r * ldb, of C at r * ldc, not at r * K or r * N.",
    ),
    (
        "A or B was read, which alpha = 0",
        "A or B is read although alpha is 0.",
        "BLAS: they may hold NaN then, and 0 · NaN is NaN.",
    ),
    ("alpha multiplies C, too", "alpha multiplies C, too.", "alpha·acc + beta·C: alpha belongs to the sum alone."),
    ("beta·C is missing", "beta·C is forgotten.", "With beta ≠ 0 the old value of C counts: alpha·acc + beta·C."),
    ("beta is taken for 1", "The old C is added without its factor beta.", "alpha·acc + beta·C."),
    ("alpha·A·B is missing", "alpha·A·B is forgotten.", "These elements hold beta·C alone: is acc ever added up?"),
    ("alpha is missing", "alpha is forgotten.", "The sum over k is to be multiplied by alpha."),
    ("the sum over k was never added up", "The sum over k is never added up.", "acc still holds the 0 that it began with."),
    ("each product replaces the sum", "Each product replaces the sum.", "acc += …, not acc = …"),
    (
        "the K tail is missing",
        "The last, partial tile along K is left out.",
        "K is no multiple of BK: the loop must run for every k0 < K, with zeros past K.",
    ),
    ("the first step", "The sum begins one step too late.", "k runs from 0."),
    ("the last step", "The sum ends one step too early.", "k runs to K − 1: k < K."),
    ("over the first tile alone", "Only the first tile along K counts.", "The loop over k0 must go on, and acc keep its value."),
    ("over the last tile of K alone", "Only the last tile along K counts.", "Is acc set to 0 again in every tile?"),
    ("rounded", "The result is less precise than FP32.", "Something was rounded to a shorter type, or summed in one."),
)

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
    "pitches": (
        "A row pitch is taken for the row's length.",
        "Row r of A begins at r * lda, of B at r * ldb, of C at r * ldc, not at r * K or r * N.",
    ),
    "edges": (
        "The edges of C are not handled.",
        "M and N are no multiples of the block tile: the last tiles reach past C. "
        "Compare row with M and col with N before every access.",
    ),
    "k_tail": (
        "The end of K is not handled.",
        "K is no multiple of BK: the last tile has fewer valid steps. What lies past K must count as 0, in both tiles.",
    ),
    "beta": ("C = A·B is right, beta·C is not added rightly.", "alpha·acc + beta·C, with the old value of the same element."),
    "alpha": ("alpha is not applied rightly.", "C = alpha·A·B + beta·C: alpha multiplies the sum, not C."),
    "alpha_zero": (
        "A or B is read although alpha is 0.",
        "BLAS's rule: with alpha == 0 they are not read, since they may hold NaN, and 0 · NaN is NaN.",
    ),
    "k_zero": ("K = 0 is not handled.", "Without any step the result is beta·C."),
    "small": ("The smallest sizes are wrong.", "Does anything assume at least a whole tile, a row or a vector?"),
    "empty": ("An empty C is not handled.", "With M = 0 or N = 0 nothing may be launched: a grid of 0 blocks is an error."),
}

_FINDINGS = {
    "race": ("A barrier is missing.", "All threads must have written before anyone reads: __syncthreads() between the two."),
    "uninitialised read": (
        "Shared memory is read where nobody has written.",
        "Which thread should have loaded this element of the tile, and has it done so before the read?",
    ),
    "out of bounds": (
        "The kernel leaves its matrices.",
        "Compute the address of this access by hand, for the thread named here.",
    ),
    "shared memory out of bounds": (
        "An index into a shared array is too large.",
        "Which of its indices passes the array's size?",
    ),
    "misaligned access": (
        "An access is not aligned to its width.",
        "A GPU faults here. An access of 16 bytes needs an address that is a multiple of 16: what if a pitch or a column is odd?",
    ),
    "copy in flight": (
        "A cp.async copy is used before anyone has waited for it.",
        "Wait for its group, then a barrier, then read.",
    ),
    "host pointer": ("The kernel uses memory of the host.", "A GPU cannot read it: pass values, or device pointers."),
}

_BY_HAND = "Compute the index by hand, for the thread named here."
_LAUNCH = ("The launch was refused.", "Look at the grid, the block and the shared memory that launch() asks for.")
_ERRORS = (
    ("endless loop", "A loop does not end.", "Which variable of its condition changes in every round?"),
    (
        "divergent barrier",
        "Not all threads of the block reach the same barrier.",
        "Every thread of the block must reach a __syncthreads(), also those without an element of C: no return before it, no "
        "branch around it.",
    ),
    ("null pointer", "A null pointer is used.", _BY_HAND),
    ("wild pointer", "An address is far outside of everything.", _BY_HAND),
    ("outside everything that cudaMalloc gave", "An address is far outside of every matrix.", _BY_HAND),
    ("division by zero", "An integer is divided by zero.", ""),
    ("launch was refused", *_LAUNCH),
    ("could not be launched", *_LAUNCH),
)


def _line(finding: Mapping, code_of: CodeOf) -> str:
    code = code_of(finding["file"], finding["line"])
    return f"line {finding['line']}: {code}" if code else ""


def _of_finding(finding: Mapping, code_of: CodeOf) -> Diagnosis:
    kind, message, beyond = finding["kind"], finding["message"], finding.get("beyond", 0)
    often = f" (first of {finding['count']})" if finding["count"] > 1 else ""
    what = "writes" if " writes " in message else "reads"
    mistake, advice = _FINDINGS.get(kind, (f"The kernel has a fault: {kind}.", ""))
    if kind == "race" and " wrote " in message and what == "writes":
        mistake, advice = "Two threads write the same place of shared memory.", "Which of the two should write it?"
    elif kind == "race" and finding.get("in_one_tile") is False:
        advice = (
            "One tile along K is right. All threads must have read a tile before anyone overwrites it in the next round of the "
            "loop: __syncthreads() at the end of a round."
        )
    elif kind in ("out of bounds", "write to padding") and beyond == 1:
        mistake = f"The kernel {what} one past the edge of the matrix, and never farther."
        advice = "A guard is off by one: is a < written as <=, or a >= as >? The last valid index is size − 1."
    elif kind in ("out of bounds", "write to padding") and beyond > 1:
        mistake = f"The kernel {what} past the edge of the matrix, by up to {beyond} rows or columns: a guard is missing."
        advice = "The last tile reaches past the edge. Compare the row and the column with the matrix's size before this access."
    return Diagnosis(mistake, advice, tuple(filter(None, (message + often, _line(finding, code_of)))))


def _of_error(error: str) -> Diagnosis:
    mistake, advice = next((told for word, *told in _ERRORS if word in error), ("The kernel could not run to its end.", ""))
    return Diagnosis(mistake, advice, (error,))


def diagnose(case: Mapping, code_of: CodeOf) -> Diagnosis:
    """Of a case that failed. Findings explain wrong results, so they come first."""
    findings = sorted((f for f in case["findings"] if f["kind"] in _KINDS), key=lambda f: _KINDS.index(f["kind"]))
    error = case["error"]
    if "divergent barrier" in error or "endless loop" in error or not findings and error:
        return _of_error(error)
    failure = (case["verdict"] or {}).get("failure", "")
    said = tuple(line.strip() for line in failure.splitlines()[1:])
    pattern = next((line for line in said if line.startswith("pattern: ")), "")
    # Addresses that are computed wrongly leave their matrices as well: here the result says more than the access.
    telling = any(word in pattern for word in ("swapped", "transposed"))
    if case["id"] == "pitches" and any(finding["kind"] in ("out of bounds", "write to padding") for finding in findings):
        return Diagnosis(*_CASES["pitches"], _of_finding(findings[0], code_of).evidence)
    if findings and not telling:
        found = _of_finding(findings[0], code_of)
        wrong = tuple(line for line in said if not line.startswith("pattern: "))
        return Diagnosis(found.mistake, found.advice, found.evidence + wrong)
    if findings and not pattern:
        return _of_finding(findings[0], code_of)
    if case["id"] == "tiles" and "never written" in pattern:
        advice = "Every tile needs its block: how do blockIdx.x and the number of tiles give a tile's row and column?"
        return Diagnosis("Whole tiles of C are never written.", advice, said)
    for word, mistake, advice in _PATTERNS:
        if word in pattern:
            return Diagnosis(mistake, advice, said)
    if not failure:
        return Diagnosis("The check found it wrong and does not say why.", "", tuple(f["message"] for f in case["findings"]))
    evidence = said or (failure.splitlines()[0],)
    mistake, advice = _CASES.get(case["id"], (f"Wrong as soon as there is {case['what']}.", ""))
    if "NaN" in pattern and case["id"] in ("one_tile", "tiles"):
        mistake, advice = (
            "NaN gets into the result.",
            "With beta == 0, C must not be read at all: it may hold NaN, and 0 · NaN is NaN.",
        )
    return Diagnosis(mistake, advice, evidence)
