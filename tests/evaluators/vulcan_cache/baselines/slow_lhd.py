"""Slow reference of LHD."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from slow_policy import Policy


@dataclass
class Tag:
    requested_at: int
    last_age: int = 0
    group: int = 0
    explorer: bool = False


@dataclass
class HitDensities:
    ages: int = 20_000
    hits: np.ndarray = field(init=False)
    evictions: np.ndarray = field(init=False)
    densities: np.ndarray = field(init=False)

    def __post_init__(self):
        self.hits = np.zeros((16, self.ages))
        self.evictions = np.zeros((16, self.ages))
        self.densities = np.arange(1, 17)[:, None] / np.arange(1, self.ages + 1)[None, :]

    def learn(self):
        self.hits *= 0.9
        self.evictions *= 0.9
        hits = np.cumsum(self.hits[:, ::-1], axis=1)[:, ::-1]
        events = np.cumsum((self.hits + self.evictions)[:, ::-1], axis=1)[:, ::-1]
        lifetimes = np.cumsum(events[:, ::-1], axis=1)[:, ::-1]
        self.densities = np.where(events > 1e-5, hits / np.maximum(lifetimes, 1e-300), 0.0)


class Lhd(Policy):
    reconfigure_every = 2**15

    def start(self):
        self.model = HitDensities()
        self.tags: dict[int, Tag] = {}
        self.dense: list[int] = []
        self.unit = None
        self.budget = max(1, self.capacity // 100)

    def seen(self, request):
        if request.now and request.now % self.reconfigure_every == 0:
            self.model.learn()

    def _age(self, obj, now):
        return min((now - self.tags[obj].requested_at) // self.unit, self.model.ages - 1)

    def _group(self, age_sum):
        if age_sum == 0:
            return 15
        return next((k for k in range(15) if age_sum << k >= self.model.ages), 15)

    def _settle(self, request, size):
        tag = self.tags[request.obj]
        tag.requested_at = request.now
        tag.explorer = self.random_below(32) == 0 and self.budget > 0
        if tag.explorer:
            self.budget -= size

    def hit(self, request):
        tag = self.tags[request.obj]
        if self.unit:
            age = self._age(request.obj, request.now)
            self.model.hits[tag.group, age] += 1
            tag.group = self._group(age + tag.last_age)
            tag.last_age = age
        if tag.explorer:
            self.budget += self.resident[request.obj]
        self._settle(request, self.resident[request.obj])

    def insert(self, request):
        self.dense.append(request.obj)
        self.tags[request.obj] = Tag(request.now)
        self._settle(request, request.size)

    def victim(self, request):
        if self.unit is None:
            self.unit = 1
            while 20_000 * self.unit < 100 * len(self.dense):
                self.unit *= 2
        sampled = [self.dense[self.random_below(len(self.dense))] for _ in range(32)]
        victim = min(sampled, key=lambda obj: self._density(obj, request.now))
        self.model.evictions[self.tags[victim].group, self._age(victim, request.now)] += 1
        if self.tags[victim].explorer:
            self.budget += self.resident[victim]
        self.dense[self.dense.index(victim)] = self.dense[-1]
        self.dense.pop()
        return victim

    def _density(self, obj, now):
        age = self._age(obj, now)
        if age == self.model.ages - 1:
            return -1.0
        tag = self.tags[obj]
        return self.model.densities[tag.group, age] / self.resident[obj] + (1.0 if tag.explorer else 0.0)
