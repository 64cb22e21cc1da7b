"""LHD (Beckmann, Chen and Cidon, NSDI 2018): evicts the object with the least hit density, learnt online.

Hit density is the expected number of hits per byte and request of the object's remaining time in the cache, for its age
and its class, which comes from its last two ages at a hit. For the mechanism `sample`. Classes, units of age, decay and
explorers are those of the baseline `lhd`, which draws 32 objects. Two things differ, for the bounds on memory and
operations: ages are counted in 458 bins of 1/32 octave, not in 20,000 units, and recomputing the densities takes 115
evictions, 64 bins at each.
"""

import math

MECHANISM = "sample"
AGES = 20000
BINS_PER_OCTAVE = 32
BINS = 458  # of the 512 elements of a class
DECAY = 0.9
REQUESTS = 32768  # after which densities are recomputed
EXPLORERS = 0.03125  # one object in 32 stays until it is very old,
EXPLORER_BYTES = 0.01  # while they occupy no more than this share


class policy:
    unit = 0  # requests per unit of age, chosen at the first eviction
    hits = [0.0] * 8192
    evictions = [0.0] * 8192
    density = [0.0] * 8192
    is_learnt = 0
    explored = 0  # bytes of explorers
    # the recomputation, from the last class to the first and from old to young
    group = 15
    bin = 457
    hits_beyond = 0
    events_beyond = 0
    lifetime = 0
    due = REQUESTS  # when the next one begins


class obj:
    requested = 0
    last_age = 0
    group = 0
    is_explorer = 0


def age_of(idle, unit):
    return min(max(idle, 0) // max(unit, 1), AGES - 1)


def bin_of(age):
    return math.floor(BINS_PER_OCTAVE * math.log2(max(1 + age, 1)))


def class_of(ages):
    return min(max(math.ceil(math.log2(AGES / ages)), 0), 15) if ages > 0 else 15


def on_hit(now, obj, cache, ghost):
    if policy.unit:
        age = age_of(now - obj.requested, policy.unit)
        policy.hits[512 * obj.group + bin_of(age)] += 1
        obj.group = class_of(age + obj.last_age)
        obj.last_age = age
    obj.requested = now
    policy.explored -= obj.size * obj.is_explorer
    obj.is_explorer = random() < EXPLORERS and policy.explored < EXPLORER_BYTES * cache.capacity
    policy.explored += obj.size * obj.is_explorer


def on_insert(now, obj, cache, ghost):
    obj.group = 0
    obj.last_age = 0
    obj.requested = now
    obj.is_explorer = random() < EXPLORERS and policy.explored < EXPLORER_BYTES * cache.capacity
    policy.explored += obj.size * obj.is_explorer


def on_evict(now, obj, cache, ghost):
    if not policy.unit:
        # 20,000 units are then at least a hundred requests for each object in the cache
        policy.unit = 2 ** max(math.ceil(math.log2(max(cache.objects, 1) / 200)), 0)
    age = age_of(now - obj.last_access, policy.unit)
    policy.evictions[512 * obj.group + bin_of(age)] += 1
    policy.explored -= obj.size * obj.is_explorer
    if now >= policy.due:
        for _ in range(64):
            at = 512 * policy.group + policy.bin
            policy.hits[at] *= DECAY
            policy.evictions[at] *= DECAY
            policy.hits_beyond += policy.hits[at]
            policy.events_beyond += policy.hits[at] + policy.evictions[at]
            ages = 2 ** ((policy.bin + 1) / BINS_PER_OCTAVE) - 2 ** (policy.bin / BINS_PER_OCTAVE)
            policy.lifetime += policy.events_beyond * ages
            is_known = policy.events_beyond > 0.00001
            density = policy.hits_beyond / max(policy.lifetime, 1e-9) if is_known else 0
            policy.density[at] = min(max(density, 0), 1e9)  # a bound on priorities that can be proved
            policy.bin -= 1
            if policy.bin < 0:
                policy.bin = BINS - 1
                policy.hits_beyond = 0
                policy.events_beyond = 0
                policy.lifetime = 0
                policy.group -= 1
                if policy.group < 0:
                    policy.group = 15
                    policy.is_learnt = 1
                    policy.due = now - now % REQUESTS + REQUESTS
                    break


def priority(now, obj, cache, ghost):
    age = age_of(now - obj.last_access, policy.unit)
    density = policy.density[512 * obj.group + bin_of(age)] if policy.is_learnt else (1 + obj.group) / max(1 + age, 1)
    return -1 if age == AGES - 1 else density / obj.size + obj.is_explorer
