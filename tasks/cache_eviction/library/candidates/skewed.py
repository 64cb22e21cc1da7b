"""Written by the offline generator (offline/evolve, not a language model) changed candidate 54: inserted a factor."""

MECHANISM = "heap"
OFFSET = 0.748


def priority(now, obj, cache, ghost):
    return (cache.evicted_priority + (obj.count - OFFSET + ghost.count(obj.id))) / obj.size
