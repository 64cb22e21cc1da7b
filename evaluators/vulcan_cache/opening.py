"""The first requests of an instance, on which policies are tried."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vulcan_cache.spec import CacheSpec
from vulcan_traces import Trace

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
