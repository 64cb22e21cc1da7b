"""A sweep is what the evaluator measures on each of its instances, and stays out of prompts."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import Any

import pytest

from vulcan.anvil import check
from vulcan.evaluator import load_evaluator
from vulcan.findings import SmallTable
from vulcan.registry import find_task
from vulcan.results.explanation import explain
from vulcan.searches.config import complete_settings

TASK = find_task("cache_eviction")
RECENCY = "def priority(now, obj, cache, ghost):\n    return obj.last_access\n"
FREQUENCY = RECENCY.replace("last_access", "count")
PAGES = "gups:pages=900,hot_pages=80,intervals=20,loads=12000,updates_a_move=20000,seed=5"
GIVEN: dict[str, Any] = {"trace": ["zipf:objects=400,requests=6000,alpha=0.9,seed=3"], "cache_size": ["10%"]}


def whole(evaluator: Any, given: dict[str, Any]) -> Any:
    """The instance that is explained: all of the trace."""
    return evaluator.instances(complete_settings(TASK, given), replace(TASK.split, by="none"))[0]


def test_a_policy_is_measured_in_smaller_and_larger_caches() -> None:
    found = explain(RECENCY, TASK.name, GIVEN)
    [table] = [one for one in found.of(found.instances[0]) if isinstance(one, SmallTable) and " by cache" in one.title]
    assert table.weight == 0
    assert table.columns[:2] == ("cache size, bytes", "policy")
    assert table.columns[-1].endswith("(oracle)")
    evaluator: Any = load_evaluator(TASK)
    sweep = evaluator.sweep(whole(evaluator, GIVEN))
    evaluator.prepare([one for _, one in sweep.steps])
    assert len(table.rows) == len(sweep.steps) >= 5
    policy, baseline = check(RECENCY, TASK), table.columns[2]
    for row, (label, one) in zip(table.rows, sweep.steps, strict=True):
        expected = [evaluator.evaluate(policy, one), evaluator.evaluate_baseline(baseline, one)]
        assert row[:3] == (label, *(metrics["miss_ratio"] for metrics in expected))


@pytest.mark.parametrize(
    ("name", "given", "seen"),
    [
        (TASK.name, GIVEN, " (all up to the end of the part 'test')"),
        ("memory_tiering", {"trace": [PAGES], "fast_size": ["10%"]}, " (the part 'test')"),
    ],
)
def test_headings_say_which_part_the_findings_are_about(name: str, given: dict[str, Any], seen: str) -> None:
    source = next(iter(find_task(name).seed_policies().values()))
    found = explain(source, name, given, part="test")
    assert found.headings == (f"The workload{seen}", "The policy (the part 'test')")
    assert all(f"<h3>{escape(heading)}</h3>" in found.html() for heading in found.headings)


def test_a_part_of_the_data_is_explained_with_the_cache_of_the_whole_and_block_by_block() -> None:
    found = explain(RECENCY, TASK.name, GIVEN, against=FREQUENCY, part="train", by_part=True)
    evaluator: Any = load_evaluator(TASK)
    instance = evaluator.instances(complete_settings(TASK, GIVEN), TASK.split)[0]
    capacity = evaluator.spec_of(instance).capacity
    assert capacity == evaluator.spec_of(whole(evaluator, GIVEN)).capacity
    shown = found.of(instance.name)
    assert isinstance(shown[0], SmallTable)
    evaluator.prepare([instance])
    missed = evaluator.evaluate(check(RECENCY, TASK), instance)["miss_ratio"]
    assert sum(float(row[1]) for row in shown[0].rows) == pytest.approx(missed, abs=1e-3)
    [table] = [one for one in shown if isinstance(one, SmallTable) and one.columns[0] == "part of the time"]
    windows = evaluator.windows(instance, len(table.rows))
    evaluator.prepare(windows)
    policies = [check(source, TASK) for source in (RECENCY, FREQUENCY)]
    for row, window in zip(table.rows, windows, strict=True):
        assert row[1:3] == tuple(evaluator.evaluate(policy, window)["miss_ratio"] for policy in policies)
