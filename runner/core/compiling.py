"""A kernel's source, compiled and linked without CMake: by `check` and `grade` a learner's, by `autotune` a lesson's variants.

What is compiled here is linked with a program that CMake has built; how, CMake wrote down (cmake/link.cmake).
"""

from __future__ import annotations

import importlib.util
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from runner.core import doctor, process
from runner.core.build import build
from runner.core.process import say_all
from runner.core.results import ROOT, UserError

# (With a capital it is the assembler's.)
_MESSAGE = re.compile(r"^[^\s:][^:\n]*(?::\d+(?::\d+)?|\(\d+\)): (?P<kind>fatal error|error|Error|warning)\b")
_LIST = """namespace gemm {{
struct Lesson;
}}
{namespaces}
extern const gemm::Lesson* const gemm_checked[];
const gemm::Lesson* const gemm_checked[] = {{{addresses}, nullptr}};
"""
_LESSONS = """#include <span>
namespace gemm {{
struct Lesson;
std::span<const Lesson* const> all_lessons();
}}
{namespaces}
std::span<const gemm::Lesson* const> gemm::all_lessons() {{
    static const Lesson* const lessons[] = {{{addresses}}};
    return lessons;
}}
"""

# A kernel's first lines, as far as they change nothing for what stands below: comments without a backslash, and headers of the
# system's and of the project's. Each piece by itself, so that no text takes long.
_OF_HEAD = re.compile(
    r'\s+|//[^\n\\]*\n|/\*(?:[^*]|\*(?!/))*\*/|#[ \t]*include[ \t]*(?:<[\w./]+>|"(?P<own>common/[\w./]+)")[ \t]*\n'
)
_PREPARED = "common/gemm.hpp"

# What a compiler or a linker says where the machine is at fault, not the code; in small letters.
_TROUBLE = (
    "no space left on device",
    "disk quota exceeded",
    "read-only file system",
    "input/output error",
    "too many open files",
    "cannot open output file",
    "could not open output file",
    "cannot create temporary file",
    "can't create",
    "error writing to",
    "error closing",
    "virtual memory exhausted",
    "cannot allocate memory",
    "killed signal terminated program",
    "cannot execute",
)
# What a linker says where the code is.
_LINKED_WRONGLY = r"undefined reference to|multiple definition of|[Uu]nresolved extern"


@dataclass(frozen=True)
class Source:
    """A kernel to link: its text, what its lines are called in messages, its namespace, what the kernel is called."""

    text: str
    name: str
    namespace: str
    title: str = ""
    lesson: str = ""  # whose architectures it is compiled for


class NotCompiled(Exception):
    """The compiler's, the translator's or the linker's lines; whose source it is, where that is known."""

    def __init__(self, lines: Sequence[str], source: Source | None = None) -> None:
        super().__init__()
        self.lines, self.source = lines, source


