"""Trace of the requests that a cache served."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from vulcan_traces.notes import Note

_BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class Trace:
    """Trace as read-only columns, memory-mapped if it comes from the cache directory.

    `digest` is a sha256 in hex that identifies the content: of the source's bytes, the reader's options and
    the format version for a file, of the complete specification for a generated trace. `name` is only a
    label.

    Columns of shape (requests,):
    `objects` uint32, the dense id of the object, numbered from 0 in order of first appearance;
    `sizes` int64, bytes of this request (an object's size may change from one request to the next); `times` float64,
    seconds in the trace's own clock (the request's index where the source has no clock); `next_access` int64, the index
    of the next request for the same object, -1 where there is none.

    Column of shape (objects,):
    `keys` uint64, the original id of each dense id, or a 64-bit hash of it where it is text or composed.

    `notes` say what the reader made of the file.
    """

    name: str
    digest: str
    objects: npt.NDArray[np.uint32]
    sizes: npt.NDArray[np.int64]
    times: npt.NDArray[np.float64]
    next_access: npt.NDArray[np.int64]
    keys: npt.NDArray[np.uint64]
    notes: tuple[Note, ...] = ()

    @property
    def requests(self) -> int:
        """Number of requests."""
        return len(self.objects)

    @property
    def object_count(self) -> int:
        """Number of different objects."""
        return len(self.keys)

    @cached_property
    def footprint(self) -> int:
        """Bytes of all objects, each counted with the size at its first request."""
        total, seen = 0, 0
        for start in range(0, self.requests, _BLOCK):  # so many at a time that what is made of them takes little memory
            objects, sizes = self.objects[start : start + _BLOCK], self.sizes[start : start + _BLOCK]
            # ids come in order: a new object's is the number of those before it
            known = np.maximum.accumulate(objects.astype(np.int64) + 1)
            np.maximum(known, seen, out=known)
            total += int(sizes[np.diff(known, prepend=seen) > 0].sum())
            seen = int(known[-1])
        return total
