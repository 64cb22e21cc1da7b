"""Seeded generators of request sequences: pure functions that return the object number of each request.

All take their randomness from a `numpy.random.Generator` that is passed in. Object numbers are int64 of shape
(requests,), in a space of the generator's own that starts at 0.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Objects = npt.NDArray[np.int64]


def zipf_probabilities(objects: int, alpha: float) -> npt.NDArray[np.float64]:
    """The independent reference model of Breslau et al. (INFOCOM 1999): the i-th most popular has 1 /
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
    """The same objects in the same order, over and over: what LRU is worst at."""
    return np.arange(requests, dtype=np.int64) % objects


def scans(rng: np.random.Generator, requests: int, objects: int, length: int) -> Objects:
    """Sequential scans of `length` objects, each from a place that is uniformly random among `objects`."""
    starts = rng.integers(0, objects, -(-requests // length))
    runs = starts[:, None] + np.arange(length)
    return np.asarray(runs.reshape(-1)[:requests] % objects)


def drifting_ranks(
    rng: np.random.Generator, requests: int, objects: int, *, alpha: float, period: int, churn: float
) -> Objects:
    """Zipf popularity whose holders change: every `period` requests a share `churn` of the ranks, drawn anew
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
    """Which of several activities each request belongs to. Activities alternate in bursts of their burst
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
    """Seconds of Poisson arrivals at `rate` requests a second, shape (requests,)."""
    return np.cumsum(rng.standard_exponential(requests)) / rate
