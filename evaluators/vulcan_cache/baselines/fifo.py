"""FIFO: the object that was inserted first is evicted."""

import numpy as np

from vulcan_cache.baselines._lists import empty_lists, oldest, push_newest, unlink
from vulcan_cache.kernels.common import baseline_kernel, note_missed

ABSENT = -1


@baseline_kernel
def simulate(objects, sizes, next_access, object_count, capacity, measure_from, missed):
    """See `vulcan_cache.baselines.Kernel`."""
    links = empty_lists(object_count, 1)
    queue = object_count
    resident_size = np.full(object_count, ABSENT, np.int64)
    used = 0
    misses = missed_bytes = bypassed = 0
    for now in range(objects.size):
        obj = np.int64(objects[now])
        if resident_size[obj] != ABSENT:
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
            victim = oldest(links, queue)
            unlink(links, victim)
            used -= resident_size[victim]
            resident_size[victim] = ABSENT
        push_newest(links, queue, obj)
        resident_size[obj] = size
        used += size
    return misses, missed_bytes, bypassed
