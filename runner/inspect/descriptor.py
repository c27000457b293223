"""`./gemm descriptor`: what a matrix descriptor of wgmma or a tensor map says, read by build/cpu's gemm_descriptor."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

from rich.table import Table

from runner.core import doctor, lesson, process, tables
from runner.core.build import build
from runner.core.process import say
from runner.core.results import ROOT, UserError, parsed
from runner.inspect import inspection
from runner.inspect.trace_types import Box, Descriptor, TensorMap, Trace

SCHEMA = 1
LINE, CHUNK = 128, 16  # bytes of shared memory: a line of the drawing, a cell
MOST = 16  # lines that are printed
_SMALL = "128"  # M = N = K at which a lesson shows its own


def cells(found: Descriptor | Box) -> dict[int, list[str]]:
    """Line of shared memory -> its 8 cells in words: `0,8` the row and k (of a box: the column) of the first element there,
    with ! where something else is meant and + where several read the same; · where nothing is."""
    lines: dict[int, list[str]] = {}
    for chunk in found["chunks"]:
        line, cell = divmod(chunk["address"], LINE)
        row = lines.setdefault(line, ["·"] * (LINE // CHUNK))
        text = f"{chunk['row']},{chunk['k'] if 'k' in chunk else chunk['column']}" + ("!" if chunk.get("wrong") else "")
        row[cell // CHUNK] = text if row[cell // CHUNK] == "·" else row[cell // CHUNK].rstrip("+") + "+"
    return dict(sorted(lines.items()))


def memory(found: Descriptor | Box) -> Table:
    """The first lines of shared memory that it touches."""
    rows = [[str(line * LINE), *row] for line, row in list(cells(found).items())[:MOST]]
    return tables.grid(["byte", *(f"+{cell * CHUNK}" for cell in range(LINE // CHUNK))], rows)


def _wrong(found: Descriptor) -> list[str]:
    """What it reads instead of the tile that is meant, the first place, and how many."""
    tile = found["tile"]
    if tile is None:
        return []
    cells_ = f"{found['wrong']} of {len(found['chunks'])} times 16 bytes"
    if not found["wrong"]:
        return [f"It reads the tile of {tile['rows']}×{tile['columns']} at byte {tile['at']} as it is."]
    first = next(chunk for chunk in found["chunks"] if chunk["wrong"])
    holds = first["holds"]
    there = f"row {holds['row']}, k = {holds['k']} of the tile is" if holds else "nothing of the tile is"
    meant = f"row {first['row'] + tile['row']}, k = {first['k'] + tile['k']}"
    return [f"Wrong: {cells_}. The first: for {meant} it reads byte {first['address']}, where {there}."]


def _print_descriptor(found: Descriptor) -> None:
    side = "K" if found["major"] == "k" else "M or N"
    matrix = f"{found['rows']} rows, {found['depth']} steps along K, {side} side by side"
    print(f"{found['number']}: matrix descriptor of wgmma, {matrix}")
    rows = [
        [field["bits"], field["name"], str(field["encoded"]), f"{field['value']} {field['unit']}".rstrip()]
        for field in found["fields"]
    ]
    tables.show(tables.grid(("bits", "field", "encoded", "value"), rows, left=("field",)))
    for note in found["notes"]:
        print(note["text"])
    tables.show(memory(found))
    _print_rest(found, "row, k of the first of the 8 elements that are read there")
    for sentence in _wrong(found):
        print(sentence)


def _print_box(found: Box) -> None:
    columns = ("field", "value")
    fields = found["fields"].items()
    rows = [[name, " × ".join(map(str, value)) if isinstance(value, list) else str(value)] for name, value in fields]
    tables.show(tables.grid(columns, rows, left=columns))
    print(
        f"A box has {found['box_bytes']} bytes, which a load counts at its mbarrier, and takes {found['shared_bytes']} of shared "
        f"memory, {found['row_bytes']} a row."
    )
    tables.show(memory(found))
    _print_rest(found, "row, column in the box of the first element there")


def _print_rest(found: Descriptor | Box, what: str) -> None:
    more = len(cells(found)) - MOST
    print(f"A cell is 16 bytes: {what}." + (f" {more} more lines of 128 bytes are not shown." if more > 0 else ""))


def options_of(entry: TensorMap) -> list[str]:
    """gemm_descriptor's options for a tensor map that a lesson has made."""

    def sizes(numbers: Sequence[int]) -> str:
        return "x".join(map(str, numbers))

    strides = [f"--strides={sizes(entry['globalStrides'])}"] if entry["globalStrides"] else []
    sides = [f"--box={sizes(entry['boxDim'])}", f"--element-strides={sizes(entry['elementStrides'])}"]
    modes = [f"--swizzle={entry['swizzle']}", f"--fill={entry['oobFill']}"]
    return [f"--type={entry['tensorDataType']}", f"--size={sizes(entry['globalDim'])}", *strides, *sides, *modes]


