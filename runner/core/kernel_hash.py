"""The hash by which a result knows the kernel that it was measured with: of what decides the machine code, and of nothing else.

That is kernel.cu up to the end of launch(), and of the project's headers the definitions that it reaches by name: device code,
and the host code that makes tensor maps. Comments, #include lines, the descriptor, where a header lies and what else it holds
are not in the hash; nor is what nvcc never compiles (the CPU device's branches), nor the contract, whose fields decide no
instruction.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

# Headers that nvcc reads and that decide no instruction: the contract, and how host code reports an error.
HOST_ALONE = ("gemm.hpp", "error.hpp")

_LITERAL = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
_COMMENT_OR_LITERAL = re.compile(rf"//(?:\\\n|[^\n])*|/\*.*?\*/|{_LITERAL}", re.DOTALL)
_THROW = re.compile(rf"\bthrow (?:{_LITERAL}|[^;])*;")
_DIRECTIVE = re.compile(r"# ?(\w+) ?(.*)")
_INCLUDE = re.compile(r'^# ?include "([^"]+)"', re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_]\w*")
_ATTRIBUTE = re.compile(r"(?:\b(?:__launch_bounds__|__attribute__|__maxnreg__|alignas)\s*\((?:[^()]|\([^()]*\))*\)|\[\[.*?\]\])")
_TEMPLATE = re.compile(r"\s*template\s*<(?:[^<>]|<[^<>]*>)*>")
_NVCC = {"__CUDACC__": True, "GEMM_CPU_DEVICE": False}  # is defined, is not; of anything else both branches count


class _Definition(NamedTuple):
    """A function, type, variable or macro at the top of a file or of a namespace."""

    names: frozenset[str]
    text: str
    file: Path


def code_of(text: str) -> str:
    """A source's text without comments and with each run of whitespace but line ends as one space."""
    code = _COMMENT_OR_LITERAL.sub(lambda m: " " if m[0].startswith("/") else m[0], text)
    return "\n".join(" ".join(line.split()) for line in code.splitlines() if line.strip())


def kernel_sources(kernel: Path) -> list[Path]:
    """A kernel's source and every header of the project that it includes, also through others, in the order of inclusion."""
    return _sources(kernel, lambda path: code_of(path.read_text(encoding="utf-8")))


def kernel_hash(kernel: Path) -> str:
    """SHA-256 of what decides a kernel's machine code, and how its operands reach it."""
    text = re.sub(r"^# ?include .*$", "", _up_to_launch(_code(kernel)), flags=re.MULTILINE)
    headers = [path for path in _sources(kernel, _code)[1:] if path.name not in HOST_ALONE]
    units = [unit for header in headers for unit in (header, header.with_suffix(".cpp")) if unit.exists()]
    reached = _reached(text, [definition for unit in units for definition in _definitions(unit, _stamp(unit))])
    pieces = [text, *sorted({definition.text for definition in reached})]
    return hashlib.sha256("\n".join(" ".join(piece.split()) for piece in pieces).encode()).hexdigest()


def _sources(kernel: Path, read: Callable[[Path], str]) -> list[Path]:
    root = next((folder for folder in kernel.parents if (folder / "CMakeLists.txt").exists()), kernel.parent)
    found: list[Path] = []

    def visit(path: Path) -> None:
        if path in found:
            return
        found.append(path)
        for name in _INCLUDE.findall(read(path)):
            if header := next((home / name for home in (path.parent, root) if (home / name).is_file()), None):
                visit(Path(os.path.normpath(header)))

    visit(kernel.absolute())
    return found


def _code(path: Path) -> str:
    """A file's code as nvcc compiles it, one directive a line."""
    return "\n".join(_compiled(code_of(path.read_text(encoding="utf-8")).replace("\\\n", " ").splitlines()))


def _stamp(path: Path) -> tuple[int, int]:
    """What changes with a file's content, so that each is read once however many kernels include it."""
    status = path.stat()
    return status.st_mtime_ns, status.st_size


# ---- #if and its like


def _known(condition: str) -> bool | None:
    """Whether the condition of a directive holds for nvcc; None where that is not known here."""
    name = re.fullmatch(r"(!?)(?:defined ?\(?)? ?(\w+) ?\)?", condition)
    value = _NVCC.get(name[2]) if name else None
    return value if value is None or name is None or not name[1] else not value


def _compiled(lines: Iterable[str]) -> Iterator[str]:
    """Lines without the branches that nvcc never compiles. Where a condition is not known it stays, with both branches."""
    branches: list[list[bool]] = []  # of each #if around: is this branch compiled; was one before it certain; is #endif needed
    for line in lines:
        directive = _DIRECTIVE.match(line)
        word, rest = (directive[1], directive[2]) if directive else ("", "")
        if word in ("if", "ifdef", "ifndef"):
            holds = _known(f"!{rest}" if word == "ifndef" else rest)
            if holds is None and all(branch[0] for branch in branches):
                yield line
            branches.append([holds is not False, holds is True, holds is None])
        elif word in ("elif", "else"):
            holds = _known(rest) if word == "elif" else None
            here = branches[-1]
            here[0] = not here[1] and holds is not False
            if here[2] and all(branch[0] for branch in branches):
                yield "#else" if holds is True else line
            here[1] = here[1] or holds is True
        elif word == "endif":
            if branches.pop()[2] and all(branch[0] for branch in branches):
                yield line
        elif all(branch[0] for branch in branches):
            yield line


