"""`./gemm sass`: the machine code of a lesson's main loop, counted by kind of instruction."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich import box
from rich.table import Table

from runner.core import compiling, lesson, tables
from runner.core.results import ROOT, UserError, folder_of, only_architecture
from runner.inspect import disassembly, machine_code, own_nvcc
from runner.inspect.disassembly import Usage
from runner.inspect.machine_code import SHARED_READS, Function, Loop
from runner.inspect.own import Options, completed

_BANKED = range(70, 100)  # architectures whose registers lie in two banks by the parity of their number, as far as is known
# What an instruction is for, by its opcode; in the order of the table. The others compute addresses, or jump.
_WORDS = {
    "FFMA": "multiply-add of FP32",
    "HMMA": "mma.sync on tensor cores",
    "QMMA": "mma.sync on tensor cores",
    "IMMA": "mma.sync on tensor cores",
    "HGMMA": "wgmma on tensor cores",
    "QGMMA": "wgmma on tensor cores",
    "IGMMA": "wgmma on tensor cores",
    "LDS": "shared → registers",
    "LDSM": "shared → registers, ldmatrix",
    "MOVM": "transposes a small matrix",
    "LDG": "global → registers",
    "LD": "some memory → registers",
    "LDGSTS": "global → shared, cp.async",
    "UTMALDG": "global → shared, TMA",
    "STS": "registers → shared",
    "STG": "registers → global",
    "ST": "registers → some memory",
    "LDL": "local memory → registers",
    "STL": "registers → local memory",
    "LDGDEPBAR": "cp.async.commit_group",
    "DEPBAR": "cp.async.wait_group",
    "SYNCS": "mbarrier",
    "WARPGROUP": "wgmma.fence, wait_group",
    "BAR": "barrier of the block",
}
_OTHERS = len(_WORDS)


@dataclass(frozen=True)
class Kernel:
    """An instantiation of a kernel in a source, what ptxas says of it, and its main loop."""

    function: Function
    name: str  # without namespaces and parameters: sgemm_cp_async<Tiles<64, 64, 16, 32, 32, 4, 8, 4>, true>
    usage: Usage
    loop: Loop | None


def short_name(demangled: str) -> str:
    """`void lesson_06a::sgemm_float4<true>(long, …)` -> `sgemm_float4<true>`."""
    named = demangled.replace("(anonymous namespace)::", "")
    depth, end = 0, len(named)
    for place, character in enumerate(named):
        depth += (character == "<") - (character == ">")
        if character == "(" and depth == 0:
            end = place
            break
    return re.sub(r"^[\w ]+? (?=\S)|\b\w+::", "", named[:end])


def read(made: disassembly.Disassembly) -> list[Kernel]:
    """The kernels of a disassembly, in its order."""
    found = []
    for function in machine_code.functions(made.dump):
        if usage := made.usage.get(function.name):
            name = short_name(made.names[function.name])
            found.append(Kernel(function, name, usage, machine_code.main_loop(function)))
    return found


def choose(kernels: Sequence[Kernel], wanted: str | None) -> Kernel:
    """The kernel to show: of those whose name contains `wanted` the one that matters most."""

    def plain(text: str) -> str:
        return text.replace(" ", "")

    named = [one for one in kernels if not wanted or plain(wanted) in plain(one.name) or wanted in one.function.name]
    if not named:
        raise UserError(f"There is no kernel {wanted!r}; there are: {'; '.join(one.name for one in kernels)}.")
    return named[machine_code.leading([(one.function, one.loop) for one in named])]


def _rank(kind: str) -> int:
    """Its place in the table; _OTHERS for what is not in _WORDS."""
    base = kind.partition(".")[0]
    return list(_WORDS).index(base) if base in _WORDS else _OTHERS


def _range(before: Sequence[int]) -> str:
    """`0`, or `179 … 194`."""
    return str(before[0]) if before[0] == before[-1] else f"{before[0]} … {before[-1]}"


def banked(loop: Loop, architecture: str) -> int | None:
    """How many of the loop's FFMAs read three registers of one bank; None where the banks are not known."""
    known = loop.multiply == "FFMA" and int(re.sub(r"\D", "", architecture)) in _BANKED
    return sum(one.shares_a_bank for one in loop.multiplies) if known else None


def _loop_object(loop: Loop) -> dict:
    sizes = {one.kind: one.bytes for one in loop.own}
    return {
        "begin": loop.begin,
        "end": loop.end,
        "instructions": len(loop.own),
        "kinds": [{"kind": kind, "count": len(before), "bytes": sizes[kind], "after": before} for kind, before in _sorted(loop)],
    }


