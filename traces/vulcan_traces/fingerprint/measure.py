"""Computation of a trace's fingerprint."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from vulcan.errors import UserError
from vulcan_traces.fingerprint.fingerprint import QUANTILES, Distribution, Fingerprint
from vulcan_traces.request_trace import Trace

Numbers = npt.NDArray[np.integer]

# Popularity skew: how unequally requests are distributed over objects.

MAX_EXPONENT = 8.0
_RANKS_ONE_BY_ONE = 1024
_BLOCK = 1.0 + 1.0 / 128.0
"""Ranks above the first 1,024 are summed in blocks as wide as 1/128 of their rank: an error below 1e-5."""

_HALVINGS = 32


class Popularity(NamedTuple):
    """See the fields of the same names in `Fingerprint`."""

    zipf_exponent: float
    top_percent_share: float
    top_tenth_share: float
    one_hit_share: float


def popularity(counts: npt.NDArray[np.integer]) -> Popularity:
    """Measure popularity from the requests of each object, `counts` of shape (objects,), all at least 1.

    The exponent is the maximum-likelihood one of a Zipf law over as many ranks as there are objects, the objects
    ranked by their counts: the a at which the mean of ln(rank) over the requests is what the law expects. Equal counts
    take their ranks in any order, for only the sum over them is used. 0 where all counts are equal. The ranking is that
    of the trace itself, so that a trace with few requests per object seems more skewed than what it was drawn from.
    """
    sizes = np.bincount(counts)
    distinct = np.flatnonzero(sizes)[::-1]
    members = sizes[distinct]
    through = np.cumsum(members)
    objects, requests = int(through[-1]), int((distinct * members).sum())
    log_ranks = np.array([math.lgamma(rank + 1) for rank in (0, *through.tolist())])
    mean_log_rank = float((distinct * np.diff(log_ranks)).sum()) / requests
    requests_through = np.cumsum(distinct * members)

    def share_of_top(ranks: int) -> float:
        group = int(np.searchsorted(through, ranks))
        inside = int(requests_through[group]) - int(distinct[group]) * int(through[group] - ranks)
        return inside / requests

    ranks, widths = _rank_blocks(objects)
    exponent = 0.0 if len(distinct) == 1 else _fitted(ranks, widths, mean_log_rank)
    return Popularity(
        exponent,
        share_of_top(max(1, round(objects / 100))),
        share_of_top(max(1, round(objects / 10))),
        float(members[distinct == 1].sum()) / objects,
    )


def _rank_blocks(objects: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Middle and width of blocks of ranks that together are the ranks 1 to `objects`."""
    edges = [float(rank) for rank in range(min(objects, _RANKS_ONE_BY_ONE) + 1)]
    while edges[-1] < objects:
        edges.append(min(float(objects), math.floor(edges[-1] * _BLOCK)))
    bounds = np.array(edges)
    return (bounds[1:] + bounds[:-1] + 1) / 2, np.diff(bounds)


def _fitted(ranks: npt.NDArray[np.float64], widths: npt.NDArray[np.float64], mean_log_rank: float) -> float:
    """Return the exponent at which a Zipf law expects that mean of ln(rank), by bisection: the mean falls with it."""
    log_ranks = np.log(ranks)
    low, high = 0.0, MAX_EXPONENT
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        weights = widths * np.exp(-middle * log_ranks)
        if float(weights @ log_ranks) / float(weights.sum()) > mean_log_rank:
            low = middle
        else:
            high = middle
    return (low + high) / 2


EXACT_REQUESTS = 2**18
"""Maximum number of requests that are processed without sampling."""

SAMPLED_OBJECTS = 2**16
"""About this many objects are sampled of a longer trace; one with no more objects is not sampled."""

MIN_FOR_DRIFT = 64

CORRELATED_OBJECTS = 2**13
"""Rank correlations are over at most this many objects, at equal distances in order of first appearance."""


