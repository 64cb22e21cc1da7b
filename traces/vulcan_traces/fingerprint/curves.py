"""Miss-ratio curves of a trace, or of a sample of its objects."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from vulcan_traces.fingerprint.fingerprint import SHARES, Curve
from vulcan_traces.fingerprint.log_histogram import BUCKETS, LogHistogram

ENOUGH_TO_SIMULATE_ALL = 9
"""From so many capacities on, simulating the others too is quicker than distances in bytes (65 ns a request against 8
each)."""

Objects = npt.NDArray[np.uint32]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sample:
    """Requests for some of a trace's objects.

    `objects` (dense ids) and `sizes` are of shape (requests,); `object_sizes`, of shape (objects,), is the size of
    each object's first request. `part` of the objects, and `byte_part` of their bytes, are in it. `requests` and
    `requested_bytes` are those that so large a part should have: divided by them, what the sample missed is not biased
    by the most popular objects being in it or not. `footprint` is that of the whole trace.
    """

    objects: Objects
    sizes: Counts
    object_sizes: Counts
    requests: float
    requested_bytes: float
    footprint: int
    part: float = 1.0
    byte_part: float = 1.0


def measure_curves(sample: Sample, object_count: int) -> tuple[tuple[Curve, ...], LogHistogram]:
    """LRU by objects and by bytes; and the reuse distances, in objects of the whole trace."""
    from vulcan_traces.fingerprint.kernels import lru_curve

    unit_sized = bool(np.all(sample.sizes == 1))
    capacities = [max(1, int(share * object_count)) for share in SHARES]
    byte_capacities = [int(share * sample.footprint) for share in SHARES]
    scaled = _scaled(capacities, sample.part, at_least=1)
    byte_scaled = _scaled(byte_capacities, sample.byte_part, at_least=0)
    sampled = len(sample.object_sizes)
    simulated = [] if unit_sized else _better_simulated(sample, byte_capacities)
    by_distance = len(simulated) < len(SHARES) and not unit_sized
    known = np.zeros(BUCKETS, np.int64)
    hits = np.zeros((4, len(SHARES)), np.int64)
    lru_curve.reuse_distances(
        sample.objects,
        sample.sizes,
        sample.object_sizes,
        scaled,
        byte_scaled if by_distance else byte_scaled[:0],
        lru_curve.places_for(sampled),
        known,
        hits,
    )
    if sample.part < 1.0:
        surplus = round(sample.requests) - len(sample.objects)
        known = _stretched(_with_more_of_the_smallest(known, surplus), sample.part)
    distances = LogHistogram(known)

    total, total_bytes = len(sample.objects), int(sample.sizes.sum(dtype=np.int64))

    def curve(unit: str, limits: list[int], hits: Counts) -> Curve:
        ratios = _ratios(total - hits[0], sample.requests), _ratios(total_bytes - hits[1], sample.requested_bytes)
        return Curve(unit, tuple(limits), *ratios)

    by_objects = curve("objects", capacities, hits[:2])
    if unit_sized:
        return (by_objects, replace(by_objects, unit="bytes")), distances
    for place in simulated:
        limits = int(byte_scaled[place]), byte_capacities[place]
        hits[2:, place] = lru_curve.simulate_lru(sample.objects, sample.sizes, sampled, *limits)
    return (by_objects, curve("bytes", byte_capacities, hits[2:])), distances


def _ratios(missed: Counts, expected: float) -> tuple[float, ...]:
    return tuple(min(1.0, float(each) / expected) if expected else 0.0 for each in missed)


def _better_simulated(sample: Sample, capacities: list[int]) -> list[int]:
    """Return the places of the capacities for which LRU by bytes is simulated, and not read from distances.

    They are those below the largest request, which passes such a cache by: for a distance every object takes its place.
    Where they are many it is quicker to simulate all.
    """
    largest = int(sample.sizes.max())
    places = [place for place, capacity in enumerate(capacities) if capacity < largest]
    return places if len(places) < ENOUGH_TO_SIMULATE_ALL else list(range(len(capacities)))


def _scaled(capacities: list[int], part: float, at_least: int) -> Counts:
    return np.array([max(at_least, round(capacity * part)) for capacity in capacities], np.int64)


def _with_more_of_the_smallest(counts: Counts, more: int) -> Counts:
    """So many more distances of 0, or if negative this many less of the smallest.

    What a sample has too few or too many of are requests for the most popular objects, whose distances are short.
    """
    if more >= 0:
        changed = counts.copy()
        changed[0] += more
        return changed
    left = np.maximum(np.cumsum(counts) + more, 0)
    return np.diff(left, prepend=0)


def _stretched(counts: Counts, part: float) -> Counts:
    """Return the histogram with each number divided by `part`, as distances within a sample stand for longer ones."""
    from vulcan_traces.fingerprint.log_histogram import buckets_of, middles

    stretched = np.zeros(BUCKETS, np.int64)
    held = np.flatnonzero(counts)
    np.add.at(stretched, buckets_of(np.rint(middles()[held] / part)), counts[held])
    return stretched
