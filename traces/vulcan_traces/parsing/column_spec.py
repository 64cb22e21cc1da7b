"""Syntax of the option `columns`.

Comma-separated parts, as in `time=2,id=5,size=4,header,delimiter=semicolon`:

    time=C, id=C, size=C, volume=C   the column, by its number from 1 or by its name in a header row or in JSON
                                     lines (`a.b` within `a`); `id` must be given. `volume` makes equal ids of
                                     different volumes different objects, and may be given twice.
    op=C, ops=A+B                    the column of the operation, and those that are requests; without `ops`, reads
    count=C                          the line stands for as many requests
    key-size=C                       added to the size where that is known
    page=S                           a request is one for each page of that size (4KiB) that it touches; ids are bytes
    size-unit=N                      sizes count in N bytes (sectors: 512), and with `page` ids too
    header                           the first line is a header (implied where a column is named)
    delimiter=D                      comma, tab, semicolon, pipe, space (any run of blanks) or one character;
                                     without it, the one of these that occurs in the first line
    time-unit=U                      s (default), ms, us or ns
    ids=text                         ids are text and are hashed to 64 bits; ids=number has them be whole
                                     numbers; without it, the first id decides for all

`page` and `ops` without an `id` are for a file in any format that has such.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from vulcan.errors import UserError, did_you_mean
from vulcan.sizes import parse_bytes

DELIMITERS = {"comma": ",", "tab": "\t", "semicolon": ";", "pipe": "|", "space": ""}
TIME_UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
COLUMNS = ("time", "id", "size", "volume", "op", "count", "key-size")
_KEYS = (*COLUMNS, "ops", "page", "size-unit", "header", "delimiter", "time-unit", "ids")

MAX_PAGE = 2**30
"""Bytes of a page at most."""


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """`columns` has what each column is, and its number from 1 or its name; None leaves an option open."""

    columns: tuple[tuple[str, int | str], ...] = ()
    header: bool = False
    delimiter: str | None = None
    ticks_per_second: float | None = None
    text_ids: bool | None = None
    taken: tuple[str, ...] = ()
    page: int = 0
    size_unit: int = 1


def parse_column_spec(text: str) -> ColumnSpec:
    """Parse the syntax above. Raises UserError."""
    columns: list[tuple[str, int | str]] = []
    spec = ColumnSpec()
    seen = set()
    for part in text.replace("delimiter=,", "delimiter=comma").split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if key not in _KEYS:
            raise UserError(
                f"columns {text!r}: unknown key {key!r}{did_you_mean(key, _KEYS)} (known: {', '.join(_KEYS)})"
            )
        if key in seen and key != "volume":
            raise UserError(f"columns {text!r}: {key!r} is given twice")
        seen.add(key)
        if bool(equals) != (key != "header") or (equals and not value and key != "delimiter"):
            form = "'header' alone" if key == "header" else f"'{key}=...'"
            raise UserError(f"columns {text!r}: {part.strip()!r} is not of the form {form}")
        if key == "header":
            spec = replace(spec, header=True)
        elif key == "delimiter":
            spec = replace(spec, delimiter=_delimiter(part.partition("=")[2], text))
        elif key == "time-unit":
            spec = replace(spec, ticks_per_second=TIME_UNITS[_choice(key, value, TIME_UNITS, text)])
        elif key == "ids":
            spec = replace(spec, text_ids=_choice(key, value, ("text", "number"), text) == "text")
        elif key == "ops":
            spec = replace(spec, taken=tuple(name.strip().lower() for name in value.split("+")))
        elif key == "page":
            spec = replace(spec, page=parse_bytes(value, "page size", MAX_PAGE))
        elif key == "size-unit":
            spec = replace(spec, size_unit=parse_bytes(value, f"columns {text!r}: size-unit", 2**20))
        else:
            columns.append((key, _column(key, value, text)))
    if "id" not in seen and (columns or not seen <= {"ops", "page"}):
        raise UserError(f"columns {text!r}: no id; name the column of the object's id, as id=2")
    if "count" in seen and spec.page:
        raise UserError(f"columns {text!r}: count and page exclude each other")
    if columns and spec.taken and "op" not in seen:
        raise UserError(f"columns {text!r}: ops needs the column of the operation, as op=3")
    return replace(spec, columns=tuple(columns))


_MAX_DIGITS = 9


def _column(key: str, value: str, text: str) -> int | str:
    if not value.lstrip("-").isdecimal():
        return value
    if value.startswith("-") or len(value) > _MAX_DIGITS or not 1 <= int(value) <= 10_000:
        raise UserError(f"columns {text!r}: {key}={value}: columns are numbered from 1")
    return int(value)


def _choice(key: str, value: str, choices: Iterable[str], text: str) -> str:
    known = list(choices)
    if value not in known:
        raise UserError(f"columns {text!r}: {key}={value}: one of {', '.join(known)}")
    return value


def _delimiter(value: str, text: str) -> str:
    if value in DELIMITERS:
        return DELIMITERS[value]
    if value in ("\\t", "\t"):
        return "\t"
    if value == " ":
        return ""
    if len(value) != 1 or not "!" <= value <= "~" or value.isalnum() or value in '"-.':
        known = ", ".join(DELIMITERS)
        raise UserError(f"columns {text!r}: delimiter={value}: one of {known} or one punctuation character")
    return value
