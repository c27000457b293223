"""From what gemm_check found wrong to the mistake that explains it, in words that a learner can act on.

The words are in diagnoses.json: for each id the mistake in a sentence, then what to look at; the id of another one where its
words do for this one, too; null for what alone does not say anything. Its patterns, findings and faults are those of
common/facts.hpp, its cases those of the check; a test holds them against each other. Findings stand in the order in which they
explain each other: a race explains what was read too early, and where a guard is missing, what leaves a row lands in another
block's elements.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

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
    # Of the mistake: a fault's, a finding's or a pattern's, with_CASE, or what is told here alone, such as far_outside.
    id: str = ""


TABLES: dict[str, dict[str, list[str] | str | None]] = json.loads(
    (Path(__file__).with_name("diagnoses.json")).read_text(encoding="utf-8")
)
# What has words of its own. A case is told of as what it adds to those that were right.
_WORDS = {f"with_{id}" if table == "cases" else id: words for table, ids in TABLES.items() for id, words in ids.items() if words}
_FINDINGS = list(TABLES["findings"])
_NAN = {"nan", "nan_with_alpha_zero", "nan_with_beta_zero"}
_TRANSPOSED = {"c_transposed", "a_and_b_transposed", "a_and_b_other_way", "a_transposed", "b_transposed", "a_not_transposed",
               "b_not_transposed"}  # fmt: skip
_PLACES = {"everywhere", "one_problem", "later_problems", "last_row_of_tiles", "last_column_of_tiles", "one_tile", "one_row",
           "one_column", "every_nth_row", "every_nth_column"}  # fmt: skip
_OUTSIDE = ("out_of_bounds", "write_to_padding")
_INDICES = ("far", "many_blocks", "long_k")  # cases that are wrong where an index has too few bits
_SCALED = ("alpha", "alpha_alone", "numbers")  # cases with another alpha than those before
_LONG_K = 512  # one of k_tail's cases has more


def diagnosis_of(id: str, evidence: Iterable[str] = (), words_of: str = "", more: str = "", **values: object) -> Diagnosis:
    """Of a mistake that is known. words_of: another id, whose words do; more: advice; values: what the words leave open."""
    words = _WORDS[words_of or id]
    if isinstance(words, str):
        return diagnosis_of(id, evidence, words, more, **values)
    mistake, advice = words[0], " ".join(words[1:]) + more
    return Diagnosis(mistake.format(**values) if values else mistake, advice, tuple(evidence), id)


def _of_finding(finding: Finding, evidence: Iterable[str], case: Case, tile: Tile | None) -> Diagnosis:
    kind, beyond, what = str(finding["id"]), finding["beyond"], f"{finding['access']}s"
    if kind == "race" and finding["other"] and finding["access"] == finding["other"]["access"] == "write":
        return diagnosis_of("race_of_writes", evidence)
    if kind == "race" and finding.get("in_one_tile") is False:
        return diagnosis_of("race_of_rounds", evidence)
    if kind == "forbidden_read" and finding["array"] != "C":
        return diagnosis_of("inputs_read_with_alpha_zero", evidence)
    if kind not in _OUTSIDE:
        return diagnosis_of(kind, evidence)
    # An index that has too few bits leads far away.
    if case["id"] == "k_zero" or (case["id"] in _INDICES and not (tile and 0 < beyond < max(tile))):
        return diagnosis_of(f"with_{case['id']}", evidence)
    if beyond > 1 and tile and beyond >= max(tile):
        return diagnosis_of("far_outside", evidence)
    if beyond > 1:
        return diagnosis_of("past_the_edge", evidence, what=what, beyond=beyond)
    if beyond == 1:
        none = " Or is there none? After the other rows of A comes padding or the next row, so there it does not show."
        return diagnosis_of("one_past_the_edge", evidence, more=none * (case["id"] == "k_tail" and what == "reads"), what=what)
    return diagnosis_of(kind, evidence)


def _of_fault(fault: Fault, case: Case) -> Diagnosis:
    kind, more = str(fault["id"]), ""
    too_few_bits = ("launch_refused", "null_pointer", "wild_pointer", "beyond_allocations")
    if (case["id"] in _INDICES and kind in too_few_bits) or (case["id"] == "k_zero" and kind == "endless_loop"):
        kind = f"with_{case['id']}"
    elif kind == "endless_loop" and case["k"] > 255:
        more = " Can it reach the end? 8 bits count to 255, and 16 to 65535."
    return diagnosis_of(kind, (fault["text"],), more=more)


def _of_place(case: Case, verdict: Verdict, patterns: set[str]) -> Diagnosis | None:
    """What the place of the wrong elements tells, where every element past an edge of the other matrix is one, and the like."""
    if verdict["failure"] != "elements" or not verdict["first"]:
        return None
    first, wrong = (verdict["first"]["row"], verdict["first"]["column"]), verdict["wrong"]
    never, (m, n) = "never_written" in patterns, (case["m"], case["n"])
    if case["id"] == "order" and patterns & {"never_written", "unchanged"}:
        return diagnosis_of("with_order")
    if never and m == n and first == (0, 1) and wrong == m * n - n:
        return diagnosis_of("diagonal")
    if first == (0, m) and wrong == m * (n - m):
        return diagnosis_of("held_against_m", size=m)
    if first == (n, 0) and wrong == n * (m - n):
        return diagnosis_of("held_against_n", size=n)
    if never and case["id"] not in ("one_tile", "tiles", "pitches"):
        # Where some of it is written, the number of tiles is right.
        for place, whole in (("last_column_of_tiles", m * (n - first[1])), ("last_row_of_tiles", (m - first[0]) * n)):
            if place in patterns and wrong == whole:
                return diagnosis_of(place)
    return diagnosis_of("whole_tiles") if never and case["id"] == "tiles" else None


def _of_patterns(case: Case, verdict: Verdict) -> Diagnosis | None:
    """What the first pattern that says something tells."""
    id = next((str(p["id"]) for p in verdict["patterns"] if TABLES["patterns"][p["id"]]), None)
    if id == "sum_is_zero" and case["id"] in _SCALED:
        return None  # it was added up where alpha was another
    if id and _WORDS[id] == "imprecise" and case["variant"] != "fp32":
        return diagnosis_of(id, words_of="imprecise_short")
    return diagnosis_of(id) if id else None


def _of_case(case: Case, patterns: set[str], inside: bool) -> Diagnosis:
    """What the case adds to those that were right. inside: a C tile is wrong that has no edge."""
    if case["id"] == "edges" and inside:
        return diagnosis_of("with_edges", words_of="inside")
    if patterns & _NAN and case["id"] in ("one_tile", "tiles"):
        return diagnosis_of("nan")
    if case["id"] == "k_tail" and case["k"] > _LONG_K:
        return diagnosis_of("with_k_beyond_512")
    return diagnosis_of(f"with_{case['id']}")


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
    """Of a case that failed; tile: what the kernel declares."""
    found = _diagnosed(case, code_of, tile)
    findings = _by_weight(case)
    # The matrices that are meant: C is an input where the problem has a D.
    named = {"{result}": "D" if any(operand["name"] == "D" for operand in case["operands"]) else "C"}
    named |= {"{array}": findings[0]["array"]} if findings else {}
    mistake, advice = found.mistake, found.advice
    for field, name in named.items():
        mistake, advice = mistake.replace(field, name), advice.replace(field, name)
    return replace(found, mistake=mistake, advice=advice)


def _by_weight(case: Case) -> list[Finding]:
    return sorted(case["findings"], key=lambda f: _FINDINGS.index(f["id"]))


def _diagnosed(case: Case, code_of: CodeOf, tile: Tile | None) -> Diagnosis:
    """Findings explain wrong results, so they come first."""
    findings = _by_weight(case)
    fault, verdict = case["error"], case["verdict"]
    if fault and (fault["id"] in ("divergent_barrier", "endless_loop") or not findings):
        return _of_fault(fault, case)
    wrong = _first_wrong(verdict["first"]) if verdict and verdict["failure"] == "elements" and verdict["first"] else ()
    patterns = {str(pattern["id"]) for pattern in verdict["patterns"]} if verdict else set()
    if findings:
        first = findings[0]
        often = f"; the first of {first['count']}" if first["count"] > 1 else ""
        code = code_of(first["file"], first["line"])
        where = (first["text"] + often, *([f"line {first['line']}: {code}"] if code else []))
        outside = any(finding["id"] in _OUTSIDE for finding in findings)
        if case["id"] == "pitches" and outside:
            return diagnosis_of("pitch", where)
        # Addresses that are computed wrongly leave their matrices as well: there the result says more than the access. So do
        # places, where two blocks write the same element: then there are others that nobody writes.
        telling = patterns & (_TRANSPOSED | ({"never_written"} if first["id"] == "block_race" else set()))
        if not telling and case["id"] in ("one_tile", "tiles") and first["id"] in _OUTSIDE and first["beyond"] != 1:
            # Every size is a multiple of the tile here: what leaves a matrix has a wrong place, not a guard that is missing.
            return diagnosis_of("wrong_place", where)
        if not telling:
            return _of_finding(first, where + wrong, case, tile)
    if not verdict or not verdict["failure"]:
        return Diagnosis("The check found it wrong, but can't say why.", "", tuple(f["text"] for f in case["findings"]))
    known = _of_place(case, verdict, patterns) or _of_patterns(case, verdict)
    if case["id"] in _INDICES:
        known = None  # it was right where no index is large: what is left of it does not tell more
    at = verdict["first"]
    inside = bool(tile and at and at["row"] < tile[0] < case["m"] and at["column"] < tile[1] < case["n"])
    known = known or _of_case(case, patterns, inside)
    said = wrong + _patterns(verdict) or (verdict["text"].splitlines()[0],)
    return Diagnosis(known.mistake, known.advice, said, known.id)
