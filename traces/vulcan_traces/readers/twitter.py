"""Twitter's cache traces (Yang, Yue, Rashmi, OSDI 2020; github.com/twitter/cache-trace).

Comma-separated without a header: time in seconds, anonymised key, key size, value size, client id, operation,
TTL. A get or gets is a request for its key (hashed to 64 bits), of key size + value size bytes: the cache is filled on
demand. Other operations are no requests, but say what size an object has that a get has missed.
"""

from __future__ import annotations

from vulcan_traces.parsing.source import Source
from vulcan_traces.parsing.text_table import Role, TextTable
from vulcan_traces.readers.format import Format, all_integers, mostly, reads_table, split_lines

_OPERATIONS = frozenset(("get", "gets", "set", "add", "replace", "cas", "append", "prepend", "delete", "incr", "decr"))
_TABLE = TextTable(
    (Role.TIME, Role.ID, Role.OVERHEAD, Role.SIZE, Role.IGNORED, Role.OPERATION),
    ",",
    text_ids=True,
    comment="",
    taken=("get", "gets"),
)


def _recognises(source: Source) -> bool:
    lines = split_lines(source, ",")
    return mostly(
        len(line) >= 6 and line[5] in _OPERATIONS and all_integers([line[0], line[2], line[3]]) for line in lines
    )


FORMAT = Format("twitter", "Twitter's cache traces", reads_table(_TABLE), _recognises)
