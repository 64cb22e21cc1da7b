"""Slow references of the policies that keep one order of all residents."""

from __future__ import annotations

from slow_policy import GONE, Policy, Ranked


class Fifo(Policy):
    def start(self):
        self.order: list[int] = []

    def insert(self, request):
        self.order.append(request.obj)

    def victim(self, request):
        return self.order.pop(0)


class Lru(Fifo):
    def hit(self, request):
        self.order.remove(request.obj)
        self.order.append(request.obj)


class Clock(Policy):
    """A ring with a hand: new objects are put just behind the hand."""

    def start(self):
        self.ring: list[int] = []
        self.hand = 0
        self.referenced: set[int] = set()

    def hit(self, request):
        self.referenced.add(request.obj)

    def insert(self, request):
        self.ring.insert(self.hand, request.obj)
        self.hand = (self.hand + 1) % len(self.ring)

    def victim(self, request):
        while self.ring[self.hand] in self.referenced:
            self.referenced.remove(self.ring[self.hand])
            self.hand = (self.hand + 1) % len(self.ring)
        victim = self.ring.pop(self.hand)
        self.hand = self.hand % len(self.ring) if self.ring else 0
        return victim


class Sieve(Policy):
    """A list from old to new, the hand being an index into it (the length: start anew)."""

    def start(self):
        self.order: list[int] = []
        self.hand = 0
        self.visited: set[int] = set()

    def hit(self, request):
        self.visited.add(request.obj)

    def insert(self, request):
        if self.hand == len(self.order):
            self.hand = 0
        self.order.append(request.obj)

    def victim(self, request):
        while True:
            if self.hand == len(self.order):
                self.hand = 0
            if self.order[self.hand] not in self.visited:
                return self.order.pop(self.hand)
            self.visited.remove(self.order[self.hand])
            self.hand += 1


class Lfu(Policy):
    def start(self):
        self.info: dict[int, Ranked] = {}

    def hit(self, request):
        self.info[request.obj].frequency += 1
        self.info[request.obj].last = request.now

    def insert(self, request):
        self.info[request.obj] = Ranked(1, request.now)

    def victim(self, request):
        return min(self.resident, key=lambda obj: (self.info[obj].frequency, self.info[obj].last))


class Gdsf(Policy):
    def start(self):
        self.info: dict[int, Ranked] = {}
        self.clock = 0.0

    def _rank(self, request, frequency):
        worth = frequency * 1e6 / self.resident[request.obj]
        self.info[request.obj] = Ranked(frequency, request.now, self.clock + worth)

    def hit(self, request):
        self._rank(request, self.info[request.obj].frequency + 1)

    def admit(self, request):
        self.resident[request.obj] = request.size
        self._rank(request, 1)
        while sum(self.resident.values()) > self.capacity:
            victim = min(self.resident, key=lambda obj: (self.info[obj].priority, self.info[obj].last))
            self.clock = self.info[victim].priority
            del self.resident[victim]


class Belady(Policy):
    def start(self):
        self.upcoming: dict[int, float] = {}

    def hit(self, request):
        self.upcoming[request.obj] = request.upcoming

    insert = hit

    def victim(self, request):
        return max(self.resident, key=self.upcoming.__getitem__)


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
