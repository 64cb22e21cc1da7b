"""Exports policies and runs what comes out."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from vulcan.anvil import Policy, check
from vulcan.export import Provenance, find_exporter
from vulcan.registry import find_task

TASK = find_task("cache_eviction")

RICH = (
    '''"""Everything at once.

With a "quote", a back\\\\slash and '''
    + '"'
    + '''."""
import math

WEIGHT = 0.5
l = -2
Cache = 3
_divide = 1e300


def decay(age, len):
    """Old things fade."""
    total = 0
    for i in range(1, 4):
        if i > 2 and age > len:
            break
        total += age / (i * 10 + len)
    return total


def weigh(x):
    if x < 0:
        return 0
    elif x < 10:
        return x
    else:
        return 10 + math.log(x)


def priority(now, obj, cache, ghost):
    idle = now - obj.last_access
    dead = idle * 2
    dead = dead + 1
    score = obj.count.ewma(0.3) / (1 + idle) + WEIGHT * obj.last_access.ewma(0.05)
    if obj.size > cache.size.percentile(0.9) or not obj.count > cache.count.percentile(0.5):
        score -= decay(idle, 3) * l ** 2 - Cache
    if ghost.contains(obj.id):
        score = score + 10 * ghost.count(obj.id) - ghost.age(obj.id) / 1000
    for k in range(3):
        score += weigh(score) * 0.1
    score += int(cache.used / 7) % 5 + round(idle / 3) + (obj.count > 3)
    score += cache.last_access.percentile(0.25) * 1e-6 + math.sqrt(obj.size) ** 0.5
    return score + (now - obj.insertion) / (idle + obj.count - 5)
'''
)

READS_ID = """
def priority(now, obj, cache, ghost):
    return obj.id % 17 + obj.count / (1 + now - obj.last_access) + ghost.contains(obj.id)
"""

GHOST = """
def priority(now, obj, cache, ghost):
    return obj.last_access + 500 * ghost.count(obj.id) - ghost.age(obj.id) + 100 * ghost.contains(obj.id)
"""

INFLATED = """
def priority(now, obj, cache, ghost):
    return cache.evicted_priority + obj.count ** 2 / obj.size + cache.objects / cache.capacity
"""

CONSTANT = "def priority(now, obj, cache, ghost):\n    return 1\n"

STATISTICS = """
def priority(now, obj, cache, ghost):
    score = obj.last_access.recent(2) + 50 * obj.count.max() - obj.size.window_percentile(0.9, 16) / 100
    score += obj.last_access.avg() - obj.last_access.min() + obj.size.window_avg(3) + obj.count.latest()
    score += 9 * obj.size.count(obj.size, 8) - 20 * obj.size.contains(obj.count, 5) + obj.count.ewma(0.3)
    score += 300 * cache.id.contains(obj.id, 64) + 7 * cache.id.count(obj.id, 512)
    if obj.size > cache.size.window_percentile(0.75, 100) or obj.size < cache.size.avg() / 3:
        score -= now.recent(30) - now.recent(60) + cache.used.ewma(0.25) / cache.capacity.latest()
    score += cache.objects.max() + cache.objects.min() + cache.evicted_priority.window_avg(20) / 1000
    return score + cache.size.count(obj.size, 40) - (obj.count > cache.count.percentile(0.8))
"""

POLICIES = {
    **{name: TASK.seed_policies()[name] for name in ("fifo", "lfu", "lru")},
    "gdsf": TASK.seed_policies()["gdsf_admitting"], "rich": RICH, "reads_id": READS_ID, "ghost": GHOST,
    "inflated": INFLATED,
    "constant": CONSTANT, "statistics": STATISTICS,
}  # fmt: skip


def provenance(run: str = "20261120-101500-ab", date: str = "2026-11-20", **changes: object) -> Provenance:
    facts = {
        "task": "cache_eviction", "run": run, "candidate": "17", "proposer": "offline/evolve", "date": date, "seed": 7,
        "objective": "object", "scores": {"train": 0.25, "validation": 0.2, "test": 0.125},
        "instances": ("web@10%", "disk@10%"), "settings": {"cache_size": "10%"},
    }  # fmt: skip
    return Provenance(**{**facts, **changes})  # type: ignore[arg-type]


def export(policy: Policy | str, origin: Provenance | None = None) -> str:
    if isinstance(policy, str):
        policy = check(policy, TASK)
    (text,) = find_exporter("python").export(policy, origin or provenance()).values()
    return text


def load(text: str, name: str = "exported") -> ModuleType:
    """Return the module that the text makes."""
    module = ModuleType(name)
    exec(compile(text, f"<{name}>", "exec"), vars(module))
    return module


def imported(path: Path) -> ModuleType:
    """Return the module of a file as an import of its name would."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
