"""libCacheSim alongside the engine, where its package is installed: its own C code, and its plug-in for Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.harness import NotMeasurable
from benchmarks.plain_python import PlainHeap
from vulcan_traces import Trace
from vulcan_traces.storage.export import write_requests

NATIVE = ("LRU", "GDSF", "S3FIFO", "LHD")

SUITED_TABLE = 20
"""Bits of a hash table that suits traces of some hundred thousand objects. libCacheSim's own is of 24, mostly page
faults; its LRU is about twice as fast with this one."""


def libcachesim() -> Any:
    """Return the package. Raises NotMeasurable where it is not installed, or does not load."""
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
        write_requests(trace, file, replace=True)
        self._file = str(file)

    def _reader(self) -> Any:
        return self._package.TraceReader(self._file, self._package.TraceType.ORACLE_GENERAL_TRACE)

    def native(self, name: str, **settings: int) -> float:
        """Return the miss ratio of one of its own algorithms."""
        cache = getattr(self._package, name)(self._capacity, **settings)
        return float(cache.process_trace(self._reader())[0])

    def plug_in(self, source: str) -> float:
        """Return the miss ratio of a policy behind the hooks of its plug-in, in CPython."""
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
