"""ARC (FAST 2003): a recency list and a frequency list, whose ghosts' hits move the target size of the former.

Queue 1 is T1, the objects requested once, and queue 2 is T2, in the order of requests; B1 and B2 are the ghost lists.
As in the native kernel `arc`, bytes stand in place of pages: T1 and B1 stay within the capacity, and all four lists
within twice the capacity. For objects of one size the decisions are the kernel's; else B2 may hold no more than the
capacity here, and a little more there while large objects leave gaps in the cache.
"""

MECHANISM = "queues"


class policy:
    target = 0.0
    back_from = 0.0  # the ghost list that the object at hand was on


class obj:
    left = 0.0  # the queue that it left, which is the number of its ghost list
    was = 0.0  # its size then


def on_ghost_hit(now, obj, cache, queues, ghost):
    policy.back_from = obj.left


def on_evict(now, obj, cache, queues, ghost):
    obj.left = obj.queue
    obj.was = obj.size


def on_room(now, obj, cache, queues, ghost, tails, ghosts, room):
    back = ghost.contains(obj.id) * obj.left
    if policy.back_from == 1:
        ratio = ghosts.used_2 / max(1, ghosts.used_1 + obj.was)
        policy.target = min(cache.capacity, policy.target + obj.size * max(1, ratio))
    elif policy.back_from == 2:
        ratio = ghosts.used_1 / max(1, ghosts.used_2 + obj.was)
        policy.target = max(0, policy.target - obj.size * max(1, ratio))
    policy.back_from = 0
    if back == 0 and queues.used_1 + ghosts.used_1 + obj.size > cache.capacity:
        room.queue = 5 if ghosts.used_1 > 0 else 1
        room.list = 0
    elif cache.used + obj.size > cache.capacity:
        over = queues.used_1 > policy.target or (back == 2 and queues.used_1 == policy.target)
        chosen = 1 if queues.used_1 > 0 and (over or queues.used_2 == 0) else 2
        room.queue = chosen
        room.list = chosen
    elif cache.used + ghosts.used_1 + ghosts.used_2 + obj.size > 2 * cache.capacity:
        room.queue = 6


def insert(now, obj, cache, queues, ghost):
    return 2 if ghost.contains(obj.id) else 1


def hit(now, obj, cache, queues):
    return 2


def tail(now, obj, cache, queues):
    return 0


def keep(now, obj, cache, queues):
    return 0


def share(queue, cache, queues):
    return cache.capacity
