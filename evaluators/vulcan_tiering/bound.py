"""A bound that no placement can beat: each interval on its own, accesses known in advance and free migrations.

With the K pages of the fast tier chosen freely, at most the K largest counts of loads and, independently, of stores
go to it. Within these limits any split of loads and stores is allowed, whether or not pages exist that have it.
Queueing counts as if all stores that may go to the other tier did, separately for each tier. The rest of the model
(`vulcan_tiering.kernels.cost`) grows with every migration, so it is smallest without any: the time found is never
above that of any placement of pages.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vulcan_tiering.machine import LINE, Machine
from vulcan_traces.memory import PageCounts

BELOW = 1.0 - 1e-9
"""The searches err upwards, by much less than this."""


@dataclass(frozen=True, slots=True)
class IntervalTotals:
    """Loads and stores of an interval, and how many of each the fast tier can have at most."""

    loads: float
    stores: float
    max_loads: float
    max_stores: float


def bound(
    counts: PageCounts, machine: Machine, capacity: int, measure_from: int, measure_to: int, weight: int
) -> tuple[float, float, float]:
    """Return the least nanoseconds of the measured intervals, their accesses and the most hits, each on its own."""
    nanoseconds = accesses = hits = 0.0
    for i in range(measure_from, measure_to):
        loads, stores = (np.asarray(table[i], np.int64) for table in (counts.loads, counts.stores))
        top = [float(_largest(values, capacity)) * weight for values in (loads, stores, loads + stores)]
        total_loads, total_stores = float(loads.sum()) * weight, float(stores.sum()) * weight
        found = IntervalTotals(total_loads, total_stores, top[0], top[1])
        nanoseconds += least_time(found, machine, counts.overlap, counts.compute)
        accesses += total_loads + total_stores
        hits += top[2]
    return nanoseconds, accesses, hits


def _largest(values: NDArray[np.int64], count: int) -> int:
    if count >= len(values):
        return int(values.sum())
    return int(np.partition(values, len(values) - count)[len(values) - count :].sum())


def least_time(interval: IntervalTotals, machine: Machine, overlap: float, compute: float) -> float:
    """Nanoseconds that the interval takes at least."""
    base = compute / machine.threads * interval.loads
    outstanding = machine.threads * overlap
    return max(_waiting(interval, machine, base, outstanding), _carrying(interval, machine)) * BELOW


def _waiting(interval: IntervalTotals, machine: Machine, base: float, outstanding: float) -> float:
    """Return the least T that loads' waiting allows, for the best share of loads in the fast tier."""
    fast, slow = machine.fast, machine.slow
    kept = max(0.0, interval.stores - interval.max_stores)  # stores that the slow tier has at the least

    def time(fast_loads: float, within: float) -> float:
        """Return the interval's time with this many loads in the fast tier, at the load implied by T = `within`."""
        total = base
        slow_loads = interval.loads - fast_loads
        for tier, loads, stores in ((fast, fast_loads, 0.0), (slow, slow_loads, kept)):
            busy = LINE * (loads / tier.read + stores / tier.write)
            if loads > 0.0:
                if busy >= within:
                    return math.inf
                idle = loads * tier.latency / outstanding
                total += idle * (1.0 + machine.queueing * busy / (within - busy))
        return total

    def least(within: float) -> float:
        """`time` is convex in the loads of the fast tier: golden-section search, between where it is finite."""
        low = max(0.0, interval.loads - (within / LINE - kept / slow.write) * slow.read)
        high = min(interval.max_loads, within / LINE * fast.read)
        if low > high:
            return math.inf
        at_high = time(high, within)
        if at_high <= time(high - 1e-6 * (high - low), within):
            return at_high  # convex, and still falling at the end: this is the least
        best = min(time(low, within), at_high)
        a, b = low, high
        ratio = (math.sqrt(5.0) - 1.0) / 2.0
        for _ in range(60):
            left, right = b - ratio * (b - a), a + ratio * (b - a)
            at_left, at_right = time(left, within), time(right, within)
            best = min(best, at_left, at_right)
            a, b = (a, right) if at_left <= at_right else (left, b)
        return best

    if interval.loads == 0.0:
        return base
    low, high = base, max(base, 1.0)
    while least(high) > high:
        low, high = high, 2.0 * high
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if least(middle) <= middle else (middle, high)
    return high


def _carrying(interval: IntervalTotals, machine: Machine) -> float:
    """Return the least T within which both tiers can carry their loads and stores."""
    kinds = [
        (interval.loads, interval.max_loads, LINE / machine.fast.read, LINE / machine.slow.read),
        (interval.stores, interval.max_stores, LINE / machine.fast.write, LINE / machine.slow.write),
    ]
    kinds.sort(key=lambda kind: kind[2] / kind[3])  # first what relieves the slow tier most for its cost

    def slow_busy(fast_budget: float) -> float:
        busy = 0.0
        for total, most, fast_cost, slow_cost in kinds:
            taken = min(most, fast_budget / fast_cost)
            fast_budget -= taken * fast_cost
            busy += (total - taken) * slow_cost
        return busy

    low, high = 0.0, slow_busy(0.0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if slow_busy(middle) <= middle else (middle, high)
    return high
