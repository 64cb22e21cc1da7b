"""What is counted from a remembered run is what a run of its own gives."""

from __future__ import annotations

from dataclasses import replace

import pytest

from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan_cache.evaluator import CacheEvaluator, metrics_of

TASK = find_task("cache_eviction")
SETTINGS = {"trace": ["zipf:requests=20000,objects=2000,seed=3,sizes=lognormal"], "cache_size": ["5%"]}


@pytest.mark.parametrize("mechanism", ["sample", "heap"])
def test_blocks_of_time_are_counted_as_runs_of_their_own(mechanism: str) -> None:
    evaluator = CacheEvaluator()
    settings = complete_settings(TASK, {**SETTINGS, "mechanism": mechanism})
    instances = {i.split: i for i in evaluator.instances(settings, TASK.split)}
    whole = instances["validation"]
    evaluator.prepare(list(instances.values()))
    sources = TASK.seed_policies()
    first, second = (check(sources[name], TASK) for name in ("gdsf", "lru"))
    other = replace(whole, parameters={**whole.parameters, "capacity": int(whole.parameters["capacity"]) // 2})
    blocks = evaluator.windows(whole, 8)
    # the last first, so that the others are counted; then another policy, another cache, and a longer run
    for policy in (first, second, first):
        for instance in (*blocks[::-1], whole, other, instances["train"], instances["test"]):
            assert evaluator.evaluate(policy, instance) == metrics_of(evaluator.run(policy, instance)), instance.name
