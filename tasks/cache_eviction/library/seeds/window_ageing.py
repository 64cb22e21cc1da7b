"""Window ageing; written by hand."""

MECHANISM = "heap"
P=0.3
def priority(now, obj, cache, ghost):
    idle = now - obj.last_access
    return (cache.id.count(obj.id, 4096)-0.9) / (idle / cache.objects + 1) ** P
