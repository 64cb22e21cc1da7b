"""W-TinyLFU (ACM ToS 2017) that refuses objects larger than its window; see `w_tinylfu`."""

import math

MECHANISM = "queues"
WINDOW = 0.01
PROTECTED = 0.8
MAX_COUNTED = 15
REQUESTS_PER_OBJECT = 10
MAX_UNIT = 1e300
DOORKEEPER = 1
ROW = 16384  # each row takes other bits of one hash
STEP = 2048


class policy:
    door = [0.0] * 16384
    one = [0.0] * 16384
    two = [0.0] * 16384
    three = [0.0] * 16384
    unit = 1.0
    per = 1.0
    period = 1.0
    counted = 0.0
    counted_at = -1.0
    most_objects = 1.0
    goes = -1.0  # where the object at the window's tail goes


def window(capacity):
    return max(1, math.floor(capacity * WINDOW))


def protected(capacity):
    return min(max(0, math.floor((capacity - window(capacity)) * PROTECTED)), capacity)


def frequency(key):
    h = hash(key, 1)
    one = policy.one[h] * policy.per
    two = policy.two[h / ROW] * policy.per
    three = policy.three[h / ROW / ROW] * policy.per
    is_known = DOORKEEPER and policy.door[h / ROW / ROW / STEP] == policy.period
    return math.floor(max(0, min(one, two, three))) + is_known


def on_hit(now, obj, cache, queues, ghost, tails):
    h = hash(obj.id, 1)
    one = policy.one[h] * policy.per
    two = policy.two[h / ROW] * policy.per
    three = policy.three[h / ROW / ROW] * policy.per
    if policy.door[h / ROW / ROW / STEP] == policy.period or not DOORKEEPER:
        counted = min(max(0, min(one, two, three)) + 1, MAX_COUNTED)
        policy.one[h] = max(one, counted) * policy.unit
        policy.two[h / ROW] = max(two, counted) * policy.unit
        policy.three[h / ROW / ROW] = max(three, counted) * policy.unit
    policy.door[h / ROW / ROW / STEP] = policy.period
    policy.counted += now - policy.counted_at
    policy.counted_at = now
    policy.most_objects = max(policy.most_objects, cache.objects)
    if policy.counted >= REQUESTS_PER_OBJECT * policy.most_objects:
        policy.counted = policy.counted // 2
        policy.period += 1
        if abs(policy.unit) < MAX_UNIT:
            policy.unit = 2 * policy.unit
            policy.per = policy.per / 2
        else:
            policy.unit = -1 if policy.unit > 0 else 1
            policy.per = policy.unit


def on_miss(now, obj, cache, queues, ghost):
    h = hash(obj.id, 1)
    one = policy.one[h] * policy.per
    two = policy.two[h / ROW] * policy.per
    three = policy.three[h / ROW / ROW] * policy.per
    if policy.door[h / ROW / ROW / STEP] == policy.period or not DOORKEEPER:
        counted = min(max(0, min(one, two, three)) + 1, MAX_COUNTED)
        policy.one[h] = max(one, counted) * policy.unit
        policy.two[h / ROW] = max(two, counted) * policy.unit
        policy.three[h / ROW / ROW] = max(three, counted) * policy.unit
    policy.door[h / ROW / ROW / STEP] = policy.period
    policy.counted += now - policy.counted_at
    policy.counted_at = now
    policy.most_objects = max(policy.most_objects, cache.objects)
    if policy.counted >= REQUESTS_PER_OBJECT * policy.most_objects:
        policy.counted = policy.counted // 2
        policy.period += 1
        if abs(policy.unit) < MAX_UNIT:
            policy.unit = 2 * policy.unit
            policy.per = policy.per / 2
        else:
            policy.unit = -1 if policy.unit > 0 else 1
            policy.per = policy.unit


def on_room(now, obj, cache, queues, ghost, tails, ghosts, room):
    limit = window(cache.capacity)
    if queues.used_1 + obj.size > limit:
        main = cache.capacity - limit
        is_new = queues.objects_1 == 0
        needed = obj.size if is_new else tails.size_1
        if queues.used_2 + queues.used_3 + needed <= main:
            policy.goes = 2
            room.queue = 0 if is_new else 1
        else:
            victim = tails.id_2 if queues.used_2 > 0 else tails.id_3
            candidate = obj.id if is_new else tails.id_1
            if needed <= main and frequency(candidate) > frequency(victim):
                room.queue = 2 if queues.used_2 > 0 else 3
            else:
                policy.goes = -1
                room.queue = -1 if is_new else 1


def insert(now, obj, cache, queues, ghost):
    return -1 if obj.size > window(cache.capacity) else 1


def hit(now, obj, cache, queues):
    return 1 if obj.queue == 1 else 3


def tail(now, obj, cache, queues):
    if obj.queue == 1:
        return policy.goes
    return 2 if obj.queue == 3 and queues.used_3 > protected(cache.capacity) else -1


def keep(now, obj, cache, queues):
    return 0


def share(queue, cache, queues):
    if queue == 0:
        return 0
    return protected(cache.capacity) if queue == 3 else cache.capacity
