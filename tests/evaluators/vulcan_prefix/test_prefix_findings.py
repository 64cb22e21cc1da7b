"""Findings on prefix caches are what a slow count finds, block by block, and add up to what was measured."""

from __future__ import annotations

from typing import Any

import pytest

from vulcan.anvil import check
from vulcan.evaluator import load_evaluator, located
from vulcan.findings import SmallTable
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan_prefix.account import IDLE_S, LOST, NEW
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


def plain(evaluator: Any, who: Any, instance: Any) -> tuple[dict[str, int], list[int], int]:
    """Tokens computed by cause, those lost by how long ago the block was used last, and blocks; a block at a time."""
    spec, trace = evaluator.at(instance)
    result = evaluator.run(who, spec, trace)
    size, factor = trace.block_tokens, stretch(trace, SERVER, spec.load)
    last: dict[int, int] = {}
    causes, idle, count = {NEW: 0, LOST: 0}, [0] * (len(IDLE_S) + 1), 0
    for r in range(trace.requests):
        limit = min(int(trace.prompt_blocks[r]), (int(trace.prompt_tokens[r]) - 1) // size)
        blocks = trace.blocks[trace.starts[r] : trace.starts[r + 1]].tolist()
        for at, block in enumerate(blocks[:limit] if r >= spec.measure_from else []):
            count += 1
            if at >= result.found[r] + result.found_in_host[r]:
                causes[LOST if block in last else NEW] += size
                if block in last:
                    seconds = factor * float(trace.arrivals[r] - trace.arrivals[last[block]])
                    idle[sum(seconds > limit_s for limit_s in IDLE_S)] += size
        for block in blocks:
            last[block] = r
    return causes, idle, count


@pytest.mark.parametrize("who", [OLDEST, "lfu", BOUND], ids=["policy", "lfu", "oracle"])
def test_causes_are_those_of_a_slow_count_and_add_up(evaluator: Any, instance: Any, who: Any) -> None:
    found, metrics = evaluator.account(who, instance), evaluator.measure(who, *evaluator.at(instance))
    causes, idle, count = plain(evaluator, who, instance)
    assert {name: part.sum() for name, part in found.parts.items()} == causes
    assert len(found.total) == count and sum(idle) == causes[LOST]
    size = evaluator.at(instance)[1].block_tokens
    in_any_case = metrics["prompt_tokens"] - size * count  # behind the last whole block
    assert found.total.sum() + in_any_case == metrics["computed_tokens"]
    assert (metrics["host_share"] > 0) == (instance.parameters["host_capacity"] > 0 and who != BOUND)
    by_idle = [found.parts[LOST][found.groups[0].classes == n].sum() for n in range(len(idle))]
    assert by_idle == idle


def test_it_says_so_beside_others_describes_the_workload_and_sweeps_sizes(evaluator: Any, instance: Any) -> None:
    found = evaluator.findings(OLDEST, instance)
    assert located(found, instance) == located(evaluator.findings(OLDEST, instance), instance)
    mean = evaluator.account(OLDEST, instance).total.mean()
    assert found[0].text.startswith(f"A block costs {mean:.4g} computed tokens on average: {NEW} ")
    tables = [one for one in evaluator.compare(OLDEST, NEWEST, instance) if isinstance(one, SmallTable)]
    saved = evaluator.account(NEWEST, instance).total.mean() - mean
    for table in tables[1:]:
        assert sum(row[1] * row[-1] for row in table.rows) / 100 == pytest.approx(saved, abs=0.05)
    causes, _, count = plain(evaluator, OLDEST, instance)
    again = evaluator.at(instance)[1].block_tokens * count - causes[NEW]
    share = again / evaluator.evaluate(OLDEST, instance)["prompt_tokens"]
    [described] = evaluator.workload(instance)
    assert f"{share:.1%} are of blocks that an earlier request had" in described.text
    steps = evaluator.sweep(instance).steps
    shares = [evaluator.evaluate(OLDEST, one)["hit_share"] for _, one in steps]
    assert len(steps) == 6
    assert shares[0] < shares[-1]
