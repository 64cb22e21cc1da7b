"""Lru 2; written by hand."""

MECHANISM = "heap"


def priority(now, obj, cache, ghost):
    g = ghost.contains(obj.id)
    two = obj.last_access.recent(2) if obj.count > 1 else (obj.insertion - ghost.age(obj.id) - 0 if g else 0)
    return two if two > 0 else obj.last_access - 1e12
