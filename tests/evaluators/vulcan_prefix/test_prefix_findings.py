"""Findings on prefix caches are what a slow count finds, block by block, and add up to what was measured."""

from __future__ import annotations

from typing import Any

import pytest

from vulcan.anvil import check
from vulcan.evaluator import load_evaluator, located
from vulcan.findings import SmallTable, Statement
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan_prefix.account import ALWAYS, FOUND, IDLE_S, IN_HOST, LOST, NEW, Run
from vulcan_prefix.simulate import BOUND, SERVER, stretch

TASK = find_task("prefix_cache")
OLDEST = check("def priority(now, node, server):\n    return node.last_access\n", TASK)
NEWEST = check("def priority(now, node, server):\n    return -node.last_access\n", TASK)


@pytest.fixture(scope="module")
def evaluator() -> Any:
    return load_evaluator(TASK)


@pytest.fixture(scope="module", params=["", "20%"], ids=["one tier", "with host memory"])
def instance(request: pytest.FixtureRequest, evaluator: Any) -> Any:
    given = {"trace": ["chat:requests=700,seed=2"], "cache_size": ["8%"], "host_size": request.param}
    found = evaluator.instances(complete_settings(TASK, given), TASK.split)[1]  # with requests that are not measured
    evaluator.prepare_findings([found])
    return found


def plain(run: Run, instance: Any) -> tuple[list[int], list[int]]:
    """Tokens by cause, and those lost by how long ago the block was used last, a block at a time."""
    trace, result = run.result.trace, run.result
    size, stretched = trace.block_tokens, run.account.blocks.idle
    last: dict[int, int] = {}
    causes, idle = [0] * 5, [0] * (len(IDLE_S) + 1)
    factors = iter(stretched.tolist())
    for r in range(trace.requests):
        limit = min(int(trace.prompt_blocks[r]), (int(trace.prompt_tokens[r]) - 1) // size)
        blocks = trace.blocks[trace.starts[r] : trace.starts[r + 1]].tolist()
        if r >= instance.parameters["measure_from"]:
            causes[ALWAYS] += int(trace.prompt_tokens[r]) - limit * size
            for at, block in enumerate(blocks[:limit]):
                seconds = next(factors)
                in_cache = at < result.found[r]
                in_host = not in_cache and at < result.found[r] + result.found_in_host[r]
                cause = FOUND if in_cache else IN_HOST if in_host else LOST if block in last else NEW
                causes[cause] += size
                if cause == LOST:
                    ratio = float(trace.arrivals[r] - trace.arrivals[last[block]])
                    assert ratio == 0 or seconds / ratio == pytest.approx(seconds_per_second(run, instance))
                    idle[sum(seconds > limit_s for limit_s in IDLE_S)] += size
        for block in blocks:
            last[block] = r
    return causes, idle


def seconds_per_second(run: Run, instance: Any) -> float:
    return stretch(run.result.trace, SERVER, instance.parameters["load"])


@pytest.mark.parametrize("who", [OLDEST, "lfu", BOUND], ids=["policy", "lfu", "oracle"])
def test_causes_are_those_of_a_slow_count_and_add_up(evaluator: Any, instance: Any, who: Any) -> None:
    run = evaluator.account(who, instance)
    causes, idle = plain(run, instance)
    assert run.account.by_cause().tolist() == causes
    assert sum(causes) == run.metrics["prompt_tokens"]
    assert causes[FOUND] == run.metrics["hit_tokens"]
    assert causes[NEW] + causes[LOST] + causes[ALWAYS] == run.metrics["computed_tokens"]
    assert (causes[IN_HOST] > 0) == (instance.parameters["host_capacity"] > 0 and who != BOUND)
    assert causes[LOST] == sum(idle)


def test_it_says_so_in_words_and_tables(evaluator: Any, instance: Any) -> None:
    found = evaluator.findings(OLDEST, instance)
    assert located(found, instance) == located(evaluator.findings(OLDEST, instance), instance)
    run = evaluator.account(OLDEST, instance)
    causes, idle = plain(run, instance)
    text = found[0].text
    assert f"Of {sum(causes):,} prompt tokens {causes[FOUND] / sum(causes):.1%} are found in the cache" in text
    tables = {
        one.title.removeprefix("Tokens found and lost by "): one.rows for one in found if isinstance(one, SmallTable)
    }
    for rows in tables.values():
        assert sum(row[3] for row in rows) == causes[LOST]
        assert sum(row[1] for row in rows) == pytest.approx(100, abs=0.5)
    assert [row[3] for row in tables["time since the block's last use"] if row[3]] == [
        tokens for tokens in idle if tokens
    ]


def test_two_policies_are_compared_the_workload_described_and_sizes_swept(evaluator: Any, instance: Any) -> None:
    between = evaluator.compare(OLDEST, NEWEST, instance)
    first, second = (evaluator.account(one, instance) for one in (OLDEST, NEWEST))
    parts = [run.account.by_cause() for run in (first, second)]
    rows = next(
        (
            one.rows
            for one in between
            if isinstance(one, SmallTable) and one.title.endswith("depth in the prompt, tokens")
        ),
        (),  # with host memory both may find the same
    )
    gained = sum(row[1] for row in rows) - sum(row[2] for row in rows)
    assert gained == sum(int(parts[0][n] - parts[1][n]) for n in (FOUND, IN_HOST))
    [described] = evaluator.workload(instance)
    assert isinstance(described, Statement)
    most = parts[0][FOUND] + parts[0][IN_HOST] + parts[0][LOST]
    assert f"{most / parts[0].sum():.1%} are of blocks that an earlier request had" in described.text
    steps = evaluator.sweep(instance).steps
    shares = [evaluator.evaluate(OLDEST, one)["hit_share"] for _, one in steps]
    assert len(steps) == 6
    assert shares[0] < shares[-1]
