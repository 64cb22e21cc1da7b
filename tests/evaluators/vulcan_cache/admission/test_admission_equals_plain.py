"""The kernels admit and evict as the plain-Python mechanisms do, request by request."""

from __future__ import annotations

import numpy as np
import pytest
from admission_programs import policies
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_admission import PlainAdmission

from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.registry import find_task
from vulcan_cache import simulate
from vulcan_cache.simulate import generator_state
from vulcan_traces import load_trace

TASK = find_task("cache_admission")
EVICTION = find_task("cache_eviction")
SEEDS = {name: check(source, TASK) for name, source in TASK.seed_policies().items()}


@st.composite
def workloads(draw):
    keys = draw(st.lists(st.integers(0, 25), min_size=1, max_size=150))
    numbers: dict[int, int] = {}
    one_size = draw(st.booleans())
    return [
        (numbers.setdefault(key, len(numbers)), 1 if one_size else draw(st.integers(1, 60)))
        for key in keys
    ]  # fmt: skip


def hash(gone):
    value = 0
    for key in gone:
        value = (value * 6364136223846793005 + key + 1) % 2**64
    return value


def assert_equal(policy, requests, capacity, mechanism, weight=1, times=None):
    objects, sizes = (np.array(column, np.uint32) for column in zip(*requests, strict=True))
    plain = PlainAdmission(policy, capacity, mechanism, 4, generator_state(3), weight)
    moments = range(len(requests)) if times is None else times
    missed = [
        size for now, (key, size) in zip(moments, requests, strict=True) if not plain.request(int(now), key, size)
    ]
    result = simulate(
        policy, objects, sizes, capacity,
        mechanism=mechanism, sample_size=4, sample_seed=3, times=times, weight=weight,
    )  # fmt: skip
    assert (result.misses, result.missed_bytes, result.bypassed) == (len(missed), sum(missed), plain.bypassed)
    assert result.evictions == hash(plain.gone)
    return plain


@pytest.mark.parametrize("mechanism", ["heap", "sample"])
@settings(max_examples=examples(120), deadline=None, derandomize=True)
@given(source=policies(), requests=workloads(), capacity=st.integers(1, 200))
def test_generated_policies_decide_as_plain_python(mechanism, source, requests, capacity):
    assert_equal(check(source, TASK), requests, capacity, mechanism)


@pytest.mark.parametrize("mechanism", ["heap", "sample"])
@pytest.mark.parametrize("name", SEEDS)
@settings(max_examples=20, deadline=None, derandomize=True)
@given(requests=workloads(), capacity=st.integers(1, 300))
def test_shipped_policies_decide_as_plain_python(name, mechanism, requests, capacity):
    assert_equal(SEEDS[name], requests, capacity, mechanism)


@pytest.mark.parametrize("mechanism", ["heap", "sample"])
@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    source=policies(),
    requests=workloads(),
    capacity=st.integers(1, 2000),
    weight=st.sampled_from([2, 10, 100]),
    gaps=st.integers(0, 10**6),
)
def test_on_a_spatial_sample_a_policy_sees_the_whole_cache(mechanism, source, requests, capacity, weight, gaps):
    times = np.cumsum(np.random.RandomState(gaps).randint(1, gaps + 2, len(requests))).astype(np.float64)
    plain_hold_whole = assert_equal(check(source, TASK), requests, capacity, mechanism, weight, times)
    assert plain_hold_whole.used <= capacity


@pytest.fixture(scope="module")
def sized():
    return load_trace("scan-mix:requests=60000,objects=6000,alpha=0.9,scan_share=0.2,seed=5,sizes=lognormal")


@pytest.mark.parametrize("mechanism", ["heap", "sample"])
@pytest.mark.parametrize("name", ["lru", "gdsf"])
def test_admitting_everything_is_cache_eviction_bit_for_bit(sized, name, mechanism):
    for share in (0.002, 0.01, 0.1):
        capacity = int(sized.footprint * share)
        always = simulate(SEEDS[f"{name}_always"], sized.objects, sized.sizes, capacity, mechanism=mechanism)
        alone = simulate(
            check(EVICTION.seed_policies()[name], EVICTION), sized.objects, sized.sizes, capacity, mechanism=mechanism
        )
        assert always == alone  # with the hash of every eviction, in order


POLICY = """
def priority(now, obj, cache, ghost):
    return 1


def admit(now, obj, cache, victim, ghost):
    return {}
"""


@pytest.mark.parametrize(("answer", "is_let_in"), [("0", False), ("1e-300", True), ("-1", False), ("0.1", True)])
@pytest.mark.parametrize("mechanism", ["heap", "sample"])
def test_above_zero_is_let_in(mechanism, answer, is_let_in):
    plain = assert_equal(check(POLICY.format(answer), TASK), [(0, 1), (1, 1), (0, 1)], 5, mechanism)
    assert len(plain.residents) == (2 if is_let_in else 0)


@pytest.mark.parametrize("mechanism", ["heap", "sample"])
def test_a_policy_that_admits_what_it_remembers_starts_with_an_empty_cache(mechanism):
    second_time = check(POLICY.format("ghost.contains(obj.id)"), TASK)
    plain = assert_equal(second_time, [(0, 1), (1, 1), (0, 1), (1, 1)], 5, mechanism)
    assert sorted(plain.residents) == [0, 1]


@pytest.mark.parametrize("mechanism", ["heap", "sample"])
def test_requests_for_what_is_not_let_in_are_counted(mechanism):
    third_time = check(POLICY.format("ghost.count(obj.id) >= 2"), TASK)
    plain = assert_equal(third_time, [(0, 1), (1, 1), (0, 1), (1, 1), (0, 1)], 5, mechanism)
    assert sorted(plain.residents) == [0]


def test_a_mechanism_that_is_not_the_tasks_is_refused(sized):
    queues = find_task("cache_queues")
    fifo = check(queues.seed_policies()["fifo"], queues)
    with pytest.raises(
        UserError, match="'queues' is not for policies of the task 'cache_admission'; use heap or sample"
    ):
        simulate(SEEDS["lru_always"], sized.objects, sized.sizes, 1000, mechanism="queues")
    with pytest.raises(UserError, match="'sample' is not for policies of the task 'cache_queues'; use queues"):
        simulate(fifo, sized.objects, sized.sizes, 1000)
    with pytest.raises(UserError, match="no mechanism 'heaps'; did you mean 'heap'"):
        simulate(fifo, sized.objects, sized.sizes, 1000, mechanism="heaps")
