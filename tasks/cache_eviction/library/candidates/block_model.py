"""Exponential decay in closed form: log worth plus time in half-lives."""

MECHANISM = "heap"
HALF_LIFE = 3.0
POWER = 2.0
SIZE = 1.0


def priority(now, obj, cache, ghost):
    frequency = obj.count + min(1.1, ghost.count(obj.id))
    worth = POWER * math.log2(frequency) - SIZE * math.log2(max(512, obj.size) / 4096)
    return worth + now / (1 + HALF_LIFE * cache.objects.max())
