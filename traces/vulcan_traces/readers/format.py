"""Declaration of a trace format."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from vulcan_traces.parsing.source import Source
from vulcan_traces.raw_requests import RawRequests


@dataclass(frozen=True, slots=True)
class Format:
    """Trace format: its names, its reader, and how it is recognised.

    `recognises(source)` looks at the head of a file and is True only where the content leaves no other
    reading likely; None means that the format cannot be told from content and has to be named. `suffixes` are
    file name endings, in lower case and without that of a compression, that claim the format. `read(source)`
    gives all requests, in parts of a bounded size, and raises UserError, with the first part or a later one.
    """

    name: str
    meaning: str
    read: Callable[[Source], Iterator[RawRequests]]
    recognises: Callable[[Source], bool] | None = None
    suffixes: tuple[str, ...] = ()


def split_lines(source: Source, delimiter: str | None) -> list[list[str]]:
    """Return the fields of the first lines, none where they are not text; None splits at runs of blanks."""
    if not source.is_text:
        return []
    return [
        [field.strip() for field in line.decode("utf-8", "replace").split(delimiter)] for line in source.first_lines
    ]


MAX_DIGITS = 40
"""Digits of a number in a trace: more is damage, and `int` refuses some thousands."""


def all_integers(fields: list[str]) -> bool:
    """Check whether each field is a whole number, in ASCII digits."""
    return all(len(field) <= MAX_DIGITS and field.isascii() and field.removeprefix("-").isdigit() for field in fields)
