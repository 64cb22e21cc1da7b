"""SIEVE: a FIFO list and a hand that walks from old to new, clearing the mark of each visited object.

The hand evicts the first unmarked object and stays there; new objects enter behind it, at the newest end.
"""

import numpy as np

from vulcan_cache.baselines._lists import empty_lists, newer, oldest, push_newest, unlink
from vulcan_cache.kernels.common import baseline_kernel, note_missed

ABSENT = -1


@baseline_kernel
def simulate(objects, sizes, next_access, object_count, capacity, measure_from, missed):
    """See `vulcan_cache.baselines.Kernel`."""
    links = empty_lists(object_count, 1)
    queue = object_count
    hand = queue  # the sentinel: start from the oldest object
    visited = np.zeros(object_count, np.bool_)
    resident_size = np.full(object_count, ABSENT, np.int64)
    used = 0
    misses = missed_bytes = bypassed = 0
    for now in range(objects.size):
        obj = np.int64(objects[now])
        if resident_size[obj] != ABSENT:
            visited[obj] = True
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
            victim = oldest(links, queue) if hand == queue else hand
            while visited[victim]:
                visited[victim] = False
                victim = newer(links, victim)
                if victim == queue:
                    victim = oldest(links, queue)
            hand = newer(links, victim)
            unlink(links, victim)
            used -= resident_size[victim]
            resident_size[victim] = ABSENT
        push_newest(links, queue, obj)
        resident_size[obj] = size
        used += size
    return misses, missed_bytes, bypassed
