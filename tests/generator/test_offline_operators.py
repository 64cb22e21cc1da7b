"""A request's operator says what the offline generator makes of its parents."""

from __future__ import annotations

import random

import pytest
from effort import ALL
from offline_tasks import VALUE_TASK

from vulcan.anvil import check, ir
from vulcan.generator import OfflineEvolve
from vulcan.generator.draft import PolicyDraft
from vulcan.generator.operators import split_population
from vulcan.generator.vocabulary import vocabulary
from vulcan.models.base import Parent, Request
from vulcan.registry import find_task

TASK = find_task("cache_eviction")
POLICIES = TASK.seed_policies()
PARENTS = (Parent(11, POLICIES["lfu"], 0.1), Parent(12, POLICIES["gdsf_admitting"], 0.3))
SEEDS = range(40 if ALL else 10)


def described(operator: str, parents: tuple[Parent, ...], seed: int) -> str:
    """The generator's words on what it did; its program is valid."""
    text = OfflineEvolve(TASK).propose(Request(7, 0, (), parents, seed, operator)).text
    description, _, program = text.partition("\n\n```python\n")
    assert check(program.removesuffix("```\n"), TASK).source
    return description


@pytest.mark.parametrize(
    ("operator", "said"),
    [
        ("fresh", "wrote a new program from the task's features"),
        ("mutate", "changed candidate 11: "),
        ("crossover", "crossed candidate 11 (the first) with candidate 12 (the second): "),
    ],
)
def test_an_operator_is_followed(operator: str, said: str) -> None:
    parents = PARENTS[:1] if operator == "mutate" else PARENTS
    told = [described(operator, parents, seed) for seed in SEEDS]
    assert sum(said in text for text in told) >= 0.9 * len(told)  # the rest found nothing to do in its tries


def test_a_new_program_does_not_depend_on_the_parents() -> None:
    for seed in SEEDS:
        assert described("fresh", PARENTS, seed) == described("fresh", (), seed)


def test_without_an_operator_the_generator_chooses_for_itself() -> None:
    told = [described("", PARENTS, seed) for seed in range(120 if ALL else 40)]
    for said in ("wrote a new program", "changed candidate 12", "changed candidate 11", "crossed candidate 12"):
        assert any(said in text for text in told), said


def test_a_split_compares_a_feature_with_a_percentile_of_its_own_and_keeps_the_rest_as_it_was() -> None:
    words = vocabulary(TASK)
    whole = ir.Read("obj.count")
    seen = set()
    for seed in range(200 if ALL else 60):
        draft = PolicyDraft(random.Random(seed), words)
        made = split_population(draft, whole)
        assert isinstance(made, ir.Choose)
        assert made.otherwise == whole
        assert made.then == ir.Operate("multiply", (ir.Parameter("FACTOR"), whole))
        assert isinstance(made.test, ir.Compare)
        left, edge = made.test.operands
        assert isinstance(left, ir.Read)
        assert isinstance(edge, ir.Statistic)
        assert (edge.kind, edge.scope, edge.feature) == ("percentile", "population", left.feature)
        seen.add(left.feature)
    assert seen == set(words.ranked)
    assert split_population(PolicyDraft(random.Random(1), vocabulary(VALUE_TASK)), ir.Read("link.rate")) is None
