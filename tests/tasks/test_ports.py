"""A policy that bears a baseline's name is that algorithm: no comparison shows two algorithms under one name."""

from __future__ import annotations

from typing import Any

import pytest
from effort import ALL
from locations import ROOT

from vulcan.evaluator import load_evaluator
from vulcan.python_policy.check import check_policy
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings

NAMES = sorted(folder.name for folder in (ROOT / "tasks").iterdir() if (folder / "task.py").is_file())

NOISE = {
    ("active_queue_management", "pie"): 0.08,  # both draw at random: so much as PIE's own score by its seed
    ("congestion_control", "copa"): 0.06,  # rates to the microsecond: so much as Copa's own score by the link's jitter
    ("memory_tiering", "arms_like"): 1e-9,
}
"""Of the score, on every instance; 0 for those that are not listed, which decide alike."""

SMALL: dict[str, dict[str, Any]] = {
    "memory_tiering": {"trace": ["gups:pages=1200,hot_pages=100,intervals=20,loads=12000,updates_a_move=30000,seed=4"]},
    "prefix_cache": {"trace": ["chat:requests=600,seed=1", "agent:requests=600,seed=1"]},
}
"""Instances of tasks whose own take long, unless all tests are run."""

PORTS = [
    (task, policy)
    for task in NAMES
    # programs of caches are compared with baselines request by request; the baselines of servers are these policies
    if not task.startswith(("cache_", "request_"))
    for policy in find_task(task).seed_policies()
    if policy.replace("_", "-") in {name.replace("_", "-") for name in load_evaluator(find_task(task)).baselines()}
]


def test_there_are_ports_to_compare() -> None:
    assert len(PORTS) >= 10
    assert set(NOISE) <= set(PORTS)


@pytest.mark.parametrize(("name", "port"), PORTS)
def test_a_policy_with_the_name_of_a_baseline_measures_like_it(name: str, port: str) -> None:
    task = find_task(name)
    evaluator = load_evaluator(task)
    settings = complete_settings(task, {} if ALL else SMALL.get(name, {}))
    instances = [each for each in evaluator.instances(settings, task.split) if each.split == "train"][: 6 if ALL else 2]
    evaluator.prepare(instances)
    baseline = next(n for n in evaluator.baselines() if n.replace("-", "_") == port)
    policy = check_policy(task.seed_policies()[port], task)
    objective = task.objective()
    for instance in instances:
        references = {each: evaluator.evaluate_baseline(each, instance) for each in objective.references}
        reference = objective.score(evaluator.evaluate_baseline(baseline, instance), references)
        score = objective.score(evaluator.evaluate(policy, instance), references)
        assert score == pytest.approx(reference, abs=NOISE.get((name, port), 0.0)), instance.name
