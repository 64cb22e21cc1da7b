"""The kernels make the decisions of the plain-Python mechanisms, request by request."""

from __future__ import annotations

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_cache import PlainCache

from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.registry import find_task
from vulcan_cache import simulate
from vulcan_cache.baselines import BASELINES
from vulcan_cache.simulate import generator_state
from vulcan_traces import load_trace

TASK = find_task("cache_eviction")
HEAD = "def priority(now, obj, cache, ghost):\n"
POLICIES = {
    **TASK.seed_policies(),
    "newest_first": HEAD + "    return -obj.insertion\n",
    "constant": HEAD + "    return 1\n",
    "ages": HEAD + "    return obj.count / (now - obj.last_access + 1) / obj.size\n",
    "ghosts": HEAD
    + "    seen = obj.count + ghost.count(obj.id)\n"
    + "    if ghost.contains(obj.id) and ghost.age(obj.id) < 3 * cache.objects:\n        seen *= 2\n"
    + "    return seen / obj.size + cache.used / cache.capacity\n",
    "averages": HEAD + "    return obj.last_access.ewma(0.3) + obj.last_access.ewma(0.7) * obj.count.ewma(0.5)\n",
    "percentiles": HEAD
    + "    big = obj.size > cache.size.percentile(0.75)\n"
    + "    old = obj.last_access < cache.last_access.percentile(0.25)\n"
    + "    rare = obj.count <= cache.count.percentile(0.5)\n"
    + "    return -(4 * big + 2 * old + rare) + obj.last_access / (now + 1)\n",
    "identity": HEAD + "    return (obj.id * 7919) % 101\n",
    "huge": HEAD + "    return (obj.count * 1e200) ** 3 - obj.size ** 99\n",
}


def counts(policy, requests, capacity, mechanism, draws, seed, measure_from=0):
    plain = PlainCache(policy, capacity, mechanism, draws, generator_state(seed))
    missed = [
        (now >= measure_from, size) for now, (key, size) in enumerate(requests) if not plain.request(now, key, size)
    ]
    return sum(m for m, _ in missed), sum(size for m, size in missed if m)


def dense(keys):
    numbers: dict[int, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


@st.composite
def workloads(draw):
    keys = dense(draw(st.lists(st.integers(0, 30), min_size=1, max_size=150)))
    one_size = draw(st.booleans())
    sizes = [1 if one_size else draw(st.integers(1, 60)) for _ in keys]
    return list(zip(keys, sizes, strict=True))


@pytest.mark.parametrize("mechanism", ["heap", "sample"])
@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=examples(25), deadline=None)
@given(requests=workloads(), capacity=st.integers(1, 200), draws=st.integers(1, 20), seed=st.integers(0, 9))
def test_kernels_decide_as_plain_python(name, mechanism, requests, capacity, draws, seed):
    policy = check(POLICIES[name], TASK)
    objects = np.array([key for key, _ in requests], np.uint32)
    sizes = np.array([size for _, size in requests], np.uint32)
    start = len(requests) // 3
    result = simulate(
        policy, objects, sizes, capacity,
        mechanism=mechanism, sample_size=draws, sample_seed=seed, measure_from=start,
    )  # fmt: skip
    assert (result.misses, result.missed_bytes) == counts(policy, requests, capacity, mechanism, draws, seed, start)
    assert result.requests == len(requests) - start
    assert result.bytes == sum(size for _, size in requests[start:])


@pytest.mark.parametrize("mechanism", ["heap", "sample"])
@pytest.mark.parametrize("name", ["ages", "ghosts", "averages", "percentiles", "huge"])
@settings(max_examples=25, deadline=None)
@given(
    requests=workloads(),
    capacity=st.integers(1, 2000),
    weight=st.sampled_from([2, 10, 100]),
    gaps=st.integers(0, 10**6),
)
def test_on_a_spatial_sample_a_policy_sees_the_whole_cache(name, mechanism, requests, capacity, weight, gaps):
    policy = check(POLICIES[name], TASK)
    objects, sizes = (np.array(column, np.uint32) for column in zip(*requests, strict=True))
    times = np.cumsum(np.random.RandomState(gaps).randint(1, gaps + 2, len(requests))).astype(np.float64)
    plain = PlainCache(policy, capacity, mechanism, 4, generator_state(3), weight)
    missed = [size for now, (key, size) in zip(times, requests, strict=True) if not plain.request(int(now), key, size)]
    result = simulate(
        policy, objects, sizes, capacity,
        mechanism=mechanism, sample_size=4, sample_seed=3, times=times, weight=weight,
    )  # fmt: skip
    assert (result.misses, result.missed_bytes) == (len(missed), sum(missed))
    assert result.evictions == hash(plain.victims)


def hash(victims):
    value = 0
    for victim in victims:
        value = (value * 6364136223846793005 + victim + 1) % 2**64
    return value


@pytest.fixture(scope="module")
def sized():
    return load_trace("scan-mix:requests=60000,objects=6000,alpha=0.9,scan_share=0.2,seed=5,sizes=lognormal")


@pytest.mark.parametrize("share", [0.002, 0.01, 0.1])
@pytest.mark.parametrize("name", ["fifo", "lru", "lfu"])
def test_policies_under_heap_are_the_native_baselines(sized, name, share):
    capacity = int(sized.footprint * share)
    result = simulate(check(POLICIES[name], TASK), sized.objects, sized.sizes, capacity, mechanism="heap")
    native = BASELINES[name].kernel()(sized.objects, sized.sizes, sized.next_access, sized.object_count, capacity, 0)
    assert (result.misses, result.missed_bytes, result.bypassed) == native


@pytest.mark.parametrize("share", [0.01, 0.1])
def test_gdsf_under_heap_is_the_native_one_but_for_the_newcomer(sized, share):
    # the native kernel, as libCacheSim, lets a new object take part in the eviction that it causes
    capacity = int(sized.footprint * share)
    result = simulate(check(POLICIES["gdsf"], TASK), sized.objects, sized.sizes, capacity, mechanism="heap")
    misses, _, _ = BASELINES["gdsf"].kernel()(
        sized.objects, sized.sizes, sized.next_access, sized.object_count, capacity, 0
    )
    assert result.misses == pytest.approx(misses, rel=0.01)


def test_more_draws_come_closer_to_the_heap(sized):
    # fifo does not change while an object stays, so that drawing every object is the heap
    capacity = sized.footprint // 200
    fifo = check(POLICIES["fifo"], TASK)
    exact = simulate(fifo, sized.objects, sized.sizes, capacity, mechanism="heap").misses
    all_drawn = simulate(fifo, sized.objects, sized.sizes, capacity, mechanism="sample", sample_size=1024).misses
    few_drawn = simulate(fifo, sized.objects, sized.sizes, capacity, mechanism="sample", sample_size=1).misses
    assert all_drawn == exact
    assert few_drawn != exact


def test_seeds_of_the_draw_differ_and_repeat(sized):
    lru = check(POLICIES["lru"], TASK)
    runs = [
        simulate(lru, sized.objects, sized.sizes, sized.footprint // 10, sample_seed=seed).misses
        for seed in (1, 1, 2, 3)
    ]
    assert runs[0] == runs[1]
    assert len(set(runs)) == 3


@pytest.mark.parametrize("count", [0, 1025])
def test_a_draw_that_is_impossible_is_refused(sized, count):
    with pytest.raises(UserError, match="sample size"):
        simulate(check(POLICIES["lru"], TASK), sized.objects, sized.sizes, 1000, sample_size=count)
