"""What a policy of `cache_admission` answers, and what the kernels make of it."""

from __future__ import annotations

import pytest
from plain_cache import assert_equal

from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.registry import find_task
from vulcan_cache import simulate
from vulcan_traces import load_trace

TASK = find_task("cache_admission")
EVICTION = find_task("cache_eviction")
SEEDS = {name: check(source, TASK) for name, source in TASK.seed_policies().items()}


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
