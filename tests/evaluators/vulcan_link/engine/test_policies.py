"""A policy in the kernel: when it is called, what it is shown, and what becomes of its answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from vulcan.anvil import Policy, check
from vulcan.task import Feature, Global, Objective, Task, Value
from vulcan_link import interface
from vulcan_link.scenario import Flow, Queue, Scenario
from vulcan_link.simulate import simulate
from vulcan_traces.links import make_link

LINK = make_link("12", "opportunities", np.array([10**6]), 10**6)


def unbounded(declared: Global) -> Global:
    """The same features without bounds, of which any may be read."""
    features = tuple(Feature(f.name, "float", "any", 0, 2**52, f.name) for f in declared.features)
    return Global(declared.name, declared.meaning, features)


TASK = Task(
    name="window",
    summary="chooses a window",
    signature=Value(
        "cwnd",
        (unbounded(interface.STATE), unbounded(interface.WINDOW)),
        "packets",
        low=2,
        high=65535,
    ),
    evaluator="vulcan_link.simulator:LinkSimulator",
    objectives=(Objective("power", "utilisation", "more is better", lambda metrics, _: metrics["utilisation"]),),
    directory=Path(__file__).parent,
)


def policy(body: str) -> Policy:
    return check(f"def cwnd(state, window):\n    return {body}\n", TASK)


def run(body: str, **options: object) -> object:
    flow = Flow("policy", **{"delay_ms": 20.0, "slow_start": "policy", **options})
    return simulate(Scenario(LINK, Queue(packets=100), (flow,), 10.0), policy(body))


@pytest.mark.parametrize(("answer", "window"), [("-5", 2), ("2.99", 2), ("7.9", 7), ("1e12", 65535)])
def test_answers_are_clamped_to_whole_windows(answer: str, window: int) -> None:
    result = run(answer, receive_window=50)
    assert result.flows[0].window_avg == pytest.approx(window, rel=0.02)


def test_it_is_called_at_every_acknowledgement_or_once_a_round_trip() -> None:
    often, seldom = run("20"), run("20", called="round")
    assert often.flows[0].calls > 2000
    assert 225 <= seldom.flows[0].calls <= 245  # 10 s of round trips of 41 ms and more


def test_slow_start_is_run_until_the_pipe_is_full_and_then_it_is_asked() -> None:
    by_mechanism, left_to_it = run("state.cwnd_packets", slow_start="mechanism"), run("state.cwnd_packets")
    assert by_mechanism.utilisation > 0.9
    assert left_to_it.utilisation < 0.3  # it stays at the initial window
    assert run("2", slow_start="mechanism").flows[0].sent > run("2").flows[0].sent + 30


def test_the_fraction_of_a_window_adds_up() -> None:
    """Growth by a tenth of a packet an acknowledgement is lost on a window that is rounded down."""
    rounded, exact = (run(f"state.{name}_packets + 0.1", receive_window=64) for name in ("cwnd", "cwnd_exact"))
    assert rounded.flows[0].window_avg == pytest.approx(10, abs=0.1)
    assert exact.flows[0].window_avg > 40


def test_losses_are_told_once_each_recovery() -> None:
    """Without this one that halves at a loss would be at its least before the recovery is over."""
    body = (
        "state.cwnd_packets / 2 if state.cause == 1 else state.cwnd_packets + 1 "
        "if state.acked_since_change_packets >= state.cwnd_packets else state.cwnd_packets"
    )
    result = simulate(Scenario(LINK, Queue(packets=40), (Flow("policy"),), 30.0), policy(body))
    assert result.flows[0].dropped >= 5
    assert result.utilisation > 0.9


@pytest.mark.parametrize(
    ("holds", "name"),
    [
        ("state.now_us > 0 and state.rtt_us >= state.min_rtt_us and state.rtt_us <= state.max_rtt_us", "rtt"),
        ("state.smoothed_rtt_us >= 40000", "smoothed"),
        ("state.in_flight_packets <= 64 and state.acked_packets <= 64", "flight"),
        ("state.cwnd_packets <= state.max_cwnd_packets", "largest"),
        ("state.mss_bytes == 1448 and state.ecn_enabled == 0 and state.ecn_marked_packets == 0", "constants"),
        ("state.delivered_packets >= state.round_trip_acked_packets", "round"),
        ("state.delivery_rate_bps <= 12.2e6 or state.now_us < 200000", "rate"),
        ("window.min_rtt_us <= window.avg_rtt_us and window.avg_rtt_us <= window.max_rtt_us", "window rtt"),
        ("window.bandwidth_bps <= 12e6 and window.delivered_bytes == window.delivered_packets * 1448", "window"),
        ("window.duration_us == 0 or window.duration_us >= 1000", "at least 1 ms"),
        ("state.min_bandwidth_bps <= state.max_bandwidth_bps", "bandwidths"),
        ("state.cwnd_packets <= state.cwnd_exact_packets < state.cwnd_packets + 1", "fraction"),
        ("state.delivery_rate_bps <= state.send_rate_bps * 1.0001 or state.now_us < 200000", "send rate"),
    ],
)
def test_what_it_is_shown_is_true(holds: str, name: str) -> None:
    """The window is 30 while the statement holds, and 2 once it does not."""
    result = run(f"30 if {holds} else 2", receive_window=64)
    assert result.flows[0].window_avg > 29.9, name
