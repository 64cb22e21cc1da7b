"""The `Cache` of an exported policy of queues makes exactly the decisions of the simulator."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from effort import examples, few
from hypothesis import given, settings
from hypothesis import strategies as st
from queue_programs import policies

from vulcan.anvil import check
from vulcan.export import Provenance, find_exporter
from vulcan.registry import find_task
from vulcan_cache import simulate

TASK = find_task("cache_queues")
FROM = Provenance(
    task="cache_queues", run="a-run", candidate="1", proposer="offline/evolve", date="2026-01-01", seed=1,
    objective="object", scores={"train": 0.1}, instances=("web@10%",), settings={"mechanism": "queues"},
)  # fmt: skip


def exported(source: str) -> ModuleType:
    (text,) = find_exporter("python").export(check(source, TASK), FROM).values()
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


def assert_replayed(source, objects, sizes, capacity, replay):
    result = simulate(check(source, TASK), objects, sizes, capacity, mechanism="queues")
    cache = exported(source).Cache(capacity)
    # keys of an application's own, to which the trace's dense numbers mean nothing
    replay(cache, [f"object {number}" for number in objects.tolist()], sizes.tolist())
    assert (cache.hits + cache.misses, cache.misses, cache.bypassed) == (len(objects), result.misses, result.bypassed)
    assert cache.currsize <= capacity
    return result


@pytest.mark.parametrize("replay", few([by_request, by_get_and_put], 1))
@pytest.mark.parametrize("name", TASK.seed_policies())
def test_shipped_policies_have_the_misses_of_the_simulator(name, replay):
    objects, sizes = workload(6_000, 900, seed=5)
    for capacity in (1, 5_000, 200_000):
        assert_replayed(TASK.seed_policies()[name], objects, sizes, capacity, replay)
    unit = np.ones_like(sizes)
    for capacity in (1, 7, 100):
        result = assert_replayed(TASK.seed_policies()[name], objects, unit, capacity, replay)
        assert 0 < result.misses < len(objects)


@settings(max_examples=examples(40), deadline=None, derandomize=True)
@given(source=policies(), seed=st.integers(0, 99), capacity=st.sampled_from([3, 40, 30_000]))
def test_generated_policies_have_the_misses_of_the_simulator(source, seed, capacity):
    objects, sizes = workload(600, 120, seed)
    assert_replayed(source, objects, sizes if capacity > 1000 else np.ones_like(sizes), capacity, by_request)


LETS_NOTHING_STAY = """
def insert(now, obj, cache, queues, ghost):
    return 1


def hit(now, obj, cache, queues):
    return 2


def tail(now, obj, cache, queues):
    return 0


def keep(now, obj, cache, queues):
    return 0


def share(queue, cache, queues):
    return 0 if queue == 2 else cache.capacity
"""


def test_a_hit_that_makes_its_object_leave_still_gives_the_value():
    cache = exported(LETS_NOTHING_STAY).Cache(10)
    cache.put("a", 1)
    assert cache["a"] == 1
    assert "a" not in cache
    cache.put("b", 2)
    assert cache.get("b") == 2
    cache.put("c", 3)
    cache.put("c", 4)  # a request that hits: the object leaves, and its new value with it
    assert (cache.hits, cache.misses, len(cache), cache.currsize) == (3, 3, 0, 0)


def test_it_is_used_like_a_dictionary():
    cache = exported(TASK.seed_policies()["s3_fifo"]).Cache(100, getsizeof=len)
    cache["a"] = "four"
    cache.update({"b": "seven..", "c": "x" * 101})
    assert (dict(cache.items()), cache.currsize, cache.bypassed) == ({"a": "four", "b": "seven.."}, 11, 1)
    assert cache.setdefault("a", "other") == "four"
    assert cache.pop("a") == "four" and "a" not in cache
    assert cache.evict() == "b"
    with pytest.raises(KeyError, match="empty"):
        cache.popitem()
    cache["d"] = "word"
    cache.put("d", "longer word")
    assert (cache["d"], cache.currsize) == ("longer word", 11)
    del cache["d"]
    assert (len(cache), cache.currsize) == (0, 0)
    with pytest.raises(KeyError):
        cache["d"]
    with pytest.raises(ValueError, match="capacity"):
        exported(TASK.seed_policies()["fifo"]).Cache(0)
