"""What is counted from a remembered run is what a run of its own gives."""

from __future__ import annotations

from dataclasses import replace

from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan_cache.simulator import CacheSimulator

TASK = find_task("cache_eviction")
SETTINGS = {"trace": ["zipf:requests=20000,objects=2000,seed=3,sizes=lognormal"], "cache_size": ["5%"]}


def test_blocks_of_time_are_counted_as_runs_of_their_own(monkeypatch) -> None:
    evaluator = CacheSimulator()
    instances = {i.split: i for i in evaluator.instances(complete_settings(TASK, SETTINGS), TASK.split)}
    whole = instances["validation"]
    evaluator.prepare(list(instances.values()))
    sources = TASK.seed_policies()
    first, second = (check(sources[name], TASK) for name in ("gdsf", "lru"))
    other = replace(whole, parameters={**whole.parameters, "capacity": int(whole.parameters["capacity"]) // 2})
    blocks = evaluator.windows(whole, 8)
    run, runs = evaluator.run, list[str]()
    monkeypatch.setattr(evaluator, "run", lambda who, *on: runs.append(who.fingerprint) or run(who, *on))
    # the last first, so that the others are counted; then another policy, another cache, and a longer run
    for policy in (first, second, first):
        for instance in (*blocks[::-1], whole, other, instances["train"], instances["test"]):
            own = run(policy, *evaluator.at(instance)).metrics()
            assert evaluator.evaluate(policy, instance) == own, instance.name
    assert runs == [first.fingerprint] * 3 + [second.fingerprint] * 3, "whole, other and longer: none is run again"
