"""Requests as a reader or a generator yields them, before ids are made dense."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from vulcan_traces.notes import OVERLAP, NoteCounts

MAX_SIZE = 2**48
"""Bytes of the largest request that a trace can hold (256 TiB)."""

MAX_BYTES = 2**62
"""Bytes that the requests of a trace may have in all: sums of them fit 64 bits."""

_AT_A_TIME = 1 << 20


@dataclass(frozen=True, slots=True)
class RawRequests:
    """Columns of shape (rows,): `keys` identify objects, `sizes` are bytes (0: unknown), `times` seconds.

    A row whose time is NaN is no request, and only says what size its object has. `notes` has counts of what is to be
    said of them; `lines` how many lines or records they were read from, malformed ones too, if not one for each row.
    """

    keys: npt.NDArray[np.uint64]
    sizes: npt.NDArray[np.int64]
    times: npt.NDArray[np.float64]
    notes: NoteCounts = field(default_factory=NoteCounts)
    lines: int | None = None


def without_clock(parts: Iterable[RawRequests]) -> Iterator[RawRequests]:
    """Yield the requests of a trace without a clock: the time of a request is its index in the trace."""
    before = 0
    for part in parts:
        is_request = ~np.isnan(part.times)
        index = before + np.cumsum(is_request, dtype=np.float64) - 1
        yield replace(part, times=np.where(is_request, index, np.nan))
        before += int(is_request.sum())


def noted(parts: Iterable[RawRequests], notes: NoteCounts) -> Iterator[RawRequests]:
    """Yield the parts, with more notes."""
    for number, part in enumerate(parts):
        yield part if number else replace(part, notes=part.notes + notes)


def expanded(
    requests: RawRequests, counts: npt.NDArray[np.int64], volumes: npt.NDArray[np.uint64] | None, *, ranges: bool
) -> Iterator[RawRequests]:
    """Yield each row as often as counted, a bounded number at a time; a count of 0 keeps it, as no request.

    With `ranges` those are consecutive keys, and each is combined with its volume, if there is one.
    """
    ends = np.cumsum(np.maximum(counts, 1))
    done = 0
    while done < len(ends):
        before = int(ends[done - 1]) if done else 0
        stop = max(done + 1, int(np.searchsorted(ends, before + _AT_A_TIME, "right")))
        rows = slice(done, stop)
        repeats = np.maximum(counts[rows], 1)
        keys = np.repeat(requests.keys[rows], repeats)
        if ranges:
            keys = keys + (np.arange(len(keys)) - np.repeat(np.cumsum(repeats) - repeats, repeats)).astype(np.uint64)
            if volumes is not None:
                from vulcan_traces.kernels.text import combine_all

                keys = combine_all(np.repeat(volumes[rows], repeats), keys)
        times = np.repeat(np.where(counts[rows] > 0, requests.times[rows], np.nan), repeats)
        of_all = (requests.notes, requests.lines) if done == 0 else (NoteCounts(), 0)
        yield RawRequests(keys, np.repeat(requests.sizes[rows], repeats), times, *of_all)
        done = stop
    if not len(ends):
        yield requests


def in_pages(parts: Iterable[RawRequests], unit: int, page: int) -> Iterator[RawRequests]:
    """Yield the requests for each page that those of a block trace touch, whose keys count in `unit` bytes.

    Without a page size they stay as they are, and a note says how many of the first part overlap.
    """
    for number, part in enumerate(parts):
        starts, sizes = part.keys * np.uint64(unit), part.sizes
        if page:
            firsts = starts // np.uint64(page)
            lasts = (starts + np.maximum(sizes, 1).astype(np.uint64) - np.uint64(1)) // np.uint64(page)
            pages = replace(part, keys=firsts, sizes=np.full_like(sizes, page))
            yield from expanded(pages, (lasts - firsts).astype(np.int64) + 1, None, ranges=True)
        elif number == 0:
            overlaps = overlapping(starts, sizes, np.zeros(len(starts), np.uint64))
            yield replace(part, notes=part.notes + NoteCounts({(OVERLAP, ""): overlaps}))
        else:
            yield part


def overlapping(starts: npt.NDArray[np.uint64], sizes: npt.NDArray[np.int64], volumes: npt.NDArray[np.uint64]) -> int:
    """Return how many of these ranges of bytes overlap one of their volume that begins elsewhere."""
    if not len(starts):
        return 0
    numbers = np.unique(volumes, return_inverse=True)[1].astype(np.int64)
    span = float(starts.max()) + float(sizes.max()) + 1
    if span * (int(numbers.max()) + 1) >= 2.0**62:  # no disks: whatever these numbers are, they are no positions
        return 0
    places = starts.astype(np.int64) + numbers * int(span)
    distinct, which, counts = np.unique(places, return_inverse=True, return_counts=True)
    ends = np.zeros(len(distinct), np.int64)
    np.maximum.at(ends, which, places + sizes)
    reached = np.maximum.accumulate(ends)
    overlaps = np.zeros(len(distinct), np.bool_)
    overlaps[1:] = reached[:-1] > distinct[1:]
    overlaps[:-1] |= ends[:-1] > distinct[1:]
    return int(counts[overlaps].sum())
