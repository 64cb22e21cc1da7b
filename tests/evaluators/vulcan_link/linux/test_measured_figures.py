"""The figures of a run, and the log as Mahimahi writes it."""

from __future__ import annotations

import socket
import time

import numpy as np
import pytest

from vulcan.errors import UserError
from vulcan_link.linux.bottleneck import LinkLog
from vulcan_link.linux.command import check_ranges
from vulcan_link.linux.emulator import WakeupLateness
from vulcan_link.linux.figures import Completion, measure
from vulcan_link.linux.run import sources_of
from vulcan_link.linux.transfer import Received, SentFlow, Source, sent_flow
from vulcan_link.scenario import Flow, Queue, Scenario
from vulcan_traces.links import make_link

MS = 1_000_000
PUNCTUAL = WakeupLateness(10, 0, 0.1, True)


def sent(port: int, retransmitted: int = 0) -> SentFlow:
    return SentFlow(port, "reno", retransmitted, 41.0, 50.0)


def scenario_of(*flows: Flow, seconds: float) -> Scenario:
    return Scenario(make_link("one", "opportunities", np.array([MS]), MS), Queue(packets=40), flows, seconds)


def test_figures_are_those_of_the_log() -> None:
    log = LinkLog(
        arrived=[(0, 1504)] * 101,
        dropped=[(0, 1504)],
        departed=[(10 * number * MS, 1504, 0) for number in range(1, 101)],
        opportunities=125,
    )
    received = {1: Received(15_625), 2: Received(46_875)}
    got = measure(log, scenario_of(*[Flow("reno")] * 2, seconds=1.0), [sent(1, 2), sent(2, 3)], received, PUNCTUAL)
    assert got.utilisation == 100 / 125
    assert got.throughput_mbps == pytest.approx(100 * 1504 * 8 / 1e6)
    assert got.queueing_delay_avg_ms == 505
    assert got.queueing_delay_p95_ms == 950
    assert got.queueing_delay_max_ms == 1000
    assert (got.delivered, got.dropped, got.retransmitted) == (100, 1, 5)
    assert got.loss == pytest.approx(1 / 101)
    assert [flow.goodput_mbps for flow in got.flows] == [0.125, 0.375]
    assert got.jain == pytest.approx(16 / (2 * 10))


def test_transfers_are_timed_from_their_start_to_their_last_byte() -> None:
    short = [Flow("reno", start_s=at, stop_s=2.0, write_packets=10, write_ms=1e9) for at in (0.0, 0.8, 1.6)]
    scenario = scenario_of(*short, Flow("reno"), seconds=2.0)
    assert sources_of(scenario) == [*(Source(at * MS, 14_480, 10**15) for at in (0, 800, 1600)), Source()]
    log = LinkLog([(0, 1504)], [], [(MS, 1504, 0)], 1)
    received = {1: Received(14_480, 100 * MS), 2: Received(14_480, 1000 * MS), 3: Received(14_479, 1900 * MS)}
    got = measure(log, scenario, [sent(port) for port in (1, 2, 3, 4)], received, PUNCTUAL)
    assert got.transfers == Completion(*(pytest.approx(x) for x in (700 / 3, 400, 2 / 3)))


@pytest.mark.parametrize(
    ("changed", "named"),
    [({"delay_ms": -1.0}, "--delay-ms -1"), ({"buffer": 0}, "--buffer 0"), ({"seconds": 0.1}, "--seconds 0.1"),
     ({"flows": 0}, "--flows 0"), ({"flows": 101}, "--flows 101"),
     ({"jitter_ms": -1.0}, "--jitter-ms -1"), ({"ack_batch_ms": 2e3}, "--ack-batch-ms 2000"),
     ({"loss": 1.0}, "--loss 1"), ({"competing_delay_ms": -2.0}, "--competing-delay-ms -2")],
)  # fmt: skip
def test_an_option_that_makes_no_sense_is_named(changed: dict[str, float], named: str) -> None:
    sensible = {"delay_ms": 20.0, "competing_delay_ms": 20.0, "buffer": 40, "seconds": 5.0, "flows": 1}
    noise = dict.fromkeys(("jitter_ms", "ack_batch_ms", "loss"), 0.0)
    with pytest.raises(UserError, match=named):
        check_ranges(**{**sensible, **noise, **changed})


def test_the_kernels_own_figures_of_a_connection_are_read() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        accepted, _ = server.accept()
        with accepted:
            client.sendall(b"x" * 100_000)
            while len(accepted.recv(100_000, socket.MSG_PEEK)) < 1:
                time.sleep(0.001)
            info = sent_flow(client)
    assert info.algorithm
    assert 0 <= info.retransmitted < 5  # on a busy host the kernel probes the tail
    assert 0 < info.min_rtt_ms <= info.smoothed_rtt_ms + 1
    assert info.min_rtt_ms < 1000
