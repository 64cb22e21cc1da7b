"""S3-FIFO: a small FIFO (10 %) filters what enters the main FIFO (90 %); a ghost FIFO knows the rejected.

A new object enters the small queue, or the main one if the ghost queue (90 % of the capacity) still knows it.
At the small queue's end an object requested at least twice since moves to the main queue, another one leaves
the cache and is remembered as a ghost. At the main queue's end an object requested since goes round again.
Until the first eviction new objects that find the small queue full go to the main one, as in libCacheSim.
An object larger than the small queue is admitted like any other, as in the paper (libCacheSim refuses it).
"""

import numpy as np

from vulcan.kernel_support import allocating_helper
from vulcan_cache.baselines._lists import empty_lists, move_to_newest, oldest, push_newest, unlink
from vulcan_cache.kernels.common import baseline_kernel, note_missed

NOWHERE, SMALL, MAIN, GHOST = 0, 1, 2, 3
PROMOTED_FROM = 2
MAX_COUNTED = 3


@allocating_helper
def replay(objects, sizes, object_count, capacity, measure_from, largest, missed):
    """Run the policy; an object larger than `largest` is never admitted."""
    links = empty_lists(object_count, 3)
    small, main, ghosts = object_count, object_count + 1, object_count + 2
    place = np.zeros(object_count, np.uint8)
    frequency = np.zeros(object_count, np.uint8)
    kept_size = np.zeros(object_count, np.int64)
    small_capacity = np.int64(np.float64(capacity) * 0.1)
    main_capacity = capacity - small_capacity
    ghost_capacity = np.int64(np.float64(capacity) * 0.9)
    filling = True
    small_used = main_used = ghost_used = 0
    misses = missed_bytes = bypassed = 0
    for now in range(objects.size):
        obj = np.int64(objects[now])
        if place[obj] == SMALL or place[obj] == MAIN:
            frequency[obj] = min(frequency[obj] + 1, MAX_COUNTED)
            continue
        size = np.int64(sizes[now])
        note_missed(missed, now)
        if now >= measure_from:
            misses += 1
            missed_bytes += size
        known = place[obj] == GHOST
        if known:
            unlink(links, obj)
            ghost_used -= kept_size[obj]
            place[obj] = NOWHERE
        if size > largest:
            bypassed += now >= measure_from and size > capacity
            continue
        while small_used + main_used + size > capacity:
            filling = False
            evicted = False
            if main_used > main_capacity or small_used == 0:
                while not evicted:
                    victim = oldest(links, main)
                    if frequency[victim] > 0:
                        frequency[victim] -= 1
                        move_to_newest(links, main, victim)
                    else:
                        unlink(links, victim)
                        place[victim] = NOWHERE
                        main_used -= kept_size[victim]
                        evicted = True
            else:
                while not evicted and small_used > 0:
                    victim = oldest(links, small)
                    unlink(links, victim)
                    victim_size = kept_size[victim]
                    small_used -= victim_size
                    if frequency[victim] >= PROMOTED_FROM:
                        frequency[victim] = 0
                        push_newest(links, main, victim)
                        place[victim] = MAIN
                        main_used += victim_size
                        continue
                    evicted = True
                    place[victim] = NOWHERE
                    if victim_size <= ghost_capacity:
                        while ghost_used + victim_size > ghost_capacity:
                            forgotten = oldest(links, ghosts)
                            unlink(links, forgotten)
                            place[forgotten] = NOWHERE
                            ghost_used -= kept_size[forgotten]
                        push_newest(links, ghosts, victim)
                        place[victim] = GHOST
                        ghost_used += victim_size
        frequency[obj] = 0
        kept_size[obj] = size
        if known or (filling and small_used >= small_capacity):
            push_newest(links, main, obj)
            place[obj] = MAIN
            main_used += size
        else:
            push_newest(links, small, obj)
            place[obj] = SMALL
            small_used += size
    return misses, missed_bytes, bypassed


@baseline_kernel
def simulate(objects, sizes, next_access, object_count, capacity, measure_from, missed):
    """See `vulcan_cache.baselines.Kernel`."""
    return replay(objects, sizes, object_count, capacity, measure_from, capacity, missed)


@baseline_kernel
def refusing(objects, sizes, next_access, object_count, capacity, measure_from, missed):
    """See `vulcan_cache.baselines.Kernel`: as libCacheSim has it, refusing what is larger than `largest`."""
    largest = max(np.int64(1), min(capacity, np.int64(np.int64(np.float64(capacity) * 0.1))))
    return replay(objects, sizes, object_count, capacity, measure_from, largest, missed)
