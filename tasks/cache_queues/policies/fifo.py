"""First in, first out: one queue."""


def insert(now, obj, cache, queues, ghost):
    return 1


def hit(now, obj, cache, queues):
    return 0


def tail(now, obj, cache, queues):
    return -1


def keep(now, obj, cache, queues):
    return 0


def share(queue, cache, queues):
    return cache.capacity if queue == 1 else 0
