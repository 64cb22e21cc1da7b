"""Exports cache policies, loads what comes out, and says what the simulator makes of the same requests."""

from __future__ import annotations

import re
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from baseline_traces import dense
from exported import POLICIES as EVICTION
from exported import load
from numpy.typing import NDArray

from vulcan.anvil import check
from vulcan.export import Provenance
from vulcan.export.formats import export_policy
from vulcan.registry import find_task
from vulcan_cache.simulate import simulate

Column = NDArray[np.uint32]
Sizes = NDArray[np.int64]

ADMITS_LITTLE = """
def priority(now, obj, cache, ghost):
    return obj.last_access + 300 * obj.count.ewma(0.3) + 5 * ghost.count(obj.id) - cache.size.percentile(0.5) / 100


def admit(now, obj, cache, victim, ghost):
    return victim.size == 0 or ghost.contains(obj.id) or obj.size < cache.size.avg() / 2
"""

_QUEUES = """
MECHANISM = "queues"


def insert(now, obj, cache, queues, ghost):
    return {insert}


def hit(now, obj, cache, queues):
    return {hit}


def tail(now, obj, cache, queues):
    return {tail}


def keep(now, obj, cache, queues):
    return {keep}


def share(queue, cache, queues):
    return {share}
"""


def queue_policy(
    insert: str = "1", hit: str = "0", tail: str = "-1", keep: str = "0", share: str = "cache.capacity"
) -> str:
    """Return a policy of the mechanism `queues` whose functions return the expressions."""
    return _QUEUES.format(insert=insert, hit=hit, tail=tail, keep=keep, share=share)


HITS_EVICT = queue_policy(
    insert="2 if ghost.contains(obj.id) else 1 if obj.size < 2 * cache.size.avg() + 10 else 0",
    hit="3 if obj.hits > 2 else 2",
    tail="1 if obj.queue == 2 and obj.hits > 0 else 2 if obj.queue == 3 else 0",
    share="cache.capacity / 2 if queue == 0 else cache.capacity / (1 + queue)",
)

SKETCH = '''"""Admits what a sketch that ages counts more often than the victim, and some objects at random."""
WIDTH = 64
LUCK = 0.05


class policy:
    sketch = [0.0] * 256
    total = 0
    lucky = 0
    refusals = 0


class obj:
    cell = -1
    returns = 0


def estimate(cell):
    return min(policy.sketch[cell], policy.sketch[hash(cell, 7)])


def on_hit(now, obj, cache, ghost):
    policy.sketch[obj.cell] += 1
    policy.sketch[hash(obj.cell, 7)] += 1


def on_ghost_hit(now, obj, cache, ghost):
    obj.returns += 1
    policy.sketch[obj.cell] += obj.returns * ghost.count(obj.id)


def on_miss(now, obj, cache, ghost):
    obj.cell = hash(obj.id, 1) % WIDTH
    policy.sketch[obj.cell] += 1
    policy.total += 1
    policy.lucky = random() < LUCK
    if policy.total > 100:
        policy.total = 0
        for i in range(256):
            policy.sketch[i] /= 2


def on_refuse(now, obj, cache, ghost):
    policy.refusals += 1


def on_evict(now, obj, cache, ghost):
    obj.returns = max(0, obj.returns - 1)


def priority(now, obj, cache, ghost):
    return obj.last_access + 20 * estimate(obj.cell) + 100 * obj.returns


def admit(now, obj, cache, victim, ghost):
    return victim.size == 0 or policy.lucky or obj.returns > 0 or estimate(obj.cell) > 1
'''
"""With every handler and kind of state."""

TASK = find_task("cache_eviction")


def under(mechanism: str, source: str) -> str:
    """Return the policy with a line that names the mechanism."""
    line = f'MECHANISM = "{mechanism}"\n'
    if "MECHANISM" in source:
        return re.sub(r'MECHANISM = "\w+"\n', line, source)
    end = source.index('"""', 3) + 4 if source.startswith('"""') else 0
    return source[:end] + line + source[end:]


_SEEDS = {name: check(source, TASK) for name, source in TASK.seed_policies().items()}
QUEUES = {
    **{name: p.source for name, p in _SEEDS.items() if p.mechanism == "queues" and not p.program.uses_state},
    "hits_evict": HITS_EVICT,
}
ADMISSION = {name: _SEEDS[name].source for name in ("lru_by_frequency", "lru_by_size")} | {"little": ADMITS_LITTLE}
RANKED = {**EVICTION, **ADMISSION}

BOTH = ("gdsf", "rich", "little")
"""Policies that are tried under both mechanisms; the others under one, by turns."""

CASES = {
    **{
        f"{name} {mechanism}": under(mechanism, source)
        for number, (name, source) in enumerate(RANKED.items())
        for mechanism in (("heap", "sample") if name in BOTH else (("heap", "sample")[number % 2],))
    },
    **{f"{name} queues": source for name, source in QUEUES.items()},
}
"""Policies without state by name and mechanism."""


def text_of(source: str, format: str, **settings: Any) -> str:
    origin = Provenance(TASK.name, "a.py", "", "", "", settings=settings)
    (text,) = export_policy(check(source, TASK), format, origin).values()
    return text


@cache
def exported(source: str, format: str) -> ModuleType:
    return load(text_of(source, format), f"exported_{format}")


def made(source: str, format: str, capacity: int, **how: Any) -> Any:
    """Return a `PolicyCache` of the format."""
    return exported(source, format).PolicyCache(capacity, **how)


def simulated(source: str, objects: Column, sizes: Sizes, capacity: int, **how: int) -> tuple[int, int]:
    """Return the misses of the simulator, and its bypassed requests."""
    result = simulate(check(source, TASK), objects, sizes, capacity, **how)
    return result.misses, result.bypassed


def requests(count: int, objects: int, seed: int) -> tuple[Column, Sizes]:
    """Skewed requests for objects of very different sizes, each of one size; dense ids."""
    random = np.random.default_rng(seed)
    ids = dense(random.zipf(1.2, count) % objects)
    return ids, np.ceil(2.0 ** random.uniform(0, 14, objects)).astype(np.int64)[ids]
