"""Reno: slow start and congestion avoidance (RFC 5681), with the arithmetic of Linux's tcp_cong.c.

The window counts whole packets, and grows by the packets that were acknowledged, so that delayed acknowledgements do
not slow it down (appropriate byte counting, RFC 3465).
"""

import math

from vulcan.kernel_support import function
from vulcan_link.flow_state import ACKED, CWND, LOSS, OWN, SSTHRESH, STATE, WINDOW_LIMITED

COUNT = OWN  # packets acknowledged towards the next increase (Linux: snd_cwnd_cnt)


@function
def slow_start(flow, acked):
    """Grow by what was acknowledged, up to SSTHRESH; returns the rest of it."""
    window = min(flow[CWND] + acked, flow[SSTHRESH])
    rest = acked - (window - flow[CWND])
    flow[CWND] = window
    return rest


@function
def increase(flow, packets, acked):
    """Grow by 1 for every `packets` acknowledged (Linux: tcp_cong_avoid_ai)."""
    if flow[COUNT] >= packets:
        flow[COUNT] = 0.0
        flow[CWND] += 1.0
    flow[COUNT] += acked
    if flow[COUNT] >= packets:
        step = math.floor(flow[COUNT] / packets)
        flow[COUNT] -= step * packets
        flow[CWND] += step


@function
def begin(flow):
    flow[COUNT] = 0.0


@function
def acknowledged(flow):
    if flow[WINDOW_LIMITED] == 0.0:
        return
    acked = flow[ACKED]
    if flow[CWND] < flow[SSTHRESH]:
        acked = slow_start(flow, acked)
        if acked <= 0.0:
            return
    increase(flow, max(flow[CWND], 1.0), acked)


@function
def reduced(flow):
    return max(math.floor(flow[CWND] / 2.0), 2.0)


@function
def changed(flow):
    if flow[STATE] == LOSS:
        flow[COUNT] = 0.0
