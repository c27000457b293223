"""What a CUDA source that was not written for this course needs before common/cpu/translate.py does its work.

    #include "tile.cuh"                     ->  that file's text, where it lies beside the one that names it, or in a folder given
    asm volatile("…" : "=r"(x) : "r"(y));   ->  ::cpu_device::inline_ptx::run<"…">(Here{}, out(x), in(y));
    assert(condition)                       ->  CPU_DEVICE_ASSERT(condition), which names its place
    __noinline__                            ->  __attribute__((noinline))
    cudaLaunchKernel((void*)kernel, ...)    ->  cudaLaunchKernel(kernel, ...), whose type says the arguments
    const void* k = (const void*)kernel;    ->  const void* k = ::cpu_device::address_of(kernel); remembers its type for launches
    int main(...) { ... }                   ->  nothing

Every line keeps its file and its number.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"(?P<quoted>[^"\n]+)"|<(?P<angled>[^>\n]+)>).*$', re.MULTILINE)
ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once\b", re.MULTILINE)
LITERAL = re.compile(r'"(?:\\.|[^"\\\n])*"')
NOT_CODE = re.compile(
    r"//(?:\\.|[^\\\n])*|/\*(?:.*?\*/|.*)|(?<!\w)\d(?:\'?\w)*" + r'|"(?:\\.|[^"\\\n])*"?|\'(?:\\.|[^\'\\\n])+\'?', re.DOTALL
)
SPACE = r"(?:\s|\\\n)*"
ASM = re.compile(rf"\b(?:asm|__asm__|__asm){SPACE}(?:(?:volatile|__volatile__){SPACE})?\(")
ASSERT = re.compile(r"(?<![\w:.])assert(?=\s*\()")
DIRECTIVE = re.compile(r"^[ \t]*#", re.MULTILINE)
NOT_INLINE = re.compile(r"\b__noinline__\b")
# A kernel's address as void*: in front of it, and what may stand behind it.
HIDDEN_KERNEL = re.compile(
    r"\bcudaLaunch(?:Cooperative)?Kernel(?:ExC)?\s*\((?:[^,;()]*,)?\s*"
    r"(?P<cast>\(\s*(?:const\s+)?void\s*(?:const\s*)?\*\s*\)|(?:reinterpret|static|const)_cast<[^<>]*>)"
)
LAUNCH_BY_ADDRESS = re.compile(r"\bcudaLaunch(?:Cooperative)?Kernel(?:ExC)?\s*\(")
# Of something that has a name, which may be a kernel.
TO_ADDRESS = re.compile(
    r"(?P<cast>\(\s*(?:const\s+)?void\s*(?:const\s*)?\*\s*\)|\breinterpret_cast<\s*(?:const\s+)?void\s*(?:const\s*)?\*\s*>)"
    r"\s*(?:\(\s*)?(?P<name>&?\s*[A-Za-z_]\w*(?:\s*<[^;()]*>)?)\s*[;,)]"
)
FUNCTION = re.compile(r"(?P<name>[A-Za-z_~][\w:]*)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)[^(){};=]*\{")
OF_DEVICE = re.compile(r"\b__(?:global|device)__\b")
OPEN_SCOPE = re.compile(r"\s*(?:inline\s+)?(?:namespace|extern)\b")
CLASS = re.compile(
    r"\b(?:class|struct)\s+(?:(?:__align__|alignas|__attribute__)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\s*|[A-Z_]+\s+)*"
    r"(?P<name>(?!final\b)\w+)\s*(?:<[^;{}()]*>\s*)?(?:final\s*)?(?::[^;{}]*)?\{"
)
NOT_FUNCTIONS = {"if", "for", "while", "switch", "catch", "return", "sizeof", "alignas", "__align__", "decltype", "__attribute__",
                 "requires"}  # fmt: skip


def code_of(text: str) -> str:
    """The text with comments and literals blanked: of the same length, with the same line breaks."""
    return NOT_CODE.sub(lambda found: re.sub(r"[^\n\\]|\\(?!\n)", " ", found[0]), text)


def followed(
    file: Path, name: str, folders: Sequence[Path] = (), seen: Collection[Path] = (), once: set[Path] | None = None
) -> str:
    """The file's text with that of what it includes from beside it and from the folders. `name`: what messages call it; `once`:
    what is not to be included again."""
    text = file.read_text(encoding="utf-8", errors="replace")
    inside = set(seen) | {file.resolve()}
    done = set() if once is None else once

    def included(found: re.Match[str]) -> str:
        wanted = found["quoted"] or found["angled"]
        beside = [(file.parent / wanted, Path(name).parent / wanted)] if found["quoted"] else []
        places = [*beside, *((folder / wanted, folder / wanted) for folder in folders)]
        other, shown = next(((path.resolve(), str(called)) for path, called in places if path.is_file()), (None, ""))
        if other is None:
            return found[0]
        if other in inside or other in done:
            return ""
        if ONCE.search(other.read_text(encoding="utf-8", errors="replace")):
            done.add(other)
        behind = text.count("\n", 0, found.start()) + 2
        return f'#line 1 "{shown}"\n{followed(other, shown, folders, inside, done)}\n#line {behind} "{name}"'

    return INCLUDE.sub(included, text)


def closing(code: str, start: int) -> int:
    """Where the bracket closes that opens in front of `start`; the end of the code where it does not."""
    depth = 1
    for bracket in re.compile(r"[()\[\]{}]").finditer(code, start):
        depth += 1 if bracket[0] in "([{" else -1
        if depth == 0:
            return bracket.start()
    return len(code)


def split(code: str, start: int, end: int, separator: str) -> list[tuple[int, int]]:
    """The pieces of code[start:end] between separators that stand in no bracket."""
    pieces, depth, at = [], 0, start
    for i in range(start, end):
        depth += (code[i] in "([{") - (code[i] in ")]}")
        if depth == 0 and code[i] == separator:
            pieces.append((at, i))
            at = i + 1
    return [*pieces, (at, end)]


def _operands(text: str, code: str, section: tuple[int, int], function: str) -> tuple[list[str], list[str]]:
    """Of the outputs or the inputs of an asm statement: their names, and what passes them on. nvcc needs no comma there."""
    names, passed = [], []
    at, end = section
    while (opening := code.find("(", at, end)) >= 0:
        close = closing(code, opening + 1)
        expression = _on_one_line(text[opening : close + 1])
        named = re.search(r"\[\s*(\w+)\s*\]", code[at:opening])
        names.append(named[1] if named else "")
        passed.append(f"::cpu_device::inline_ptx::{function}{expression}")
        at = close + 1
    return names, passed


def _on_one_line(text: str) -> str:
    """The code without comments and line breaks: accesses are then at the line where the statement begins."""
    bare = NOT_CODE.sub(lambda found: " " if found[0].startswith("/") else found[0], text)
    return re.sub(r"\\?\n", " ", bare)


def _template(text: str) -> str:
    """An asm statement's literals. Where directives stand between them, all keep their lines."""
    return text if DIRECTIVE.search(code_of(text)) else _on_one_line(text)


