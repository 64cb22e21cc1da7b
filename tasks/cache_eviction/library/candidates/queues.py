"""Written by the offline generator (offline/evolve, not a language model) in keep: changed candidate 278: inserted a branch."""

MECHANISM = "queues"
SMALL = 0.1
PROMOTED_FROM = 2
REMEMBERED = 0.9
MAX_COUNTED = 3
THRESHOLD_2 = 19200
FACTOR_2 = 0.357


def insert(now, obj, cache, queues, ghost):
    filling = cache.evictions == 0 and queues.used_1 >= cache.capacity * SMALL // 1
    return 2 if filling or ghost.contains(obj.id) else 1


def hit(now, obj, cache, queues):
    return 2


def tail(now, obj, cache, queues):
    return 2 if obj.hits >= PROMOTED_FROM else 0


def keep(now, obj, cache, queues):
    part = min(obj.hits, MAX_COUNTED)
    part_2 = part - 1
    if queues.used_1 > THRESHOLD_2:
        return FACTOR_2 * part_2
    return part_2


def share(queue, cache, queues):
    return cache.capacity * REMEMBERED
