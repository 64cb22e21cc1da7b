"""How the commands speak: results to standard output, all else to standard error."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from vulcan_traces.catalogue.fetch import Progress

_SECONDS_BETWEEN = 0.2


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


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table on standard output, numbers to the right."""
    for line in table_lines(columns, rows):
        say(line)


def table_lines(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table: each column as wide as its widest cell, numbers to the right."""
    widths = [max(len(column), *(len(row[i]) for row in rows), 0) for i, column in enumerate(columns)]
    numeric = [bool(rows) and all(_is_number(row[i]) for row in rows) for i in range(len(columns))]

    def line(cells: Sequence[str]) -> str:
        parts = [c.rjust(w) if n else c.ljust(w) for c, w, n in zip(cells, widths, numeric, strict=True)]
        return "  ".join(parts).rstrip()

    return [line(columns), line(["-" * width for width in widths]), *(line(row) for row in rows)]


def _is_number(cell: str) -> bool:
    return cell == "-" or cell.lstrip("-").replace(".", "", 1).replace(",", "").isdecimal()


@contextlib.contextmanager
def progress_line(name: str) -> Iterator[Progress]:
    """Something to tell progress, which is shown in one line on a terminal and nowhere else."""
    shown_at = 0.0
    is_terminal = sys.stderr.isatty()

    def show(done: int, total: int | None) -> None:
        nonlocal shown_at
        now = time.monotonic()
        if is_terminal and now - shown_at >= _SECONDS_BETWEEN:
            shown_at = now
            share = f" of {total / 1e6:,.1f} MB ({done / total:.0%})" if total else " MB"
            sys.stderr.write(f"\r\x1b[K{name}: {done / 1e6:,.1f}{share}")
            sys.stderr.flush()

    try:
        yield show
    finally:
        if shown_at:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