def with_ptx(text: str) -> str:
    """asm statements become calls of common/cpu/ptx/inline_ptx.hpp's run()."""
    code, out, done = code_of(text), [], 0
    for statement in ASM.finditer(code):
        if statement.start() < done:
            continue
        end = closing(code, statement.end())
        sections = split(code, statement.end(), end, ":")
        template = _template(text[slice(*sections[0])])
        names: list[str] = []
        passed: list[str] = ["::cpu_device::Here{}"]
        for section, function in zip(sections[1:3], ("out", "in"), strict=False):
            more, operands = _operands(text, code, section, function)
            names += more
            passed += operands
        for number, name in enumerate(names):
            if name:
                template = template.replace(f"%[{name}]", f"%{number}")
        call = f"::cpu_device::inline_ptx::run<{template}>({', '.join(passed)})"
        lost = text.count("\n", statement.start(), end + 1) - call.count("\n")
        continued = "\\\n" in text[statement.start() : end + 1]
        out += [text[done : statement.start()], call, ("\\\n" if continued else "\n") * lost]
        done = end + 1
    return "".join([*out, text[done:]])


@dataclass(frozen=True)
class Function:
    """A function's definition: from where its head begins to behind its body."""

    name: str
    start: int
    end: int
    on_device: bool


def _without_directives(code: str) -> str:
    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", lambda found: re.sub(r"[^\n]", " ", found[0]), code, flags=re.MULTILINE)


def functions(text: str) -> Iterator[Function]:
    """Those that the text defines, but for members of classes that are inside of others."""
    code, at = _without_directives(code_of(text)), 0
    while found := FUNCTION.search(code, at):
        name = found["name"].rsplit("::", 1)[-1]
        if name in NOT_FUNCTIONS:
            at = found.end()
            continue
        end = closing(code, found.end()) + 1
        start = max(code.rfind(c, 0, found.start()) for c in ";{}") + 1
        start += len(code[start:]) - len(code[start:].lstrip())
        yield Function(name, start, end, bool(OF_DEVICE.search(code, start, found.end())))
        at = end


