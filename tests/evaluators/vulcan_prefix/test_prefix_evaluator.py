"""The evaluator of `prefix_cache`: instances, settings, and policies that say what a baseline does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from vulcan.anvil import check
from vulcan.errors import UserError
from vulcan.evaluator import Instance
from vulcan.export import Provenance, find_exporter
from vulcan.registry import find_task
from vulcan.task import Split
from vulcan_prefix.simulate import BASELINES, BOUND, simulate
from vulcan_prefix.simulator import PrefixSimulator, size_in_tokens
from vulcan_traces.prompts import load_prompts

TASK = find_task("prefix_cache")
TRACE = "mix:requests=900,seed=3"
DEFAULTS = {setting.name: setting.default for setting in TASK.settings}
SAME = {
    "lru": "return node.last_access",
    "lfu": "return node.hits",
    "slru": "return node.hits >= 2",
    "priority": "return node.priority",
    "fifo": "return node.id",
}


def instances(**settings: Any) -> list[Instance]:
    given = {**DEFAULTS, "trace": [TRACE], "cache_size": ["10%"], **settings}
    return list(PrefixSimulator().instances(given, Split(0.5, 0.25, 0.25)))


@pytest.fixture(scope="module")
def evaluator() -> PrefixSimulator:
    found = PrefixSimulator()
    found.prepare(instances())
    return found


def test_a_trace_is_cut_along_time() -> None:
    ranges = {i.split: (i.parameters["measure_from"], i.parameters["measure_to"]) for i in instances()}
    assert ranges == {"train": (0, 450), "validation": (450, 675), "test": (675, 900)}


@pytest.mark.parametrize("name", SAME)
def test_a_policy_that_says_what_a_baseline_does_measures_the_same(name: str, evaluator: PrefixSimulator) -> None:
    policy = check(f"def priority(now, node, server):\n    {SAME[name]}\n", TASK)
    for instance in instances():
        assert evaluator.evaluate(policy, instance) == evaluator.evaluate_baseline(name, instance)


@pytest.mark.parametrize(("name", "trace"), [("returning", "api"), ("returning", "mix"), ("returning_turns", "mix")])
def test_a_policy_that_learns_what_returns_is_as_good_as_the_best_baseline_of_each_workload(
    name: str, trace: str
) -> None:
    policy = check(TASK.seed_policies()[name], TASK)
    generated = load_prompts(f"{trace}:requests=2500,seed=9")
    capacity = generated.footprint // 20
    computed = simulate(policy, generated, capacity, load=0.5).metrics()["computed_tokens"]
    theirs = {
        who: simulate(who, generated, capacity, load=0.5).metrics()["computed_tokens"] for who in (*BASELINES, BOUND)
    }
    assert theirs[BOUND] < computed < 1.01 * min(theirs[who] for who in BASELINES)
    assert computed < 0.95 * theirs["lru"]


def test_shares_add_up(evaluator: PrefixSimulator) -> None:
    one = evaluator.evaluate_baseline("lru", instances(host_size="50%")[0])
    whole = one["prompt_tokens"]
    assert one["hit_tokens"] + one["computed_tokens"] + one["host_share"] * whole == pytest.approx(whole)
    assert 0 < one["hit_share"] < 1
    assert one["host_share"] > 0
    assert one["p99_ttft_ms"] > one["ttft_ms"] > 0


def test_sizes_are_tokens_or_shares() -> None:
    trace = load_prompts(TRACE)
    assert size_in_tokens("500k", trace, "cache size") == 500_000
    assert size_in_tokens("1.2M", trace, "cache size") == 1_200_000
    assert size_in_tokens("10%", trace, "cache size") == trace.footprint // 10
    for bad in ("10 GB", "-5", "x", "7"):
        with pytest.raises(UserError, match="cache size"):
            size_in_tokens(bad, trace, "cache size")


def test_impossible_settings_are_refused() -> None:
    for settings, reason in (
        ({"load": -1.0}, "load"),
        ({"token_us": -5.0}, "token_us is -5"),
        ({"host_size": "x"}, "host"),
    ):
        with pytest.raises(UserError, match=reason):
            instances(**settings)


def test_a_cache_for_everything_is_said_to_be_of_no_use(evaluator: PrefixSimulator) -> None:
    assert "holds everything" in (evaluator.why_indifferent(instances(cache_size=["300%"])[2]) or "")
    assert evaluator.why_indifferent(instances()[2]) is None


def test_prompts_that_share_nothing_are_said_to_be_of_no_use(evaluator: PrefixSimulator, tmp_path: Path) -> None:
    file = tmp_path / "apart.jsonl"
    line = '{"timestamp": %d, "input_length": 1024, "output_length": 8, "hash_ids": [%d, %d]}\n'
    file.write_text("".join(line % (n, 2 * n, 2 * n + 1) for n in range(300)))
    apart = instances(trace=[str(file)])[0]
    assert "no two requests share a block" in (evaluator.why_indifferent(apart) or "")


def test_an_overloaded_server_says_so(evaluator: PrefixSimulator) -> None:
    [said] = evaluator.notes(instances(cache_size=["0.5%"])[0])
    assert "overloaded" in said and "of the cache" in said and "\n" not in said
    assert evaluator.notes(instances()[0]) == ()


def test_sglang_carries_no_eviction_by_blocks() -> None:
    policy = check(TASK.seed_policies()["lru_blocks"], TASK)
    with pytest.raises(UserError, match="of the mechanism blocks cannot be exported as sglang"):
        find_exporter("sglang", TASK).export(policy, Provenance("prefix_cache", "test", "", "", ""))
