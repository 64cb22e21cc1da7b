"""Least recently used; while space is short, admits no object that is much larger than those in the cache.

A threshold on sizes as AdaptSize has it (NSDI 2017), here a multiple of the mean size instead of one that is fitted.
"""

MECHANISM = "heap"
TIMES_THE_MEAN = 4


def priority(now, obj, cache, ghost):
    return obj.last_access


def admit(now, obj, cache, victim, ghost):
    has_room = cache.used + obj.size <= cache.capacity
    return has_room or obj.size * cache.objects <= TIMES_THE_MEAN * cache.used
