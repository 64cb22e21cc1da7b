"""Delimited tables in general: the columns are named by the user or by a header row.

`columns` (see `vulcan_traces.parsing.column_spec`) says which column is what. Without it there must be a header row
of which exactly one column has a usual name for the id, and at most one for the time and for the size. Ids
are whole numbers or text, which is hashed to 64 bits; sizes are bytes of the request, 1 without such a
column; times are seconds or dates with a time of ISO 8601, the request's index without such a column.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping

from vulcan.errors import UserError, did_you_mean
from vulcan_traces.parsing.column_spec import DELIMITERS, ColumnSpec
from vulcan_traces.parsing.source import Source
from vulcan_traces.parsing.text_table import Role, TextTable, abbreviated, read_table
from vulcan_traces.raw_requests import RawRequests
from vulcan_traces.readers.format import Format, all_integers

_log = logging.getLogger(__name__)

_USUAL_NAMES = {
    "time": {"time", "timestamp", "ts", "clock_time", "real_time"},
    "id": {
        "id",
        "key",
        "obj_id",
        "object_id",
        "objid",
        "obj",
        "object",
        "lbn",
        "lba",
        "block",
        "block_id",
        "url",
    },
    "size": {"size", "obj_size", "object_size", "bytes", "length", "len"},
}
_ROLES = {"time": Role.TIME, "id": Role.ID, "size": Role.SIZE, "volume": Role.VOLUME}
_HELP = "give columns, such as 'time=1,id=2,size=3,delimiter=comma'"
_HINT = " as the first is (for ids that are text: columns with 'ids=text')"


def read_csv(source: Source, spec: ColumnSpec | None = None) -> Iterator[RawRequests]:
    """Yield all requests of the table, in parts, with columns as given or as the header row names them.

    Raises UserError, for a malformed line with the part that it would be in.
    """
    if not source.first_lines:
        raise UserError(f"{source.path}: the trace has no line with anything in it")
    delimiter = _delimiter_of(source) if spec is None or spec.delimiter is None else spec.delimiter
    first = _fields(source.first_lines[0], delimiter)
    if spec is None:
        spec = ColumnSpec(_usual_columns(source, first), header=True)
    has_header = spec.header or any(isinstance(column, str) for column in spec.columns.values())
    places = {what: _place(source, what, column, first) for what, column in spec.columns.items()}
    if len(set(places.values())) < len(places):
        raise UserError(f"{source.path}: the columns given name one column twice")
    if not has_header and _looks_like_header(source, delimiter, places):
        has_header = True
        _log.warning(
            "%s: its first line is taken as a header, and is no request (',header' in the columns says so)", source.path
        )
    if spec.ticks_per_second != 1.0 and "time" in places:
        _refuse_unit_of_dates(source, delimiter, places["time"], int(has_header))
    roles = [Role.IGNORED] * len(first)
    for what, place in places.items():
        roles[place] = _ROLES[what]
    text_ids = spec.text_ids
    if text_ids is None:
        text_ids = _first_id_is_text(source, delimiter, places["id"], int(has_header))
    table = TextTable(
        tuple(roles),
        delimiter,
        text_ids,
        ticks_per_second=spec.ticks_per_second,
        has_header=has_header,
        hint=_HINT,
    )
    return read_table(source, table)


def _fields(line: bytes, delimiter: str) -> list[str]:
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


def _delimiter_of(source: Source) -> str:
    line = source.first_lines[0].decode("latin-1")
    found = [sign for sign in DELIMITERS.values() if sign and sign in line]
    if len(found) > 1:
        raise UserError(f"{source.path}: the delimiter is not clear from {abbreviated(line.encode())}; {_HELP}")
    return found[0] if found else ""


def _usual_columns(source: Source, header: list[str]) -> dict[str, int | str]:
    columns: dict[str, int | str] = {}
    for what, usual in _USUAL_NAMES.items():
        places = [i for i, name in enumerate(header, 1) if name.lower() in usual]
        if len(places) > 1 or (what == "id" and not places):
            count = "more than one column" if places else "no column"
            raise UserError(f"{source.path}: in its first line {count} is named as the {what}; {_HELP}")
        if places:
            columns[what] = places[0]
    if "size" not in columns and any("size" in name.lower() or "bytes" in name.lower() for name in header):
        raise UserError(f"{source.path}: which column of its header is the size is ambiguous; {_HELP}")
    return columns


def _place(source: Source, what: str, column: int | str, first: list[str]) -> int:
    """Return the index, from 0, of a column given by number or name."""
    if isinstance(column, int):
        if column > len(first):
            raise UserError(f"{source.path}: {what}={column}, but its first line has {len(first)} columns")
        return column - 1
    if first.count(column) != 1:
        has = "more than one column" if column in first else "no column"
        raise UserError(f"{source.path}: {has} is named {column!r} in its header{did_you_mean(column, first)}")
    return first.index(column)


def _looks_like_header(source: Source, delimiter: str, places: Mapping[str, int]) -> bool:
    """Check whether the time or the size of the first line is a name, and that of the second line none."""
    if len(source.first_lines) < 2:
        return False
    first, second = (_fields(line, delimiter) for line in source.first_lines[:2])
    if len(first) != len(second):
        return False
    return any(
        is_name(first[places[what]]) and not is_name(second[places[what]])
        for what in ("time", "size")
        if what in places
    )


def is_name(field: str) -> bool:
    """Check whether a field begins as a name does, and not as a number or a date."""
    return field[:1].isalpha() or field[:1] in "_#"


def _refuse_unit_of_dates(source: Source, delimiter: str, place: int, line: int) -> None:
    for candidate in source.first_lines[line : line + 1]:
        fields = _fields(candidate, delimiter)
        if place < len(fields) and fields[place][4:5] == "-" and ":" in fields[place]:
            raise UserError(f"{source.path}: its times are dates, which have no unit: leave out time-unit")


def _first_id_is_text(source: Source, delimiter: str, place: int, line: int) -> bool:
    for candidate in source.first_lines[line:]:
        fields = _fields(candidate, delimiter)
        if place < len(fields) and fields[place]:
            return not all_integers([fields[place]])
    return False


def _recognises(source: Source) -> bool:
    """Return a header row that says what is what."""
    if not source.is_text or len(source.first_lines) < 2:
        return False
    try:
        header = _fields(source.first_lines[0], _delimiter_of(source))
        _usual_columns(source, header)
    except UserError:
        return False
    return len(header) > 1


FORMAT = Format("csv", "a delimited table; columns by header or by --columns", read_csv, _recognises)
