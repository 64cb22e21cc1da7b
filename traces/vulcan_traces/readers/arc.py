"""The ARC traces, `.lis` (Megiddo and Modha, FAST 2003).

A line is `start_block n_blocks 0 request_number` and stands for n_blocks requests, one for each block from
start_block on. Blocks are of one size, so the size is 1; there is no clock, so the time is the request's
index. More than 65,536 blocks in one line are taken for damage.
"""

from __future__ import annotations

from collections.abc import Iterator

from vulcan_traces.parsing.source import Source
from vulcan_traces.parsing.text_table import BLANKS, Role, TextTable, read_table
from vulcan_traces.raw_requests import RawRequests
from vulcan_traces.readers.format import Format, all_integers, split_lines

_TABLE = TextTable((Role.ID, Role.COUNT, Role.IGNORED, Role.IGNORED), BLANKS)


def _read(source: Source) -> Iterator[RawRequests]:
    return read_table(source, _TABLE)


def _recognises(source: Source) -> bool:
    """Four numbers of which the third is 0 and the fourth does not fall."""
    lines = split_lines(source, None)
    if not lines or not all(len(line) == 4 and all_integers(line) and line[2] == "0" for line in lines):
        return False
    numbers = [int(line[3]) for line in lines]
    return numbers == sorted(numbers) and all(int(line[1]) > 0 for line in lines)


FORMAT = Format("arc", "the .lis traces of ARC: runs of blocks", _read, _recognises, (".lis",))
