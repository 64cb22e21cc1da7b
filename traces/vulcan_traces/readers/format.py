"""Declaration of a trace format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from vulcan.errors import UserError
from vulcan_traces.parsing.column_spec import ColumnSpec
from vulcan_traces.parsing.source import Source
from vulcan_traces.parsing.text_table import Role, TextTable, read_table
from vulcan_traces.raw_requests import RawRequests


@dataclass(frozen=True, slots=True)
class Format:
    """Trace format: its names, its reader, and how it is recognised.

    `recognises(source)` looks at the head of a file and is True only where the content leaves no other
    reading likely; None means that the format cannot be told from content and has to be named. `suffixes` are
    file name endings, in lower case and without that of a compression, that claim the format. `read(source, spec)`
    gives all requests, in parts of a bounded size, and raises UserError, with the first part or a later one; of the
    spec only the page and the operations are for it.
    """

    name: str
    meaning: str
    read: Callable[[Source, ColumnSpec], Iterator[RawRequests]]
    recognises: Callable[[Source], bool] | None = None
    suffixes: tuple[str, ...] = ()


def reads_table(
    table: TextTable | Callable[[Source], TextTable],
) -> Callable[[Source, ColumnSpec], Iterator[RawRequests]]:
    """Return the reader of a text with that layout."""

    def read(source: Source, spec: ColumnSpec) -> Iterator[RawRequests]:
        found = table if isinstance(table, TextTable) else table(source)
        if spec.page and not found.blocks:
            raise no_pages(source)
        if spec.taken and Role.OPERATION not in found.roles:
            raise no_operations(source)
        return read_table(source, replace(found, page=spec.page, taken=spec.taken or found.taken))

    return read


def without_choices(
    read: Callable[[Source], Iterator[RawRequests]],
) -> Callable[[Source, ColumnSpec], Iterator[RawRequests]]:
    """Return the reader of a format that has neither ranges of bytes nor operations."""

    def checked(source: Source, spec: ColumnSpec) -> Iterator[RawRequests]:
        if spec.page:
            raise no_pages(source)
        if spec.taken:
            raise no_operations(source)
        return read(source)

    return checked


def no_pages(source: Source) -> UserError:
    """Return the error for a page size of what is no trace of blocks."""
    return UserError(f"{source.path}: a page size is for block traces, whose requests are ranges of bytes")


def no_operations(source: Source) -> UserError:
    """Return the error for a choice of operations where there are none."""
    return UserError(f"{source.path}: its format has no operations to choose with ops=")


_MOST = 0.9


def mostly(conditions: Iterable[bool]) -> bool:
    """Check whether nine of ten lines are as they should be: a line may be damaged."""
    found = list(conditions)
    return bool(found) and sum(found) >= _MOST * len(found)


def split_lines(source: Source, delimiter: str | None) -> list[list[str]]:
    """Return the fields of the first lines but comments, none where they are not text; None splits at blanks."""
    if not source.is_text:
        return []
    return [
        [field.strip() for field in line.decode("utf-8", "replace").split(delimiter)]
        for line in source.first_lines
        if not line.startswith(b"#")
    ]


_OF_64_BITS = range(-(2**63), 2**64)
MAX_DIGITS = 40
"""Digits of a number in a trace: more is damage, and `int` refuses some thousands."""


def all_integers(fields: list[str]) -> bool:
    """Check whether each field is a whole number of 64 bits, in ASCII digits."""
    return all(
        len(field) <= MAX_DIGITS and field.isascii() and field.removeprefix("-").isdigit() and int(field) in _OF_64_BITS
        for field in fields
    )