@cache
def translator() -> Callable[[str], str]:
    """common/cpu/translate.py's translate(): CUDA C++ → C++ for the CPU device. It raises SyntaxError."""
    spec = importlib.util.spec_from_file_location("translate", ROOT / "common" / "cpu" / "translate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.translate


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder for what is compiled, gone afterwards."""
    try:
        held = tempfile.TemporaryDirectory(prefix="gemm-")
    except OSError as error:
        why = error.strerror or "no usable folder"
        raise UserError(f"There is no room for temporary files ({why}); set TMPDIR to a folder that is writable.") from error
    with held as folder:
        yield Path(folder)


def blame_the_machine(what: str, status: int, lines: Sequence[str]) -> None:
    """A UserError where it is not the code that a compiler or a linker (`what`) failed at."""
    if signal := process.crash(status):
        raise UserError(f"{what} was ended by {signal}; check again.")
    for line in lines:
        # Not what quotes the code, and not what the code says itself.
        if line.startswith((" ", "\t")) or "#error" in line or "static assertion" in line:
            continue
        if any(words in line.lower() for words in _TROUBLE):
            raise UserError(f"{what} could not do its work: {line.rstrip('.')}; that is not your code's fault.")


def toolchain(device: doctor.Device, program: str = "check", more: Sequence[str] = ()) -> dict:
    """Builds what kernels are linked with to make gemm_<program>, and the targets `more`; how to compile and link them, as
    CMake wrote it down."""
    folder = build(device, doctor.provide(device), [f"gemm_{program}_main", *more])
    return {**json.loads((folder / f"{program}.json").read_text(encoding="utf-8")), "device": device.kind}


def first_error(lines: Sequence[str]) -> tuple[str, ...]:
    """The first error with the code that it shows, and how many others there are."""
    starts = [i for i, line in enumerate(lines) if (m := _MESSAGE.match(line)) and m["kind"] != "warning"]
    if not starts:
        of_the_linker = [re.sub(r"^(?:\S*\bld(?:\.\w+)?: )?(?:/\S+\.o: ?)?", "", line) for line in lines]
        told = [line for line in of_the_linker if re.search(_LINKED_WRONGLY, line)]
        # What is wrong with information for debuggers is in nobody's way.
        others = [line for line in lines if not re.search(r"\b(?:DWARF|[Ww]arning)\b", line)]
        return tuple(told[:3] or others[-5:] or lines[-5:])
    end = next((i for i in range(starts[0] + 1, len(lines)) if not lines[i].startswith((" ", "\t"))), len(lines))
    shown = list(lines[starts[0] : end])
    if len(starts) > 1:
        shown.append(f"… and {len(starts) - 1} more, which the first one often causes")
    return tuple(shown)


def begins_as_prepared(text: str) -> bool:
    """Whether a kernel includes, before any code, what is made ready for compilers (cmake/link.cmake): no change to it, then."""
    at = 0
    while piece := _OF_HEAD.match(text, at):
        if piece["own"] == _PREPARED:
            return True
        at = piece.end()
    return False


def named_lines(name: str, text: str) -> str:
    """The text so that a compiler calls its file by that name."""
    quoted = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'#line 1 "{quoted}"\n{text}'


def compile_command(tools: Mapping, source: Source, folder: Path, prepared: bool = False) -> tuple[list[str | Path], Path]:
    """Writes the source into the folder; the command that compiles it there, and the object. Raises NotCompiled.

    prepared: with the headers that are ready, where there are any and it begins with them. The object is as good. Where that
    compiler fails, only one without them says why in words that do not depend on it.
    """
    stem = folder / source.namespace
    if tools["device"] == "cpu":
        try:
            text = translator()(source.text)
        except SyntaxError as error:
            raise NotCompiled([f"{source.name}:{error.lineno}: error: {error.msg}"], source) from error
        file = stem.with_suffix(".cpp")
    else:
        text, file = source.text, stem.with_suffix(".cu")
    file.write_text(named_lines(source.name, text), encoding="utf-8")
    built_for = tools["architectures"].get(source.lesson, tools["architectures"][""])
    made = stem.with_suffix(".o")
    kernel = (
        with_prepared(tools["kernel"], tools["prepared"]) if prepared and is_prepared(tools, source.text) else tools["kernel"]
    )
    return [*kernel, *built_for, "-o", made, "-c", file], made


def is_prepared(tools: Mapping, text: str) -> bool:
    """Whether there are headers ready for this kernel."""
    return "prepared" in tools and begins_as_prepared(text)


def with_prepared(kernel: Sequence[str], header: str) -> list[str]:
    """The command that compiles a kernel, with the headers that are ready."""
    place = kernel.index("-include") + 1
    return [*kernel[:place], header, *kernel[place + 1 :]]


def _named(template: str, sources: Sequence[Source]) -> str:
    namespaces = "\n".join(f"namespace {s.namespace} {{\nextern const gemm::Lesson lesson;\n}}" for s in sources)
    return template.format(namespaces=namespaces, addresses=", ".join(f"&{s.namespace}::lesson" for s in sources))


def list_of(sources: Sequence[Source]) -> str:
    """C++ that names the kernels for gemm_check and gemm_exam."""
    return _named(_LIST, sources)


def lessons_of(sources: Sequence[Source]) -> str:
    """The same for gemm_bench and gemm_inspect, to which they are all lessons that there are."""
    return _named(_LESSONS, sources)


def _compiled(tools: Mapping, source: Source, folder: Path) -> tuple[process.Finished, Path]:
    """How compiling it ended, and the object."""
    own = {"TMPDIR": str(folder)}  # compilers put their temporary files there, too
    for prepared in (True, False) if is_prepared(tools, source.text) else (False,):
        command, made = compile_command(tools, source, folder, prepared)
        done = process.stream(command, f"Compiling {source.name}", process.unseen, own)
        if not done.status:
            break
    return done, made


def link(tools: Mapping, listed: str, objects: Sequence[str | Path], program: Path, title: str = "Linking") -> process.Finished:
    """Links a program of kernels, which `listed` names in C++."""
    source = program.with_suffix(".list.cpp")
    source.write_text(listed, encoding="utf-8")
    command = [*tools["link_before"], source, *objects, *tools["link_after"], "-o", program]
    return process.stream(command, title, process.unseen, {"TMPDIR": str(program.parent)})


def unlinked(done: process.Finished, what: str) -> None:
    """A UserError where linking has failed and no kernel is to blame."""
    if done.status:
        blame_the_machine("The linker", done.status, done.lines)
        say_all(done.lines)
        said = "the message is above" if done.lines else f"it ended with status {done.status} and said nothing"
        raise UserError(f"The linker could not make {what}; {said}.")


def compile_program(
    tools: Mapping, sources: Sequence[Source], folder: Path, listed_as: Callable[[Sequence[Source]], str] = list_of
) -> tuple[Path, list[str]]:
    """The program that checks sources[0], and the compiler's warnings about it. Raises NotCompiled."""
    warnings: list[str] = []
    objects = []
    for source in sources:
        done, made = _compiled(tools, source, folder)
        objects.append(made)
        lines = [text.replace(str(ROOT) + "/", "") for text in done.lines]
        if done.status:
            blame_the_machine("The compiler", done.status, lines)
            raise NotCompiled(lines or [f"{source.name}: error: the compiler ended with status {done.status}."], source)
        if source is sources[0]:
            warnings = [text for text in lines if (m := _MESSAGE.match(text)) and m["kind"] == "warning"]
    program = folder / "program"
    done = link(tools, listed_as(sources), objects, program)
    if done.status:
        blame_the_machine("The linker", done.status, done.lines)
        undefined = [text for text in done.lines if "ndefined reference to" in text]
        missing = next((s for s in sources if any(f"{s.namespace}::lesson" in text for text in undefined)), None)
        if missing:
            what = f"it does not define {missing.namespace}::lesson, which launches the kernel"
            raise NotCompiled([f"{missing.name}:1: error: {what}; ./gemm reset brings the file back."], missing)
        if any(re.search(_LINKED_WRONGLY, text) for text in done.lines):
            raise NotCompiled(done.lines)
    unlinked(done, "the program")
    return program, warnings
