"""Policies of `cache_eviction` that learn and have no baseline of their name, in plain Python and their papers' terms.

Each sees every resident at an eviction, as `sample` does where it draws all; of equals, the first in the kernel's
order leaves.
"""

from __future__ import annotations

import math

import numpy as np

from vulcan.anvil import semantics


class PlainLearner:
    """A cache with a ghost list of as many evictions as it holds objects; subclasses rank residents and learn."""

    def __init__(self, capacity: int, seed: int) -> None:
        self.capacity = capacity
        self.word = seed
        self.now = 0
        self.sizes: dict[int, int] = {}
        self.counts: dict[int, int] = {}
        self.last: dict[int, int] = {}
        self.order: list[int] = []
        self.evicted: list[int] = []
        self.oldest = 0  # the first of `evicted` that is remembered
        self.left: dict[int, tuple[int, int, int]] = {}  # where in `evicted`, when, and the requests counted by then
        self.start()

    def run(self, requests: list[tuple[int, int]]) -> int:
        """Return the number of misses."""
        return sum(not self.request(now, *request) for now, request in enumerate(requests))

    def request(self, now: int, key: int, size: int) -> bool:
        self.now = now
        if key in self.sizes:
            before, self.last[key] = self.last[key], now
            self.counts[key] += 1
            self.hit(key, now - before)
            return True
        if size > self.capacity:
            return False
        place, when, count = self.left.get(key, (-1, 0, 0))
        is_ghost = place >= self.oldest
        if not is_ghost:
            self.left.pop(key, None)
        self.miss(key, size, now - when if is_ghost else None, count)
        while sum(self.sizes.values()) + size > self.capacity:
            self.evict(self.victim())
        self.sizes[key], self.counts[key], self.last[key] = size, 1, now
        self.order.append(key)
        self.insert(key)
        return False

    def evict(self, key: int) -> None:
        self.leave(key)
        self.evicted.append(key)
        self.oldest = max(self.oldest, len(self.evicted) - len(self.order))
        self.left[key] = len(self.evicted) - 1, self.now, self.counts[key]
        self.order[self.order.index(key)] = self.order[-1]
        self.order.pop()
        del self.sizes[key], self.counts[key], self.last[key]

    def random(self) -> float:
        number, self.word = semantics.draw(self.word)
        return number

    def start(self) -> None: ...
    def hit(self, key: int, gap: int) -> None: ...
    def miss(self, key: int, size: int, age: int | None, count: int) -> None:
        """`age` is the time since the object left, None where the ghost list does not remember it."""

    def leave(self, key: int) -> None: ...
    def insert(self, key: int) -> None: ...

    def victim(self) -> int:
        """Return the object that leaves: the least recently used, unless a class knows better."""
        return min(self.order, key=self.last.__getitem__)


