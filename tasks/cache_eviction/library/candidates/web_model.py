START = 1.2
SLOPE = 4.0
FLOOR = 0.4
OVERDUE = 6.0


def priority(now, obj, cache, ghost):
    span = cache.objects + 1
    x = max(0, now - obj.last_access) / span
    age = max(0, now - obj.insertion) / span
    szf = math.log2(obj.size + 16)
    freq = obj.count - 1 + 2 * ghost.contains(obj.id) + 0.7 * ghost.count(obj.id)
    if freq < 1:
        v = START - SLOPE * age
        if v > 0:
            return v / szf
        return v * szf
    gap = (age - x + 0.5) / (obj.count + 0.5)
    value = min(freq, 100) / (FLOOR + x) / szf
    late = x / (gap * OVERDUE)
    if late > 1:
        value = value / (late * late)
    return value
