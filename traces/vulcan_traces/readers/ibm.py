"""IBM's object store traces (Eytan et al., HotStorage 2020; SNIA IOTTA 36305).

Separated by blanks without a header: time in milliseconds, operation such as REST.GET.OBJECT, object, and where the
operation has them size in bytes and the range read. A GET is a request for the whole object: what a read cache serves.
PUT, HEAD, COPY and DELETE are no requests; a PUT says what size an object has.
"""

from __future__ import annotations

from vulcan_traces.parsing.source import Source
from vulcan_traces.parsing.text_table import BLANKS, Role, TextTable
from vulcan_traces.readers.format import Format, all_integers, mostly, reads_table, split_lines

_TABLE = TextTable(
    (Role.TIME, Role.OPERATION, Role.ID, Role.SIZE),
    BLANKS,
    text_ids=True,
    ticks_per_second=1e3,
    taken=("rest.get.object",),
)


def _recognises(source: Source) -> bool:
    lines = split_lines(source, None)
    return mostly(len(line) >= 3 and all_integers(line[:1]) and line[1].startswith("REST.") for line in lines)


FORMAT = Format("ibm", "IBM's object store traces", reads_table(_TABLE), _recognises)
