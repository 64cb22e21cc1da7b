"""The figures of a run, and the log as Mahimahi writes it."""

from __future__ import annotations

import socket
import time

import numpy as np
import pytest

from vulcan.errors import UserError
from vulcan_link.kernel.bottleneck import Bottleneck, LinkLog, mahimahi_log
from vulcan_link.kernel.cell import Cell, measure
from vulcan_link.kernel.emulator import WakeupLateness
from vulcan_link.kernel.transfer import SentFlow, tcp_info
from vulcan_traces.links import make_link

MS = 1_000_000
PUNCTUAL = WakeupLateness(10, 0, 0.1, True)


def sent(port: int, retransmitted: int = 0) -> SentFlow:
    return SentFlow(port, "reno", retransmitted, 41.0, 50.0)


def test_figures_are_those_of_the_log() -> None:
    log = LinkLog(
        arrived=[(0, 1504)] * 101,
        dropped=[(0, 1504)],
        departed=[(number * MS, 1504, 0) for number in range(1, 101)],
        opportunities=125,
    )
    got = measure(log, 0.125, [sent(1, 2), sent(2, 3)], {1: 15_625, 2: 46_875}, PUNCTUAL)
    assert got.utilisation == 100 / 125
    assert got.throughput_mbps == pytest.approx(100 * 1504 * 8 / 0.125 / 1e6)
    assert got.queueing_delay_avg_ms == 50.5
    assert got.queueing_delay_p95_ms == 95
    assert got.queueing_delay_max_ms == 100
    assert (got.delivered, got.dropped, got.retransmitted) == (100, 1, 5)
    assert got.loss == pytest.approx(1 / 101)
    assert [flow.goodput_mbps for flow in got.flows] == [1.0, 3.0]
    assert got.jain == pytest.approx(16 / (2 * 10))


def test_a_link_that_carried_nothing_is_an_error_of_the_users() -> None:
    with pytest.raises(UserError, match="no packet crossed the link"):
        measure(LinkLog(arrived=[(0, 64)]), 1.0, [sent(1)], {}, PUNCTUAL)


@pytest.mark.parametrize(
    ("changed", "named"),
    [({"delay_ms": -1.0}, "--delay-ms -1"), ({"buffer": 0}, "--buffer 0"), ({"seconds": 0.1}, "--seconds 0.1"),
     ({"algorithms": ()}, "--flows 0"), ({"algorithms": ("reno",) * 65}, "--flows 65"),
     ({"jitter_ms": -1.0}, "--jitter-ms -1"), ({"ack_batch_ms": 2e3}, "--ack-batch-ms 2000"),
     ({"loss": 1.0}, "--loss 1"), ({"competing_delay_ms": -2.0}, "--competing-delay-ms -2")],
)  # fmt: skip
def test_a_cell_that_makes_no_sense_is_named(changed: dict[str, object], named: str) -> None:
    link = make_link("one", "opportunities", np.array([MS]), MS)
    sensible = {"link": link, "algorithms": ("reno",), "delay_ms": 20.0, "buffer": 40, "seconds": 5.0}
    with pytest.raises(UserError, match=named):
        Cell(**{**sensible, **changed})  # type: ignore[arg-type]


def test_the_log_is_mahimahis() -> None:
    times = [1 * MS, 2 * MS, 3 * MS]
    bottleneck = Bottleneck(times, 1)
    for _ in range(3):
        bottleneck.arrive(0, bytes(1500))
    bottleneck.advance(2 * MS)
    assert list(mahimahi_log(bottleneck.log, times)) == [
        "# base timestamp: 0",
        *["0 + 1504"] * 3,
        *["0 d 1 1504"] * 2,
        "1 # 1504",
        "1 - 1504 1",
        "2 # 1504",
    ]


def test_the_kernels_own_figures_of_a_connection_are_read() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        accepted, _ = server.accept()
        with accepted:
            client.sendall(b"x" * 100_000)
            while len(accepted.recv(100_000, socket.MSG_PEEK)) < 1:
                time.sleep(0.001)
            info = tcp_info(client)
    assert info.retransmitted == 0
    assert 0 < info.min_rtt_ms <= info.smoothed_rtt_ms + 1
    assert info.min_rtt_ms < 1000
