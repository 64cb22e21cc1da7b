"""The objectives, on metrics whose worth is known."""

from __future__ import annotations

import math

import pytest

from vulcan_link.result import FlowResult, LinkResult, metrics_of

FLOW = {
    "algorithm": "policy", "sent": 1000, "delivered": 990, "dropped": 6, "lost": 4, "marked": 0, "retransmitted": 10,
    "goodput_bps": 12e6 * 1448 / 1500, "throughput_bps": 12e6,
    "queueing_delay_avg_ms": 10.0, "queueing_delay_p95_ms": 20.0, "queueing_delay_max_ms": 30.0, "rtt_avg_ms": 50.0,
    "rtt_min_ms": 40.0, "timeouts": 0, "window_avg": 45.0, "calls": 900,
    "decisions": 0,
}  # fmt: skip


def result(*flows, capacity=12e6, jain=1.0):
    made = tuple(FlowResult(**{**FLOW, **flow}) for flow in flows)
    used = sum(flow.throughput_bps for flow in made) / capacity
    total = {
        name: sum(getattr(flow, name) for flow in made)
        for name in ("sent", "delivered", "dropped", "lost", "marked", "retransmitted", "goodput_bps", "throughput_bps")
    }
    return LinkResult(
        flows=made, seconds=20.0, capacity_bps=capacity, utilisation=used, queueing_delay_avg_ms=10.0,
        queueing_delay_p95_ms=20.0, queueing_delay_max_ms=30.0, jain=jain, events=5000, **total,
    )  # fmt: skip


def test_the_metrics_of_one_flow():
    metrics = metrics_of(result({}), flows=1, base_rtt_ms=40.0, share=1.0)
    assert metrics["utilisation"] == metrics["share"] == 1.0
    assert metrics["throughput_mbps"] == 12.0
    assert metrics["loss"] == pytest.approx(0.01)
    assert metrics["drop_discount"] == pytest.approx(1 - 10 * 0.006)  # what is lost at random is nobody's fault
    assert metrics["power"] == pytest.approx(40 / 50 * 0.94)
    assert metrics["throughput_over_delay"] == pytest.approx(12 / (1e-5 + 20))


def test_of_several_flows_only_the_policys_count():
    other = {"algorithm": "cubic", "throughput_bps": 3e6, "queueing_delay_avg_ms": 99.0}
    share = 1448 / 1500
    mine = (
        {"throughput_bps": 3e6, "goodput_bps": 3e6 * share, "dropped": 0},
        {"throughput_bps": 1.5e6, "goodput_bps": 1.5e6 * share, "dropped": 0, "delivered": 330,
         "queueing_delay_avg_ms": 30.0},
    )  # fmt: skip
    metrics = metrics_of(result(*mine, other), flows=2, base_rtt_ms=40.0, share=2 / 3)
    assert metrics["throughput_mbps"] == pytest.approx(4.5)
    assert metrics["share"] == pytest.approx(4.5 / 8)
    assert metrics["queueing_delay_avg_ms"] == pytest.approx((990 * 10 + 330 * 30) / 1320)
    assert metrics["power"] == pytest.approx(4.5 / 8 * 40 / 55)


def test_more_than_the_fair_share_counts_as_all_of_it():
    metrics = metrics_of(result({}, {"throughput_bps": 0.0}), flows=1, base_rtt_ms=40.0, share=0.5)
    assert metrics["share"] == pytest.approx(2.0)
    assert metrics["power"] == pytest.approx(40 / 50 * 0.94)


def test_a_flood_is_worth_nothing_by_any_objective(task):
    flood = {"sent": 100_000, "dropped": 98_000, "delivered": 1990, "goodput_bps": 3e6, "queueing_delay_avg_ms": 0.0}
    calm = metrics_of(result({}), 1, 40.0, 1.0)
    worst = metrics_of(result(flood), 1, 40.0, 1.0)
    for objective in task.objectives:
        scores = [objective.score({**metrics, "completion": 0.8}, {"cubic": calm}) for metrics in (worst, calm)]
        assert scores[0] < scores[1] - 0.5
    assert worst["power"] == 0.0


def test_a_flow_that_delivered_nothing_has_finite_metrics(task):
    nothing = dict.fromkeys(("sent", "delivered", "throughput_bps", "goodput_bps", "queueing_delay_avg_ms",
                             "queueing_delay_p95_ms", "rtt_avg_ms", "rtt_min_ms"), 0)  # fmt: skip
    metrics = metrics_of(result(nothing), flows=1, base_rtt_ms=40.0, share=1.0)
    for objective in task.objectives:
        references = {"cubic": metrics_of(result({}), 1, 40.0, 1.0)}
        assert math.isfinite(objective.score({**metrics, "completion": 0.0}, references))


def test_the_objectives(task):
    good = metrics_of(
        result({"queueing_delay_avg_ms": 0.0, "queueing_delay_p95_ms": 0.0, "dropped": 0, "lost": 0}), 1, 40.0, 1.0
    )
    cubic = metrics_of(result({}), 1, 40.0, 1.0)
    power, balanced, policysmith, completion = task.objectives
    assert power.score(good, {}) == 1.0
    assert balanced.score(good, {}) == pytest.approx(1.0)
    assert balanced.score(cubic, {}) == pytest.approx((0.4 + 0.3 * 40 / 60 + 0.1 * 0.9 + 0.2) * 0.94)
    assert policysmith.score(cubic, {"cubic": cubic}) == 0.0
    half = {**cubic, "goodput_over_delay": cubic["goodput_over_delay"] / 2}
    assert policysmith.score(half, {"cubic": cubic}) == pytest.approx(-1.0)
    assert completion.score({**cubic, "completion": 0.5}, {}) == pytest.approx(0.5 * 0.94)
