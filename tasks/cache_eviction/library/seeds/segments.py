"""Segments; written by hand."""

MECHANISM = "heap"
A=0.1
def priority(now, obj, cache, ghost):
    hot = obj.count > 1 or ghost.contains(obj.id)
    idle = now - obj.last_access
    return -idle if hot else -idle / A
