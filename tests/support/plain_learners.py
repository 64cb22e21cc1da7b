"""The policies of `cache_eviction` that learn, in plain Python and in the terms of their papers.

Each sees every resident at an eviction, as `sample` does where it draws all; of equals, the first in the kernel's
order leaves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

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


class TwoExperts(PlainLearner):
    """Experts are drawn by their weights at each miss, and again after each eviction."""

    def start(self) -> None:
        self.weights = {"lru": 0.5, "lfu": 0.5}
        self.expert = "lru"
        self.chosen_by: list[str] = []  # of each eviction

    def draw(self) -> None:
        self.expert = "lru" if self.random() < self.weights["lru"] else "lfu"

    def leave(self, key: int) -> None:
        self.chosen_by.append(self.expert)
        self.draw()

    def reweigh(self, expert: str, factor: float) -> None:
        self.weights[expert] *= factor
        lru = min(max(self.weights["lru"] / sum(self.weights.values()), 0.01), 0.99)
        self.weights = {"lru": lru, "lfu": 1 - lru}


class Lecar(TwoExperts):
    """Each expert has a history of what it evicted, the newest last, of which half the capacity is remembered."""

    def start(self) -> None:
        super().start()
        self.histories: dict[str, list[tuple[int, int]]] = {"lru": [], "lfu": []}

    def remembers(self, expert: str, key: int) -> bool:
        total = 0
        for ghost, size in reversed(self.histories[expert]):
            total += size
            if total > self.capacity / 2:
                return False
            if ghost == key:
                return True
        return False

    def miss(self, key: int, size: int, age: int | None, count: int) -> None:
        if age is not None:
            expert, other = ("lru", "lfu") if self.chosen_by[self.left[key][0]] == "lru" else ("lfu", "lru")
            if self.remembers(expert, key):
                self.reweigh(other, math.exp(0.45 * 0.005 ** (age / max(len(self.order), 1))))
        self.draw()

    def leave(self, key: int) -> None:
        self.histories[self.expert].append((key, self.sizes[key]))
        super().leave(key)

    def victim(self) -> int:
        oldest_first = sorted(self.order, key=self.last.__getitem__)
        return oldest_first[0] if self.expert == "lru" else min(oldest_first, key=self.counts.__getitem__)


class CacheusSimplified(TwoExperts):
    def start(self) -> None:
        super().start()
        self.rates = [0.0, 0.45]  # of all windows
        self.hit_ratios = [0.0]
        self.outcomes: list[bool] = []  # of this window
        self.unimproved = 0
        self.protection = 0.0
        self.frequency: dict[int, int] = {}

    def hit(self, key: int, gap: int) -> None:
        self.outcomes.append(True)
        self.frequency[key] += 1

    def miss(self, key: int, size: int, age: int | None, count: int) -> None:
        if age is None:
            self.frequency.pop(key, None)
        elif self.chosen_by[self.left[key][0]] == "lru":
            self.reweigh("lru", math.exp(-self.rates[-1]))
            objects = len(self.order)
            step = (1 + objects / 1000) * (1 if count > 1 else -1)
            self.protection = float(np.clip(self.protection + step, 0, 10 * objects))
        else:
            self.reweigh("lfu", math.exp(-self.rates[-1]))
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


class Lhd(PlainLearner):
    """Densities of 16 classes and 458 bins of age, learnt every `every` requests."""

    every = 32_768

    def start(self) -> None:
        self.unit = 0
        self.hits = np.zeros((16, 458))
        self.evictions = np.zeros((16, 458))
        self.densities: np.ndarray | None = None
        self.sweep: Iterator[None] = iter(())
        self.due = self.every
        self.ages: dict[int, list[int]] = {}  # at the hits of each resident
        self.groups: dict[int, int] = {}
        self.explorers: set[int] = set()

    def age(self, idle: int) -> int:
        return min(idle // max(self.unit, 1), 19_999)

    def bin(self, age: int) -> int:
        return int(32 * math.log2(age + 1))

    def hit(self, key: int, gap: int) -> None:
        if self.unit:
            self.ages[key].append(self.age(gap))
            self.hits[self.groups[key], self.bin(self.ages[key][-1])] += 1
            total = sum(self.ages[key][-2:])
            self.groups[key] = next((k for k in range(15) if total << k >= 20_000), 15)
        self.explorers.discard(key)
        self.maybe_explore(key)

    def insert(self, key: int) -> None:
        self.ages[key], self.groups[key] = [], 0
        self.maybe_explore(key)

    def maybe_explore(self, key: int) -> None:
        if self.random() < 1 / 32 and sum(self.sizes[e] for e in self.explorers) < 0.01 * self.capacity:
            self.explorers.add(key)

    def leave(self, key: int) -> None:
        if not self.unit:
            self.unit = 1
            while 200 * self.unit < len(self.order):
                self.unit *= 2
        self.evictions[self.groups[key], self.bin(self.age(self.now - self.last[key]))] += 1
        self.explorers.discard(key)
        if self.now >= self.due:
            for _ in range(64):
                if next(self.sweep, "over") == "over":
                    self.sweep = self.learn()
                    next(self.sweep)
                if self.now < self.due:
                    break

    def learn(self) -> Iterator[None]:
        learnt = np.zeros((16, 458)) if self.densities is None else self.densities
        for group in reversed(range(16)):
            for bin in reversed(range(458)):
                self.hits[group, bin] *= 0.9
                self.evictions[group, bin] *= 0.9
                if bin == 457:
                    hits = events = lifetime = 0.0
                hits += self.hits[group, bin]
                events += self.hits[group, bin] + self.evictions[group, bin]
                lifetime += events * (2 ** ((bin + 1) / 32) - 2 ** (bin / 32))
                learnt[group, bin] = hits / lifetime if events > 1e-5 else 0.0
                if (group, bin) == (0, 0):
                    self.densities = learnt
                    self.due = (self.now // self.every + 1) * self.every
                yield

    def victim(self) -> int:
        return min(self.order, key=self.density)

    def density(self, key: int) -> float:
        group, age = self.groups[key], self.age(self.now - self.last[key])
        if age == 19_999:
            return -1.0
        known = (1 + group) / (1 + age) if self.densities is None else self.densities[group, self.bin(age)]
        return float(known / self.sizes[key] + (key in self.explorers))


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
