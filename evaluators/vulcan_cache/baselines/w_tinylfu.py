"""W-TinyLFU: an LRU window (1 %) before a segmented LRU (20 % probation, 80 % protected) with admission.

What leaves the window is a candidate for the main part: it takes the place of main's next victim only if it
was requested more often lately, else it leaves the cache. Frequencies are 4-bit counters, halved after every
ten requests per object that the cache has held at once. They are kept one an object, not in a count-min
sketch: this is TinyLFU without the collisions of its sketch (and without its doorkeeper).

With sizes: a candidate duels with one victim after another until it fits or loses; victims beaten before that
are gone. An object larger than the window is a candidate at once.
"""

import numpy as np

from vulcan.kernel_support import allocating_helper
from vulcan_cache.baselines._lists import empty_lists, move_to_newest, oldest, push_newest, unlink
from vulcan_cache.kernels.common import baseline_kernel, miss

NOWHERE, WINDOW, PROBATION, PROTECTED = 0, 1, 2, 3
MAX_COUNTED = 15
REQUESTS_PER_RESIDENT = 10


@allocating_helper
def _frequency(counts, halved_at, halvings, obj):
    """Return an object's counter, its outstanding halvings applied."""
    return np.int64(counts[obj]) >> min(halvings - halved_at[obj], 8)


@baseline_kernel
def simulate(objects, sizes, next_access, object_count, capacity, largest, measure_from, missed):
    """See `vulcan_cache.baselines`."""
    links = empty_lists(object_count, 4)  # list WINDOW, PROBATION or PROTECTED has the sentinel queue + its number
    queue = object_count
    place = np.zeros(object_count, np.uint8)
    resident_size = np.zeros(object_count, np.int64)
    used = np.zeros(4, np.int64)
    window_capacity = max(1, capacity // 100)
    main_capacity = capacity - window_capacity
    protected_capacity = main_capacity * 4 // 5
    counts = np.zeros(object_count, np.uint8)
    halved_at = np.zeros(object_count, np.int64)
    halvings = counted = residents = most_residents = 0
    total = np.zeros(3, np.int64)
    for now in range(objects.size):
        obj = np.int64(objects[now])
        counts[obj] = min(_frequency(counts, halved_at, halvings, obj) + 1, MAX_COUNTED)
        halved_at[obj] = halvings
        counted += 1
        if counted >= REQUESTS_PER_RESIDENT * max(most_residents, 1):
            halvings += 1
            counted //= 2
        found = np.int64(place[obj])
        if found != NOWHERE:
            if found == PROBATION:
                used[PROBATION] -= resident_size[obj]
                used[PROTECTED] += resident_size[obj]
                place[obj] = found = PROTECTED
            move_to_newest(links, queue + found, obj)
            while used[PROTECTED] > protected_capacity:
                demoted = oldest(links, queue + PROTECTED)
                move_to_newest(links, queue + PROBATION, demoted)
                place[demoted] = PROBATION
                used[PROTECTED] -= resident_size[demoted]
                used[PROBATION] += resident_size[demoted]
            continue
        size = np.int64(sizes[now])
        if not miss(total, missed, now, size, largest, measure_from):
            continue
        push_newest(links, queue + WINDOW, obj)
        place[obj] = WINDOW
        resident_size[obj] = size
        used[WINDOW] += size
        residents += 1
        while used[WINDOW] > window_capacity:
            candidate = oldest(links, queue + WINDOW)
            unlink(links, candidate)
            needed = resident_size[candidate]
            used[WINDOW] -= needed
            popularity = _frequency(counts, halved_at, halvings, candidate)
            admitted = needed <= main_capacity
            while admitted and used[PROBATION] + used[PROTECTED] + needed > main_capacity:
                source = PROBATION if used[PROBATION] > 0 else PROTECTED
                victim = oldest(links, queue + source)
                if popularity > _frequency(counts, halved_at, halvings, victim):
                    unlink(links, victim)
                    place[victim] = NOWHERE
                    used[source] -= resident_size[victim]
                    residents -= 1
                else:
                    admitted = False
            if admitted:
                push_newest(links, queue + PROBATION, candidate)
                place[candidate] = PROBATION
                used[PROBATION] += needed
            else:
                place[candidate] = NOWHERE
                residents -= 1
        most_residents = max(most_residents, residents)
    return total[0], total[1], total[2]
