"""Hyperbolic caching (Blankstein, Sen and Freedman, ATC 2017): requests a byte and unit of time since the object came in."""


def priority(now, obj, cache, ghost):
    return obj.count / (now - obj.insertion + 1) / obj.size
