"""LFU: the object with the fewest requests since its insertion is evicted, of equals the least recent."""

import numpy as np

from vulcan_cache.baselines._heap import change, empty_heap, insert, remove, top
from vulcan_cache.kernels.common import baseline_kernel, note_missed

ABSENT = -1


@baseline_kernel
def simulate(objects, sizes, next_access, object_count, capacity, measure_from, missed):
    """See `vulcan_cache.baselines.Kernel`."""
    entries, places = empty_heap(object_count)
    residents = 0
    frequency = np.zeros(object_count, np.int64)
    resident_size = np.full(object_count, ABSENT, np.int64)
    used = 0
    misses = missed_bytes = bypassed = 0
    for now in range(objects.size):
        obj = np.int64(objects[now])
        if resident_size[obj] != ABSENT:
            frequency[obj] += 1
            change(entries, places, residents, obj, np.float64(frequency[obj]), now)
            continue
        size = np.int64(sizes[now])
        note_missed(missed, now)
        if now >= measure_from:
            misses += 1
            missed_bytes += size
        if size > capacity:
            bypassed += now >= measure_from
            continue
        while used + size > capacity:
            victim = top(entries)
            remove(entries, places, residents, victim)
            residents -= 1
            used -= resident_size[victim]
            resident_size[victim] = ABSENT
        frequency[obj] = 1
        insert(entries, places, residents, obj, 1.0, now)
        residents += 1
        resident_size[obj] = size
        used += size
    return misses, missed_bytes, bypassed
