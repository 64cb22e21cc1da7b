"""Statistics of entities that enter, are touched and leave: native, reference and the plain definitions."""

import math

import pytest
from anvil_toy import FIXED, TOY, TOY_LAYOUT, returning
from anvil_twin import Twin
from anvil_values import values_for
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vulcan.anvil import check

FEATURES = {f"item.{f.name}": f for f in TOY.signature.entity.features}
SHARES = (0.0, 0.07, 0.25, 0.5, 0.9, 1.0)
ALPHAS = (0.001, 0.3, 0.999)


def quantised(value: float, resolution: int) -> float:
    """The value with `resolution` bits behind its leading one, the rest cut off; 0 below 2**-20."""
    if abs(value) < 2.0**-20:
        return 0.0
    mantissa, exponent = math.frexp(value)
    return math.ldexp(math.trunc(mantissa * 2 ** (resolution + 1)), exponent - resolution - 1)


class Plainly:
    """Every statistic by its definition, from all that was observed."""

    def __init__(self) -> None:
        self.observed: dict[float, list[dict[str, float]]] = {}

    def ewma(self, key: float, feature: str, alpha: float) -> float:
        first, *later = (seen[feature] for seen in self.observed[key])
        average = first
        for value in later:
            average += alpha * (value - average)
        return average

    def percentile(self, feature: str, share: float) -> float:
        declared = FEATURES[feature]
        live = sorted(quantised(seen[-1][feature], declared.resolution) for seen in self.observed.values())
        return live[max(1, math.ceil(share * len(live))) - 1] if live else declared.unknown


def policies(feature: str):
    """A twin for each statistic of the feature, all asked in one policy, the answer chosen by `now`."""
    name = feature.removeprefix("item.")
    asked = [f"item.{name}.ewma({alpha})" for alpha in ALPHAS] + [f"world.{name}.percentile({p})" for p in SHARES]
    lines = [f"    s{i} = {text}" for i, text in enumerate(asked)]
    lines += [f"    if now == {i}:\n        return s{i}" for i in range(len(asked))]
    return "def rate(now, item, world, past):\n" + "\n".join(lines) + "\n    return 0\n"


def check_all(twin: Twin, plain: Plainly, feature: str, values: dict[float, dict[str, float]]) -> None:
    for key in sorted(twin.live):
        for i, alpha in enumerate(ALPHAS):
            assert twin.score(key, values[key] | {"now": float(i)}) == plain.ewma(key, feature, alpha)
    anyone = max(values)
    for i, share in enumerate(SHARES, start=len(ALPHAS)):
        assert twin.score(anyone, values[anyone] | {"now": float(i)}) == plain.percentile(feature, share), share


def amount(feature: str) -> st.SearchStrategy[float]:
    declared = FEATURES[feature]
    if declared.type != "float":
        return st.integers(int(declared.low), int(declared.high)).map(float)
    some = st.floats(declared.low, declared.high)
    few = st.sampled_from([declared.low, declared.high, min(max(0.0, declared.low), declared.high)])
    return st.one_of(some, few)


@pytest.mark.parametrize("feature", [name for name in FEATURES if name != "item.id"])
def test_statistics_follow_their_definitions_through_any_events(feature):
    policy = check(policies(feature), TOY)
    event = st.tuples(st.integers(0, 6), st.booleans(), amount(feature))

    @settings(
        max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow], database=None
    )
    @given(st.lists(event, min_size=1, max_size=40))
    def follow(events):
        twin, plain = Twin(policy, TOY_LAYOUT), Plainly()
        values = {}
        for number, stays, x in events:
            key = float(number)
            if key in twin.live and not stays:
                twin.leave(key)
                del plain.observed[key]
            else:
                values[key] = FIXED | {feature: x, "item.id": key}
                twin.observe(key, values[key])
                plain.observed.setdefault(key, []).append(values[key])
            check_all(twin, plain, feature, values)
        twin.check_memory()

    follow()


def live_of(policy_source: str, entries: dict[float, float], feature: str) -> Twin:
    twin = Twin(check(policy_source, TOY), TOY_LAYOUT)
    for key, x in entries.items():
        twin.observe(key, FIXED | {"item.id": key, feature: x})
    return twin


def test_an_empty_population_and_an_unseen_entity_give_the_declared_unknown():
    twin = Twin(check(returning("world.signed.percentile(0.5)"), TOY), TOY_LAYOUT)
    assert twin.score(1.0, FIXED) == -3.5
    assert check(returning("item.below.ewma(0.5)"), TOY).reference()(FIXED, 1.0) == 1e6


def test_unknown_outside_the_range_takes_part_in_guards():
    # the range of `below` is [-1000, -1], and its unknown 1e6: only with it can this divisor be 0
    twin = Twin(check(returning("1 / (world.below.percentile(0.5) - 1000000)"), TOY), TOY_LAYOUT)
    assert twin.score(1.0, FIXED) == 0.0


