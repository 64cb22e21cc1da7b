"""The block traces of MSR Cambridge (Narayanan et al., FAST 2008; SNIA IOTTA 388).

Comma-separated without a header: timestamp in 100 ns since 1601, host name, disk number, type (Read or
Write), offset and size in bytes, response time. One request an I/O record, whole, keyed by
(host, disk, offset), as libCacheSim takes block traces; reads and writes count alike, for a block cache serves both.
With a page size, one for each page that it touches.
"""

from __future__ import annotations

from vulcan_traces.parsing.source import Source
from vulcan_traces.parsing.text_table import Role, TextTable
from vulcan_traces.readers.format import Format, all_integers, mostly, reads_table, split_lines

_TABLE = TextTable(
    (Role.TIME, Role.VOLUME, Role.VOLUME, Role.OPERATION, Role.ID, Role.SIZE),
    ",",
    ticks_per_second=1e7,
    taken=("read", "write"),
    blocks=True,
)


def _recognises(source: Source) -> bool:
    lines = split_lines(source, ",")
    return mostly(
        len(line) >= 6 and line[3].lower() in ("read", "write") and all_integers([line[0], line[2], *line[4:6]])
        for line in lines
    )


FORMAT = Format("msr", "MSR Cambridge block traces", reads_table(_TABLE), _recognises)