# ---- definitions, and which of them are reached


def _up_to_launch(code: str) -> str:
    """Without what follows launch(), which is the descriptor; all where there is no launch()."""
    launch = re.search(r"^void launch\(", code, re.MULTILINE)
    return code[: _after_body(code, launch.end())] if launch else code


def _after_body(code: str, begin: int) -> int:
    """The place behind the next {…} from `begin` on."""
    depth = 0
    for found in re.compile(rf"[{{}}]|{_LITERAL}").finditer(code, begin):
        depth += {"{": 1, "}": -1}.get(found[0], 0)
        if found[0] == "}" and depth == 0:
            return found.end()
    return len(code)


@lru_cache(maxsize=256)
def _definitions(path: Path, stamp: tuple[int, int]) -> tuple[_Definition, ...]:
    """Those of a file, each with the conditions around it that are not known here."""
    found: list[_Definition] = []
    conditions: list[str] = []
    piece = ""

    def end() -> None:
        nonlocal piece
        # A sentence that an exception carries decides nothing.
        text = _THROW.sub("throw;", piece.strip())
        if names := _declared(text):
            found.append(_Definition(names, "\n".join([*conditions, text]), path))
        piece = ""

    for line in _code(path).splitlines():
        directive = _DIRECTIVE.match(line)
        if not directive or piece.strip():
            for part in re.split(rf"({_LITERAL}|[{{}};])", line):
                piece += part
                if re.fullmatch(r"\s*(?:inline )?namespace[\w: ]*\{", piece) or piece.strip() == "}":
                    piece = ""
                elif part in (";", "}") and _is_whole(piece):
                    end()
            piece += "\n"
        elif directive[1] == "define":
            piece = line
            end()
        elif directive[1] in ("if", "ifdef", "ifndef"):
            conditions.append(line)
        elif directive[1] in ("elif", "else"):
            conditions[-1] += f" {line}"
        elif directive[1] == "endif":
            conditions.pop()
    if piece.strip():  # not understood: whatever it names reaches it
        found.append(_Definition(frozenset(_NAME.findall(piece)), piece.strip(), path))
    return tuple(found)


def _is_whole(piece: str) -> bool:
    """Whether a piece of code that ends with ; or } is a definition: a function at its }, anything else at its ;."""
    bare = re.sub(_LITERAL, "", piece)
    if bare.count("{") != bare.count("}"):
        return False
    inner = 1
    while inner:  # what is in parentheses may hold braces, too: Here here = {}
        bare, inner = re.subn(r"\([^()]*\)", "\0", bare)
    head = _TEMPLATE.sub("", bare).partition("{")[0]
    return bare.endswith(";") or ("\0" in head and "=" not in head)


def _declared(text: str) -> frozenset[str]:
    """The names by which others reach a definition; none of an assertion, or of nothing."""
    if text.startswith("#"):
        return frozenset(_NAME.findall(text.partition("define")[2])[:1])
    head = _ATTRIBUTE.sub("", _TEMPLATE.sub("", text)).strip()
    if kind := re.match(r"(?:using|struct|class|union|enum(?: class| struct)?) (?!namespace)([\w:]+)", head):
        return frozenset(_NAME.findall(kind[1])[-1:])
    if head.startswith(("static_assert", "using namespace")) or not head.strip("};"):
        return frozenset()
    if function := re.match(r"[^={(]*?([\w:]+)\s*(?:<[^()]*>\s*)?\(", head):
        return frozenset(_NAME.findall(function[1]))
    return frozenset(_NAME.findall(re.split(r"[={\[;]", head)[0])[-1:])


def _reached(text: str, definitions: list[_Definition]) -> set[_Definition]:
    """The definitions that the text names, and those that these name in turn; one of the same file goes before others."""
    reached: set[_Definition] = set()
    left: list[tuple[str, Path | None]] = [(text, None)]
    while left:
        piece, file = left.pop()
        names = set(_NAME.findall(piece))
        pasted = tuple(re.findall(r"([A-Za-z_]\w*) ?##", piece))  # GEMM_WGMMA_SUMS_##n names one for each n
        for name in names | {name for d in definitions for name in d.names if pasted and name.startswith(pasted)}:
            meant = [definition for definition in definitions if name in definition.names]
            near = [definition for definition in meant if definition.file == file]
            for definition in near or meant:
                if definition not in reached:
                    reached.add(definition)
                    left.append((definition.text, definition.file))
    return reached
