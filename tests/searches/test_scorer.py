"""From metrics to one number: of which instances, beside which references, and what is none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vulcan.errors import UserError
from vulcan.evaluator import Instance
from vulcan.searches.scorer import Scorer
from vulcan.store.events import InstanceMetrics
from vulcan.task import Objective

INSTANCES = [
    Instance("a", "train", {}), Instance("b", "train", {}), Instance("c", "train", {}), Instance("a", "test", {}),
]  # fmt: skip


def metrics(**x: float) -> InstanceMetrics:
    return tuple((name, {"x": value}) for name, value in x.items())


def test_an_instance_that_is_missing_is_never_left_out_of_the_mean() -> None:
    scorer = Scorer(Objective("own", "x", "x alone", lambda metrics, _: metrics["x"]), INSTANCES)
    with pytest.raises(KeyError, match="b"):
        scorer.mean("train", (("a", {"x": 3.0}), ("c", {"x": 3.0})))


def test_an_objective_sees_only_its_references() -> None:
    seen = []
    spy = Objective("spy", "x", "looks", lambda m, r: seen.append(dict(r)) or 0.0, ("p",))
    scorer = Scorer(spy, INSTANCES)
    for policy in ("p", "q"):
        scorer.add_reference(policy, "train", metrics(a=1.0))
    scorer.on_instance("train", "a", {"x": 1.0})
    scorer.on_instance("train", "b", {"x": 1.0})
    assert seen == [{"p": {"x": 1.0}}, {}]


@pytest.mark.parametrize(
    ("score", "said"),
    [
        (lambda *_: float("nan"), "is nan on b: its scores must be finite"),
        (lambda *_: float("inf"), "is inf on b: its scores must be finite"),
        (lambda metrics, _: metrics["y"], r"on b \(test_scorer.py, line \d+\): KeyError: 'y'"),
    ],
)
def test_a_score_that_is_no_finite_number_is_the_tasks_mistake(score: Callable[..., float], said: str) -> None:
    scorer = Scorer(Objective("odd", "x", "odd", score), INSTANCES)
    with pytest.raises(UserError, match=f"objective 'odd' {said}"):
        scorer.on_instance("train", "b", {"x": 1.0})
