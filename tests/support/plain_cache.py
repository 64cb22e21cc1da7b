"""The mechanisms `heap` and `sample` in plain Python over the reference interpreter.

Slow, and simple enough to be seen right. `assert_equal` compares the kernels with it, and with `PlainQueues`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from plain_queues import PlainQueues, Resident

from vulcan.anvil import Policy
from vulcan_cache.simulate import generator_state, simulate

NO_VICTIM = {f"victim.{name}": 0.0 for name in ("size", "count", "last_access", "insertion", "priority")}
MASK = (1 << 64) - 1


class PlainCache:
    """On a spatial sample, each object stands for `weight` ones, and `capacity` is that of the whole cache."""

    def __init__(self, policy: Policy, capacity: int, draws: int, state: int, weight: int = 1) -> None:
        self.run = policy.reference()
        defined = {declared.function for declared in policy.task.functions}
        self.admits, self.rechecks = "admit" in defined, "recheck" in defined
        self.capacity = capacity
        self.weight = weight
        self.mechanism = policy.mechanism
        self.draws = draws
        self.state = state
        self.residents: dict[int, Resident] = {}
        self.order: list[int] = []  # as the kernel keeps them: a victim's place goes to the last one
        self.evicted_priority = 0.0
        self.listed: list[tuple[int, int, int]] = []  # the ghost list: object, count, time; the newest last
        self.remembered = 0
        self.victim = dict(NO_VICTIM)
        self.gone: list[int] = []
        self.bypassed = 0
        self.now = 0
        self.timers: list[tuple[int, int, int]] = []  # when, in which order they were set, and for which object
        self.asked = 0

    @property
    def used(self) -> int:
        return self.weight * sum(r.size for r in self.residents.values())

    def found(self, key: int) -> tuple[int, int, int] | None:
        known = self.listed[len(self.listed) - self.remembered :]
        return next((entry for entry in reversed(known) if entry[0] == key), None)

    def features(self, key: int, obj: Resident) -> dict[str, float]:
        found = self.found(key)
        return {
            **self.victim,
            "now": self.now,
            "obj.id": key,
            "obj.size": obj.size,
            "obj.count": obj.count,
            "obj.last_access": obj.last_access,
            "obj.insertion": obj.insertion,
            "cache.used": self.used,
            "cache.capacity": self.capacity,
            "cache.objects": self.weight * len(self.residents),
            "cache.evicted_priority": self.evicted_priority,
            "ghost.contains": float(found is not None),
            "ghost.count": found[1] if found else 0,
            "ghost.age": self.now - found[2] if found else 0,
        }

    def score(self, key: int) -> float:
        return min(max(self.run.ask("priority", self.features(key, self.residents[key]), key), -1e300), 1e300)

    def rescore(self, key: int) -> None:
        self.residents[key].priority = self.score(key)
        if self.rechecks:
            self.timers = [timer for timer in self.timers if timer[2] != key]
            self.asked += 1
            wait = self.run.ask("recheck", self.features(key, self.residents[key]), key)
            if wait >= 1:
                self.timers.append((self.now + int(min(wait, 2.0**40)), self.asked, key))

    def request(self, now: int, key: int, size: int) -> bool:
        """Whether it was a hit."""
        self.now = now
        for _ in range(4):
            if self.timers and min(self.timers)[0] <= now:
                self.rescore(min(self.timers)[2])
        if key in self.residents:
            resident = self.residents[key]
            resident.count += 1
            resident.last_access = now
            self.run.observe(key, self.features(key, resident))
            self.run.handle("on_hit", self.features(key, resident), key)
            if self.mechanism == "heap":
                self.rescore(key)
            return True
        needed = size * self.weight
        if needed > self.capacity:
            self.bypassed += 1
            return False
        newcomer = Resident(size, 1, now, now)
        if self.found(key):
            self.run.handle("on_ghost_hit", self.features(key, newcomer), key)
        else:
            self.run.release(key)
        self.run.handle("on_miss", self.features(key, newcomer), key)
        if not self.makes_room(key, newcomer, needed):
            self.bypassed += 1
            self.gone.append(key)
            self.run.handle("on_refuse", self.features(key, newcomer), key)
            found = self.found(key)
            free = (self.capacity - self.used) // needed
            self.remember(key, (found[1] if found else 0) + 1, len(self.residents) + free)
            return False
        self.residents[key] = newcomer
        self.order.append(key)
        self.run.observe(key, self.features(key, newcomer))
        self.run.handle("on_insert", self.features(key, newcomer), key)
        if self.mechanism == "heap":
            self.rescore(key)
        return False

    def makes_room(self, key: int, newcomer: Resident, needed: int) -> bool:
        """Whether the policy lets it in: asked once if there is room, else for each that would have to leave."""
        if self.used + needed <= self.capacity:
            return not self.admits or self.lets_in(key, newcomer, None)
        while self.used + needed > self.capacity:
            chosen = self.lowest()
            if self.admits and not self.lets_in(key, newcomer, chosen):
                return False
            self.evict(*chosen)
        return True

    def lets_in(self, key: int, newcomer: Resident, chosen: tuple[int, float] | None) -> bool:
        self.victim = dict(NO_VICTIM)
        if chosen is not None:
            seen = self.residents[chosen[0]]
            self.victim = {f"victim.{name}": getattr(seen, name) for name in ("size", "count", "last_access")}
            self.victim |= {"victim.insertion": seen.insertion, "victim.priority": chosen[1]}
        return self.run.ask("admit", self.features(key, newcomer), key) > 0

    def remember(self, key: int, count: int, held: int) -> None:
        self.listed.append((key, count, self.now))
        self.remembered = min(self.remembered + 1, held)

    def lowest(self) -> tuple[int, float]:
        if self.mechanism == "heap":
            key = min(self.order, key=lambda k: (self.residents[k].priority, self.residents[k].last_access))
            return key, self.residents[key].priority
        drawn = [self.order[i] for i in self.draw(len(self.order))]
        scores = [self.score(k) for k in drawn]
        return drawn[scores.index(min(scores))], min(scores)

    def evict(self, key: int, priority: float) -> None:
        self.run.handle("on_evict", self.features(key, self.residents[key]), key)
        self.run.forget(key)
        self.gone.append(key)
        self.remember(key, self.residents[key].count, len(self.residents))
        self.evicted_priority = priority
        self.timers = [timer for timer in self.timers if timer[2] != key]
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
            self.state ^= self.state << 13 & MASK
            self.state ^= self.state >> 7
            self.state ^= self.state << 17 & MASK
            drawn.append((self.state >> 32) * n >> 32)
        return drawn


def hash_of(gone: Iterable[int]) -> int:
    value = 0
    for key in gone:
        value = (value * 6364136223846793005 + key + 1) % 2**64
    return value


def columns_of(requests: Sequence[tuple[int, int]]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The objects and the sizes of requests."""
    objects, sizes = zip(*requests, strict=True)
    return np.array(objects, np.uint32), np.array(sizes, np.int64)


