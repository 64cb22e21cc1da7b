"""The evaluator: what it measures on, and that its numbers are the engine's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from effort import slow
from real_data import real_data

from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.evaluator import rungs_of
from vulcan.generator import OfflineEvolve
from vulcan.models.base import Request
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan.task import Split
from vulcan_tiering.simulate import sample_accesses, simulate
from vulcan_traces.memory import MEMORY_WORKLOADS, load_page_counts

TASK = find_task("memory_tiering")
SPEC = "gups:pages=1200,hot_pages=100,intervals=20,loads=12000,updates_a_move=30000,seed=4"
STEADY = check(TASK.seed_policies()["steady"], TASK)


def settings(**given):
    """One machine and one period, and samples for nothing, unless given."""
    one = {"workloads": ["small-pages"], "fast_size": ["10%"], "slow_tier": ["cxl"], "sample_period": [32]}
    one["sample_cost"] = 0.0
    return complete_settings(TASK, {**one, **given})


def test_by_default_there_are_several_machines_shares_and_periods(evaluator):
    found = evaluator.instances(complete_settings(TASK, {"trace": [SPEC]}), Split(by="none"))
    assert [i.name.split("@")[1] for i in found] == [
        f"{share},{tier},{period}" for share in ("10%", "30%") for tier in ("cxl", "nvm") for period in (32, 512)
    ]


def test_samples_cost_the_time_of_cores_and_first_touch_takes_none(evaluator):
    (free,) = evaluator.instances(settings(trace=[SPEC]), Split(by="none"))
    (dear,) = evaluator.instances(settings(trace=[SPEC], sample_cost=200.0), Split(by="none"))
    counts = load_page_counts(SPEC)
    samples = sample_accesses(counts, 32, 1)
    cost = 200e-9 * float(samples.reads.sum() + samples.writes.sum()) / 16
    added = evaluator.evaluate(STEADY, dear)["seconds"] - evaluator.evaluate(STEADY, free)["seconds"]
    assert added == pytest.approx(cost, rel=1e-6)
    for name, paid in (("tpp", cost), ("first-touch", 0.0)):
        added = evaluator.evaluate_baseline(name, dear)["seconds"] - evaluator.evaluate_baseline(name, free)["seconds"]
        assert added == pytest.approx(paid, rel=1e-6)


@pytest.mark.parametrize("scale", ["small", slow("default")])
def test_without_a_trace_the_generated_workloads_are_split_by_workload(evaluator, monkeypatch, scale):
    workloads = MEMORY_WORKLOADS["small-pages"]
    if scale == "small":
        small = "gups:pages=100,hot_pages=10,intervals=50,loads=500,seed={}"
        numbers = {"train": (1, 2), "validation": (3,), "test": (4, 5)}
        workloads = {part: tuple(map(small.format, seeds)) for part, seeds in numbers.items()}
        monkeypatch.setitem(MEMORY_WORKLOADS, "small-pages", workloads)
    found = evaluator.instances(settings(), Split())
    assert [i.split for i in found] == [part for part, specs in workloads.items() for _ in specs]
    assert all(i.parameters["measure_from"] == 0 and i.parameters["measure_to"] == 50 for i in found)


def test_workloads_in_huge_pages_are_trained_on_too(evaluator, monkeypatch):
    spec = "gups:{},hot_pages=10,intervals=5,loads=500"
    for size, given in (("small-pages", "pages=100"), ("huge-pages", "pages=120,page_size=2097152")):
        parts = {part: (spec.format(given) + f",seed={n}",) for n, part in enumerate(("train", "validation", "test"))}
        monkeypatch.setitem(MEMORY_WORKLOADS, size, parts)
    one = {"fast_size": ["1page"], "migration_limit": "1page", "slow_tier": ["cxl"], "sample_period": [32]}
    both = complete_settings(TASK, one)
    found = evaluator.instances(both, Split())
    assert [(i.split, i.parameters["page_size"]) for i in found] == [
        (part, size) for part in ("train", "validation", "test") for size in (4096, 2**21)
    ]
    assert evaluator.instances({**both, "workloads": ["huge-pages"]}, Split()) == found[1::2]


def test_later_parts_are_entered_with_pages_where_they_were_left(evaluator):
    instances = evaluator.instances(settings(trace=[SPEC]), Split(0.6, 0.2, 0.2))
    evaluator.prepare(instances)
    parts = [evaluator.evaluate(STEADY, instance) for instance in instances]
    counts = load_page_counts(SPEC)
    whole = simulate(STEADY, counts, sample_accesses(counts, 32, 1), 120, migration_limit=60)
    assert sum(p["seconds"] for p in parts) == pytest.approx(whole.seconds, rel=1e-12)
    assert sum(p["migrations"] for p in parts) == whole.migrations > 0
    assert sum(p["accesses"] for p in parts) == whole.accesses == counts.accesses
    assert sum(p["slow_traffic"] for p in parts) == whole.slow_bytes


def test_the_objective_is_the_logarithm_of_the_speed_up(evaluator):
    still = "gups:pages=1200,hot_pages=100,intervals=20,loads=100000,updates_a_move=0,seed=4"
    (only,) = evaluator.instances(settings(trace=[still]), Split(by="none"))
    references = {"first-touch": evaluator.evaluate_baseline("first-touch", only)}
    metrics = evaluator.evaluate(STEADY, only)
    score = TASK.objective().score
    assert score(references["first-touch"], references) == 0
    assert math.exp(score(metrics, references)) == pytest.approx(
        references["first-touch"]["seconds"] / metrics["seconds"]
    )
    assert score(metrics, references) > 0.05


def test_settings_reach_the_machine(evaluator):
    def seconds(**given):
        (only,) = evaluator.instances(settings(trace=[SPEC], **given), Split(by="none"))
        return evaluator.evaluate(STEADY, only)["seconds"]

    plain = seconds()
    assert seconds(slow_tier="nvm") > plain
    assert seconds(fast_tier="cxl") > plain
    assert seconds(threads=64) < plain
    assert seconds(fast_size=["50%"]) < plain
    assert seconds(migration_stall=10_000.0) > plain
    assert len({plain, seconds(sample_period=4), seconds(sample_seed=2), seconds(migration_limit="4pages")}) == 4


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"fast_size": ["0%"]}, "not above 0"),
        ({"fast_size": ["huge"]}, "is not a size"),
        ({"migration_limit": "1000"}, "less than one page"),
        ({"page_size": "4095"}, "power of two"),
        ({"page_size": "10%"}, "number of bytes"),
        ({"threads": 0}, "threads"),
        ({"migration_stall": -1.0}, "--migration-stall -1"),
        ({"sample_period": 0}, "sample period"),
        ({"sample_seed": -1}, "--sample-seed -1"),
        ({"workloads": []}, "at least one of small-pages, huge-pages"),
        ({"trace": ["missing.npz"]}, "no such file"),
        (
            {
                "trace": ["gups:intervals=2,loads=10,pages=4,hot_pages=1"],
                "fast_size": ["1page"],
                "migration_limit": "1page",
            },
            "too few",
        ),
    ],
)
def test_settings_that_make_no_sense(evaluator, given, message):
    with pytest.raises(UserError, match=message) as caught:
        evaluator.prepare(evaluator.instances(settings(**{"trace": [SPEC], **given}), Split(0.6, 0.2, 0.2)))
    assert "\n" not in str(caught.value)


def offline_policies(count):
    generator = OfflineEvolve(TASK)
    texts = [generator.propose(Request(n, 0, (), (), seed=7)).text for n in range(count)]
    return [check(text.split("```python\n")[1].split("```")[0], TASK) for text in texts]


def ranks(values):
    return np.argsort(np.argsort(values, kind="stable"), kind="stable")


def test_rungs_rank_as_full_runs_do(evaluator):
    spec = "gups:pages=4096,hot_pages=400,intervals=20,loads=50000,updates_a_move=100000,seed=9"
    instances = evaluator.instances(settings(trace=[spec]), Split(by="none"))
    (rung,) = rungs_of(evaluator, instances)
    assert (rung.name, rung.instances[0].parameters["one_in"]) == ("R=0.125", 8)
    evaluator.prepare([*instances, *rung.instances])
    policies = offline_policies(40)

    def scores(instance):
        reference = evaluator.evaluate_baseline("first-touch", instance)["seconds"]
        return [math.log(reference / evaluator.evaluate(policy, instance)["seconds"]) for policy in policies]

    full, cheap = scores(instances[0]), scores(rung.instances[0])
    assert np.corrcoef(ranks(full), ranks(cheap))[0, 1] > 0.95
    kept = np.argsort(cheap)[::-1][: math.ceil(rung.keep * len(policies))]
    assert int(np.argmax(full)) in kept


def test_decisions_tell_policies_apart_by_what_they_move(evaluator):
    evaluator.prepare(evaluator.instances(settings(trace=[SPEC]), Split(by="none")))
    head = "def score(now, page, memory):\n    return "
    digests = {
        text: evaluator.decisions(check(head + text + "\n", TASK))
        for text in ("page.accesses", "3 * page.accesses + 1", "page.accesses.avg()", "page.reads", "1", "now")
    }
    assert digests["page.accesses"] == digests["3 * page.accesses + 1"]
    assert digests["1"] == digests["now"]
    assert len(set(digests.values())) == 4


def test_recorded_counts_by_trace(evaluator):
    given = settings(trace=[str(real_data("mem", "pagecounts", "own_kvshift.npz"))], sample_period=100)
    instances = evaluator.instances(given, Split(0.6, 0.2, 0.2))
    assert [i.name for i in instances] == ["own_kvshift@10%"] * 3
    evaluator.prepare(instances)
    test = instances[-1]
    found = {name: evaluator.evaluate_baseline(name, test)["seconds"] for name in evaluator.baselines()}
    found["steady"] = evaluator.evaluate(STEADY, test)["seconds"]
    assert found["omniscient"] < found["steady"] < 0.7 * found["first-touch"]
