"""A simplified LRB (Song et al., NSDI 2020): evicts what a model learnt online expects back last, per byte.

LRB trains boosted trees on 32 gaps between requests and ten decayed counts of an object. Here the model is a linear
regression of the logarithm of the time to the next request, by normalised least mean squares, on the logarithms of idle
time, last gap, count and size. For the mechanism `sample`, which shows true idle times. It learns

- from each hit, at a random moment since the request before, late ones being likelier; weighted by the time between the
  two, as in LRB, which samples objects at random times,
- from each ghost that comes back, at the moment of its eviction,
- from each eviction, that the object comes back after HORIZON times the ghost list's memory (LRB: beyond the memory
  window), weighted by the share of evicted objects that do not come back sooner.

Ranked by time and size together, as the baseline `belady-size-sampled` is, for the ratio of requests missed; with
SIZE_WEIGHT 0 it is LRB's goal, the ratio of bytes missed.
"""

import math

MECHANISM = "heap"
LEARNING_RATE = 0.02
SIZE_WEIGHT = 1.0
HORIZON = 8.0
SLOWNESS = 0.001  # of the averages


class policy:
    # the model's weights
    base = 3.0
    idle = 0.5
    gap = 0.2
    no_gap = 1.0
    count = -0.3
    size = 0.0
    returning = 0.2  # the share of evicted objects that come back as ghosts
    between = 1.0  # requests from eviction to eviction
    evicted_at = 0


class obj:
    requested = 0
    gap = 0  # between its last two requests, 0 while there was one


def log(x):
    return math.log2(max(x, 1))


def prediction(idle, gap, no_gap, count, size):
    known = policy.base + policy.idle * idle + policy.gap * gap
    predicted = known + policy.no_gap * no_gap + policy.count * count + policy.size * size
    return min(max(predicted, -100), 100)


def step(rate, time, idle, gap, no_gap, count, size):
    error = log(1 + time) - prediction(idle, gap, no_gap, count, size)
    return rate * error / (1 + idle * idle + gap * gap + no_gap + count * count + size * size)


def on_hit(now, obj, cache, ghost):
    elapsed = now - obj.requested
    waited = elapsed * math.sqrt(random())
    idle = log(1 + waited)
    gap = log(1 + obj.gap)
    no_gap = obj.gap == 0
    count = log(obj.count - 1)
    size = log(obj.size)
    rate = LEARNING_RATE * min(elapsed / max(policy.between * cache.objects, 1), 1)
    change = step(rate, elapsed - waited, idle, gap, no_gap, count, size)
    policy.base += change
    policy.idle += change * idle
    policy.gap += change * gap
    policy.no_gap += change * no_gap
    policy.count += change * count
    policy.size += change * size
    obj.gap = elapsed
    obj.requested = now


def on_ghost_hit(now, obj, cache, ghost):
    elapsed = now - obj.requested
    idle = log(1 + elapsed - ghost.age(obj.id))
    gap = log(1 + obj.gap)
    no_gap = obj.gap == 0
    count = log(ghost.count(obj.id))
    size = log(obj.size)
    change = step(LEARNING_RATE, ghost.age(obj.id), idle, gap, no_gap, count, size)
    policy.base += change
    policy.idle += change * idle
    policy.gap += change * gap
    policy.no_gap += change * no_gap
    policy.count += change * count
    policy.size += change * size
    policy.returning += SLOWNESS
    obj.gap = elapsed


def on_evict(now, obj, cache, ghost):
    policy.returning -= SLOWNESS * policy.returning
    policy.between += SLOWNESS * (now - policy.evicted_at - policy.between)
    policy.evicted_at = now
    idle = log(1 + now - obj.last_access)
    gap = log(1 + obj.gap)
    no_gap = obj.gap == 0
    count = log(obj.count)
    size = log(obj.size)
    rate = LEARNING_RATE * max(1 - policy.returning, 0)
    change = step(rate, HORIZON * policy.between * cache.objects, idle, gap, no_gap, count, size)
    policy.base += change
    policy.idle += change * idle
    policy.gap += change * gap
    policy.no_gap += change * no_gap
    policy.count += change * count
    policy.size += change * size


def on_insert(now, obj, cache, ghost):
    obj.requested = now


def priority(now, obj, cache, ghost):
    idle = log(1 + now - obj.last_access)
    size = log(obj.size)
    return -prediction(idle, log(1 + obj.gap), obj.gap == 0, log(obj.count), size) - SIZE_WEIGHT * size
