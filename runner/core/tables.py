"""Tables on standard output: what a command was asked for."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # elsewhere read where a table is made: it takes longer than most commands
    from rich.table import Table

PAPER = 80  # columns where no terminal says how wide it is


def show(table: Table, columns: int = 120) -> None:
    """Prints the table as wide as the terminal; `columns` wide where there is none (a file, a pipe)."""
    from rich.console import Console

    Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else columns).print(table)


def grid(columns: Sequence[str], rows: Iterable[Sequence[str]], left: Collection[str] = ()) -> Table:
    """A table whose columns of words are named in `left`, and whose others are figures."""
    from rich.table import Table

    table = Table()
    for column in columns:
        table.add_column(column, justify="left" if column in left else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def pieces(corner: str, names: Sequence[str], columns: Sequence[tuple[str, Sequence[str]]], width: int) -> list[Table]:
    """A row for each of `names`; of the columns (title, a cell for each row) as many side by side as fit into `width`, the
    others in further tables below, each with the names again. So a table grows downwards however many lessons there are."""
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table

    def widest(title: str, cells: Sequence[str]) -> int:
        return max(map(cell_len, (title, *cells))) + 2  # a space on either side

    groups: list[list[tuple[str, Sequence[str]]]] = []
    used = width + 1
    for title, cells in columns:
        if used + widest(title, cells) > width:
            groups.append([])
            used = min(widest(corner, names), width // 3)
        groups[-1].append((title, cells))
        used += widest(title, cells)
    tables = []
    for group in groups:
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        table.add_column(corner, overflow="fold", max_width=width // 3 - 2)
        for title, _ in group:
            table.add_column(title, justify="right", no_wrap=True)
        for row in zip(names, *(cells for _, cells in group), strict=True):
            table.add_row(*row)
        tables.append(table)
    return tables


def show_pieces(corner: str, names: Sequence[str], columns: Sequence[tuple[str, Sequence[str]]]) -> None:
    """Prints pieces() for the terminal, or for PAPER where there is none."""
    from rich.console import Console

    width = shutil.get_terminal_size((PAPER, 24)).columns if sys.stdout.isatty() else PAPER
    console = Console(highlight=False, markup=False, width=width)
    for index, table in enumerate(pieces(corner, names, columns, width)):
        if index:
            console.print()
        console.print(table)
