"""LeCaR: evicts by LRU or by LFU, drawn with weights learnt from regret.

Each evicted object is remembered in the ghost list of the policy that chose it (half the capacity each), in
neither where both choose the same object. A request for a ghost multiplies the other policy's weight by
`exp(0.45 * 0.005 ** (age / residents))`, `age` being the requests since the eviction and `residents` the
objects in the cache. Weights stay within [0.01, 0.99], as in the authors' program. A returning object starts
at frequency 1.
"""

import math

import numpy as np

from vulcan_cache.baselines._lists import empty_lists, move_to_newest, oldest, push_newest, unlink
from vulcan_cache.baselines._random_numbers import random_share
from vulcan_cache.kernels import heap
from vulcan_cache.kernels.common import U, baseline_kernel, miss

NOWHERE, RESIDENT, LRU_GHOST, LFU_GHOST = 0, 1, 2, 3
LEARNING_RATE = 0.45
DISCOUNT = 0.005
MIN_WEIGHT = 0.01


@baseline_kernel
def simulate(objects, sizes, next_access, object_count, capacity, largest, measure_from, missed):
    """See `vulcan_cache.baselines`."""
    links = empty_lists(object_count, 4)  # list RESIDENT, LRU_GHOST or LFU_GHOST has the sentinel queue + its number
    queue = object_count
    nodes, places = heap.empty(object_count)
    residents = U(0)
    place = np.zeros(object_count, np.uint8)
    frequency = np.zeros(object_count, np.int64)
    evicted_at = np.zeros(object_count, np.int64)
    kept_size = np.zeros(object_count, np.int64)
    used = np.zeros(4, np.int64)
    ghost_capacity = capacity // 2
    draws = 0
    lru_weight = 0.5
    counts = np.zeros(3, np.int64)
    for now in range(objects.size):
        obj = np.int64(objects[now])
        found = np.int64(place[obj])
        if found == RESIDENT:
            move_to_newest(links, queue + RESIDENT, obj)
            frequency[obj] += 1
            key = heap.key_of(np.float64(frequency[obj]))
            heap.settle(nodes, places, U(places[obj]), residents, key, heap.entry_of(U(now), U(obj)))
            continue
        size = np.int64(sizes[now])
        fits = miss(counts, missed, now, size, largest, measure_from)
        if found != NOWHERE:
            age = np.float64(now - evicted_at[obj])
            boost = math.exp(LEARNING_RATE * DISCOUNT ** (age / max(np.int64(residents), 1)))
            lru_boosted = lru_weight * boost if found == LFU_GHOST else lru_weight
            lfu_boosted = (1.0 - lru_weight) * boost if found == LRU_GHOST else 1.0 - lru_weight
            lru_weight = lru_boosted / (lru_boosted + lfu_boosted)
            lru_weight = min(max(lru_weight, MIN_WEIGHT), 1.0 - MIN_WEIGHT)
            unlink(links, obj)
            place[obj] = NOWHERE
            used[found] -= kept_size[obj]
        if not fits:
            continue
        while used[RESIDENT] + size > capacity:
            victim = oldest(links, queue + RESIDENT)
            lfu_victim = np.int64(heap.object_in(nodes[heap.ROOT_ENTRY]))
            ghosts = NOWHERE
            if victim != lfu_victim:
                ghosts = LRU_GHOST
                if random_share(draws) >= lru_weight:
                    victim = lfu_victim
                    ghosts = LFU_GHOST
                draws += 1
            unlink(links, victim)
            residents = heap.take_out(nodes, places, residents, U(places[victim]))
            victim_size = kept_size[victim]
            used[RESIDENT] -= victim_size
            place[victim] = NOWHERE
            if ghosts != NOWHERE and victim_size <= ghost_capacity:
                while used[ghosts] + victim_size > ghost_capacity:
                    forgotten = oldest(links, queue + ghosts)
                    unlink(links, forgotten)
                    place[forgotten] = NOWHERE
                    used[ghosts] -= kept_size[forgotten]
                push_newest(links, queue + ghosts, victim)
                place[victim] = ghosts
                evicted_at[victim] = now
                used[ghosts] += victim_size
        push_newest(links, queue + RESIDENT, obj)
        frequency[obj] = 1
        residents = heap.push(nodes, places, residents, heap.key_of(1.0), heap.entry_of(U(now), U(obj)))
        place[obj] = RESIDENT
        kept_size[obj] = size
        used[RESIDENT] += size
    return counts[0], counts[1], counts[2]
