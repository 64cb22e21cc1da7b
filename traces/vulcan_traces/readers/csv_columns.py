"""Tables in general, delimited or of JSON lines: the columns are named by the user, a header row or the keys.

`columns` (see `vulcan_traces.parsing.column_spec`) says which column is what. Without it there must be a header row, or
keys, of which exactly one has a usual name for the id, and at most one for each of the others. Ids are whole numbers or
text, which is hashed to 64 bits; sizes are bytes of the request, 1 without such a column; times are seconds or dates;
the time is the request's index where no column can be one. Of an operation whose names are known, reads are requests;
a comment before the rows may have names of its numbers, as in `op type [Put:0, Get:1]`.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from vulcan.errors import UserError, did_you_mean
from vulcan_traces.notes import UNKNOWN_OPERATION, NoteCounts
from vulcan_traces.parsing.column_spec import DELIMITERS, TIME_UNITS, ColumnSpec
from vulcan_traces.parsing.source import Source
from vulcan_traces.parsing.text_table import OPERATIONS, Rewrite, Role, TextTable, abbreviated, fields_of, read_table
from vulcan_traces.raw_requests import RawRequests, noted
from vulcan_traces.readers.format import Format, all_integers, no_operations

_log = logging.getLogger(__name__)

_USUAL_NAMES = {
    "time": {
        *("time", "timestamp", "ts", "clock_time", "real_time", "op_time", "date", "datetime", "date_time"),
        *("@timestamp", "time_iso8601", "time_local", "msec"),
    },
    "id": {
        *("id", "key", "obj_id", "object_id", "objid", "obj", "object", "object id", "lbn", "lba", "block", "block_id"),
        *("url", "uri", "request_uri"),
    },
    "size": {
        *("size", "obj_size", "object_size", "object size", "bytes", "length", "len", "body_bytes_sent", "bytes_sent"),
    },
    "op": {"op", "operation", "op_type", "op type", "op_name", "request_method", "method"},
    "count": {"op_count"},
    "key-size": {"key_size"},
}
_BESIDE = {
    *("cache_hits", "ttl", "usecase", "sub_usecase", "version", "next_access_vtime", "cost", "user_agent", "status"),
}
"""Names of columns of public traces that are no time."""
_UNIT = re.compile(r"(?:_|\s*\()(s|ms|us|ns|bytes?)\)?$")
_ROLES = {
    "time": Role.TIME,
    "id": Role.ID,
    "size": Role.SIZE,
    "volume": Role.VOLUME,
    "op": Role.OPERATION,
    "count": Role.REPEATS,
    "key-size": Role.OVERHEAD,
}
_READS = ("get", "gets", "get_lease", "mget", "read", "r", "rest.get.object")
_WRITES = ("write", "w")
_LOOKED_AT = 100
_HELP = "give columns, such as 'time=1,id=2,size=3,delimiter=comma'"
_HINT = " as the first is (for ids that are text: columns with 'ids=text')"


def read_csv(source: Source, spec: ColumnSpec) -> Iterator[RawRequests]:
    """Yield all requests of the table, in parts, with columns as given or as the header row names them.

    Raises UserError, for a malformed line with the part that it would be in.
    """
    lines = [line for line in source.first_lines if not line.startswith(b"#")]
    if not lines:
        raise UserError(f"{source.path}: the trace has no line with anything in it")
    given = bool(spec.columns)
    keys = list(dict.fromkeys(key for line in lines[:_LOOKED_AT] for key in _keys(line)))
    delimiter = "\t" if keys else _delimiter_of(source) if spec.delimiter is None else spec.delimiter
    by_name = any(isinstance(column, str) for _, column in spec.columns)
    is_commented = source.first_lines[0].startswith(b"#") and (by_name or not given)
    names = keys or (_header(source, delimiter) if is_commented or not given else fields_of(lines[0], delimiter))
    if not given:
        spec = replace(_usual_columns(source, names), page=spec.page, taken=spec.taken)
    width = max(len(names), *(0 if keys else len(fields_of(line, delimiter)) for line in lines[:_LOOKED_AT]))
    places = [(what, _place(source, what, column, names, width)) for what, column in spec.columns]
    wanted = [names[place] for _, place in places] if keys else []
    if len({place for _, place in places}) < len(places):
        raise UserError(f"{source.path}: the columns given name one column twice")
    if keys:
        table_rows = [_row(line, wanted).decode("utf-8", "replace").split("\t") for line in lines]
        places = [(what, index) for index, (what, _) in enumerate(places)]
    else:
        has_header = not is_commented and (spec.header or by_name or not given)
        table_rows = [fields_of(line, delimiter) for line in lines]
        if not has_header and not is_commented and _looks_like_header(table_rows, dict(places)):
            has_header = True
            _log.warning(
                "%s: its first line is taken as a header, and is no request (',header' in the columns says so)",
                source.path,
            )
        table_rows = table_rows[has_header:]
    for what, place in places:
        if what == "time" and spec.ticks_per_second not in (None, 1.0) and _is_date(table_rows, place):
            raise UserError(f"{source.path}: its times are dates, which have no unit: leave out time-unit")
    roles = [Role.IGNORED] * (1 + max(place for _, place in places))
    for what, place in places:
        roles[place] = _ROLES[what]
    text_ids = spec.text_ids
    id_at = dict(places)["id"]
    if text_ids is None:
        ids = [row[id_at] for row in table_rows if id_at < len(row) and row[id_at]]
        text_ids = bool(ids) and not all_integers(ids[:1])
    if spec.page and text_ids:
        raise UserError(f"{source.path}: ids that are text are no positions in bytes, and have no pages")
    codes = _codes(source) if "op" in dict(places) else {}
    taken, unknown = _taken(source, spec, table_rows, dict(places), codes)
    if not taken:
        roles = [Role.IGNORED if role == Role.OPERATION else role for role in roles]
    wide = len(names) if (by_name or not given) and not is_commented and not keys else 0
    table = TextTable(
        tuple(roles),
        delimiter,
        text_ids,
        ticks_per_second=spec.ticks_per_second or 1.0,
        unit=spec.size_unit,
        page=spec.page,
        most=wide,
        has_header=not keys and has_header,
        comment="" if text_ids and id_at == 0 and not is_commented else "#",
        taken=taken,
        codes=codes,
        rewrite=_json_rewrite(wanted) if keys else None,
        line="a JSON object with the columns' keys is expected" if keys else "",
        hint=_HINT,
    )
    return noted(read_table(source, table), NoteCounts({(UNKNOWN_OPERATION, ", ".join(unknown[:4])): len(unknown)}))


def _taken(
    source: Source,
    spec: ColumnSpec,
    rows: Sequence[Sequence[str]],
    places: Mapping[str, int],
    codes: Mapping[str, str],
) -> tuple[tuple[str, ...], list[str]]:
    """Return the operations that are requests, those given or else reads: none where no name of them is known."""
    if "op" not in places:
        if spec.taken:
            raise no_operations(source)
        return (), []
    if spec.taken:
        return (*spec.taken, *(code for code, name in codes.items() if name in spec.taken)), []
    found = {row[places["op"]].lstrip('"').lower() for row in rows if places["op"] < len(row)}
    if codes and found <= codes.keys():
        names, unknown = _taken(source, spec, [[name] for name in codes.values()], {"op": 0}, {})
        return tuple(code for code, name in codes.items() if name in names), unknown
    known = found & {*OPERATIONS, *_READS}
    if not known & {*_READS, *_WRITES}:
        return (), sorted(found)
    # a table of reads and writes is of blocks, and a block cache serves both
    return ((*_READS, *_WRITES) if known <= {"read", "r", *_WRITES} else _READS), []


def _codes(source: Source) -> dict[str, str]:
    """Return the names of operations by their numbers, as a comment at the start of the file has them."""
    comments = list(takewhile(lambda line: line.startswith(b"#"), source.first_lines))
    within = " ".join(re.findall(r"\[[^]]*\]", b" ".join(comments).decode("utf-8", "replace")))
    return {code: name.lower() for name, code in re.findall(r"([A-Za-z_]\w*)\s*:\s*(\d+)", within)}


# JSON lines.


def _keys(line: bytes) -> list[str]:
    """Return the keys of the JSON object in a line, `a.b` for those within others; none where it is none."""
    record = _record(line)

    def flat(values: Mapping[str, Any], before: str) -> Iterator[str]:
        for key, value in values.items():
            if isinstance(value, dict):
                yield from flat(value, f"{before}{key}.")
            else:
                yield before + key

    return list(flat(record, "")) if record else []


def _record(line: bytes) -> dict[str, Any] | None:
    if not line.startswith(b"{"):
        return None
    try:
        record = json.loads(line, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _row(line: bytes, keys: Sequence[str]) -> bytes:
    """Return the values of the keys in a JSON object, separated by tabs; `?` where it is none."""
    record = _record(line.strip())
    if record is None:
        return b"?"
    fields = []
    for key in keys:
        value: Any = record.get(key)
        if value is None and "." in key:
            value = record
            for step in key.split("."):
                value = value.get(step) if isinstance(value, dict) else None
        if value is None:
            fields.append("")
        elif isinstance(value, str) and value.isprintable() and value[:1] != '"':
            fields.append(value)
        else:
            fields.append(json.dumps(value)[1:-1] if isinstance(value, str) else json.dumps(value))
    return "\t".join(fields).encode("utf-8", "surrogatepass")


def _json_rewrite(keys: Sequence[str]) -> Rewrite:
    def rewrite(block: bytes) -> tuple[bytes, Sequence[int], NoteCounts]:
        lines = block.split(b"\n")
        places = [place for place, line in enumerate(lines) if line.strip()]
        return b"\n".join(_row(lines[place], keys) for place in places), places, NoteCounts()

    return rewrite


# Headers.


def _header(source: Source, delimiter: str) -> list[str]:
    """Return the names in the first line, without the sign of a comment and what stands in brackets."""
    line = source.first_lines[0]
    if line.startswith(b"#"):
        line = re.sub(rb"\[[^]]*\]", b"", line.lstrip(b"#")).strip()
    return fields_of(line, delimiter)


def _delimiter_of(source: Source) -> str:
    line = next((line for line in source.first_lines if not line.startswith(b"#")), source.first_lines[0])
    text = line.decode("latin-1")
    found = [sign for sign in DELIMITERS.values() if sign and sign in text]
    if len(found) > 1:
        raise UserError(f"{source.path}: the delimiter is not clear from {abbreviated(line)}; {_HELP}")
    return found[0] if found else ""


def _usual_columns(source: Source, header: list[str]) -> ColumnSpec:
    """Return the columns that have usual names. Raises UserError where one is missing, or not clear."""
    found: dict[str, list[int]] = {}
    ticks = None
    unknown = []
    for place, name in enumerate(header, 1):
        plain = name.lower().strip()
        unit = _UNIT.search(plain)
        known = [
            what
            for what, usual in _USUAL_NAMES.items()
            if plain in usual or (unit is not None and what in ("time", "size") and plain[: unit.start()] in usual)
        ]
        if not known and plain not in _BESIDE:
            unknown.append(name)
        for what in known:
            found.setdefault(what, []).append(place)
            if what == "time" and unit is not None:
                ticks = TIME_UNITS.get(unit[1])
    if "key-size" in found and "size" not in found:
        del found["key-size"]
    for what, places in found.items():
        if len(places) > 1:
            raise UserError(f"{source.path}: in its first line more than one column is named as the {what}; {_HELP}")
    if "id" not in found:
        raise UserError(f"{source.path}: in its first line no column is named as the id; {_HELP}")
    if "size" not in found and any("size" in name.lower() or "bytes" in name.lower() for name in unknown):
        raise UserError(f"{source.path}: which column of its header is the size is ambiguous; {_HELP}")
    columns = {what: places[0] for what, places in found.items()}
    if "time" not in found and unknown:
        some = ", ".join(map(repr, unknown[:4]))
        given = ",".join(f"{what}={header[place - 1]}" for what, place in columns.items())
        raise UserError(
            f"{source.path}: no column of its header is known as the time, and {some} could be it: "
            f"give columns 'time={unknown[0]},{given}', or '{given}' to do without a time"
        )
    return ColumnSpec(tuple(columns.items()), header=True, ticks_per_second=ticks)


def _place(source: Source, what: str, column: int | str, first: list[str], width: int) -> int:
    """Return the index, from 0, of a column given by number or name."""
    if isinstance(column, int):
        if column > width:
            raise UserError(f"{source.path}: {what}={column}, but its first line has {len(first)} columns")
        return column - 1
    if first.count(column) != 1:
        has = "more than one column" if column in first else "no column"
        raise UserError(f"{source.path}: {has} is named {column!r} in its header{did_you_mean(column, first)}")
    return first.index(column)


def _looks_like_header(rows: Sequence[Sequence[str]], places: Mapping[str, int]) -> bool:
    """Check whether the time or the size of the first line is a name, and that of the second line none."""
    if len(rows) < 2 or len(rows[0]) != len(rows[1]):
        return False
    return any(
        is_name(rows[0][places[what]]) and not is_name(rows[1][places[what]])
        for what in ("time", "size")
        if what in places and places[what] < len(rows[0])
    )


def is_name(field: str) -> bool:
    """Check whether a field begins as a name does, and not as a number or a date."""
    return field[:1].isalpha() or field[:1] in "_#"


def _is_date(rows: Sequence[Sequence[str]], place: int) -> bool:
    return any(place < len(row) and row[place][4:5] == "-" and ":" in row[place] for row in rows[:1])


def _recognises(source: Source) -> bool:
    """Return a header row, or keys, that say what is what."""
    if not source.is_text or len(source.first_lines) < 2:
        return False
    try:
        header = _keys(source.first_lines[0]) or _header(source, _delimiter_of(source))
        names = {name.lower().strip() for name in header}
        return len(header) > 1 and bool(names & _USUAL_NAMES["id"]) and (_usual_columns(source, header) is not None)
    except UserError as error:
        return "as the time" in str(error)  # a table, but one that asks


FORMAT = Format(
    "csv", "a delimited table or JSON lines; columns by header, by keys or by --columns", read_csv, _recognises
)
