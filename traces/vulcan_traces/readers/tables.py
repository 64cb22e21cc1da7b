"""Texts of one request a line whose layout is known beforehand: what each field is for, and how such lines are told.

Without a clock the time is the request's index, and where there are no sizes a size is 1. Of block traces a request is
one I/O record, whole, keyed by volume and offset, as libCacheSim takes them; reads and writes count alike, for a block
cache serves both. With a page size it is one request for each page that it touches.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from vulcan_traces.parsing.source import Source
from vulcan_traces.parsing.text_table import BLANKS, Role, TextTable
from vulcan_traces.readers.format import Format, all_integers, mostly, reads_table, split_lines

_TIME = re.compile(r"\d+(\.\d+)?\Z", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?\Z", re.ASCII)
_SIZE = re.compile(r"\d+(\.0+)?\Z", re.ASCII)
_TWITTER_OPERATIONS = frozenset(
    ("get", "gets", "set", "add", "replace", "cas", "append", "prepend", "delete", "incr", "decr")
)


def _lines_are(delimiter: str | None, expected: Callable[[list[str]], bool]) -> Callable[[Source], bool]:
    return lambda source: mostly(expected(line) for line in split_lines(source, delimiter))


def _plain_ids(source: Source) -> TextTable:
    first = [line.decode("latin-1") for line in source.first_lines if not line.startswith(b"# ")][:1]
    is_text = bool(first) and not all_integers(first)
    hint = " as the first is (for text ids: columns 'id=1,ids=text'; for * markers: format lirs)"
    return TextTable((Role.ID,), BLANKS, most=1, text_ids=is_text, comment="" if is_text else "#", hint=hint)


def _is_one_word_a_line(source: Source) -> bool:
    """Two lines or more of one word each, none of them a marker."""
    lines = source.first_lines
    return (
        source.is_text
        and len(lines) > 1
        and not any(line == b"*" or any(sign in line for sign in b" \t,;|{") for line in lines)
    )


def _three_numbers(source: Source) -> TextTable:
    return TextTable((Role.TIME, Role.ID, Role.SIZE), _delimiter(source), most=3)


def _delimiter(source: Source) -> str:
    first = b"".join(source.first_lines[:1])
    return next((sign for sign in (",", ";") if sign.encode() in first), BLANKS)


def _is_time_id_size(source: Source) -> bool:
    """Three numbers, the first never falling, or a date each, and the last mostly positive."""
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


def _is_arc(source: Source) -> bool:
    """Four numbers, the second of them a count; where the name does not say it, a third of 0, and a rising fourth."""
    lines = split_lines(source, None)
    if not mostly(len(line) == 4 and all_integers(line) and int(line[1]) > 0 for line in lines):
        return False
    if ".lis" in source.path.name.lower():
        return True
    numbers = [int(line[3]) for line in lines if len(line) == 4 and all_integers(line)]
    return numbers == sorted(numbers) and mostly(line[2:3] == ["0"] for line in lines)


def _is_lirs(source: Source) -> bool:
    """Numbers and markers, of both at least one; without a marker it reads the same as txt."""
    lines = [line.decode("latin-1") for line in source.first_lines]
    numbers = [line for line in lines if line != "*"]
    return 0 < len(numbers) < len(lines) and all_integers(numbers)


# libCacheSim's `txt`. The first id decides whether ids are whole numbers or text, which is hashed to 64 bits.
TXT = Format("txt", "one object id a line", reads_table(_plain_ids), _is_one_word_a_line)

# webcachesim (github.com/dasebe/webcachesim), AdaptSize, the samples of Tencent's block traces that come with 3L-Cache,
# and the plainest table there is. Times are seconds (or what the trace counts in, taken for seconds) or ISO 8601 dates.
TIME_ID_SIZE = Format(
    "time-id-size", "three numbers a line: time, id, size", reads_table(_three_numbers), _is_time_id_size
)

# Megiddo and Modha, FAST 2003: `start_block n_blocks 0 request_number` (the third is not always 0), a request for each
# of n_blocks blocks from start_block on. More than a million blocks in one line are taken for damage.
ARC = Format(
    "arc",
    "the .lis traces of ARC: runs of blocks",
    reads_table(TextTable((Role.ID, Role.COUNT), BLANKS)),
    _is_arc,
    (".lis",),
)

# Jiang and Zhang, SIGMETRICS 2002. A line of a single `*` marks where a part of the program ends and is no request.
LIRS = Format(
    "lirs",
    "one block number a line, * between parts",
    reads_table(TextTable((Role.ID,), BLANKS, most=1, marker="*")),
    _is_lirs,
)

# Narayanan et al., FAST 2008; SNIA IOTTA 388. Times count 100 ns since 1601; the last field is the response time.
MSR = Format(
    "msr",
    "MSR Cambridge block traces",
    reads_table(
        TextTable(
            (Role.TIME, Role.VOLUME, Role.VOLUME, Role.OPERATION, Role.ID, Role.SIZE),
            ",",
            ticks_per_second=1e7,
            taken=("read", "write"),
            blocks=True,
        )
    ),
    _lines_are(
        ",",
        lambda line: (
            len(line) >= 6 and line[3].lower() in ("read", "write") and all_integers([line[0], line[2], *line[4:6]])
        ),
    ),
)

# Yang, Yue, Rashmi, OSDI 2020; github.com/twitter/cache-trace: time in seconds, anonymised key, key size, value size,
# client, operation, TTL. A get is a request of key size + value size bytes: the cache is filled on demand. Other
# operations are no requests, but say what size an object has that a get has missed.
TWITTER = Format(
    "twitter",
    "Twitter's cache traces",
    reads_table(
        TextTable(
            (Role.TIME, Role.ID, Role.OVERHEAD, Role.SIZE, Role.IGNORED, Role.OPERATION),
            ",",
            text_ids=True,
            comment="",
            taken=("get", "gets"),
        )
    ),
    _lines_are(
        ",",
        lambda line: len(line) >= 6 and line[5] in _TWITTER_OPERATIONS and all_integers([line[0], line[2], line[3]]),
    ),
)

# Zhang et al., USENIX ATC 2020; SNIA IOTTA 27917: offsets and sizes in sectors of 512 bytes, 0 a read and 1 a write.
# (The samples of three numbers a line are time-id-size.)
TENCENT = Format(
    "tencent",
    "Tencent's cloud block storage traces",
    reads_table(
        TextTable(
            (Role.TIME, Role.ID, Role.SIZE, Role.OPERATION, Role.VOLUME), ",", unit=512, taken=("0", "1"), blocks=True
        )
    ),
    _lines_are(",", lambda line: len(line) == 5 and line[3] in ("0", "1") and all_integers(line)),
)

# Li et al., IISWC 2020; github.com/alibaba/block-traces. Times count microseconds.
ALIBABA = Format(
    "alibaba",
    "Alibaba's cloud block storage traces",
    reads_table(
        TextTable(
            (Role.VOLUME, Role.OPERATION, Role.ID, Role.SIZE, Role.TIME),
            ",",
            ticks_per_second=1e6,
            taken=("r", "w"),
            blocks=True,
        )
    ),
    _lines_are(",", lambda line: len(line) >= 5 and line[1] in ("R", "W") and all_integers(line[2:])),
)

# Eytan et al., HotStorage 2020; SNIA IOTTA 36305: time in milliseconds, operation such as REST.GET.OBJECT, object, and
# where the operation has them size and range. A GET is a request for the whole object: what a read cache serves; PUT,
# HEAD, COPY and DELETE are no requests, but a PUT says what size an object has.
IBM = Format(
    "ibm",
    "IBM's object store traces",
    reads_table(
        TextTable(
            (Role.TIME, Role.OPERATION, Role.ID, Role.SIZE),
            BLANKS,
            text_ids=True,
            ticks_per_second=1e3,
            taken=("rest.get.object",),
        )
    ),
    _lines_are(None, lambda line: len(line) >= 3 and all_integers(line[:1]) and line[1].startswith("REST.")),
)