def declaration(text: str, offset: int) -> Function | None:
    """The declaration without a body, of the host and of no class, around that place; nothing where there is none."""
    code = _without_directives(code_of(text))
    while offset > 0 and code[offset].isspace() and code[offset] != "\n":
        offset -= 1
    start = max(code.rfind(c, 0, offset) for c in ";{}") + 1
    end = code.find(";", offset)
    if end < 0 or not code[start:end].strip() or re.search(r"[{}]", code[start:end]) or OF_DEVICE.search(code, start, end):
        return None
    depth = 0
    for brace in reversed(list(re.finditer(r"[{}]", code[:start]))):
        depth += 1 if brace[0] == "}" else -1
        if depth < 0:
            head = max(code.rfind(c, 0, brace.start()) for c in ";{}") + 1
            if not OPEN_SCOPE.match(code, head):
                return None
            depth = 0
    start += len(code[start:]) - len(code[start:].lstrip())
    name = re.search(r"(\w+)\s*(?:[(=\[]|$)", code[start:end])
    return Function(name[1] if name else "", start, end + 1, False)


def class_around(text: str, offset: int) -> Function | None:
    """The class, in no other, that the place is in; nothing where there is none."""
    code = _without_directives(code_of(text))
    for found in CLASS.finditer(code):
        end = closing(code, found.end())
        start = max(code.rfind(c, 0, found.start()) for c in ";{}") + 1  # of template <...>, too
        start += len(code[start:]) - len(code[start:].lstrip())
        behind = code.find(";", end)
        if start <= offset <= max(end, behind):
            if behind < 0:
                return None
            return Function(found["name"], start, behind + 1, False)
    return None


def with_value(text: str, name: str, value: str) -> str:
    """The text with another value in each #define of that name. Where there is none, the text itself."""
    return re.sub(rf"^([ \t]*#[ \t]*define[ \t]+{re.escape(name)}\b)(?!\()[^\n]*$", rf"\g<1> {value}", text, flags=re.MULTILINE)


def body(text: str, function: Function) -> str:
    """What stands between its braces."""
    code = code_of(text[function.start : function.end])
    found = FUNCTION.search(code)
    return code[found.end() : -1] if found else code


def without(text: str, unwanted: Collection[Function]) -> str:
    """The text without these functions."""
    for function in unwanted:
        gone = re.sub(r"^(?![ \t]*#).*", "", text[function.start : function.end], flags=re.MULTILINE)
        text = text[: function.start] + gone + text[function.end :]
    return text


def without_main(text: str) -> str:
    """The text without its main(): nobody calls it."""
    return without(text, [function for function in functions(text) if function.name == "main"][:1])


def assertion(text: str, offset: int) -> tuple[int, int] | None:
    """Where an assert() is, to behind its parenthesis, that begins in the line which `offset` is in."""
    code = code_of(text)
    found = ASSERT.search(code, code.rfind("\n", 0, offset) + 1, offset + len(code[offset:].split("\n", 1)[0]))
    return (found.start(), closing(code, code.index("(", found.end()) + 1) + 1) if found else None


def without_assertion(text: str, where: tuple[int, int]) -> str:
    """The text with what -DNDEBUG makes of it."""
    start, end = where
    return text[:start] + "static_cast<void>(0)" + "\n" * text.count("\n", start, end) + text[end:]


def prepared(text: str) -> str:
    """All of it, but for included files."""
    text = without_main(text)
    code = code_of(text)
    edits = [(*found.span(), "CPU_DEVICE_ASSERT") for found in ASSERT.finditer(code)]
    edits += [(*found.span(), "__attribute__((noinline))") for found in NOT_INLINE.finditer(code)]
    casts = {found.span("cast") for found in HIDDEN_KERNEL.finditer(code)}
    edits += [(*cast, "") for cast in casts]
    if LAUNCH_BY_ADDRESS.search(code):
        for found in TO_ADDRESS.finditer(code):
            start, end = found.span("cast")
            if not any(start < other_end and other_start < end for other_start, other_end in casts):
                edits.append((start, end, "::cpu_device::address_of"))
                if "(" not in code[end : found.start("name")]:
                    edits += [(found.start("name"),) * 2 + ("(",), (found.end("name"),) * 2 + (")",)]
    for start, end, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[end:]
    return with_ptx(text)
