"""Plain text, one object id a line (libCacheSim's `txt`).

The first id decides whether ids are whole numbers or text, which is hashed to 64 bits. The size is 1, the
time the request's index.
"""

from __future__ import annotations

from vulcan_traces.parsing.source import Source
from vulcan_traces.parsing.text_table import BLANKS, Role, TextTable
from vulcan_traces.readers.format import Format, all_integers, reads_table

_HINT = " as the first is (for text ids: columns 'id=1,ids=text'; for * markers: format lirs)"


def _table(source: Source) -> TextTable:
    first = [line.decode("latin-1") for line in source.first_lines if not line.startswith(b"# ")][:1]
    is_text = bool(first) and not all_integers(first)
    return TextTable((Role.ID,), BLANKS, most=1, text_ids=is_text, comment="" if is_text else "#", hint=_HINT)


def _recognises(source: Source) -> bool:
    """Two lines or more of one word each, none of them a marker."""
    lines = source.first_lines
    return (
        source.is_text
        and len(lines) > 1
        and not any(line == b"*" or any(sign in line for sign in b" \t,;|{") for line in lines)
    )


FORMAT = Format("txt", "one object id a line", reads_table(_table), _recognises)
