"""Streaming writer of a trace's columns, so that no column has to fit into memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from vulcan.errors import UserError
from vulcan_traces.notes import SIZE_FROM_OTHERS, SIZE_UNKNOWN, NoteCounts
from vulcan_traces.raw_requests import MAX_BYTES, MAX_SIZE, RawRequests
from vulcan_traces.storage.dense_ids import DenseIds

_HEADER_BYTES = 128
"""Of an array of one dimension, as numpy writes them: it leaves room for the length to grow."""

_BLOCK = 1 << 20
"""Requests at a time, on the way back from the end."""


def write_columns(folder: Path, parts: Iterable[RawRequests]) -> tuple[int, int, NoteCounts]:
    """Write `objects`, `sizes`, `times`, `next_access` and `keys` of a trace as `.npy` files: see `Trace` for each.

    A size of 0 or unknown becomes the last known one of its object before, else the first one after; requests for
    objects of no known size are left out. Gives the numbers of requests and objects, and notes. In memory there is one
    part at a time, and up to 44 bytes for each different object. Raises UserError for more bytes than sums can hold.
    """
    ids = DenseIds()
    rows = largest = 0
    complete = True
    notes = NoteCounts()
    with ExitStack() as files:
        objects, sizes, times, following = (
            files.enter_context(_Column(folder / f"{name}.npy", code))
            for name, code in (("objects", "<u4"), ("sizes", "<i8"), ("times", "<f8"), ("next_access", "<i8"))
        )
        for part in parts:
            objects.append(ids.number(part.keys))
            sizes.append(part.sizes)
            times.append(part.times)
            rows += len(part.keys)
            largest = max(largest, int(part.sizes.max(initial=0)))
            notes += part.notes
            complete = complete and bool(part.sizes.all()) and not np.isnan(part.times).any()
        known = ids.keys
        if not complete:
            rows, kept = _completed(objects, sizes, times, rows, ids.count, notes)
            known = known[kept]
        if rows * largest > MAX_BYTES:
            _check_sum(sizes, rows)
        keys = files.enter_context(_Column(folder / "keys.npy", "<u8"))
        keys.append(known)
        count = len(known)
        del ids, known
        following.set_length(rows)
        for start, block in _next_accesses(objects, rows, count):
            following.write_at(start, block)
    return rows, count, notes


def _check_sum(sizes: _Column, rows: int) -> None:
    few = MAX_BYTES // MAX_SIZE
    if sum(int(sizes.read_at(start, min(few, rows - start)).sum()) for start in range(0, rows, few)) > MAX_BYTES:
        raise UserError("a trace of over 2^62 bytes in all: write its sizes in a larger unit, such as KiB")


def _completed(
    objects: _Column, sizes: _Column, times: _Column, rows: int, count: int, notes: NoteCounts
) -> tuple[int, npt.NDArray[np.uint64]]:
    """Give each request the size of its object, and leave out rows that are none and those of no size.

    Returns how many requests are left, and which objects, in order of their first request.
    """
    from vulcan_traces.kernels.numbering import fill_sizes

    taken = 0
    for starts in (range(0, rows, _BLOCK), reversed(range(0, rows, _BLOCK))):
        last = np.zeros(count, np.int64)
        for start in starts:
            block = slice(start, min(start + _BLOCK, rows))
            order = slice(None, None, 1 if isinstance(starts, range) else -1)
            some = sizes.read_at(start, block.stop - start)[order].copy()
            is_request = ~np.isnan(times.read_at(start, block.stop - start)[order])
            unknown = int((is_request & (some == 0)).sum())
            fill_sizes(np.ascontiguousarray(objects.read_at(start, block.stop - start)[order]), some, last)
            taken += unknown - int((is_request & (some == 0)).sum())
            sizes.write_at(start, some[order])
    ids = DenseIds()
    kept = left_out = 0
    for start in range(0, rows, _BLOCK):
        length = min(_BLOCK, rows - start)
        columns = [column.read_at(start, length) for column in (objects, sizes, times)]
        is_request = ~np.isnan(columns[2])
        keep = is_request & (columns[1] > 0)
        left_out += int((is_request & ~keep).sum())
        numbers = ids.number(columns[0][keep].astype(np.uint64))
        for column, values in zip((objects, sizes, times), (numbers, columns[1][keep], columns[2][keep]), strict=True):
            column.write_at(kept, values)
        kept += len(numbers)
    for column in (objects, sizes, times):
        column.set_length(kept)
    notes.update({(SIZE_FROM_OTHERS, ""): taken, (SIZE_UNKNOWN, ""): left_out})
    return kept, ids.keys.copy()


def _next_accesses(objects: _Column, requests: int, count: int) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
    """Blocks of the column with the number of their first request, from the last one on."""
    from vulcan_traces.kernels.numbering import link_next_accesses

    seen_at = np.full(count, -1, np.int64)
    for start in reversed(range(0, requests, _BLOCK)):
        block = objects.read_at(start, min(_BLOCK, requests - start))
        following = np.empty(len(block), np.int64)
        link_next_accesses(block, start, seen_at, following)
        yield start, following


class _Column:
    """An array on disk, in numpy's format (version 1.0), whose length is known only when it is closed."""

    def __init__(self, path: Path, code: str) -> None:
        self._type = np.dtype(code)
        self._file: BinaryIO = path.open("w+b")
        self._length = 0
        self._file.write(bytes(_HEADER_BYTES))

    def append(self, values: npt.NDArray[Any]) -> None:
        self._file.write(np.ascontiguousarray(values, self._type).data)
        self._length += len(values)

    def set_length(self, length: int) -> None:
        """Make the file as long as that many values are, of which none is there yet."""
        self._length = length
        self._file.truncate(_HEADER_BYTES + length * self._type.itemsize)

    def write_at(self, start: int, values: npt.NDArray[Any]) -> None:
        self._file.seek(_HEADER_BYTES + start * self._type.itemsize)
        self._file.write(np.ascontiguousarray(values, self._type).data)

    def read_at(self, start: int, count: int) -> npt.NDArray[Any]:
        self._file.seek(_HEADER_BYTES + start * self._type.itemsize)
        return np.frombuffer(self._file.read(count * self._type.itemsize), self._type)

    def __enter__(self) -> _Column:
        return self

    def __exit__(self, *_: object) -> None:
        """Close the files; a full disk is noticed here at the latest."""
        described = {"descr": self._type.str, "fortran_order": False, "shape": (self._length,)}
        with self._file:
            self._file.seek(0)
            np.lib.format.write_array_header_1_0(self._file, described)
