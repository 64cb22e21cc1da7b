"""Traffic the other way: acknowledgements wait behind its packets, and nothing else is changed by it."""

from __future__ import annotations

import pytest

from vulcan_link.result import LinkResult
from vulcan_link.scenario import Flow, Queue, Scenario
from vulcan_link.simulate import simulate
from vulcan_traces.links import load_link

LINK = "constant:rate=12"
"""A packet a millisecond: 40 are in flight in 40 ms."""


def run(flow: Flow, reverse: Flow | None, **around: object) -> LinkResult:
    return simulate(Scenario(load_link(LINK), Queue(packets=100), (flow,), 20.0, reverse=reverse, **around))  # type: ignore[arg-type]


def test_acknowledgements_wait_as_long_as_the_queue_there_is() -> None:
    """60 packets one way keep 20 of them waiting, 20 ms; 20 the other way never wait."""
    alone = run(Flow("fixed", parameter=20.0, initial_window=20), None)
    delayed = run(Flow("fixed", parameter=20.0, initial_window=20), Flow("fixed", parameter=60.0), measure_from_s=5.0)
    assert delayed.flows[0].rtt_avg_ms - alone.flows[0].rtt_avg_ms == pytest.approx(20.0, abs=1.5)
    assert delayed.queueing_delay_avg_ms == pytest.approx(alone.queueing_delay_avg_ms, abs=0.1)


def test_its_packets_are_in_their_queue_when_they_are_sent() -> None:
    """Of 60 packets sent at 0, 38 or 39 wait when the first acknowledgements leave, after 20 ms of the way there."""
    burst = Flow("fixed", parameter=60.0, initial_window=60)
    scenario = Scenario(load_link(LINK), Queue(packets=100), (Flow("fixed", parameter=2.0),), 0.1, reverse=burst)
    assert simulate(scenario).flows[0].rtt_max_ms == pytest.approx(40 + 39 + 1, abs=1.5)


def test_a_flow_by_delay_takes_it_for_its_own_queue_and_a_window_does_not() -> None:
    """A rising round trip is all that Vegas sees: beside CUBIC the other way it gives up much of the link."""
    vegas = [run(Flow("vegas"), reverse).goodput_bps for reverse in (None, Flow("cubic"))]
    assert vegas[1] < 0.9 * vegas[0]
    cubic = [run(Flow("cubic"), reverse).goodput_bps for reverse in (None, Flow("cubic"))]
    assert cubic[1] == pytest.approx(cubic[0], rel=0.1)
