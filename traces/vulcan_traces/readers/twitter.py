"""Twitter's cache traces (Yang, Yue, Rashmi, OSDI 2020; github.com/twitter/cache-trace).

Comma-separated without a header: time in seconds, anonymised key, key size, value size, client id, operation,
TTL. Each operation counts as one request for its key (hashed to 64 bits), of key size + value size bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

from vulcan_traces.parsing.source import Source
from vulcan_traces.parsing.text_table import Role, TextTable, read_table
from vulcan_traces.raw_requests import RawRequests
from vulcan_traces.readers.format import Format, all_integers, split_lines

_OPERATIONS = frozenset(("get", "gets", "set", "add", "replace", "cas", "append", "prepend", "delete", "incr", "decr"))
_TABLE = TextTable(
    (Role.TIME, Role.ID, Role.SIZE, Role.SIZE, Role.IGNORED, Role.IGNORED, Role.IGNORED), ",", text_ids=True
)


def _read(source: Source) -> Iterator[RawRequests]:
    return read_table(source, _TABLE)


def _recognises(source: Source) -> bool:
    lines = split_lines(source, ",")
    return bool(lines) and all(
        len(line) == 7 and line[5] in _OPERATIONS and all_integers([line[0], line[2], line[3], line[6]])
        for line in lines
    )


FORMAT = Format("twitter", "Twitter's cache traces", _read, _recognises)
