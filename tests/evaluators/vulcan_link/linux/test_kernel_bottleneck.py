"""The emulated bottleneck gives every packet the fate that the plain one gives it."""

from __future__ import annotations

import numpy as np
import plain_bottleneck
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_bottleneck import Packet

from vulcan_link.linux.bottleneck import Bottleneck, DelayLine, opportunity_times
from vulcan_traces.links import make_link

MS = 1_000_000
opportunity_lists = st.lists(st.integers(1, 40), min_size=1, max_size=40).map(lambda ms: sorted(m * MS for m in ms))
arrival_lists = st.lists(
    st.tuples(st.integers(0, 40).map(lambda ms: ms * MS), st.sampled_from((40, 52, 576, 748, 1499, 1500))), max_size=60
).map(lambda packets: sorted(packets, key=lambda packet: packet[0]))


def named(number: int, size: int) -> bytes:
    return number.to_bytes(4, "little") + bytes(size - 4)


def number_of(packet: bytes) -> int:
    return int.from_bytes(packet[:4], "little")


@settings(max_examples=examples(150))
@given(opportunity_lists, st.integers(1, 12), arrival_lists)
def test_every_packet_fares_as_in_the_plain_bottleneck(
    opportunities: list[int], buffer: int, arrivals: list[tuple[int, int]]
) -> None:
    until = 50 * MS
    link = make_link("given", "opportunities", np.array(opportunities), 2 * until)
    packets = [Packet(number, size, when) for number, (when, size) in enumerate(arrivals)]
    expected = plain_bottleneck.bottleneck(packets, link, packets=buffer, codel=None, until=until)
    bottleneck = Bottleneck(opportunities, buffer)
    crossed = []
    for number, (when, size) in enumerate(arrivals):
        crossed += bottleneck.advance(when)
        bottleneck.arrive(when, named(number, size))
    crossed += bottleneck.advance(until)

    log = bottleneck.log
    departed = [(when, number_of(packet)) for packet, (when, _, _) in zip(crossed, log.departed, strict=True)]
    assert departed == [(when, number) for when, number, _ in expected.departures]
    assert [arrivals[number] for number in expected.dropped] == [(when, size - 4) for when, size in log.dropped]
    assert log.opportunities == len(opportunities)
    in_transit = len(log.arrived) - len(log.departed) - len(log.dropped) - bottleneck.waiting
    assert in_transit in (0, 1)
    assert all(came <= when for when, _, came in log.departed)


@settings(max_examples=examples(100))
@given(opportunity_lists, st.lists(st.integers(0, 50).map(lambda ms: ms * MS), min_size=1, max_size=30).map(sorted))
def test_how_often_the_clock_is_read_does_not_matter(opportunities: list[int], readings: list[int]) -> None:
    often, once = Bottleneck(opportunities, 100), Bottleneck(opportunities, 100)
    for number in range(30):
        often.arrive(0, named(number, 700))
        once.arrive(0, named(number, 700))
    for now in readings:
        often.advance(now)
    once.advance(readings[-1])
    assert often.log == once.log


@settings(max_examples=examples(100))
@given(st.integers(0, 30), st.lists(st.integers(0, 100), max_size=30).map(sorted))
def test_a_delay_line_holds_each_packet_for_its_delay_and_keeps_their_order(delay: int, arrivals: list[int]) -> None:
    line = DelayLine(delay)
    out = []
    for now in range(140):
        out += [(now, number_of(packet)) for packet in line.advance(now)]
        for number, when in enumerate(arrivals):
            if when == now:
                line.arrive(now, named(number, 40))
        out += [(now, number_of(packet)) for packet in line.advance(now)]
    assert out == [(when + delay, number) for number, when in enumerate(arrivals)]


def tcp(port: int, *, syn: bool = False, data: int = 0) -> bytes:
    """A packet from the sender's port, with the headers that the kernel writes."""
    head = bytearray(40)
    head[20:24] = port.to_bytes(2, "big") + (5001).to_bytes(2, "big")
    head[33] = 2 if syn else 16
    return bytes(head) + bytes(data)


def test_a_delay_line_keeps_the_order_of_each_flow_under_noise_and_has_a_delay_for_each() -> None:
    line = DelayLine(10 * MS, delays={6002: 30 * MS}, noise=(5 * MS, 0))
    for ms, port in ((0, 6001), (1, 6001), (2, 6002), (3, 6001)):
        line.arrive(ms * MS, tcp(port, data=ms))
    came = {}
    for ms in range(50):
        came |= {len(packet) - 40: ms for packet in line.advance(ms * MS)}
    assert came == {0: 15, 1: 15, 2: 37, 3: 15}


