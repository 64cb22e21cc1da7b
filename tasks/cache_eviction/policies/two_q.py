"""2Q (VLDB 1994): a FIFO for new objects, and an LRU list for those that return after leaving it.

What is pushed out of the FIFO, which has a quarter of the capacity, is remembered in a ghost list of half the capacity.
"""

MECHANISM = "queues"
IN = 0.25
OUT = 0.5


def insert(now, obj, cache, queues, ghost):
    return 1 if ghost.contains(obj.id) else 2


def hit(now, obj, cache, queues):
    return 1 if obj.queue == 1 else 0


def tail(now, obj, cache, queues):
    return 0 if obj.queue == 2 else -1


def keep(now, obj, cache, queues):
    return 0


def share(queue, cache, queues):
    if queue == 0:
        return cache.capacity * OUT // 1
    newcomers = cache.capacity * IN // 1
    return newcomers if queue == 2 else cache.capacity - newcomers
