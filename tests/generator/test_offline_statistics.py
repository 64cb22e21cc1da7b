"""The offline generator draws every kind of statistic, with arguments that make sense, and none too often."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from breeding import arbitrary, proposed, request, rounds
from effort import ALL as EVERY_EXAMPLE
from offline_tasks import RANK_TASK, TOY_TASKS, VALUE_TASK

from vulcan.anvil import ir
from vulcan.anvil.grammar import grammar
from vulcan.generator import OfflineEvolve
from vulcan.generator.draft import PolicyDraft
from vulcan.generator.expression_tree import subexpressions
from vulcan.generator.normal_form import flatten
from vulcan.generator.statistic_calls import changed, changed_occurrence
from vulcan.generator.vocabulary import vocabulary
from vulcan.registry import find_task
from vulcan.task import Task

CACHE = find_task("cache_eviction")
ALL = [pytest.param(CACHE, id="cache_eviction"), *TOY_TASKS]


def fresh(task: Task, seeds: int) -> list[ir.Statistic]:
    """The statistics of as many new programs, each program's once."""
    generator = OfflineEvolve(task)
    return [s for seed in range(seeds) for s in proposed(generator, task, request(0, seed=seed)).plan.statistics]


def assert_sensible(statistic: ir.Statistic, key: str) -> None:
    kind = grammar.STATISTICS[statistic.kind]
    assert statistic.scope in kind.scopes
    for argument, value in zip(kind.arguments, statistic.arguments, strict=True):
        match argument.name:
            case "k":
                assert 1 <= value <= 4
            case "n":
                assert 4 <= value <= (4096 if statistic.feature == key else 64)
        assert argument.low <= value <= argument.most(statistic.scope)
        assert not argument.whole or value.is_integer()


@pytest.mark.slow
def test_every_kind_is_drawn_with_sensible_arguments_and_the_moving_average_most() -> None:
    drawn = [s for task in (CACHE, RANK_TASK, VALUE_TASK) for s in fresh(task, 350)]
    for statistic in drawn:
        assert_sensible(statistic, {"obj": "obj.id", "parcel": "parcel.id"}.get(statistic.feature.split(".")[0], ""))
    kinds = Counter(s.kind for s in drawn)
    assert set(kinds) | {"latest"} == set(grammar.STATISTICS)  # the latest is mostly the feature itself, and rare
    others = sum(kinds.values()) - kinds["ewma"] - kinds["percentile"]
    assert kinds["ewma"] > 1.5 * others
    assert others > 60
    assert {s.scope for s in drawn} == {"entity", "system", "population"}


@pytest.mark.parametrize("task", ALL)
def test_statistics_are_asked_of_features_that_they_suit(task: Task) -> None:
    for policies in rounds(task, arbitrary, seed=9, count=8 if EVERY_EXAMPLE else 3, samples=20):
        for policy in policies:
            words = vocabulary(policy.task)
            streamed = dict(words.streamed)  # what a handler is shown can also be the condition of what it sets
            for event in words.events:
                streamed |= event.words.streamed
            integers = {name for name, feature in policy.task.signature.features() if feature.type == "int"}
            e = flatten(policy.program)
            assert e is not None
            for _, part in subexpressions(e):
                match part:
                    case ir.Occurrences(statistic, value):
                        assert value == ir.Read(statistic.feature)
                        assert statistic.feature in integers - words.units.points
                    case ir.Statistic(scope="entity" | "system" as scope, feature=feature):
                        assert streamed[feature] == scope or feature in words.ranked
                    case ir.Statistic(feature=feature):
                        assert feature in words.ranked


def statistics_of(task: Task) -> list[ir.Statistic | ir.Occurrences]:
    """One of each kind and scope, with arguments in the middle."""
    middle = {"alpha": 0.25, "p": 0.5, "k": 2.0, "n": 16.0}
    made: list[ir.Statistic | ir.Occurrences] = []
    for kind in grammar.STATISTICS.values():
        for scope in kind.scopes:
            arguments = tuple(middle[argument.name] for argument in kind.arguments)
            statistic = ir.Statistic(kind.name, scope, "parcel.visits", arguments)
            made.append(ir.Occurrences(statistic, ir.Read("parcel.visits")) if kind.looks_for else statistic)
    return made


@pytest.mark.parametrize("old", statistics_of(RANK_TASK), ids=str)
def test_a_changed_statistic_is_another_one_that_makes_sense(old: ir.Statistic | ir.Occurrences) -> None:
    draft = PolicyDraft(random.Random(2), vocabulary(RANK_TASK))
    kinds: set[str] = set()
    now = old
    for _ in range(400):
        if isinstance(now, ir.Occurrences):
            new: ir.Statistic | ir.Occurrences = changed_occurrence(draft, now)
            before, after = now.statistic, new.statistic  # type: ignore[union-attr]
            assert new.value == ir.Read("parcel.visits")  # type: ignore[union-attr]
        else:
            before, after = now, changed(draft, now)
            new = after
        assert (after.feature, after.scope) == (before.feature, before.scope)
        assert_sensible(after, "parcel.id")
        kinds.add(after.kind)
        now = new
    alike = {k.name for k in grammar.STATISTICS.values()
             if after.scope in k.scopes and k.looks_for == isinstance(old, ir.Occurrences)}  # fmt: skip
    assert kinds == alike
