"""What `admit` answers, and what the kernels make of it."""

from __future__ import annotations

import pytest
from plain_cache import assert_equal

from vulcan.anvil import check
from vulcan.registry import find_task

TASK = find_task("cache_eviction")


def under(mechanism, source):
    return check(source.replace('MECHANISM = "heap"', f'MECHANISM = "{mechanism}"'), TASK)


POLICY = """
MECHANISM = "heap"


def priority(now, obj, cache, ghost):
    return 1


def admit(now, obj, cache, victim, ghost):
    return {}
"""


@pytest.mark.parametrize(("answer", "is_let_in"), [("0", False), ("1e-300", True), ("-1", False), ("0.1", True)])
@pytest.mark.parametrize("mechanism", ["heap", "sample"])
def test_above_zero_is_let_in(mechanism, answer, is_let_in):
    plain = assert_equal(under(mechanism, POLICY.format(answer)), [(0, 1), (1, 1), (0, 1)], 5)
    assert len(plain.residents) == (2 if is_let_in else 0)


@pytest.mark.parametrize("mechanism", ["heap", "sample"])
def test_it_is_asked_for_each_object_that_would_have_to_leave(mechanism):
    smaller_only = under(mechanism, POLICY.format("victim.size < 2"))
    plain = assert_equal(smaller_only, [(0, 1), (1, 1), (2, 2), (3, 4)], 4, draws=1)
    assert 2 in plain.residents
    assert 3 not in plain.residents
    assert plain.gone[-1] == 3


@pytest.mark.parametrize("mechanism", ["heap", "sample"])
def test_a_policy_that_admits_what_it_remembers_starts_with_an_empty_cache(mechanism):
    second_time = under(mechanism, POLICY.format("ghost.contains(obj.id)"))
    plain = assert_equal(second_time, [(0, 1), (1, 1), (0, 1), (1, 1)], 5)
    assert sorted(plain.residents) == [0, 1]


@pytest.mark.parametrize("mechanism", ["heap", "sample"])
def test_requests_for_what_is_not_let_in_are_counted(mechanism):
    third_time = under(mechanism, POLICY.format("ghost.count(obj.id) >= 2"))
    plain = assert_equal(third_time, [(0, 1), (1, 1), (0, 1), (1, 1), (0, 1)], 5)
    assert sorted(plain.residents) == [0]