def test_batches_hold_acknowledgements_and_not_what_opens_a_connection() -> None:
    line = DelayLine(3 * MS, batch=10 * MS)
    line.arrive(0, tcp(6001, syn=True))
    line.arrive(4 * MS, tcp(6001))
    line.arrive(8 * MS, tcp(6001))
    assert len(line.advance(3 * MS)) == 1
    assert line.next_event == 10 * MS
    assert len(line.advance(10 * MS)) == 1
    assert line.next_event == 20 * MS


def test_random_losses_take_data_alone_and_count_as_no_drops() -> None:
    bottleneck = Bottleneck([MS], 10_000, loss=0.25, seed=3)
    for _ in range(2000):
        bottleneck.arrive(0, tcp(6001, data=1000))
        bottleneck.arrive(0, tcp(6001))
    assert bottleneck.log.lost == pytest.approx(500, rel=0.1)
    assert len(bottleneck.log.arrived) == 4000 - bottleneck.log.lost
    assert bottleneck.log.dropped == []


def test_a_late_packet_is_overtaken_and_delays_nobody() -> None:
    line = DelayLine(10 * MS, late=(0.2, 7 * MS), seed=2)
    for ms in range(100):
        line.arrive(ms * MS, tcp(6001, data=200 + ms))
        line.arrive(ms * MS, tcp(6001))  # without data: never late
    came: dict[int, list[int]] = {0: [], 10: [], 17: []}
    for ms in range(130):
        for packet in line.advance(ms * MS):
            data = len(packet) - 40
            came[ms - (data - 200) if data else 0].append(data)
    assert len(came[0]) == len(came[10]) + len(came[17]) == 100
    assert len(came[17]) == pytest.approx(20, abs=8)


def test_a_policer_passes_its_bucket_and_then_its_rate() -> None:
    """A bucket of 4,500 bytes and 1,500 bytes a millisecond: 3 packets at once, then one a millisecond."""
    bottleneck = Bottleneck([], 1000, policer=(1.5e6, 4500))
    for _ in range(10):
        bottleneck.arrive(0, tcp(6001, data=1460))
    assert (bottleneck.waiting, len(bottleneck.log.dropped)) == (3, 7)
    for ms in range(1, 11):
        for _ in range(2):
            bottleneck.arrive(ms * MS, tcp(6001, data=1460))
    assert (bottleneck.waiting, len(bottleneck.log.dropped)) == (13, 17)


def test_opportunities_repeat_with_the_period() -> None:
    link = make_link("two", "opportunities", np.array([2, 2, 5]) * MS, 5 * MS)
    assert (opportunity_times(link, 12 * MS) // MS).tolist() == [2, 2, 5, 7, 7, 10, 12, 12]


def test_a_link_carries_nothing_in_an_outage_and_goes_on_where_it_was() -> None:
    rates = np.array([12e6, 0.0, 24e6])
    link = make_link("outage", "rates", np.array([0, 1_500_000, 4_000_000]), 6 * MS, rates)
    # 1.5 packets, then nothing, then the other half after a quarter of a millisecond; 5.5 packets in each 6 ms
    times = opportunity_times(link, 12 * MS) / MS
    assert times == pytest.approx([1, 4.25, 4.75, 5.25, 5.75, 6.5, 7.5, 10.5, 11, 11.5, 12], abs=1e-5)


@settings(max_examples=examples(60))
@given(
    st.lists(st.tuples(st.integers(1, 50), st.floats(0, 200)), min_size=1, max_size=8).filter(
        lambda steps: any(rate > 1 for _, rate in steps)
    ),
    st.integers(1, 300),
)
def test_as_many_packets_as_the_rates_can_carry(steps: list[tuple[int, float]], until_ms: int) -> None:
    begins = np.cumsum([0, *(lasting for lasting, _ in steps)]) * MS
    rates = np.array([rate * 1e6 for _, rate in steps])
    link = make_link("steps", "rates", begins[:-1], int(begins[-1]), rates)
    times = opportunity_times(link, until_ms * MS)
    carried = sum(rates[np.searchsorted(begins, ms * MS % begins[-1], "right") - 1] * 1e-3 for ms in range(until_ms))
    assert abs(len(times) - carried / 12_000) <= 1
    assert (np.diff(times) >= 0).all()
