"""GreedyDual-Size-Frequency (Cherkasova, 1998), where a new object takes part in the eviction that it causes.

It may itself be turned away, and then ages the others as if it had been evicted: as the baseline `gdsf` does, but for
rounding. `gdsf_admitting` lets every object in.
"""

MECHANISM = "heap"


class policy:
    clock = 0.0


def on_hit(now, obj, cache, ghost):
    policy.clock = max(policy.clock, cache.evicted_priority)


def on_miss(now, obj, cache, ghost):
    policy.clock = max(policy.clock, cache.evicted_priority)


def on_refuse(now, obj, cache, ghost):
    policy.clock += 1 / obj.size


def priority(now, obj, cache, ghost):
    return policy.clock + obj.count / obj.size


def admit(now, obj, cache, victim, ghost):
    return victim.size == 0 or policy.clock + 1 / obj.size >= victim.priority
