"""Inputs of the engine benchmarks: the first requests of a trace, a cache, and policies.

The policies are one rule, and statistics that cost time and change nothing: they weigh too little to change which
object leaves, so that the policies differ in nothing but what the statistics cost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from vulcan_traces import Trace, load_trace

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


def under(mechanism: str, source: str) -> str:
    """Return the policy with a line that names its mechanism."""
    return f'MECHANISM = "{mechanism}"\n{source}'


BY_STATISTICS = {"no statistics": PLAIN, "one statistic": ONE_STATISTIC, "five statistics": FIVE_STATISTICS}


@dataclass(frozen=True)
class Workload:
    """A trace and a cache of that many bytes."""

    name: str
    trace: Trace
    capacity: int


def zipf(requests: int, objects: int) -> Trace:
    """Zipf(1.0) requests for objects of log-normal sizes, half of them above 4 KiB."""
    return load_trace(
        f"zipf:requests={requests},objects={objects},alpha=1.0,seed=1,sizes=lognormal,size_median=4096,size_sigma=1.2"
    )


def first(trace: Trace, requests: int) -> Trace:
    """Return the first requests of a trace, as one; of size 1 where they have none. Its columns are in memory."""
    objects = np.ascontiguousarray(trace.objects[:requests])
    following = np.asarray(trace.next_access[:requests])
    return replace(
        trace,
        objects=objects,
        sizes=np.maximum(trace.sizes[:requests], 1),
        times=np.asarray(trace.times[:requests]),
        next_access=np.where(following < requests, following, -1),
        keys=np.asarray(trace.keys[: int(objects.max()) + 1]),
    )


def workload(name: str, trace: Trace, share: float) -> Workload:
    """Return a cache of this share of the footprint."""
    return Workload(name, trace, max(1, round(share * trace.footprint)))
