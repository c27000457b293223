"""common/cpu/translate.py held against texts that are drawn: programs of a small grammar, which knows what must become of them,
and every .cu file of the repository with other blanks, comments and line continuations between its tokens.

What is compared is text without blanks and comments, cut into tokens here, with nothing of translate.py's own.
"""

from __future__ import annotations

import importlib.util
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import REPOSITORY, drawn, seed, whole_families

_SPEC = importlib.util.spec_from_file_location("translate", REPOSITORY / "common" / "cpu" / "translate.py")
assert _SPEC and _SPEC.loader
translator = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(translator)

_TOKEN = re.compile(
    r"""(?P<directive>^[ \t]*\#(?:\\\n|/\*.*?\*/|[^\n])*)
      | (?P<trivia>\s+ | \\\n | //(?:\\\n|[^\n])* | /\*.*?\*/)
      | (?:u8|[uUL])?R"(?P<tag>[^()\s\\]*)\(.*?\)(?P=tag)"
      | (?:u8|[uUL])?"(?:\\.|[^"\\\n])*" | (?:u8|[uUL])?'(?:\\.|[^'\\\n])+'
      | \.?\d(?:'?\w|\.)* | [^\W\d]\w*
      | <<< | >>> | \.\.\. | [-+*/%&|^<>=!]= | -> | :: | && | \|\| | << | >> | \+\+ | -- | \S""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_ANYWHERE = (
    "",
    "",
    "",
    " ",
    "\n",
    "\t\n  ",
    " \\\n ",
    "/* k<<<1, 2>>>(x) */",
    '/*\n"*/',
    "// '<<<\n",
    "// \\\n k<<<1, 2>>>(x)\n",
)
_ON_A_LINE = ("", "", " ", "/* <<< */", " \\\n", "/* '\n */")
_BETWEEN = (
    "", 's = "k<<<1, 2>>>(x)";\n', 'R"x(k<<<1, ")" 2>>>(x))x";\n', "int i = a << b >> c;\n", "x = '<' + u8'\\'';\n",
    "v = 1'000'000 + 0xab'cd;\n", "P<Q<R<int>>> p;\n", "__shared__ float t[32];\n", "#error don't <<<\n", "#pragma unroll\n",
    "auto l = [] { return '\\\\'; };\n", "float ä = 1.0f;  // 3×3\n", 'g("//", "/* \\" <<<");\n',
    "// k<<<1, 2>>>(x) \\\n extern __shared__ float x[];\n",
)  # fmt: skip
_VALUES = (
    "grid", "dim3(1, 2)", "(n + 31) / 32", "n >> 2", "s->blocks", "1'000", "'a'", "u8'b'", "[&] { return 3; }()",
    "sizeof(float) * 4", "a[i < 3]", 'f<int>("<<<")', "0xf'0u", "(x > y)", "dim3{1, 2}",
)  # fmt: skip
_AROUND = (
    "@;", "if (c) @;", "if (c) f(); else @;", "return @;", "{ @; }", "do @; while (0);", "for (int i = 0; i < n; ++i) @;",
    "case u8'a': @;", "auto l = [&](auto x) { return @; };", "template <int N> void f() { @; }", "(void)0, @;",
    "#define LAUNCH(n) @",
)  # fmt: skip


def tokens(text: str, whole_directives: bool = False) -> list[str]:
    """Without blanks and comments; of a directive, too, unless each is to be one token."""
    found: list[str] = []
    for match in _TOKEN.finditer(text):
        if match["directive"] is not None and not whole_directives:
            found += ["#", *tokens(match[0].replace("#", "", 1).replace("\\\n", " "))]
        elif match["trivia"] is None:
            found.append(match[0])
    return found


def squeezed(parts: Iterable[str]) -> str:
    """The tokens without blanks, also in strings: a launcher is told its kernel's name as a string."""
    return re.sub(r"\s+", "", "".join(parts))


def spaced(parts: Sequence[str], draw: random.Random, between: Sequence[str], often: float) -> str:
    """The tokens with what is drawn between them; a blank where two would become one."""
    made = [parts[0]]
    for left, right in zip(parts, parts[1:], strict=False):
        trivia = draw.choice(between) if draw.random() < often else ""
        if right.lstrip().startswith("#") or left.lstrip().startswith("#"):
            trivia = "\n"
        elif not trivia and tokens(left + right) != [left, right]:
            trivia = " "
        elif left == "/":
            trivia = f" {trivia}"
        made += [trivia, right]
    return "".join(made)


@dataclass(frozen=True)
class Piece:
    """A statement's tokens, and what the translator makes of them. `define`: what begins it where it is a macro."""

    tokens: list[str]
    expected: list[str]
    define: str = ""


class Grammar:
    """Draws programs. What must stay on its line has a name of its own in it: m1_, m2_ and so on."""

    def __init__(self, draw: random.Random) -> None:
        self.draw, self.count = draw, 0
        self.clusters = {name: dims for name, dims in (("tile", "2, 1, 1"), ("ring", "N * (1 + 1)")) if draw.random() < 0.5}

    def one(self, *texts: str) -> list[str]:
        return tokens(self.draw.choice(texts))

    def marker(self) -> str:
        self.count += 1
        return f"m{self.count}_"

    def type(self, depth: int = 2) -> list[str]:
        if depth and self.draw.random() < 0.5:
            more = self.one(", (3 > 2)", ", 4", ", 1 << 3", "")
            return [*self.one("P", "ns::Q", "ns::in::Q"), "<", *self.type(depth - 1), *more, ">"]
        return self.one("int", "float4", "std::uint16_t", "unsigned long")

    def value(self) -> list[str]:
        if self.draw.random() < 0.2:
            return ["size", "<", *self.type(), ">", *self.one("(3)", "{}.x", "::value")]
        return tokens(self.draw.choice(_VALUES))

    def kernel(self, name: str) -> list[str]:
        made = [*self.one("", "ns::", "::", "a::b::", "::ns::"), name]
        if self.draw.random() < 0.7:
            number = self.one("4", "1 << 2", "(a > b)", "sizeof(T) >= 4", "'<'", "'\"'", "-1", "p->n", "n <= 3", "f(g(1), 2)")
            some = [number, self.type(), [*self.type(), ",", *number], [*number, ",", *self.type()]]
            made += ["<", *self.draw.choice(some), ">"]
        return made

    def launch(self) -> Piece:
        name = self.draw.choice(["add", "tile", "ring"])
        kernel, config = self.kernel(name), [*self.value(), ",", *self.value()]
        config += self.draw.choice([[], [",", *self.value()], [",", "0", ",", "stream"]])
        more = self.one(
            "", ", x", ', "<<<", \'"\'', ", [=] __device__ (int i) { f(i < 3); }", ', R"q(>>>(b)")q"', ", P<Q<R<int>>>(1)"
        )
        given = ["(", self.marker(), *more, ")"]
        told = "".join(kernel).replace("\\", "\\\\").replace('"', '\\"')
        cluster = tokens(f".with_cluster({self.clusters[name]})") if name in self.clusters else []
        called = [*tokens("::cpu_device::launcher("), f'"{told}"', ",", *kernel, ",", *config, ")", *cluster]
        return Piece([*kernel, "<<<", *config, ">>>", *given], [*called, *given])

    def statement(self) -> Piece:
        before, behind = self.draw.choice(_AROUND).split("@")
        made, define = self.launch(), before if before.startswith("#") else ""
        first = [] if define else tokens(before)
        return Piece(*([*first, *side, *tokens(behind)] for side in (made.tokens, made.expected)), define)

    def shared(self) -> Piece:
        kind, name = self.type(), "pool"
        aligned = self.one("", "", "alignas(16)", "__align__(128)", "alignas(alignof(float4))", "__align__(f(1, (2)))")
        begins = ["struct", *aligned, "Aligned_pool", "{", "}", ";"] if aligned else []
        memory = [*tokens("(::cpu_device::dynamic_shared<"), *kind, *([",", "Aligned_pool"] if aligned else []), *tokens(">());")]
        made = [*begins, *kind, "*", "const", name, "=", "static_cast", "<", *kind, "*", ">", *memory]
        return Piece(
            ["extern", "__shared__", *aligned, *kind, name, "[", "]", ";"], made, self.draw.choice(["", "", "#define SHARED "])
        )

    def pieces(self) -> Iterator[Piece]:
        for name, dims in self.clusters.items():
            words = ["__global__", "void", f"__cluster_dims__({dims})", "__launch_bounds__(f(256), 1)", "static"]
            self.draw.shuffle(words)
            made = tokens(f"{' '.join(words)} {name}(int x) {{}}")
            yield Piece(made, made)
        for _ in range(40):
            yield self.shared() if self.draw.random() < 0.2 else self.statement()


def lines_of(pattern: str, text: str) -> dict[str, int]:
    """Where each name is first."""
    found: dict[str, int] = {}
    for number, line in enumerate(text.split("\n")):
        for name in re.findall(pattern, line):
            found.setdefault(name, number)
    return found


@pytest.mark.parametrize("number", range(40 if whole_families() else 8))
def test_programs_that_are_drawn_become_what_is_meant(number: int) -> None:
    draw = random.Random(f"{seed()} {number}")
    source, expected = "", []
    for piece in Grammar(draw).pieces():
        between = draw.choice(_BETWEEN)
        text = spaced(piece.tokens, draw, _ON_A_LINE if piece.define else _ANYWHERE, 0.4)
        source += f"\n{between}\n{piece.define}{text}\n"
        expected += [*tokens(between), *tokens(piece.define), *piece.expected]
    out = translator.translate(source)
    assert squeezed(tokens(out)) == squeezed(expected)
    assert out.count("\n") == source.count("\n")
    assert lines_of(r"\bm\d+_", out) == lines_of(r"\bm\d+_", source)
    assert translator.translate(out) == out


FILES = sorted(path for room in ("[0-9]*", "common", "runner", "tests") for path in REPOSITORY.glob(f"{room}/**/*.cu"))


@pytest.mark.parametrize("path", drawn(FILES, 8), ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_blanks_and_comments_change_nothing(path: Path) -> None:
    draw, original = random.Random(f"{seed()} {path.name}"), path.read_text(encoding="utf-8")
    marks = (*_ANYWHERE, "/* ¤ */", "/* ¤ */")  # (PTX has its own @)
    varied = spaced(tokens(original, whole_directives=True), draw, marks, 0.1) + "\n"
    for number in range(varied.count("¤")):
        varied = varied.replace("¤", f"at{number}_", 1)
    out = translator.translate(varied)
    assert squeezed(tokens(out)) == squeezed(tokens(translator.translate(original)))
    assert out.count("\n") == varied.count("\n")
    there, here = lines_of(r"\bat\d+_", out), lines_of(r"\bat\d+_", varied)
    assert len(here) - len(there) <= 1 + len(here) // 10  # those in what was replaced
    assert there.items() <= here.items()
