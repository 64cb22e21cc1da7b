"""Streaming writer of a trace's columns, so that no column has to fit into memory."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from vulcan_traces.raw_requests import RawRequests
from vulcan_traces.storage.dense_ids import DenseIds

_HEADER_BYTES = 128
_BLOCK = 1 << 20
"""Requests at a time, on the way back from the end."""


def write_columns(folder: Path, parts: Iterable[RawRequests]) -> Mapping[str, int]:
    """Write `objects`, `sizes`, `times`, `next_access` and `keys` of a trace as `.npy` files: see `Trace` for each.

    Gives the numbers of `requests`, `objects` and `skipped_lines`. In memory there is one part at a time, and up to 40
    bytes for each different object.
    """
    ids = DenseIds()
    requests = skipped = 0
    with ExitStack() as files:
        objects, sizes, times, following = (
            files.enter_context(_Column(folder / f"{name}.npy", code))
            for name, code in (("objects", "<u4"), ("sizes", "<u4"), ("times", "<f8"), ("next_access", "<i8"))
        )
        for part in parts:
            objects.append(ids.number(part.keys))
            sizes.append(part.sizes)
            times.append(part.times)
            requests += len(part.keys)
            skipped += part.skipped_lines
        keys = files.enter_context(_Column(folder / "keys.npy", "<u8"))
        keys.append(ids.keys)
        count = ids.count
        del ids
        following.set_length(requests)
        for start, block in _next_accesses(objects, requests, count):
            following.write_at(start, block)
    return {"requests": requests, "objects": count, "skipped_lines": skipped}


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
        described = f"{{'descr': {self._type.str!r}, 'fortran_order': False, 'shape': ({self._length},), }}"
        magic = b"\x93NUMPY\x01\x00"
        room = _HEADER_BYTES - len(magic) - 2
        with self._file:
            self._file.seek(0)
            self._file.write(magic + struct.pack("<H", room) + described.ljust(room - 1).encode() + b"\n")
