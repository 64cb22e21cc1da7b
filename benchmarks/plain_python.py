"""The mechanism `heap` in plain Python, as one writes it by hand: what the engine is compared with.

A policy's source is run by CPython as it stands. The queue is `heapq` with entries that are out of date left where they
are until they come up, which is faster in Python than moving them.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


class Resident:
    """A resident object: the features a policy reads, and its entry in the queue."""

    __slots__ = ("count", "id", "insertion", "last_access", "priority", "size")

    def __init__(self, key: int, size: int, now: int) -> None:
        self.id = key
        self.size = size
        self.count = 1
        self.insertion = now
        self.last_access = now
        self.priority = 0.0


class PlainHeap:
    """A cache by a policy that reads no ghost list and no statistics: `hit`, `insert` and `evict` are its hooks."""

    def __init__(self, source: str, capacity: int) -> None:
        names: dict[str, Any] = {}
        exec(compile(source, "<policy>", "exec"), names)  # a policy of this package's own
        self.score: Callable[..., float] = names["priority"]
        self.cache = SimpleNamespace(used=0, capacity=capacity, objects=0, evicted_priority=0.0)
        self.residents: dict[int, Resident] = {}
        self.queue: list[tuple[float, int, int]] = []

    def _keep(self, resident: Resident, now: int) -> None:
        resident.priority = self.score(now, resident, self.cache, None)
        heapq.heappush(self.queue, (resident.priority, now, resident.id))

    def hit(self, key: int, now: int) -> None:
        resident = self.residents[key]
        resident.count += 1
        resident.last_access = now
        self._keep(resident, now)

    def insert(self, key: int, size: int, now: int) -> None:
        self.residents[key] = resident = Resident(key, size, now)
        self.cache.used += size
        self.cache.objects += 1
        self._keep(resident, now)

    def evict(self) -> int:
        """Return the object that leaves: the lowest priority, the longest untouched of equals."""
        while True:
            priority, touched, key = heapq.heappop(self.queue)
            resident = self.residents.get(key)
            if resident is not None and resident.last_access == touched:
                break
        self.remove(key)
        self.cache.evicted_priority = priority
        return key

    def remove(self, key: int) -> None:
        resident = self.residents.pop(key)
        self.cache.used -= resident.size
        self.cache.objects -= 1


def run_plain(source: str, objects: list[int], sizes: list[int], capacity: int) -> float:
    """Return the miss ratio of a policy over a trace."""
    heap = PlainHeap(source, capacity)
    residents, cache = heap.residents, heap.cache
    misses = 0
    for now, key in enumerate(objects):
        if key in residents:
            heap.hit(key, now)
            continue
        misses += 1
        size = sizes[now]
        if size > capacity:
            continue
        while cache.used + size > capacity:
            heap.evict()
        heap.insert(key, size, now)
    return misses / len(objects)
