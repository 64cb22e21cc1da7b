"""Policies of one list of objects: FIFO, LRU, CLOCK and SIEVE, which differ in what a hit does and in who leaves.

* FIFO: the object that was inserted first is evicted.
* LRU: the object whose last request is longest ago is evicted: a hit moves an object to the newest end.
* CLOCK with one bit (Corbató, 1968): FIFO that gives an object requested since its last look a second chance.
* SIEVE (Zhang et al., NSDI 2024): a hand walks from old to new, clearing the mark of each object requested; it evicts
  the first unmarked one and stays there. New objects enter behind it, at the newest end.
"""

import numpy as np

from vulcan_cache.baselines._lists import empty_lists, move_to_newest, newer, oldest, push_newest, unlink
from vulcan_cache.kernels.common import baseline_kernel, note_missed

FIFO, LRU, CLOCK, SIEVE = range(4)
ABSENT = -1


def _kernel_of(way):
    """Compile the kernel of one of them, of which `way` is a constant."""

    @baseline_kernel
    def simulate(objects, sizes, next_access, object_count, capacity, measure_from, missed):
        """See `vulcan_cache.baselines.Kernel`."""
        links = empty_lists(object_count, 1)
        queue = object_count
        hand = queue  # the sentinel: start from the oldest object
        requested = np.zeros(object_count if way in (CLOCK, SIEVE) else 0, np.bool_)
        resident_size = np.full(object_count, ABSENT, np.int64)
        used = 0
        misses = missed_bytes = bypassed = 0
        for now in range(objects.size):
            obj = np.int64(objects[now])
            if resident_size[obj] != ABSENT:
                if way == LRU:
                    move_to_newest(links, queue, obj)
                elif way != FIFO:
                    requested[obj] = True
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
                if way == CLOCK:
                    while requested[victim]:
                        requested[victim] = False
                        move_to_newest(links, queue, victim)
                        victim = oldest(links, queue)
                if way == SIEVE:
                    if hand != queue:
                        victim = hand
                    while requested[victim]:
                        requested[victim] = False
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

    return simulate


fifo, lru, clock, sieve = (_kernel_of(way) for way in (FIFO, LRU, CLOCK, SIEVE))
