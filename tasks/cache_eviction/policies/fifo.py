"""First in, first out."""

MECHANISM = "heap"


def priority(now, obj, cache, ghost):
    return obj.insertion
