"""Slow reference of Belady's rule by size, on a sample of the residents."""

from __future__ import annotations

from slow_policy import GONE, Policy


class BeladySizeSampled(Policy):
    def start(self):
        self.upcoming: dict[int, float] = {}
        self.dense: list[int] = []

    def _drop(self, obj):
        index = self.dense.index(obj)
        self.dense[index] = self.dense[-1]
        self.dense.pop()

    def hit(self, request):
        self.upcoming[request.obj] = request.upcoming
        if request.upcoming == GONE:
            self._drop(request.obj)
            del self.resident[request.obj]

    def admit(self, request):
        if request.upcoming != GONE:
            super().admit(request)

    def insert(self, request):
        self.dense.append(request.obj)
        self.upcoming[request.obj] = request.upcoming

    def victim(self, request):
        sampled = [self.dense[self.random_below(len(self.dense))] for _ in range(64)]
        victim = max(sampled, key=lambda obj: self.resident[obj] * (self.upcoming[obj] - request.now))
        self._drop(victim)
        return victim
