"""Spatial sampling of page counts: one page in N, chosen by a hash of its number.

Each page of the sample stands for as many as it is one of. What a policy sees of a page stays as it is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from vulcan_tiering.simulate import AccessSamples
from vulcan_traces.memory import PageCounts

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""Fibonacci hashing (Knuth, TAOCP 3, 6.4): the high half of the product says whether a page is in the sample."""


def sample_of(counts: PageCounts, samples: AccessSamples, one_in: int) -> tuple[PageCounts, AccessSamples]:
    """Sample one page in N, in their order; all pages for 1. At least one page is taken."""
    if one_in == 1:
        return counts, samples
    hashes = (np.arange(counts.pages, dtype=np.uint64) * MULTIPLIER) >> np.uint64(32)
    hashes = (hashes * MULTIPLIER) >> np.uint64(32)
    chosen = np.flatnonzero(hashes % np.uint64(one_in) == 0)
    if not len(chosen):
        chosen = np.zeros(1, np.int64)
    loads, stores, reads, writes = (
        np.ascontiguousarray(table[:, chosen]) for table in (counts.loads, counts.stores, samples.reads, samples.writes)
    )
    fewer = replace(
        counts,
        name=f"{counts.name} R={1 / one_in:g}",
        digest=f"{counts.digest}/{one_in}",
        loads=loads,
        stores=stores,
        arrivals=np.ascontiguousarray(counts.arrivals[chosen]),
    )
    return fewer, AccessSamples(reads, writes, samples.period)


# Low-fidelity rungs of instances: spatial samples of their pages.

ONE_IN = 8
KEEP = 0.3
"""One page in N is in the sample, and the share of candidates that continue."""

MIN_FAST_PAGES = 50
"""Pages that the sample's fast tier must hold: with fewer, a sample says too little."""
