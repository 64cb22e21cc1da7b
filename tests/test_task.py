"""A declaration that makes no sense is refused when it is made."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from vulcan.anvil import Rejected, check
from vulcan.anvil.unparse import emit_source
from vulcan.registry import find_task
from vulcan.task import Entity, Feature, Form, Global, Mechanism, Objective, Property, Rank, Scalar, Split, Task, Value
from vulcan.terminal_text import format_number

LENGTH = Feature("length", "float", "m", 0.0, 10.0, "how long it is")
THING = Entity("thing", "a thing", (LENGTH,), key="length")
PICK = Mechanism("pick", "The lowest of {count} is taken.")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Feature("Length", "float", "m", 0, 1, ""), "lower-case"),
        (lambda: Feature("length", "float", "m", 2, 1, ""), "low 2 is above high 1"),
        (lambda: Feature("length", "float", "m", 0, float("inf"), ""), "within 1e300"),
        (lambda: Feature("length", "float", "m", 0, 1, "", resolution=40), "resolution 40"),
        (lambda: Value("f", (Scalar(LENGTH), Global("length", "", ())), "y"), "two arguments share a name"),
        (lambda: Rank("f", (Scalar(LENGTH),), "y", (PICK,)), "exactly one entity"),
        (lambda: Rank("f", (THING,), "y"), "at least one mechanism"),
        (lambda: Split(0.5, 0.5, 0.5), "add up to 1"),
        (lambda: Split(1.0, 0.0, 0.0), "three positive shares"),
        (lambda: Task("t", "", Value("f", (), "y"), "m:E", (), Path()), "declares no objective"),
        (lambda: Objective("o", "m", "", lambda metrics, _: 0.0, 1.0), "references are names of baselines, not 1.0"),
    ],
)
def test_what_makes_no_sense_is_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make()


@pytest.mark.parametrize(
    ("metrics", "fifo", "score"),
    [(0.5, 0.5, 0.0), (0.4, 0.5, 0.2), (0.5, 0.4, -0.2), (0.0, 0.5, 1.0), (1.0, 0.0, -1.0)],
)
def test_improvement_over_fifo_is_symmetric(metrics, fifo, score):
    task = find_task("cache_eviction")
    for objective, metric in (("object", "miss_ratio"), ("byte", "byte_miss_ratio")):
        got = task.objective(objective).score({metric: metrics}, {"fifo": {metric: fifo}})
        assert got == pytest.approx(score)


ITEM = Entity("item", "a thing", (Feature("id", "int", "identity", 0, 9, "its number"),), "id")
OTHER = replace(ITEM, features=(*ITEM.features, Feature("age", "float", "days", 0, 9, "its age")))
BOTH = (Mechanism("all", "all are ranked"), Mechanism("some", "some are ranked"))
FORMS = replace(
    find_task("load_balancing"),
    signature=Rank("rank", (ITEM,), "its rank", mechanisms=BOTH),
    others=(
        Value("limit", (ITEM,), "a limit", optional=True, mechanisms=BOTH),
        Value("wait", (ITEM,), "a time", optional=True, mechanisms=BOTH[1:]),
    ),
    events=(),
    properties=(),
    forms=(Form(Value("leave", (OTHER,), "a number", mechanisms=(Mechanism("each", "each is asked"),))),),
)
RANKED, LIMITED = "def rank(item):\n    return item.id\n", "def limit(item):\n    return 2\n"


def test_a_policy_s_task_is_that_of_its_mechanism_and_of_what_it_defines() -> None:
    assert FORMS.mechanisms == ("all", "some", "each")
    for source, mechanism, functions in (
        (RANKED, "all", ["rank"]),
        (RANKED + LIMITED, "all", ["rank", "limit"]),
        ('MECHANISM = "some"\n' + LIMITED + RANKED, "some", ["rank", "limit"]),
        ('MECHANISM = "each"\ndef leave(item):\n    return item.age\n', "each", ["leave"]),
    ):
        policy = check(source, FORMS)
        assert (policy.mechanism, [f.function for f in policy.task.functions]) == (mechanism, functions)
        assert policy.settings({}) == {"mechanism": mechanism}
        again = check(emit_source(policy.program, policy.task.whole_interface), policy.task)
        assert (again.fingerprint, again.task) == (policy.fingerprint, policy.task)
    assert [f.function for f in FORMS.of_policy("some").functions] == ["rank", "limit", "wait"]
    assert check(RANKED, FORMS).fingerprint == check('MECHANISM = "all"\n' + RANKED, FORMS).fingerprint
    assert check(RANKED, FORMS).fingerprint != check('MECHANISM = "some"\n' + RANKED, FORMS).fingerprint


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ('MECHANISM = "al"\n' + RANKED, "MECHANISM"),
        (RANKED + "def wait(item):\n    return 1\n", 'is of the mechanism "some"'),
        ('MECHANISM = "each"\n' + RANKED, 'is of the mechanism "all" or "some"'),
        (LIMITED, "no function `def rank"),
        (RANKED + "def leave(item):\n    return item.age\n", 'is of the mechanism "each"'),
    ],
)
def test_functions_of_another_mechanism_are_refused(source: str, says: str) -> None:
    with pytest.raises(Rejected, match=re.escape(says)):
        check(source, FORMS)


def test_bounds_may_be_whole_numbers() -> None:
    """`int.is_integer` is new in Python 3.12, and Vulcan runs on 3.11."""
    feature = Feature("cylinder", "int", "cylinders", 0, 100_000, "where the arm is")
    assert [type(bound) for bound in (feature.low, feature.high, feature.unknown)] == [float] * 3
    value = Value("leave", (Scalar(feature),), "a number", low=0, high=8)
    assert (type(value.low), type(value.high)) == (float, float)
    claim = Property("small", "bounded", "it is small", low=0, high=8)
    assert (type(claim.low), type(claim.high)) == (float, float)
    assert format_number(feature.high) == "100000"
