"""Mru window; written by hand."""

MECHANISM = "heap"


def priority(now, obj, cache, ghost):
    f = cache.id.count(obj.id, 4096)
    return f + (-obj.last_access/(now+1) if f < 2 else obj.last_access/(now+1))
