"""The openings of workloads: fingerprints of instances by their first requests, and the instances that these make."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from vulcan.baseline_cache import cached_metrics
from vulcan_cache.online_fingerprint import OnlineFingerprint
from vulcan_cache.spec import CacheSpec
from vulcan_traces import Trace

VERSION = 1
"""Version in the cache key of fingerprints: raise it when the same requests give another fingerprint."""


def fingerprint_of(spec: CacheSpec, trace: Trace, sizes: NDArray[np.int64], first: int) -> Mapping[str, float]:
    """Return the fingerprint of an instance's first requests, cached on disk; `sizes` are those that count."""
    requests = min(first, spec.measure_to)

    def measure() -> dict[str, float]:
        seen = OnlineFingerprint(spec.capacity, requests)
        keys = np.asarray(trace.keys)[np.asarray(trace.objects)[:requests]]
        for key, size in zip(keys.tolist(), np.asarray(sizes)[:requests].tolist(), strict=True):
            seen.observe(key, size)
        return seen.features()

    return cached_metrics(["fingerprint", VERSION, trace.digest, spec.unit_sizes, spec.capacity, requests], measure)


OPENING_SHARE = 0.2
"""The largest cache of an opening, as a share of the bytes that it asks for.

A cache that is 10 % of a whole trace may hold all that a fifth of it asks for: then no policy evicts anything, and
trials cannot tell policies apart. Of 2, 5, 10, 20 and 30 % it chose best on training traces, each left out in turn.
"""


def opening_of(spec: CacheSpec, trace: Trace, sizes: NDArray[np.int64], first: int) -> dict[str, int]:
    """Return what an opening changes; the first half of its requests fills the cache, and does not count."""
    requests = min(first, spec.measure_to)
    _, at = np.unique(np.asarray(trace.objects)[:requests], return_index=True)
    footprint = int(np.asarray(sizes)[at].sum(dtype=np.int64))
    capacity = min(spec.capacity, max(1, int(OPENING_SHARE * footprint)))
    return {"capacity": capacity, "measure_from": requests // 2, "measure_to": requests}
