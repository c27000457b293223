"""`./gemm quiz`: five questions a lesson, whose numbers are drawn from a seed and whose answers are computed.

A lesson's exercise.py declares `QUIZ = (function, …)`, each `def name(q: Quiz) -> Question`: it draws its numbers from q,
and computes the answer with a formula from here or takes it from q.trace(…). Nothing but the standard library is needed
until something is traced.
"""

from __future__ import annotations

import hashlib
import json
import math
import operator
import re
import secrets
import shutil
import sys
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from runner.core.figures import grouped
from runner.core.machines import MACHINES
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
    """What an SM holds."""

    capability: str
    threads: int
    blocks: int
    shared: int  # bytes
    registers: int


def _sm(capability: str) -> Sm:
    machine = MACHINES[f"sm_{capability.replace('.', '')}"]
    return Sm(capability, machine["threads"], machine["blocks"], machine["shared"], machine["registers"])


SMS = tuple(map(_sm, ("8.0", "8.9", "9.0", "12.0")))


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
        """Whether the answer is within the tolerance. Raises Unreadable where it is none of the choices."""
        if self.choices and given not in range(1, len(self.choices) + 1):
            raise Unreadable("choice", wanted=self.wanted)
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


_UNREADABLE = {
    "number": "That is no number; write one such as 1 048 576, 1.5e6, 12.5 or 32*5/4.",
    "range": "That is out of range; numbers may have 30 digits.",
    "zero": "That divides by zero.",
    "real": "That has no real value.",
    "length": "That is longer than {most} characters.",
    "thousand": "{prefix} may mean 1000 or 1024; write k{unit} or Ki{unit}.",
    "comma": "Commas separate thousands; write a decimal point.",
    "unit": "{given!r} is not an answer here; answer {wanted}.",
    "choice": "Choose one, {wanted}.",
}


class Unreadable(Exception):
    """No answer. `id`: of the sentence that says why."""

    def __init__(self, id: str, **words: object) -> None:
        super().__init__(_UNREADABLE[id].format(**words))
        self.id = id


_LONGEST, _LARGEST = 200, 1e30  # characters; of any number on the way
_GROUPED = r"[1-9][0-9]{0,2}(?P<sep>[ ,_])[0-9]{3}(?:(?P=sep)[0-9]{3})*(?![0-9])"
_NUMBER = re.compile(rf"(?P<whole>{_GROUPED}|[0-9]+)?(?P<part>\.[0-9]*)?(?P<power>[eE][+-]?[0-9]+(?![0-9]))?")
_OPERATOR = re.compile(r"//|[-+*/^()]|%(?=\s*[0-9.(])")
_SPELLINGS = str.maketrans({"×": "*", "·": "*", "−": "-", "⁄": "/", "\u00a0": " ", "\u202f": " ", "\u2009": " "})
_PREFIXES = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "ki": 2**10, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
# How strongly each binds; a sign binds as _SIGN.
_OPERATIONS: dict[str, tuple[int, Callable[[float, float], float]]] = {
    "+": (1, operator.add), "-": (1, operator.sub), "*": (2, operator.mul), "/": (2, operator.truediv),
    "//": (2, operator.floordiv), "%": (2, operator.mod), "^": (4, operator.pow),
}  # fmt: skip
_SIGN = 3


def _bounded(value: float) -> float:
    if not abs(value) <= _LARGEST:
        raise Unreadable("range")
    return value


def _applied(name: str, left: float, right: float) -> float:
    if name == "^":
        if left < 0 and right != int(right):
            raise Unreadable("real")
        if left and abs(right * math.log10(abs(left))) > math.log10(_LARGEST):  # before Python computes millions of digits
            raise Unreadable("range")
    try:
        return _bounded(_OPERATIONS[name][1](left, right))
    except ZeroDivisionError:
        raise Unreadable("zero") from None
    except OverflowError:
        raise Unreadable("range") from None


