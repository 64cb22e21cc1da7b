"""The rows that are left in a damaged SQLite file, read page by page without SQLite.

Follows the file format as https://www.sqlite.org/fileformat2.html has it: sections 1.3 (the header), 1.6 (b-tree
pages), 2 (records) and 4 (the write-ahead log). Every page is looked at, whether or not a tree still leads to it. That
is right only for tables to which rows are added, and in which none is ever changed or taken away: an old copy of a page
then holds nothing that is not so any more.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Value = None | int | float | str | bytes

_MAGIC = b"SQLite format 3\x00"
_DEFAULT_PAGE_SIZE = 4096
_FILE_HEADER = 100
_LOG_HEADER = struct.Struct(">8I")
_FRAME_HEADER = struct.Struct(">6I")
_LOG_MAGIC = (0x377F0682, 0x377F0683)  # with checksums of little-endian and of big-endian words
_LEAF_TABLE, _LEAF_INDEX, _INNER_INDEX = 0x0D, 0x0A, 0x02
_MAX_COLUMNS = 64


class _Broken(Exception):
    """What is being read cannot have been written by SQLite."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: `key` is its rowid, None in a table WITHOUT ROWID."""

    key: int | None
    values: tuple[Value, ...]


def rows_left(path: Path) -> Iterator[Row]:
    """Every row that can be read in a file and its write-ahead log; a row that is there twice comes twice.

    What is known to have been written completely comes first. Raises OSError.
    """
    file = path.read_bytes()
    log_path = path.with_name(path.name + "-wal")
    log = log_path.read_bytes() if log_path.is_file() else b""
    size = _page_size(file, log)
    pages = {number + 1: file[start : start + size] for number, start in enumerate(range(0, len(file), size))}
    doubtful: list[tuple[int, bytes]] = []
    for number, page, sound in _frames(log, size):
        if sound:
            pages[number] = page
        else:
            doubtful.append((number, page))
    for number, page in pages.items():
        yield from _rows_of(number, page, pages, size)
    for number, page in doubtful:
        yield from _rows_of(number, page, {**pages, **dict(doubtful)}, size)


def _page_size(file: bytes, log: bytes) -> int:
    found = 0
    if file.startswith(_MAGIC):
        found = int.from_bytes(file[16:18], "big")
    elif len(log) >= _LOG_HEADER.size and _LOG_HEADER.unpack_from(log)[0] in _LOG_MAGIC:
        found = int(_LOG_HEADER.unpack_from(log)[2])
    found = 1 << 16 if found == 1 else found
    return found if 512 <= found <= 1 << 16 and found & (found - 1) == 0 else _DEFAULT_PAGE_SIZE


def _frames(log: bytes, size: int) -> Iterator[tuple[int, bytes, bool]]:
    """The page number and the page of each frame of the log, and whether it is of a transaction that was committed.

    Frames from before the log was begun anew, whose salt is another one, are passed over.
    """
    if len(log) < _LOG_HEADER.size:
        return
    magic, _, _, _, *salt, sum1, sum2 = _LOG_HEADER.unpack_from(log)
    order = ">" if magic == _LOG_MAGIC[1] else "<"
    sums = _checksum(log[:24], (0, 0), order)
    intact = sums == (sum1, sum2)
    waiting: list[tuple[int, bytes]] = []
    step = _FRAME_HEADER.size + size
    for start in range(_LOG_HEADER.size, len(log) - step + 1, step):
        number, committed, *found, sum1, sum2 = _FRAME_HEADER.unpack_from(log, start)
        page = log[start + _FRAME_HEADER.size : start + step]
        if found != salt:
            continue
        sums = _checksum(page, _checksum(log[start : start + 8], sums, order), order)
        intact = intact and sums == (sum1, sum2)
        if not intact:
            yield number, page, False
            continue
        waiting.append((number, page))
        if committed:
            yield from ((*frame, True) for frame in waiting)
            waiting.clear()
    yield from ((*frame, False) for frame in waiting)


