"""What is measured of a run: bins of queueing delays, counts of the measured time, and series."""

from __future__ import annotations

from vulcan.kernel_support import helper
from vulcan_link import memory as m
from vulcan_link.record import CWND, SMOOTHED_RTT
from vulcan_link.scoreboard import in_flight


@helper
def bin_of(delay):
    if delay < m.FINE_BINS * m.FINE:
        return delay // m.FINE
    return min(m.FINE_BINS + (delay - m.FINE_BINS * m.FINE) // m.COARSE, m.BINS - 1)


@helper
def begin_measuring(own, base, bins):
    for f in range(own.shape[0]):
        own[f, m.DELAY_MAX] = 0
        for slot in range(own.shape[1]):
            base[f, slot] = own[f, slot]
        for k in range(bins.shape[1]):
            bins[f, k] = 0


@helper
def sample(series, row, flows, own, link):
    for f in range(own.shape[0]):
        series[0, row, f] = flows[f, CWND]
        series[1, row, f] = in_flight(own[f])
        series[2, row, f] = flows[f, SMOOTHED_RTT] / 1e6
        series[3, row, f] = own[f, m.SENT]
        series[4, row, f] = own[f, m.GONE]
        series[5, row, f] = own[f, m.DROPPED]
        series[6, row, f] = own[f, m.RETRANSMITTED]
        series[7, row, f] = link[m.TAIL] - link[m.HEAD]
