"""Mutants of the lessons' kernels: one small edit each, such as a learner's slip makes, drawn by a seed.

An edit is found in the text as clang-format leaves it: a binary operator stands between spaces, a template's brackets do not.
What does not compile is no mutant. What compiles and is right all the same is none either: mistakes.toml names such edits, and
why, as [[equivalent]]: those inside of a `piece` of a kernel that leave `becomes` of it, both regular expressions, of which the
second one describes all that is left.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from runner.learn.exercise import Task
from runner.mistakes import equivalents, undrawn


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


# What is no code of the kernel's or its launch's, or whose change makes another kernel that is as right: sizes of tiles, bounds
# for the compiler, how many elements an array has.
_CUT = re.compile(r"^(?:template <class T>\n)?gemm::Owner |^const gemm::(?:Constant|Offer|Reach)", re.MULTILINE)
_LEFT_OUT = (
    r"\A.*?^namespace \w+ \{",
    r"static_assert\(.*?\);",
    r"^#[^\n]*",
    r"__launch_bounds__\([^)]*\)",
    r"^constexpr [^;]*;",
    r"^    static constexpr [^;]*;",
    r"^ *template <[^\n]*>$",
    r"^using [^;]*;",
    r"^const (?:gemm::Tile|dim3) [^;]*;",
    r"^ *(?:extern )?__shared__ [^;]*;",
    r"Swizzle<[^>]*>",
    r"(?<=[\w>,] )\w+(?:\[[^\]=]*\])+(?= = \{\};|;|, \w+\[)",  # a local array's name and extents
)
_SIGNATURE = re.compile(r"__global__ [^{]*\{")
_EXCHANGED = {
    "size": (("M", "N", "K"),),
    "pitch": (("lda", "ldb", "ldc"), ("lda", "K"), ("ldb", "N"), ("ldc", "N")),
    "scalar": (("alpha", "beta"),),
    "matrix": (("A", "B"), ("a", "b"), ("As", "Bs"), ("a_frag", "b_frag"), ("low", "high"), ("first", "second")),
    "index": (("row", "col"), ("row0", "col0"), ("x", "y"), ("i", "j"), ("a_row", "a_k"), ("b_k", "b_col"),
              ("lane_m", "lane_n"), ("z", "w")),
    "tile": (("BM", "BN", "BK"), ("TM", "TN"), ("WM", "WN"), ("LANES_M", "LANES_N"), ("THREADS_M", "THREADS_N"),
             ("MMA_M", "MMA_N", "MMA_K"), ("TILES_M", "TILES_N"), ("A_ROWS", "B_ROWS"), ("tiles_m", "tiles_n"),
             ("group", "in_group")),
}  # fmt: skip
_OTHER_RELATION = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
_OTHER_OPERATOR = {
    **{"+": "-", "-": "+", "*": "+", "/": "%", "%": "/", "^": "|", "|": "&"},
    **{"+=": "-=", "-=": "+=", "&&": "||", "||": "&&"},
}
_LOWER = (" < ", " <= ", " > ", " >= ", " == ", " != ", " && ", " &&\n", " || ", " ? ", " : ", " = ", " | ", ";", ",")
_SUMS = (*_LOWER, " + ", " - ")
_PRODUCTS = (*_SUMS, " * ", " / ", " % ")
_STATEMENT = re.compile(
    r"^ +(?!const |constexpr |auto |return|continue|break|float|int |std::|char|T |T\*|using |gemm::ptx::Position|unsigned |bool "
    r"|wmma::fragment|for |if |else|uint4|cudaDev|CUDA_CHECK|[>=])[^;{}\n]*;(?= *$)",
    re.MULTILINE,
)


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


def _operators(text: str) -> Iterator[Edit]:
    """Another operator, or one of its operands left out."""
    for found in re.finditer(r"(?<= )(<=|>=|==|!=|[<>])(?=\s)", text):
        yield Edit("relation", found.start(), found.end(), _OTHER_RELATION[found[0]])
    for found in re.finditer(r"(?<= )([-+]=|&&|\|\||[-+*/%^|])(?=\s)", text):
        yield Edit("operator", found.start(), found.end(), _OTHER_OPERATOR[found[0]])
        before = found.start() - 1
        if found[0] in ("+", "-"):
            yield Edit("term", before, _right_of(text, found.end() + 1, _SUMS), "")
        elif found[0] in ("*", "/", "%"):
            yield Edit("term", before, _right_of(text, found.end() + 1, _PRODUCTS), "")
        elif found[0] == "|":
            yield Edit("guard", before, _right_of(text, found.end() + 1, _LOWER), "")
        elif found[0] in ("&&", "||"):
            ends = ("&&", "||", " ? ", ";", ",")
            yield Edit("guard", before, _right_of(text, found.end() + 1, ends), "")
            begins = ("&& ", "&&\n", "|| ", " = ", "return ", ", ", ": ", "; ")
            yield Edit("guard", _left_of(text, before, begins), found.end() + 1, "")


def _conditions(text: str) -> Iterator[Edit]:
    """A condition that is always or never true."""
    for found in re.finditer(r" \? ", text):
        begin = _left_of(text, found.start(), (" = ", ", ", "return ", "; "))
        middle = _right_of(text, found.end(), (" : ", "\n"))
        end = _right_of(text, middle + 2, (";", ",", " : "))
        yield Edit("condition", begin, end, text[found.end() : middle].strip())
        yield Edit("condition", begin, end, text[middle + 2 : end].strip())
    for found in re.finditer(r"\bif \(", text):
        end = _right_of(text, found.end(), ())
        yield Edit("condition", found.end(), end, "true")
        yield Edit("condition", found.end(), end, "false")


def _numbers(text: str) -> Iterator[Edit]:
    """A constant off by one; a sum that begins with nothing in particular."""
    for found in re.finditer(r"(?<![\w.])\d+(?![\w.])", text):
        yield Edit("constant", found.start(), found.end(), str(int(found[0]) + 1))
        if int(found[0]) > 0:
            yield Edit("constant", found.start(), found.end(), str(int(found[0]) - 1))
    for found in re.finditer(r"(?<![\w.])0\.0f", text):
        yield Edit("zero", found.start(), found.end(), "1.0f")
    for found in re.finditer(r" = (?:\{\}|0\.0f)(?=;)", text):
        yield Edit("zero", found.start(), found.end(), "")


def _exchanges(text: str) -> Iterator[Edit]:
    """A name for another of its kind."""
    for kind, groups in _EXCHANGED.items():
        for names in groups:
            group = [name for name in names if re.search(rf"(?<!\w){name}(?!\w)", text)]
            for found in re.finditer(rf"(?<!\w)(?:{'|'.join(group)})(?!\w)", text):
                for other in group:
                    if other != found[0]:
                        yield Edit(kind, found.start(), found.end(), other)
    for name, other in (("threadIdx.x", "threadIdx.y"), ("threadIdx.y", "threadIdx.x")):
        for found in re.finditer(re.escape(name), text):
            yield Edit("index", found.start(), found.end(), other)
    for found in re.finditer(r"\b(?:alpha|beta) \* ", text):
        yield Edit("scalar", found.start(), found.end(), "")


def _narrowed(text: str) -> Iterator[Edit]:
    """Fewer bits: an offset in 32, an index in 16. (Not the number of tiles along K: to run over they need a K beyond 262144,
    which takes too long here; nor M and N in 32 bits, of which 2^31 rows do not fit any GPU's memory by far.)"""
    for found in re.finditer(r"(?:\([^()\n]*\)|\b\w+) \* ld[abc]\b", text):
        yield Edit("type", found.start(), found.end(), f"static_cast<int>({found[0]})")
    for found in re.finditer(r"std::int64_t(?= (?:tiles_[mn]|row0|col0|row|col|group|in_group)\b)", text):
        yield Edit("type", found.start(), found.end(), "short")
    for found in re.finditer(r"std::int64_t(?= k(?:0|_left|_end) = )", text):
        yield Edit("type", found.start(), found.end(), "short")
        yield Edit("type", found.start(), found.end(), "unsigned short")
    for found in re.finditer(r"unsigned(?= (?:group|in_group|c_tile|blocks)\b)", text):
        yield Edit("type", found.start(), found.end(), "unsigned short")


def _statements(text: str) -> Iterator[Edit]:
    """One left out; of those that make threads or copies wait, each, and one of another kind."""
    for found in _STATEMENT.finditer(text):
        if not text[: found.start()].rstrip().endswith((";", "{", "}")):
            continue  # the last line of a longer one
        waits = re.search(r"__sync|cp_async_(?:wait|commit)", found[0])
        yield Edit("wait" if waits else "statement", found.start(), found.end(), "")
        if "__syncthreads" in found[0]:
            yield Edit("wait", found.start(), found.end(), found[0].replace("threads", "warp"))
    for found in re.finditer(r"STAGES - 2>", text):
        yield Edit("wait", found.start(), found.end(), "STAGES - 1>")


def _in_signature(text: str) -> Iterator[Edit]:
    for signature in _SIGNATURE.finditer(text):
        for found in re.finditer(r"std::int64_t(?= ld[abc]\b)", signature[0]):
            yield Edit("type", signature.start() + found.start(), signature.start() + found.end(), "int")


def edits(text: str, undrawn: Iterable[str] = ()) -> list[Edit]:
    """All that there are of a kernel, those with which it does not compile among them; in the text's order. undrawn: regular
    expressions of what is left out of this one."""
    code = without_comments(text)
    cut = _CUT.search(code)
    code = code[: cut.start()] if cut else code
    spans = [(span.start(), span.end()) for left_out in (*_LEFT_OUT, *undrawn, _SIGNATURE.pattern)
             for span in re.finditer(left_out, code, re.MULTILINE | re.DOTALL)]  # fmt: skip
    found = [edit for finder in (_operators, _conditions, _numbers, _exchanges, _narrowed, _statements) for edit in finder(code)]
    inside = [edit for edit in found if not any(start < edit.end and edit.start < end for start, end in spans)]
    return sorted({*inside, *_in_signature(code)}, key=lambda edit: (edit.start, edit.end, edit.new))


def _values(text: str) -> dict[str, int]:
    """The named constants that are plain numbers, or products of such."""
    known: dict[str, int] = {}
    for name, value in re.findall(r"\b([A-Z]\w*) = ([\w /*+()]+?)(?=[,;])", without_comments(text)):
        if not re.search(r"[a-z]", value):
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
