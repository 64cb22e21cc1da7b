"""How fast a paced sender sends, and how much of it at once, as in Linux."""

from __future__ import annotations

import math

from vulcan.kernel_support import function
from vulcan_link import memory as m
from vulcan_link.record import CWND, IN_FLIGHT, PACED, PACING_RATE, PACKET_BYTES, SMOOTHED_RTT, SSTHRESH


@function
def pacing_gap(flow, mine, packets, late):
    """ns until the next packet may leave after these; half of it at most makes up for lateness, as in Linux."""
    rate = flow[PACING_RATE]
    if rate <= 0.0 or mine[m.SENT] < 10:
        return 0
    gap = int(packets * flow[PACKET_BYTES] * 8e9 / rate)
    return gap - min(gap // 2, late)


@function
def window_rate(flow):
    """The rate at which a sender is paced whose algorithm sets none (Linux: tcp_update_pacing_rate)."""
    gain = 2.0 if flow[CWND] < flow[SSTHRESH] / 2.0 else 1.2
    if flow[SMOOTHED_RTT] > 0.0:
        flow[PACING_RATE] = gain * max(flow[CWND], flow[IN_FLIGHT]) * flow[PACKET_BYTES] * 8e9 / flow[SMOOTHED_RTT]


@function
def burst(flow):
    """Packets that leave at a time where a sender is paced: those of 1/1024 s, at least 2, or 1 below 1.2 Mbit/s."""
    if flow[PACED] == 0.0:
        return 1 << 30
    least = 2.0 if flow[PACING_RATE] >= 1_200_000.0 else 1.0
    return int(max(math.floor(flow[PACING_RATE] / 8192.0 / flow[PACKET_BYTES]), least))
