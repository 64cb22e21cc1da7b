"""The offline generator never adds, compares or chooses between quantities whose units do not go together."""

import pytest
from breeding import arbitrary, proposed, request, rounds
from effort import ALL
from offline_tasks import RANK_TASK, TOY_TASKS

from vulcan.anvil import check, ir
from vulcan.generator import OfflineEvolve
from vulcan.generator.normal_form import flatten
from vulcan.generator.units import clashes
from vulcan.generator.vocabulary import vocabulary
from vulcan.task import Task


def expression_of(source: str) -> tuple[ir.Expression, dict[str, float]]:
    policy = check(f"W = 2\n\n\ndef urgency(clock, parcel, store, sent):\n    return {source}\n", RANK_TASK)
    flat = flatten(policy.program)
    assert flat is not None
    return flat, policy.parameters


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ("parcel.weight + parcel.visits", 1),
        ("W * parcel.weight + parcel.visits", 1),
        ("parcel.weight / store.load + sent.contains(parcel.id)", 0),
        ("parcel.visits + W * sent.count(parcel.id)", 0),
        ("parcel.price > parcel.weight", 1),
        ("parcel.weight > store.weight.percentile(0.5)", 0),
        ("(parcel.weight if sent.contains(parcel.id) else parcel.price) * W", 1),
        ("max(parcel.price / parcel.weight, W)", 0),
        ("parcel.price ** 0.5 + parcel.price", 1),
        ("store.last + parcel.price / parcel.weight", 0),
        ("parcel.arrived * parcel.weight", 1),
        ("(clock - parcel.arrived) * parcel.weight", 0),
        ("W * parcel.arrived + sent.age(parcel.id)", 0),
        ("parcel.weight + parcel.weight.recent(3) - store.weight.window_avg(8)", 0),
        ("parcel.weight.max() + parcel.price.avg()", 1),
        ("parcel.arrived.recent(2) * parcel.weight", 1),
        ("W + store.id.count(parcel.id, 64) / parcel.visits.count(parcel.visits, 8)", 0),
        ("W + parcel.visits.count(parcel.weight, 8)", 1),
        ("parcel.weight + parcel.weight.contains(parcel.weight, 8)", 1),
    ],
)
def test_clashing_units_are_found(source: str, count: int) -> None:
    e, parameters = expression_of(source)
    assert len(clashes(e, vocabulary(RANK_TASK).units, parameters)) == count


@pytest.mark.parametrize("task", TOY_TASKS)
def test_no_generation_mixes_units(task: Task) -> None:
    units = vocabulary(task).units
    seen = 0
    for seed in range(8 if ALL else 1):
        for policies in rounds(task, arbitrary, seed=seed, count=6, samples=12):
            for policy in policies:
                e = flatten(policy.program)
                assert e is not None
                assert clashes(e, units, policy.parameters) == [], policy.source
                seen += sum(isinstance(part, ir.Operate) and part.operation in ("add", "subtract", "max")
                            for part in ir.expressions(policy.program.entry.body))  # fmt: skip
    assert seen > (500 if ALL else 50)


def test_identities_and_what_a_property_rules_out_are_only_looked_for_among_identities() -> None:
    looked_for = 0
    for seed in range(6) if ALL else (5,):
        for policies in rounds(RANK_TASK, arbitrary, seed=seed, count=5, samples=20):
            for policy in policies:
                written = list(ir.expressions(policy.program.entry.body))
                asked = [e for e in written if isinstance(e, ir.Occurrences) and e.statistic.feature == "parcel.id"]
                assert [e for e in written if e == ir.Read("parcel.id")] == [e.value for e in asked], policy.source
                looked_for += len(asked)
    assert looked_for > 2


def test_most_new_programs_go_the_way_a_property_says() -> None:
    generator = OfflineEvolve(RANK_TASK)
    up = down = 0
    for seed in range(400 if ALL else 150):
        policy = proposed(generator, RANK_TASK, request(0, seed=seed))
        if set(policy.plan.features) != {"parcel.price"} or policy.plan.statistics or policy.plan.queries:
            continue
        reference = policy.reference()
        low, high = (reference({"parcel.price": price}) for price in (10.0, 1000.0))
        up, down = up + (high > low), down + (high < low)
    assert up + down >= (8 if ALL else 3)
    assert up >= 2 * down
