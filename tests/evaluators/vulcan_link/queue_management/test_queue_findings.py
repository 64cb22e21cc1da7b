"""Findings on queue managers are what a slow count of the log finds, and their classes add up to what was measured."""

from __future__ import annotations

from typing import Any

import pytest

from vulcan.anvil import check
from vulcan.evaluator import load_evaluator, located
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan_link import engine_state as m
from vulcan_link.account import EARLY, LOSS_CAUSES, NEEDLESS, SHORT_MS

TASK = find_task("active_queue_management")
ABOVE = check("def drop_probability(queue):\n    return 1 if queue.delay_ms > 9.4 else 0\n", TASK)


@pytest.fixture(scope="module")
def evaluator() -> Any:
    return load_evaluator(TASK)


@pytest.fixture(scope="module")
def instance(evaluator: Any) -> Any:
    given = {"link": ["steps:rates=24-6-16-3,every=1"], "duration_s": 5.0, "flows": 3, "short_flows": 4.0}
    found = evaluator.instances(complete_settings(TASK, given), TASK.split)[0]
    evaluator.prepare_findings([found])
    return found


@pytest.mark.parametrize("who", [ABOVE, "codel", "fq_codel", "drop_tail"], ids=["policy", "codel", "fq", "tail"])
def test_drops_of_an_account_are_those_of_a_slow_count(evaluator: Any, instance: Any, who: Any) -> None:
    found = evaluator.account(who, instance)
    run, losses = found.run, found.more[1]
    counts = dict.fromkeys(losses.parts, 0)
    for time, kind, _, value in run.result.log.tolist():
        if time >= run.scenario.measure_from_s * 1e9 and kind in (m.REFUSED, m.DROPPED_WAITING):
            ms = value / 1e6 if kind == m.DROPPED_WAITING else value * 8e3 / run.scenario.link.mean_rate
            counts[LOSS_CAUSES[NEEDLESS if ms < SHORT_MS else EARLY]] += 1
    packets = run.result.delivered + run.result.dropped
    means = {name: part.mean() * packets / 100 for name, part in losses.parts.items()}
    for cause in (NEEDLESS, EARLY):
        assert means[LOSS_CAUSES[cause]] == pytest.approx(counts[LOSS_CAUSES[cause]])
    assert sum(means.values()) == pytest.approx(run.result.dropped)
    assert run.result.dropped == round(run.metrics()["loss"] * (run.result.sent - run.result.lost))


def test_flows_add_up_to_the_run(evaluator: Any, instance: Any) -> None:
    found = evaluator.findings(ABOVE, instance)
    assert located(found, instance) == located(evaluator.findings(ABOVE, instance), instance)
    rows = next(one.rows for one in found if getattr(one, "title", "") == "By flow")
    assert sum(row[1] for row in rows) == len(evaluator.account(ABOVE, instance).run.scenario.flows)
    assert sum(row[2] for row in rows) == pytest.approx(100, abs=0.05)
    assert "2 cubic, all along, 2 cubic, in one half" in evaluator.workload(instance)[1].text