def test_all_leave_and_come_back_as_if_new():
    source = returning("item.whole.ewma(0.5) * 1e6 + world.whole.percentile(0.5)")
    twin = live_of(source, {1.0: 10.0, 2.0: 500.0}, "item.whole")
    twin.leave(1.0)
    twin.leave(2.0)
    twin.observe(2.0, FIXED | {"item.id": 2.0, "item.whole": 7.0})
    assert twin.score(2.0, FIXED | {"item.id": 2.0}) == 7e6 + 7.0
    twin.observe(2.0, FIXED | {"item.id": 2.0, "item.whole": 9.0})
    assert twin.score(2.0, FIXED | {"item.id": 2.0}) == 8e6 + 9.0


def test_a_percentile_is_the_nearest_rank():
    values = {float(i): float(x) for i, x in enumerate([5, 1, 4, 2, 3])}
    for share, wanted in [(0.0, 1.0), (0.2, 1.0), (0.21, 2.0), (0.5, 3.0), (0.8, 4.0), (0.81, 5.0), (1.0, 5.0)]:
        twin = live_of(returning(f"world.positive.percentile({share})"), values, "item.positive")
        assert twin.score(0.0, FIXED) == wanted


def test_a_percentile_errs_by_at_most_its_stated_resolution():
    x = 2.0**40 - 1.0
    twin = live_of(returning("world.positive.percentile(0.5)"), {0.0: x}, "item.positive")
    found = twin.score(0.0, FIXED)
    assert found < x
    assert (x - found) / x <= 2.0**-12


def test_two_hundred_entities_at_every_share_match_a_sorted_list():
    from random import Random

    random = Random(5)
    source = policies("item.huge")
    twin, plain = Twin(check(source, TOY), TOY_LAYOUT), Plainly()
    values = {}
    for step in range(1_500):
        key = float(random.randrange(200))
        if key in twin.live and random.random() < 0.4:
            twin.leave(key)
            del plain.observed[key]
            continue
        values[key] = values_for(TOY.signature, random) | {"item.id": key}
        twin.observe(key, values[key])
        plain.observed.setdefault(key, []).append(values[key])
        if step % 10 == 0:
            share = step // 10 % len(SHARES)
            asked = values[key] | {"now": float(len(ALPHAS) + share)}
            assert twin.score(key, asked) == plain.percentile("item.huge", SHARES[share])
    assert len(twin.live) > 50


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


BYTES_OF_AN_ENTITY = {
    "item.whole.latest()": 8, "item.whole.min()": 8, "item.whole.max()": 8, "item.whole.ewma(0.1)": 8,
    "item.whole.avg()": 16, "item.whole.recent(1)": 16, "item.whole.recent(5)": 48,
    "item.whole.window_avg(5)": 56, "item.whole.window_percentile(0.5, 5)": 88,
    "item.whole.count(1, 64)": 520, "item.whole.contains(1, 64)": 520, "world.whole.percentile(0.5)": 8,
}  # fmt: skip
BYTES_OF_THE_SYSTEM = {
    "world.whole.latest()": 8, "world.whole.min()": 16, "world.whole.max()": 16, "world.whole.ewma(0.1)": 16,
    "world.whole.avg()": 16, "world.whole.recent(5)": 48, "world.whole.window_avg(5)": 56,
    "world.whole.window_percentile(0.5, 5)": 88, "world.whole.count(1, 4096)": 8 + 4096 * 8 + 8192 * 16,
    "world.whole.contains(1, 5)": 8 + 5 * 8 + 16 * 16,
}  # fmt: skip


@pytest.mark.parametrize("expression", BYTES_OF_AN_ENTITY)
def test_bytes_of_an_entity(expression):
    assert check(returning(expression), TOY).plan.bytes_per_entity == BYTES_OF_AN_ENTITY[expression]


@pytest.mark.parametrize("expression", BYTES_OF_THE_SYSTEM)
def test_bytes_of_the_system(expression):
    plan = check(returning(expression), TOY).plan
    assert plan.bytes_per_entity == 0
    assert plan.bytes_of_system(TOY.signature) == BYTES_OF_THE_SYSTEM[expression]


def test_the_bytes_of_each_statistic_add_up_to_what_is_there():
    asked = [*BYTES_OF_AN_ENTITY, *BYTES_OF_THE_SYSTEM, "item.whole.count(1, 5)", "item.signed.avg()"]
    policy = check(returning(" + ".join(asked)), TOY)
    memory = policy.plan.memory(TOY.signature)
    assert [m.statistic for m in memory] == list(policy.plan.statistics)
    native = policy.native(TOY_LAYOUT)
    assert sum(m.entity for m in memory) == policy.plan.bytes_per_entity == 8 * native.entity_slots
    system = 8 * (len(native.new_globals()) - TOY_LAYOUT.global_slots)
    assert sum(m.system for m in memory) == policy.plan.bytes_of_system(TOY.signature) == system
    # one ring and one count of observations for all that ask for them
    assert policy.plan.bytes_per_entity == 8 * (1 + 5 + 1 + 1 + 1 + 64 + 5)
