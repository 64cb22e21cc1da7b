"""Seeded generators of request sequences: pure functions that return the object number of each request.

All take their randomness from a `numpy.random.Generator` that is passed in. Object numbers are int64 of shape
(requests,), in a space of the generator's own that starts at 0.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vulcan_traces.raw_requests import MAX_SIZE

Objects = npt.NDArray[np.int64]


def zipf_probabilities(objects: int, alpha: float) -> npt.NDArray[np.float64]:
    """Return the independent reference model of Breslau et al. (INFOCOM 1999): the i-th most popular has 1 /
    i^alpha.

    Shape (objects,), falling, adds up to 1. `alpha` 0 is the uniform distribution.
    """
    weights = np.arange(1, objects + 1, dtype=np.float64) ** -alpha
    return np.asarray(weights / weights.sum())


def zipf_ranks(rng: np.random.Generator, requests: int, objects: int, alpha: float) -> Objects:
    """Popularity ranks, from 0, of independent requests."""
    cumulative = np.cumsum(zipf_probabilities(objects, alpha))
    ranks = np.searchsorted(cumulative, rng.random(requests), side="right")
    return np.minimum(ranks, objects - 1)  # the sum may end a rounding below 1


def loop(requests: int, objects: int) -> Objects:
    """Return the same objects in the same order, over and over: what LRU is worst at."""
    return np.arange(requests, dtype=np.int64) % objects


def scans(rng: np.random.Generator, requests: int, objects: int, length: int) -> Objects:
    """Sequential scans of `length` objects, each from a place that is uniformly random among `objects`."""
    starts = rng.integers(0, objects, -(-requests // length))
    runs = starts[:, None] + np.arange(length)
    return np.asarray(runs.reshape(-1)[:requests] % objects)


def drifting_ranks(
    rng: np.random.Generator, requests: int, objects: int, *, alpha: float, period: int, churn: float
) -> Objects:
    """Zipf popularity whose holders change: every `period` requests a share `churn` of the ranks, redrawn
    each time, exchange their objects among each other."""
    ranks = zipf_ranks(rng, requests, objects, alpha)
    holder = np.arange(objects)
    moving = round(churn * objects)
    result = np.empty(requests, np.int64)
    for start in range(0, requests, period):
        result[start : start + period] = holder[ranks[start : start + period]]
        ranks_to_move = rng.permutation(objects)[:moving]
        holder[ranks_to_move] = holder[rng.permutation(ranks_to_move)]
    return result


def interleave(kinds: npt.NDArray[np.int64], parts: list[Objects]) -> Objects:
    """Interleave sequences: request i is the next one of parts[kinds[i]]. The parts' object spaces are disjoint.

    parts[k] must have as many requests as `kinds` has k.
    """
    result = np.empty(len(kinds), np.int64)
    offset = 0
    for kind, part in enumerate(parts):
        result[kinds == kind] = part + offset
        offset += int(part.max()) + 1 if len(part) else 0
    return result


def burst_kinds(
    rng: np.random.Generator, requests: int, shares: list[float], burst_lengths: list[int]
) -> npt.NDArray[np.int64]:
    """Assign each request to one of several activities. Activities alternate in bursts of their burst
    length, drawn so that each has its share of the requests (shares add up to 1)."""
    weights = np.array(shares) / np.array(burst_lengths)
    cumulative = np.cumsum(weights / weights.sum())
    mean_length = float(1 / weights.sum())
    pieces: list[npt.NDArray[np.int64]] = []
    drawn = 0
    while drawn < requests:
        count = int((requests - drawn) / mean_length) + 16
        kinds = np.minimum(np.searchsorted(cumulative, rng.random(count), side="right"), len(shares) - 1)
        pieces.append(np.repeat(kinds, np.array(burst_lengths)[kinds]))
        drawn += len(pieces[-1])
    return np.concatenate(pieces)[:requests]


def arrival_times(rng: np.random.Generator, requests: int, rate: float) -> npt.NDArray[np.float64]:
    """Seconds of Poisson arrivals at `rate` requests per second, shape (requests,)."""
    return np.cumsum(rng.standard_exponential(requests)) / rate


# Object sizes of generated traces, independent of popularity or correlated with it.

Sizes = npt.NDArray[np.int64]


def unit_sizes(objects: int) -> Sizes:
    """Return sizes of 1, shape (objects,)."""
    return np.ones(objects, np.int64)


def lognormal_sizes(scores: npt.NDArray[np.float64], median: float, sigma: float, largest: int) -> Sizes:
    """Sizes whose logarithm is normal: exp(sigma * score) medians, within [1, largest]."""
    return _bytes(median * np.exp(np.minimum(sigma * scores, 100.0)), largest)


def pareto_sizes(scores: npt.NDArray[np.float64], smallest: float, shape: float, largest: int) -> Sizes:
    """Pareto sizes: P(size > x) = (smallest / x)^shape, within [1, largest]."""
    ranks = np.empty(len(scores), np.int64)
    ranks[np.argsort(scores, kind="stable")] = np.arange(len(scores))
    exceeded = 1.0 - (ranks + 0.5) / len(scores)
    return _bytes(smallest * exceeded ** (-1.0 / shape), largest)


def normal_scores(
    rng: np.random.Generator, request_counts: npt.NDArray[np.int64], correlation: float
) -> npt.NDArray[np.float64]:
    """Standard normal scores of shape (objects,), correlated with the objects' popularity (a Gaussian
    copula).

    `correlation` in [-1, 1] is that of the score with the normal score of the popularity; below 0 popular
    objects tend to have low scores. Equally popular objects are distinguished at random.
    """
    objects = len(request_counts)
    normal = np.sort(rng.standard_normal(objects))
    popularity = np.empty(objects)
    popularity[np.lexsort((rng.random(objects), request_counts))] = normal
    noise = rng.standard_normal(objects)
    return np.asarray(correlation * popularity + np.sqrt(1 - correlation**2) * noise)


def _bytes(sizes: npt.NDArray[np.float64], largest: int) -> Sizes:
    return np.clip(np.rint(sizes), 1, min(largest, MAX_SIZE)).astype(np.int64)
