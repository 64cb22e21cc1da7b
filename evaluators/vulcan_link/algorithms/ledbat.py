"""LEDBAT (RFC 6817): a background transport that leaves room to everyone else.

TARGET = 100 ms, GAIN = 1, ALLOWED_INCREASE = 1, BASE_HISTORY = 10 minutes, and the minimum of the latest 4 samples as
the current delay. Delays are of the round trip instead of one way: here only the way there has a queue. It begins, as
libutp does and the RFC leaves open, with slow start, until 90 % of the target or a loss.
"""

import math

from vulcan.kernel_support import function
from vulcan_link.algorithms import reno
from vulcan_link.flow_state import ACKED, CWND, IN_FLIGHT, NOW, OWN, RTT, SSTHRESH, WINDOW_LIMITED

TARGET = 100_000_000.0
GAIN = 1.0
ALLOWED_INCREASE = 1.0
MIN_CWND = 2.0
MINUTE = 60_000_000_000.0
ENDS_SLOW_START = 0.9

COUNT = OWN  # shared with reno
LATEST = OWN + 1  # 4 samples, ns
POSITION = OWN + 5
MINUTE_START = OWN + 6
THIS_MINUTE = OWN + 7  # which of the minutes is running
MINUTES = OWN + 8  # 10 minima, ns
HISTORY = 10
FILTER = 4


@function
def begin(flow):
    flow[COUNT] = flow[POSITION] = flow[THIS_MINUTE] = 0.0
    flow[MINUTE_START] = flow[NOW]
    for k in range(FILTER):
        flow[LATEST + k] = math.inf
    for k in range(HISTORY):
        flow[MINUTES + k] = math.inf


@function
def sampled(flow):
    rtt = flow[RTT]
    if rtt <= 0.0:
        return
    position = int(flow[POSITION])
    flow[LATEST + position] = rtt
    flow[POSITION] = (position + 1) % FILTER
    if flow[NOW] - flow[MINUTE_START] >= MINUTE:
        flow[MINUTE_START] = flow[NOW]
        flow[THIS_MINUTE] = (flow[THIS_MINUTE] + 1.0) % HISTORY
        flow[MINUTES + int(flow[THIS_MINUTE])] = math.inf
    minute = MINUTES + int(flow[THIS_MINUTE])
    flow[minute] = min(flow[minute], rtt)


@function
def queueing_delay(flow):
    """ns; -1 before the first sample."""
    current = base = math.inf
    for k in range(FILTER):
        current = min(current, flow[LATEST + k])
    for k in range(HISTORY):
        base = min(base, flow[MINUTES + k])
    return current - base if base < math.inf else -1.0


@function
def acknowledged(flow):
    delay = queueing_delay(flow)
    if delay < 0.0:
        return
    if flow[CWND] < flow[SSTHRESH]:
        if delay >= ENDS_SLOW_START * TARGET:
            flow[SSTHRESH] = flow[CWND]
        elif flow[WINDOW_LIMITED] == 1.0:
            reno.slow_start(flow, flow[ACKED])
        return
    window = flow[CWND] + GAIN * (TARGET - delay) / TARGET * flow[ACKED] / max(flow[CWND], 1.0)
    window = min(window, flow[IN_FLIGHT] + flow[ACKED] + ALLOWED_INCREASE)
    flow[CWND] = max(window, MIN_CWND)
