"""Written by the offline generator (offline/evolve, not a language model) changed candidate 116: left out a part."""

MECHANISM = "heap"
W = 0.705
P = 0.0594
FLOOR = 1.65
EXPONENT = 2.08


def priority(now, obj, cache, ghost):
    return (obj.count + W * ghost.count(obj.id)) / obj.last_access ** P / obj.size * (obj.count.ewma(0.124) + ghost.count(obj.id) + FLOOR) ** EXPONENT
