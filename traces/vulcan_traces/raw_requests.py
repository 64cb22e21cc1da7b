"""Requests as a reader or a generator yields them, before ids are made dense."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

MAX_SIZE = 2**32 - 1
"""Bytes of the largest request that a trace can hold."""


@dataclass(frozen=True, slots=True)
class RawRequests:
    """Columns of shape (requests,): `keys` identify objects, `sizes` are bytes, `times` seconds.

    `skipped_lines` counts the malformed lines (records, of a binary format) that were left out.
    """

    keys: npt.NDArray[np.uint64]
    sizes: npt.NDArray[np.uint32]
    times: npt.NDArray[np.float64]
    skipped_lines: int = 0


def join(parts: Iterable[RawRequests]) -> RawRequests:
    """Return the parts one after another, in memory."""
    parts = list(parts)
    empty = RawRequests(np.empty(0, np.uint64), np.empty(0, np.uint32), np.empty(0, np.float64))
    everything = parts or [empty]
    return RawRequests(
        np.concatenate([part.keys for part in everything]),
        np.concatenate([part.sizes for part in everything]),
        np.concatenate([part.times for part in everything]),
        sum(part.skipped_lines for part in parts),
    )


def without_clock(parts: Iterable[RawRequests]) -> Iterator[RawRequests]:
    """Yield the requests of a trace without a clock: the time of a request is its index in the trace."""
    before = 0
    for part in parts:
        count = len(part.keys)
        yield replace(part, times=np.arange(before, before + count, dtype=np.float64))
        before += count


def unit_requests(keys: npt.NDArray[np.uint64], skipped_lines: int = 0) -> RawRequests:
    """Requests of size 1 in a trace without a clock: the time of a request is its index."""
    return RawRequests(keys, np.ones(len(keys), np.uint32), np.arange(len(keys), dtype=np.float64), skipped_lines)
