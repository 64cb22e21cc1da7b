"""`time id size`, separated by blanks, commas or semicolons: webcachesim (github.com/dasebe/webcachesim), AdaptSize,
the samples of Tencent's block traces that come with 3L-Cache, and the plainest table there is.

Times are seconds (or what the trace counts in, taken for seconds) or dates of ISO 8601, ids whole numbers, sizes bytes
of the request.
"""

from __future__ import annotations

import re

from vulcan_traces.parsing.source import Source
from vulcan_traces.parsing.text_table import BLANKS, Role, TextTable
from vulcan_traces.readers.format import Format, all_integers, mostly, reads_table, split_lines

_DELIMITERS = (BLANKS, ",", ";")
_TIME = re.compile(r"\d+(\.\d+)?\Z", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?\Z", re.ASCII)
_SIZE = re.compile(r"\d+(\.0+)?\Z", re.ASCII)


def _delimiter(source: Source) -> str:
    return next((sign for sign in _DELIMITERS if sign and source.first_lines and sign in _first(source)), BLANKS)


def _first(source: Source) -> str:
    return source.first_lines[0].decode("utf-8", "replace")


def _table(source: Source) -> TextTable:
    return TextTable((Role.TIME, Role.ID, Role.SIZE), _delimiter(source), most=3)


def _recognises(source: Source) -> bool:
    """Three numbers, the first never falling, or a date each, and the last mostly positive."""
    if not source.first_lines:
        return False
    lines = split_lines(source, _delimiter(source) or None)
    if not mostly(len(line) == 3 and all_integers([line[1]]) and bool(_SIZE.match(line[2])) for line in lines):
        return False
    lines = [line for line in lines if len(line) == 3]
    if sum(float(line[2]) > 0 for line in lines if _SIZE.match(line[2])) < 0.5 * len(lines):
        return False
    if all(_DATE.match(line[0]) for line in lines):
        return True
    if not all(_TIME.match(line[0]) for line in lines):
        return False
    times = [float(line[0]) for line in lines]
    return times == sorted(times)


FORMAT = Format("time-id-size", "three numbers a line: time, id, size", reads_table(_table), _recognises)
