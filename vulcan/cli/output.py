"""Input and output of commands: results go to standard output, everything else to standard error.

Control characters are escaped, so that text of models and servers cannot control the terminal.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from vulcan.inputs import read_policy_file
from vulcan.terminal_text import printable


def print_json(document: Any) -> None:
    """Print a JSON document to standard output."""
    json.dump(document, sys.stdout, indent=2, allow_nan=False, default=asdict)
    sys.stdout.write("\n")


def say(text: str = "") -> None:
    """Print a line of a result to standard output."""
    sys.stdout.write(printable(text) + "\n")


def tell(text: str) -> None:
    """Print a status line to standard error, if that can be written."""
    with suppress(OSError):
        sys.stderr.write(printable(text) + "\n")
        sys.stderr.flush()


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    highlight: Sequence[bool] = (),
    optional: Sequence[str] = (),
) -> None:
    """Print a table to standard output: numbers right-aligned, text left-aligned.

    Where it is too wide for the terminal, headers wrap, then the columns `optional` are left out, the last of them
    first, and a line below names them.
    """
    from textwrap import fill

    from rich import box
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table

    width = shutil.get_terminal_size().columns if sys.stdout.isatty() or "COLUMNS" in os.environ else _PIPED
    widest = [max((cell_len(row[i]) for row in rows), default=0) for i in range(len(columns))]
    headers = list(columns)
    if _width(headers, widest) > width:  # headers wrap before columns are left out
        headers = [_wrapped(name, max(cells, _MIN_HEADER)) for name, cells in zip(columns, widest, strict=True)]
    shown = list(range(len(columns)))
    left_out: list[str] = []
    for name in reversed(optional):
        if _width([headers[i] for i in shown], [widest[i] for i in shown]) <= width:
            break
        shown.remove(columns.index(name))
        left_out.insert(0, name)
    columns, widest = [headers[i] for i in shown], [widest[i] for i in shown]
    rows = [[row[i] for i in shown] for row in rows]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        numeric = bool(rows) and all(_is_number(row[number]) for row in rows)
        whole = numeric or widest[number] <= _MAX_NAME
        table.add_column(column, justify="right" if numeric else "left", no_wrap=whole, overflow="fold")
    for number, row in enumerate(rows):
        style = "bold" if number < len(highlight) and highlight[number] else None
        table.add_row(*map(printable, row), style=style)
    console = Console(width=width, highlight=False, markup=False)
    with console.capture() as captured:
        console.print(table)
    sys.stdout.write("\n".join(line.rstrip() for line in captured.get().splitlines()) + "\n")
    if left_out:
        say(fill(f"Left out to fit {width} columns: {', '.join(left_out)}; --json has them.", width))


_MIN_HEADER = 8
"""Width to which the header of a narrow column is wrapped."""

_MAX_NAME = 24
"""Cells of at most this length are not broken: names of policies and instances."""

_PIPED = 200
"""Width of tables that are not printed to a terminal, where COLUMNS does not set it."""


def _width(headers: Sequence[str], widest: Sequence[int]) -> int:
    """Return the width at which nothing is cut off or wrapped: each column with the blanks around it."""
    from rich.cells import cell_len

    return sum(
        max(cells, *map(cell_len, header.split("\n"))) + 3 for header, cells in zip(headers, widest, strict=True)
    )


def _wrapped(header: str, width: int) -> str:
    """Return a column's header in lines, which may end at an underscore too."""
    from textwrap import wrap

    return "\n".join(wrap(header.replace("_", "_ "), width, break_long_words=False)).replace("_ ", "_")


def _is_number(cell: str) -> bool:
    return cell == "-" or cell.lstrip("+-").replace(",", "").replace(".", "", 1).isdigit()


def number(value: float | None, places: int = 4) -> str:
    return "-" if value is None else f"{value:.{places}f}"


def read_policy(path: Path, task: str, guard: str | None = None) -> str:
    """Read a policy's source for a task; from an exported module, that of the policy inside. Raises UserError.

    That is without its guard, which is said unless `guard` names it.
    """
    from vulcan.export.source import exported_for, policy_source

    text = read_policy_file(path)
    if (other := exported_for(text, "Task")) not in (None, task):
        tell(f"{path} was exported for the task {other}, not for {task}")
    if (safe := exported_for(text, "Guard")) not in (None, guard):
        tell(f"{path} is guarded by {safe}; this is the policy without it (`vulcan eval --guard {safe}` measures both)")
    return policy_source(text)