def fingerprint(
    trace: Trace,
    *,
    first: int | None = None,
    exact_requests: int = EXACT_REQUESTS,
    sampled_objects: int = SAMPLED_OBJECTS,
) -> Fingerprint:
    """Return the fingerprint of a trace, or of its `first` requests.

    Reuse distances are exact up to `exact_requests` requests or `sampled_objects` objects; of a longer trace they are
    those of about `sampled_objects` objects, chosen by a hash of their id (SHARDS: Waldspurger et al., FAST 2015, with
    its correction for the requests that the sample has too few or too many). All else is of every request. Raises
    UserError where `first` is below 1.
    """
    from vulcan_traces.fingerprint.kernels import one_pass

    if first is not None and first < 1:
        raise UserError(f"a fingerprint of the first {first} requests: at least 1 is needed")
    requests = min(trace.requests, trace.requests if first is None else first)
    objects, sizes = np.asarray(trace.objects)[:requests], np.asarray(trace.sizes)[:requests]
    times = np.asarray(trace.times)[:requests]
    object_count = trace.object_count if requests == trace.requests else int(objects.max()) + 1
    keys = np.asarray(trace.keys)[:object_count]
    records: npt.NDArray[Any] = np.zeros(object_count, one_pass.RECORD)
    totals = np.zeros(1, one_pass.TOTALS)
    parts = np.zeros((3, one_pass.PARTS))
    one_pass.observe(objects, sizes, keys, records, totals, parts)

    total = {name: int(totals[name][0]) for name in one_pass.TOTALS.names or ()}
    if requests <= exact_requests or object_count <= sampled_objects:
        distances, sampled = _distances(objects, object_count), 1.0
    else:
        distances, sampled = _sampled_distances(objects, keys, sampled_objects)
    first_sizes, counts = records["first_size"].copy(), records["count"].copy()
    size_mean, size_deviation = float(first_sizes.mean(dtype=np.float64)), float(first_sizes.std(dtype=np.float64))
    has_clock = bool((times != np.arange(requests)).any())
    duration = float(times.max() - times.min()) if has_clock else None
    drift, drift_from_start = _drift(parts, requests)
    return Fingerprint(
        requests=requests,
        objects=object_count,
        footprint=total["footprint"],
        requested_bytes=total["requested_bytes"],
        duration=duration,
        request_rate=requests / duration if duration else None,
        cold_share=object_count / requests,
        **popularity(counts)._asdict(),
        reuse_distances=_distribution(distances),
        object_sizes=_distribution(first_sizes.copy()),
        size_mean=size_mean,
        size_variation=size_deviation / size_mean if size_mean else 0.0,
        size_correlation=_rank_correlation(first_sizes, counts),
        late_cold_share=total["late_cold"] / (requests - requests // 2),
        sequence_share=total["in_sequences"] / requests,
        scan_share=total["in_cold_runs"] / requests,
        loop_share=total["in_loops"] / requests,
        drift=drift,
        drift_from_start=drift_from_start,
        sample_rate=sampled,
    )


def _distances(objects: npt.NDArray[np.uint32], object_count: int) -> Numbers:
    """Return the reuse distances, in order of the requests."""
    from vulcan_traces.fingerprint.kernels import reuse

    found = np.empty(len(objects), np.uint32)
    return found[: reuse.reuse_distances(objects, object_count, found)]


def _sampled_distances(
    objects: npt.NDArray[np.uint32], keys: npt.NDArray[np.uint64], sampled: int
) -> tuple[Numbers, float]:
    """Return the trace's reuse distances as those of about `sampled` objects tell them, and the part that these are.

    What the sample has too few or too many of are requests for the most popular objects, whose distances are short: so
    many distances of 0 are added, or this many of the smallest left out. Each then stands for a longer one.
    """
    from vulcan_traces.kernels.text import combine_all

    threshold = np.uint64(sampled / len(keys) * (2**64 - 1))
    is_sampled = combine_all(np.zeros(len(keys), np.uint64), keys) < threshold
    count = int(is_sampled.sum())
    if not count:
        return _distances(objects, len(keys)), 1.0
    numbers = np.cumsum(is_sampled, dtype=np.uint32) - np.uint32(1)
    sample = numbers[objects[is_sampled[objects]]]
    found, part = np.sort(_distances(sample, count)), count / len(keys)
    surplus = round(len(objects) * part) - len(sample)
    found = np.concatenate([np.zeros(max(surplus, 0), np.uint32), found[max(-surplus, 0) :]])
    return np.rint(found / part).astype(np.int64), part


def _distribution(numbers: Numbers) -> Distribution:
    """Return the distribution of the numbers, which are sorted in their place."""
    if not len(numbers):
        return Distribution(0, (), ())
    numbers.sort()
    places = (max(1, math.ceil(share * len(numbers))) - 1 for share in QUANTILES)
    starts = [0, *(1 << exponent for exponent in range(int(numbers[-1]).bit_length()))]
    below = [*np.searchsorted(numbers, np.array(starts, numbers.dtype)).tolist(), len(numbers)]
    octaves = (
        (start, max(0, 2 * start - 1), (after - before) / len(numbers))
        for start, before, after in zip(starts, below, below[1:], strict=False)
        if after > before
    )
    return Distribution(len(numbers), tuple(int(numbers[place]) for place in places), tuple(octaves))


def _drift(parts: npt.NDArray[np.float64], requests: int) -> tuple[float, float]:
    """1 - Morisita's index of overlap, of neighbouring parts (mean) and of the first and the last.

    The index compares the chance that requests from two parts are for the same object with the chance that two of one
    part are (Morisita, Measuring of Interspecific Association, 1959). Unlike the shares that two parts have in common
    it does not fall only because parts are short. It may exceed 1 by chance, and is then taken for 1. Where no object
    comes twice within a part it is undefined, and taken for 0 where the parts have nothing in common and else for 1.
    Fewer than 64 requests tell nothing: their drift is 0.
    """
    count = parts.shape[1]
    bounds = [number * requests // count for number in range(count + 1)]
    lengths = [end - start for start, end in pairwise(bounds)]
    if requests < MIN_FOR_DRIFT:
        return 0.0, 0.0

    def drifted(one: int, other: int, products: float) -> float:
        a, b = lengths[one], lengths[other]
        within: float = sum(
            float(parts[0, number]) / (length * (length - 1)) for number, length in ((one, a), (other, b))
        )
        if not within:
            return 0.0 if products else 1.0
        overlap: float = 2.0 * products / (within * a * b)
        return 1.0 - min(1.0, overlap)

    steps = [drifted(number - 1, number, float(parts[1, number])) for number in range(1, count)]
    return sum(steps) / len(steps), drifted(0, count - 1, float(parts[2, count - 1]))


def _rank_correlation(sizes: npt.NDArray[np.int64], counts: npt.NDArray[np.uint32]) -> float | None:
    """Spearman's, equal values having the mean of their ranks; None where either is the same for all."""
    if (sizes == sizes[0]).all():
        return None
    step = -(-len(sizes) // CORRELATED_OBJECTS)
    one, other = _ranks(sizes[::step]), _ranks(counts[::step])
    spread = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / spread if spread else None


def _ranks(values: npt.NDArray[np.integer]) -> npt.NDArray[np.float64]:
    """Ranks less their mean."""
    _, group, members = np.unique(values, return_inverse=True, return_counts=True)
    middle = np.cumsum(members) - (members - 1) / 2
    ranks: npt.NDArray[np.float64] = middle[group] - (len(values) + 1) / 2
    return ranks
