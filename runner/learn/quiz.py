"""`./gemm quiz`: five questions a lesson, whose numbers are drawn from a seed and whose answers are computed.

A lesson's exercise.py declares `QUIZ = (function, …)`, each `def name(q: Quiz) -> Question`: it draws its numbers from q,
and computes the answer with a formula from here or takes it from q.trace(…). Nothing but the standard library is needed
until something is traced.
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
import operator
import re
import secrets
import shutil
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from runner.core.memory import WARP, sectors, wavefronts  # noqa: F401  what exercises import from here
from runner.core.results import UserError, folder_of
from runner.inspect.counts import Counts

SCHEMA = 1
T = TypeVar("T")


# Formulas


def ceil_div(a: int, b: int) -> int:
    """a/b, rounded up."""
    return -(-a // b)


def flop(m: int, n: int, k: int) -> int:
    """Of A·B: a multiply and an add for each of M·N·K products."""
    return 2 * m * n * k


def bytes_once(m: int, n: int, k: int, reads_c: bool = False) -> int:
    """Bytes where A and B are read once, C is written once and, with beta != 0, read once; float."""
    return 4 * (m * k + k * n + m * n * (2 if reads_c else 1))


def tile_bytes(m: int, n: int, k: int, bm: int, bn: int) -> int:
    """Bytes that blocks of bm×bn load, where each loads every element of its tiles of A and B once; float.

    M, N: multiples of bm, bn. Lesson 03: M·N·K·(1/BM + 1/BN) elements.
    """
    return 4 * (m * n * k // bm + m * n * k // bn)


@dataclass(frozen=True)
class Sm:
    """What an SM holds. CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"."""

    capability: str
    threads: int
    blocks: int
    shared: int  # bytes
    registers: int = 65536


SMS = (
    Sm("8.0", 2048, 32, 164 * 1024),
    Sm("8.9", 1536, 24, 100 * 1024),
    Sm("9.0", 2048, 32, 228 * 1024),
    Sm("12.0", 1536, 24, 100 * 1024),
)


