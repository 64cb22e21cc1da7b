"""Least recently used."""


def priority(now, obj, cache, ghost):
    return obj.last_access
