"""LHD: evicts the object with the least hit density: expected hits per byte and request of its lifetime.

Density is learnt from the ages at which objects of a class were hit or evicted, over 16 classes by the sum of
an object's last two hit ages. Victims are the least dense of 32 random residents. Every 2**15 requests the
counts decay by a tenth and densities are recomputed (the authors' program does so every 2**20, longer than
many traces). One object in 32, at most 1 % of the bytes, is an explorer that stays until very old.

Ages are counted in units of 2**coarsening requests, chosen when the cache first evicts: 20,000 ages then span
at least a hundred requests for each resident object. Before that nothing is counted.
"""

import numpy as np

from vulcan.kernel_support import allocating_helper
from vulcan_cache.baselines._random_numbers import random_below
from vulcan_cache.kernels.common import baseline_kernel, miss

ABSENT = -1
NOT_CHOSEN = -1
CLASSES = 16
AGES = 20_000
LAST_AGE = AGES - 1
REQUESTS_PER_RESIDENT = 100
RECONFIGURE_EVERY = 1 << 15
DECAY = 0.9
SAMPLES = 32
EXPLORER_ONE_IN = 32


@allocating_helper
def _class_of(age_sum):
    """Return the class of an object by the sum of its last two hit ages: 0 for old, 15 for the youngest."""
    if age_sum == 0:
        return CLASSES - 1
    found = 0
    while age_sum < AGES and found < CLASSES - 1:
        age_sum <<= 1
        found += 1
    return found


@allocating_helper
def _learn(hits, evictions, densities):
    """Decay the counts and compute each class's density at each age, from the oldest age down."""
    hits *= DECAY
    evictions *= DECAY
    for group in range(CLASSES):
        hits_beyond = events_beyond = lifetime = 0.0
        for age in range(LAST_AGE, -1, -1):
            index = group * AGES + age
            hits_beyond += hits[index]
            events_beyond += hits[index] + evictions[index]
            lifetime += events_beyond
            densities[index] = hits_beyond / lifetime if events_beyond > 1e-5 else 0.0


@baseline_kernel
def simulate(objects, sizes, next_access, object_count, capacity, largest, measure_from, missed):
    """See `vulcan_cache.baselines`."""
    residents = np.empty(object_count, np.uint32)
    slots = np.empty(object_count, np.uint32)
    resident_size = np.full(object_count, ABSENT, np.int64)
    requested_at = np.zeros(object_count, np.int64)
    last_age = np.zeros(object_count, np.int64)
    group = np.zeros(object_count, np.int64)
    explorer = np.zeros(object_count, np.bool_)
    explorer_budget = max(1, capacity // 100)
    hits = np.zeros(CLASSES * AGES)
    evictions = np.zeros(CLASSES * AGES)
    densities = np.empty(CLASSES * AGES)
    for index in range(CLASSES * AGES):
        densities[index] = np.float64(1 + index // AGES) / np.float64(1 + index % AGES)
    coarsening = NOT_CHOSEN
    used = count = draws = 0
    counts = np.zeros(3, np.int64)
    for now in range(objects.size):
        if now > 0 and now % RECONFIGURE_EVERY == 0:
            _learn(hits, evictions, densities)
        obj = np.int64(objects[now])
        size = resident_size[obj]
        if size != ABSENT:
            if coarsening != NOT_CHOSEN:
                age = min((now - requested_at[obj]) >> coarsening, LAST_AGE)
                hits[group[obj] * AGES + age] += 1.0
                group[obj] = _class_of(age + last_age[obj])
                last_age[obj] = age
            if explorer[obj]:
                explorer_budget += size
        else:
            size = np.int64(sizes[now])
            if not miss(counts, missed, now, size, largest, measure_from):
                continue
            while used + size > capacity:
                if coarsening == NOT_CHOSEN:
                    coarsening = 0
                    while AGES << coarsening < REQUESTS_PER_RESIDENT * count:
                        coarsening += 1
                victim = np.int64(0)
                victim_age = np.int64(0)
                least = np.inf
                for _ in range(SAMPLES):
                    sampled = np.int64(residents[random_below(draws, count)])
                    draws += 1
                    age = min((now - requested_at[sampled]) >> coarsening, LAST_AGE)
                    if age == LAST_AGE:
                        density = -1.0
                    else:
                        density = densities[group[sampled] * AGES + age] / max(resident_size[sampled], 1)
                        if explorer[sampled]:
                            density += 1.0
                    if density < least:
                        victim, victim_age, least = sampled, age, density
                evictions[group[victim] * AGES + victim_age] += 1.0
                if explorer[victim]:
                    explorer_budget += resident_size[victim]
                last = residents[count - 1]
                residents[slots[victim]] = last
                slots[last] = slots[victim]
                count -= 1
                used -= resident_size[victim]
                resident_size[victim] = ABSENT
            slots[obj] = count
            residents[count] = obj
            count += 1
            resident_size[obj] = size
            used += size
            last_age[obj] = 0
            group[obj] = _class_of(AGES)
        requested_at[obj] = now
        explorer[obj] = random_below(draws, EXPLORER_ONE_IN) == 0 and explorer_budget > 0
        draws += 1
        if explorer[obj]:
            explorer_budget -= size
    return counts[0], counts[1], counts[2]
