"""Delimited text with one request, or one run of requests, per line: most trace formats."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache

import numpy as np

from vulcan_traces.notes import OPERATION, OVERLAP, SKIPPED, NoteCounts
from vulcan_traces.parsing.source import Source
from vulcan_traces.raw_requests import MAX_SIZE, RawRequests, expanded, overlapping, without_clock


class Role(IntEnum):
    """Role of a line's field; the values are those of `vulcan_traces.kernels.text`.

    SIZE fields add up, and OVERHEAD (such as a key's size) is added to a size that is known; VOLUME fields are hashed
    into the id; OPERATION says what kind of request it is. A COUNT of n makes n requests, for the id and the n - 1 ids
    after it, REPEATS as many for the one id.
    """

    IGNORED = 0
    TIME = 1
    ID = 2
    VOLUME = 3
    SIZE = 4
    COUNT = 5
    OPERATION = 6
    OVERHEAD = 7
    REPEATS = 8


BLANKS = ""
"""The delimiter that stands for any run of spaces and tabs."""

OPERATIONS = (
    *("get", "gets", "get_lease", "mget", "head", "read", "r", "set", "set_lease", "put", "post", "add", "replace"),
    *("cas", "append", "prepend", "touch", "incr", "decr", "copy", "write", "w", "delete", "del", "options"),
    *(f"rest.{name}.object" for name in ("get", "put", "head", "copy", "delete")),
)
"""Operations that notes call by name, beside those of a format."""

Rewrite = Callable[[bytes], tuple[bytes, Sequence[int], NoteCounts]]
"""From whole lines to a table's, from each of these to the index of the line that it is made of, and to notes."""


@dataclass(frozen=True, slots=True)
class TextTable:
    """Format of a delimited text. A line has the fields of `roles` up to the last one that is not ignored.

    `delimiter` is one ASCII character or BLANKS; double quotes may enclose a field unless it is BLANKS.
    `most` limits the fields (0: no limit). `text_ids` has ids taken as text and hashed, else they are whole numbers.
    Times are divided by `ticks_per_second`, sizes multiplied by `unit`, and ids too if there is a `page`: then a
    request is one for each page of that many bytes that it touches. Without a TIME the time of a request is its index,
    without a SIZE its size is 1. Lines equal to `marker`, and those that begin with `comment`, are no requests. With an
    OPERATION, lines of the operations `taken` are requests, and others say only what size an object has; notes call
    those of `codes` by name. `blocks` are ranges of bytes. `rewrite` makes lines of the table of the text's,
    `line` says what those are. `hint` ends the message about a bad id.
    """

    roles: tuple[Role, ...]
    delimiter: str
    text_ids: bool = False
    ticks_per_second: float = 1.0
    unit: int = 1
    page: int = 0
    most: int = 0
    has_header: bool = False
    marker: str = ""
    comment: str = "#"
    taken: tuple[str, ...] = ()
    codes: Mapping[str, str] = field(default_factory=dict)
    blocks: bool = False
    rewrite: Rewrite | None = None
    line: str = ""
    hint: str = ""


def read_table(source: Source, table: TextTable) -> Iterator[RawRequests]:
    """Yield all requests of the text, block by block.

    Raises UserError naming the first malformed line, unless they are skipped.
    """
    parts = _parts(source, table)
    return parts if Role.TIME in table.roles else without_clock(parts)


def _parts(source: Source, table: TextTable) -> Iterator[RawRequests]:
    skip_header, is_first = table.has_header, True
    for first_line, block in source.line_blocks():
        if skip_header:
            header_lines = _lines_through_header(block)
            skip_header = False
            rest = b"\n".join(block.split(b"\n", header_lines)[header_lines:])
            yield from _parse_block(source, table, first_line + header_lines, rest, is_first)
        else:
            yield from _parse_block(source, table, first_line, block, is_first)
        is_first = False


def _lines_through_header(block: bytes) -> int:
    """Return how many lines there are up to and with the first that is not blank."""
    lines = 0
    for line in block.splitlines():
        lines += 1
        if line.strip():
            break
    return lines


def _parse_block(
    source: Source, table: TextTable, first_line: int, block: bytes, is_first: bool
) -> Iterator[RawRequests]:
    from vulcan_traces.kernels import text as kernels

    text, lines, notes = (block, None, NoteCounts()) if table.rewrite is None else table.rewrite(block)
    used = [place for place, role in enumerate(table.roles, 1) if role != Role.IGNORED]
    # a delete of an object has no size
    optional = (Role.SIZE, Role.OVERHEAD) if Role.OPERATION in table.roles and not table.blocks else ()
    needed = [place for place in used if table.roles[place - 1] not in optional]
    ranges = Role.COUNT in table.roles or table.page > 0 or table.blocks
    in_volume = Role.VOLUME in table.roles
    names = tuple(dict.fromkeys((*table.taken, *table.codes, *OPERATIONS)))
    capacity = text.count(b"\n") + 1
    keys = np.empty(capacity, np.uint64)
    volumes = np.empty(capacity if ranges else 0, np.uint64)
    times = np.empty(capacity, np.float64)
    sizes = np.empty(capacity, np.int64)
    counts = np.empty(capacity, np.int64)
    seen = np.zeros(len(names) + 1, np.int64)
    bad = np.empty((capacity, 2), np.int64)
    rows, malformed = kernels.parse_lines(
        np.frombuffer(text, np.uint8),
        ord(table.delimiter) if table.delimiter else kernels.BLANKS,
        np.array(table.roles[: used[-1]], np.int64),
        max(needed),
        table.most,
        table.unit,
        table.page,
        ranges,
        table.text_ids,
        ord(table.marker) if table.marker else 0,
        ord(table.comment) if table.comment else 0,
        np.array([_hash(name) for name in names], np.uint64),
        np.array([name in table.taken for name in names], np.bool_),
        Role.SIZE in table.roles and not table.blocks,
        keys,
        volumes,
        times,
        sizes,
        counts,
        seen,
        bad,
    )
    if malformed and not source.skip_bad_lines:
        line, why = (int(value) for value in bad[0])
        shown = line if lines is None else lines[line]
        fault, roles = _fault(table, why)
        fields = zip(table.roles, fields_of(text.split(b"\n")[line], table.delimiter), strict=False)
        of = [field.encode() for role, field in fields if role in roles] or [block.split(b"\n")[shown]]
        raise source.malformed("line", first_line + shown, f"{fault}: {', '.join(map(abbreviated, of))}")
    for why, count in zip(*np.unique(bad[:malformed, 1], return_counts=True), strict=True):
        notes[SKIPPED, re.split(r", nor| \(|:", _fault(table, int(why))[0])[0]] += int(count)
    left_out = 0
    for name, count in zip((*names, "other"), seen.tolist(), strict=True):
        if count and name not in table.taken:
            notes[OPERATION, table.codes.get(name, name)] += count
            left_out += count
    if is_first and table.blocks and not table.page:
        starts = keys[:rows] * np.uint64(table.unit)
        notes[OVERLAP, ""] += overlapping(starts, sizes[:rows], volumes[:rows])
    requests = RawRequests(
        keys[:rows].copy(),
        sizes[:rows].copy() if Role.SIZE in table.roles else np.ones(rows, np.int64),
        times[:rows] / table.ticks_per_second,
        notes,
        int((counts[:rows] > 0).sum()) + malformed + left_out if lines is None else len(set(lines)),
    )
    if ranges or Role.REPEATS in table.roles or Role.OPERATION in table.roles:
        yield from expanded(requests, counts[:rows], volumes[:rows] if in_volume else None, ranges=ranges)
    else:
        yield requests


@cache
def _hash(name: str) -> int:
    from vulcan_traces.kernels import text as kernels

    return int(kernels.hash_of(np.frombuffer(name.encode(), np.uint8)))


def _fault(table: TextTable, why: int) -> tuple[str, tuple[Role, ...]]:
    """Return what a malformed line's fault is, and the roles of the fields that have it; none where the line has it."""
    from vulcan_traces.kernels import text as kernels

    used = max(place for place, role in enumerate(table.roles, 1) if role != Role.IGNORED)
    expected = table.most or used
    size, count = (Role.SIZE, Role.OVERHEAD), (Role.COUNT, Role.REPEATS)
    most = f"{kernels.MAX_COUNTED} pages" if table.page else f"2^{MAX_SIZE.bit_length() - 1} bytes"
    no_time = (
        "the time is not a number, nor a date with a time such as 2024-05-31T12:30:00Z "
        "(to do without it, leave `time` out of the columns)"
    )
    return {
        kernels.WRONG_FIELD_COUNT: (table.line or f"{expected} field{'s' if expected > 1 else ''} expected", ()),
        kernels.TIME_NOT_A_NUMBER: (no_time, (Role.TIME,)),
        kernels.ID_MISSING: ("the id is empty", ()),
        kernels.ID_NOT_A_NUMBER: (f"the id is not a whole number of 64 bits{table.hint}", (Role.ID,)),
        kernels.SIZE_NOT_A_NUMBER: ("the size is not a whole number", size),
        kernels.SIZE_NEGATIVE: ("the size is negative", size),
        kernels.SIZE_TOO_LARGE: (f"the size is over {most}", size),
        kernels.COUNT_OUT_OF_RANGE: (f"the count is not between 1 and {kernels.MAX_COUNTED}", count),
        kernels.QUOTE_NOT_CLOSED: ("a quoted field does not end", ()),
        kernels.CONTROL_CHARACTER: ("a control character: is this text?", ()),
    }[why]


def fields_of(line: bytes, delimiter: str) -> list[str]:
    """Return the fields of one line, without the quotes around them."""
    text = line.decode("utf-8", "replace")
    if not delimiter:
        return text.split()
    fields, field, quoted = [], "", False
    for character in text:
        if character == '"':
            quoted = not quoted
        elif character == delimiter and not quoted:
            fields.append(field.strip())
            field = ""
        else:
            field += character
    return [*fields, field.strip()]


def abbreviated(line: bytes) -> str:
    """Return the line in quotes for a message, cut to 60 characters."""
    text = line.decode("utf-8", "replace").strip()
    return repr(text if len(text) <= 60 else text[:57] + "...")
