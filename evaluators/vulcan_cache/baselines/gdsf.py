"""GDSF: the object with the lowest priority is evicted, of equals the least recently used.

The priority, set at each request, is `clock + frequency / size`; the clock is the priority of the last object
evicted, so that objects age. The cost of a miss is the same for all objects (the paper's GDSF(1)). A new
object takes part in the eviction that its arrival causes, so it may itself be turned away. The factor SCALE
changes no order but for rounding; it makes priorities equal bit for bit to those of libCacheSim.
"""

import numpy as np

from vulcan_cache.kernels import heap
from vulcan_cache.kernels.common import U, baseline_kernel, miss

ABSENT = -1
SCALE = 1.0e6


@baseline_kernel
def simulate(objects, sizes, next_access, object_count, capacity, largest, measure_from, missed):
    """See `vulcan_cache.baselines`."""
    nodes, places = heap.empty(object_count)
    residents = U(0)
    frequency = np.zeros(object_count, np.int64)
    priority = np.zeros(object_count, np.float64)
    clock = 0.0
    resident_size = np.full(object_count, ABSENT, np.int64)
    used = 0
    counts = np.zeros(3, np.int64)
    for now in range(objects.size):
        obj = np.int64(objects[now])
        if resident_size[obj] != ABSENT:
            frequency[obj] += 1
            priority[obj] = clock + np.float64(frequency[obj]) * SCALE / np.float64(max(resident_size[obj], 1))
            key = heap.key_of(priority[obj])
            heap.settle(nodes, places, U(places[obj]), residents, key, heap.entry_of(U(now), U(obj)))
            continue
        size = np.int64(sizes[now])
        if not miss(counts, missed, now, size, largest, measure_from):
            continue
        frequency[obj] = 1
        priority[obj] = clock + SCALE / np.float64(max(size, 1))
        residents = heap.push(nodes, places, residents, heap.key_of(priority[obj]), heap.entry_of(U(now), U(obj)))
        resident_size[obj] = size
        used += size
        while used > capacity:
            victim = heap.object_in(nodes[heap.ROOT_ENTRY])
            clock = priority[victim]
            residents = heap.fill_root(nodes, places, residents)
            used -= resident_size[victim]
            resident_size[victim] = ABSENT
    return counts[0], counts[1], counts[2]
