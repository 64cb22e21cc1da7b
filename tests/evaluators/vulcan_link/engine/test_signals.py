"""Signals that some policies read: application limits, one-way delay, aggregation, CUBIC's window, times."""

from __future__ import annotations

import pytest
from test_policies import LINK, policy

from vulcan.anvil import check
from vulcan.registry import find_task
from vulcan_link.result import LinkResult
from vulcan_link.scenario import Flow, Queue, Scenario
from vulcan_link.simulate import simulate


def run(body: str, flow: Flow, **around: float) -> LinkResult:
    """On a link of a packet a millisecond."""
    return simulate(Scenario(LINK, Queue(packets=200), (flow,), 10.0, **around), policy(body), series=True)  # type: ignore[arg-type]


def run_in_the_task(body: str, flow: Flow, **around: float) -> LinkResult:
    """The same with the features of the task congestion_control, of which some are observed on occasions."""
    found = check(f"def cwnd(state, window):\n    return {body}\n", find_task("congestion_control"))
    return simulate(Scenario(LINK, Queue(packets=200), (flow,), 10.0, **around), found, series=True)  # type: ignore[arg-type]


def last_window(result: LinkResult) -> float:
    return float(result.series["window"][-1, 0])


def sender(**options: object) -> Flow:
    return Flow("policy", **{"delay_ms": 20.0, "slow_start": "policy", "delayed_acks": False, **options})  # type: ignore[arg-type]


def test_an_application_that_writes_little_limits_the_sender() -> None:
    body = "50 + 10 * state.app_limited"
    assert last_window(run(body, sender())) == 50
    limited = run(body, sender(write_packets=5, write_ms=50.0))
    assert last_window(limited) == 60
    assert limited.flows[0].sent == pytest.approx(10_000 / 50 * 5, abs=5)
    assert last_window(run(body, sender(write_packets=400, write_ms=100.0))) == 50, "four times what the link carries"


def test_the_one_way_delay_is_the_queue_ahead_and_not_the_way_back() -> None:
    """60 - q / 2 packets where w - 40 of them wait for a millisecond each: w is 53.3."""
    body = "60 - state.one_way_delay_us / 2000"
    assert run(body, sender()).flows[0].window_avg == pytest.approx(53.3, abs=1.0)
    noisy = run(body, sender(), jitter_us=30_000.0)
    assert last_window(noisy) > 40, "the way back says nothing of the queue"
    by_rtt = "60 - (state.rtt_us - state.min_rtt_us) / 2000"
    assert run(by_rtt, sender(), jitter_us=30_000.0).flows[0].window_avg < noisy.flows[0].window_avg - 2.0


@pytest.mark.parametrize(
    ("statistic", "before", "after", "most"),
    [
        ("state.interval_min_rtt_us.window_percentile(0, 10) / 1000", 40, 80, 80.0),
        ("state.interval_min_rtt_us.window_percentile(0, 100) / 1000", 40, 80, 40.0),
        ("state.interval_max_rtt_us.window_percentile(1, 60) / 1000", 80, 40, 80.0),
        ("state.interval_avg_rtt_us.window_avg(20) / 1000", 80, 60, 60.0),
        ("state.interval_max_rate_bps.window_percentile(1, 10) / 1e6", 60, 20, 6.5),
        ("state.interval_max_rate_bps.window_percentile(1, 100) / 1e6", 60, 20, 11.6),
        ("state.interval_rate_bps.window_avg(10) / 1e6", 60, 20, 5.8),
        ("state.interval_delivered_packets.window_avg(10)", 60, 20, 50.0),
        ("state.interval_delivered_packets.recent(80)", 60, 20, 100.0),
        ("state.interval_us.window_avg(10) / 1000", 60, 20, 100.0),
    ],
)
def test_statistics_of_intervals_are_over_time(statistic: str, before: int, after: int, most: float) -> None:
    """Of a window of `before` packets up to 5 s and `after` from then on, at 10 s: a packet a millisecond, 40 ms."""
    told = f"{after} + 5 * (abs({statistic} / {most} - 1) < 0.2) * (state.now_us > 9.5e6)"
    result = run_in_the_task(f"{before} if state.now_us < 5e6 else {told}", sender())
    assert last_window(result) == after + 5


@pytest.mark.parametrize(("batch", "least", "most"), [(0.0, 0, 3), (20.0, 15, 30), (40.0, 30, 50)])
def test_aggregation_is_what_acknowledgements_run_ahead_by(batch: float, least: int, most: int) -> None:
    """At a packet a millisecond, a batch of 20 ms delivers 20 packets at once."""
    extra = last_window(run("150 + state.extra_acked_packets", sender(), ack_batch_ms=batch)) - 150
    assert least <= extra <= most
