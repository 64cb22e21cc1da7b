"""Statistics of entities that enter, are touched and leave: native, reference and the plain definition."""

import math
from random import Random

import pytest
from anvil_toy import FIXED, TOY, TOY_LAYOUT, returning
from anvil_twin import Twin
from anvil_values import values_for
from test_anvil_streams import asking

from vulcan.anvil import check

FEATURES = {f"item.{f.name}": f for f in TOY.signature.entity.features}
SHARES = (0.0, 0.07, 0.25, 0.5, 0.9, 1.0)


def quantised(value: float, resolution: int) -> float:
    """The value with `resolution` bits behind its leading one, the rest cut off; 0 below 2**-20."""
    if abs(value) < 2.0**-20:
        return 0.0
    mantissa, exponent = math.frexp(value)
    return math.ldexp(math.trunc(mantissa * 2 ** (resolution + 1)), exponent - resolution - 1)


def test_an_empty_population_and_an_unseen_entity_give_the_declared_unknown():
    twin = Twin(check(returning("world.signed.percentile(0.5)"), TOY), TOY_LAYOUT)
    assert twin.score(1.0, FIXED) == -3.5
    assert check(returning("item.below.ewma(0.5)"), TOY).reference()(FIXED, 1.0) == 1e6


@pytest.mark.parametrize("feature", [name for name in FEATURES if name != "item.id"])
def test_many_entities_at_every_share_match_a_sorted_list(feature):
    random, resolution = Random(5), FEATURES[feature].resolution
    name = feature.removeprefix("item.")
    twin = Twin(check(asking([f"world.{name}.percentile({share})" for share in SHARES]), TOY), TOY_LAYOUT)
    values = {}
    for step in range(600):
        key = float(random.randrange(100))
        if key in values and random.random() < 0.4:
            twin.leave(key)
            del values[key]
            continue
        values[key] = values_for(TOY.signature, random) | {"item.id": key}
        twin.observe(key, values[key])
        if step % 5 == 0:
            number = step // 5 % len(SHARES)
            live = sorted(quantised(seen[feature], resolution) for seen in values.values())
            expected = live[max(1, math.ceil(SHARES[number] * len(live))) - 1]
            assert twin.score(key, values[key] | {"now": float(number)}) == expected
    assert len(values) > 40


def test_the_plan_has_exactly_the_statistics_that_the_code_uses():
    plan = check(
        returning("item.whole.ewma(0.5) + item.whole.ewma(0.50) + world.tiny.percentile(1) + item.huge"), TOY
    ).plan
    assert [(s.kind, s.feature, s.arguments) for s in plan.statistics] == [
        ("ewma", "item.whole", (0.5,)), ("percentile", "item.tiny", (1.0,)),
    ]  # fmt: skip
    assert plan.features == ("item.huge",)
    assert plan.bytes_per_entity == 16
    assert check(returning("item.huge"), TOY).plan.bytes_per_entity == 0
    assert check(returning("item.huge"), TOY).native(TOY_LAYOUT).enter == 0


ASKED = (
    "item.whole.latest()", "item.whole.min()", "item.whole.max()", "item.whole.ewma(0.1)", "item.whole.avg()",
    "item.whole.recent(1)", "item.whole.recent(5)", "item.whole.window_avg(5)", "item.whole.window_percentile(0.5, 5)",
    "item.whole.count(1, 64)", "item.whole.contains(1, 64)", "world.whole.percentile(0.5)", "world.whole.latest()",
    "world.whole.min()", "world.whole.max()", "world.whole.ewma(0.1)", "world.whole.avg()", "world.whole.recent(5)",
    "world.whole.window_avg(5)", "world.whole.window_percentile(0.5, 5)", "world.whole.count(1, 4096)",
    "world.whole.contains(1, 5)", "item.whole.count(1, 5)", "item.signed.avg()",
)  # fmt: skip


def test_the_bytes_of_each_statistic_add_up_to_what_is_there():
    policy = check(returning(" + ".join(ASKED)), TOY)
    memory = policy.plan.memory(TOY.signature)
    assert [m.statistic for m in memory] == list(policy.plan.statistics)
    native = policy.native(TOY_LAYOUT)
    assert sum(m.entity for m in memory) == policy.plan.bytes_per_entity == 8 * native.entity_slots
    system = 8 * (len(native.new_globals()) - TOY_LAYOUT.global_slots)
    assert sum(m.system for m in memory) == policy.plan.bytes_of_system(TOY.signature) == system
    # one ring and one count of observations for all that ask for them
    assert policy.plan.bytes_per_entity == 8 * (1 + 5 + 1 + 1 + 1 + 64 + 5)
