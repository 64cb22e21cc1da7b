"""Least frequently used; of equals the one idle for longest."""


def priority(now, obj, cache, ghost):
    return obj.count + obj.last_access / (now + 1)
