"""Reuse distances of a trace, and buckets of histograms; compiled, so import it late."""

from __future__ import annotations

import numpy as np

from vulcan.kernel_support import allocating_helper, allocating_kernel, types
from vulcan_traces.fingerprint.log_histogram import STEP_BITS, STEPS

_STEP_BITS, _TWO_OCTAVES, _ONE = np.uint64(STEP_BITS), np.uint64(2 * STEPS), np.uint64(1)


@allocating_helper
def bucket_of(number):
    """Return the bucket of a uint64 in a `vulcan_traces.fingerprint.log_histogram`."""
    shift = np.uint64(0)
    while number >> shift >= _TWO_OCTAVES:
        shift += _ONE
    return (shift << _STEP_BITS) + (number >> shift)


@allocating_kernel(types.void(types.Array(types.uint32, 1, "C", readonly=True), types.int64, types.int64[::1]))
def reuse_distances(objects, object_count, distances):
    """Count the reuse distance of every request in `distances` (see `log_histogram`).

    Mattson et al., Evaluation Techniques for Storage Hierarchies, IBM Systems Journal 1970.

    `objects` are dense ids, of shape (requests,). The distance counts the other objects since the object's request
    before; an object's first request has none. A Fenwick tree has a one at the newest request of each object so far.
    """
    n = len(objects)
    tree = np.zeros(n + 1, np.int32)
    newest = np.zeros(object_count, np.int64)
    seen = 0
    for i in range(1, n + 1):
        obj = objects[i - 1]
        before = newest[obj]
        if before:
            up_to_it, place = 0, before
            while place:
                up_to_it += tree[place]
                place &= place - 1
            distances[bucket_of(np.uint64(seen - up_to_it))] += 1
            place = before
            while place <= n:
                tree[place] -= 1
                place += place & -place
        else:
            seen += 1
        place = i
        while place <= n:
            tree[place] += 1
            place += place & -place
        newest[obj] = i
