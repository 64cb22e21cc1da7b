"""Segmented LRU: a hit moves an object one of four segments up, and what that pushes out of a segment moves one down.

Each segment has a quarter of the capacity. A new object enters the lowest one that has room; the lowest also takes what
the others leave.
"""

MECHANISM = "queues"
SEGMENTS = 4


def insert(now, obj, cache, queues, ghost):
    segment = cache.capacity // SEGMENTS
    if queues.used_1 + obj.size <= segment:
        return 1
    if queues.used_2 + obj.size <= segment:
        return 2
    if queues.used_3 + obj.size <= segment:
        return 3
    return 4 if queues.used_4 + obj.size <= segment else 1


def hit(now, obj, cache, queues):
    return min(obj.queue + 1, 4) if obj.size <= cache.capacity // SEGMENTS else obj.queue


def tail(now, obj, cache, queues):
    upper = queues.used_4 if obj.queue == 4 else queues.used_3 if obj.queue == 3 else queues.used_2
    pushed_out = obj.queue > 1 and upper > cache.capacity // SEGMENTS
    return obj.queue - 1 if pushed_out else -1


def keep(now, obj, cache, queues):
    return 0


def share(queue, cache, queues):
    if queue == 0:
        return 0
    return cache.capacity if queue == 1 else cache.capacity // SEGMENTS
