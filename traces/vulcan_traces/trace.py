"""A trace: the sequence of requests that a cache saw."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from vulcan.errors import UserError
from vulcan_traces.raw_requests import RawRequests


@dataclass(frozen=True, eq=False)
class Trace:
    """A request sequence as read-only columns, memory-mapped where it comes from the cache directory.

    `digest` is a sha256 in hex that identifies the content: of the source's bytes, the reader's options and
    the format version for a file, of the complete specification for a generated trace. `name` is only a
    label.

    Columns of shape (requests,):
    `objects` uint32, the dense id of the object, numbered from 0 in order of first appearance;
    `sizes` uint32, bytes of this request (an object's size may change from one request to the next; 0 is
    kept); `times` float64, seconds in the trace's own clock (the request's index where the source has no
    clock); `next_access` int64, the index of the next request for the same object, -1 where there is none.

    Column of shape (objects,):
    `keys` uint64, the original id of each dense id, or a 64-bit hash of it where it is text or composed.

    `skipped_lines` counts malformed lines that were left out on request.
    """

    name: str
    digest: str
    objects: npt.NDArray[np.uint32]
    sizes: npt.NDArray[np.uint32]
    times: npt.NDArray[np.float64]
    next_access: npt.NDArray[np.int64]
    keys: npt.NDArray[np.uint64]
    skipped_lines: int = 0

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
        newest = np.maximum.accumulate(self.objects)
        first = np.empty(len(newest), np.bool_)
        first[:1] = True
        np.greater(newest[1:], newest[:-1], out=first[1:])
        return int(self.sizes[first].sum(dtype=np.uint64))

    @cached_property
    def unit_sized(self) -> bool:
        """Whether every request has size 1."""
        return bool(np.all(self.sizes == 1))


def build_trace(name: str, digest: str, raw: RawRequests) -> Trace:
    """A trace in memory from a reader's or a generator's columns. Raises UserError where there is no
    request."""
    if not len(raw.keys):
        skipped = f" ({raw.skipped_lines} malformed lines were skipped)" if raw.skipped_lines else ""
        raise UserError(f"{name}: the trace holds no request{skipped}")
    objects, keys = dense_ids(raw.keys)
    columns = (objects, raw.sizes, raw.times, next_accesses(objects, len(keys)), keys)
    for column in columns:
        column.flags.writeable = False
    return Trace(name, digest, *columns, skipped_lines=raw.skipped_lines)


def dense_ids(keys: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64]]:
    """Numbers keys from 0 in order of first appearance: the number of each request, the key of each
    number."""
    import pandas as pd  # slow to import, and needed only where a trace is not in the cache yet

    codes, uniques = pd.factorize(keys)
    if len(uniques) >= 2**32:
        raise UserError(f"a trace of {len(uniques)} objects: at most 2^32 - 1 can be told apart")
    return codes.astype(np.uint32), np.ascontiguousarray(uniques, np.uint64)


def next_accesses(objects: npt.NDArray[np.uint32], object_count: int) -> npt.NDArray[np.int64]:
    """For each request the index of the next one for the same object, -1 for none; shape (requests,)."""
    from vulcan_traces.kernels import link_next_accesses

    result: npt.NDArray[np.int64] = link_next_accesses(objects, object_count)
    return result
