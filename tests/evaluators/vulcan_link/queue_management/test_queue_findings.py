"""Findings on queue managers are what a slow count of the log finds, and their classes add up to what was measured."""

from __future__ import annotations

from typing import Any

import pytest

from vulcan.anvil import check
from vulcan.evaluator import load_evaluator, located
from vulcan.findings import SmallTable
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan_link import engine_state as m
from vulcan_link.aqm.account import LENGTHS_MS, QueueRun, findings_of

TASK = find_task("active_queue_management")
ABOVE = check("def drop_probability(queue):\n    return 1 if queue.delay_ms > 9.4 else 0\n", TASK)
NEVER = check("def drop_probability(queue):\n    return 0\n", TASK)
CLASSES = ["below 1 ms", "1 to 5 ms", "5 to 10 ms", "10 to 20 ms", "20 to 50 ms", "50 ms or more"]


@pytest.fixture(scope="module")
def evaluator() -> Any:
    return load_evaluator(TASK)


@pytest.fixture(scope="module")
def instance(evaluator: Any) -> Any:
    given = {"link": ["steps:rates=24-6-16-3,every=1"], "duration_s": 5.0, "flows": 3, "short_flows": 4.0}
    found = evaluator.instances(complete_settings(TASK, given), TASK.split)[0]
    evaluator.prepare_findings([found])
    return found


def plain_lengths(run: QueueRun) -> dict[tuple[str, int], int]:
    """Count what comes and what is dropped by class of length, a row of the log at a time."""
    counts: dict[tuple[str, int], int] = {}
    for time, kind, _, value in run.result.log.tolist():
        if time < run.scenario.measure_from_s * 1e9 or not m.QUEUED <= kind <= m.DROPPED_WAITING:
            continue
        ms = value / 1e6 if kind == m.DROPPED_WAITING else value * 8e3 / run.scenario.link.mean_rate
        place = sum(ms >= limit for limit in LENGTHS_MS)
        for name in ("came",) * (kind != m.DROPPED_WAITING) + ("dropped",) * (kind != m.QUEUED):
            counts[name, place] = counts.get((name, place), 0) + 1
    return counts


@pytest.mark.parametrize("who", [ABOVE, "codel", "fq_codel", "drop_tail"], ids=["policy", "codel", "fq", "tail"])
def test_drops_by_length_are_those_of_a_slow_count_and_add_up(evaluator: Any, instance: Any, who: Any) -> None:
    run = evaluator.account(who, instance)
    found = findings_of(run, evaluator.compare_with(instance))
    rows = {row[0]: row for one in found if isinstance(one, SmallTable) and "length" in one.title for row in one.rows}
    plain = plain_lengths(run)
    came = sum(count for (name, _), count in plain.items() if name == "came")
    for place, name in enumerate(CLASSES):
        row: Any = rows.get(name, (name, 0.0, 0, 0, 0))
        assert sum(row[2:5]) == plain.get(("dropped", place), 0)
        assert row[1] == pytest.approx(100 * plain.get(("came", place), 0) / came, abs=0.051)
    dropped = sum(count for (name, _), count in plain.items() if name == "dropped")
    assert dropped == run.result.dropped == round(run.metrics()["loss"] * (run.result.sent - run.result.lost))


def test_flows_and_phases_add_up_to_the_run(evaluator: Any, instance: Any) -> None:
    found = evaluator.findings(ABOVE, instance)
    assert located(found, instance) == located(evaluator.findings(ABOVE, instance), instance)
    run = evaluator.account(ABOVE, instance)
    tables = {one.title: one.rows for one in found if isinstance(one, SmallTable)}
    assert sum(row[1] for row in tables["By flow"]) == len(run.scenario.flows)
    assert sum(row[2] for row in tables["By flow"]) == pytest.approx(100, abs=0.05)
    for title in ("By part of the run", "By the link's rate"):
        assert sum(row[6] for row in tables[title]) == run.result.dropped
        assert sum(row[1] for row in tables[title]) == pytest.approx(100, abs=0.05)
    between = evaluator.compare(ABOVE, NEVER, instance)
    lost = [evaluator.account(one, instance).result.dropped for one in (ABOVE, NEVER)]
    rows = next(one.rows for one in between if getattr(one, "title", "").endswith("by part of the run"))
    assert [sum(row[6] for row in rows), sum(row[7] for row in rows)] == lost
    assert "2 cubic, all along, 2 cubic, in one half" in evaluator.workload(instance)[1].text
