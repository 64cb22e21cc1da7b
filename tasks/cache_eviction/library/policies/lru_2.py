"""Least recently used."""

MECHANISM = "heap"


def priority(now, obj, cache, ghost):
    return obj.last_access
