"""GreedyDual-Size-Frequency (Cherkasova, 1998): requests a byte, aged by the priority of what was evicted last."""

MECHANISM = "heap"


def priority(now, obj, cache, ghost):
    return cache.evicted_priority + obj.count / obj.size
