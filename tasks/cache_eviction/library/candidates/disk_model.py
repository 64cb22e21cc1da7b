GAIN = 7.69
SCALE = 3490
LIMIT = 5.58
WEIGHT = 0.811


def priority(now, obj, cache, ghost):
    idle = (now - obj.last_access) / cache.objects
    rehit = cache.count.count(2, 2048) / SCALE
    slope = min(1, GAIN * rehit)
    freq = 1 + LIMIT
    freq += WEIGHT * ghost.count(obj.id)
    p = freq / obj.size
    return p * (1 + slope * idle)
