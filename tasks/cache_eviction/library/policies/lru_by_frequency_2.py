"""Least recently used; while space is short, admits an object asked for more often than the one that would leave.

As TinyLFU does (ACM Transactions on Storage 2017), here with the counts of the ghost list instead of a sketch.
"""

MECHANISM = "heap"
ENOUGH = 2


def priority(now, obj, cache, ghost):
    return obj.last_access


def admit(now, obj, cache, victim, ghost):
    requests = ghost.count(obj.id) + 1
    return victim.count == 0 or requests > min(victim.count, ENOUGH)
