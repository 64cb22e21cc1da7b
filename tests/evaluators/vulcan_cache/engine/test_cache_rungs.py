"""Which cheaper versions of its instances the evaluator offers, and that they are measured as any other."""

from __future__ import annotations

import numpy as np
import pytest

from vulcan.anvil import check
from vulcan.evaluator import load_evaluator, rungs_of
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan.searches.evaluation import EvaluationPlan
from vulcan.task import Split
from vulcan_cache.simulate import simulate
from vulcan_cache.spatial_sample import KEEP_SINGLE_RUNG, MIN_RESIDENTS, make_rungs, sample_of
from vulcan_traces import load_trace

TASK = find_task("cache_eviction")
WHOLE = Split(by="none")
LARGE = "zipf:requests=400000,objects=300000,alpha=0.6,seed=4,sizes=lognormal"
GDSF = check(TASK.seed_policies()["gdsf"], TASK)


@pytest.fixture(autouse=True)
def own_cache_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("VULCAN_CACHE_DIR", str(tmp_path))


def instances_of(evaluator, *specs, split=WHOLE, **given):
    return evaluator.instances(complete_settings(TASK, {"trace": list(specs), "cache_size": ["20%"], **given}), split)


def test_a_sampled_cache_holds_enough_objects(evaluator):
    instances = instances_of(evaluator, LARGE, cache_size=["1%", "20%", "50%"])
    (rung,) = rungs_of(evaluator, instances)
    assert (rung.name, rung.keep) == ("R=0.1", KEEP_SINGLE_RUNG)
    # of the 170,000 objects 1% are 1,700, and a tenth of these is too few; of 50%, a hundredth
    assert [i.name for i in rung.instances] == [instances[0].name, *(f"{i.name} R=0.1" for i in instances[1:])]
    assert rung.instances[0] == instances[0]
    load = load_trace(LARGE)
    for instance in rung.instances[1:]:
        held = instance.parameters["capacity"] / (load.footprint / load.object_count) / 10
        assert held >= MIN_RESIDENTS


def test_an_instance_stands_on_a_rung_as_sparse_as_its_cache_allows(evaluator):
    three = instances_of(evaluator, LARGE, cache_size=["1%", "20%", "50%"])
    first, second = make_rungs(three, [MIN_RESIDENTS * n for n in (4.9, 9.9, 100)])
    assert [(r.name, r.keep) for r in (first, second)] == [("R=0.01", 1 / 3), ("R=0.1", 0.3)]
    assert [i.parameters["one_in"] for i in first.instances] == [1, 5, 100]
    assert [i.parameters["one_in"] for i in second.instances] == [1, 5, 10]
    assert first.cost == pytest.approx((1 + 1 / 5 + 1 / 100) / 3)
    assert first.instances[0] is three[0]
    # the same name is the same thing, so that what is measured on one rung need not be on the next
    assert first.instances[1] == second.instances[1]


def test_small_caches_of_several_workloads_have_a_rung_that_keeps_all(evaluator):
    built_in = evaluator.instances(complete_settings(TASK, {}), Split(0.6, 0.2, 0.2))
    three = [i for i in built_in if i.split == "train"]
    (rung,) = rungs_of(evaluator, three)
    assert (rung.keep, [i.parameters["one_in"] for i in rung.instances]) == (1.0, [5, 10, 5])
    assert rung.cost == pytest.approx((1 / 5 + 1 / 10 + 1 / 5) / 3)
    assert evaluator.rungs(three[:1]) == ()
    assert EvaluationPlan.of([rung], three, races=True).rungs == ()


def test_a_rung_measures_the_sample_of_the_measured_requests(evaluator):
    train, validation, _ = instances_of(evaluator, LARGE, split=Split(0.6, 0.2, 0.2))
    (rung,) = rungs_of(evaluator, [train])
    evaluator.prepare([train, validation, *rung.instances])
    metrics = evaluator.evaluate(GDSF, rung.instances[0])
    sample = sample_of(load_trace(LARGE), 10)
    stop = int(np.sum(sample.times < 240_000))
    expected = simulate(
        GDSF, np.asarray(sample.objects)[:stop], np.asarray(sample.sizes)[:stop], train.parameters["capacity"],
        times=np.asarray(sample.times)[:stop], weight=10,
    )  # fmt: skip
    assert (metrics["misses"], metrics["requests"]) == (expected.misses, stop)
    assert metrics["miss_ratio"] == pytest.approx(evaluator.evaluate(GDSF, train)["miss_ratio"], abs=0.02)


def test_caches_nearby_are_sampled_where_they_hold_enough(evaluator):
    (asked,) = instances_of(evaluator, LARGE)
    later, half, double = evaluator.nearby(asked)
    assert [i.name.removeprefix(asked.name) for i in (later, half, double)] == [
        ", later half", ", half the cache R=0.2", ", double the cache R=0.1",
    ]  # fmt: skip
    training = [asked, later, half, double]
    (rung,) = rungs_of(evaluator, training)
    assert rung.instances[2:] == (half, double)  # measured once, on the rung
    evaluator.prepare([*training, *rung.instances])
    whole = evaluator.like(asked, "whole", capacity=half.parameters["capacity"])
    evaluator.prepare([whole])
    assert evaluator.evaluate(GDSF, half)["miss_ratio"] == pytest.approx(
        evaluator.evaluate(GDSF, whole)["miss_ratio"], abs=0.02
    )


def test_a_part_of_a_sample_is_counted_in_the_run_of_all_of_it(evaluator):
    (asked,) = instances_of(evaluator, LARGE)
    whole, later = rungs_of(evaluator, [asked, evaluator.nearby(asked)[0]])[0].instances
    alone = load_evaluator(TASK)
    for each in (evaluator, alone):
        each.prepare([whole, later])
    evaluator.evaluate(GDSF, whole)
    assert evaluator.evaluate(GDSF, later) == alone.evaluate(GDSF, later)


def test_references_run_on_rungs_and_are_kept_apart(evaluator):
    (full,) = instances_of(evaluator, LARGE)
    (rung,) = rungs_of(evaluator, [full])
    first = {i.name: evaluator.evaluate_baseline("fifo", i) for i in (full, *rung.instances)}
    assert first[full.name]["requests"] == 400_000
    assert 30_000 < first[f"{full.name} R=0.1"]["requests"] < 50_000
    fifo = check(TASK.seed_policies()["fifo"], TASK)
    (sampled,) = rung.instances
    assert evaluator.evaluate(fifo, sampled)["misses"] == first[sampled.name]["misses"]
    again = load_evaluator(TASK)
    assert {i.name: again.evaluate_baseline("fifo", i) for i in (full, *rung.instances)} == first