def blocks_by_limit(sm: Sm, threads: int, registers: int = 0, shared: int = 0) -> dict[str, int]:
    """How many blocks each of an SM's limits lets in; the smallest decides. 0 registers or bytes: no limit from there.

    threads: a block's, a multiple of 128 (an SM has four parts, a warp's registers come from one of them); registers: a
    thread's, given out in eights; shared: bytes a block, given out in 128s, with 1 KiB that the system takes from 8.0 on.
    CUDA C++ Best Practices Guide, "Occupancy"; Tuning Guides, "Shared Memory".
    """
    limits = {"block slots": sm.blocks, "threads": sm.threads // threads}
    if registers:
        limits["registers"] = sm.registers // (threads * 8 * ceil_div(registers, 8))
    if shared:
        limits["shared memory"] = sm.shared // (128 * ceil_div(shared, 128) + 1024)
    return limits


def grouped(value: int) -> str:
    """1048576 -> `1 048 576`."""
    return f"{value:,}".replace(",", " ")


def number(value: float) -> str:
    """Whole numbers with their digits grouped, others to four digits: 1 048 576, 0.06061."""
    return grouped(round(value)) if value == int(value) or abs(value) >= 1000 else f"{value:.4g}"


# Questions


@dataclass(frozen=True)
class Question:
    """One question. `text` states all that the answer needs."""

    text: str
    answer: float  # with choices: the number of the right one, from 1
    unit: str  # "sectors", "bytes", "FLOP/B", "%"; empty: a mere number
    explanation: str  # the way to the answer with the drawn numbers
    tolerance: float = 0.0  # relative; 0: exact
    choices: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Raises ValueError where no answer could be right."""
        if not math.isfinite(self.answer) or not 0 <= self.tolerance < 1:
            raise ValueError(f"no question: the answer is {self.answer}, the tolerance {self.tolerance}")
        if self.choices and self.answer not in range(1, len(self.choices) + 1):
            raise ValueError(f"no question: choice {self.answer} of {len(self.choices)}")

    @property
    def whole_text(self) -> str:
        """With the choices, if there are any."""
        return "\n".join([self.text, *(f"    {i}  {choice}" for i, choice in enumerate(self.choices, 1))])

    @property
    def wanted(self) -> str:
        """What an answer is, for the prompt."""
        if self.choices:
            return f"1 to {len(self.choices)}"
        how = f"to {100 * self.tolerance:g} %" if self.tolerance else "exactly"
        return f"{f'in {self.unit}, ' if self.unit else ''}{how}"

    def is_right(self, given: float) -> bool:
        """Whether the answer is within the tolerance."""
        slack = max(self.tolerance * abs(self.answer), 1e-12 * max(1.0, abs(self.answer)))  # the second: rounding
        return abs(given - self.answer) <= slack

    @property
    def told(self) -> str:
        """The answer in words."""
        if self.choices:
            return f"{self.answer:.0f}, {self.choices[int(self.answer) - 1]}"
        return f"{number(self.answer)} {self.unit.removesuffix('s') if self.answer == 1 else self.unit}".strip()


@dataclass
class Tracer:
    """Traces of a lesson's own kernel on the CPU device, each made once; gemm_inspect is built when the first is asked for."""

    lesson: str
    made: dict[object, Counts] = field(default_factory=dict)

    def __call__(self, m: int, n: int, k: int, blocks: str, options: tuple[str, ...]) -> Counts:
        from runner.inspect import inspection  # needs more than the standard library

        request = inspection.Request(m, n, k, blocks, (*options, "--seed=1"))
        if request not in self.made:
            program = inspection.build_tracer() / "gemm_inspect"
            found, status = inspection.trace(program, self.lesson, request)
            if status:
                raise UserError(
                    f"{folder_of(self.lesson)}/kernel.cu, which the answers come from, is wrong; "
                    f"./gemm inspect {self.lesson} says more."
                )
            self.made[request] = Counts(found)
        return self.made[request]


class Quiz:
    """What one question draws its numbers from, and traces with.

    The draws depend on the lesson, the question's name, the seed and their order alone, on every version of Python.
    """

    def __init__(self, lesson: str, name: str, seed: int, tracer: Tracer) -> None:
        self._key, self._drawn, self._tracer = f"{lesson} {name} {seed}", 0, tracer

    def whole(self, low: int, high: int) -> int:
        """Of low, …, high, each as likely."""
        digest = hashlib.sha256(f"{self._key} {self._drawn}".encode()).digest()
        self._drawn += 1
        return low + int.from_bytes(digest, "big") % (high - low + 1)

    def choose(self, values: Sequence[T]) -> T:
        """One of the values, each as likely."""
        return values[self.whole(0, len(values) - 1)]

    def trace(self, m: int, n: int, k: int, *, alpha: float = 1, beta: float = 0, blocks: str = "all") -> Counts:
        """What this lesson's own kernel does at that shape, with the smallest pitches.

        Keep M·N·K below two million: it is traced while the learner waits. blocks: all or how many. Raises UserError where
        it cannot be built or traced.
        """
        return self._tracer(m, n, k, blocks, (f"--alpha={alpha:g}", f"--beta={beta:g}"))


Ask = Callable[[Quiz], Question]


def questions(lesson: str, declared: Sequence[Ask], seed: int, tracer: Tracer | None = None) -> list[Question]:
    """The questions of this seed. Raises UserError as Quiz.trace does."""
    trace = tracer or Tracer(lesson)
    return [ask(Quiz(lesson, ask.__name__, seed, trace)) for ask in declared]


# Answers


class Unreadable(Exception):
    """No answer; one sentence says why."""


_LONGEST, _LARGEST = 200, 1e30  # characters; of any number on the way
_GROUPED = r"[1-9][0-9]{0,2}(?P<sep>[ ,_])[0-9]{3}(?:(?P=sep)[0-9]{3})*(?![0-9])"
_NUMBER = re.compile(rf"(?P<whole>{_GROUPED}|[0-9]+)?(?P<part>\.[0-9]*)?(?P<power>[eE][+-]?[0-9]+(?![0-9]))?")
_OPERATOR = re.compile(r"\*\*|//|[-+*/()]|%(?=\s*[0-9.(])")
_SPELLINGS = str.maketrans({"×": "*", "·": "*", "−": "-", "⁄": "/", "\u00a0": " ", "\u202f": " ", "\u2009": " "})
_PREFIXES = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "ki": 2**10, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[[float], float]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_NOT_A_NUMBER = "that is no number; write one such as 1 048 576, 1.5e6, 12.5 or 32*5/4"
_TOO_LARGE = "that is out of range; numbers may have 30 digits"


def _bounded(value: float) -> float:
    if not abs(value) <= _LARGEST:
        raise Unreadable(_TOO_LARGE)
    return value


def _evaluated(node: ast.AST) -> float:
    """Of numbers and operators alone."""
    if isinstance(node, ast.Expression):
        return _evaluated(node.body)
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return _bounded(node.value)
    if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
        return _UNARY[type(node.op)](_evaluated(node.operand))
    if not isinstance(node, ast.BinOp) or type(node.op) not in _BINARY:
        raise Unreadable(_NOT_A_NUMBER)
    left, right = _evaluated(node.left), _evaluated(node.right)
    if isinstance(node.op, ast.Pow):
        if left < 0 and right != int(right):
            raise Unreadable("that has no real value")
        if left and abs(right * math.log10(abs(left))) > math.log10(_LARGEST):  # before Python computes millions of digits
            raise Unreadable(_TOO_LARGE)
    try:
        return _bounded(_BINARY[type(node.op)](left, right))
    except ZeroDivisionError:
        raise Unreadable("that divides by zero") from None
    except OverflowError:
        raise Unreadable(_TOO_LARGE) from None


def _scanned(text: str) -> tuple[str, str]:
    """What is arithmetic at the start, as Python writes it, and the rest."""
    code, at = [], 0
    while at < len(text):
        if text[at] == " ":
            at += 1
            continue
        found = _NUMBER.match(text, at)
        if found and (found["whole"] or (found["part"] or "").strip(".")):
            whole = re.sub(r"[ ,_]", "", found["whole"] or "0").lstrip("0") or "0"
            code.append(f"{whole}{found['part'] or ''}{found['power'] or ''}")
        else:
            found = _OPERATOR.match(text, at)
            if not found:
                break
            code.append(found[0])
        at = found.end()
    return " ".join(code), text[at:].strip()


def _same_unit(given: str, wanted: str) -> bool:
    """`byte` is `B`, `FLOP per byte` is `FLOP/B`, `sector` and `sectors per request` are `sectors`."""

    def plain(unit: str) -> str:
        unit = re.sub(r"\s*(?:/|\bper\b|\ba\b)\s*", "/", unit.lower().strip(" ."))
        return re.sub(r"\bflops?\b", "flop", re.sub(r"\bbytes?\b", "b", unit)).replace("percent", "%")

    stem = plain(wanted)
    return bool(stem) and bool(re.fullmatch(rf"{re.escape(stem.removesuffix('s'))}s?(?:[ /][a-z /]*)?", plain(given)))


def _factor(tail: str, unit: str) -> float:
    """Of what stands behind the number: `GB` is 1e9 where bytes are asked for. Raises Unreadable."""
    if not tail or _same_unit(tail, unit):
        return 1
    if tail == "%" and not unit:
        return 0.01
    if re.fullmatch(r"K(?!i).*", tail) and (tail == "K" or _same_unit(tail[1:], unit)):
        raise Unreadable(f"{tail} may mean 1000 or 1024; write k{tail[1:]} or Ki{tail[1:]}")
    found = re.match(r"([kKMGT]i|[kMGT])\s*(.*)", tail)
    if found and found[1] in _PREFIXES and (not found[2] or _same_unit(found[2], unit)):
        return _PREFIXES[found[1]]
    if re.match(r",[0-9]", tail):
        raise Unreadable("commas separate thousands; write a decimal point")
    if re.match(r"[A-Za-z%/]", tail) and not re.search(r"[0-9*+^_(){}\[\]=]", tail):
        raise Unreadable(f"{tail!r} is not what is asked for; {f'answer in {unit}' if unit else 'answer with a mere number'}")
    raise Unreadable(_NOT_A_NUMBER)


def read_answer(text: str, unit: str = "") -> float:
    """A number, or simple arithmetic, with an SI or binary prefix and a unit if it is the question's. Raises Unreadable."""
    if len(text) > _LONGEST:
        raise Unreadable(f"that is longer than {_LONGEST} characters")
    code, tail = _scanned(re.sub(r"\s+", " ", text.translate(_SPELLINGS)).strip().replace("^", "**"))
    if not code:
        raise Unreadable(_NOT_A_NUMBER)
    factor = _factor(tail, unit)
    try:
        tree = ast.parse(code, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise Unreadable(_NOT_A_NUMBER) from None
    return _bounded(_evaluated(tree) * factor)


def _read(question: Question, text: str) -> float:
    given = read_answer(text, question.unit)
    if question.choices and given not in range(1, len(question.choices) + 1):
        raise Unreadable(f"choose one, {question.wanted}")
    return given


# The command


def _wrapped(text: str) -> str:
    """To the terminal's width; lines that begin with spaces stay as they are."""
    width = min(shutil.get_terminal_size((100, 24)).columns, 100) if sys.stdout.isatty() else 100
    lines = [line if line.startswith(" ") else textwrap.fill(line, max(width, 20)) for line in text.splitlines()]
    return "\n".join(lines)


def _line() -> str | None:
    """The next line of stdin; None at its end."""
    if sys.stdin is None:  # closed
        return None
    line = sys.stdin.buffer.readline()  # bytes that are no UTF-8 are asked for again like other nonsense
    return line.decode(errors="replace").strip() if line else None


def _ask(question: Question, tell: Callable[[str], None], again: Callable[[str], None], ended: str) -> tuple[str, bool]:
    """The answer as typed, empty if skipped, and whether it is right. A UserError where stdin ends: `ended`."""
    while True:
        tell(f"Answer ({question.wanted}): ")
        text = _line()
        if text is None:
            tell("\n")
            raise UserError(ended)
        if not sys.stdin.isatty():
            tell(f"{text}\n")
        if not text:
            return "", False
        try:
            return text, question.is_right(_read(question, text))
        except Unreadable as error:
            again(f"{str(error)[0].upper()}{str(error)[1:]}.")


def seed_of(learner: str, lesson: str) -> int:
    """The seed of this learner's questions, the same on every machine; capital letters and spaces around names don't matter."""
    plain = " ".join(unicodedata.normalize("NFKC", learner).casefold().split())
    if not plain or not plain.isprintable():
        raise UserError(f"--learner needs a name, such as --learner ada, and not {learner!r}.")
    return int.from_bytes(hashlib.sha256(f"{lesson} {plain}".encode()).digest(), "big") % 10**9


def _key(chosen: str, drawn: int, learner: str | None, asked: Sequence[Question], as_json: bool) -> int:
    """Prints the questions with their answers: a teacher's key. Exit status 0."""
    if as_json:
        told = [{"text": q.whole_text, "answer": q.answer, "unit": q.unit, "explanation": q.explanation} for q in asked]
        result = {"schema": SCHEMA, "lesson": chosen, "seed": drawn, "learner": learner, "questions": told}
        print(json.dumps(result, indent=1, ensure_ascii=False))
        return 0
    print(f"{chosen}, {len(asked)} questions{f' for {learner}' if learner else ''}, seed {drawn}, with answers")
    for i, q in enumerate(asked, 1):
        parts = f"{i} of {len(asked)}. {q.whole_text}", f"Answer ({q.wanted}): {q.told}", q.explanation
        print("", *map(_wrapped, parts), sep="\n")
    return 0


def quiz(name: str, seed: str | None, learner: str | None, answers_only: bool, as_json: bool) -> int:
    """Exit status: 0 all answers are right, 1 otherwise. A UserError where stdin ends early; nothing is recorded then.

    answers_only: the questions with their answers are printed, and nothing is asked; 0.
    """
    from runner.core import lesson, process
    from runner.learn import achievements, exercise, progress

    chosen = lesson.find(name)
    if seed is not None and learner is not None:
        raise UserError("--learner gives a learner's own seed; leave --seed or --learner out.")
    if learner is not None:
        drawn = seed_of(learner, chosen)
    else:
        drawn = int(lesson.whole("--seed", seed)) if seed is not None else secrets.randbelow(10**6)
    declared = exercise.content(chosen).quiz
    if not declared:
        raise UserError(f"{chosen} has no quiz.")
    if answers_only:
        return _key(chosen, drawn, learner, questions(chosen, declared, drawn), as_json)
    progress.load()  # before five answers are given that could then not be recorded
    asked = questions(chosen, declared, drawn)
    command = f"./gemm quiz {chosen.partition('_')[0]} --seed {drawn}"

    shown = sys.stderr if as_json else sys.stdout
    silent = as_json and not (sys.stdin and sys.stdin.isatty())

    def tell(text: str) -> None:
        if not silent:
            print(text, end="", file=shown, flush=True)

    tell(_wrapped(f"{chosen}, {len(asked)} questions{f' for {learner}' if learner else ''}, seed {drawn}. Arithmetic such as "
                  "2^10/3 is an answer too; an empty line skips a question.") + "\n")  # fmt: skip
    answers: list[tuple[str, bool]] = []
    for i, question in enumerate(asked, 1):
        tell(f"\n{_wrapped(f'{i} of {len(asked)}. {question.whole_text}')}\n")
        ended = f"The input ended at question {i} of {len(asked)}, and nothing was recorded; {command} asks the same again."

        def again(why: str, i: int = i) -> None:
            if silent:
                process.say(f"Question {i}: {why}")
            else:
                tell(f"{why}\n")

        given, right = _ask(question, tell, again, ended)
        answers.append((given, right))
        verdict = f"Right: {question.told}." if right else f"{'Not right' if given else 'Skipped'}: it is {question.told}."
        tell(f"{_wrapped(verdict)}\n{_wrapped(question.explanation)}\n")
    total = sum(right for _, right in answers)
    if as_json:
        told = [
            {"text": question.whole_text, "answer": question.answer, "unit": question.unit, "given": given, "right": right,
             "explanation": question.explanation}
            for question, (given, right) in zip(asked, answers, strict=True)
        ]  # fmt: skip
        result = {"schema": SCHEMA, "lesson": chosen, "seed": drawn, "learner": learner, "questions": told, "right": total,
                  "of": len(asked)}  # fmt: skip
        print(json.dumps(result, indent=1, ensure_ascii=False))
    else:
        print(f"\n{total} of {len(asked)} right. Seed {drawn}.", flush=True)
    best, earned = progress.quiz_taken(chosen, total, len(asked), drawn)
    if not as_json:
        print(f"Best so far: {best['right']} of {best['of']}.")
        if line := achievements.told(earned):
            print(line)
    return 0 if total == len(asked) else 1
