"""The ARC traces, `.lis` (Megiddo and Modha, FAST 2003).

A line is `start_block n_blocks 0 request_number` (the third is not always 0) and stands for n_blocks requests, one for
each block from start_block on. Blocks are of one size, so the size is 1; there is no clock, so the time is the
request's index. More than a million blocks in one line are taken for damage.
"""

from __future__ import annotations

from vulcan_traces.parsing.source import Source
from vulcan_traces.parsing.text_table import BLANKS, Role, TextTable
from vulcan_traces.readers.format import Format, all_integers, mostly, reads_table, split_lines

_TABLE = TextTable((Role.ID, Role.COUNT), BLANKS)


def _recognises(source: Source) -> bool:
    """Four numbers, the second of them a count; where the name does not say it, a third of 0, and a rising fourth."""
    lines = split_lines(source, None)
    if not mostly(len(line) == 4 and all_integers(line) and int(line[1]) > 0 for line in lines):
        return False
    if ".lis" in source.path.name.lower():
        return True
    numbers = [int(line[3]) for line in lines if len(line) == 4 and all_integers(line)]
    return numbers == sorted(numbers) and mostly(line[2:3] == ["0"] for line in lines)


FORMAT = Format("arc", "the .lis traces of ARC: runs of blocks", reads_table(_TABLE), _recognises, (".lis",))
