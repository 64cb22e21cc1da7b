"""Written by the offline generator (offline/evolve, not a language model) changed candidate 54: replaced a part."""

MECHANISM = "sample"
EXPONENT = 0.275
BONUS = 9.79


def priority(now, obj, cache, ghost):
    return (cache.id.count(obj.id, 4096) + (1 + BONUS * ghost.contains(obj.id))) * abs((now - obj.insertion) / (now - obj.last_access + 1)) ** EXPONENT
