"""Semantics of the statistics: the reference interpreter keeps them so, and other back ends are tested against it.

A stream is a sequence of observations of one feature: an entity's own, or those of the whole system. Before the first
one each statistic is the feature's `unknown`, and no value looked for is found. The sum of a moving window accumulates
rounding errors, so that its mean may leave the range of the observations by 1e-11 of the largest.

Exported Python modules carry a copy of each class that they use, by its source: so they need nothing but `math`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from vulcan.anvil import ir

_WINDOWED = ("recent", "window_avg", "window_percentile", "count", "contains")
"""Statistic kinds whose last argument is the number of observations they need."""


def nearest_rank(share: float, count: int) -> int:
    """Return the rank, from 1, of the value that a share of `count` values does not exceed."""
    return max(1, math.ceil(share * count))


def kept_by_stream(statistics: Sequence[ir.Statistic]) -> dict[str, Any]:
    """Return the arguments, but for `unknown`, of the stream that answers all of these statistics of a feature."""
    longest = max((int(s.arguments[-1]) for s in statistics if s.kind in _WINDOWED), default=1)
    given = {
        "length": longest if longest > 1 else 0,
        "whole": any(s.kind in ("avg", "min", "max") for s in statistics),
        "alphas": tuple(s.arguments[0] for s in statistics if s.kind == "ewma"),
        "sums": tuple(int(s.arguments[0]) for s in statistics if s.kind == "window_avg"),
    }
    return {name: value for name, value in given.items() if value}


class _Stream:
    """The observations of a feature: the last of them, as many as `length`, and where asked for what is of all.

    `whole` says whether their mean and extremes are kept; `alphas` are those of moving averages, and `sums` the numbers
    of observations whose sums are kept.
    """

    __slots__ = ("_averages", "_last", "_least", "_mean", "_most", "_ordered", "_seen", "_sums", "_unknown", "_whole")

    def __init__(
        self,
        unknown: float,
        length: int = 1,
        whole: bool = False,
        alphas: tuple[float, ...] = (),
        sums: tuple[int, ...] = (),
    ) -> None:
        self._unknown = self._least = self._most = self._mean = unknown
        self._seen = 0
        self._last = [unknown] * length  # a ring
        self._whole = whole
        self._averages = dict.fromkeys(alphas, unknown)
        self._sums = dict.fromkeys(sums, 0.0)
        self._ordered: dict[int, list[float]] = {}

    def append(self, value: float) -> None:
        """One more observation."""
        before = self._seen
        self._seen = before + 1
        if self._whole:
            self._least = min(self._least, value) if before else value
            self._most = max(self._most, value) if before else value
            self._mean = self._mean + (value - self._mean) / self._seen if before else value
        for alpha, average in self._averages.items():
            self._averages[alpha] = average + alpha * (value - average) if before else value
        if self._sums:
            for n, total in self._sums.items():
                leaving = self._last[(before - n) % len(self._last)] if before >= n else 0.0
                self._sums[n] = total - leaving + value
        self._last[before % len(self._last)] = value
        if self._sums or self._ordered:
            self._ordered = {}
            for n in self._sums:
                if self._seen % n == 0:  # added up anew, so that rounding errors do not add up
                    self._sums[n] = 0.0
                    for kept in self._window(n):
                        self._sums[n] += kept

    def _window(self, n: int) -> list[float]:
        """The last n of them, oldest first; all of them while there are fewer."""
        if self._seen <= len(self._last):
            return self._last[max(self._seen - n, 0) : self._seen]
        end = self._seen % len(self._last)
        return (self._last[end:] + self._last[:end])[-n:]

    def latest(self) -> float:
        """The latest one."""
        return self.recent(1)

    def avg(self) -> float:
        """Their mean."""
        return self._mean

    def min(self) -> float:
        """The smallest."""
        return self._least

    def max(self) -> float:
        """The largest."""
        return self._most

    def ewma(self, alpha: float) -> float:
        """Their moving average."""
        return self._averages[alpha]

    def recent(self, k: int) -> float:
        """The k-th most recent one."""
        return self._last[(self._seen - k) % len(self._last)] if k <= self._seen else self._unknown

    def window_avg(self, n: int) -> float:
        """The mean of the last n."""
        return self._sums[n] / min(n, self._seen) if self._seen else self._unknown

    def window_percentile(self, share: float, n: int) -> float:
        """The value that a share of the last n does not exceed (nearest rank)."""
        if not self._seen:
            return self._unknown
        if n not in self._ordered:
            self._ordered[n] = sorted(self._window(n))
        return self._ordered[n][max(1, math.ceil(share * len(self._ordered[n]))) - 1]

    def count(self, value: float, n: int) -> float:
        """How many of the last n are equal to the value."""
        return float(self._window(n).count(value))

    def contains(self, value: float, n: int) -> float:
        """1 where one of the last n is equal to the value, else 0."""
        return 1.0 if value in self._window(n) else 0.0


class _Tally:
    """How often each value is among the last observations of a feature, as many as `length`."""

    __slots__ = ("_counts", "_length", "_next", "_values")

    def __init__(self, length: int) -> None:
        self._length = length
        self._values: list[object] = []  # a ring once it is full: the oldest is overwritten next
        self._next = 0
        self._counts: dict[object, float] = {}

    def append(self, value: object) -> None:
        """One more observation."""
        if len(self._values) < self._length:
            self._values.append(value)
        else:
            oldest = self._values[self._next]
            self._values[self._next] = value
            self._counts[oldest] -= 1.0
            if self._counts[oldest] == 0.0:
                del self._counts[oldest]
        self._next = (self._next + 1) % self._length
        self._counts[value] = self._counts.get(value, 0.0) + 1.0

    def count(self, value: object) -> float:
        """How many of them are equal to the value."""
        return self._counts.get(value, 0.0)

    def contains(self, value: object) -> float:
        """1 where one of them is equal to the value, else 0."""
        return 1.0 if value in self._counts else 0.0


class _Population:
    """Percentiles over the latest values of all live entities, each operation logarithmic (a Fenwick tree).

    A value is seen with `resolution` bits behind its leading one, cut off towards zero; below 2**-20 it is 0. The
    tree counts the values in each such bucket, from bucket `lowest` on.
    """

    def __init__(self, lowest: int, buckets: int, resolution: int, unknown: float) -> None:
        self._lowest = lowest
        self._resolution = resolution
        self._unknown = unknown
        self._tree = [0] * (buckets + 1)
        self._live = 0

    def add(self, value: float) -> int:
        """Count a value; gives the bucket it is in, to be handed back when it changes or leaves."""
        index = self._index(value)
        self._count(index, 1)
        return index

    def move(self, index: int, value: float) -> int:
        """A counted value has changed."""
        new = self._index(value)
        if new != index:
            self._count(index, -1)
            self._count(new, 1)
        return new

    def remove(self, index: int) -> None:
        """A counted value has left."""
        self._count(index, -1)

    def percentile(self, share: float) -> float:
        """The value that a share of all does not exceed (nearest rank)."""
        if self._live == 0:
            return self._unknown
        rank = max(1, math.ceil(share * self._live))
        index = 0
        step = 1 << (len(self._tree).bit_length() - 1)
        while step:
            if index + step < len(self._tree) and self._tree[index + step] < rank:
                index += step
                rank -= self._tree[index]
            step >>= 1
        return self._value(index + self._lowest)

    def _count(self, index: int, step: int) -> None:
        self._live += step
        index += 1
        while index < len(self._tree):
            self._tree[index] += step
            index += index & -index

    def _index(self, value: float) -> int:
        magnitude = abs(value)
        bucket = 0
        if magnitude >= 2.0**-20:
            mantissa, exponent = math.frexp(magnitude)
            leading = int((2.0 * mantissa - 1.0) * (1 << self._resolution))
            bucket = ((exponent + 19) << self._resolution) + leading + 1
        if value < 0.0:
            bucket = -bucket
        return min(max(bucket - self._lowest, 0), len(self._tree) - 2)

    def _value(self, bucket: int) -> float:
        if bucket == 0:
            return 0.0
        exponent, leading = divmod(abs(bucket) - 1, 1 << self._resolution)
        return math.copysign(math.ldexp(1.0 + leading / (1 << self._resolution), exponent - 20), bucket)
