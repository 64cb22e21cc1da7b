"""How commands speak: results to standard output, all else to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any


def print_json(document: Any) -> None:
    """One JSON document, and nothing else, on standard output."""
    json.dump(document, sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")


def say(text: str = "") -> None:
    """A line of a result."""
    sys.stdout.write(text + "\n")


def tell(text: str) -> None:
    """A line about what is going on."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], highlight: Sequence[bool] = ()) -> None:
    """A table on standard output: the first column to the left, all others to the right."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right", no_wrap=number > 0)
    for number, row in enumerate(rows):
        style = "bold" if number < len(highlight) and highlight[number] else None
        table.add_row(*row, style=style)
    width = None if sys.stdout.isatty() else 200
    Console(width=width, highlight=False, markup=False).print(table)


def number(value: float | None, places: int = 4) -> str:
    return "-" if value is None else f"{value:.{places}f}"
