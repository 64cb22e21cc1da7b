"""A declaration that makes no sense is refused when it is made."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest

from vulcan.registry import find_task
from vulcan.task import Entity, Feature, Global, Mechanism, Property, Rank, Scalar, Split, Task, Value
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
    ],
)
def test_what_makes_no_sense_is_refused(make, said):
    with pytest.raises(ValueError, match=said):
        make()


def test_features_go_by_the_name_they_are_read_by():
    signature = Rank("f", (Scalar(LENGTH), THING, Global("world", "", (LENGTH,))), "y", (PICK,))
    assert dict(signature.features()) == {"length": LENGTH, "thing.length": LENGTH, "world.length": LENGTH}
    assert signature.entity is THING


def test_declarations_are_frozen():
    with pytest.raises(FrozenInstanceError):
        LENGTH.low = 3.0


def test_a_mechanism_spells_out_the_settings_it_runs_under():
    assert PICK.description_with({"count": 7, "other": 1}) == "The lowest of 7 is taken."


@pytest.mark.parametrize(
    ("metrics", "fifo", "score"),
    [(0.5, 0.5, 0.0), (0.4, 0.5, 0.2), (0.5, 0.4, -0.2), (0.0, 0.5, 1.0), (1.0, 0.0, -1.0)],
)
def test_improvement_over_fifo_is_symmetric(metrics, fifo, score):
    task = find_task("cache_eviction")
    for objective, metric in (("object", "miss_ratio"), ("byte", "byte_miss_ratio")):
        got = task.objective(objective).score({metric: metrics}, {"fifo": {metric: fifo}})
        assert got == pytest.approx(score)


def test_the_seed_policies_come_in_order():
    assert list(find_task("cache_eviction").seed_policies()) == ["fifo", "gdsf", "lfu", "lru"]


def test_policies_that_keep_state_are_offered_to_searches_with_state_only(tmp_path: Path) -> None:
    folder = tmp_path / "policies"
    folder.mkdir()
    decision = "def priority(now, obj, cache, ghost):\n    return obj.size\n"
    sources = {
        "a": "class policy:\n    x = 0\n\n\n" + decision,
        "b": '"""A class of policies, def on_hit."""\n\n' + decision,
        "c": "class obj:\n    tag = 0\n\n\ndef on_hit(now, obj, cache, ghost):\n    obj.tag = 1\n\n\n" + decision,
    }
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source)
    task = replace(find_task("cache_eviction"), directory=tmp_path)
    assert task.seed_policies() == {"b": sources["b"]}
    assert task.seed_policies() == sources


def test_bounds_may_be_whole_numbers() -> None:
    """`int.is_integer` is new in Python 3.12, and Vulcan runs on 3.11."""
    feature = Feature("cylinder", "int", "cylinders", 0, 100_000, "where the arm is")
    assert [type(bound) for bound in (feature.low, feature.high, feature.unknown)] == [float] * 3
    value = Value("leave", (Scalar(feature),), "a number", low=0, high=8)
    assert (type(value.low), type(value.high)) == (float, float)
    claim = Property("small", "bounded", "it is small", low=0, high=8)
    assert (type(claim.low), type(claim.high)) == (float, float)
    assert format_number(feature.high) == "100000"
