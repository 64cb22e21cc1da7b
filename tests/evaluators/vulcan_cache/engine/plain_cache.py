"""The two mechanisms in plain Python over the reference interpreter: slow, and simple enough to be seen right."""

from __future__ import annotations

from dataclasses import dataclass

from vulcan.anvil import Policy


@dataclass
class Resident:
    size: int
    count: int
    last_access: int
    insertion: int
    priority: float = 0.0


class PlainCache:
    """On a spatial sample, each object stands for `weight` ones, and `capacity` is that of the whole cache."""

    def __init__(self, policy: Policy, capacity: int, mechanism: str, draws: int, state: int, weight: int = 1) -> None:
        self.run = policy.reference()
        self.capacity = capacity
        self.weight = weight
        self.mechanism = mechanism
        self.draws = draws
        self.state = state
        self.residents: dict[int, Resident] = {}
        self.order: list[int] = []  # as the kernel keeps them: a victim's place goes to the last one
        self.evicted_priority = 0.0
        self.evictions: list[tuple[int, int, int]] = []  # object, its count, time; the newest last
        self.remembered = 0  # how many of them the ghost list holds
        self.now = 0
        self.victims: list[int] = []

    @property
    def used(self) -> int:
        return self.weight * sum(r.size for r in self.residents.values())

    def features(self, key: int) -> dict[str, float]:
        resident = self.residents[key]
        listed = self.evictions[len(self.evictions) - self.remembered :]
        found = next((e for e in reversed(listed) if e[0] == key), None)
        return {
            "now": self.now,
            "obj.id": key,
            "obj.size": resident.size,
            "obj.count": resident.count,
            "obj.last_access": resident.last_access,
            "obj.insertion": resident.insertion,
            "cache.used": self.used,
            "cache.capacity": self.capacity,
            "cache.objects": self.weight * len(self.residents),
            "cache.evicted_priority": self.evicted_priority,
            "ghost.contains": float(found is not None),
            "ghost.count": found[1] if found else 0,
            "ghost.age": self.now - found[2] if found else 0,
        }

    def score(self, key: int) -> float:
        return min(max(self.run(self.features(key), key), -1e300), 1e300)

    def request(self, now: int, key: int, size: int) -> bool:
        """Whether it was a hit."""
        self.now = now
        if key in self.residents:
            resident = self.residents[key]
            resident.count += 1
            resident.last_access = now
            self.run.observe(key, self.features(key))
            if self.mechanism == "heap":
                resident.priority = self.score(key)
            return True
        if size * self.weight > self.capacity:
            return False
        while self.used + size * self.weight > self.capacity:
            self.evict()
        self.residents[key] = Resident(size, 1, now, now)
        self.order.append(key)
        self.run.observe(key, self.features(key))
        if self.mechanism == "heap":
            self.residents[key].priority = self.score(key)
        return False

    def evict(self) -> None:
        if self.mechanism == "heap":
            key = min(self.order, key=lambda k: (self.residents[k].priority, self.residents[k].last_access))
            priority = self.residents[key].priority
        else:
            drawn = [self.order[i] for i in self.draw(len(self.order))]
            scores = [self.score(k) for k in drawn]
            priority = min(scores)
            key = drawn[scores.index(priority)]
        self.run.forget(key)
        self.victims.append(key)
        held = len(self.residents)
        self.evictions.append((key, self.residents[key].count, self.now))
        self.remembered = min(self.remembered + 1, held)
        self.evicted_priority = priority
        del self.residents[key]
        place = self.order.index(key)
        last = self.order.pop()
        if last != key:
            self.order[place] = last

    def draw(self, n: int) -> list[int]:
        if n <= self.draws:
            return list(range(n))
        drawn = []
        for _ in range(self.draws):
            self.state ^= self.state << 13 & (1 << 64) - 1
            self.state ^= self.state >> 7
            self.state ^= self.state << 17 & (1 << 64) - 1
            drawn.append((self.state >> 32) * n >> 32)
        return drawn
