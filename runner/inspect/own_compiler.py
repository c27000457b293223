"""Compiles a CUDA source that was not written for this course, for `./gemm inspect my.cu`: what belongs to its main program and
its benchmarks, and cannot be compiled here, is left out, as long as the call does not need it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from runner.core import process
from runner.core.compiling import blame_the_machine, first_error, named_lines, translator
from runner.core.results import UserError
from runner.inspect.own_source import Place, foreign

BEHIND = "namespace own_kernel_call {"  # the file's text ends in front of it
_MISSING = re.compile(r"fatal error: (?P<header>[^:\n]+): No such file or directory")
# An error in what a macro says is one of the function that says the macro.
_ERROR = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):(?:\d+:)? (?:(?:fatal )?error: |note: in expansion of macro )", re.MULTILINE
)
_REQUIRED = re.compile(r"^(?P<file>[^:\n]+):(?P<line>\d+):(?:\d+:)? +required from here", re.MULTILINE)
# What g++ says where a template's member is called without the keyword, which nvcc does not ask for in code of the device:
# T::f<1>(x) for T::template f<1>(x).
_KEYWORD = re.compile(
    r"^(?P<file>[^:\n]+):(?P<line>\d+):(?:\d+:)? error: "
    r"(?:invalid operands of types [^\n]*<unresolved overloaded function type>|expected primary-expression before )",
    re.MULTILINE,
)
# (Arguments and a call follow: `threadIdx.x < n` compares.)
_MEMBER = re.compile(r"(?P<of>::|\.|->)\s*(?P<name>[A-Za-z_]\w*\s*<(?=(?:[^;{}<>()]|<[^;{}<>()]*>)*>\s*\())")
# The toolkit's: what they declare is in common/cpu/ptx/foreign.hpp, or is nowhere.
_OF_TOOLKIT = (
    "cublas.h", "cublas_v2.h", "cublasLt.h", "cublasXt.h", "cuda_profiler_api.h", "cudaProfiler.h",
    "cuda_device_runtime_api.h", "cuda_fp8.h",
    "curand.h", "curand_kernel.h", "cusolverDn.h", "cusparse.h", "device_functions.h", "device_launch_parameters.h",
    "driver_types.h", "library_types.h", "math_constants.h", "nvToolsExt.h", "nvtx3/nvToolsExt.h", "sm_32_intrinsics.h",
    "vector_functions.h", "vector_types.h", "builtin_types.h",
)  # fmt: skip
# Of NVIDIA's samples, which many sources include: what their launchers use of it.
_STAND_INS = {
    "helper_cuda.h": "#define checkCudaErrors(call) static_cast<void>(call)\n"
    "#define getLastCudaError(message) cudaGetLastError()\n"
    "inline int findCudaDevice(int, const char**) { return 0; }\n",
}
_ROUNDS = 40  # of headers and functions that are left out
# Of common/ptx and the toolkit's version 13: what sources ask the compiler for.
_DEFINED = ("-D__CUDACC_VER_MAJOR__=13", "-D__CUDACC_VER_MINOR__=0")
# Of arrays whose length the compiler knows: through a pointer, too, where the function that has it is inlined.
_BOUNDS = ("-fsanitize=bounds", "-fsanitize=object-size", "-finline-functions", "-finline-small-functions")
_LENIENT = ("-w", "-Wno-narrowing", "-fpermissive")  # as nvcc is
# What nobody calls need not find what it calls: functions that are in no kept section may name what is nowhere.
_SECTIONS = "-ffunction-sections"
ONLY_WHAT_IS_CALLED = "-Wl,--gc-sections"  # for the linker


class Compiler:
    """Compiles one file."""

    def __init__(self, tools: Mapping, name: str, text: str, flags: Sequence[str], folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self._folder, self._name = folder, name
        self._text = foreign().without_main(text)
        self._stand_ins = folder / "stand_ins" / "room" / "for" / "parents"  # for headers that are named with ../
        for header in _OF_TOOLKIT:
            self._stand_in(header, "")
        compiler, *rest = tools["kernel"]
        self._command = [compiler, f"-I{self._stand_ins}", *rest, *_DEFINED, *_LENIENT, *_BOUNDS, _SECTIONS, *flags]
        self.headers: list[str] = []
        self.functions: list[str] = []
        self._why: dict[str, tuple[str, ...]] = {}  # a function that is left out: its first error

    def compiled(self) -> Path:
        """The object. A UserError, with the first error's lines, where a kernel or what the call needs does not compile."""
        made, source = self._folder / "own.o", self._folder / "own.cpp"
        for _ in range(_ROUNDS):
            try:
                text = translator()(foreign().prepared(self._text))
            except SyntaxError as error:
                place = Place.of_line(self._text, self._name, error.lineno or 1)
                raise UserError(f"{place}: {error.msg}.", status=1) from error
            source.write_text('#include "common/cpu/ptx/foreign.hpp"\n' + named_lines(self._name, text), encoding="utf-8")
            done = process.stream([*self._command, "-o", made, "-c", source], f"Compiling {self._name}", process.unseen)
            if not done.status:
                return made
            blame_the_machine("The compiler", done.status, done.lines)
            if not self._left_out("\n".join(done.lines)):
                break
        lines = "\n".join(f"  {line}" for line in self._cause(first_error(done.lines)))
        empty = f" Headers that are not here count as empty: {', '.join(self.headers)}." if self.headers else ""
        raise UserError(f"{self._name} does not compile for the CPU device.{empty}\n{lines}", status=1)

    def why_missing(self, called: str) -> str:
        """Behind the sentence that a function is called and is not there: why it was left out; nothing where it was not."""
        found = re.search(r"(\w+)\s*(?:<[^()]*>)?\s*(?:\(|$)", called)
        return "".join(f"\n  {line}" for line in self._cause(self._why.get(found[1], ()) if found else ()))

    def _cause(self, told: tuple[str, ...]) -> tuple[str, ...]:
        """Why that is missing which an error names and which was left out."""
        seen: set[str] = set()
        while told:
            name = next((n for n in self._why if n and n not in seen and re.search(rf"\b{re.escape(n)}\b", told[0])), None)
            if name is None or not self._why[name]:
                break
            seen.add(name)
            told = self._why[name]
        return told

    def vanished(self) -> list[str]:
        """Functions of the device of which nothing is left where __CUDA_ARCH__ is what it is. After compiled()."""
        there = foreign().functions(self._text)
        asked = {f.name for f in there if f.on_device and "__CUDA_ARCH__" in self._text[f.start : f.end]}
        if not asked:
            return []
        source = self._folder / "own.cpp"
        command = [*(part for part in self._command if part != "-c"), "-E", "-P", source]
        done = process.stream(command, f"Preprocessing {self._name}", process.unseen)
        text = "\n".join(done.lines)
        bodies = [(f.name, foreign().body(text, f)) for f in foreign().functions(text) if f.name in asked]
        return sorted({name for name, body in bodies if not body.strip(" \t\n;")}) if not done.status else []

    def _stand_in(self, header: str, text: str) -> None:
        path = self._stand_ins / header
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def _without_header(self, header: str) -> bool:
        """A header that is not here counts as empty; libcu++'s of the standard library are the standard library's."""
        path = (self._stand_ins / header).resolve()
        if self._stand_ins.parents[2].resolve() not in path.parents or path.exists():
            return False
        if header.startswith("cuda/std/"):
            there = header.removeprefix("cuda/std/")
            self._stand_in(header, f"#include <{there}>\nnamespace cuda::std {{\nusing namespace ::std;\n}}\n")
        else:
            self._stand_in(header, _STAND_INS.get(header, ""))
            self.headers.append(header)
        return True

    def _left_out(self, said: str) -> bool:
        """Leaves out a header that is not here, or what the errors are in and the call may not need; whether there is one."""
        if missing := _MISSING.search(said):
            return self._without_header(missing["header"])
        if self._with_keywords(said):
            return True
        for pattern in (_ERROR, _REQUIRED):  # the second: of errors in templates that are not the file's
            places = {Place(found["file"], int(found["line"])) for found in pattern.finditer(said)}
            offsets = [offset for place in places if (offset := place.offset(self._text, self._name)) is not None]
            if offsets:
                break
        if self._without_assertions(offsets):
            return True
        end = self._text.find(BEHIND)
        offsets = [offset for offset in offsets if end < 0 or offset < end]
        bodies = [body for body in foreign().functions(self._text) if any(body.start <= at < body.end for at in offsets)]
        unwanted = [body for body in bodies if not body.on_device]
        unwanted += self._declarations(offsets)
        if not unwanted:
            unwanted = bodies  # a kernel that nobody calls
        # Not a class's member and the class.
        unwanted = [one for one in unwanted if not any(o != one and o.start <= one.start and one.end <= o.end for o in unwanted)]
        for function in unwanted:
            inside = [place for place in places if function.start <= (place.offset(self._text, self._name) or -1) < function.end]
            of_it = [line for line in said.split("\n") if any(line.startswith(f"{place}:") for place in inside)]
            told = of_it if pattern is _ERROR else first_error(said.split("\n"))
            self._why.setdefault(function.name, tuple(told[:1]))
        self._text = foreign().without(self._text, sorted(unwanted, key=lambda function: -function.start))
        self.functions += [function.name for function in unwanted if function.name]
        return bool(unwanted)

    def _with_keywords(self, said: str) -> bool:
        """Writes `template` where g++ may miss it; whether it has written any."""
        before = self._text
        for found in {(found["file"], int(found["line"])) for found in _KEYWORD.finditer(said)}:
            end = Place(*found).offset(self._text, self._name)
            if end is not None:
                start, end = self._text.rfind("\n", 0, end) + 1, self._text.find("\n", end)
                self._text = (
                    self._text[:start] + _MEMBER.sub(r"\g<of>template \g<name>", self._text[start:end]) + self._text[end:]
                )
        return self._text != before

    def _without_assertions(self, offsets: list[int]) -> bool:
        """Leaves out assertions that do not compile: those of who only compiles with -DNDEBUG."""
        found = {where for at in offsets if (where := foreign().assertion(self._text, at))}
        for where in sorted(found, reverse=True):
            self._text = foreign().without_assertion(self._text, where)
        return bool(found)

    def _declarations(self, offsets: list[int]) -> list:
        """What is declared there without a body, outside of all functions, or the class that they are in."""
        bodies = list(foreign().functions(self._text))
        outside = [at for at in offsets if not any(body.start <= at < body.end for body in bodies)]
        found = {foreign().declaration(self._text, at) or foreign().class_around(self._text, at) for at in outside}
        return sorted((one for one in found if one is not None), key=lambda one: one.start)
