"""Logs of programs, line by line: each layout is a pattern whose groups are the columns of a table.

Web servers' common and combined log format: a request is a GET, for its target as it stands in the request line,
whatever the status; a size of 0 or `-` (304 has no body) is unknown. Redis MONITOR: a request is a command that reads,
for its key in its database, of size 1 (the log has no sizes); MGET one for each of its keys. fio's iolog, versions 2
and 3 (times in microseconds): a request is a read or write, whole, for its file and offset. blkparse (the default
output): a request is an I/O that is queued (Q), so that none counts twice, reads and writes alike, keyed by device and
first sector of 512 bytes. With a page size, an I/O is one request for each page that it touches.

Mooncake's traces of language-model serving (Qin et al., FAST 2025; github.com/kvcache-ai/Mooncake): JSON lines with
`timestamp` in milliseconds and `hash_ids`, the ids of the prompt's prefix blocks of 512 tokens. Each of these is a
request of size 1 at that time, in the order of the list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from vulcan_traces.notes import OTHER_STATUS, NoteCounts
from vulcan_traces.parsing.source import Source
from vulcan_traces.parsing.text_table import Rewrite, Role, TextTable
from vulcan_traces.readers.format import Format, mostly, reads_table

_WEB = re.compile(
    rb"\S+ .*?(?P<time>\[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\])"
    rb' "(?P<op>[^" ]*)(?: (?P<id>(?:[^"\\\t]|\\.)*?))?(?: HTTP/[\d.]+)?" (?:200|304|(?P<other>\d)\d\d) '
    rb"(?P<size>\d+|-)(?: |$)"
)
_MONITOR = re.compile(
    rb'(?P<time>\d+\.\d+) \[(?P<volume>\d+) [^\]]*\] "(?P<op>[^"]*)"(?: "(?P<id>(?:[^"\\\t]|\\.)*)"(?P<more>.*))?'
)
_QUOTED = re.compile(rb'"((?:[^"\\\t]|\\.)*)"')
_IOLOG = re.compile(rb"(?:(?P<time>\d+) )?(?P<volume>\S+) (?P<op>[a-z]+) (?P<id>\d+) (?P<size>\d+)$")
_BLKPARSE = re.compile(
    rb"\s*(?P<volume>\d+,\d+)\s+\d+\s+\d+\s+(?P<time>\d+\.\d+)\s+\d+\s+Q\s+[FD]?(?P<op>[A-Z])[A-Z]*"
    rb"\s+(?P<id>\d+)(?: \+ (?P<size>\d+))?"
)
_EVENT = re.compile(rb"\s*\d+,\d+\s+\d+\s+\d+\s+\d+\.\d+\s+\d+\s+[A-Z]{1,2}\s")
_READS = (
    *("get", "getex", "getrange", "substr", "strlen", "mget", "getbit", "bitcount", "hget", "hgetall", "hmget"),
    *("hvals", "hkeys", "hlen", "hexists", "lrange", "lindex", "llen", "smembers", "sismember", "smismember", "scard"),
    *("srandmember", "zrange", "zrevrange", "zrangebyscore", "zrevrangebyscore", "zscore", "zmscore", "zcard", "zrank"),
    *("zrevrank", "zcount", "xrange", "xlen", "json.get"),
)


def _rewriting(pattern: re.Pattern[bytes], no_request: re.Pattern[bytes], columns: Sequence[str]) -> Rewrite:
    """Return what makes a table of lines of the pattern; others are malformed unless they are none of a request."""

    def rewrite(block: bytes) -> tuple[bytes, Sequence[int], NoteCounts]:
        rows, places, notes = [], [], NoteCounts()
        for place, line in enumerate(block.split(b"\n")):
            found = pattern.match(line.rstrip(b"\r"))
            if found is not None:
                fields = found.groupdict(b"")
                if fields.get("other") and fields["op"].lower() == b"get":
                    notes[OTHER_STATUS, fields["other"].decode() + "xx"] += 1
                for key in (fields["id"], *_other_keys(fields)):
                    rows.append(b"\t".join(key if name == "id" else fields[name] for name in columns))
                    places.append(place)
            elif line.strip() and not no_request.match(line):
                rows.append(b"?")
                places.append(place)
        return b"\n".join(rows), places, notes

    return rewrite


def _other_keys(fields: dict[str, bytes]) -> list[bytes]:
    return _QUOTED.findall(fields["more"]) if fields["op"].lower() == b"mget" and "more" in fields else []


_ROLES = {"time": Role.TIME, "volume": Role.VOLUME, "op": Role.OPERATION, "id": Role.ID, "size": Role.SIZE}


def _format(
    name: str,
    meaning: str,
    pattern: re.Pattern[bytes],
    no_request: str,
    columns: str,
    taken: Sequence[str],
    *,
    text_ids: bool = False,
    ticks_per_second: float = 1.0,
    unit: int = 1,
) -> Format:
    ignored = re.compile(no_request.encode())

    def table(source: Source) -> TextTable:
        named = [
            column
            for column in columns.split()
            if column != "time" or b"version 2" not in b"".join(source.first_lines[:1])
        ]
        return TextTable(
            tuple(_ROLES[column] for column in named),
            "\t",
            text_ids,
            ticks_per_second,
            unit,
            comment="",
            taken=tuple(taken),
            blocks="size" in named and "volume" in named,
            rewrite=_rewriting(pattern, ignored, named),
            line=f"a line of {meaning} expected",
        )

    def recognises(source: Source) -> bool:
        found = ((pattern.match(line) is not None, ignored.match(line) is None) for line in source.first_lines)
        return source.is_text and mostly(is_request for is_request, is_odd in found if is_request or is_odd)

    return Format(name, meaning, reads_table(table), recognises)


WEB = _format("clf", "a web server's log, common or combined", _WEB, r"#", "time op id size", ["get"], text_ids=True)
MONITOR = _format("redis-monitor", "Redis MONITOR", _MONITOR, r"\+?OK\s*$", "time op volume id", _READS, text_ids=True)
IOLOG = _format(
    "fio-iolog",
    "fio's iolog, versions 2 and 3",
    _IOLOG,
    r"fio version [23] iolog|(?:\d+ )?\S+ (?:add|open|close|unlink)\s*$|\S+ (?:wait|sync|datasync)\b",
    "op time volume id size",
    ["read", "write"],
    ticks_per_second=1e6,
)
BLKPARSE = _format(
    "blkparse",
    "blkparse's output",
    _BLKPARSE,
    _EVENT.pattern.decode() + r"|[A-Z]|\s+[A-Z]|\s*$",
    "op time volume id size",
    ["r", "w"],
    unit=512,
)


def _blocks_of(line: bytes) -> list[bytes]:
    """Return a row of time and id for each hash id of one line; `?` where it is malformed."""
    try:
        record = json.loads(line)
        time, ids = record["timestamp"], record["hash_ids"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return [b"?"]
    if not isinstance(time, int | float) or not isinstance(ids, list) or not all(type(key) is int for key in ids):
        return [b"?"]
    return [b"%a\t%d" % (time, key) for key in ids]


def _mooncake_rows(block: bytes) -> tuple[bytes, Sequence[int], NoteCounts]:
    rows: list[bytes] = []
    places: list[int] = []
    for place, line in enumerate(block.split(b"\n")):
        found = _blocks_of(line) if line.strip() else []
        rows += found
        places += [place] * len(found)
    return b"\n".join(rows), places, NoteCounts()


MOONCAKE = Format(
    "mooncake",
    "JSON lines with hash_ids, one request each",
    reads_table(
        TextTable(
            (Role.TIME, Role.ID),
            "\t",
            ticks_per_second=1e3,
            comment="",
            rewrite=_mooncake_rows,
            line="a JSON object with a timestamp and a list of whole-number hash_ids expected",
        )
    ),
    lambda source: bool(source.first_lines) and _blocks_of(source.first_lines[0]) != [b"?"],
)
