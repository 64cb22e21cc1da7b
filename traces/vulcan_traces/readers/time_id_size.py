"""`time id size`, separated by blanks: webcachesim (github.com/dasebe/webcachesim), AdaptSize, and the
samples of Tencent's block traces that come with 3L-Cache.

Times are seconds (or what the trace counts in, taken for seconds), ids whole numbers, sizes bytes of the
request.
"""

from __future__ import annotations

from collections.abc import Iterator

from vulcan_traces.parsing.source import Source
from vulcan_traces.parsing.text_table import BLANKS, Role, TextTable, read_table
from vulcan_traces.raw_requests import RawRequests
from vulcan_traces.readers.format import Format, all_integers, split_lines

_TABLE = TextTable((Role.TIME, Role.ID, Role.SIZE), BLANKS)


def _read(source: Source) -> Iterator[RawRequests]:
    return read_table(source, _TABLE)


def _recognises(source: Source) -> bool:
    """Three numbers, the first never falling and the last positive."""
    lines = split_lines(source, None)
    if not lines or not all(len(line) == 3 and all_integers(line) and int(line[2]) > 0 for line in lines):
        return False
    times = [int(line[0]) for line in lines]
    return times == sorted(times)


FORMAT = Format("time-id-size", "three numbers a line: time, id, size", _read, _recognises)