def assert_equal(
    policy: Policy,
    requests: list[tuple[int, int]],
    capacity: int,
    *,
    draws: int = 4,
    seed: int = 3,
    weight: int = 1,
    times: Any = None,
    measure_from: int = 0,
) -> Any:
    """The plain-Python cache after these requests (object and size), of which the kernel decides each alike."""
    plain: Any = (
        PlainQueues(policy, capacity, weight)
        if policy.mechanism == "queues"
        else PlainCache(policy, capacity, draws, generator_state(seed), weight)
    )
    plain.run = policy.reference(seed)
    moments = range(len(requests)) if times is None else times
    missed = [
        (number, size)
        for number, (now, (key, size)) in enumerate(zip(moments, requests, strict=True))
        if not plain.request(int(now), key, size)
    ]
    objects, sizes = columns_of(requests)
    result = simulate(
        policy, objects, sizes, capacity, sample_size=draws, sample_seed=seed,
        measure_from=measure_from, times=times, weight=weight,
    )  # fmt: skip
    counted = [size for number, size in missed if number >= measure_from]
    assert (result.misses, result.missed_bytes) == (len(counted), sum(counted))
    assert (result.requests, result.bytes) == (len(requests) - measure_from, int(sizes[measure_from:].sum()))
    assert result.decisions == hash_of(plain.gone)
    if measure_from == 0:
        assert result.bypassed == plain.bypassed
    return plain
