"""SIEVE (NSDI 2024): a hand walks from old to new objects; it clears the marks of those hit, and evicts the others.

The objects before the hand are one queue, those behind it the next one of three, in a ring. New objects enter before
the hand. When it has passed all, the queue behind it is the one before it, and the next round goes to the third.
"""

MECHANISM = "queues"


def before_the_hand(first, second, third):
    """The queue that the hand is in, of the two that are not empty."""
    if first > 0:
        return 3 if third > 0 else 1
    return 2 if second > 0 else 3 if third > 0 else 1


def insert(now, obj, cache, queues, ghost):
    return before_the_hand(queues.objects_1, queues.objects_2, queues.objects_3)


def hit(now, obj, cache, queues):
    return 0


def tail(now, obj, cache, queues):
    if obj.hits == 0:
        return -1
    return obj.queue % 3 + 1


def keep(now, obj, cache, queues):
    return 0


def share(queue, cache, queues):
    hand = before_the_hand(queues.objects_1, queues.objects_2, queues.objects_3)
    if queue == 0:
        return 0
    return 0 if queue == hand else cache.capacity
