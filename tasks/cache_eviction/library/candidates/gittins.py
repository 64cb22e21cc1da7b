"""Evicts the object with the lowest Gittins index: the best rate of hits that it may still promise, learnt online.

An object that stays takes up room at every request and may bring a hit. Its index at an age (requests since its latest
one) is the largest ratio, over all times until which it might be kept, of the chance of a hit by then to the expected
time that it stays. LHD (NSDI 2018) takes the ratio for one of these, the object's end. So of objects that return after
a long time, as in loops, the older is worth more, and of those that return soon or never the younger.

Hits and ends are counted by age, for objects requested once, twice, up to eight times, and more often; of the last
three groups one that has seen little borrows from all. The ghost list tells of hits that came too late: an eviction
counts as an end when the ghost list will have forgotten the object, and is taken back if it returns before. For the
mechanism `sample`. The square root of the size is between the ratio of requests missed and that of bytes.
"""

import math

MECHANISM = "sample"
PER_OCTAVE = 2  # ages, the oldest being
OLDEST = 6  # octaves beyond as many requests as the cache holds objects
OFTEN = 1.5  # octaves of requests in a group
MEMORY = 8.0  # evictions of the whole cache
BORROWED = 10.0  # events
PRIOR = 0.02
SIZE_WEIGHT = 0.5


class policy:
    # 32 ages of 4 groups; then of all objects requested more than once, and of the others
    hits = [0.02] * 256
    ends = [0.02] * 256
    index = [0.0] * 128
    won = [0.0] * 64  # hits at an age and later, and the time until then
    time = [0.0] * 64
    events = [1.28] * 2  # in each of these two
    unit = 0  # as many requests as the cache held objects at its first eviction
    group = 0  # whose index is computed next
    between = 1.0  # requests from eviction to eviction
    evicted_at = 0


class obj:
    requested = 0
    times = 0
    ended = 0  # the age at which its eviction counts as an end


def age_of(idle, unit):
    octaves = math.log2((1 + max(idle, 0)) / max(1, unit)) - OLDEST
    return min(max(math.floor(PER_OCTAVE * octaves) + 31, 0), 31)


def group_of(times):
    return min(math.ceil(math.log2(max(times, 1)) / OFTEN), 3)


def wider(group):
    return 4 if group > 0 else 5


def on_hit(now, obj, cache, ghost):
    age = age_of(now - obj.requested, policy.unit)
    group = group_of(obj.times)
    policy.hits[32 * group + age] += 1
    policy.hits[32 * wider(group) + age] += 1
    obj.times += 1
    obj.requested = now


def on_ghost_hit(now, obj, cache, ghost):
    age = age_of(now - obj.requested, policy.unit)
    group = group_of(obj.times)
    policy.ends[32 * group + obj.ended] -= 1
    policy.ends[32 * wider(group) + obj.ended] -= 1
    policy.hits[32 * group + age] += 1
    policy.hits[32 * wider(group) + age] += 1


def on_insert(now, obj, cache, ghost):
    obj.times += 1
    obj.requested = now


def on_evict(now, obj, cache, ghost):
    if policy.unit == 0:
        policy.unit = max(1, cache.objects)
    policy.between += 0.01 * (now - policy.evicted_at - policy.between)
    policy.evicted_at = now
    obj.ended = age_of(now - obj.last_access + policy.between * cache.objects, policy.unit)
    group = group_of(obj.times)
    policy.ends[32 * group + obj.ended] += 1
    policy.ends[32 * wider(group) + obj.ended] += 1
    # the next group: forget a little, and compute the index from the oldest age to the youngest
    policy.group = (policy.group + 1) % 4
    most = wider(policy.group)
    keep = 1 - 4 / (4 + MEMORY * cache.objects)
    keep_all = keep if policy.group < 2 else 1
    share = BORROWED / max(policy.events[most - 4], 0.001)
    left = 0
    events = 0
    for k in range(32):
        age = 31 - k
        own = 32 * policy.group + age
        all = 32 * most + age
        policy.hits[own] *= keep
        policy.ends[own] = max(policy.ends[own], 0) * keep
        policy.hits[all] *= keep_all
        policy.ends[all] = max(policy.ends[all], 0) * keep_all
        events += policy.hits[all] + policy.ends[all] + 2 * PRIOR
        hits = policy.hits[own] + share * (policy.hits[all] + PRIOR)
        gone = hits + policy.ends[own] + share * (policy.ends[all] + PRIOR)
        policy.won[age] = policy.won[age + 1] + hits
        policy.time[age] = policy.time[age + 1] + (left + gone / 2) * 2 ** (age / PER_OCTAVE)
        left += gone
        best = policy.won[age] / max(policy.time[age], 1e-9)
        for j in range(5):
            later = age + 2**j
            if later > 31:
                break
            spent = policy.time[age] - policy.time[later]
            best = max(best, (policy.won[age] - policy.won[later]) / max(spent, 1e-9))
        policy.index[own] = min(max(best, 0), 1e9)
    policy.events[most - 4] = events


def priority(now, obj, cache, ghost):
    age = age_of(now - obj.last_access, policy.unit)
    return policy.index[32 * group_of(obj.times) + age] / obj.size**SIZE_WEIGHT
