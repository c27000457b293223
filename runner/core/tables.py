"""Tables on standard output: what a command was asked for."""

from __future__ import annotations

import sys

from rich.console import Console
from rich.table import Table


def show(table: Table, columns: int = 120) -> None:
    """Prints the table as wide as the terminal; `columns` wide where there is none (a file, a pipe)."""
    Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else columns).print(table)
