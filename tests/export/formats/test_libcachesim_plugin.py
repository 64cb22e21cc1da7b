"""An exported plug-in of libCacheSim has the misses of the simulator, request by request."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest
from cache_formats import CASES, POLICIES, made, requests, simulated, text_of
from cache_programs import admission_programs, queue_programs
from effort import few
from hypothesis import given, settings
from hypothesis import strategies as st
from real_data import real_data

from vulcan.registry import find_task
from vulcan_traces import load_trace

libcachesim = pytest.importorskip("libcachesim")

FORMAT = "libcachesim"
OFFSET = 10_000_000_019
"""Ids of an application's own, to which the trace's dense numbers mean nothing."""


def request(identity: int, size: int) -> object:
    asked = libcachesim.Request()
    asked.obj_id, asked.obj_size = identity, size
    return asked


def replayed(cache, objects, sizes) -> list[bool]:
    hits = [
        cache.get(request(OFFSET + identity, size))
        for identity, size in zip(objects.tolist(), sizes.tolist(), strict=True)
    ]
    twin = cache._hooks.twin
    assert cache.get_n_obj() == len(twin)
    assert cache.get_occupied_byte() == twin.currsize <= twin.maxsize
    assert (cache.hits, cache.misses) == (sum(hits), len(hits) - sum(hits))
    return hits


@pytest.mark.parametrize(("task", "name", "mechanism"), few(CASES, 14))
def test_the_plugin_has_the_misses_of_the_simulator(task: str, name: str, mechanism: str) -> None:
    objects, sizes = requests(900, 250, seed=5)
    source = POLICIES[task][name]
    for capacity, used in ((100_000, sizes), (5_000, sizes), (40, np.ones_like(sizes))):
        cache = made(task, source, FORMAT, capacity, mechanism, hashpower=10)
        hits = replayed(cache, objects, used)
        for end in (500, len(hits)):  # so that hits are not only as many, but in the same places
            expected = simulated(task, source, objects[:end], used[:end], capacity, mechanism)
            assert end - sum(hits[:end]) == expected[0]
        assert cache.bypassed == expected[1]
        assert 0 < sum(hits) < len(hits)


COUNTS = """
class policy:
    sketch = [0] * 64
    refused = 0
    luck = 0
class obj:
    returns = 0
def on_hit(now, obj, cache, ghost):
    policy.sketch[hash(obj.id, 1)] += 1
def on_ghost_hit(now, obj, cache, ghost):
    obj.returns += 1
def on_miss(now, obj, cache, ghost):
    policy.sketch[hash(obj.id, 1)] += 1
    policy.luck = random()
    if policy.refused > 20:
        policy.refused = 0
        for i in range(64):
            policy.sketch[i] /= 2
def on_refuse(now, obj, cache, ghost):
    policy.refused += 1
def on_evict(now, obj, cache, ghost):
    policy.refused -= 0.5
def priority(now, obj, cache, ghost):
    return obj.last_access + 20 * policy.sketch[hash(obj.id, 1)] + 100 * obj.returns
def admit(now, obj, cache, victim, ghost):
    return victim.size == 0 or obj.returns > 0 or policy.luck * policy.sketch[hash(obj.id, 1)] > 0.3
