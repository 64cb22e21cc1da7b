"""Gdsf ghost; written by hand."""

MECHANISM = "heap"
W=1.0
def priority(now, obj, cache, ghost):
    return cache.evicted_priority + (obj.count -0.99+ W*ghost.count(obj.id)) / obj.size
