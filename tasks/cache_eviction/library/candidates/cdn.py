"""Written by the offline generator (offline/evolve, not a language model) changed candidate 100: inserted a factor, then inserted a factor."""

import math

MECHANISM = "heap"
FACTOR = 0.37
FACTOR_2 = 2.6
WEIGHT = 0.538


def priority(now, obj, cache, ghost):
    if obj.last_access * FACTOR_2 < cache.last_access.percentile(0.498):
        return FACTOR * (cache.evicted_priority + math.log1p(obj.count) / obj.size)
    return cache.evicted_priority + math.log1p(obj.count) * (1 + WEIGHT * ((now - obj.last_access.ewma(0.0271)) / (now - obj.insertion + 1))) / obj.size
