"""Tencent's cloud block storage traces (Zhang et al., USENIX ATC 2020; SNIA IOTTA 27917).

Comma-separated without a header: time in seconds, offset and size in sectors of 512 bytes, type (0 read, 1
write), volume. One request an I/O record, whole, keyed by (volume, offset), as libCacheSim takes block
traces; reads and writes count alike, for a block cache serves both. With a page size, one for each page that it
touches. (The samples of three numbers a line are time-id-size.)
"""

from __future__ import annotations

from vulcan_traces.parsing.source import Source
from vulcan_traces.parsing.text_table import Role, TextTable
from vulcan_traces.readers.format import Format, all_integers, mostly, reads_table, split_lines

_TABLE = TextTable(
    (Role.TIME, Role.ID, Role.SIZE, Role.OPERATION, Role.VOLUME), ",", unit=512, taken=("0", "1"), blocks=True
)


def _recognises(source: Source) -> bool:
    lines = split_lines(source, ",")
    return mostly(len(line) == 5 and line[3] in ("0", "1") and all_integers(line) for line in lines)


FORMAT = Format("tencent", "Tencent's cloud block storage traces", reads_table(_TABLE), _recognises)
