"""Slow references of the policies made of several queues."""

from __future__ import annotations

import math
from dataclasses import dataclass

from slow_policy import Policy


class _Queues(Policy):
    """Named lists of (object, size), old to new, ghosts among them."""

    names: tuple[str, ...] = ()

    def start(self):
        self.lists: dict[str, list[tuple[int, int]]] = {name: [] for name in self.names}

    def where(self, obj):
        return next((name for name, queue in self.lists.items() if any(o == obj for o, _ in queue)), None)

    def bytes(self, *names):
        return sum(size for name in names for _, size in self.lists[name])

    def take(self, name, obj):
        entry = next(entry for entry in self.lists[name] if entry[0] == obj)
        self.lists[name].remove(entry)
        return entry

    def remember(self, name, entry, limit):
        """Put an entry into a ghost list of at most `limit` bytes."""
        if entry[1] <= limit:
            self.lists[name].append(entry)
            while self.bytes(name) > limit:
                self.lists[name].pop(0)


class Slru(_Queues):
    names = ("0", "1", "2", "3")

    def hit(self, request):
        limit = self.capacity // 4
        segment = int(self.where(request.obj))
        entry = self.take(str(segment), request.obj)
        higher = min(segment + 1, 3) if entry[1] <= limit else segment
        self.lists[str(higher)].append(entry)
        for over in range(higher, 0, -1):
            while self.bytes(str(over)) > limit:
                self.lists[str(over - 1)].append(self.lists[str(over)].pop(0))

    def victim(self, request):
        return next(queue for queue in self.lists.values() if queue).pop(0)[0]

    def insert(self, request):
        room = (name for name in self.names if self.bytes(name) + request.size <= self.capacity // 4)
        self.lists[next(room, "0")].append((request.obj, request.size))


class Arc(_Queues):
    names = ("t1", "t2", "b1", "b2")

    def start(self):
        super().start()
        self.target = 0.0

    def hit(self, request):
        self.lists["t2"].append(self.take(self.where(request.obj), request.obj))

    def admit(self, request):
        obj, size, capacity = request.obj, request.size, self.capacity
        found = self.where(obj)
        if found == "b1":
            step = max(1.0, self.bytes("b2") / self.bytes("b1"))
            self.target = min(float(capacity), self.target + size * step)
        elif found == "b2":
            step = max(1.0, self.bytes("b1") / self.bytes("b2"))
            self.target = max(0.0, self.target - size * step)
        if found:
            self.take(found, obj)
        else:
            while self.bytes("t1", "b1") + size > capacity:
                if self.lists["b1"]:
                    self.lists["b1"].pop(0)
                else:
                    del self.resident[self.lists["t1"].pop(0)[0]]
            while self.lists["b2"] and self.bytes(*self.names) + size > 2 * capacity:
                self.lists["b2"].pop(0)
        while self.bytes("t1", "t2") + size > capacity:
            t1 = self.bytes("t1")
            source = "t1" if t1 and (t1 > self.target or (found == "b2" and t1 == self.target)) else "t2"
            if not self.lists[source]:
                source = "t1"
            entry = self.lists[source].pop(0)
            self.lists["b" + source[1]].append(entry)
            del self.resident[entry[0]]
        self.lists["t2" if found else "t1"].append((obj, size))
        self.resident[obj] = size
        assert self.bytes("t1", "b1") <= capacity
        while self.bytes(*self.names) > 2 * capacity:  # after the return of an object that has grown
            self.lists["b2"].pop(0)


@dataclass
class Ranked:
    frequency: int
    last: int


class Lecar(_Queues):
    names = ("lru", "lfu")  # the ghosts of either policy

    def start(self):
        super().start()
        self.info: dict[int, Ranked] = {}
        self.evicted_at: dict[int, int] = {}
        self.lru_weight = 0.5

    def hit(self, request):
        self.info[request.obj].frequency += 1
        self.info[request.obj].last = request.now

    def missed(self, request):
        ghosts = self.where(request.obj)
        if ghosts is None:
            return
        self.take(ghosts, request.obj)
        age = request.now - self.evicted_at[request.obj]
        boost = math.exp(0.45 * 0.005 ** (age / max(len(self.resident), 1)))
        lru = self.lru_weight * (boost if ghosts == "lfu" else 1.0)
        lfu = (1.0 - self.lru_weight) * (boost if ghosts == "lru" else 1.0)
        self.lru_weight = min(max(lru / (lru + lfu), 0.01), 0.99)

    def victim(self, request):
        lru = min(self.resident, key=lambda obj: self.info[obj].last)
        lfu = min(self.resident, key=lambda obj: (self.info[obj].frequency, self.info[obj].last))
        if lru == lfu:
            return lru
        name, victim = ("lru", lru) if self.random_share() < self.lru_weight else ("lfu", lfu)
        self.remember(name, (victim, self.resident[victim]), self.capacity // 2)
        self.evicted_at[victim] = request.now
        return victim

    def insert(self, request):
        self.info[request.obj] = Ranked(1, request.now)


class WTinyLfu(_Queues):
    names = ("window", "probation", "protected")

    def start(self):
        super().start()
        self.counts: dict[int, int] = {}
        self.counted = 0
        self.most = 0
        self.window_capacity = max(1, self.capacity // 100)
        self.main_capacity = self.capacity - self.window_capacity

    def seen(self, request):
        self.counts[request.obj] = min(self.counts.get(request.obj, 0) + 1, 15)
        self.counted += 1
        if self.counted >= 10 * max(self.most, 1):
            self.counted //= 2
            self.counts = {obj: count // 2 for obj, count in self.counts.items()}

    def hit(self, request):
        found = self.where(request.obj)
        entry = self.take(found, request.obj)
        self.lists["window" if found == "window" else "protected"].append(entry)
        while self.bytes("protected") > self.main_capacity * 4 // 5:
            self.lists["probation"].append(self.lists["protected"].pop(0))

    def admit(self, request):
        self.lists["window"].append((request.obj, request.size))
        while self.bytes("window") > self.window_capacity:
            candidate = self.lists["window"].pop(0)
            if self._wins(candidate):
                self.lists["probation"].append(candidate)
        self.resident = {obj: size for queue in self.lists.values() for obj, size in queue}
        self.most = max(self.most, len(self.resident))

    def _wins(self, candidate):
        if candidate[1] > self.main_capacity:
            return False
        while self.bytes("probation", "protected") + candidate[1] > self.main_capacity:
            victims = self.lists["probation"] or self.lists["protected"]
            if self.counts[candidate[0]] <= self.counts[victims[0][0]]:
                return False
            victims.pop(0)
        return True
