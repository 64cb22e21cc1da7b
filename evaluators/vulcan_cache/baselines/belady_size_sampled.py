"""Size-aware Belady by sampling: evicts, of 64 random residents, the one with the largest `size * distance`.

`distance` is the number of requests to the object's next one. An object that is never requested again is not
admitted, and leaves with its last hit. This is an approximation in two ways: the largest product is a greedy
choice (the optimum for objects of several sizes is NP-hard), and it is looked for among a sample. It usually
lies below every policy that does not see the future, but nothing guarantees that: a large object with a near
next request is admitted even where that costs many small ones, which GDSF may refuse.
"""

import numpy as np

from vulcan.kernel_support import allocating_helper
from vulcan_cache.baselines._random_numbers import random_below
from vulcan_cache.kernels.common import baseline_kernel, miss

ABSENT = -1
SAMPLES = 64


@allocating_helper
def _drop(residents, slots, count, obj):
    """Take an object out of the dense array of the `count` residents."""
    last = residents[count - 1]
    residents[slots[obj]] = last
    slots[last] = slots[obj]


@baseline_kernel
def simulate(objects, sizes, next_access, object_count, capacity, largest, measure_from, missed):
    """See `vulcan_cache.baselines`."""
    residents = np.empty(object_count, np.uint32)
    slots = np.empty(object_count, np.uint32)
    upcoming = np.empty(object_count, np.int64)
    resident_size = np.full(object_count, ABSENT, np.int64)
    used = count = draws = 0
    counts = np.zeros(3, np.int64)
    for now in range(objects.size):
        obj = np.int64(objects[now])
        again = 0 <= next_access[now] < objects.size
        if resident_size[obj] != ABSENT:
            if again:
                upcoming[obj] = next_access[now]
            else:
                _drop(residents, slots, count, obj)
                count -= 1
                used -= resident_size[obj]
                resident_size[obj] = ABSENT
            continue
        size = np.int64(sizes[now])
        if not miss(counts, missed, now, size, largest, measure_from):
            continue
        if not again:
            continue
        while used + size > capacity:
            victim = np.int64(0)
            worst = -1.0
            for _ in range(SAMPLES):
                sampled = np.int64(residents[random_below(draws, count)])
                draws += 1
                cost = np.float64(resident_size[sampled]) * (upcoming[sampled] - now)
                if cost > worst:
                    victim, worst = sampled, cost
            _drop(residents, slots, count, victim)
            count -= 1
            used -= resident_size[victim]
            resident_size[victim] = ABSENT
        slots[obj] = count
        residents[count] = obj
        count += 1
        upcoming[obj] = next_access[now]
        resident_size[obj] = size
        used += size
    return counts[0], counts[1], counts[2]
