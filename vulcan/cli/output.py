"""Input and output of commands: results go to standard output, everything else to standard error.

Control characters are escaped, so that text of models and servers cannot control the terminal.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vulcan.api.files import write_text
from vulcan.errors import UserError
from vulcan.terminal_text import printable


def print_json(document: Any) -> None:
    """Print a JSON document to standard output."""
    json.dump(document, sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")


def say(text: str = "") -> None:
    """Print a line of a result to standard output."""
    sys.stdout.write(printable(text) + "\n")


def tell(text: str) -> None:
    """Print a status line to standard error."""
    sys.stderr.write(printable(text) + "\n")
    sys.stderr.flush()


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]], highlight: Sequence[bool] = ()) -> None:
    """Print a table to standard output: numbers right-aligned, text left-aligned."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        numeric = bool(rows) and all(_is_number(row[number]) for row in rows)
        table.add_column(column, justify="right" if numeric else "left", no_wrap=numeric)
    for number, row in enumerate(rows):
        style = "bold" if number < len(highlight) and highlight[number] else None
        table.add_row(*map(printable, row), style=style)
    width = None if sys.stdout.isatty() else 200
    Console(width=width, highlight=False, markup=False).print(table)


def _is_number(cell: str) -> bool:
    return cell == "-" or cell.lstrip("+-").replace(".", "", 1).isdigit()


def number(value: float | None, places: int = 4) -> str:
    return "-" if value is None else f"{value:.{places}f}"


__all__ = ["read_policy", "write_text"]

_MAX_POLICY = 16 << 20


def read_policy(path: Path) -> str:
    """Read a policy's source; from an exported module, that of the policy inside. Raises UserError."""
    from vulcan.export.source import policy_source

    try:
        size = path.stat().st_size
        if size > _MAX_POLICY:
            raise UserError(f"{path} has {size:,} bytes: that is no policy; give the file of one")
        text = path.read_bytes().decode("utf-8", errors="surrogateescape")
    except OSError as error:
        raise UserError(f"cannot read the policy {path}: {error.strerror}; give the path of its file") from error
    return policy_source(text)
