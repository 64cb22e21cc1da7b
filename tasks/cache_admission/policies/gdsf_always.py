"""GreedyDual-Size-Frequency (Cherkasova, 1998): requests a byte, aged by the latest eviction; admits every object."""


def priority(now, obj, cache, ghost):
    return cache.evicted_priority + obj.count / obj.size


def admit(now, obj, cache, victim, ghost):
    return 1
