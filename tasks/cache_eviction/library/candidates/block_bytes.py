"""Written by the offline generator (offline/evolve, not a language model) changed candidate 462: swapped a feature for one of its unit."""

import math

MECHANISM = "heap"
FACTOR = 1.1
THRESHOLD = 1.98
WEIGHT = 0.618
FACTOR_2 = 4.1
WEIGHT_2 = 3.6
WEIGHT_3 = 0.841


def priority(now, obj, cache, ghost):
    holds = obj.count > THRESHOLD
    part = obj.insertion - ghost.age(obj.id)
    part_2 = part - 0
    since_insertion = now - obj.insertion
    part_3 = part_2 if ghost.contains(obj.id) else 0
    return (((FACTOR * obj.last_access.recent(2) if since_insertion > obj.count * FACTOR_2 else obj.insertion) if holds else part_3) if (obj.last_access.recent(2) if holds + WEIGHT_3 * math.log1p(now - obj.last_access.ewma(0.466)) else part_3) > 0 else obj.last_access - 1000000000000) + WEIGHT * since_insertion - WEIGHT_2 * obj.count
