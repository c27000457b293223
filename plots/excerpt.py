"""Tables of which a page shows some rows only: <!-- profile:05_2d_blocktile:issue slots used,load/store pipe -->.

A row is named by the beginning of its label; a row of counts also by its line. The caption stays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import wraps
from typing import Concatenate, ParamSpec

from runner.core.results import UserError

_P = ParamSpec("_P")


def lesson_of(name: str) -> str:
    """The lesson of a marker's name, whether rows are named or not."""
    return name.partition(":")[0]


def rows(render: Callable[Concatenate[str, _P], str]) -> Callable[Concatenate[str, _P], str]:
    """Makes what renders the table of a lesson take LESSON:ROW,ROW as well."""

    @wraps(render)
    def some(name: str, *arguments: _P.args, **more: _P.kwargs) -> str:
        lesson, _, wanted = name.partition(":")
        text = render(lesson, *arguments, **more)
        return "\n".join(_cut(text.splitlines(), wanted)) + "\n" if wanted and text.startswith("|") else text

    return some


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def _cut(lines: Sequence[str], wanted: str) -> Iterator[str]:
    """The header, the rows that are wanted in the table's order, and what follows the table. A cell that is empty because the row
    above has the same gets its text where that row is left out."""
    end = next((place for place, line in enumerate(lines) if not line), len(lines))
    table = [_cells(line) for line in lines[2:end]]
    full = table[:1]
    for cells in table[1:]:
        full.append(cells if cells[0] else [cell or above for cell, above in zip(cells, full[-1], strict=True)])
    kept = _named(wanted, full, by_line=_cells(lines[0])[0] == "line")
    yield from lines[:2]
    for place in sorted(kept):
        yield "| " + " | ".join(table[place] if place - 1 in kept else full[place]) + " |"
    yield from lines[end:]


def _named(wanted: str, table: Sequence[Sequence[str]], by_line: bool) -> set[int]:
    """The places of the rows. Names may have commas themselves: the longest that names a row is taken. Throws UserError."""

    def of(name: str) -> set[int]:
        labels = ((place, cells[by_line].strip("*"), cells[0]) for place, cells in enumerate(table))
        return {place for place, label, line in labels if name and (label.startswith(name) or (by_line and line == name))}

    parts, found = wanted.split(","), set[int]()
    while parts:
        count = next((n for n in range(len(parts), 0, -1) if of(",".join(parts[:n]).strip())), 0)
        if not count:
            known = "; ".join(dict.fromkeys(cells[by_line].strip("*") for cells in table))
            raise UserError(f"There is no row {parts[0].strip()!r}; there are: {known}.")
        found |= of(",".join(parts[:count]).strip())
        parts = parts[count:]
    return found
