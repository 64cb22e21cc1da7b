"""Object sizes of generated traces, independent of popularity or correlated with it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from vulcan_traces.raw_requests import MAX_SIZE

Sizes = npt.NDArray[np.uint32]


def unit_sizes(objects: int) -> Sizes:
    """All sizes 1, shape (objects,)."""
    return np.ones(objects, np.uint32)


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
    objects tend to have low scores. Equally popular objects are told apart at random.
    """
    objects = len(request_counts)
    normal = np.sort(rng.standard_normal(objects))
    popularity = np.empty(objects)
    popularity[np.lexsort((rng.random(objects), request_counts))] = normal
    noise = rng.standard_normal(objects)
    return np.asarray(correlation * popularity + np.sqrt(1 - correlation**2) * noise)


def _bytes(sizes: npt.NDArray[np.float64], largest: int) -> Sizes:
    return np.clip(np.rint(sizes), 1, min(largest, MAX_SIZE)).astype(np.uint32)
