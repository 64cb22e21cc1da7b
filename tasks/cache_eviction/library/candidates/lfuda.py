"""LFU with dynamic ageing (Arlitt et al., 2000): requests, aged by the priority of what was evicted last."""

MECHANISM = "heap"


def priority(now, obj, cache, ghost):
    return cache.evicted_priority + obj.count
