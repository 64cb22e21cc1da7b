"""CLOCK: one queue in which an object that was hit since it was last at the tail goes round again."""

MECHANISM = "queues"


def insert(now, obj, cache, queues, ghost):
    return 1


def hit(now, obj, cache, queues):
    return 0


def tail(now, obj, cache, queues):
    return 1 if obj.hits > 0 else -1


def keep(now, obj, cache, queues):
    return 0


def share(queue, cache, queues):
    return cache.capacity if queue == 1 else 0
