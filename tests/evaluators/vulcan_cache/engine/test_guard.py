"""A guarded policy stays within its bound, and exports of it decide as the simulator does, request by request."""

from __future__ import annotations

import json
import random
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from baseline_traces import dense
from cache_formats import CASES, QUEUES, requests, under
from changing_traces import TRACES
from console import Console
from directories_caches import STEPS, Steps, check_uses
from effort import slow
from exported import load
from hypothesis import example, given, settings

from vulcan.anvil import check
from vulcan.export import Provenance
from vulcan.export.source import policy_source
from vulcan.portfolio.export import export_guarded
from vulcan.registry import find_task
from vulcan_cache.following import ALLOWANCE, SAFE_POLICIES, TOLERANCE, simulate_guarded
from vulcan_cache.simulate import simulate

TASK = find_task("cache_eviction")
LFU = under("heap", "def priority(now, obj, cache, ghost):\n    return obj.count\n")
MRU = under("heap", "def priority(now, obj, cache, ghost):\n    return -obj.last_access\n")
Column = np.ndarray[Any, Any]


@cache
def exported(source: str, safe: str, format: str = "python") -> ModuleType:
    origin = Provenance(TASK.name, "a.py", "", "", "")
    ((name, text),) = export_guarded(check(source, TASK), format, origin, safe).items()
    assert name.startswith(f"{TASK.name}_guarded")
    assert policy_source(text) == source
    return load(text, name)


def outcomes(source: str, safe: str, columns: tuple[Column, Column], capacity: int) -> Column:
    outcome = np.zeros(len(columns[0]), np.uint32)
    simulate_guarded(check(source, TASK), safe, *columns, capacity, outcome=outcome)
    return outcome


@cache
def missed_by(source: str | None, kind: str, capacity: int) -> Column:
    """The requests that LRU, or a policy alone, misses."""
    policy = SAFE_POLICIES["lru"].compiled() if source is None else check(source, TASK)
    history = np.zeros(len(trace(kind)[0]), np.uint32)
    simulate(policy, *trace(kind), capacity, history=history)
    return (history & 3) != 0


@cache
def trace(kind: str) -> tuple[Column, Column]:
    ids = dense(TRACES[kind](random.Random(kind)))
    return ids, np.ones(len(ids), np.int64)


@pytest.mark.parametrize("source", [LFU, MRU])
@pytest.mark.parametrize("kind", TRACES)
def test_no_range_of_requests_exceeds_the_bound(kind: str, source: str) -> None:
    """On traces that keep their character and on those that change; K is the capacity, for objects are of one size."""
    capacity = 160
    outcome = outcomes(source, "lru", trace(kind), capacity)
    missed, safe = (outcome & 1) == 1, missed_by(None, kind, capacity)
    excess = np.cumsum(missed.astype(float) - safe - TOLERANCE)
    before = np.concatenate(([0.0], excess[:-1]))
    assert (excess - np.minimum.accumulate(before)).max() <= ALLOWANCE * capacity + 1e-6
    unguarded = missed_by(source, kind, capacity)
    first = int(np.argmax(outcome >= 2)) if (outcome >= 2).any() else len(outcome)
    assert (missed[:first] == unguarded[:first]).all()
    if source == MRU:
        assert unguarded.sum() > safe.sum() + 10 * capacity
        assert first < len(outcome)


def test_the_policy_is_followed_again_when_it_pays() -> None:
    """Popular objects, a working set that moves, and popular objects again."""
    hot = trace("popularity")[0].astype(np.int64)
    moving = np.arange(10_000) // 20 + np.random.default_rng(1).integers(0, 40, 10_000) + 1_000_000
    keys = np.concatenate((hot[:20_000], moving, hot))
    _, ids = np.unique(keys, return_inverse=True)
    columns = ids.astype(np.uint32), np.ones(len(ids), np.int64)
    safe_followed = outcomes(LFU, "lru", columns, 60) >= 2
    assert not safe_followed[:20_000].any()
    changes = np.flatnonzero(np.diff(safe_followed.astype(int)))
    assert len(changes) == 2
    assert 20_000 < changes[0] < 30_000 < changes[1]


GUARDED = [
    ("rich heap", "lru"),
    ("little heap", "s3-fifo"),
    ("hits_evict queues", "lru"),
    *(slow("gdsf heap", safe) for safe in SAFE_POLICIES),
    *(slow(f"{name} queues", "sieve") for name in QUEUES),
]


@pytest.mark.parametrize(("name", "safe"), GUARDED)
def test_an_export_decides_as_the_simulator(name: str, safe: str) -> None:
    source = CASES[name]
    objects, sizes = requests(2_500, 250, seed=5)
    for capacity, used in ((30_000, sizes), (30, np.ones_like(sizes))):
        outcome = outcomes(source, safe, (objects, used), capacity)
        by_request, read_through = (exported(source, safe).Cache(capacity, tolerance=TOLERANCE) for _ in range(2))
        for key, size, expected in zip(objects.tolist(), used.tolist(), outcome.tolist(), strict=True):
            assert by_request.request(f"key {key}", size) == (expected & 1 == 0)
            assert by_request.is_guarding == (expected >= 2)
            assert by_request.behind + len(by_request._lacks[1]) <= by_request.allowed
            if read_through.get(f"key {key}") is None:
                read_through.put(f"key {key}", key, size)
        assert (read_through.misses, read_through.switches) == (by_request.misses, by_request.switches)
        assert by_request.currsize <= capacity


@settings(max_examples=25)
@given(STEPS)
@example([("r", 0, 1), ("r", 1, 1), ("x", 0, 1), ("x", 0, 1), ("r", 0, 1), ("x", 0, 1)])
def test_it_remains_a_mapping_of_limited_size(steps: Steps) -> None:
    check_uses(exported(LFU, "lru").Cache(40), steps)


def test_a_plugin_of_libcachesim_has_the_misses_of_the_simulator() -> None:
    libcachesim = pytest.importorskip("libcachesim")
    objects, sizes = requests(1_500, 250, seed=7)
    outcome = outcomes(MRU, "lru", (objects, sizes), 30_000)
    assert (outcome >= 2).any()
    plugin = exported(MRU, "lru", "libcachesim").PolicyCache(30_000, hashpower=10)
    for key, size, expected in zip(objects.tolist(), sizes.tolist(), outcome.tolist(), strict=True):
        request = libcachesim.Request()
        request.obj_id, request.obj_size = key, size
        assert plugin.get(request) == (expected & 1 == 0)


def test_the_command_measures_the_guarded_policy_beside_the_policy(tmp_path: Path) -> None:
    (tmp_path / "mru.py").write_text(MRU)
    trace = "zipf:requests=4000,objects=500,alpha=1.0,seed=3"
    text = Console(tmp_path)(
        "eval", "mru.py", "--task", TASK.name, "--trace", trace, "--cache-size", "10%", "--guard", "lru", "--json"
    ).stdout
    means = {row["policy"]: row["miss_ratio"] for row in json.loads(text)["means"]}
    assert means["mru, guarded by lru"] < means["mru"]
