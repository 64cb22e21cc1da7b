"""Algorithms that go by delay, on links where what they are for can be told: figures of their papers, with room."""

from __future__ import annotations

import pytest

from vulcan_link.result import LinkResult
from vulcan_link.scenario import Flow, Queue, Scenario
from vulcan_link.simulate import simulate
from vulcan_traces.links import load_link

DEEP = 160  # packets: four bandwidth-delay products of 12 Mbit/s and 40 ms
PACKET_MS = 1.0  # what a packet takes on that link


def alone(algorithm: str, queue: int = DEEP, link: str = "constant:rate=12", after_s: float = 10.0) -> LinkResult:
    """One flow for 30 s, measured once slow start is long over."""
    flow = Flow(algorithm, delay_ms=20.0)
    return simulate(Scenario(load_link(link), Queue(packets=queue), (flow,), 30.0, measure_from_s=after_s))


def goodputs(*algorithms: str, queue: int = DEEP) -> list[float]:
    """Mbit/s of flows that share a link for a minute."""
    flows = tuple(Flow(algorithm, delay_ms=20.0) for algorithm in algorithms)
    result = simulate(Scenario(load_link("constant:rate=12"), Queue(packets=queue), flows, 60.0, measure_from_s=10.0))
    return [flow.goodput_bps / 1e6 for flow in result.flows]


def test_vegas_keeps_two_to_four_packets_waiting_and_loses_none() -> None:
    found = alone("vegas")
    assert found.utilisation > 0.99
    assert 1.0 * PACKET_MS <= found.flows[0].queueing_delay_avg_ms <= 5.0 * PACKET_MS
    assert found.flows[0].queueing_delay_p95_ms <= 6.0 * PACKET_MS
    assert found.dropped == 0


def test_copa_keeps_the_queue_below_five_packets_where_it_is_alone() -> None:
    # the paper: the queue oscillates between none and 2.5 / delta = 5 packets
    found = alone("copa")
    assert found.utilisation > 0.97
    assert found.flows[0].queueing_delay_avg_ms <= 5.0 * PACKET_MS
    assert found.flows[0].queueing_delay_p95_ms <= 7.0 * PACKET_MS
    assert found.dropped == 0


@pytest.mark.parametrize("queue", [47, 94, 188, 330])
def test_copa_loses_little_where_the_buffer_is_far_below_the_bandwidth_delay_product(queue: int) -> None:
    # without the limit of its velocity and the answer to heavy loss of the authors' code it lost up to 38 %
    flow = Flow("copa", delay_ms=51.0)
    found = simulate(Scenario(load_link("constant:rate=77.72"), Queue(packets=queue), (flow,), 20.0))
    assert found.drop_share < 0.05
    assert found.utilisation > 0.9


def test_two_flows_of_copa_share_evenly_with_a_short_queue() -> None:
    first, second = goodputs("copa", "copa")
    assert abs(first - second) < 0.15 * (first + second)


@pytest.mark.parametrize("other", ["cubic", "reno"])
def test_copa_holds_its_own_where_a_buffer_filling_flow_competes(other: str) -> None:
    mine, theirs = goodputs("copa", other)
    assert mine > 0.2 * (mine + theirs)


def test_vegas_does_not_hold_its_own_there() -> None:
    mine, theirs = goodputs("vegas", "cubic")
    assert mine < 0.2 * (mine + theirs)


def test_ledbat_fills_the_link_with_a_queue_of_its_target() -> None:
    found = alone("ledbat")
    assert found.utilisation > 0.99
    assert 90.0 <= found.flows[0].queueing_delay_avg_ms <= 105.0  # RFC 6817: TARGET is 100 ms
    assert found.flows[0].queueing_delay_p95_ms <= 110.0


def test_ledbat_gives_way_to_reno() -> None:
    mine, theirs = goodputs("ledbat", "reno")
    assert mine < 0.35 * (mine + theirs)


def test_the_oracle_keeps_the_link_busy_with_next_to_no_queue() -> None:
    found = alone("bdp-oracle")
    assert found.utilisation > 0.94
    assert found.flows[0].queueing_delay_p95_ms <= 2.0 * PACKET_MS
    assert found.dropped == 0


def test_the_oracle_follows_a_rate_that_steps() -> None:
    # from 24 down to 3 Mbit/s: an algorithm that only learns of it afterwards fills the buffer and overflows it. The
    # oracle's first window leaves at once, so that the first second is left out
    link = "steps:rates=24-3,every=5"
    oracle, reno = (alone(name, queue=60, link=link, after_s=1.0) for name in ("bdp-oracle", "reno"))
    assert oracle.dropped < reno.dropped / 2
    assert oracle.flows[0].queueing_delay_p95_ms < 0.2 * reno.flows[0].queueing_delay_p95_ms
