"""The `Cache` of an exported policy of admission and eviction makes exactly the decisions of the simulator."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from admission_programs import policies
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from vulcan.anvil import check
from vulcan.export import Provenance, find_exporter
from vulcan.registry import find_task
from vulcan_cache import simulate

TASK = find_task("cache_admission")
SEEDS = TASK.seed_policies()
MECHANISMS = ("heap", "sample")


def exported(source: str, **settings: object) -> ModuleType:
    origin = Provenance(
        task="cache_admission", run="a-run", candidate="1", proposer="offline/evolve", date="2026-01-01", seed=1,
        objective="object", scores={"train": 0.1}, instances=("web@10%",), settings=settings,
    )  # fmt: skip
    (text,) = find_exporter("python").export(check(source, TASK), origin).values()
    module = ModuleType("exported")
    exec(compile(text, "<exported>", "exec"), vars(module))
    return module


def by_request(cache, keys, sizes):
    for key, size in zip(keys, sizes, strict=True):
        cache.request(key, size)


def by_get_and_put(cache, keys, sizes):
    for key, size in zip(keys, sizes, strict=True):
        value = cache.get(key)
        if value is None:
            cache.put(key, f"value of {key}", size)
        else:
            assert value == f"value of {key}"


def workload(requests: int, objects: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Skewed requests for objects of very different sizes, each of one size; dense ids."""
    random = np.random.default_rng(seed)
    drawn = random.zipf(1.2, requests) % objects
    _, first, ids = np.unique(drawn, return_index=True, return_inverse=True)
    dense = np.argsort(np.argsort(first))[ids].astype(np.uint32)
    return dense, np.ceil(2.0 ** random.uniform(0, 14, objects)).astype(np.uint32)[dense]


def assert_replayed(source, objects, sizes, capacity, replay, mechanism):
    result = simulate(check(source, TASK), objects, sizes, capacity, mechanism=mechanism)
    cache = exported(source).Cache(capacity, mechanism=mechanism)
    # keys of an application's own, to which the trace's dense numbers mean nothing
    replay(cache, [f"object {number}" for number in objects.tolist()], sizes.tolist())
    assert (cache.hits + cache.misses, cache.misses, cache.bypassed) == (len(objects), result.misses, result.bypassed)
    assert cache.currsize <= capacity


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("name", SEEDS)
def test_shipped_policies_have_the_misses_of_the_simulator(name, mechanism):
    objects, sizes = workload(4_000, 600, seed=5)
    for capacity in (1, 5_000, 200_000):
        for replay in (by_request, by_get_and_put):
            assert_replayed(SEEDS[name], objects, sizes, capacity, replay, mechanism)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@settings(max_examples=examples(25), deadline=None, derandomize=True)
@given(source=policies(), seed=st.integers(0, 99), capacity=st.sampled_from([3, 40, 30_000]))
def test_generated_policies_have_the_misses_of_the_simulator(mechanism, source, seed, capacity):
    objects, sizes = workload(600, 120, seed)
    unit = np.ones_like(sizes)
    assert_replayed(source, objects, sizes if capacity > 1000 else unit, capacity, by_request, mechanism)


def test_the_mechanism_of_the_search_is_the_default():
    objects, sizes = workload(4_000, 600, seed=5)
    source = SEEDS["lru_by_frequency"]
    results = {}
    for mechanism in MECHANISMS:
        cache = exported(source, mechanism=mechanism, sample_size=2).Cache(20_000)
        by_request(cache, objects.tolist(), sizes.tolist())
        results[mechanism] = cache.misses
        run = simulate(check(source, TASK), objects, sizes, 20_000, mechanism=mechanism, sample_size=2)
        assert cache.misses == run.misses
    assert results["heap"] != results["sample"]


def test_what_is_not_admitted_is_not_stored():
    cache = exported(SEEDS["lru_by_frequency"]).Cache(2)
    cache.update({"a": 1, "b": 2, "c": 3})
    assert (dict(cache.items()), cache.bypassed) == ({"a": 1, "b": 2}, 1)
    assert cache.get("c", "not there") == "not there"
    assert cache.setdefault("a", 7) == 1
    cache.put("a", "larger than all", size=3)
    assert ("a" in cache, cache.bypassed) == (False, 2)
