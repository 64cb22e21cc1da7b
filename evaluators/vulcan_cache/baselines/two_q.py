"""2Q, full version: a FIFO for new objects (A1in), an LRU list (Am) for those that return after leaving it.

An object pushed out of A1in is remembered in the ghost FIFO A1out; requested while there, it enters Am. The
paper's sizes: A1in a quarter of the capacity, A1out half of it. Am holds at most what A1in leaves.
"""

import numpy as np

from vulcan_cache.baselines._lists import empty_lists, move_to_newest, oldest, push_newest, unlink
from vulcan_cache.kernels.common import baseline_kernel, miss

NOWHERE, IN, MAIN, OUT = 0, 1, 2, 3


@baseline_kernel
def simulate(objects, sizes, next_access, object_count, capacity, largest, measure_from, missed):
    """See `vulcan_cache.baselines`."""
    links = empty_lists(object_count, 3)
    a1in, am, a1out = object_count, object_count + 1, object_count + 2
    place = np.zeros(object_count, np.uint8)
    kept_size = np.zeros(object_count, np.int64)
    in_capacity = capacity // 4
    main_capacity = capacity - in_capacity
    out_capacity = capacity // 2
    in_used = main_used = out_used = 0
    counts = np.zeros(3, np.int64)
    for now in range(objects.size):
        obj = np.int64(objects[now])
        if place[obj] == IN:
            continue
        if place[obj] == MAIN:
            move_to_newest(links, am, obj)
            continue
        size = np.int64(sizes[now])
        fits = miss(counts, missed, now, size, largest, measure_from)
        known = place[obj] == OUT
        if known:
            unlink(links, obj)
            out_used -= kept_size[obj]
            place[obj] = NOWHERE
        if not fits:
            continue
        while in_used + main_used + size > capacity:
            if in_used <= in_capacity and main_used > 0:
                victim = oldest(links, am)
                unlink(links, victim)
                place[victim] = NOWHERE
                main_used -= kept_size[victim]
                continue
            victim = oldest(links, a1in)
            unlink(links, victim)
            place[victim] = NOWHERE
            victim_size = kept_size[victim]
            in_used -= victim_size
            if victim_size <= out_capacity:
                while out_used + victim_size > out_capacity:
                    forgotten = oldest(links, a1out)
                    unlink(links, forgotten)
                    place[forgotten] = NOWHERE
                    out_used -= kept_size[forgotten]
                push_newest(links, a1out, victim)
                place[victim] = OUT
                out_used += victim_size
        kept_size[obj] = size
        if known:
            while main_used > 0 and main_used + size > main_capacity:
                victim = oldest(links, am)
                unlink(links, victim)
                place[victim] = NOWHERE
                main_used -= kept_size[victim]
            push_newest(links, am, obj)
            place[obj] = MAIN
            main_used += size
        else:
            push_newest(links, a1in, obj)
            place[obj] = IN
            in_used += size
    return counts[0], counts[1], counts[2]
