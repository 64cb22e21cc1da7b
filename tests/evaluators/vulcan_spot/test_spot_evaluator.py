"""The evaluator of one region: what it measures on, and that its numbers are the simulator's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from real_data import real_data

from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan.task import Split
from vulcan_spot.job import USUAL_SINGLE, SpotJob, jobs_of
from vulcan_spot.simulate import simulate
from vulcan_spot.windows import Windows, places_of
from vulcan_traces.spot import EMBEDDED_SPOT, load_spot

TASK = find_task("spot_single")
BY_TIME = Split(0.6, 0.2, 0.2)
LONG = "markov:hours=1000,seed=4,name=long"


def settings(**given):
    return complete_settings(TASK, given)


def few(**given):
    return settings(**{"trace": [LONG], "deadline": [52.0], "overhead": [0.2], "windows": 10, **given})


def seed(name):
    return check(TASK.seed_policies()[name], TASK)


def test_without_a_trace_generated_environments_belong_to_one_split_each(evaluator):
    found = evaluator.instances(settings(), BY_TIME)
    jobs = 9
    assert [i.split for i in found] == [part for part, specs in EMBEDDED_SPOT.items() for _ in range(jobs * len(specs))]
    assert all(len(i.parameters["windows"]) == 30 for i in found)


def test_its_numbers_are_the_simulators(evaluator):
    instances = evaluator.instances(few(), BY_TIME)
    evaluator.prepare(instances)
    traces = load_spot(LONG)
    windows = Windows.of(traces, places_of(traces, 52 * 3600, 6, 0, 0.6, LONG))
    for who in ("greedy", "uniform_progress"):
        runs = simulate(who, windows, SpotJob.of_hours(48, 52, 0.2))
        for metrics in (evaluator.evaluate(seed(who), instances[0]), evaluator.evaluate_baseline(who, instances[0])):
            assert metrics["mean_cost"] == runs.cost.mean()
            assert metrics["std_cost"] == runs.cost.std()
            assert metrics["runs"] == 6
    scores = {n: TASK.objective(n).score(metrics, {"greedy": {"mean_cost": 120.0}}) for n in ("cost", "savings")}
    assert scores["cost"] == -metrics["mean_cost"] - 0.25 * metrics["std_cost"]
    assert scores["savings"] == 120 - metrics["mean_cost"]


def test_the_public_score_needs_the_public_rules(evaluator):
    objective = TASK.objective("public_on_time")
    assert objective.unfit(few(safety_net="published")) is None
    assert "--safety-net published" in objective.unfit(few())
    for policy in (check("def decide(job, spot, vm):\n    return 1\n", TASK), seed("paced")):
        found = {}
        for net in ("exact", "published"):
            (instance,) = evaluator.instances(few(windows=400, safety_net=net), Split(by="none"))
            evaluator.prepare([instance])
            found[net] = evaluator.evaluate(policy, instance)
        exact, published = found["exact"], found["published"]
        assert published.keys() - exact.keys() == {"public_score", "public_missed"}
        assert exact["missed"] == 0 < published["public_missed"] == published["missed"]
        assert objective.score(published, {}) == published["public_score"] - 100 * published["public_missed"]


def test_a_run_that_is_late_is_counted_and_disqualifies_unless_it_is_free(evaluator):
    """The net keeps spot for a tick too long in some windows, whatever the policy does."""
    policy, cost = check("def decide(job, spot, vm):\n    return 1\n", TASK), TASK.objective("cost")
    instances, found = {}, {}
    for price in ({}, {"missed_cost": 7.0}, {"missed_cost": 0.0}):
        (made,) = evaluator.instances(few(windows=400, safety_net="published", **price), Split(by="none"))
        of = price.get("missed_cost", "usual")
        instances[of], found[of] = made, evaluator.evaluate(policy, made)
    on_demand = evaluator.evaluate_baseline("on_demand", instances["usual"])
    assert cost.score(found["usual"], {}) < 100 * cost.score(on_demand, {}) < 0
    free = found[0.0]
    assert 0 < free["missed"] < 0.5 and 0 < free["latest_h"] < 1 and free["runs"] == 400
    assert cost.score(free, {}) > -147.9
    assert found[7.0]["mean_cost"] == pytest.approx(free["mean_cost"] + 7.0 * free["missed"])


def test_no_baseline_beats_the_bound(evaluator):
    (instance,) = evaluator.instances(few(), Split(by="none"))
    found = {name: evaluator.evaluate_baseline(name, instance)["mean_cost"] for name in evaluator.baselines()}
    assert min(found, key=found.__getitem__) == "least_cost"
    assert found["on_demand"] == pytest.approx(3.06 * 290 / 6)  # 48.2 h are 289.2 ticks


def test_an_oracle_that_would_take_longer_than_a_search_is_left_out(evaluator, caplog):
    usual = evaluator.instances(settings(), BY_TIME)
    assert "least_cost" in evaluator.baselines_on(usual)
    fine = f"{LONG},gap=20"
    slow = evaluator.instances(settings(trace=[fine], windows=3000, overhead=[0.003]), BY_TIME)
    assert list(evaluator.baselines_on(slow)) == [name for name in evaluator.baselines() if name != "least_cost"]
    assert "least_cost is left out" in caplog.text
    assert len(evaluator.compare_with(replace(slow[-1]))) == 1


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"windows": 0}, "windows"),
        ({"deadline": [400.0]}, "longer trace"),
        ({"duration": 48.0, "deadline": [48.0]}, "not even"),
        ({"duration": -1.0, "deadline": [5.0]}, "above 0"),
        ({"overhead": [-1.0]}, "at least 0"),
        ({"deadline": [1e9]}, "10,000"),
        ({"deadline": [float("nan")]}, "10,000"),
        ({"spot_price": 5.0}, "prices"),
        ({"missed_cost": -1.0}, "missed"),
        ({"trace": ["markov:up=0"]}, "between"),
        ({"trace": ["/nowhere.json"]}, "no such file"),
    ],
)
def test_settings_that_make_no_sense(evaluator, given, what):
    with pytest.raises(UserError, match=what) as raised:
        evaluator.instances(few(**given), BY_TIME)
    assert "\n" not in str(raised.value)


def test_a_public_trace_and_public_windows(evaluator):
    zone = "us-west-2a_v100_1"
    whole = str(real_data("spot", "skypilot-spot-traces/availability/1-node/aws-10-26-2022", f"{zone}.json"))
    archive = real_data("spot", "adrs", "cant_be_late_real_traces.tar.gz")
    ready = f"{archive}:real/ddl=search+task=48+overhead=0.02/real/{zone}/traces/random_start"
    found = evaluator.instances(few(trace=[whole], deadline=[52.0, 92.0]), BY_TIME)
    assert [i.name for i in found[:2]] == [f"{zone}@52h+0.2h", f"{zone}@92h+0.2h"]
    found = evaluator.instances(few(trace=[ready], windows=30), BY_TIME)
    traces = load_spot(ready)
    seen = {}
    for instance in found:
        spans = [(traces[i].start + begin, traces[i].start + end) for i, begin, end in instance.parameters["windows"]]
        seen[instance.split] = min(begin for begin, _ in spans), max(end for _, end in spans)
    assert seen["train"][1] <= seen["validation"][0] and seen["validation"][1] <= seen["test"][0]
    with pytest.raises(UserError, match="--split none"):
        evaluator.instances(few(trace=[ready], deadline=[70.0]), BY_TIME)
    (every,) = evaluator.instances(few(trace=[ready], windows=30), Split(by="none"))
    assert np.array_equal([w[0] for w in every.parameters["windows"]], [round(j * 299 / 29) for j in range(30)])


@pytest.mark.parametrize(
    ("given", "jobs"),
    [
        ({}, {(48.0, 52.0, 0.02), (48.0, 92.0, 0.4)}),
        ({"deadline": [26.0]}, {(24.0, 26.0, 0.1)}),
        ({"duration": 24.0}, {(24.0, 26.0, 0.01), (24.0, 46.0, 0.2)}),
        ({"duration": 20.0, "deadline": [24.0], "overhead": [0.5]}, {(20.0, 24.0, 0.5)}),
    ],
)
def test_what_is_not_given_of_a_job_is_scaled_to_what_is(given, jobs):
    made = jobs_of(complete_settings(TASK, given), USUAL_SINGLE, 92 * 3600)
    assert jobs <= {(job.duration / 3600, job.deadline / 3600, job.overhead / 3600) for job in made}
