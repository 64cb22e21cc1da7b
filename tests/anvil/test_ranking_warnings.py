"""Warnings about what is equal for all the entities that a mechanism compares."""

from __future__ import annotations

import pytest

from vulcan.anvil import check
from vulcan.registry import find_task

CACHE, BALANCER = find_task("cache_eviction"), find_task("load_balancing")
HEAD = "def priority(now, obj, cache, ghost):\n    "


def rules(body: str) -> list[str]:
    return [w.rule for w in check(HEAD + body + "\n", CACHE).ranking_warnings]


@pytest.mark.parametrize(
    "body",
    ["return cache.used + now", "return cache.size.percentile(0.5)", "x = now\n    return x * cache.objects"],
)
def test_a_ranking_that_reads_nothing_of_its_entity_is_warned_of(body: str) -> None:
    assert rules(body) == ["equal-for-all"]


@pytest.mark.parametrize(
    "body",
    [
        "return cache.evicted_priority + obj.count / obj.size",
        "return obj.count - (now - obj.last_access)",
        "age = cache.evicted_priority\n    return obj.count + age",
        "return ghost.count(obj.id) - cache.used.avg()",
    ],
)
def test_a_term_that_is_equal_for_all_is_warned_of(body: str) -> None:
    assert rules(body) == ["cancels"]


@pytest.mark.parametrize(
    "body",
    [
        "return obj.count * cache.used",
        "return obj.count + 5",
        "return obj.count / (now - obj.insertion + 1)",
        "return ghost.age(obj.id)",
        "if obj.size > 9:\n        return obj.count + now\n    return obj.count",
        "x = now\n    if obj.size > 9:\n        x = 0\n    return obj.count + x",
        "return obj.size.avg()",
    ],
)
def test_what_may_differ_between_entities_is_not(body: str) -> None:
    assert rules(body) == []


def test_the_warning_names_the_mechanism_and_the_one_without_it() -> None:
    (warning,) = check(HEAD + "return cache.evicted_priority + obj.count / obj.size\n", CACHE).ranking_warnings
    assert warning.line == 2
    assert "`cache.evicted_priority`" in warning.message
    assert "`sample`" in warning.message
    assert warning.hint.endswith("or use the mechanism `heap`")


def test_a_search_does_not_record_them() -> None:
    """Recorded searches are replayed event for event, and their events have the warnings."""
    assert check(HEAD + "return cache.used + now\n", CACHE).warnings == ()
