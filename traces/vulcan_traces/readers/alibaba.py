"""Alibaba's cloud block storage traces (Li et al., IISWC 2020; github.com/alibaba/block-traces).

Comma-separated without a header: device, opcode (R or W), offset and length in bytes, time in microseconds.
One request an I/O record, whole, keyed by (device, offset), as libCacheSim takes block traces; reads and writes count
alike, for a block cache serves both. With a page size, one for each page that it touches.
"""

from __future__ import annotations

from vulcan_traces.parsing.source import Source
from vulcan_traces.parsing.text_table import Role, TextTable
from vulcan_traces.readers.format import Format, all_integers, mostly, reads_table, split_lines

_TABLE = TextTable(
    (Role.VOLUME, Role.OPERATION, Role.ID, Role.SIZE, Role.TIME),
    ",",
    ticks_per_second=1e6,
    taken=("r", "w"),
    blocks=True,
)


def _recognises(source: Source) -> bool:
    lines = split_lines(source, ",")
    return mostly(len(line) >= 5 and line[1] in ("R", "W") and all_integers(line[2:]) for line in lines)


FORMAT = Format("alibaba", "Alibaba's cloud block storage traces", reads_table(_TABLE), _recognises)