def _sorted(loop: Loop) -> list[tuple[str, list[int]]]:
    return sorted(loop.kinds.items(), key=lambda one: (_rank(one[0]), -len(one[1])))


def _kernel_object(kernel: Kernel, architecture: str, code: bool) -> dict:
    found: dict = {"name": kernel.name, "mangled": kernel.function.name, **asdict(kernel.usage), "loop": None}
    if loop := kernel.loop:
        found["loop"] = {
            **_loop_object(loop),
            "multiply": loop.multiply,
            "multiplies": len(loop.multiplies),
            "reuse": sum(one.reuses for one in loop.multiplies),
            "one_bank": banked(loop, architecture),
            "shared_reads": _shared_reads(loop),
            "around": [_loop_object(one) for one in loop.around],
        }
        if code:
            found["loop"]["code"] = [{"address": one.address, "text": one.text} for one in loop.own]
    return found


def _shared_reads(loop: Loop) -> int:
    return sum(len(before) for kind, before in loop.kinds.items() if kind.partition(".")[0] in SHARED_READS)


def _table(words: Sequence[str], figures: Sequence[str], more: str | None = None) -> Table:
    """Columns of words at the left and, where `more` names it, at the right, and between them columns of figures."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in words:
        table.add_column(column, overflow="fold")
    for column in figures:
        table.add_column(column, justify="right", no_wrap=True)
    if more is not None:
        table.add_column(more, overflow="fold")
    return table


def _show_kernels(kernels: Sequence[Kernel], chosen: Kernel) -> None:
    """A row a kernel: what it takes of a multiprocessor, and its main loop. What begins all names stands above."""
    common = {one.name.partition("<")[0] for one in kernels}
    head = f"{common.pop()}<…>" if len(kernels) > 1 and len(common) == 1 else ""
    multiplies = "/".join(sorted({one.loop.multiply for one in kernels if one.loop})) or "FFMA"
    table = _table([head or "kernel"], ["regs", "spills", "shared", "loop", multiplies])
    for one in kernels:
        usage, loop = one.usage, one.loop
        name = one.name.removeprefix(head[:-2])[: -1 if head else None].replace(", ", ",")
        mark = "" if len(kernels) == 1 else "→ " if one is chosen else "  "
        table.add_row(
            mark + name,
            str(usage.registers),
            str(usage.spill_stores + usage.spill_loads),
            str(usage.shared),
            str(len(loop.own)) if loop else "–",
            str(len(loop.multiplies)) if loop else "–",
        )
    tables.show(table, tables.PAPER)
    print("\nregs: registers per thread; spills, shared: bytes, without those that CUDA adds")
    for one in kernels:
        if one.usage.stack:
            print(f"{one.name}: {one.usage.stack} bytes of each thread are in local memory")
    if len(kernels) > 1:
        print("The rest is about the kernel with the arrow; --kernel TEXT chooses another.")


def _show_loop(loop: Loop, architecture: str) -> None:
    """A row a kind of instruction, and what follows from them. Of the loops around it the next one has a column."""
    multiply, total = loop.multiply, len(loop.multiplies)
    share = f"{total} {multiply} ({100 * total / len(loop.own):.1f} %)"
    print(f"The main loop, {loop.begin:04x} to {loop.end:04x}: {len(loop.own)} instructions, {share}")
    for inner, outer in zip(("It", "That one"), loop.around, strict=False):
        print(f"{inner} is in a loop, {outer.begin:04x} to {outer.end:04x}, with {len(outer.own)} more instructions")
    print()
    outer_kinds = loop.around[0].kinds if loop.around else {}
    table = _table(["instruction"], ["count", *(["around"] if outer_kinds else []), "after"], "")

    def add(kind: str, own: int, outer: int, place: str, words: str) -> None:
        table.add_row(kind, str(own or "–"), *([str(outer or "–")] if outer_kinds else []), place, words)

    for kind in sorted({**loop.kinds, **outer_kinds}, key=lambda kind: (_rank(kind), kind)):
        if _rank(kind) < _OTHERS:
            before = loop.kinds.get(kind, [])
            place = _range(before) if before and kind.partition(".")[0] != multiply else ""
            add(kind, len(before), len(outer_kinds.get(kind, [])), place, _words(kind, loop))
    others = {kind: len(before) for kind, before in loop.kinds.items() if _rank(kind) == _OTHERS}
    outer_others = sum(len(before) for kind, before in outer_kinds.items() if _rank(kind) == _OTHERS)
    if others or outer_others:
        most = ", ".join(f"{count} {kind}" for kind, count in sorted(others.items(), key=lambda one: (-one[1], one[0])))
        add("others", sum(others.values()), outer_others, "", most)
    tables.show(table, tables.PAPER)
    print()
    print(f"after: how many {multiply} of the loop come before it")
    for line in _facts(loop, architecture):
        print(line)


def _words(kind: str, loop: Loop) -> str:
    base = kind.partition(".")[0]
    size = next((one.bytes for part in (loop, *loop.around) for one in part.own if one.kind == kind), None)
    return _WORDS[base] + (f", {size} B" if size else "")


def _facts(loop: Loop, architecture: str) -> list[str]:
    total, multiply = len(loop.multiplies), loop.multiply
    lines = []
    if reads := _shared_reads(loop):
        lines.append(f"{multiply} for each read of shared memory: {total / reads:.1f}")
    lines.append(
        f"{multiply} with an operand that stays in the reuse cache: {sum(one.reuses for one in loop.multiplies)} of {total}"
    )
    if (same := banked(loop, architecture)) is not None:
        lines.append(f"{multiply} whose three sources are in one register bank: {same} of {total} ({100 * same / total:.1f} %)")
    return lines


def sass(name: str, mine: Path | None, file: str | None, arch: str | None, kernel: str | None, code: bool, as_json: bool) -> int:
    """Compiles a lesson's kernel.cu, or another file in its place, and shows its main loop. Exit status 0."""
    chosen = lesson.find(name)
    path = mine or (Path(file).absolute() if file else ROOT / folder_of(chosen) / "kernel.cu")
    shown = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
    if not path.is_file():
        start = f"; ./gemm start {chosen.partition('_')[0]} writes it" if mine else "; name a file with the kernel"
        raise UserError(f"{shown} is not there{start}.")
    wanted = disassembly.architecture(arch or only_architecture(chosen))
    return _show(chosen, shown, wanted, disassembly.disassemble(path, shown, wanted), kernel, code, as_json)


