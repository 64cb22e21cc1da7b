"""A policy of several functions: what is accepted, what each of them sees, and that they have one state."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from anvil_toy import TOY
from anvil_twin import Twin
from anvil_two import TWO, TWO_HEADS, TWO_LAYOUT, defining
from anvil_values import values_for

from vulcan.anvil import Rejected, check
from vulcan.anvil.proofs import verify
from vulcan.documents.policy import Remark
from vulcan.task import Global, Scalar, Task, Value

NAMES = ("rate", "admit", "steer")


def violations(source: str, task: Task = TWO) -> tuple[Remark, ...]:
    with pytest.raises(Rejected) as caught:
        check(source, task)
    return caught.value.violations


def rules(source: str) -> list[str]:
    return [violation.rule for violation in violations(source)]


def one(source: str) -> Remark:
    (violation,) = violations(source)
    return violation


# What has to be there


@pytest.mark.parametrize("missing", NAMES)
def test_each_function_has_to_be_defined(missing: str) -> None:
    source = "".join(f"{head}\n    return 1\n" for name, head in TWO_HEADS.items() if name != missing)
    violation = one(source)
    assert (violation.rule, violation.line) == ("no-function", 1)
    assert TWO_HEADS[missing].removesuffix(":") in violation.message
    assert all(head.removesuffix(":") in violation.hint for head in TWO_HEADS.values())


@pytest.mark.parametrize("name", NAMES)
def test_each_function_takes_its_own_arguments(name: str) -> None:
    source = defining().replace(TWO_HEADS[name], f"def {name}(now):")
    found = {violation.rule: violation for violation in violations(source)}
    assert found["arguments"].line == 1 + 2 * NAMES.index(name)
    assert TWO_HEADS[name].removesuffix(":") in found["arguments"].hint


def test_helpers_and_parameters_are_common_to_all() -> None:
    shared = "P = 2\ndef twice(x):\n    return P * x\n"
    policy = check(defining("twice(now)", "twice(level)", "twice(wind.turn)", before=shared), TWO)
    assert [f.name for f in policy.program.functions] == ["twice", "admit", "steer", "rate"]
    shown = values_for(TWO.interface, Random(1)) | {"now": 8.0, "level": 3.0, "wind.turn": -5.0}
    assert tuple(policy.reference().ask(name, shown) for name in NAMES) == (16.0, 6.0, -10.0)
    assert policy.warnings == ()


def test_none_calls_another() -> None:
    for source in (
        defining(admit="steer(now, now, now, now)"),
        defining(rate="help(1)", before="def help(x):\n    return admit(x, x, x, x)\n"),
    ):
        violation = one(source)
        assert violation.rule == "function" and "helper" in violation.hint
    assert rules(defining(steer="steer(now, now, now, now)")) == ["recursion"]


@pytest.mark.parametrize(
    "source",
    [
        defining(steer="item.whole"), defining(rate="level"), defining(rate="wind.speed + 1"),
        defining(steer="item.whole.ewma(0.5)"), defining(steer="past.contains(item.id)"), defining(admit="world.load"),
        defining(admit="world.whole.percentile(0.5)"),
    ],
)  # fmt: skip
def test_each_sees_its_own_arguments_only(source: str) -> None:
    violation = violations(source)[0]
    assert violation.rule == "name" and "is not an argument of" in violation.message
    assert "is shown" in violation.hint


@pytest.mark.parametrize("name", ["level", "wind", "steer", "item"])
def test_names_of_all_arguments_and_functions_are_taken_everywhere(name: str) -> None:
    body = defining().replace(TWO_HEADS["rate"], f"{TWO_HEADS['rate']}\n    {name} = 1")
    assert rules(body) == ["shadowing"]


def test_each_has_the_limit_on_operations_for_itself() -> None:
    def looping(turns: int) -> str:
        return f"x = 0\n    for i in range({turns}):\n        x += i\n    return x"

    def module(*turns: int) -> str:
        return "".join(f"{head}\n    {looping(n)}\n" for head, n in zip(TWO_HEADS.values(), turns, strict=True))

    task = replace(TWO, operations=1_000)
    most = 332
    policy = check(module(most, most, most), task)
    assert [policy.plan_of(name).operations for name in NAMES] == [998] * 3
    assert policy.plan.operations == 998
    for name in NAMES:
        turns = [most + (name == other) for other in NAMES]
        (violation,) = violations(module(*turns), task)
        assert violation.rule == "operations"


# What a policy is


def test_the_functions_have_one_state() -> None:
    """A statistic that two of them ask for is kept once, and an event counts once."""
    policy = check(defining("now.ewma(0.5)", "now.ewma(0.5)", "now.ewma(0.5) - now.ewma(0.25)"), TWO)
    assert [s.arguments for s in policy.plan.statistics] == [(0.25,), (0.5,)]
    alone = policy.plan_of("rate")
    assert [s.arguments for s in alone.statistics] == [(0.5,)]
    twin = Twin(policy, TWO_LAYOUT)
    shown = values_for(TWO.interface, Random(5))
    for key, now in ((1.0, 100.0), (2.0, 200.0), (1.0, 400.0)):
        twin.observe(key, shown | {"now": now, "item.id": key})
    assert twin.score(1.0, shown | {"item.id": 1.0}) == 275.0
    assert twin.reference.ask("steer", shown) == 275.0 - 193.75


def test_each_function_has_an_address_of_its_own() -> None:
    whole = check(defining(steer="now.ewma(0.5)"), TWO).native(TWO_LAYOUT)
    assert set(whole.scores) == set(NAMES) and whole.score == whole.scores["rate"]
    assert len(set(whole.scores.values())) == 3


# What there is to doubt


def test_a_policy_is_constant_where_every_function_is() -> None:
    policy = check(defining("1", "2", "now"), TWO)
    assert policy.constant is None
    assert [(w.rule, w.line) for w in policy.warnings] == [("constant-result", 1), ("constant-result", 3)]
    assert (
        check(defining("1", "2", "3"), TWO).constant
        == "rate: it is always 1; steer: it is always 3; admit: it is always 2"
    )


# Proofs


def test_a_property_is_of_the_function_that_it_names() -> None:
    within = "min(max(wind.turn * 2, -180), 180)"
    verdicts = {v.property.name: v for v in verify(check(defining("now", "level * 2", within), TWO))}
    assert {name: v.outcome for name, v in verdicts.items()} == {
        "steers within": "proved", "rates within": "refuted", "higher water": "proved",
    }  # fmt: skip
    assert verdicts["steers within"].document()["function"] == "steer"
    assert verdicts["rates within"].document()["function"] is None
    worse = {v.property.name: v for v in verify(check(defining("1", "-level", "wind.turn + 1"), TWO))}
    assert worse["steers within"].outcome == worse["higher water"].outcome == "refuted"
    assert worse["higher water"].counterexample is not None


def test_functions_of_one_task_go_together() -> None:
    steer = TWO.others[1]
    cases = {
        "two functions are called 'rate'": replace(steer, function="rate"),
        "is a function and an argument": replace(steer, function="world"),
        "differently": replace(steer, arguments=(replace(steer.arguments[0], name="world"),)),
        "entities of different kinds": replace(TWO.others[0], arguments=(replace(TOY.signature.entity, name="thing"),)),
        "without 'item'": replace(steer, arguments=TWO.others[0].arguments[:1]),
    }  # fmt: skip
    for message, declared in cases.items():
        with pytest.raises(ValueError, match=message):
            replace(TWO, others=(declared,), properties=())
    with pytest.raises(ValueError, match="no function is called 'fly'; there are rate, admit, steer"):
        replace(TWO, properties=(replace(TWO.properties[0], function="fly"),))
    with pytest.raises(ValueError, match="and the population of another one"):
        clash = Global("world", "", (replace(TOY.signature.entity.features[1]),))
        own = tuple(a for a in TOY.signature.arguments if a.name != "world")
        replace(
            TWO, signature=replace(TOY.signature, arguments=own), others=(Value("f", (clash,), "it"),), properties=()
        )


def test_what_is_seen_together_has_every_argument_once() -> None:
    assert [a.name for a in TWO.interface.arguments] == ["now", "item", "world", "past", "level", "wind", "tide"]
    assert TWO.function() is TWO.signature and TWO.function("steer") is TWO.others[1]
    with pytest.raises(KeyError):
        TWO.function("fly")
    alone = TWO.alone("steer")
    assert (alone.signature, alone.others) == (TWO.others[1], ())
    assert [p.name for p in alone.properties] == ["steers within"] and alone.properties[0].function is None
    assert isinstance(TWO.interface.arguments[4], Scalar)
