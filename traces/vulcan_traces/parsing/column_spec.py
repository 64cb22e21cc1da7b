"""Syntax of the option `columns`.

Comma-separated parts, as in `time=2,id=5,size=4,header,delimiter=semicolon`:

    time=C, id=C, size=C, volume=C   the column, by its number from 1 or by its name in a header row; only
                                     `id` must be given. `volume` makes equal ids of different volumes
                                     different objects.
    header                           the first line is a header (implied where a column is named)
    delimiter=D                      comma, tab, semicolon, pipe, space (any run of blanks) or one character;
                                     without it, the one of these that occurs in the first line
    time-unit=U                      s (default), ms, us or ns
    ids=text                         ids are text and are hashed to 64 bits; ids=number has them be whole
                                     numbers; without it, the first id decides for all
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from vulcan.errors import UserError, did_you_mean

DELIMITERS = {"comma": ",", "tab": "\t", "semicolon": ";", "pipe": "|", "space": ""}
TIME_UNITS = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}
_COLUMNS = ("time", "id", "size", "volume")
_KEYS = (*_COLUMNS, "header", "delimiter", "time-unit", "ids")


@dataclass(frozen=True, slots=True)
class ColumnSpec:
    """`columns` maps time, id, size and volume to a column's number from 1 or its name; None leaves it
    open."""

    columns: dict[str, int | str]
    header: bool = False
    delimiter: str | None = None
    ticks_per_second: float = 1.0
    text_ids: bool | None = None


def parse_column_spec(text: str) -> ColumnSpec:
    """Parse the syntax above. Raises UserError."""
    columns: dict[str, int | str] = {}
    header = False
    delimiter: str | None = None
    ticks_per_second = 1.0
    text_ids: bool | None = None
    seen = set()
    for part in text.replace("delimiter=,", "delimiter=comma").split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if key not in _KEYS:
            raise UserError(
                f"columns {text!r}: unknown key {key!r}{did_you_mean(key, _KEYS)} (known: {', '.join(_KEYS)})"
            )
        if key in seen:
            raise UserError(f"columns {text!r}: {key!r} is given twice")
        seen.add(key)
        if bool(equals) != (key != "header") or (equals and not value and key != "delimiter"):
            form = "'header' alone" if key == "header" else f"'{key}=...'"
            raise UserError(f"columns {text!r}: {part.strip()!r} is not of the form {form}")
        if key == "header":
            header = True
        elif key == "delimiter":
            delimiter = _delimiter(part.partition("=")[2], text)
        elif key == "time-unit":
            ticks_per_second = TIME_UNITS[_choice(key, value, TIME_UNITS, text)]
        elif key == "ids":
            text_ids = _choice(key, value, ("text", "number"), text) == "text"
        else:
            columns[key] = _column(key, value, text)
    if "id" not in columns:
        raise UserError(f"columns {text!r}: no id; name the column of the object's id, as id=2")
    return ColumnSpec(columns, header, delimiter, ticks_per_second, text_ids)


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
