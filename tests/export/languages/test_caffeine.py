"""Policies of Caffeine's simulator miss what the simulator misses, driven through its interface as published."""

from __future__ import annotations

from pathlib import Path

import pytest
from c_programs import provenance
from cache_formats import requests, simulated, under

from benchmarks.caffeine import misses, missing
from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.export.formats import export_policy
from vulcan.registry import find_task

TASK = find_task("cache_eviction")
ADMITS = """
def priority(now, obj, cache, ghost):
    return obj.last_access + 90 * obj.count


def admit(now, obj, cache, victim, ghost):
    return victim.size == 0 or ghost.age(obj.id) > 20 or obj.size < 2 * victim.size
"""


REMEMBERS = """
def priority(now, obj, cache, ghost):
    gap = obj.last_access - obj.last_access.recent(2)
    size = cache.size.percentile(0.5) + cache.size.window_avg(9)
    return obj.count.ewma(0.3) / (1 + gap) / size + obj.count.max()
"""


def exported(source: str) -> str:
    (text,) = export_policy(check(source, TASK), "caffeine", provenance(TASK.name)).values()
    return text


@pytest.mark.skipif(bool(missing()), reason=f"no {missing()}")
def test_exported_policies_miss_what_the_simulator_misses(tmp_path: Path) -> None:
    seeds = TASK.seed_policies()
    sources = {name: seeds[name] for name in ("lru", "gdsf", "cacheus_simplified")}
    sources |= {mechanism: under(mechanism, ADMITS) for mechanism in ("heap", "sample")}
    sources |= {f"{mechanism}_statistics": under(mechanism, REMEMBERS) for mechanism in ("heap", "sample")}
    objects, sizes = requests(3_000, 300, seed=8)
    got = misses(
        {name: exported(source) for name, source in sources.items()},
        zip(objects.tolist(), sizes.tolist(), strict=True), 40_000, tmp_path,
    )  # fmt: skip
    assert got == {name: simulated(source, objects, sizes, 40_000)[0] for name, source in sources.items()}


def test_what_it_has_not_is_refused_by_name() -> None:
    rechecked = (
        "def priority(now, obj, cache, ghost):\n    return 0\ndef recheck(now, obj, cache, ghost):\n    return 9\n"
    )
    with pytest.raises(UserError, match=r"the policy uses recheck, which Caffeine's simulator does not show"):
        exported(under("heap", rechecked))
    with pytest.raises(UserError, match=r"mechanism queues cannot be exported as caffeine.*use --format"):
        exported(TASK.seed_policies()["sieve"])