def own(found: Trace) -> list[tuple[str, list[str]]]:
    """A lesson's tensor maps and its first descriptors: what each is, and gemm_descriptor's options for it."""
    asked: dict[str, list[str]] = {}
    for line in found["lines"]:
        if line["tensor_map"]:
            asked.setdefault(f"{line['array']}, line {line['line']}", options_of(line["tensor_map"]))
    for entry in found["wgmma"]:
        for name, number, major, rows in (
            ("A", entry["a"], entry["major_a"], entry["m"]),
            ("B", entry["b"], entry["major_b"], entry["n"]),
        ):
            if number:
                options = [f"--number={number}", f"--major={major}", f"--rows={rows}"]
                asked.setdefault(f"{name} of wgmma, line {entry['line']}", options)
    return list(asked.items())


def read(program: Path, options: Sequence[str]) -> Descriptor | Box:
    """What gemm_descriptor says. A UserError, which is its sentence, where it refuses."""
    done = process.stream([program, *options], "Reading", process.unseen, whole=True)
    process.require(done, "gemm_descriptor", (0,), "build it again")
    return cast("Descriptor | Box", parsed("\n".join(done.lines), "gemm_descriptor", SCHEMA))


def _asked(text: str | None, options: Mapping[str, str | None]) -> list[tuple[str, list[str]]]:
    """What is to be read: name, options. A lesson's own, or what was given."""
    given = [f"{key}={value}" for key, value in options.items() if value is not None]
    if text is None or text.lower().startswith("0x") or (text.isdigit() and len(text) > 3):
        return [("descriptor", ([f"--number={text}"] if text else []) + given)]
    name = lesson.find(text)
    if given:
        raise UserError(
            f"{given[0].partition('=')[0]} is not for a lesson's own; give the number that ./gemm descriptor {text} shows."
        )
    sizes: dict[str, str | None] = dict.fromkeys(("m", "n", "k"), _SMALL)
    request = inspection.parse({**sizes, "seed": "1"}, {}, "1", None)
    found, _ = inspection.trace(inspection.build_tracer() / "gemm_inspect", name, request)
    if asked := own(found):
        return asked
    raise UserError(f"{name} has no tensor maps and no matrix descriptors; 10 has the first, 11a both.")


def descriptor(
    text: str | None, options: Mapping[str, str | None], as_json: bool, plot: Callable[[Descriptor | Box, Path], None] | None
) -> int:
    """`text`: a number or a lesson; options: as gemm_descriptor has them; `plot` draws one to a stem. Exit status 1 where a tile
    is not what is read."""
    cpu = doctor.Device("cpu", None, (), "descriptors are read on the CPU")
    asked = _asked(text, options)
    program = build(cpu, doctor.provide(cpu), ["gemm_descriptor"]) / "bin" / "gemm_descriptor"
    found = [(name, read(program, given)) for name, given in asked]
    status = int(any(entry["kind"] == "wgmma" and entry["wrong"] for _, entry in found))
    if as_json:
        whole = [{"name": name, **entry} for name, entry in found]
        sys.stdout.write(json.dumps(whole if len(whole) > 1 else whole[0], indent=1, ensure_ascii=False) + "\n")
    for number, (name, entry) in enumerate(() if as_json else found):
        if len(found) > 1:
            print(f"{'' if number == 0 else chr(10)}{name}")
        if entry["kind"] == "wgmma":
            _print_descriptor(entry)
        else:
            _print_box(entry)
        sys.stdout.flush()
    if plot:
        folder, stems = ROOT / "out" / "descriptor", []
        for name, entry in found:
            stem = folder / "_".join(([text] if text and len(found) > 1 else []) + name.replace(",", "").split())
            plot(entry, stem)
            stems.append(str(stem.relative_to(ROOT)))
        say(f"Written, as .png and .svg: {', '.join(stems)}.")
    return status
