"""Least frequently used; of equals the one idle for longest."""

MECHANISM = "heap"


def priority(now, obj, cache, ghost):
    return obj.count + obj.last_access / (now + 1)
