"""ARC: recency list T1 and frequency list T2, their ghosts B1 and B2, whose hits move the target size of T1.

The paper's algorithm with bytes in place of pages: for objects of one size it is the paper's, step by step.
T1 + B1 stay within the capacity and all four lists within twice the capacity.
"""

import numpy as np

from vulcan.kernel_support import allocating_helper
from vulcan_cache.baselines._lists import empty_lists, move_to_newest, oldest, push_newest, unlink
from vulcan_cache.kernels.common import baseline_kernel, miss

NOWHERE, T1, T2, B1, B2 = 0, 1, 2, 3, 4


@allocating_helper
def _forget(links, queue, listed, place, used, kept_size):
    """Drop the oldest object of a list altogether."""
    obj = oldest(links, queue + listed)
    unlink(links, obj)
    place[obj] = NOWHERE
    used[listed] -= kept_size[obj]


@allocating_helper
def _move(links, queue, obj, source, target, place, used, kept_size):
    move_to_newest(links, queue + target, obj)
    place[obj] = target
    used[source] -= kept_size[obj]
    used[target] += kept_size[obj]


@baseline_kernel
def simulate(objects, sizes, next_access, object_count, capacity, largest, measure_from, missed):
    """See `vulcan_cache.baselines`."""
    links = empty_lists(object_count, 5)
    queue = object_count  # list k has the sentinel queue + k; number 0 stays empty
    place = np.zeros(object_count, np.uint8)
    used = np.zeros(5, np.int64)
    kept_size = np.zeros(object_count, np.int64)
    target = 0.0
    counts = np.zeros(3, np.int64)
    for now in range(objects.size):
        obj = np.int64(objects[now])
        found = np.int64(place[obj])
        if found in (T1, T2):
            _move(links, queue, obj, found, T2, place, used, kept_size)
            continue
        size = np.int64(sizes[now])
        if not miss(counts, missed, now, size, largest, measure_from):
            continue
        if found == B1:
            target = min(np.float64(capacity), target + size * max(used[B2] / max(used[B1], 1), 1.0))
        elif found == B2:
            target = max(0.0, target - size * max(used[B1] / max(used[B2], 1), 1.0))
        if found != NOWHERE:
            unlink(links, obj)
            place[obj] = NOWHERE
            used[found] -= kept_size[obj]
        else:
            while used[T1] + used[B1] + size > capacity:
                _forget(links, queue, B1 if used[B1] > 0 else T1, place, used, kept_size)
        while used[T1] + used[T2] + size > capacity:
            from_t1 = used[T1] > target or (found == B2 and used[T1] == target)
            if used[T1] > 0 and (from_t1 or used[T2] == 0):
                _move(links, queue, oldest(links, queue + T1), T1, B1, place, used, kept_size)
            else:
                _move(links, queue, oldest(links, queue + T2), T2, B2, place, used, kept_size)
        kept_size[obj] = size
        entered = T1 if found == NOWHERE else T2
        push_newest(links, queue + entered, obj)
        place[obj] = entered
        used[entered] += size
        while used.sum() > 2 * capacity:
            _forget(links, queue, B2, place, used, kept_size)
    return counts[0], counts[1], counts[2]
