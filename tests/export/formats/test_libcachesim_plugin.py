"""An exported plug-in of libCacheSim has the misses of the simulator, request by request."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from pathlib import Path

import numpy as np
import pytest
from cache_formats import CASES, QUEUES, RANKED, SKETCH, made, requests, simulated, text_of, under
from effort import few
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


WITH_STATE = {
    "with state, heap": under("heap", SKETCH),
    "with state, sample": under("sample", SKETCH),
    **{name: find_task("cache_eviction").seed_policies()[name] for name in ("arc", "w_tinylfu", "lirs", "gdsf")},
}
"""Handlers of those with state are called where the simulator calls them."""


@pytest.mark.parametrize("name", [*few(list(CASES), 14), *WITH_STATE])
def test_the_plugin_has_the_misses_of_the_simulator(name: str) -> None:
    objects, sizes = requests(900, 250, seed=5)
    source = (CASES | WITH_STATE)[name]
    for capacity, used in ((100_000, sizes), (20_000, sizes), (5_000, sizes), (40, np.ones_like(sizes))):
        cache = made(source, FORMAT, capacity, hashpower=10)
        hits = replayed(cache, objects, used)
        for end in (500, len(hits)):  # so that hits are not only as many, but in the same places
            expected = simulated(source, objects[:end], used[:end], capacity)
            assert end - sum(hits[:end]) == expected[0]
        assert cache.bypassed == expected[1]
        assert 0 < sum(hits) < len(hits)


@pytest.mark.parametrize(
    "name", ["gdsf heap", "rich sample", "little heap", "little sample", "hits_evict queues", "s3_fifo queues"]
)
def test_a_real_trace_read_by_libcachesim_itself(name: str) -> None:
    path = real_data("cache", "libcachesim") / "cloudPhysicsIO.oracleGeneral.bin"
    trace = load_trace(path)
    part = 6_000
    objects, sizes = np.asarray(trace.objects)[:part], np.asarray(trace.sizes)[:part]
    capacity = 20_000_000
    cache = made(CASES[name], FORMAT, capacity)
    reader = libcachesim.TraceReader(str(path), libcachesim.TraceType.ORACLE_GENERAL_TRACE)
    ratio, _ = cache.process_trace(reader, max_req=part)
    expected, bypassed = simulated(CASES[name], objects, sizes, capacity)
    assert (cache.hits + cache.misses, cache.misses, cache.bypassed) == (part, expected, bypassed)
    assert ratio == pytest.approx(expected / part, abs=1e-12)
    assert 0.2 < ratio < 0.95


@pytest.mark.parametrize("name", ["lfu sample", "gdsf heap", "s3_fifo queues"])
def test_an_object_may_be_removed_between_requests(name: str) -> None:
    source = CASES[name]
    cache = made(source, FORMAT, 10)
    for identity in (1, 2, 3):
        cache.get(request(identity, 3))
    assert cache.remove(2) and not cache.remove(2)
    assert (cache.get_n_obj(), cache.get_occupied_byte(), len(cache._hooks.twin)) == (2, 6, 2)
    assert [cache.get(request(identity, 3)) for identity in (1, 3, 2)] == [True, True, False]


def test_an_object_that_changes_behind_the_policy_is_told() -> None:
    cache = made(RANKED["lru"], FORMAT, 10)
    cache.insert(request(7, 3))
    with pytest.raises(RuntimeError, match="libCacheSim has object 7, and to the policy it is not so"):
        cache.get(request(7, 3))
    with pytest.raises(RuntimeError, match="evicts nothing for object 9"):
        cache.evict(request(9, 3))


@pytest.mark.parametrize("name", ["lfu sample", "gdsf heap", "s3_fifo queues"])
def test_many_caches_come_and_go(name: str) -> None:
    """The hooks, and with them the policy's own cache, go with the cache that they belong to."""
    source = CASES[name]
    left = []
    for _ in range(100):
        cache = made(source, FORMAT, 10, hashpower=8)
        for identity in range(20):
            cache.get(request(identity, 3))
        left.append(weakref.ref(cache._hooks.twin))
        del cache
    gc.collect()
    assert [twin() for twin in left] == [None] * 100


def test_the_module_needs_no_more_than_it_says(tmp_path: Path) -> None:
    """It runs where nothing of Vulcan can be imported, and imports what its first lines say."""
    text = text_of(QUEUES["s3_fifo"], FORMAT)
    assert "It needs Python and the package libcachesim." in text
    assert text.index("import itertools\nimport math\nimport weakref\n\nimport libcachesim\n") < text.index(
        "def insert("
    )
    (tmp_path / "cache_eviction_libcachesim.py").write_text(text)
    code = (
        "import sys\n"
        "class Refuse:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('vulcan', 'vulcan_cache', 'vulcan_traces', 'numba'):\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Refuse())\n"
        "import libcachesim\n"
        "from cache_eviction_libcachesim import PolicyCache\n"
        "cache = PolicyCache(10)\n"
        "def ask(i):\n"
        "    r = libcachesim.Request(); r.obj_id = i; r.obj_size = 4\n"
        "    return cache.get(r)\n"
        "print([ask(i) for i in (1, 1, 2, 3, 3, 1)], cache.misses, cache.cache_name)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "[False, True, False, False, True, False] 4 VulcanPolicy\n"
