"""Exports policies of the cache tasks, loads what comes out, and says what the simulator makes of the same requests."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from exported import POLICIES as EVICTION
from numpy.typing import NDArray

from vulcan.anvil import check
from vulcan.export import Provenance
from vulcan.export.formats import export_policy
from vulcan.registry import find_task
from vulcan_cache import simulate

Column = NDArray[np.uint32]
Sizes = NDArray[np.int64]

ADMITS_LITTLE = """
def priority(now, obj, cache, ghost):
    return obj.last_access + 300 * obj.count.ewma(0.3) + 5 * ghost.count(obj.id) - cache.size.percentile(0.5) / 100


def admit(now, obj, cache, victim, ghost):
    return victim.size == 0 or ghost.contains(obj.id) or obj.size < cache.size.avg() / 2
"""

HITS_EVICT = """
def insert(now, obj, cache, queues, ghost):
    return 2 if ghost.contains(obj.id) else 1 if obj.size < 2 * cache.size.avg() + 10 else 0


def hit(now, obj, cache, queues):
    return 3 if obj.hits > 2 else 2


def tail(now, obj, cache, queues):
    return 1 if obj.queue == 2 and obj.hits > 0 else 2 if obj.queue == 3 else 0


def keep(now, obj, cache, queues):
    return 0


def share(queue, cache, queues):
    return cache.capacity / 2 if queue == 0 else cache.capacity / (1 + queue)
"""

# exporters do not take policies with state yet, which a task without events does not have
POLICIES = {
    "cache_eviction": EVICTION,
    "cache_admission": {**find_task("cache_admission").seed_policies(), "little": ADMITS_LITTLE},
    "cache_queues": {**find_task("cache_queues").seed_policies(), "hits_evict": HITS_EVICT},
}

BOTH = ("gdsf", "rich", "little")
"""Policies that are tried under both mechanisms; the others under one, by turns."""


def mechanisms_of(task: str, name: str, number: int) -> tuple[str, ...]:
    if task == "cache_queues":
        return ("queues",)
    return ("heap", "sample") if name in BOTH else (("heap", "sample")[number % 2],)


CASES = [
    (task, name, mechanism)
    for task, policies in POLICIES.items()
    for number, name in enumerate(policies)
    for mechanism in mechanisms_of(task, name, number)
]


def text_of(task: str, source: str, format: str, **settings: Any) -> str:
    origin = Provenance(task, "a.py", "", "", "", settings=settings)
    (text,) = export_policy(check(source, find_task(task)), format, origin).values()
    return text


@cache
def exported(task: str, source: str, format: str) -> ModuleType:
    module = ModuleType(f"exported_{format}")
    exec(compile(text_of(task, source, format), f"<{format}>", "exec"), vars(module))
    return module


def made(task: str, source: str, format: str, capacity: int, mechanism: str, **how: Any) -> Any:
    """Return a `PolicyCache` of the format."""
    if mechanism != "queues":
        how["mechanism"] = mechanism
    return exported(task, source, format).PolicyCache(capacity, **how)


def simulated(
    task: str, source: str, objects: Column, sizes: Sizes, capacity: int, mechanism: str, **how: int
) -> tuple[int, int]:
    """Return the misses of the simulator, and its bypassed requests."""
    result = simulate(check(source, find_task(task)), objects, sizes, capacity, mechanism=mechanism, **how)
    return result.misses, result.bypassed


def requests(count: int, objects: int, seed: int) -> tuple[Column, Sizes]:
    """Skewed requests for objects of very different sizes, each of one size; dense ids."""
    random = np.random.default_rng(seed)
    drawn = random.zipf(1.2, count) % objects
    _, first, ids = np.unique(drawn, return_index=True, return_inverse=True)
    dense = np.argsort(np.argsort(first))[ids].astype(np.uint32)
    return dense, np.ceil(2.0 ** random.uniform(0, 14, objects)).astype(np.int64)[dense]
