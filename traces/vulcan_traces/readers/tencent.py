"""Tencent's cloud block storage traces (Zhang et al., USENIX ATC 2020; SNIA IOTTA 27917).

Comma-separated without a header: time in seconds, offset and size in sectors of 512 bytes, type (0 read, 1
write), volume. One request an I/O record, keyed by (volume, offset), with the size of that I/O in bytes, as
libCacheSim takes block traces; reads and writes count alike. (The samples of three numbers a line are
time-id-size.)
"""

from __future__ import annotations

from collections.abc import Iterator

from vulcan_traces.parsing.source import Source
from vulcan_traces.parsing.text_table import Role, TextTable, read_table
from vulcan_traces.raw_requests import RawRequests
from vulcan_traces.readers.format import Format, all_integers, split_lines

_TABLE = TextTable((Role.TIME, Role.ID, Role.SIZE, Role.IGNORED, Role.VOLUME), ",", size_unit=512)


def _read(source: Source) -> Iterator[RawRequests]:
    return read_table(source, _TABLE)


def _recognises(source: Source) -> bool:
    lines = split_lines(source, ",")
    return bool(lines) and all(len(line) == 5 and line[3] in ("0", "1") and all_integers(line) for line in lines)


FORMAT = Format("tencent", "Tencent's cloud block storage traces", _read, _recognises)
