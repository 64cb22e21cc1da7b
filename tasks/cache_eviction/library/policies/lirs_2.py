"""LIRS (SIGMETRICS 2002): objects of low inter-reference recency (LIR) fill 99 % of the cache, others pass through.

Queue 1 is Q, the resident objects of high recency (HIR), and queue 2 holds the LIR objects by their latest requests;
the ghost list has the HIR objects that left. Stack S needs no queue: pruned, it ends with the LIR object at the tail of
queue 2, so an object is in S if it was last requested after that one. A HIR object that is requested while in S becomes
LIR, and LIR objects from the tail become HIR until the LIR set fits.

As in the native kernel `lirs`, a missed object for which the LIR set has room becomes LIR, and one that is larger than
the whole set never does. The kernel forgets objects that left when S exceeds twice the capacity; here the ghost list
holds at most the capacity, and among these bytes are objects that have left S since.
"""

import math

MECHANISM = "queues"
HIR = 0.01


class policy:
    bottom = 0.0  # when the object at the bottom of S was requested
    moves_up = 0.0  # the object at hand becomes LIR


class obj:
    requested = 0.0


def lir_capacity(capacity):
    return capacity - max(1, math.floor(capacity * HIR))


def on_hit(now, obj, cache, queues, ghost, tails):
    in_stack = obj.requested > tails.last_access_2
    policy.moves_up = in_stack and obj.size <= lir_capacity(cache.capacity)
    obj.requested = now


def on_miss(now, obj, cache, queues, ghost):
    policy.moves_up = 0


def on_room(now, obj, cache, queues, ghost, tails, ghosts, room):
    limit = lir_capacity(cache.capacity)
    if cache.used + obj.size > cache.capacity:
        policy.bottom = tails.last_access_2
        room.queue = 1 if queues.objects_1 > 0 else 2
    else:
        in_stack = ghost.contains(obj.id) and obj.requested > tails.last_access_2
        becomes_lir = obj.size <= limit and (in_stack or queues.used_2 + obj.size <= limit)
        policy.moves_up = policy.moves_up or becomes_lir
        if policy.moves_up and queues.used_2 + obj.size > limit:
            room.queue = 2


def on_insert(now, obj, cache, queues, ghost):
    obj.requested = now


def insert(now, obj, cache, queues, ghost):
    return 2 if policy.moves_up else 1


def hit(now, obj, cache, queues):
    return 2 if obj.queue == 2 or policy.moves_up else 1


def tail(now, obj, cache, queues):
    if obj.queue == 2:
        return 1
    return 0 if obj.last_access > policy.bottom else -1


def keep(now, obj, cache, queues):
    return 0


def share(queue, cache, queues):
    return lir_capacity(cache.capacity) if queue == 2 else cache.capacity
