"""GreedyDual-Size-Frequency (Cherkasova, 1998), where a new object takes part in the eviction that it causes.

As in the baseline `gdsf`, an object that would itself be the first to leave is refused, and ages the others as if it
had been evicted. The baseline evicts one object after another, and may turn the new one away after some of them have
gone; here it is compared with the first of them alone. `gdsf_admitting` lets every object in.
"""

MECHANISM = "heap"


class policy:
    clock = 0.0


def on_refuse(now, obj, cache, ghost):
    policy.clock = max(policy.clock, cache.evicted_priority) + 1 / obj.size


def priority(now, obj, cache, ghost):
    return max(policy.clock, cache.evicted_priority) + obj.count / obj.size


def admit(now, obj, cache, victim, ghost):
    return victim.size == 0 or max(policy.clock, cache.evicted_priority) + 1 / obj.size >= victim.priority
