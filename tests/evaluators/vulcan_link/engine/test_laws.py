"""Laws that hold of every simulation: nothing is created or lost, order is kept, no delay is below the path's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from vulcan.errors import UserError
from vulcan_link import engine_state as m
from vulcan_link.algorithms import ALGORITHMS
from vulcan_link.scenario import Flow, Queue, Scenario
from vulcan_link.simulate import simulate
from vulcan_traces.links import LinkTrace, make_link

MS = 10**6
NAMES = [name for name in ALGORITHMS if name != "policy"]


def constant(per_ms: int) -> LinkTrace:
    return make_link("constant", "opportunities", np.full(per_ms, MS), MS)


def wire(megabits: float) -> LinkTrace:
    return make_link("wire", "rates", np.zeros(1, np.int64), 10**9, np.array([megabits * 1e6]))


LINKS = st.one_of(
    st.integers(1, 4).map(constant),
    st.floats(0.5, 40).map(wire),
    st.lists(st.integers(1, 900), min_size=5, max_size=200).map(
        lambda times: make_link("bursty", "opportunities", np.array(sorted(times)) * MS, max(times) * MS)
    ),
    st.lists(st.sampled_from([0.0, 1e6, 6e6, 24e6]), min_size=2, max_size=5).map(
        lambda rates: make_link("steps", "rates", np.arange(len(rates)) * 300 * MS, len(rates) * 300 * MS,
                                np.array([*rates[:-1], 3e6]))
    ),
)  # fmt: skip
FLOWS = st.lists(
    st.builds(
        Flow,
        algorithm=st.sampled_from(NAMES),
        delay_ms=st.sampled_from([0.0, 1.0, 10.0, 37.5, 80.0]),
        start_s=st.sampled_from([0.0, 0.3]),
        stop_s=st.sampled_from([None, 2.0]),
        delayed_acks=st.booleans(),
        packet_bytes=st.sampled_from([1500, 1500, 600]),
        receive_window=st.sampled_from([20, 300, 4096]),
        parameter=st.sampled_from([1.0, 30.0, 500.0]),
    ),
    min_size=1,
    max_size=3,
).map(tuple)
QUEUES = st.builds(
    Queue,
    kind=st.sampled_from(["droptail", "codel"]),
    packets=st.sampled_from([None, 1, 10, 60, 400]),
    ecn=st.booleans(),
)
SCENARIOS = st.builds(
    Scenario,
    link=LINKS,
    queue=QUEUES,
    flows=FLOWS,
    duration_s=st.just(3.0),
    loss=st.sampled_from([0.0, 0.01, 0.2]),
    seed=st.integers(0, 5),
    jitter_us=st.sampled_from([0.0, 700.0]),
)


@settings(max_examples=examples(120))
@given(scenario=SCENARIOS)
def test_every_packet_is_somewhere_and_no_delay_is_below_the_path(scenario: Scenario) -> None:
    result = simulate(scenario)
    for flow, measured in zip(scenario.flows, result.flows, strict=True):
        assert measured.sent >= measured.lost + measured.dropped + measured.delivered
        assert measured.retransmitted <= measured.sent
        if measured.rtt_avg_ms:
            assert measured.rtt_min_ms >= flow.round_trip_ms - 1e-6
        assert measured.marked == 0 or scenario.queue.ecn
    assert 0 <= result.utilisation <= 1 + 0.05
    assert 0 < result.jain <= 1 + 1e-12
    assert result.queueing_delay_p95_ms <= result.queueing_delay_max_ms + 1e-9


def test_delays_of_a_lone_packet_are_the_path_and_its_own_time() -> None:
    flow = Flow("fixed", delay_ms=25.0, parameter=1.0, initial_window=1, delayed_acks=False)
    result = simulate(Scenario(wire(12), Queue(packets=10), (flow,), 10.0))
    assert result.flows[0].rtt_min_ms == result.flows[0].rtt_avg_ms == pytest.approx(51.0)
    assert result.queueing_delay_max_ms == 0.0


def test_random_loss_takes_its_share() -> None:
    flow = Flow("fixed", delay_ms=10.0, parameter=200.0)
    result = simulate(Scenario(wire(100), Queue(packets=1000), (flow,), 20.0, loss=0.05))
    assert result.lost / result.sent == pytest.approx(0.05, rel=0.05)
    assert result.dropped == 0


@pytest.mark.parametrize("name", NAMES)
def test_an_outage_is_survived(name: str) -> None:
    """Three seconds without any delivery: the timer backs off, and the flow goes on as the link does."""
    link = make_link("outage", "rates", np.array([0, 5, 8]) * 10**9, 30 * 10**9, np.array([12e6, 0.0, 12e6]))
    flow = Flow(name, delay_ms=20.0, parameter=50.0)
    result = simulate(Scenario(link, Queue(packets=400), (flow,), 20.0))
    assert result.utilisation > (0.6 if name in ("fixed", "reno", "cubic", "bbr") else 0.2)
    assert 1 <= result.flows[0].timeouts <= 12


def test_a_spurious_timeout_is_undone() -> None:
    """Nothing is lost in the outage, so that hardly anything is sent twice (Eifel, RFC 3522)."""
    link = make_link("outage", "rates", np.array([0, 5, 8]) * 10**9, 30 * 10**9, np.array([12e6, 0.0, 12e6]))
    result = simulate(Scenario(link, Queue(packets=2000), (Flow("fixed", delay_ms=20.0, parameter=80.0),), 20.0))
    assert result.dropped == 0
    assert 1 <= result.retransmitted <= 6


@pytest.mark.parametrize("name", ["reno", "cubic"])
def test_marks_are_heeded_as_losses_are(name: str) -> None:
    flow = Flow(name, delay_ms=20.0)
    marking = Queue(packets=400, ecn=True, mark_packets=40)
    result = simulate(Scenario(constant(1), marking, (flow,), 30.0, measure_from_s=5.0))
    assert result.marked > 0
    assert result.dropped == result.retransmitted == 0
    assert result.queueing_delay_max_ms < 100
    assert result.utilisation > 0.9
    deaf = simulate(Scenario(constant(1), marking, (Flow(name, delay_ms=20.0, ecn=False),), 30.0))
    assert deaf.marked == 0
    assert deaf.dropped > 0


def test_flows_start_and_stop_when_they_are_told() -> None:
    flows = (Flow("cubic", delay_ms=10.0), Flow("cubic", delay_ms=10.0, start_s=4.0, stop_s=8.0))
    log = simulate(Scenario(constant(1), Queue(packets=40), flows, 12.0), log=True).log
    came = log[(log[:, m.E_FLOW] == 1) & (log[:, m.E_KIND] == m.QUEUED), m.E_TIME] / 1e9
    assert 4.0 <= came.min() < 4.5
    assert (came >= 9.0).sum() <= 40


def test_an_application_that_writes_little_limits_its_sender() -> None:
    flow = Flow("fixed", parameter=50.0, write_packets=5, write_ms=50.0)
    result = simulate(Scenario(constant(1), Queue(packets=200), (flow,), 10.0))
    assert result.flows[0].sent == pytest.approx(10_000 / 50 * 5, abs=5)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: simulate(Scenario(constant(1), Queue(), (Flow("tahoe"),), 1.0)), "'tahoe' is not known"),
        (lambda: simulate(Scenario(constant(1), Queue(), (Flow("policy"),), 1.0)), "no policy is given"),
        (lambda: Queue(mark_packets=3), "set ecn"),
        (lambda: Flow("reno", start_s=2.0, stop_s=1.0), "start first"),
        (lambda: Flow("reno", receive_window=5), "initial_window is 10"),
        (lambda: Scenario(constant(1), Queue(), ()), "no flow"),
        (lambda: Scenario(constant(1), Queue(), (Flow(),), 1.0, measure_from_s=2.0), "from < to"),
        (lambda: Scenario(constant(1), Queue(), (Flow(),), 1.0, late_share=1.0, late_ms=10.0), "late_share is 1"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(make: Callable[[], object], says: str) -> None:
    with pytest.raises(UserError, match=says) as raised:
        make()
    assert "\n" not in str(raised.value)
