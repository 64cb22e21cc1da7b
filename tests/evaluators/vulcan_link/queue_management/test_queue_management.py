"""Queues that are managed: RED, CoDel and PIE as they are known, and policies beside them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan.searches.config import complete_settings
from vulcan_link import engine_state as m
from vulcan_link.aqm.manager import QueueManager
from vulcan_link.aqm.simulator import QueueSimulator
from vulcan_link.result import LinkResult
from vulcan_link.scenario import Flow, Queue, Scenario
from vulcan_link.simulate import simulate
from vulcan_traces.links import load_link

TASK = find_task("active_queue_management")


def run(
    flows: int, manager: QueueManager | None = None, *, kind: str = "droptail", algorithm: str = "reno", **how: Any
) -> LinkResult:
    scenario = Scenario(
        link=load_link("constant:rate=24"),
        queue=Queue(kind=kind, packets=600, ecn=how.pop("ecn", False)),  # type: ignore[arg-type]
        flows=tuple(Flow(algorithm, delay_ms=20.0, start_s=0.05 * i) for i in range(flows)),
        duration_s=25.0,
        measure_from_s=5.0,
    )
    return simulate(scenario, manager=manager, **how)


def policy(body: str) -> QueueManager:
    return QueueManager(check(f"def drop_probability(queue):\n    return {body}\n", TASK))


def test_without_management_the_queue_stands_full() -> None:
    """600 packets of 1,500 bytes at 24 Mbit/s are 300 ms."""
    result = run(10)
    assert result.queueing_delay_avg_ms > 180
    assert result.queueing_delay_p95_ms == pytest.approx(300, abs=5)


def test_codel_drops_more_often_with_the_square_root_of_its_drops() -> None:
    """Against a flow that does not slow down: the n-th drop comes interval / sqrt(n) after the one before."""
    flow = Flow("fixed", delay_ms=20.0, parameter=2000.0, receive_window=4096)
    scenario = Scenario(load_link("constant:rate=24"), Queue("codel"), (flow,), duration_s=3.0)
    times = [time / 1e6 for time, kind, *_ in simulate(scenario, log=True).log if kind == m.DROPPED_WAITING]
    assert len(times) > 25
    for n in range(1, 12):
        assert times[n] - times[n - 1] == pytest.approx(100 / math.sqrt(n), abs=3)


def test_red_drops_about_as_its_formula_says() -> None:
    """With the average half-way between the thresholds, packets between drops are uniform from 1 to 1 / p_b."""
    result = run(15, QueueManager("red", target_ms=20.0))  # from 20 to 60 packets
    between = result.queueing_delay_avg_ms / 0.5  # packets, at 0.5 ms each
    base = 0.1 * (between - 20) / 40
    assert result.drop_share == pytest.approx(2 * base / (1 + base), rel=0.5)


def test_a_policy_that_never_drops_is_drop_tail_and_one_that_always_does_lets_nothing_through() -> None:
    never, nobody = run(5, policy("-5.0 + 0 * queue.packets")), run(5)
    assert never.queueing_delay_avg_ms == nobody.queueing_delay_avg_ms
    assert never.dropped == nobody.dropped
    assert run(5, policy("9.0 + 0 * queue.packets")).delivered == 0


@pytest.mark.parametrize("probability", [0.002, 0.02])
def test_a_probability_is_that_of_a_drop(probability: float) -> None:
    result = run(20, policy(f"{probability} + 0 * queue.packets"))
    arrived = result.sent - result.lost
    error = math.sqrt(probability * arrived) / arrived
    assert result.drop_share == pytest.approx(probability, abs=5 * error)


def test_what_a_policy_sees_is_so() -> None:
    """What is shown hangs together: at a constant rate the delay of who left last is about the bytes over the rate."""
    state = "(abs(queue.expected_delay_ms - queue.delay_ms) > 15 and queue.packets > 60)"
    assert run(3, policy(f"1.0 if {state} else 0.0")).dropped <= run(3).dropped * 1.5 + 5
    rate = "(queue.drain_bps > 0 and abs(queue.drain_bps / 24e6 - 1) > 0.1)"
    result = run(3, policy(f"1.0 if {rate} else 0.0"), algorithm="cubic")
    assert result.drop_share == pytest.approx(run(3, algorithm="cubic").drop_share, abs=0.001)


def test_fair_queues_keep_a_flow_that_does_not_slow_down_to_its_share() -> None:
    """FQ-CoDel, RFC 8290: three flows of CUBIC beside 400 packets that nothing slows; in one queue they starve."""
    flows = (*(Flow("cubic", delay_ms=20.0) for _ in range(3)), Flow("fixed", delay_ms=20.0, parameter=400.0))
    shares = {}
    for kind in ("codel", "fq_codel"):
        scenario = Scenario(load_link("constant:rate=24"), Queue(kind, packets=600), flows, 10.0, measure_from_s=2.0)  # type: ignore[arg-type]
        shares[kind] = [flow.goodput_bps / 24e6 for flow in simulate(scenario).flows]
    assert max(shares["codel"][:3]) < 0.05
    assert shares["fq_codel"] == pytest.approx([0.24] * 4, abs=0.03)


def test_service_is_not_won_by_dropping_what_waits() -> None:
    """The policy that won by `balance`, drop above 9.4 ms: bursts and short flows lose their packets to it."""
    evaluator = QueueSimulator()
    instances = [i for i in evaluator.instances(complete_settings(TASK, {}), TASK.split) if i.split == "train"][:3:2]
    evaluator.prepare(instances)
    threshold = check("def drop_probability(queue):\n    return 1 if queue.delay_ms > 9.4 else 0\n", TASK)
    measured = [(evaluator.evaluate(threshold, i), evaluator.evaluate_baseline("codel", i)) for i in instances]
    service, balance = TASK.objective("service"), TASK.objective("balance")
    assert sum(balance.score(a, {}) - balance.score(b, {}) for a, b in measured) > -0.2
    assert all(service.score(a, {}) < service.score(b, {}) - 0.05 for a, b in measured)
    assert all(a["loss"] > 2 * b["loss"] for a, b in measured)