def _checksum(data: bytes, sums: tuple[int, int], order: str) -> tuple[int, int]:
    first, second = sums
    words = struct.unpack(f"{order}{len(data) // 4}I", data)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & 0xFFFFFFFF
        second = (second + odd + first) & 0xFFFFFFFF
    return first, second


def _rows_of(number: int, page: bytes, pages: Mapping[int, bytes], size: int) -> Iterator[Row]:
    start = _FILE_HEADER if number == 1 else 0
    if len(page) < start + 8 or page[start] not in (_LEAF_TABLE, _LEAF_INDEX, _INNER_INDEX):
        return
    kind = page[start]
    first_pointer = start + (12 if kind == _INNER_INDEX else 8)
    count = int.from_bytes(page[start + 3 : start + 5], "big")
    for index in range(min(count, (len(page) - first_pointer) // 2)):
        place = int.from_bytes(page[first_pointer + 2 * index : first_pointer + 2 * index + 2], "big")
        try:
            yield _cell(kind, page, place, pages, size)
        except _Broken:
            continue


def _cell(kind: int, page: bytes, place: int, pages: Mapping[int, bytes], size: int) -> Row:
    place += 4 if kind == _INNER_INDEX else 0
    length, place = _variable_integer(page, place)
    key = None
    if kind == _LEAF_TABLE:
        key, place = _variable_integer(page, place)
    return Row(key, _record(_payload(kind, page, place, length, pages, size)))


def _payload(kind: int, page: bytes, place: int, length: int, pages: Mapping[int, bytes], size: int) -> bytes:
    """The bytes of a record, of which a long one goes on in a chain of other pages (section 1.6)."""
    most = size - 35 if kind == _LEAF_TABLE else (size - 12) * 64 // 255 - 23
    least = (size - 12) * 32 // 255 - 23
    here = length
    if length > most:
        here = least + (length - least) % (size - 4)
        here = least if here > most else here
    if length > size * len(pages) or place + here > len(page):
        raise _Broken
    parts = [page[place : place + here]]
    left = length - here
    following = int.from_bytes(page[place + here : place + here + 4], "big") if left else 0
    while left > 0:
        more = pages.get(following, b"")
        if len(more) != size:
            raise _Broken
        parts.append(more[4 : 4 + min(left, size - 4)])
        left -= size - 4
        following = int.from_bytes(more[:4], "big")
    return b"".join(parts)


def _record(payload: bytes) -> tuple[Value, ...]:
    end, place = _variable_integer(payload, 0)
    if end > len(payload):
        raise _Broken
    types = []
    while place < end:
        code, place = _variable_integer(payload, place)
        types.append(code)
    if len(types) > _MAX_COLUMNS:
        raise _Broken
    return tuple(_values(types, payload, end))


_INTEGER_BYTES = (0, 1, 2, 3, 4, 6, 8)


def _values(types: Sequence[int], payload: bytes, place: int) -> Iterator[Value]:
    for code in types:
        if code >= 12:
            length = (code - 12) // 2
        elif code == 7:
            length = 8
        else:
            length = _INTEGER_BYTES[code] if code < 7 else 0
        part = payload[place : place + length]
        if len(part) != length:
            raise _Broken
        place += length
        yield _value(code, part)


def _value(code: int, part: bytes) -> Value:
    if code == 0:
        return None
    if code == 7:
        return float(struct.unpack(">d", part)[0])
    if code in (8, 9):
        return code - 8
    if code < 7:
        return int.from_bytes(part, "big", signed=True)
    if code % 2 == 0:
        return part
    try:
        return part.decode()
    except UnicodeDecodeError as error:
        raise _Broken from error


def _variable_integer(data: bytes, place: int) -> tuple[int, int]:
    """The value of an integer of one to nine bytes, and the place after it."""
    value = 0
    for count in range(9):
        if place + count >= len(data):
            raise _Broken
        byte = data[place + count]
        if count == 8:
            return (value << 8) | byte, place + 9
        value = (value << 7) | (byte & 0x7F)
        if byte < 0x80:
            return value, place + count + 1
    raise _Broken
