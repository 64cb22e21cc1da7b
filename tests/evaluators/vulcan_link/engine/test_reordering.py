"""Packets that come late, and are overtaken: what a sender makes of it, as Linux does."""

from __future__ import annotations

import pytest

from vulcan_link.result import LinkResult
from vulcan_link.scenario import Flow, Queue, Scenario
from vulcan_link.simulate import simulate
from vulcan_traces.links import load_link

ALGORITHMS = ("reno", "cubic", "bbr")


def run(flow: Flow, share: float, ms: float, seconds: float = 8.0, **around: object) -> LinkResult:
    scenario = Scenario(
        load_link("constant:rate=20"), Queue(packets=67), (flow,), seconds, late_share=share, late_ms=ms,
        **around,  # type: ignore[arg-type]
    )  # fmt: skip
    return simulate(scenario)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_share_of_nothing_or_a_time_of_nothing_changes_nothing(algorithm: str) -> None:
    plain = run(Flow(algorithm), 0.0, 0.0)
    assert run(Flow(algorithm), 0.0, 10.0) == plain
    assert run(Flow(algorithm), 0.3, 0.0).flows[0].goodput_bps == pytest.approx(plain.flows[0].goodput_bps, rel=0.01)


def test_every_packet_arrives_once_and_late_ones_wait_for_nobody() -> None:
    """A window of 20 packets in 40 ms; nothing is lost, and what is late is not sent again for long."""
    result = run(Flow("fixed", parameter=20.0, initial_window=20), 0.02, 5.0, drain=True)
    (flow,) = result.flows
    assert result.dropped == 0
    assert flow.goodput_bps == pytest.approx((flow.sent - flow.retransmitted) * 1448 * 8 / 8.0, rel=0.01)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("ms", [2.0, 10.0, 30.0])
def test_linux_learns_to_wait_and_takes_back_what_it_reduced(algorithm: str, ms: float) -> None:
    """Of 130 late packets few are sent again, and the link stays full (docs/link-validation.md has Linux's figures)."""
    plain, late = run(Flow(algorithm), 0.0, 0.0), run(Flow(algorithm), 0.01, ms)
    assert late.utilisation > 0.96
    assert late.flows[0].retransmitted - late.dropped < 40
    assert late.flows[0].goodput_bps == pytest.approx(plain.flows[0].goodput_bps, rel=0.03)


def test_a_time_longer_than_any_patience_is_taken_for_loss() -> None:
    """RACK waits for a smoothed round trip at most, of 40 ms or more; each packet that is later is sent again."""
    result = run(Flow("bbr"), 0.01, 400.0)
    assert result.flows[0].retransmitted - result.dropped > 100
