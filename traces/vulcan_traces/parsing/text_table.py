"""Delimited text with one request, or one run of requests, per line: most trace formats."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from vulcan_traces.parsing.source import Source
from vulcan_traces.raw_requests import MAX_SIZE, RawRequests, without_clock


class Role(IntEnum):
    """Role of a line's field; the values are those of `vulcan_traces.kernels.text`.

    SIZE fields add up; VOLUME fields are hashed into the id; a COUNT of n makes n requests, for the id and
    the n - 1 ids after it.
    """

    IGNORED = 0
    TIME = 1
    ID = 2
    VOLUME = 3
    SIZE = 4
    COUNT = 5


BLANKS = ""
"""The delimiter that stands for any run of spaces and tabs."""


@dataclass(frozen=True, slots=True)
class TextTable:
    """Format of a delimited text. Each line has exactly the fields of `roles`.

    `delimiter` is one ASCII character or BLANKS; double quotes may enclose a field unless it is BLANKS.
    `text_ids` has ids taken as text and hashed, else they are whole numbers. Times are divided by
    `ticks_per_second`, sizes multiplied by `size_unit`. Without a TIME the time of a request is its index,
    without a SIZE its size is 1. Lines equal to `marker` are no requests. `hint` ends the message about a bad
    id.
    """

    roles: tuple[Role, ...]
    delimiter: str
    text_ids: bool = False
    ticks_per_second: float = 1.0
    size_unit: int = 1
    has_header: bool = False
    marker: str = ""
    hint: str = ""


def read_table(source: Source, table: TextTable) -> Iterator[RawRequests]:
    """Yield all requests of the text, block by block.

    Raises UserError naming the first malformed line, unless they are skipped.
    """
    parts = _parts(source, table)
    return parts if Role.TIME in table.roles else without_clock(parts)


def _parts(source: Source, table: TextTable) -> Iterator[RawRequests]:
    skip_header = table.has_header
    for first_line, block in source.line_blocks():
        if skip_header:
            header_lines = _lines_through_header(block)
            skip_header = False
            rest = b"\n".join(block.split(b"\n", header_lines)[header_lines:])
            yield _parse_block(source, table, first_line + header_lines, rest)
        else:
            yield _parse_block(source, table, first_line, block)


def _lines_through_header(block: bytes) -> int:
    """Return how many lines there are up to and with the first that is not blank."""
    lines = 0
    for line in block.splitlines():
        lines += 1
        if line.strip():
            break
    return lines


def _parse_block(source: Source, table: TextTable, first_line: int, block: bytes) -> RawRequests:
    from vulcan_traces.kernels import text as kernels

    capacity = block.count(b"\n") + 1
    keys = np.empty(capacity, np.uint64)
    times = np.empty(capacity, np.float64)
    sizes = np.empty(capacity, np.int64)
    counts = np.empty(capacity, np.int64)
    bad = np.empty((capacity, 2), np.int64)
    _, rows, malformed = kernels.parse_lines(
        np.frombuffer(block, np.uint8),
        ord(table.delimiter) if table.delimiter else kernels.BLANKS,
        np.array(table.roles, np.int64),
        table.size_unit,
        table.text_ids,
        ord(table.marker) if table.marker else 0,
        keys,
        times,
        sizes,
        counts,
        bad,
    )
    if malformed and not source.skip_bad_lines:
        line, why = (int(value) for value in bad[0])
        raise source.malformed("line", first_line + line, _explanation(table, why, block.split(b"\n")[line]))
    requests = RawRequests(
        keys[:rows].copy(),
        sizes[:rows].astype(np.uint32) if Role.SIZE in table.roles else np.ones(rows, np.uint32),
        times[:rows] / table.ticks_per_second,
        malformed,
    )
    return _expand(requests, counts[:rows]) if Role.COUNT in table.roles else requests


def _expand(requests: RawRequests, counts: np.ndarray) -> RawRequests:
    """Return each request as many times as counted, for consecutive ids."""
    ends = np.cumsum(counts)
    within = np.arange(counts.sum()) - np.repeat(ends - counts, counts)
    return RawRequests(
        np.repeat(requests.keys, counts) + within.astype(np.uint64),
        np.repeat(requests.sizes, counts),
        np.repeat(requests.times, counts),
        requests.skipped_lines,
    )


def _explanation(table: TextTable, why: int, line: bytes) -> str:
    from vulcan_traces.kernels import text as kernels

    expected = len(table.roles)
    return {
        kernels.WRONG_FIELD_COUNT: f"{expected} field{'s' if expected > 1 else ''} expected",
        kernels.TIME_NOT_A_NUMBER: "the time is not a number, nor a date with a time such as 2024-05-31T12:30:00Z "
        "(to do without it, leave `time` out of the columns)",
        kernels.ID_MISSING: "the id is empty",
        kernels.ID_NOT_A_NUMBER: f"the id is not a whole number of 64 bits{table.hint}",
        kernels.SIZE_NOT_A_NUMBER: "the size is not a whole number",
        kernels.SIZE_NEGATIVE: "the size is negative",
        kernels.SIZE_TOO_LARGE: f"the size is over {MAX_SIZE} bytes",
        kernels.COUNT_OUT_OF_RANGE: f"the count is not between 1 and {kernels.MAX_COUNTED}",
        kernels.QUOTE_NOT_CLOSED: "a quoted field does not end",
        kernels.CONTROL_CHARACTER: "a control character: is this text?",
    }[why] + f": {abbreviated(line)}"


def abbreviated(line: bytes) -> str:
    """Return the line in quotes for a message, cut to 60 characters."""
    text = line.decode("utf-8", "replace").strip()
    return repr(text if len(text) <= 60 else text[:57] + "...")
