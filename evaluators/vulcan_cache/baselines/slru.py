"""Segmented LRU with four segments of a quarter of the capacity each, the lowest being the probationary one.

A hit moves an object to the newest end of the next higher segment; what that pushes out of a segment moves to
the newest end of the one below. Victims come from the oldest end of the lowest segment that has any. A new
object enters the lowest segment that has room for it, else the lowest one, which also takes what the others
leave of the capacity. An object larger than a segment stays in the lowest one.
"""

import numpy as np

from vulcan_cache.baselines._lists import empty_lists, move_to_newest, oldest, push_newest, unlink
from vulcan_cache.kernels.common import baseline_kernel, note_missed

ABSENT = -1
SEGMENTS = 4


@baseline_kernel
def simulate(objects, sizes, next_access, object_count, capacity, measure_from, missed):
    """See `vulcan_cache.baselines.Kernel`."""
    links = empty_lists(object_count, SEGMENTS)
    segment_of = np.zeros(object_count, np.uint8)
    segment_used = np.zeros(SEGMENTS, np.int64)
    segment_capacity = capacity // SEGMENTS
    resident_size = np.full(object_count, ABSENT, np.int64)
    used = 0
    misses = missed_bytes = bypassed = 0
    for now in range(objects.size):
        obj = np.int64(objects[now])
        size = resident_size[obj]
        if size != ABSENT:
            segment = np.int64(segment_of[obj])
            if segment < SEGMENTS - 1 and size <= segment_capacity:
                segment_used[segment] -= size
                segment += 1
                segment_of[obj] = segment
                segment_used[segment] += size
            move_to_newest(links, object_count + segment, obj)
            while segment > 0:
                while segment_used[segment] > segment_capacity:
                    demoted = oldest(links, object_count + segment)
                    move_to_newest(links, object_count + segment - 1, demoted)
                    segment_of[demoted] = segment - 1
                    segment_used[segment] -= resident_size[demoted]
                    segment_used[segment - 1] += resident_size[demoted]
                segment -= 1
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
            segment = 0
            while segment_used[segment] == 0:
                segment += 1
            victim = oldest(links, object_count + segment)
            unlink(links, victim)
            segment_used[segment] -= resident_size[victim]
            used -= resident_size[victim]
            resident_size[victim] = ABSENT
        segment = 0
        while segment < SEGMENTS and segment_used[segment] + size > segment_capacity:
            segment += 1
        if segment == SEGMENTS:
            segment = 0
        push_newest(links, object_count + segment, obj)
        segment_of[obj] = segment
        segment_used[segment] += size
        resident_size[obj] = size
        used += size
    return misses, missed_bytes, bypassed
