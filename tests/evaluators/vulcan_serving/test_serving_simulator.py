"""Instances of the tasks on model servers: their settings, loads, goals, accounts and metrics."""

from __future__ import annotations

import json

import numpy as np
import pytest
from real_data import real_data

from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.evaluator import load_evaluator
from vulcan.findings import SmallTable
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan.task import Split

SHORT = "mix:requests=400,seed=2,agent_share=0,documents_share=0"


def made(task: str, split: Split | None = None, **given):
    evaluator = load_evaluator(find_task(task))
    settings = complete_settings(find_task(task), {"trace": [SHORT], **given})
    return evaluator, evaluator.instances(settings, split or Split(by="none"))


@pytest.mark.parametrize("task", ["request_scheduling", "request_routing"])
def test_baselines_are_the_policies_of_the_task(task):
    evaluator = load_evaluator(find_task(task))
    baselines = [name for name, kind in evaluator.baselines().items() if kind == "baseline"]
    assert sorted(baselines) == sorted(find_task(task).seed_policies())
    assert set(evaluator.oracles.values()) <= set(baselines)


@pytest.mark.parametrize(
    ("task", "given", "why"),
    [
        ("request_routing", {"replicas": 1}, "nothing to choose"),
        ("request_routing", {"routers": 65}, "routers is 65: must be from 1 to 64"),
        ("request_scheduling", {"memory": "1k"}, "a request of .* tokens, and a memory of 1,000"),
        ("request_scheduling", {"memory": "x"}, "memory 'x' is not a size"),
        ("request_scheduling", {"prefill": "whole"}, "give that --budget"),
        ("request_scheduling", {"server": "70b-8xa10"}, "did you mean"),
        ("request_scheduling", {"goal": ["chat:ttft=0"]}, "'ttft=0' is none of"),
        ("request_scheduling", {"goal": ["chat:tfft=1"]}, "'tfft=1' is none of"),
        ("request_scheduling", {"load": [-1.0]}, "load is -1"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(task, given, why):
    with pytest.raises(UserError, match=why):
        made(task, **given)


@pytest.mark.parametrize("load", [0.5, 0.9])
def test_the_load_is_a_share_of_what_the_replicas_can_do(load):
    """At a load the last request is done about when the arrivals end, and servers are idle for the rest of the time."""
    evaluator, (instance,) = made("request_scheduling", trace=["api:requests=3000,seed=1"], load=[load])
    evaluator.prepare([instance])
    spec, workload = evaluator.at(instance)
    run = evaluator.run("fcfs", spec, workload)
    end = workload.arrivals[-1]
    assert end < run.last.max() < 1.25 * end
    recorded = made("request_scheduling", trace=["api:requests=3000,seed=1"], load=[0.0])[1][0]
    assert evaluator.at(recorded)[1].arrivals[-1] == pytest.approx(workload.trace.arrivals[-1])


@pytest.mark.parametrize(("task", "load", "count"), [("request_scheduling", 0.7, 8), ("request_routing", 8.0, 0)])
def test_blocks_of_time_are_none_where_a_queue_outlasts_them(task, load, count):
    evaluator, (instance,) = made(task, trace=["api:requests=600,seed=1"], load=[load])
    evaluator.prepare([instance])
    assert len(evaluator.windows(instance, 8)) == count


def test_goals_are_of_kinds_and_decide_what_is_missed():
    goals = ["all:ttft=1e-6", "chat:ttft=1e6,tpot=1e6,weight=3"]
    evaluator, (instance,) = made("request_scheduling", goal=goals)
    evaluator.prepare([instance])
    spec, workload = evaluator.at(instance)
    run = evaluator.run("fcfs", spec, workload)
    kinds = np.array(workload.trace.kind_names)[workload.trace.kinds]
    part = run.measured_part
    missed = (kinds[part] != "chat").mean()
    assert run.late.mean() == missed
    assert run.metrics()["missed"] == pytest.approx(missed / (missed + 3 * (1 - missed)))
    assert run.metrics()["worst_missed"] == 1.0  # every other kind misses all


def test_a_trace_is_cut_along_time_and_parts_meet():
    _, instances = made("request_routing", Split())
    spans = [(i.split, i.parameters["measure_from"], i.parameters["measure_to"]) for i in instances]
    assert spans == [("train", 24, 240), ("validation", 240, 320), ("test", 320, 400)]
    assert [i.parameters["requests"] for i in instances] == [240, 320, 400]


def test_an_empty_prompt_is_served_as_one_of_a_token(tmp_path):
    found = []
    for first in ([], [7]):
        log = tmp_path / f"{len(first)}.jsonl"
        rows = [{"timestamp": at, "prompt": first if at else [*range(50)], "output": [*range(20)]} for at in range(3)]
        log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        evaluator, (instance,) = made("request_scheduling", trace=[str(log)])
        evaluator.prepare([instance])
        found.append(evaluator.measure("fcfs", *evaluator.at(instance)))
    assert found[0] == found[1] and found[0]["ttft_s"] > 0


@pytest.mark.parametrize("task", ["request_scheduling", "request_routing"])
def test_the_account_adds_up_to_the_time_to_the_first_token(task):
    evaluator, (instance,) = made(task)
    evaluator.prepare([instance])
    evaluator.prepare_findings([instance])
    sources = find_task(task).seed_policies()
    policies = [check(source, find_task(task)) for source in list(sources.values())[:2]]
    account = evaluator.account(policies[0], instance)
    assert all((part > -1e-9).all() for part in account.parts.values())
    assert account.total.mean() == pytest.approx(evaluator.evaluate(policies[0], instance)["ttft_s"])
    said = evaluator.findings(policies[0], instance)
    assert len([one for one in said if isinstance(one, SmallTable)]) >= 5
    assert evaluator.compare(*policies, instance) and evaluator.workload(instance)


def test_mooncake_is_served_and_known_lengths_help():
    """On a recorded trace what people use is better than what nobody uses, as published; and it is deterministic."""
    trace = str(real_data("cache", "mooncake", "conversation_trace.jsonl"))
    evaluator, (instance,) = made("request_routing", trace=[trace])
    evaluator.prepare([instance])
    measured = {name: evaluator.measure(name, *evaluator.at(instance)) for name in evaluator.baselines()}
    waits = {name: metrics["ttft_s"] for name, metrics in measured.items()}
    assert (
        waits["no_wait"] < waits["least_work_known"] < waits["kv_cost"] < waits["least_loaded"] < waits["round_robin"]
    )
    assert measured["prefix_affinity"]["hit_share"] > 1.5 * measured["least_loaded"]["hit_share"]
    assert evaluator.measure("kv_cost", *evaluator.at(instance)) == measured["kv_cost"]
