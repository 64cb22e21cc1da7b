"""Alibaba's cloud block storage traces (Li et al., IISWC 2020; github.com/alibaba/block-traces).

Comma-separated without a header: device, opcode (R or W), offset and length in bytes, time in microseconds.
One request an I/O record, keyed by (device, offset), with the length of that I/O, as libCacheSim takes block
traces; reads and writes count alike.
"""

from __future__ import annotations

from collections.abc import Iterator

from vulcan_traces.parsing.source import Source
from vulcan_traces.parsing.text_table import Role, TextTable, read_table
from vulcan_traces.raw_requests import RawRequests
from vulcan_traces.readers.format import Format, all_integers, split_lines

_TABLE = TextTable((Role.VOLUME, Role.IGNORED, Role.ID, Role.SIZE, Role.TIME), ",", ticks_per_second=1e6)


def _read(source: Source) -> Iterator[RawRequests]:
    return read_table(source, _TABLE)


def _recognises(source: Source) -> bool:
    lines = split_lines(source, ",")
    return bool(lines) and all(len(line) == 5 and line[1] in ("R", "W") and all_integers(line[2:]) for line in lines)


FORMAT = Format("alibaba", "Alibaba's cloud block storage traces", _read, _recognises)
