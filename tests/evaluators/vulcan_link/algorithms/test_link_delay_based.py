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


def goodputs(*algorithms: str) -> list[float]:
    """Mbit/s of flows that share a link for a minute."""
    flows = tuple(Flow(algorithm, delay_ms=20.0) for algorithm in algorithms)
    result = simulate(Scenario(load_link("constant:rate=12"), Queue(packets=DEEP), flows, 60.0, measure_from_s=10.0))
    return [flow.goodput_bps / 1e6 for flow in result.flows]


@pytest.mark.parametrize(
    ("algorithm", "fills", "least", "most", "p95"),
    [
        ("vegas", 0.99, 1.0 * PACKET_MS, 5.0 * PACKET_MS, 6.0 * PACKET_MS),  # 2 to 4 packets wait
        ("copa", 0.97, 0.0, 5.0 * PACKET_MS, 7.0 * PACKET_MS),  # the paper: between none and 2.5 / delta = 5 packets
        ("bdp-oracle", 0.94, 0.0, 2.0 * PACKET_MS, 2.0 * PACKET_MS),
    ],
)
def test_alone_it_fills_the_link_with_the_queue_that_it_aims_at(
    algorithm: str, fills: float, least: float, most: float, p95: float
) -> None:
    result = alone(algorithm)
    assert result.utilisation > fills
    assert least <= result.flows[0].queueing_delay_avg_ms <= most
    assert result.flows[0].queueing_delay_p95_ms <= p95
    assert result.dropped == 0


@pytest.mark.parametrize("queue", [47, 94, 188, 330])
def test_copa_loses_little_where_the_buffer_is_far_below_the_bandwidth_delay_product(queue: int) -> None:
    # without the limit of its velocity and the answer to heavy loss of the authors' code it lost up to 38 %
    flow = Flow("copa", delay_ms=51.0)
    result = simulate(Scenario(load_link("constant:rate=77.72"), Queue(packets=queue), (flow,), 20.0))
    assert result.drop_share < 0.05
    assert result.utilisation > 0.9


@pytest.mark.parametrize(
    ("mine", "other", "least", "most"),
    [
        ("copa", "copa", 0.425, 0.575), ("copa", "cubic", 0.2, 1.0), ("copa", "reno", 0.2, 1.0),
        ("vegas", "cubic", 0.0, 0.2),
    ],
)  # fmt: skip
def test_the_share_beside_another_flow_is_that_of_the_papers(mine: str, other: str, least: float, most: float) -> None:
    first, second = goodputs(mine, other)
    assert least <= first / (first + second) <= most


def test_the_oracle_follows_a_rate_that_steps() -> None:
    # from 24 down to 3 Mbit/s: an algorithm that only learns of it afterwards fills the buffer and overflows it. The
    # oracle's first window leaves at once, so that the first second is left out
    link = "steps:rates=24-3,every=5"
    oracle, reno = (alone(name, queue=60, link=link, after_s=1.0) for name in ("bdp-oracle", "reno"))
    assert oracle.dropped < reno.dropped / 2
    assert oracle.flows[0].queueing_delay_p95_ms < 0.2 * reno.flows[0].queueing_delay_p95_ms