def _value(tokens: list[float | str], least: int = 0) -> float:
    """Of what stands at the front, which is taken away, up to an operator that binds less than `least`."""
    token = tokens.pop(0) if tokens else ""
    if token == "(":
        left = _value(tokens)
        if not tokens or tokens.pop(0) != ")":
            raise Unreadable("number")
    elif token in ("+", "-"):
        left = _value(tokens, _SIGN) * (1 if token == "+" else -1)
    elif isinstance(token, str):
        raise Unreadable("number")
    else:
        left = _bounded(token)
    while tokens and isinstance(name := tokens[0], str) and name in _OPERATIONS and _OPERATIONS[name][0] >= least:
        del tokens[0]
        binds = _OPERATIONS[name][0]
        left = _applied(name, left, _value(tokens, binds if name == "^" else binds + 1))  # 2^3^2 is 2^(3^2)
    return left


def _scanned(text: str) -> tuple[list[float | str], str]:
    """Numbers and operators at the start, and the rest."""
    tokens: list[float | str] = []
    at = 0
    while at < len(text):
        found = _NUMBER.match(text, at)
        if found and (found["whole"] or (found["part"] or "").strip(".")):
            whole, rest = re.sub(r"[ ,_]", "", found["whole"] or "0"), (found["part"] or "") + (found["power"] or "")
            tokens.append(float(whole + rest) if rest else int(whole))
        elif found := _OPERATOR.match(text, at):
            tokens.append(found[0])
        elif text[at] != " ":
            break
        at = found.end() if found else at + 1
    return tokens, text[at:].strip()


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
        raise Unreadable("thousand", prefix=tail, unit=tail[1:])
    found = re.match(r"([kKMGT]i|[kMGT])\s*(.*)", tail)
    if found and found[1] in _PREFIXES and (not found[2] or _same_unit(found[2], unit)):
        return _PREFIXES[found[1]]
    if re.match(r",[0-9]", tail):
        raise Unreadable("comma")
    if re.match(r"[A-Za-z%/]", tail) and not re.search(r"[0-9*+^_(){}\[\]=]", tail):
        raise Unreadable("unit", given=tail, wanted=f"in {unit}" if unit else "with a mere number")
    raise Unreadable("number")


def read_answer(text: str, unit: str = "") -> float:
    """A number, or simple arithmetic, with an SI or binary prefix and a unit if it is the question's. Raises Unreadable."""
    if len(text) > _LONGEST:
        raise Unreadable("length", most=_LONGEST)
    tokens, tail = _scanned(re.sub(r"\s+", " ", text.translate(_SPELLINGS)).strip().replace("**", "^"))
    if not tokens:
        raise Unreadable("number")
    factor, value = _factor(tail, unit), _value(tokens)
    if tokens:
        raise Unreadable("number")
    return _bounded(value * factor)


# The command


def _wrapped(text: str) -> str:
    from runner.learn import course  # needs more than the standard library

    width = min(shutil.get_terminal_size((100, 24)).columns, 100) if sys.stdout.isatty() else 100
    return "\n".join(course.wrapped(text, max(width, 20)))


def seed_of(learner: str, lesson: str) -> int:
    """The seed of this learner's questions, the same on every machine; capital letters and spaces around names don't matter."""
    plain = " ".join(unicodedata.normalize("NFKC", learner).casefold().split())
    if not plain or not plain.isprintable():
        raise UserError(f"--learner needs a name, such as --learner ada, and not {learner!r}.")
    return int.from_bytes(hashlib.sha256(f"{lesson} {plain}".encode()).digest(), "big") % 10**9


