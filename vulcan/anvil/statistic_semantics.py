"""Reference semantics of the statistics, in plain Python; the other back ends are tested against it.

A stream is a sequence of observations of one feature: an entity's own, or those of the whole system. Before the first
one each statistic is the feature's `unknown`, and no value looked for is found. The sum of a moving window accumulates
rounding errors, so that its mean may leave the range of the observations by 1e-11 of the largest.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable
from functools import reduce
from operator import add

from vulcan.anvil import ir


def mean_after(mean: float, value: float, observations: int) -> float:
    """Return the running mean after `value`, the last of `observations` observations."""
    return value if observations == 1 else mean + (value - mean) / observations


def moved(average: float, value: float, alpha: float) -> float:
    """Return the exponentially weighted moving average after another observation."""
    return average + alpha * (value - average)


def nearest_rank(share: float, count: int) -> int:
    """Return the rank, from 1, of the value that a share of `count` values does not exceed."""
    return max(1, math.ceil(share * count))


class Stream:
    """The observations of one feature, stored as far as the requested statistics need them."""

    def __init__(self, statistics: Iterable[ir.Statistic], unknown: float) -> None:
        self._unknown = unknown
        self._averages = {s: unknown for s in statistics if s.kind == "ewma"}
        self._sums = {int(s.arguments[-1]): 0.0 for s in statistics if s.kind == "window_avg"}
        self._observations = 0
        self._least = self._most = self._mean = self._latest = unknown
        longest = max((int(s.arguments[-1]) for s in statistics if s.kind in WINDOWED), default=0)
        self._last: deque[float] = deque(maxlen=longest)

    def observe(self, value: float) -> None:
        self._observations += 1
        first = self._observations == 1
        self._latest = value
        self._mean = mean_after(self._mean, value, self._observations)
        self._least = value if first else min(self._least, value)
        self._most = value if first else max(self._most, value)
        for statistic, average in self._averages.items():
            self._averages[statistic] = value if first else moved(average, value, statistic.arguments[0])
        for n, total in self._sums.items():
            leaving = self._last[-n] if self._observations > n else 0.0
            self._sums[n] = total - leaving + value
        self._last.append(value)
        for n in self._sums:
            if self._observations % n == 0:  # so that rounding errors do not accumulate
                self._sums[n] = reduce(add, self._window(n), 0.0)  # sum() of floats differs between Python versions

    def answer(self, statistic: ir.Statistic, value: float = 0.0) -> float:
        """Return the statistic's current value; `value` is the argument of `count` and `contains`."""
        if statistic.kind in ("count", "contains"):
            found = self._window(int(statistic.arguments[-1])).count(value)
            return float(found if statistic.kind == "count" else found > 0)
        if not self._observations:
            return self._unknown
        match statistic.kind, statistic.arguments:
            case "latest", _:
                return self._latest
            case "avg", _:
                return self._mean
            case "min", _:
                return self._least
            case "max", _:
                return self._most
            case "ewma", _:
                return self._averages[statistic]
            case "recent", (k,):
                return self._last[-int(k)] if self._observations >= k else self._unknown
            case "window_avg", (n,):
                return self._sums[int(n)] / min(int(n), self._observations)
            case "window_percentile", (share, n):
                window = sorted(self._window(int(n)))
                return window[nearest_rank(share, len(window)) - 1]
        raise AssertionError(statistic)

    def _window(self, n: int) -> list[float]:
        """Return the last n observations, oldest first; all of them while there are fewer."""
        return list(self._last)[-n:]


WINDOWED = ("recent", "window_avg", "window_percentile", "count", "contains")
"""Statistic kinds whose last argument is the number of observations they need."""


class PopulationStatistic:
    """The latest observation of every live entity, in buckets."""

    def __init__(self) -> None:
        self._buckets: list[int] = []

    def __len__(self) -> int:
        return len(self._buckets)

    def add(self, bucket: int) -> None:
        insort(self._buckets, bucket)

    def remove(self, bucket: int) -> None:
        self._buckets.pop(bisect_left(self._buckets, bucket))

    def percentile(self, share: float) -> int:
        """Return the bucket at that share of the population, which must not be empty."""
        return self._buckets[nearest_rank(share, len(self._buckets)) - 1]
