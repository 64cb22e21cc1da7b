"""Belady's MIN: the object whose next request is furthest in the future is evicted.

Optimal for objects of one size among the policies that admit every object (one that may refuse an object can
do better); no bound at all where sizes differ, for it ignores them.
"""

import numpy as np

from vulcan.kernel_support import allocating_helper
from vulcan_cache.kernels import heap
from vulcan_cache.kernels.common import U, baseline_kernel, miss

ABSENT = -1


@allocating_helper
def _key(upcoming):
    """Furthest first; an object that is never requested again before all others."""
    return heap.key_of(-np.inf if upcoming < 0 else -np.float64(upcoming))


@baseline_kernel
def simulate(objects, sizes, next_access, object_count, capacity, largest, measure_from, missed):
    """See `vulcan_cache.baselines`."""
    nodes, places = heap.empty(object_count)
    residents = U(0)
    resident_size = np.full(object_count, ABSENT, np.int64)
    used = 0
    counts = np.zeros(3, np.int64)
    for now in range(objects.size):
        obj = np.int64(objects[now])
        if resident_size[obj] != ABSENT:
            heap.settle(nodes, places, U(places[obj]), residents, _key(next_access[now]), heap.entry_of(U(now), U(obj)))
            continue
        size = np.int64(sizes[now])
        if not miss(counts, missed, now, size, largest, measure_from):
            continue
        while used + size > capacity:
            victim = heap.object_in(nodes[heap.ROOT_ENTRY])
            residents = heap.fill_root(nodes, places, residents)
            used -= resident_size[victim]
            resident_size[victim] = ABSENT
        residents = heap.push(nodes, places, residents, _key(next_access[now]), heap.entry_of(U(now), U(obj)))
        resident_size[obj] = size
        used += size
    return counts[0], counts[1], counts[2]