def sass_own(file: Path, given: Options, arch: str | None, kernel: str | None, code: bool, as_json: bool) -> int:
    """The same of a file that is no lesson's. Without a call it shows what nvcc compiles without one. Exit status 0."""
    if not file.is_file():
        raise UserError(f"There is no file {file}.")
    wanted = own_nvcc.architecture(arch)
    with compiling.scratch() as folder:
        options, said = completed(file, given), list[str]()
        if options.call is None:
            source, flags = own_nvcc.as_it_stands(file, options, folder)
        else:
            source, flags, said, _ = own_nvcc.with_call(file, options, folder)
        made = disassembly.disassemble(source, str(file), wanted, flags)
    for sentence in said if not as_json else ():
        print(sentence)
    hint = " (a template is compiled only where --call launches it)"
    return _show(file.name, str(file), wanted, made, kernel, code, as_json, hint)


def _show(
    name: str,
    shown: str,
    wanted: str,
    made: disassembly.Disassembly,
    kernel: str | None,
    code: bool,
    as_json: bool,
    hint: str = "",
) -> int:
    """Exit status 0. name: the lesson, or the file; shown: its source."""
    kernels = read(made)
    if not kernels:
        raise UserError(f"{shown} has no kernel for sm_{wanted}{hint}; --arch chooses another architecture.")
    one = choose(kernels, kernel)
    if as_json:
        found = {"lesson": name, "source": shown, "architecture": wanted, "nvcc": made.nvcc, "chosen": one.function.name,
                 "kernels": [_kernel_object(each, wanted, code and each is one) for each in kernels]}  # fmt: skip
        print(json.dumps(found, ensure_ascii=False))
        return 0
    print(f"{shown}, compiled by nvcc {made.nvcc} for sm_{wanted}\n")
    _show_kernels(kernels, one)
    print()
    if one.loop is None:
        print(f"{one.name} has no loop that multiplies.")
        return 0
    _show_loop(one.loop, wanted)
    if code:
        print()
        known = banked(one.loop, wanted) is not None
        for each in one.loop.own:
            same = known and each.base == one.loop.multiply and each.shares_a_bank
            print(f"{each.address:04x}  {each.text}{'  // one bank' if same else ''}")
    return 0