class CacheusSimplified(PlainLearner):
    """Two experts, drawn by their weights at each miss, and again after each eviction."""

    def start(self) -> None:
        self.weights = {"lru": 0.5, "lfu": 0.5}
        self.expert = "lru"
        self.chosen_by: list[str] = []  # of each eviction
        self.rates = [0.0, 0.45]  # of all windows
        self.hit_ratios = [0.0]
        self.outcomes: list[bool] = []  # of this window
        self.unimproved = 0
        self.protection = 0.0
        self.frequency: dict[int, int] = {}

    def draw(self) -> None:
        self.expert = "lru" if self.random() < self.weights["lru"] else "lfu"

    def leave(self, key: int) -> None:
        self.chosen_by.append(self.expert)
        self.draw()

    def reweigh(self, expert: str) -> None:
        self.weights[expert] *= math.exp(-self.rates[-1])
        lru = min(max(self.weights["lru"] / sum(self.weights.values()), 0.01), 0.99)
        self.weights = {"lru": lru, "lfu": 1 - lru}

    def hit(self, key: int, gap: int) -> None:
        self.outcomes.append(True)
        self.frequency[key] += 1

    def miss(self, key: int, size: int, age: int | None, count: int) -> None:
        if age is None:
            self.frequency.pop(key, None)
        elif self.chosen_by[self.left[key][0]] == "lru":
            self.reweigh("lru")
            objects = len(self.order)
            step = (1 + objects / 1000) * (1 if count > 1 else -1)
            self.protection = float(np.clip(self.protection + step, 0, 10 * objects))
        else:
            self.reweigh("lfu")
        self.outcomes.append(False)
        if self.order and len(self.outcomes) >= len(self.order):
            self.learn_rate(sum(self.outcomes) / len(self.outcomes))
            self.outcomes = []
        self.draw()

    def learn_rate(self, hit_ratio: float) -> None:
        """Cacheus, algorithm 2."""
        gained = hit_ratio - self.hit_ratios[-1]
        rate, moved = self.rates[-1], self.rates[-1] - self.rates[-2]
        if moved:
            self.unimproved = 0
            sign = 1 if gained / moved > 0 else -1
            rate = max(min(rate + sign * abs(rate * moved), 1), 1e-3)
        elif hit_ratio == 0 or gained <= 0:
            self.unimproved += 1
            if self.unimproved == 10:
                self.unimproved = 0
                rate = 1e-3 + (1 - 1e-3) * self.random()
        self.rates.append(rate)
        self.hit_ratios.append(hit_ratio)

    def insert(self, key: int) -> None:
        self.frequency[key] = self.frequency.get(key, 0) + 1

    def victim(self) -> int:
        newest_first = sorted(self.order, key=self.last.__getitem__, reverse=True)
        if self.expert == "lfu":
            return min(newest_first, key=self.frequency.__getitem__)
        return min(self.order, key=lambda key: self.last[key] + self.protection * (self.counts[key] > 1))


class LrbLike(PlainLearner):
    def start(self) -> None:
        self.weights = np.array([3.0, 0.5, 0.2, 1.0, -0.3, 0.0])
        self.gaps: dict[int, int] = {}
        self.moment: dict[int, int] = {}  # of the latest request
        self.evicted_at = 0
        self.returning = 0.2
        self.between = 1.0

    def features(self, key: int, idle: float, count: int, size: int) -> np.ndarray:
        gap = self.gaps.get(key)
        known = [math.log2(1 + gap) if gap else 0.0, float(gap is None)]
        return np.array([1.0, math.log2(1 + idle), *known, math.log2(count), math.log2(size)])

    def learn(self, features: np.ndarray, time: float, rate: float = 0.02) -> None:
        error = math.log2(1 + time) - self.weights @ features
        self.weights = self.weights + rate * error / (features @ features) * features

    def hit(self, key: int, gap: int) -> None:
        waited = gap * self.random() ** 0.5
        rate = 0.02 * min(gap / max(self.between * len(self.order), 1), 1)
        self.learn(self.features(key, waited, self.counts[key] - 1, self.sizes[key]), gap - waited, rate)
        self.gaps[key] = gap
        self.moment[key] = self.now

    def miss(self, key: int, size: int, age: int | None, count: int) -> None:
        if age is None:
            self.gaps.pop(key, None)
            return
        gap = self.now - self.moment[key]
        self.learn(self.features(key, gap - age, count, size), age)
        self.gaps[key] = gap
        self.returning += 0.001

    def leave(self, key: int) -> None:
        self.returning *= 0.999
        self.between += (self.now - self.evicted_at - self.between) / 1000
        self.evicted_at = self.now
        features = self.features(key, self.now - self.last[key], self.counts[key], self.sizes[key])
        self.learn(features, 8 * self.between * len(self.order), 0.02 * (1 - self.returning))

    def insert(self, key: int) -> None:
        self.moment[key] = self.now

    def victim(self) -> int:
        return min(self.order, key=self.badness)

    def badness(self, key: int) -> float:
        features = self.features(key, self.now - self.last[key], self.counts[key], self.sizes[key])
        return float(-(self.weights @ features) - math.log2(self.sizes[key]))
