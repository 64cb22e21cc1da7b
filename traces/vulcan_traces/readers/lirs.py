"""The LIRS traces (Jiang and Zhang, SIGMETRICS 2002): one block number a line.

A line of a single `*` marks where a part of the program ends and is no request. Blocks are of one size, so
the size is 1; there is no clock, so the time is the request's index.
"""

from __future__ import annotations

from vulcan_traces.parsing.source import Source
from vulcan_traces.parsing.text_table import BLANKS, Role, TextTable
from vulcan_traces.readers.format import Format, all_integers, reads_table

_TABLE = TextTable((Role.ID,), BLANKS, most=1, marker="*")


def _recognises(source: Source) -> bool:
    """Numbers and markers, of both at least one; without a marker it reads the same as txt."""
    lines = [line.decode("latin-1") for line in source.first_lines]
    numbers = [line for line in lines if line != "*"]
    return 0 < len(numbers) < len(lines) and all_integers(numbers)


FORMAT = Format("lirs", "one block number a line, * between parts", reads_table(_TABLE), _recognises)
