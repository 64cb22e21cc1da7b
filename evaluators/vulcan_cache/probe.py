"""Behavioural probe: a short trace that distinguishes policies by what they evict, before they run on a real one.

What makes it tell much (measured on recorded candidates): a small cache, so that objects that
were hit are in danger too; requests that come again at once and ones that come again late, for a policy may look at
either; sizes that many objects share, for only equals show what a policy looks at next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vulcan.anvil import Policy
from vulcan_cache.simulate import simulate
from vulcan_traces.raw_requests import MAX_SIZE

REQUESTS = 5000
RESIDENTS = 60
_POPULAR = 400
_AGAIN, _ONCE = 0.4, 0.1
_AGAIN_WITHIN = 8
_AT_ONCE = 0.5
"""Objects of a Zipf popularity whose ranks drift; the shares of requests for one of the latest objects, and for one
that never came before; how many the latest are; the share of requests that follow the last one without a gap."""


@dataclass(frozen=True, slots=True)
class ProbeScale:
    """Magnitudes that policies see on an instance: its duration, the number of resident objects and their sizes."""

    requests: int
    residents: float
    object_size: float


@dataclass(frozen=True, slots=True)
class CacheProbe:
    """Probe trace at the scale of the instances, so that a policy's constants mean the same on both.

    Times, the size of the cache and the sizes of objects are multiples of those in the trace; `settings` are the
    mechanism's.
    """

    objects: NDArray[np.uint32]
    sizes: NDArray[np.int64]
    times: NDArray[np.float64]
    capacity: int
    weight: int
    settings: Mapping[str, Any]

    @classmethod
    def of(cls, scales: Sequence[ProbeScale], settings: Mapping[str, Any]) -> CacheProbe:
        """Make the probe for instances of these scales: the geometric mean of each."""
        random = np.random.RandomState(1)  # its stream is the same in every version of numpy
        objects = probe_objects(random)
        object_size = geometric_mean(s.object_size for s in scales)
        weight = max(1, round(geometric_mean(max(s.residents, 1.0) for s in scales) / RESIDENTS))
        return cls(
            objects=objects,
            sizes=_sizes(random, objects, object_size),
            times=_times(random, geometric_mean(s.requests for s in scales)),
            capacity=max(1, round(RESIDENTS * object_size)) * weight,
            weight=weight,
            settings=settings,
        )

    def digest(self, policy: Policy) -> str:
        """Return a hash of the sequence of objects that the policy evicts, as 16 hex digits."""
        result = simulate(
            policy, self.objects, self.sizes, self.capacity, times=self.times, weight=self.weight, **self.settings
        )
        return f"{result.decisions:016x}"


def probe_objects(random: np.random.RandomState) -> NDArray[np.uint32]:
    """Dense ids of shape (requests,)."""
    popularity = np.arange(1, _POPULAR + 1) ** -0.6
    ranks = random.choice(_POPULAR, REQUESTS, p=popularity / popularity.sum())
    kinds, back = random.rand(REQUESTS), random.randint(1, _AGAIN_WITHIN + 1, REQUESTS)
    asked: list[int] = []
    for request in range(REQUESTS):
        if kinds[request] < _AGAIN and request >= _AGAIN_WITHIN:
            asked.append(asked[-back[request]])
        elif kinds[request] < _AGAIN + _ONCE:
            asked.append(_POPULAR + request)
        else:
            asked.append((ranks[request] + request // 300 * 7) % _POPULAR)
    dense: NDArray[np.uint32] = np.unique(asked, return_inverse=True)[1].astype(np.uint32)
    return dense


def _sizes(random: np.random.RandomState, objects: NDArray[np.uint32], mean: float) -> NDArray[np.int64]:
    """Log-normal, in steps of four times the size; all 1 where all are, for looking at it is no difference then."""
    steps = 1.4 * np.rint(1.5 * random.randn(int(objects.max()) + 1) / 1.4)
    if mean <= 1:
        return np.ones(len(objects), np.int64)
    scaled = np.rint(np.exp(steps) * (mean / np.exp(steps).mean()))
    sizes: NDArray[np.int64] = scaled.clip(1, MAX_SIZE).astype(np.int64)
    return sizes[objects]


def _times(random: np.random.RandomState, latest: float) -> NDArray[np.float64]:
    """Whole numbers: gaps of 1, and log-normal ones that reach to about `latest` if that leaves room for any."""
    at_once = random.rand(REQUESTS) < _AT_ONCE
    gaps = np.exp(1.5 * random.randn(REQUESTS))
    share = max(0.0, latest - at_once.sum()) / gaps[~at_once].sum()
    return np.cumsum(np.where(at_once, 1.0, np.maximum(1.0, np.rint(gaps * share))))
