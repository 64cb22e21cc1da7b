"""The task in its evaluator: instances, cheaper rungs, digests of decisions, and the command line's way to a search."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.evaluator import decisions_of, load_evaluator, rungs_of
from vulcan.registry import find_task
from vulcan.scoring import Job, LocalExecutor, Setup
from vulcan.searches.config import complete_settings
from vulcan.task import Split
from vulcan_cache import simulate
from vulcan_cache.mechanisms import MECHANISMS
from vulcan_traces import load_trace

TASK = find_task("cache_queues")
SEEDS = TASK.seed_policies()
SPEC = "scan-mix:requests=60000,objects=6000,alpha=0.9,scan_share=0.2,seed=5,sizes=lognormal"


def instances(*, split="none", **given):
    evaluator = load_evaluator(TASK)
    found = evaluator.instances(complete_settings(TASK, {"trace": [SPEC], **given}), Split(by=split))
    return evaluator, found


def test_the_functions_of_the_task_are_those_of_the_mechanism():
    for name, task in (("queues", TASK), ("heap", find_task("cache_admission")), ("heap", find_task("cache_eviction"))):
        mechanism = MECHANISMS[name]
        declared = {signature.function for signature in task.functions}
        assert set(mechanism.functions) <= declared <= {*mechanism.functions, *mechanism.others}


def test_policies_with_state_are_shipped_last_and_not_for_searches_without_state():
    stateless = ["clock", "fifo", "s3_fifo", "sieve", "slru", "two_q"]
    assert list(SEEDS) == [*stateless, "arc", "lirs", "w_tinylfu"]
    assert list(TASK.seed_policies()) == stateless


def test_it_is_evaluated_as_it_is_simulated():
    evaluator, (only,) = instances(cache_size=["5%"])
    evaluator.prepare([only])
    trace = load_trace(SPEC)
    for source in SEEDS.values():
        policy = check(source, TASK)
        metrics = evaluator.evaluate(policy, only)
        run = simulate(policy, trace.objects, trace.sizes, trace.footprint // 20, mechanism="queues")
        assert (metrics["misses"], metrics["missed_bytes"]) == (run.misses, run.missed_bytes)
    assert evaluator.evaluate(check(SEEDS["fifo"], TASK), only) == evaluator.evaluate_baseline("fifo", only)


def test_later_parts_are_entered_with_the_cache_as_it_was_left():
    evaluator, parts = instances(split="time")
    evaluator.prepare(parts)
    _, (whole,) = instances()
    policy = check(SEEDS["s3_fifo"], TASK)
    assert (
        sum(evaluator.evaluate(policy, part)["misses"] for part in parts)
        == (evaluator.evaluate(policy, whole)["misses"])
    )


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


def test_policies_that_differ_have_digests_that_differ():
    evaluator, found = instances()
    evaluator.prepare(found)
    digests = {evaluator.decisions(check(source, TASK)) for source in SEEDS.values()}
    assert len(digests) == len(SEEDS)
    clock = SEEDS["clock"]
    other = clock.replace("obj.hits > 0", "obj.hits >= 1").replace("return 1\n", "return 1.25\n")
    assert other != clock
    assert evaluator.decisions(check(clock, TASK)) == evaluator.decisions(check(other, TASK))


def test_it_runs_in_the_jail():
    evaluator, (only,) = instances(cache_size=["5%"])
    evaluator.prepare([only])
    with LocalExecutor(Setup("cache_queues", (only,)), 1) as executor:
        for number, source in enumerate(SEEDS.values()):
            outcome = executor.submit(Job(number, source, (only,), 60.0, probe=True)).result()
            assert outcome.status == "scored", outcome.message
            assert dict(outcome.metrics) == {only.name: evaluator.evaluate(check(source, TASK), only)}
            assert outcome.signature == decisions_of(evaluator, check(source, TASK))


def test_another_mechanism_is_refused():
    evaluator, found = instances(mechanism="heaps")
    with pytest.raises(UserError, match="no mechanism 'heaps'; did you mean 'heap'"):
        evaluator.prepare(found)


@pytest.fixture(scope="module")
def search(tmp_path_factory):
    """What an offline search of the command line says, and the directory that it ran in."""
    place = tmp_path_factory.mktemp("search")
    options = ["--trace", SPEC, "--cache-size", "5%", "--split", "none", "--model", "offline/evolve", "--seed", "1"]
    options += ["--budget-candidates", "30", "--executor", "local", "--json"]
    return vulcan(place, "search", "--task", "cache_queues", *options), place


def vulcan(place, *arguments):
    command = Path(sys.executable).parent / "vulcan"
    done = subprocess.run([command, *arguments], cwd=place, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_an_offline_search_is_better_than_the_policies_it_starts_from(search):
    summary, _ = search
    assert summary["state"] == "finished"
    assert summary["candidates"]["rejected"] == summary["candidates"]["failed"] == 0
    starts = [summary["train"]["baselines"][name] for name in ("fifo", "clock", "sieve", "s3-fifo", "slru", "2q")]
    assert summary["train"]["score"] > max(starts)


@pytest.mark.slow
def test_its_winner_is_exported_and_misses_what_the_simulator_says(search):
    summary, place = search
    file = place / "winner.py"
    vulcan(place, "export", summary["run"], "--output", "winner.py", "--json")
    module = ModuleType("winner")
    exec(compile(file.read_text(), str(file), "exec"), vars(module))
    trace = load_trace(SPEC)
    policy = check(summary["best"]["source"], TASK)
    run = simulate(policy, trace.objects, trace.sizes, trace.footprint // 20, mechanism="queues")
    cache = module.Cache(trace.footprint // 20)
    for key, size in zip(trace.objects.tolist(), trace.sizes.tolist(), strict=True):
        cache.request(key, size)
    assert (cache.misses, cache.bypassed) == (run.misses, run.bypassed)
