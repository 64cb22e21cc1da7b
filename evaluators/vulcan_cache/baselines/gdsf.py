"""GDSF: the object with the lowest priority is evicted, of equals the least recently used.

The priority, set at each request, is `clock + frequency / size`; the clock is the priority of the last object
evicted, so that objects age. The cost of a miss is the same for all objects (the paper's GDSF(1)). A new
object takes part in the eviction that its arrival causes, so it may itself be turned away. The factor SCALE
changes no order but for rounding; it makes priorities equal bit for bit to those of libCacheSim.
"""

import numpy as np

from vulcan_cache.baselines._heap import change, empty_heap, insert, remove, top
from vulcan_cache.kernels.common import baseline_kernel, note_missed

ABSENT = -1
SCALE = 1.0e6


@baseline_kernel
def simulate(objects, sizes, next_access, object_count, capacity, measure_from, missed):
    """See `vulcan_cache.baselines.Kernel`."""
    entries, places = empty_heap(object_count)
    residents = 0
    frequency = np.zeros(object_count, np.int64)
    clock = 0.0
    resident_size = np.full(object_count, ABSENT, np.int64)
    used = 0
    misses = missed_bytes = bypassed = 0
    for now in range(objects.size):
        obj = np.int64(objects[now])
        if resident_size[obj] != ABSENT:
            frequency[obj] += 1
            worth = np.float64(frequency[obj]) * SCALE / np.float64(max(resident_size[obj], 1))
            change(entries, places, residents, obj, clock + worth, now)
            continue
        size = np.int64(sizes[now])
        note_missed(missed, now)
        if now >= measure_from:
            misses += 1
            missed_bytes += size
        if size > capacity:
            bypassed += now >= measure_from
            continue
        frequency[obj] = 1
        insert(entries, places, residents, obj, clock + SCALE / np.float64(max(size, 1)), now)
        residents += 1
        resident_size[obj] = size
        used += size
        while used > capacity:
            victim = top(entries)
            clock = entries[0]
            remove(entries, places, residents, victim)
            residents -= 1
            used -= resident_size[victim]
            resident_size[victim] = ABSENT
    return misses, missed_bytes, bypassed
