"""libCacheSim as a reference, where it is installed: its C code and its Python plug-in."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from vulcan.benchmark import NotMeasurable
from vulcan_traces import Trace

# Hand-written Python implementation of the mechanism `heap`, the baseline of the engine benchmark.
#
# A policy's source is run by CPython as it stands. The queue is `heapq` with entries that are out of date left where
# they are until they come up, which is faster in Python than moving them.


class Resident:
    """Resident object as a policy sees it, with its queue entry."""

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
        """The object that leaves: the least priority, the longest untouched of equals."""
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
    """The miss ratio of a policy over a trace."""
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


NATIVE = ("LRU", "GDSF", "S3FIFO", "LHD")

SUITED_TABLE = 20
"""Bits of a hash table that suits traces of some hundred thousand objects. libCacheSim's own is of 24, mostly page
faults; its LRU is about twice as fast with this one."""


def libcachesim() -> Any:
    """The package. Raises NotMeasurable where it is not installed, or does not load."""
    try:
        import libcachesim as package
    except ImportError as error:
        raise NotMeasurable(
            f"libCacheSim: {error} (pip install libcachesim; it needs the system's libglib-2.0)"
        ) from error
    return package


class Peer:
    """libCacheSim on one trace, which it reads from a file."""

    def __init__(self, trace: Trace, capacity: int, file: Path) -> None:
        self._package = libcachesim()
        self._capacity = capacity
        self._file = str(write_oracle_general(trace, file))

    def _reader(self) -> Any:
        return self._package.TraceReader(self._file, self._package.TraceType.ORACLE_GENERAL_TRACE)

    def native(self, name: str, **settings: int) -> float:
        """The miss ratio of one of its own algorithms."""
        cache = getattr(self._package, name)(self._capacity, **settings)
        return float(cache.process_trace(self._reader())[0])

    def plug_in(self, source: str) -> float:
        """The miss ratio of a policy behind the hooks of its plug-in, in CPython."""
        heap = PlainHeap(source, self._capacity)
        now = -1

        def hit(_: object, request: Any) -> None:
            nonlocal now
            now += 1
            heap.hit(request.obj_id, now)

        def miss(_: object, request: Any) -> None:
            nonlocal now
            now += 1
            if request.obj_size <= self._capacity:
                heap.insert(request.obj_id, request.obj_size, now)

        cache = self._package.PluginCache(
            self._capacity,
            cache_init_hook=lambda _: None,
            cache_hit_hook=hit,
            cache_miss_hook=miss,
            cache_eviction_hook=lambda _, request: heap.evict(),
            cache_remove_hook=lambda _, key: heap.remove(key),
            cache_free_hook=lambda _: None,
        )
        return float(cache.process_trace(self._reader())[0])


def write_oracle_general(trace: Trace, path: Path) -> Path:
    """The trace as a file that libCacheSim reads."""
    rows = np.zeros(trace.requests, np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")]))
    rows["time"] = np.arange(trace.requests) // 1000
    rows["id"] = trace.objects
    rows["size"] = trace.sizes
    rows["next"] = np.where(trace.next_access < 0, -1, trace.next_access + 1)
    rows.tofile(path)
    return path
