"""The `Cache` of an exported module makes exactly the decisions of the simulator, for policies of all cache tasks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cache_formats import POLICIES, exported, requests, simulated, text_of
from cache_programs import PROGRAMS
from effort import ALL, examples, few, slow
from exported import load
from hypothesis import given, settings
from hypothesis import strategies as st

from vulcan_traces import load_trace

Columns = tuple[np.ndarray, np.ndarray]
Replay = Callable[[Any, list[str], list[int]], None]

MECHANISMS = {"cache_eviction": ("sample", "heap"), "cache_admission": ("sample", "heap"), "cache_queues": ("queues",)}
CASES = [(task, mechanism, name) for task, some in MECHANISMS.items() for mechanism in some for name in POLICIES[task]]


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
    task: str, source: str, columns: Columns, capacity: int, mechanism: str, replay: Replay = by_request, **how: int
) -> tuple[int, int]:
    """The misses and bypasses of the simulator, and of the exported cache."""
    objects, sizes = columns
    expected = simulated(task, source, objects, sizes, capacity, mechanism, **how)
    chosen = {} if mechanism == "queues" else {"mechanism": mechanism, **how}
    cache = exported(task, source, "python").Cache(capacity, **chosen)
    # keys of an application's own, to which the trace's dense numbers mean nothing
    replay(cache, [f"object {number}" for number in objects.tolist()], sizes.tolist())
    assert (cache.misses, cache.bypassed) == expected
    assert cache.hits + cache.misses == len(objects)
    assert cache.currsize <= capacity
    return expected


@pytest.fixture(scope="module")
def disk(cloud_physics: Path) -> Columns:
    trace = load_trace(cloud_physics)
    return np.asarray(trace.objects), np.asarray(trace.sizes)


@pytest.mark.parametrize(("task", "mechanism", "name"), few(CASES, 6))
def test_a_real_trace_has_the_misses_of_the_simulator(task: str, mechanism: str, name: str, disk: Columns) -> None:
    count = 10_000 if ALL else 4_000
    for capacity, replay in ((20_000_000, by_request), (2_000_000, by_get_and_put)):
        columns = disk[0][:count], disk[1][:count]
        misses, _ = assert_replayed(task, POLICIES[task][name], columns, capacity, mechanism, replay)
        assert count / 10 < misses < count


@pytest.mark.parametrize(("number", "case"), list(enumerate(CASES)), ids=["-".join(case) for case in CASES])
def test_objects_of_all_sizes_have_the_misses_of_the_simulator(number: int, case: tuple[str, str, str]) -> None:
    task, mechanism, name = case
    columns = requests(3_000 if ALL else 500, 300, seed=5)
    for turn, capacity in enumerate((1, 5_000, 200_000)):
        for replay in REPLAYS if ALL else REPLAYS[(number + turn) % 3 :][:1]:
            expected = assert_replayed(task, POLICIES[task][name], columns, capacity, mechanism, replay)
            assert task != "cache_eviction" or (expected[1] > 0) == (capacity < 2**14)


@pytest.mark.parametrize("capacity", few([1, 2, 15, 16, 17, 300], 2))
@pytest.mark.parametrize(("task", "name"), few([(task, name) for task in POLICIES for name in POLICIES[task]], 8))
def test_tiny_caches_of_unit_objects_have_the_misses_of_the_simulator(task: str, name: str, capacity: int) -> None:
    trace = load_trace("zipf:requests=4000,objects=500,alpha=0.8,seed=3")
    objects = np.asarray(trace.objects)[: 4_000 if ALL else 600]
    for mechanism in MECHANISMS[task]:
        assert_replayed(task, POLICIES[task][name], (objects, np.ones(len(objects), np.int64)), capacity, mechanism)


@pytest.mark.parametrize(
    ("task", "mechanism"), [(task, mechanism) for task in PROGRAMS for mechanism in MECHANISMS[task]]
)
@settings(max_examples=examples(40), deadline=None, derandomize=True)
@given(data=st.data(), seed=st.integers(0, 99), capacity=st.sampled_from([3, 40, 30_000]))
def test_generated_policies_have_the_misses_of_the_simulator(
    task: str, mechanism: str, data: st.DataObject, seed: int, capacity: int
) -> None:
    objects, sizes = requests(600 if ALL else 300, 120, seed)
    columns = objects, sizes if capacity > 1_000 else np.ones_like(sizes)
    assert_replayed(task, data.draw(PROGRAMS[task]()), columns, capacity, mechanism)


@pytest.mark.parametrize(("size", "seed"), [(1, 0), (5, 42), (64, 2**63)])
def test_the_draw_is_that_of_the_simulator(size: int, seed: int) -> None:
    source = POLICIES["cache_eviction"]["gdsf"]
    options = {"sample_size": size, "sample_seed": seed}
    assert_replayed("cache_eviction", source, requests(1_500, 600, seed=6), 50_000, "sample", **options)


@pytest.mark.parametrize(("name", "mechanism", "misses"), [slow("gdsf", "heap", 92_353), slow("lru", "sample", 94_273)])
def test_the_whole_of_a_real_trace_has_the_misses_of_the_simulator(
    name: str, mechanism: str, misses: int, disk: Columns
) -> None:
    source = POLICIES["cache_eviction"][name]
    assert assert_replayed("cache_eviction", source, disk, 50_000_000, mechanism) == (misses, 0)


@pytest.mark.parametrize(("task", "name"), [("cache_eviction", "lru"), ("cache_admission", "lru_by_frequency")])
def test_the_mechanism_of_the_search_is_the_default(task: str, name: str) -> None:
    objects, sizes = requests(3_000, 600, seed=5)
    found = set()
    for how in (
        {"mechanism": "sample", "sample_size": 3, "sample_seed": 9},
        {"mechanism": "sample", "sample_size": 2, "sample_seed": 1},
        {"mechanism": "heap"},
    ):
        cache = load(text_of(task, POLICIES[task][name], "python", **how)).Cache(30_000)
        by_request(cache, objects.tolist(), sizes.tolist())
        found.add((cache.misses, cache.bypassed))
        assert (cache.misses, cache.bypassed) == simulated(task, POLICIES[task][name], objects, sizes, 30_000, **how)
    assert len(found) == 3
