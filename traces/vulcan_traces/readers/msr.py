"""The block traces of MSR Cambridge (Narayanan et al., FAST 2008; SNIA IOTTA 388).

Comma-separated without a header: timestamp in 100 ns since 1601, host name, disk number, type (Read or
Write), offset and size in bytes, response time. One request an I/O record, keyed by (host, disk, offset),
with the size of that I/O, as libCacheSim takes block traces; reads and writes count alike.
"""

from __future__ import annotations

from collections.abc import Iterator

from vulcan_traces.parsing.source import Source
from vulcan_traces.parsing.text_table import Role, TextTable, read_table
from vulcan_traces.raw_requests import RawRequests
from vulcan_traces.readers.format import Format, all_integers, split_lines

_TABLE = TextTable(
    (Role.TIME, Role.VOLUME, Role.VOLUME, Role.IGNORED, Role.ID, Role.SIZE, Role.IGNORED),
    ",",
    ticks_per_second=1e7,
)


def _read(source: Source) -> Iterator[RawRequests]:
    return read_table(source, _TABLE)


def _recognises(source: Source) -> bool:
    lines = split_lines(source, ",")
    return bool(lines) and all(
        len(line) == 7 and line[3].lower() in ("read", "write") and all_integers([line[0], line[2], *line[4:]])
        for line in lines
    )


FORMAT = Format("msr", "MSR Cambridge block traces", _read, _recognises)
