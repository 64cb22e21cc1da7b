"""The `Cache` of an exported module makes exactly the decisions of the simulator, for policies of all mechanisms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from baseline_traces import real_trace
from cache_formats import CASES, RANKED, exported, requests, simulated, text_of, under
from effort import ALL, few, slow
from exported import load

from vulcan_traces import load_trace

Columns = tuple[np.ndarray, np.ndarray]
Replay = Callable[[Any, list[str], list[int]], None]


def by_request(cache: Any, keys: list[str], sizes: list[int]) -> None:
    for key, size in zip(keys, sizes, strict=True):
        cache.request(key, size)


def by_get_and_put(cache: Any, keys: list[str], sizes: list[int]) -> None:
    """A read-through cache: fetch what is missing, and store it."""
    for key, size in zip(keys, sizes, strict=True):
        value = cache.get(key)
        if value is None:
            cache.put(key, f"value of {key}", size)
        else:
            assert value == f"value of {key}"


def by_put_alone(cache: Any, keys: list[str], sizes: list[int]) -> None:
    for key, size in zip(keys, sizes, strict=True):
        cache.put(key, None, size)


REPLAYS = (by_request, by_get_and_put, by_put_alone)


def assert_replayed(
    source: str, columns: Columns, capacity: int, replay: Replay = by_request, **how: int
) -> tuple[int, int]:
    """The misses and bypasses of the simulator, and of the exported cache."""
    objects, sizes = columns
    expected = simulated(source, objects, sizes, capacity, **how)
    cache = exported(source, "python").Cache(capacity, **how)
    # keys of an application's own, to which the trace's dense numbers mean nothing
    replay(cache, [f"object {number}" for number in objects.tolist()], sizes.tolist())
    assert (cache.misses, cache.bypassed) == expected
    assert cache.hits + cache.misses == len(objects)
    assert cache.currsize <= capacity
    return expected


@pytest.mark.parametrize(("number", "name"), list(enumerate(CASES)), ids=list(CASES))
def test_objects_of_all_sizes_have_the_misses_of_the_simulator(number: int, name: str) -> None:
    columns = requests(3_000 if ALL else 500, 300, seed=5)
    for turn, capacity in enumerate((1, 5_000, 200_000)):
        for replay in REPLAYS if ALL else REPLAYS[(number + turn) % 3 :][:1]:
            expected = assert_replayed(CASES[name], columns, capacity, replay)
            assert "def admit" in CASES[name] or "def insert" in CASES[name] or (expected[1] > 0) == (capacity < 2**14)


@pytest.mark.parametrize("capacity", few([1, 2, 15, 16, 17, 300], 2))
@pytest.mark.parametrize("name", few(list(CASES), 8))
def test_tiny_caches_of_unit_objects_have_the_misses_of_the_simulator(name: str, capacity: int) -> None:
    trace = load_trace("zipf:requests=4000,objects=500,alpha=0.8,seed=3")
    objects = np.asarray(trace.objects)[: 4_000 if ALL else 600]
    assert_replayed(CASES[name], (objects, np.ones(len(objects), np.int64)), capacity)


@pytest.mark.parametrize(("size", "seed"), [(1, 0), (5, 42), (64, 2**63)])
def test_the_draw_is_that_of_the_simulator(size: int, seed: int) -> None:
    options = {"sample_size": size, "sample_seed": seed}
    assert_replayed(CASES["gdsf sample"], requests(1_500, 600, seed=6), 50_000, **options)


@pytest.mark.parametrize(("name", "mechanism", "misses"), [slow("gdsf", "heap", 92_353), slow("lru", "sample", 94_273)])
def test_the_whole_of_a_real_trace_has_the_misses_of_the_simulator(name: str, mechanism: str, misses: int) -> None:
    disk = real_trace("libcachesim/cloudPhysicsIO.vscsi")
    assert assert_replayed(under(mechanism, RANKED[name]), (disk.objects, disk.sizes), 50_000_000) == (misses, 0)


@pytest.mark.parametrize("name", ["lru", "lru_by_frequency"])
def test_the_draw_of_the_search_is_the_default(name: str) -> None:
    objects, sizes = requests(3_000, 600, seed=5)
    source, found = under("sample", RANKED[name]), set()
    for how in ({"sample_size": 3, "sample_seed": 9}, {"sample_size": 2, "sample_seed": 1}):
        cache = load(text_of(source, "python", **how)).Cache(30_000)
        by_request(cache, objects.tolist(), sizes.tolist())
        found.add((cache.misses, cache.bypassed))
        assert (cache.misses, cache.bypassed) == simulated(source, objects, sizes, 30_000, **how)
    assert len(found) == 2


def test_an_export_has_only_what_its_mechanism_and_its_functions_need() -> None:
    texts = {name: text_of(source, "python") for name, source in CASES.items()}
    assert all(f"Setting mechanism: {name.split()[1]}\n" in text for name, text in texts.items())
    parts = {"class _Heap": " heap", "class _Sample": " sample", "SAMPLE_SIZE =": " sample", "class _Queues": " queues"}
    for part, of in parts.items():
        assert {name for name, text in texts.items() if part in text} == {name for name in texts if name.endswith(of)}
    assert {name for name, text in texts.items() if "_Victim" in text} == {
        name for name, source in CASES.items() if "def admit" in source
    }
    assert not [name for name, text in texts.items() if "_Timer" in text or "# with" in text]
