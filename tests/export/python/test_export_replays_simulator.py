"""The `Cache` of an exported module makes exactly the decisions of the simulator."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from effort import ALL, few
from exported import POLICIES, TASK, export, load, provenance

from vulcan.anvil import check
from vulcan_cache import simulate
from vulcan_traces import load_trace

Replay = Callable[[Any, list[int], list[int]], None]


def by_request(cache: Any, keys: list[int], sizes: list[int]) -> None:
    for key, size in zip(keys, sizes, strict=True):
        cache.request(key, size)


def by_get_and_put(cache: Any, keys: list[int], sizes: list[int]) -> None:
    """A read-through cache: fetch what is missing, and store it."""
    for key, size in zip(keys, sizes, strict=True):
        value = cache.get(key)
        if value is None:
            cache.put(key, f"value of {key}", size)
        else:
            assert value == f"value of {key}"


def by_put_alone(cache: Any, keys: list[int], sizes: list[int]) -> None:
    for key, size in zip(keys, sizes, strict=True):
        cache.put(key, None, size)


def sized_trace(requests: int, objects: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Skewed requests for objects of very different sizes, each of one size; dense ids."""
    random = np.random.default_rng(seed)
    drawn = random.zipf(1.2, requests) % objects
    _, first, ids = np.unique(drawn, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    dense = order[ids].astype(np.uint32)
    sizes = np.ceil(2.0 ** random.uniform(0, 14, objects)).astype(np.uint32)
    return dense, sizes[dense]


def misses_of(source: str, objects: Any, sizes: Any, capacity: int, mechanism: str, **options: int) -> tuple[int, int]:
    result = simulate(check(source, TASK), objects, sizes, capacity, mechanism=mechanism, **options)
    return result.misses, result.bypassed


def replayed(source: str, objects: Any, sizes: Any, capacity: int, replay: Replay, **options: Any) -> tuple[int, int]:
    cache = load(export(source)).Cache(capacity, **options)
    # keys of an application's own, to which the trace's dense numbers mean nothing
    replay(cache, [f"object {i}" for i in objects.tolist()], sizes.tolist())
    assert cache.hits + cache.misses == len(objects)
    assert cache.currsize <= capacity
    return cache.misses, cache.bypassed


@pytest.fixture(scope="module")
def disk(cloud_physics: Path) -> tuple[np.ndarray, np.ndarray]:
    trace = load_trace(cloud_physics)
    return np.asarray(trace.objects), np.asarray(trace.sizes)


@pytest.mark.parametrize("mechanism", ["sample", "heap"])
@pytest.mark.parametrize("name", few(POLICIES, 4))
def test_a_real_trace_has_the_misses_of_the_simulator(
    name: str, mechanism: str, disk: tuple[np.ndarray, np.ndarray]
) -> None:
    objects, sizes = (column[:10_000] for column in disk)
    for capacity, replay in ((20_000_000, by_request), (2_000_000, by_get_and_put)):
        expected = misses_of(POLICIES[name], objects, sizes, capacity, mechanism)
        assert 1_000 < expected[0] < 10_000
        assert replayed(POLICIES[name], objects, sizes, capacity, replay, mechanism=mechanism) == expected


@pytest.mark.parametrize("mechanism", ["sample", "heap"])
@pytest.mark.parametrize("name", POLICIES)
def test_objects_of_all_sizes_have_the_misses_of_the_simulator(name: str, mechanism: str) -> None:
    objects, sizes = sized_trace(3_000 if ALL else 700, 600, seed=5)
    for capacity in (1, 5_000, 200_000):
        for replay in (by_request, by_get_and_put, by_put_alone):
            expected = misses_of(POLICIES[name], objects, sizes, capacity, mechanism)
            assert (expected[1] > 0) == (capacity < 2**14)
            assert replayed(POLICIES[name], objects, sizes, capacity, replay, mechanism=mechanism) == expected


@pytest.mark.parametrize("capacity", few([1, 2, 15, 16, 17, 300], 2))
@pytest.mark.parametrize("name", ["rich", "ghost", "inflated", "statistics"])
def test_tiny_caches_of_unit_objects_have_the_misses_of_the_simulator(name: str, capacity: int) -> None:
    trace = load_trace("zipf:requests=4000,objects=500,alpha=0.8,seed=3")
    objects = np.asarray(trace.objects)[: 4_000 if ALL else 1_000]
    sizes = np.ones(len(objects), np.uint32)
    for mechanism in ("sample", "heap"):
        expected = misses_of(POLICIES[name], objects, sizes, capacity, mechanism)
        assert replayed(POLICIES[name], objects, sizes, capacity, by_request, mechanism=mechanism) == expected


@pytest.mark.parametrize(("size", "seed"), [(1, 0), (5, 42), (64, 2**63)])
def test_the_draw_is_that_of_the_simulator(size: int, seed: int) -> None:
    objects, sizes = sized_trace(4_000, 600, seed=6)
    options = {"sample_size": size, "sample_seed": seed}
    expected = misses_of(POLICIES["gdsf"], objects, sizes, 50_000, "sample", **options)
    found = replayed(POLICIES["gdsf"], objects, sizes, 50_000, by_request, mechanism="sample", **options)
    assert found == expected


@pytest.mark.parametrize(("name", "mechanism", "misses"), few([("gdsf", "heap", 92_353), ("lru", "sample", 94_273)], 1))
def test_the_whole_of_a_real_trace_has_the_misses_of_the_simulator(
    name: str, mechanism: str, misses: int, disk: tuple[np.ndarray, np.ndarray]
) -> None:
    expected = misses_of(POLICIES[name], *disk, 50_000_000, mechanism)
    assert expected == (misses, 0)
    assert replayed(POLICIES[name], *disk, 50_000_000, by_request, mechanism=mechanism) == expected


def test_the_mechanism_of_the_search_is_the_default() -> None:
    objects, sizes = sized_trace(3_000, 600, seed=5)
    settings = {"mechanism": "sample", "sample_size": 3, "sample_seed": 9}
    expected = misses_of(POLICIES["lru"], objects, sizes, 40_000, **settings)
    cache = load(export(POLICIES["lru"], provenance(settings=settings))).Cache(40_000)
    by_request(cache, objects.tolist(), sizes.tolist())
    assert (cache.misses, cache.bypassed) == expected
    assert expected != misses_of(POLICIES["lru"], objects, sizes, 40_000, "sample")
    assert expected != misses_of(POLICIES["lru"], objects, sizes, 40_000, "heap")