"""
WITH_STATE = [
    ("cache_admission", COUNTS, "heap"),
    ("cache_admission", COUNTS, "sample"),
    *(
        ("cache_queues", (find_task("cache_queues").directory / "policies" / f"{name}.py").read_text(), "queues")
        for name in ("arc", "w_tinylfu", "lirs")
    ),
]


@pytest.mark.parametrize(
    ("task", "source", "mechanism"), WITH_STATE, ids=["heap", "sample", "arc", "w_tinylfu", "lirs"]
)
def test_policies_with_state_have_the_misses_of_the_simulator(task: str, source: str, mechanism: str) -> None:
    """Their handlers are called where the simulator calls them."""
    objects, sizes = requests(900, 250, seed=5)
    for capacity, used in ((20_000, sizes), (40, np.ones_like(sizes))):
        cache = made(task, source, FORMAT, capacity, mechanism, hashpower=10)
        hits = replayed(cache, objects, used)
        for end in (300, 600, len(hits)):
            expected = simulated(task, source, objects[:end], used[:end], capacity, mechanism)
            assert end - sum(hits[:end]) == expected[0]
        assert cache.bypassed == expected[1]
        assert 0 < sum(hits) < len(hits)


@settings(max_examples=8, deadline=None, derandomize=True)
@given(source=queue_programs(), seed=st.integers(0, 99), capacity=st.sampled_from([3, 40, 30_000]))
def test_generated_policies_of_queues(source: str, seed: int, capacity: int) -> None:
    generated("cache_queues", source, seed, capacity, "queues")


@settings(max_examples=8, deadline=None, derandomize=True)
@given(
    source=admission_programs(),
    seed=st.integers(0, 99),
    capacity=st.sampled_from([3, 40, 30_000]),
    mechanism=st.sampled_from(["heap", "sample"]),
)
def test_generated_policies_of_admission(source: str, seed: int, capacity: int, mechanism: str) -> None:
    generated("cache_admission", source, seed, capacity, mechanism)


def generated(task: str, source: str, seed: int, capacity: int, mechanism: str) -> None:
    objects, sizes = requests(600, 120, seed)
    sizes = sizes if capacity > 1_000 else np.ones_like(sizes)
    cache = made(task, source, FORMAT, capacity, mechanism, hashpower=10)
    hits = replayed(cache, objects, sizes)
    assert (len(hits) - sum(hits), cache.bypassed) == simulated(task, source, objects, sizes, capacity, mechanism)


@pytest.mark.parametrize(
    ("task", "name", "mechanism"),
    [
        ("cache_eviction", "gdsf", "heap"),
        ("cache_eviction", "rich", "sample"),
        ("cache_admission", "little", "heap"),
        ("cache_admission", "little", "sample"),
        ("cache_queues", "hits_evict", "queues"),
        ("cache_queues", "s3_fifo", "queues"),
    ],
)
def test_a_real_trace_read_by_libcachesim_itself(task: str, name: str, mechanism: str) -> None:
    path = real_data("cache", "libcachesim") / "cloudPhysicsIO.oracleGeneral.bin"
    trace = load_trace(path)
    part = 6_000
    objects, sizes = np.asarray(trace.objects)[:part], np.asarray(trace.sizes)[:part]
    capacity = 20_000_000
    cache = made(task, POLICIES[task][name], FORMAT, capacity, mechanism)
    reader = libcachesim.TraceReader(str(path), libcachesim.TraceType.ORACLE_GENERAL_TRACE)
    ratio, _ = cache.process_trace(reader, max_req=part)
    expected, bypassed = simulated(task, POLICIES[task][name], objects, sizes, capacity, mechanism)
    assert (cache.hits + cache.misses, cache.misses, cache.bypassed) == (part, expected, bypassed)
    assert ratio == pytest.approx(expected / part, abs=1e-12)
    assert 0.2 < ratio < 0.95


@pytest.mark.parametrize(("task", "mechanism"), [("cache_eviction", "heap"), ("cache_admission", "heap")])
def test_a_part_of_a_trace(task: str, mechanism: str) -> None:
    path = real_data("cache", "libcachesim") / "cloudPhysicsIO.oracleGeneral.bin"
    source = POLICIES[task]["lru" if task == "cache_eviction" else "lru_always"]
    cache = made(task, source, FORMAT, 20_000_000, mechanism)
    lru = libcachesim.LRU(20_000_000, hashpower=20)
    for start, most in ((0, 2_000), (2_000, 1_000)):
        both = [
            c.process_trace(libcachesim.TraceReader(str(path), libcachesim.TraceType.ORACLE_GENERAL_TRACE), start, most)
            for c in (cache, lru)
        ]
        assert both[0] == pytest.approx(both[1], abs=1e-9)


def test_the_size_is_given_once() -> None:
    cache = made("cache_eviction", POLICIES["cache_eviction"]["lru"], FORMAT, 10, "heap")
    with pytest.raises(ValueError, match="make a new cache"):
        cache.set_cache_size(20)


@pytest.mark.parametrize(("size", "seed"), [(1, 0), (5, 42)])
def test_the_draw_is_that_of_the_simulator(size: int, seed: int) -> None:
    objects, sizes = requests(1_500, 300, seed=6)
    how = {"sample_size": size, "sample_seed": seed}
    source = POLICIES["cache_eviction"]["gdsf"]
    cache = made("cache_eviction", source, FORMAT, 50_000, "sample", **how)
    replayed(cache, objects, sizes)
    assert cache.misses == simulated("cache_eviction", source, objects, sizes, 50_000, "sample", **how)[0]


def test_an_object_of_no_size_counts_as_one_byte_to_the_policy() -> None:
    objects, sizes = requests(2_000, 300, seed=3)
    sizes = np.where(objects % 3 == 0, 0, 1).astype(np.int64)
    source = POLICIES["cache_eviction"]["lru"]
    cache = made("cache_eviction", source, FORMAT, 20, "heap")
    hits = [cache.get(request(i, s)) for i, s in zip(objects.tolist(), sizes.tolist(), strict=True)]
    assert cache.get_n_obj() == len(cache._hooks.twin) == 20
    expected = simulated("cache_eviction", source, objects, np.maximum(sizes, 1), 20, "heap")[0]
    assert len(hits) - sum(hits) == cache.misses == expected


@pytest.mark.parametrize("task", POLICIES)
def test_an_object_may_be_removed_between_requests(task: str) -> None:
    source = next(iter(POLICIES[task].values()))
    cache = made(task, source, FORMAT, 10, "queues" if task == "cache_queues" else "heap")
    for identity in (1, 2, 3):
        cache.get(request(identity, 3))
    assert cache.remove(2) and not cache.remove(2)
    assert (cache.get_n_obj(), cache.get_occupied_byte(), len(cache._hooks.twin)) == (2, 6, 2)
    assert [cache.get(request(identity, 3)) for identity in (1, 3, 2)] == [True, True, False]


def test_an_object_that_changes_behind_the_policy_is_told() -> None:
    cache = made("cache_eviction", POLICIES["cache_eviction"]["lru"], FORMAT, 10, "heap")
    cache.insert(request(7, 3))
    with pytest.raises(RuntimeError, match="libCacheSim has object 7, and to the policy it is not so"):
        cache.get(request(7, 3))
    with pytest.raises(RuntimeError, match="evicts nothing for object 9"):
        cache.evict(request(9, 3))


@pytest.mark.parametrize("task", POLICIES)
def test_many_caches_come_and_go(task: str) -> None:
    """The hooks, and with them the policy's own cache, go with the cache that they belong to."""
    source = next(iter(POLICIES[task].values()))
    left = []
    for _ in range(100):
        cache = made(task, source, FORMAT, 10, "queues" if task == "cache_queues" else "heap", hashpower=8)
        for identity in range(20):
            cache.get(request(identity, 3))
        left.append(weakref.ref(cache._hooks.twin))
        del cache
    gc.collect()
    assert [twin() for twin in left] == [None] * 100


def test_the_module_needs_no_more_than_it_says(tmp_path: Path) -> None:
    """It runs where nothing of Vulcan can be imported, and imports what its first lines say."""
    text = text_of("cache_queues", POLICIES["cache_queues"]["s3_fifo"], FORMAT)
    assert "It needs Python and the package libcachesim." in text
    assert text.index("import itertools\nimport math\nimport weakref\n\nimport libcachesim\n") < text.index(
        "def insert("
    )
    (tmp_path / "cache_queues_libcachesim.py").write_text(text)
    code = (
        "import sys\n"
        "class Refuse:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('vulcan', 'vulcan_cache', 'vulcan_traces', 'numba'):\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "import libcachesim\n"
        "from cache_queues_libcachesim import PolicyCache\n"
        "cache = PolicyCache(10)\n"
        "def ask(i):\n"
        "    r = libcachesim.Request(); r.obj_id = i; r.obj_size = 4\n"
        "    return cache.get(r)\n"
        "print([ask(i) for i in (1, 1, 2, 3, 3, 1)], cache.misses, cache.cache_name)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "[False, True, False, False, True, False] 4 VulcanPolicy\n"
