"""A kernel's source compiled for one architecture, and its machine code as text: by nvcc and cuobjdump, which need no GPU.

Both come with the CUDA toolkit. What is missing is installed into .venv, since PyPI has it, too.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.core import compiling, doctor, process
from runner.core.process import say_all
from runner.core.results import ROOT, UserError

# Of one release: what one part of the compiler writes, another of an older one does not read.
_NVCC_PINS = ("nvidia-cuda-nvcc==13.0.88", "nvidia-nvvm==13.0.88", "nvidia-cuda-crt==13.0.88", "nvidia-cuda-runtime==13.0.96")
_DUMP_PINS = ("nvidia-cuda-cuobjdump==13.2.51", "nvidia-cuda-nvdisasm==13.2.51")  # the second does the first one's work
_ARCHITECTURE = "90"  # where there is no GPU: what the lessons' texts show
_ENTRY = re.compile(
    r"Compiling entry function '(?P<name>\S+)' for.*?"
    r"(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, (?P<loads>\d+) bytes spill loads.*?"
    r"Used (?P<registers>\d+) registers(?P<rest>[^\n]*)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Usage:
    """What ptxas says of a kernel: registers of a thread, bytes of its stack, bytes that it stores to and loads from memory
    because registers do not suffice, and bytes of shared memory of a block, but for what a launch adds."""

    registers: int
    stack: int
    spill_stores: int
    spill_loads: int
    shared: int


@dataclass(frozen=True)
class Disassembly:
    """`dump`: what `cuobjdump --dump-sass` prints. `usage`: by the kernel's mangled name. `names`: as the source has them."""

    nvcc: str  # its version: 13.0
    dump: str
    usage: dict[str, Usage]
    names: dict[str, str]


@dataclass(frozen=True)
class Tools:
    """Programs, and the folder of nvdisasm, which cuobjdump looks for on PATH."""

    nvcc: Path
    cuobjdump: Path
    nvdisasm: Path


def missing() -> dict[str, Sequence[str]]:
    """What is not here, and what PyPI calls it."""
    lacking: dict[str, Sequence[str]] = {}
    if not doctor.wherever("nvcc"):
        lacking["nvcc"] = _NVCC_PINS
    if not (doctor.wherever("cuobjdump") and doctor.wherever("nvdisasm")):
        lacking["cuobjdump"] = _DUMP_PINS
    return lacking


def provide() -> Tools:
    """The programs, installed where they are missing and may be; else a UserError that says what to type."""
    if lacking := missing():
        what = " and ".join(lacking)
        why = doctor.venv_install([pin for pins in lacking.values() for pin in pins], what)
        if missing():
            verb = "are" if len(lacking) > 1 else "is"
            raise UserError(f"{what} of the CUDA toolkit {verb} missing, which sass needs; {why or 'install the toolkit'}.")
    nvcc, dump, disassembler = doctor.wherever("nvcc"), doctor.wherever("cuobjdump"), doctor.wherever("nvdisasm")
    assert nvcc
    assert dump
    assert disassembler
    return Tools(nvcc, dump, disassembler)


def architecture(given: str | None) -> str:
    """`90`, `sm_90`, `9.0` or `90a` -> `90`, `90a`; None: the GPU's own, or 90 where there is none."""
    if given is not None:
        found = re.fullmatch(r"(?:sm_)?(\d{1,2})\.?(\d[af]?)", given)
        if not found:
            raise UserError(f"--arch must be an architecture, such as 90 or 90a, not {given!r}.")
        return found[1] + found[2]
    status, said = doctor.ask_driver("--query-gpu=compute_cap", "--format=csv,noheader")
    own = re.match(r"(\d+)\.(\d)$", said.strip().partition("\n")[0].strip()) if status == 0 else None
    return own[1] + own[2] if own else _ARCHITECTURE


def _demangled(names: Sequence[str]) -> dict[str, str]:
    """Names as the source has them, by mangled name; the mangled ones where nothing here reads them."""
    reader = shutil.which("c++filt")
    status, output = process.quiet([reader, *names]) if reader and names else (1, "")
    read = output.splitlines()
    return dict(zip(names, read if status == 0 and len(read) == len(names) else names, strict=True))


def usage_of(lines: Sequence[str]) -> dict[str, Usage]:
    """What `-Xptxas=-v` said of each kernel, by its mangled name."""
    found = {}
    for one in _ENTRY.finditer("\n".join(lines)):
        shared = re.search(r"(\d+) bytes smem", one["rest"])
        registers, stack, stores, loads = (int(one[key]) for key in ("registers", "stack", "stores", "loads"))
        found[one["name"]] = Usage(registers, stack, stores, loads, int(shared[1]) if shared else 0)
    return found


def disassemble(source: Path, shown: str, wanted: str, flags: Sequence[str] = ()) -> Disassembly:
    """Compiles the source for the architecture `wanted`. `shown`: what messages call it; `flags`: what nvcc is told besides."""
    tools = provide()
    compiler = doctor.choose_compiler(tools.nvcc)
    if not compiler or compiler.flaw:
        flaw = f": {compiler.path} {compiler.flaw}" if compiler else ""
        how = doctor.command(doctor.Need("g++", "", compiler.package if compiler else "g++"))
        raise UserError(f"{tools.nvcc} needs a g++ that it takes{flaw}; type: {how}.")
    version = "".join(re.findall(r"release ([\d.]+)", process.quiet([tools.nvcc, "--version"])[1])[:1])
    with compiling.scratch() as folder:
        binary = folder / "kernel.cubin"
        target = f"--generate-code=arch=compute_{wanted},code=sm_{wanted}"
        command: process.Command = [
            *(tools.nvcc, "-ccbin", compiler.path, "-std=c++20", "-I", ROOT, target),
            *flags,
            *("-Xptxas=-v", "-cubin", "-o", binary, "-x", "cu", source),
        ]
        environment = {"TMPDIR": str(folder)}
        made = process.stream(command, f"Compiling {shown}", process.unseen, environment, whole=True)
        if made.status:
            compiling.blame_the_machine("nvcc", made.status, made.lines)
            say_all(compiling.first_error([line.replace(f"{ROOT}/", "") for line in made.lines]))
            raise UserError(f"nvcc does not compile {shown} for sm_{wanted}; its message is above.")
        environment["PATH"] = os.pathsep.join([str(tools.nvdisasm.parent), os.environ.get("PATH", os.defpath)])
        command = [tools.cuobjdump, "--dump-sass", binary]
        done = process.stream(command, f"Reading the machine code of {shown}", process.unseen, environment, whole=True)
    if done.status:
        said = done.lines[-1].rstrip(".") if done.lines else f"it ended with status {done.status}"
        raise UserError(f"{tools.cuobjdump} cannot read what {tools.nvcc} has made ({said}); take both from one CUDA toolkit.")
    usage = usage_of(made.lines)
    return Disassembly(version, "\n".join(done.lines), usage, _demangled(list(usage)))
