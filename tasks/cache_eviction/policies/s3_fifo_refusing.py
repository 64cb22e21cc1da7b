"""S3-FIFO (SOSP 2023) as libCacheSim has it: refuses objects that are larger than the small queue; see `s3_fifo`."""

MECHANISM = "queues"
SMALL = 0.1
REMEMBERED = 0.9
PROMOTED_FROM = 2
MAX_COUNTED = 3


def insert(now, obj, cache, queues, ghost):
    if obj.size > max(1, cache.capacity * SMALL // 1):
        return -1
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