@dataclass(frozen=True)
class _Sheet:
    """The questions of one seed."""

    lesson: str
    seed: int
    learner: str | None
    asked: Sequence[Question]

    @property
    def head(self) -> str:
        return f"{self.lesson}, {len(self.asked)} questions{f' for {self.learner}' if self.learner else ''}, seed {self.seed}"

    def numbered(self) -> list[tuple[str, Question]]:
        """Each with `1 of 5`."""
        return [(f"{i} of {len(self.asked)}", question) for i, question in enumerate(self.asked, 1)]

    def print_object(self, answers: Sequence[dict], **more: int) -> None:
        """For --json; answers: what is said of each question besides."""
        told = [
            {"text": q.whole_text, "answer": q.answer, "unit": q.unit, **answer, "explanation": q.explanation}
            for q, answer in zip(self.asked, answers, strict=True)
        ]
        found = {"schema": SCHEMA, "lesson": self.lesson, "seed": self.seed, "learner": self.learner, "questions": told, **more}
        print(json.dumps(found, indent=1, ensure_ascii=False))

    def print_key(self) -> None:
        """The questions with their answers, for a teacher."""
        print(f"{self.head}, with answers")
        for number, q in self.numbered():
            parts = f"{number}. {q.whole_text}", f"Answer ({q.wanted}): {q.told}", q.explanation
            print("", *map(_wrapped, parts), sep="\n")

    def take(self, as_json: bool) -> list[dict]:
        """Asks everything: `given`, as typed, empty if skipped, and whether it is `right`. A UserError where stdin ends."""
        from runner.core import process

        shown = sys.stderr if as_json else sys.stdout
        silent = as_json and not (sys.stdin and sys.stdin.isatty())

        def tell(text: str) -> None:
            if not silent:
                print(text, end="", file=shown, flush=True)

        def ask(question: Question, number: str) -> dict:
            while True:
                tell(f"Answer ({question.wanted}): ")
                # Bytes that are no UTF-8 are asked for again like other nonsense.
                line = sys.stdin.buffer.readline().decode(errors="replace") if sys.stdin else ""
                if not line:
                    tell("\n")
                    again = f"./gemm quiz {self.lesson.partition('_')[0]} --seed {self.seed} asks the same questions again."
                    raise UserError(f"The input ended at question {number}, and nothing was recorded; {again}")
                text = line.strip()
                if not sys.stdin.isatty():
                    tell(f"{text}\n")
                try:
                    return {"given": text, "right": bool(text) and question.is_right(read_answer(text, question.unit))}
                except Unreadable as error:
                    if silent:
                        process.say(f"Question {number.partition(' ')[0]}: {error}")
                    tell(f"{error}\n")

        how = "Arithmetic such as 2^10/3 is an answer too; an empty line skips a question."
        tell(_wrapped(f"{self.head}. {how}") + "\n")
        answers = []
        for number, question in self.numbered():
            tell(f"\n{_wrapped(f'{number}. {question.whole_text}')}\n")
            answers.append(ask(question, number))
            verdict = "Right:" if answers[-1]["right"] else f"{'Not right' if answers[-1]['given'] else 'Skipped'}: it is"
            tell(f"{_wrapped(f'{verdict} {question.told}.')}\n{_wrapped(question.explanation)}\n")
        return answers


def quiz(name: str, seed: str | None, learner: str | None, answers_only: bool, as_json: bool) -> int:
    """Exit status: 0 all answers are right, 1 otherwise. A UserError where stdin ends early; nothing is recorded then.

    answers_only: the questions with their answers are printed, and nothing is asked; 0.
    """
    from runner.core import lesson
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
    if not answers_only:
        progress.load()  # before five answers are given that could then not be recorded
    sheet = _Sheet(chosen, drawn, learner, questions(chosen, declared, drawn))
    of = len(sheet.asked)
    if answers_only:
        sheet.print_object([{}] * of) if as_json else sheet.print_key()
        return 0
    answers = sheet.take(as_json)
    total = sum(answer["right"] for answer in answers)
    if as_json:
        sheet.print_object(answers, right=total, of=of)
    else:
        print(f"\n{total} of {of} right. Seed {drawn}.", flush=True)
    best, earned = progress.quiz_taken(chosen, total, of, drawn)
    if not as_json:
        print(f"Best so far: {best['right']} of {best['of']}.")
        if line := achievements.told(earned):
            print(line)
    return 0 if total == of else 1
