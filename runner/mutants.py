"""Mutants of the lessons' kernels: one small edit each, such as a learner's slip makes, drawn by a seed.

common/check/edits.toml says what an edit is; here is what is made of its patterns. What does not compile is no mutant. What
compiles and is right all the same is none either: mistakes.toml names such edits, and why, as [[equivalent]]: those inside of a
`piece` of a kernel that leave `becomes` of it, both regular expressions, of which the second one describes all that is left.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from runner.core.results import ROOT
from runner.learn.exercise import Task
from runner.mistakes import equivalents, tomllib, undrawn

EDITS = Path("common") / "check" / "edits.toml"


@dataclass(frozen=True)
class Edit:
    """text[start:end] becomes `new`. kind: of the mistake, in a word or two."""

    kind: str
    start: int
    end: int
    new: str


@dataclass(frozen=True)
class Mutant:
    """A lesson's kernel.cu with one edit. line, before, after: where it is, and what that line becomes."""

    lesson: str
    kind: str
    line: int
    before: str
    after: str
    text: str


@cache
def _rules() -> Mapping[str, Any]:
    return tomllib.loads((ROOT / EDITS).read_text(encoding="utf-8"))


def _stops(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(stop for name in names for stop in _rules()["stops"][name])


def without_comments(text: str) -> str:
    """The text with spaces where its comments are, so that every place stays where it is."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda comment: re.sub(r"[^\n]", " ", comment[0]), text, flags=re.DOTALL)


def _right_of(text: str, at: int, stops: tuple[str, ...]) -> int:
    """Where the operand that begins at `at` ends: at a closing bracket, or at one of `stops` outside of brackets."""
    depth = 0
    for i in range(at, len(text)):
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
            if depth < 0:
                return i
        elif depth == 0 and text.startswith(stops, i):
            return i
    return len(text)


def _left_of(text: str, at: int, stops: tuple[str, ...]) -> int:
    """Where the operand that ends at `at` begins."""
    depth = 0
    for i in range(at - 1, -1, -1):
        if text[i] in ")]}":
            depth += 1
        elif text[i] in "([{":
            depth -= 1
            if depth < 0:
                return i + 1
        elif depth == 0:
            found = next((stop for stop in stops if text.startswith(stop, i)), "")
            if found and i + len(found) <= at:
                return i + len(found)
    return 0


def _made(rule: Mapping[str, Any], found: re.Match[str]) -> list[tuple[int, int, str]]:
    """What a rule of edits.toml makes of what it has found: start, end and what stands there instead."""
    text, start, end = found.string, found.start(), found.end()
    if "from" in rule:
        start = _left_of(text, start, _stops(rule["from"]))
    if "then" in rule:
        middle, last = (_stops([name]) for name in rule["then"])
        between = _right_of(text, end, middle)
        behind = _right_of(text, between + 2, last)
        return [(start, behind, text[end:between].strip()), (start, behind, text[between + 2 : behind].strip())]
    if "to" in rule:
        end = _right_of(text, end, _stops(rule["to"]))
    if "each" in rule:
        return [(start, end, rule["each"][found[0]])]
    if "add" in rule:
        return [(start, end, str(int(found[0]) + step)) for step in rule["add"] if int(found[0]) + step >= 0]
    return [(start, end, found.expand(instead)) for instead in rule.get("instead", [""])]


def _by_rules(text: str, signature: bool) -> Iterator[Edit]:
    """The edits that rules make of the text, of those that are for signatures or of the others."""
    for rule in _rules()["edit"]:
        if (rule.get("in") == "signature") != signature:
            continue
        for found in re.finditer(rule["find"], text, re.MULTILINE):
            if "behind" in rule and not text[: found.start()].rstrip().endswith(tuple(rule["behind"])):
                continue  # the last line of a longer statement
            kind = next((name for name, words in rule.get("of", {}).items() if re.search(words, found[0])), rule["kind"])
            for start, end, new in _made(rule, found):
                yield Edit(kind, start, end, new)


def _exchanges(text: str) -> Iterator[Edit]:
    """A name for another of its kind."""
    for kind, groups in _rules()["exchange"].items():
        for names in groups:
            group = [name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)]
            for found in re.finditer(rf"(?<!\w)(?:{'|'.join(map(re.escape, group))})(?!\w)", text) if group else ():
                for other in group:
                    if other != found[0]:
                        yield Edit(kind, found.start(), found.end(), other)


def edits(text: str, undrawn: Iterable[str] = ()) -> list[Edit]:
    """All that there are of a kernel, those with which it does not compile among them; in the text's order. undrawn: regular
    expressions of what is left out of this one."""
    code, rules = without_comments(text), _rules()
    cut = re.search(rules["cut"], code, re.MULTILINE)
    code = code[: cut.start()] if cut else code
    signatures = [span.span() for span in re.finditer(rules["signature"], code)]
    spans = [span.span() for left_out in (*rules["left_out"], *undrawn) for span in re.finditer(left_out, code, re.M | re.S)]

    def touches(edit: Edit, those: Iterable[tuple[int, int]]) -> bool:
        return any(start < edit.end and edit.start < end for start, end in those)

    found = {edit for edit in (*_by_rules(code, False), *_exchanges(code)) if not touches(edit, [*spans, *signatures])}
    found |= {edit for edit in _by_rules(code, True) if touches(edit, signatures)}
    return sorted(found, key=lambda edit: (edit.start, edit.end, edit.new))


def _values(text: str) -> dict[str, int]:
    """The named constants that are plain numbers, or products of such."""
    known: dict[str, int] = {}
    for name, value in re.findall(_rules()["constant"], without_comments(text)):
        try:
            known[name] = int(eval(value.replace("/", "//"), {}, known))  # noqa: S307
        except (NameError, SyntaxError):
            continue
    return known


def mutant(lesson: str, text: str, edit: Edit) -> Mutant:
    """The kernel with this edit."""
    begin, end = text.rfind("\n", 0, edit.start) + 1, text.find("\n", edit.end)
    first, last = text[begin : edit.start], text[edit.end : end]
    lines = (first + text[edit.start : edit.end] + last, first + edit.new + last)
    shown = (re.sub(r"\s+", " ", re.sub(r"//.*", "", line)).strip() for line in lines)
    changed = text[: edit.start] + edit.new + text[edit.end :]
    before, after = shown
    return Mutant(lesson, edit.kind, text.count("\n", 0, edit.start) + 1, before, after, changed)


def why_equivalent(lesson: str, text: str, edit: Edit) -> str:
    """Why mistakes.toml says that the kernel is right all the same, or nothing."""
    for rule in equivalents(lesson):
        for piece in re.finditer(rule["piece"], text):
            if piece.start() <= edit.start and edit.end <= piece.end():
                left = text[piece.start() : edit.start] + edit.new + text[edit.end : piece.end()]
                if re.fullmatch(rule["becomes"], left, re.DOTALL):
                    return rule["why"]
    return ""


def drawn(lesson: str, seed: int) -> Iterator[Mutant]:
    """A lesson's mutants, one of each kind of edit after the other, as the seed draws them; equivalents are left out."""
    text = Task(lesson, "exercise").kernel()
    values = _values(text)
    kinds: dict[str, list[Edit]] = {}
    for edit in edits(text, undrawn(lesson)):
        old = text[edit.start : edit.end]
        if old in values and values[old] == values.get(edit.new):
            continue  # another name of the same number
        kinds.setdefault(edit.kind, []).append(edit)
    draw = random.Random(f"{seed} {lesson}")
    order = sorted(kinds)
    draw.shuffle(order)
    for kind in order:
        draw.shuffle(kinds[kind])
    seen = {text}
    while order:
        for kind in list(order):
            if not kinds[kind]:
                order.remove(kind)
                continue
            edit = kinds[kind].pop()
            made = mutant(lesson, text, edit)
            if made.text not in seen and not why_equivalent(lesson, text, edit):
                seen.add(made.text)
                yield made
