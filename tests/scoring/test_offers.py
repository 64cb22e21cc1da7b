"""What an evaluator may offer besides its duties, and what is refused of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vulcan.anvil import Policy
from vulcan.errors import UserError
from vulcan.evaluator import Evaluator, Instance, Rung, load_evaluator, rungs_of
from vulcan.registry import find_task
from vulcan.scoring.evaluator_child import EvaluatorWorker
from vulcan.scoring.job import Setup
from vulcan.searches.config import complete_settings
from vulcan.task import Metrics
from vulcan_cache.simulator import WARM_UP_EVENTS, CacheSimulator

FULL = (Instance("a", "train", {"n": 100}), Instance("b", "train", {"n": 100}))
CHEAP = tuple(replace(i, name=f"{i.name} short", parameters={"n": 10}) for i in FULL)


class Plain(Evaluator):
    """An evaluator with nothing but its duties; `rungs` and `decisions` are not among them."""

    def instances(self, settings, split):
        return FULL

    def prepare(self, instances):
        pass

    def evaluate(self, policy, instance):
        return {"sum": 1.0}

    def baselines(self):
        return {}

    def evaluate_baseline(self, name, instance):
        return {}


class Offering(Plain):
    def __init__(self, *rungs: Rung) -> None:
        self.offered = rungs

    def rungs(self, instances):
        return list(self.offered)


def test_rungs_are_given_in_their_order() -> None:
    rungs = (Rung("first", CHEAP, 1 / 3), Rung("second", (CHEAP[0], FULL[1]), 0.3))
    assert rungs_of(Offering(*rungs), FULL) == rungs


@pytest.mark.parametrize(
    ("rungs", "message"),
    [
        ([Rung("x", CHEAP, 0.5), Rung("x", CHEAP, 0.5)], "two rungs share a name"),
        ([Rung("x", CHEAP[:1], 0.5)], "rung 'x' has 1 instances for 2; give one each"),
        ([Rung("x", (CHEAP[0], replace(CHEAP[1], split="test")), 0.5)], "'b short' is of the split test"),
        ([Rung("x", (CHEAP[0], replace(CHEAP[1], name="a short", parameters={})), 0.5)], "are called 'a short'"),
        ([Rung("x", (CHEAP[0], replace(CHEAP[1], name="b")), 0.5)], "two different instances are called 'b'"),
    ],
)
def test_rungs_that_break_the_contract_are_refused(rungs: list[Rung], message: str) -> None:
    with pytest.raises(UserError, match=f"^Offering.rungs: .*{message}"):
        rungs_of(Offering(*rungs), FULL)


def test_a_child_warms_up_on_the_opening_of_an_instance_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    task = find_task("cache_eviction")
    (first, *_) = load_evaluator(task).instances(complete_settings(task, {}), "train")
    ran_to: list[object] = []
    evaluate = CacheSimulator.evaluate

    def watched(self: CacheSimulator, policy: Policy, instance: Instance) -> Metrics:
        ran_to.append(instance.parameters["measure_to"])
        return evaluate(self, policy, instance)

    monkeypatch.setattr(CacheSimulator, "evaluate", watched)
    worker = EvaluatorWorker(Setup("cache_eviction", (first,)))
    assert ran_to == [WARM_UP_EVENTS]
    job = {"source": task.seed_policies()["lru"], "instances": [0], "limit": 60.0, "ticket": "t"}
    job |= {"probe": False, "explain": False}
    assert worker.serve(job)["status"] == "scored"
    assert ran_to[1:] == [first.parameters["measure_to"]]
