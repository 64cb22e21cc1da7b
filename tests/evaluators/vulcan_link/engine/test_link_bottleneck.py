"""The compiled bottleneck against the plain one, packet by packet.

Flows here send one burst and hear nothing back before the end, so that what arrives is what the test says.
"""

from __future__ import annotations

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_bottleneck import Packet, bottleneck

from vulcan.errors import UserError
from vulcan_link.scenario import Flow, Queue, Scenario
from vulcan_link.simulate import simulate
from vulcan_traces.links import LinkTrace, make_link

MS = 10**6
DELAY_MS = 5000.0  # so late do acknowledgements, and the timers that wait for them, come
SECONDS = 1.0

OPPORTUNITIES = st.lists(st.integers(1, 40), min_size=1, max_size=30).map(
    lambda times: make_link("opportunities", "opportunities", np.array(sorted(times)) * MS, max(times) * MS)
)
RATES = st.lists(st.sampled_from([0.0, 0.3e6, 1e6, 5e6, 12e6, 80e6]), min_size=1, max_size=6).map(
    lambda rates: make_link(
        "rates",
        "rates",
        np.arange(len(rates)) * 7 * MS,
        len(rates) * 7 * MS,
        np.array([*rates[:-1], max(rates[-1], 2e5)]),
    )
)
BURSTS = st.lists(
    st.tuples(st.integers(0, 400_000), st.integers(1, 25), st.sampled_from([100, 576, 1000, 1500])),
    min_size=1,
    max_size=12,
    unique_by=lambda burst: burst[0],
)
LIMITS = st.tuples(
    st.one_of(st.none(), st.integers(1, 40)),
    st.one_of(st.none(), st.tuples(st.sampled_from([1.0, 5.0]), st.sampled_from([10.0, 100.0]))),
)


@settings(max_examples=examples(150))
@given(link=st.one_of(OPPORTUNITIES, RATES), bursts=BURSTS, limits=LIMITS, fair=st.booleans())
def test_it_carries_and_drops_what_the_plain_one_does(
    link: LinkTrace,
    bursts: list[tuple[int, int, int]],
    limits: tuple[int | None, tuple[float, float] | None],
    fair: bool,
) -> None:
    packets, codel = limits
    bursts = sorted(bursts)
    queue = Queue(
        "fq_codel" if codel and fair else "codel" if codel else "droptail",
        packets=packets,
        **({"target_ms": codel[0], "interval_ms": codel[1]} if codel else {}),
    )
    flows = tuple(
        Flow("fixed", delay_ms=DELAY_MS, start_s=us / 1e6, stop_s=us / 1e6 + 1e-7, initial_window=count,
             parameter=count, packet_bytes=each, receive_window=64)
        for us, count, each in bursts
    )  # fmt: skip
    begin = round(DELAY_MS * MS)
    arrivals = [
        Packet(flow, each, begin + us * 1000) for flow, (us, count, each) in enumerate(bursts) for _ in range(count)
    ]
    seconds = DELAY_MS / 1000 + SECONDS
    result = simulate(Scenario(link, queue, flows, seconds))
    expected = bottleneck(
        arrivals,
        link,
        packets=packets,
        codel=(round(codel[0] * MS), round(codel[1] * MS)) if codel else None,
        until=round(seconds * 1e9),
        fair=fair,
    )
    for index, flow in enumerate(result.flows):
        delays = [delay for _, owner, delay in expected.departures if owner == index]
        assert flow.sent == bursts[index][1]
        assert flow.delivered == len(delays)
        assert flow.dropped == expected.dropped.count(index)
        assert flow.queueing_delay_max_ms == max(delays, default=0) / MS
        if delays:
            assert abs(flow.queueing_delay_avg_ms - sum(delays) / len(delays) / MS) < 1e-9


def test_what_a_link_carries_nothing_of_is_refused() -> None:
    dead = LinkTrace("dead", "rates", np.zeros(1, np.int64), np.zeros(1), MS, "")
    with pytest.raises(UserError, match="carries nothing"):
        simulate(Scenario(dead, Queue(packets=1), (Flow("reno"),), 1.0))
