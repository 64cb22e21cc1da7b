"""The runs of an environment: at which ticks of which traces a job begins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vulcan.errors import UserError
from vulcan_spot.job import SECONDS
from vulcan_traces.spot import SpotTrace, load_spot

Place = tuple[int, int, int]
"""A window: the trace's index, its first tick and the one after its last."""

Regions = tuple[tuple[SpotTrace, ...], ...]
"""The traces of each region: one trace, which is cut into windows, or several, which are windows."""

BETWEEN_REGIONS = "::"
"""Stands between the regions of an environment in a setting."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Availability, and of its windows the first tick and the one after the last, of shape (windows,).

    `gap` is that of a tick, s. Availability has the shape (ticks,), or (regions, ticks) where there are several.
    `prices`, of shape (regions, ticks), are dollars an hour on spot; None where it costs the same everywhere.
    """

    gap: int
    available: NDArray[np.uint8]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    prices: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, traces: Sequence[SpotTrace], places: Sequence[Place]) -> Windows:
        """Those of some traces of one gap."""
        return cls._joined(traces[0].gap, [trace.available for trace in traces], places)

    @classmethod
    def of_regions(
        cls, regions: Sequence[Sequence[SpotTrace]], places: Sequence[Place], priced: bool = False
    ) -> Windows:
        """Those of the regions' traces: each region has equally many, and the i-th of all are of the same time.

        With `priced` they have the prices of the traces, each of which needs some.
        """
        columns, prices = [], []
        for together in zip(*regions, strict=True):
            ticks = min(trace.ticks for trace in together)
            columns.append(np.stack([trace.available[:ticks] for trace in together]))
            if priced:
                prices.append(np.stack([trace.prices[:ticks] for trace in together if trace.prices is not None]))
        windows = cls._joined(regions[0][0].gap, columns, places)
        return replace(windows, prices=np.ascontiguousarray(np.concatenate(prices, axis=1))) if priced else windows

    @classmethod
    def _joined(cls, gap: int, columns: Sequence[NDArray[np.uint8]], places: Sequence[Place]) -> Windows:
        offsets = np.cumsum([0, *(column.shape[-1] for column in columns)])
        return cls(
            gap,
            np.ascontiguousarray(np.concatenate(columns, axis=-1)),
            np.array([offsets[trace] + begin for trace, begin, _ in places], dtype=np.int64),
            np.array([offsets[trace] + end for trace, _, end in places], dtype=np.int64),
        )


def load_regions(spec: str, meaning: str | None, nodes: int) -> Regions:
    """Return the traces of each region: of a directory each file, of specifications with `::` between them each one.

    Raises UserError where the regions' traces do not go together.
    """
    specs = [part.strip() for part in spec.split(BETWEEN_REGIONS)]
    loaded = [load_spot(part, meaning=meaning, nodes=nodes) for part in specs]
    regions = tuple((trace,) for trace in loaded[0]) if len(loaded) == 1 else tuple(loaded)
    gaps = sorted({trace.gap for traces in regions for trace in traces})
    if len(gaps) > 1:
        raise UserError(f"{spec}: ticks of {' and '.join(map(str, gaps))} seconds; regions need the same")
    counts = sorted({len(traces) for traces in regions})
    if len(counts) > 1:
        raise UserError(f"{spec}: {' and '.join(map(str, counts))} windows; each region needs as many as the others")
    return regions


def apart(places: Sequence[Place], count: int) -> list[tuple[Place, ...]]:
    """Return at most `count` sets of windows that share no time, in its order.

    Windows of several traces are divided among them. Those of one trace are moved apart: the trace is cut into so many
    stretches that the shortest window fits into each, which has its share of the windows at regular intervals.
    """
    ordered = sorted(places)
    trace, first, _ = ordered[0]
    if ordered[-1][0] != trace:
        count = min(count, len(ordered))
        return [tuple(ordered[len(ordered) * n // count : len(ordered) * (n + 1) // count]) for n in range(count)]
    last, ticks = max(end for _, _, end in ordered), min(end - begin for _, begin, end in ordered)
    count = min(count, (last - first) // ticks)
    share = max(1, len(ordered) // count)
    edges = [first + (last - first) * n // count for n in range(count + 1)]
    return [
        tuple(dict.fromkeys((trace, start + (stop - start - ticks) * k // share, stop) for k in range(share)))
        for start, stop in pairwise(edges)
    ]


def places_of(
    traces: Sequence[SpotTrace], seconds: int, count: int, low: float, high: float, spec: str
) -> tuple[Place, ...]:
    """`count` windows of at least this many seconds, from the part of the time between the shares `low` and `high`.

    One trace is cut: the windows begin at regular intervals, and reach to the part's end, where a job that is late may
    still run. Several traces are windows already: what lies of each within the part, by its place in the trace it was
    cut from, is taken if it is long enough; where that place is not known they are divided by order. Of more than
    `count` of them, ones at regular intervals are taken. Raises UserError where there is none.
    """
    gap = traces[0].gap
    if any(trace.gap != gap for trace in traces):
        raise UserError(f"{spec}: traces of different gaps cannot be windows of one environment")
    needed = -(-seconds // gap)
    inside = [(i, begin, end) for i, begin, end in _parts(traces, low, high) if end - begin >= needed]
    if not inside:
        raise _too_short(spec, room(traces, low, high), seconds, high - low)
    if len(traces) == 1:
        ((_, first, last),) = inside
        return tuple((0, begin, last) for begin in regular(first, last - needed, count))
    return tuple(inside[i] for i in regular(0, len(inside) - 1, min(count, len(inside))))


def room(traces: Sequence[SpotTrace], low: float, high: float) -> int:
    """Return the seconds of the longest window in the part of the time between two shares."""
    return max((end - begin for _, begin, end in _parts(traces, low, high)), default=0) * traces[0].gap


def regular(first: int, last: int, count: int) -> list[int]:
    """So many whole numbers from first to last, at intervals as equal as can be; in the middle if it is one."""
    if count == 1:
        return [(first + last) // 2]
    return [first + round(i * (last - first) / (count - 1)) for i in range(count)]


def _parts(traces: Sequence[SpotTrace], low: float, high: float) -> list[Place]:
    """Return the section of each trace within the part, if any."""
    if len(traces) == 1:
        return [(0, round(low * traces[0].ticks), round(high * traces[0].ticks))]
    whole = [(i, 0, trace.ticks) for i, trace in enumerate(traces)]
    if low <= 0.0 and high >= 1.0:
        return whole
    starts = [trace.start for trace in traces if trace.start is not None]
    if len(starts) < len(traces):
        return whole[round(low * len(traces)) : round(high * len(traces))]
    begin, end = min(starts), max(start + trace.ticks for start, trace in zip(starts, traces, strict=True))
    first, last = (begin + round(share * (end - begin)) for share in (low, high))
    found = [(i, max(0, first - starts[i]), min(ticks, last - starts[i])) for i, _, ticks in whole]
    return [(i, first_tick, end_tick) for i, first_tick, end_tick in found if first_tick < end_tick]


def _too_short(spec: str, seconds: int, needed: int, share: float) -> UserError:
    part = "" if share >= 1.0 else f" in the {share:.0%} of it that a split has"
    mend = "" if share >= 1.0 else ", or --split none"
    return UserError(
        f"{spec}: no window of {needed / SECONDS:g} h, the longest deadline, fits into {seconds / SECONDS:.0f} h"
        f"{part}; use a longer trace, a shorter deadline{mend}"
    )
