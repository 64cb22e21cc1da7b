"""LeCaR (Vietri et al., HotStorage 2018): evicts by LRU or by LFU, drawn with weights learnt from regret.

For the mechanism `sample`, since the expert changes from one eviction to the next. Weights, discount and ghosts are
those of the baseline `lecar`. Where every object is drawn, both experts are exact; with sixteen draws they find an
object that is nearly the least recently or frequently used, and miss ratios are mostly within 0.01 of the baseline's.
The other differences are small: an object that both experts would evict counts as evicted by the one drawn, a ghost
that returns makes no room for older ones, and ghosts are no older than the mechanism's ghost list.
"""

import math

MECHANISM = "sample"
LEARNING_RATE = 0.45
DISCOUNT = 0.005  # of the regret, after as many requests as the cache holds objects
MIN_WEIGHT = 0.01
LRU = 1
LFU = 2


class policy:
    lru_weight = 0.5
    expert = LRU  # the one that decides the next eviction
    lru_evicted = 0  # bytes evicted by each so far
    lfu_evicted = 0


class obj:
    expert = 0  # the one that evicted the object
    evicted_before = 0  # the bytes that this expert had evicted by then


def regret(age, objects):
    return math.exp(LEARNING_RATE * DISCOUNT ** (age / max(objects, 1)))


def on_ghost_hit(now, obj, cache, ghost):
    lru = policy.lru_weight
    lfu = 1 - lru
    if obj.expert == LRU:
        if policy.lru_evicted - obj.evicted_before <= cache.capacity / 2:
            lfu *= regret(ghost.age(obj.id), cache.objects)
    elif policy.lfu_evicted - obj.evicted_before <= cache.capacity / 2:
        lru *= regret(ghost.age(obj.id), cache.objects)
    policy.lru_weight = min(max(lru / (lru + lfu), MIN_WEIGHT), 1 - MIN_WEIGHT)


def on_miss(now, obj, cache, ghost):
    policy.expert = LRU if random() < policy.lru_weight else LFU


def on_evict(now, obj, cache, ghost):
    obj.expert = policy.expert
    if policy.expert == LRU:
        obj.evicted_before = policy.lru_evicted
        policy.lru_evicted += obj.size
    else:
        obj.evicted_before = policy.lfu_evicted
        policy.lfu_evicted += obj.size
    policy.expert = LRU if random() < policy.lru_weight else LFU  # should the newcomer need more room


def priority(now, obj, cache, ghost):
    if policy.expert == LRU:
        return obj.last_access
    return obj.count + obj.last_access / (now + 1)
