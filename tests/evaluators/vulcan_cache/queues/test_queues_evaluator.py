"""The task in its evaluator with policies of queues: instances, cheaper rungs, digests of decisions."""

from __future__ import annotations

import pytest

from vulcan.anvil import check
from vulcan.evaluator import load_evaluator, rungs_of
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan.task import Split
from vulcan_cache.simulate import simulate
from vulcan_traces import load_trace

TASK = find_task("cache_eviction")
SEEDS = {name: source for name, source in TASK.seed_policies().items() if check(source, TASK).mechanism == "queues"}
SPEC = "scan-mix:requests=60000,objects=6000,alpha=0.9,scan_share=0.2,seed=5,sizes=lognormal"


def instances(*, split="none", **given):
    evaluator = load_evaluator(TASK)
    found = evaluator.instances(complete_settings(TASK, {"trace": [SPEC], **given}), Split(by=split))
    return evaluator, found


def test_it_is_evaluated_as_it_is_simulated():
    evaluator, (only,) = instances(cache_size=["5%"])
    evaluator.prepare([only])
    trace = load_trace(SPEC)
    for source in SEEDS.values():
        policy = check(source, TASK)
        metrics = evaluator.evaluate(policy, only)
        run = simulate(policy, trace.objects, trace.sizes, trace.footprint // 20)
        assert (metrics["misses"], metrics["missed_bytes"]) == (run.misses, run.missed_bytes)
    assert evaluator.evaluate(check(SEEDS["clock"], TASK), only) == evaluator.evaluate_baseline("clock", only)


def test_a_sample_ranks_as_the_trace_does():
    spec = SPEC.replace("requests=60000,objects=6000", "requests=300000,objects=60000")
    evaluator = load_evaluator(TASK)
    (whole,) = evaluator.instances(complete_settings(TASK, {"trace": [spec], "cache_size": ["40%"]}), Split(by="none"))
    (rung,) = rungs_of(evaluator, [whole])
    evaluator.prepare([whole, *rung.instances])
    for name in ("s3_fifo", "slru", "sieve"):
        policy = check(SEEDS[name], TASK)
        full, sampled = (
            1 - evaluator.evaluate(policy, on)["misses"] / evaluator.evaluate_baseline("fifo", on)["misses"]
            for on in (whole, *rung.instances)
        )
        assert sampled == pytest.approx(full, abs=0.05)
