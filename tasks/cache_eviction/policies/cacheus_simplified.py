"""A simplified Cacheus (Rodriguez et al., FAST 2021): two experts, with weights and a learning rate that adapt.

For the mechanism `sample`. One expert is the paper's CR-LFU: the least frequently used, requests counting on while the
ghost list remembers the object, and of equals the most recently used. The other is a simplified SR-LRU: LRU in which an
object that was requested again is protected for a time. The paper keeps such objects in a list of its own, whose oldest
return to the other list when it is too long; which these are, a policy that sees one object at a time cannot know. So
the time adapts instead of the list's length, to the objects that come back after this expert evicted them: it shrinks
with each that had not been protected, and grows with each that had been, but too briefly. Weights and rate change as
in the paper: the rate follows the hit ratio's gradient over windows of as many requests as the cache has objects.
"""

import math

MECHANISM = "sample"
MIN_RATE = 0.001
MIN_WEIGHT = 0.01
PATIENCE = 10  # windows without improvement, after which the rate is drawn anew
STEP = 0.001  # of the protection, for each object in the cache
SR_LRU = 1
CR_LFU = 2


class policy:
    lru_weight = 0.5
    expert = SR_LRU  # the one that decides the next eviction
    protection = 0  # requests by which an object that had a hit outlives others
    rate = 0.45
    rate_before = 0
    hits = 0  # of this window
    requests = 0
    hit_ratio = 0  # of the window before
    unimproved = 0


class obj:
    expert = 0  # the one that evicted the object
    count_before = 0  # requests before it entered, as far as they are remembered


def on_hit(now, obj, cache, ghost):
    policy.hits += 1
    policy.requests += 1


def on_ghost_hit(now, obj, cache, ghost):
    obj.count_before += ghost.count(obj.id)
    lru = policy.lru_weight
    lfu = 1 - lru
    if obj.expert == SR_LRU:
        lru *= math.exp(-policy.rate)
        step = 1 + STEP * cache.objects
        longer = policy.protection + (step if ghost.count(obj.id) > 1 else -step)
        policy.protection = min(max(longer, 0), 10 * cache.objects)
    else:
        lfu *= math.exp(-policy.rate)
    policy.lru_weight = min(max(lru / (lru + lfu), MIN_WEIGHT), 1 - MIN_WEIGHT)


def on_miss(now, obj, cache, ghost):
    policy.requests += 1
    if policy.requests >= cache.objects > 0:
        hit_ratio = policy.hits / policy.requests
        gained = hit_ratio - policy.hit_ratio
        moved = policy.rate - policy.rate_before
        policy.rate_before = policy.rate
        if moved:
            change = abs(policy.rate * moved)
            policy.rate = min(max(policy.rate + (change if gained * moved > 0 else -change), MIN_RATE), 1)
            policy.unimproved = 0
        elif hit_ratio == 0 or gained <= 0:
            policy.unimproved += 1
            if policy.unimproved >= PATIENCE:
                policy.unimproved = 0
                policy.rate = MIN_RATE + (1 - MIN_RATE) * random()
        policy.hit_ratio = hit_ratio
        policy.hits = 0
        policy.requests = 0
    policy.expert = SR_LRU if random() < policy.lru_weight else CR_LFU


def on_evict(now, obj, cache, ghost):
    obj.expert = policy.expert
    policy.expert = SR_LRU if random() < policy.lru_weight else CR_LFU  # should the newcomer need more room


def priority(now, obj, cache, ghost):
    if policy.expert == SR_LRU:
        return obj.last_access + (policy.protection if obj.count > 1 else 0)
    return obj.count_before + obj.count + (now - obj.last_access) / (now + 1)
