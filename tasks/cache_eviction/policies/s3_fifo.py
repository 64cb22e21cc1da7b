"""S3-FIFO (SOSP 2023): a small FIFO filters what enters the main one, in which objects that were hit go round again.

A new object enters the small queue, or the main one if the ghost list knows it. At the small queue's end an object that
was hit twice moves to the main queue; another one leaves and is remembered. Until the first eviction, new objects that
find the small queue full go to the main one.
"""

MECHANISM = "queues"
SMALL = 0.1
REMEMBERED = 0.9
PROMOTED_FROM = 2
MAX_COUNTED = 3


def insert(now, obj, cache, queues, ghost):
    filling = cache.evictions == 0 and queues.used_1 >= cache.capacity * SMALL // 1
    return 2 if filling or ghost.contains(obj.id) else 1


def hit(now, obj, cache, queues):
    return 0


def tail(now, obj, cache, queues):
    if obj.queue == 1:
        return 2 if obj.hits >= PROMOTED_FROM else 0
    return 2 if obj.hits > 0 else -1


def keep(now, obj, cache, queues):
    return 0 if obj.queue == 1 else min(obj.hits, MAX_COUNTED) - 1


def share(queue, cache, queues):
    if queue == 0:
        return cache.capacity * REMEMBERED // 1
    small = cache.capacity * SMALL // 1
    return small if queue == 1 else cache.capacity - small
