"""The policies that the engine is measured with: one rule, and statistics that cost time and change nothing.

The statistics weigh too little to change which object leaves, so that the policies differ in nothing but what the
statistics cost.
"""

PLAIN = """
def priority(now, obj, cache, ghost):
    return cache.evicted_priority + obj.count / obj.size
"""

ONE_STATISTIC = """
WEIGHT = 1e-40

def priority(now, obj, cache, ghost):
    return cache.evicted_priority + obj.count / obj.size + WEIGHT * obj.count.ewma(0.3)
"""

FIVE_STATISTICS = """
WEIGHT = 1e-40

def priority(now, obj, cache, ghost):
    seen = obj.count.ewma(0.3) + obj.last_access.recent(2) + obj.size.avg()
    seen = seen + cache.size.percentile(0.5) + cache.last_access.window_avg(64)
    return cache.evicted_priority + obj.count / obj.size + WEIGHT * seen
"""
"""Three statistics of the object, one of all objects and one of the cache."""

LRU = """
def priority(now, obj, cache, ghost):
    return obj.last_access
"""

BY_STATISTICS = {"no statistics": PLAIN, "one statistic": ONE_STATISTIC, "five statistics": FIVE_STATISTICS}
