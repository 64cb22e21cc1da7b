"""Reuse recency; written by hand."""

MECHANISM = "heap"


def priority(now, obj, cache, ghost):
    idle = now - obj.last_access
    life = now - obj.insertion
    gap = life / obj.count if obj.count > 1 else (ghost.age(obj.id) if ghost.contains(obj.id) else 1e9)
    return -max(gap, idle)
