"""Written by the offline generator (offline/evolve, not a language model) changed candidate 4: freed an exponent, then inserted a factor."""

import math

MECHANISM = "heap"
W = 1.14
EXPONENT = 1.09
WEIGHT = 1.4
OFFSET = 0.748


def priority(now, obj, cache, ghost):
    return (cache.evicted_priority + (obj.count - OFFSET + W * ghost.count(obj.id)) ** EXPONENT / obj.size) * (1 + WEIGHT * math.log1p(now - obj.last_access))
