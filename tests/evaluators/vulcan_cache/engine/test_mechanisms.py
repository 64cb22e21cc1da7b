"""The kernels make the decisions of the plain-Python mechanisms, request by request."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from baseline_traces import native_counts
from cache_formats import under
from cache_programs import queue_programs
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_cache import assert_equal
from policy_trees import accepted, programs, random_program

from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.registry import find_task
from vulcan_cache.simulate import simulate
from vulcan_traces import load_trace

TASK = find_task("cache_eviction")
HEAD = "def priority(now, obj, cache, ghost):\n"
POLICIES = {
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


SEEDS = {name: check(source, TASK) for name, source in TASK.seed_policies().items()}
NAMED = {
    mechanism: [policy.source for policy in SEEDS.values() if policy.mechanism == mechanism]
    + ([under(mechanism, source) for source in POLICIES.values()] if mechanism != "queues" else [])
    for mechanism in TASK.mechanisms
}
MECHANISMS = list(NAMED)


def sources(mechanism):
    ranked = programs(TASK.of_policy(mechanism)).filter(lambda source: accepted(source, TASK) is not None)
    return st.sampled_from(NAMED[mechanism]) | (queue_programs() if mechanism == "queues" else ranked)


def dense(keys, sizes):
    numbers: dict[int, int] = {}
    return [(numbers.setdefault(key, len(numbers)), size) for key, size in zip(keys, sizes, strict=True)]


@st.composite
def workloads(draw):
    keys = draw(st.lists(st.integers(0, 30), min_size=1, max_size=150))
    one_size = draw(st.booleans())
    return dense(keys, [1 if one_size else draw(st.integers(1, 60)) for _ in keys])


@pytest.mark.parametrize("source", [source for sources in NAMED.values() for source in sources])
def test_named_policies_decide_as_plain_python(source):
    policy = check(source, TASK)
    for seed, (capacity, largest, draws) in enumerate([(9, 1, 4), (60, 60, 1), (200, 60, 16)]):
        random = np.random.RandomState(seed)
        keys, sizes = random.zipf(1.3, 200) % 30, random.randint(1, largest + 1, 200)
        requests = dense(keys.tolist(), sizes.tolist())
        assert_equal(policy, requests, capacity, draws=draws, seed=seed, measure_from=20 * seed)


@pytest.mark.parametrize(("answer", "is_let_in"), [("0", False), ("1e-300", True), ("-1", False), ("0.1", True)])
@pytest.mark.parametrize("mechanism", ["heap", "sample"])
def test_what_admit_answers_above_zero_is_let_in(mechanism, answer, is_let_in):
    admits = f"{POLICIES['constant']}\ndef admit(now, obj, cache, victim, ghost):\n    return {answer}\n"
    plain = assert_equal(check(under(mechanism, admits), TASK), [(0, 1), (1, 1), (0, 1)], 5)
    assert len(plain.residents) == (2 if is_let_in else 0)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@settings(max_examples=examples(150))
@given(
    data=st.data(), requests=workloads(), capacity=st.integers(1, 200), draws=st.integers(1, 20), seed=st.integers(0, 9)
)
def test_generated_policies_decide_as_plain_python(mechanism, data, requests, capacity, draws, seed):
    policy = check(data.draw(sources(mechanism)), TASK)
    assert_equal(policy, requests, capacity, draws=draws, seed=seed)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_generated_policies_with_state_decide_as_plain_python(mechanism):
    declared, random, tried = TASK.of_policy(mechanism), Random(len(mechanism)), 0
    while tried < examples(120):
        defined = [each.function for each in declared.others if random.random() < 0.7]
        policy = accepted(random_program(TASK.of_policy(mechanism, defined), random), TASK)
        if policy is None:
            continue
        keys = [min(int(random.paretovariate(0.7)), 30) for _ in range(60)]
        requests = dense(keys, [random.randint(1, 20) for _ in keys])
        assert_equal(policy, requests, random.randint(5, 200), seed=tried, weight=1 + tried % 2)
        tried += 1


@pytest.mark.parametrize("mechanism", MECHANISMS)
@settings(max_examples=examples(60))
@given(
    data=st.data(),
    requests=workloads(),
    capacity=st.integers(1, 2000),
    weight=st.sampled_from([2, 10, 100]),
    gaps=st.integers(0, 10**6),
)
def test_on_a_spatial_sample_a_policy_sees_the_whole_cache(mechanism, data, requests, capacity, weight, gaps):
    policy = check(data.draw(sources(mechanism)), TASK)
    times = np.cumsum(np.random.RandomState(gaps).randint(1, gaps + 2, len(requests))).astype(np.float64)
    plain = assert_equal(policy, requests, capacity, weight=weight, times=times)
    assert plain.used <= capacity


@pytest.fixture(scope="module")
def sized():
    return load_trace("scan-mix:requests=60000,objects=6000,alpha=0.9,scan_share=0.2,seed=5,sizes=lognormal")


@pytest.mark.parametrize("share", [0.002, 0.01, 0.1])
def test_gdsf_is_the_native_one_but_for_rounding(sized, share):
    capacity = int(sized.footprint * share)
    result = simulate(SEEDS["gdsf"], sized.objects, sized.sizes, capacity)
    misses, _, _ = native_counts("gdsf", sized, capacity)
    assert abs(result.misses - misses) <= 2
    assert simulate(SEEDS["gdsf_admitting"], sized.objects, sized.sizes, capacity).bypassed == 0


@pytest.mark.parametrize("count", [0, 1025])
def test_a_draw_that_is_impossible_is_refused(sized, count):
    with pytest.raises(UserError, match="sample size"):
        simulate(SEEDS["lru"], sized.objects, sized.sizes, 1000, sample_size=count)
