"""CUBIC (RFC 9438) as Linux's tcp_cubic.c has it: C = 0.4, beta = 717/1024, fast convergence, the Reno-friendly region.

Slow start ends early by HyStart (Ha and Rhee, "Hybrid slow start for high-bandwidth and long-distance networks",
PFLDnet 2008), by its train of acknowledgements and by its rise in delay, with Linux's thresholds. Where Linux computes
in units of 1/1024 s this computes in float64.
"""

import math

from vulcan.kernel_support import function
from vulcan_link import flow_state as s
from vulcan_link.algorithms.reno import increase, slow_start

BETA = 717.0 / 1024.0
C = 410.0 / 1024.0
FRIENDLY = 15.0 / 8.0  # Linux's 8 * (1024 + 717) / 3 / (1024 - 717), over 8: acknowledged packets of Reno's growth by 1
AFTER_RECOVERY = 1_000_000_000.0  # ns after an epoch's start in which delays are not looked at

LOW_WINDOW = 16.0
ACK_DELTA = 2_000_000.0
MIN_SAMPLES = 8.0
MIN_DELAY, MAX_DELAY = 4_000_000.0, 16_000_000.0
GSO_BYTES = 65536.0 * 4.0  # of which HyStart takes the time to send, at most 1 ms, as what an acknowledgement waits

COUNT = s.OWN  # shared with reno.increase
PER_INCREASE = s.OWN + 1  # packets to be acknowledged for an increase by 1 (Linux: cnt)
LAST_MAX = s.OWN + 2
LAST_CWND = s.OWN + 3
LAST_TIME = s.OWN + 4
ORIGIN = s.OWN + 5
K = s.OWN + 6  # seconds
DELAY_MIN = s.OWN + 7
EPOCH = s.OWN + 8  # ns; -1 where none has begun
ACK_COUNT = s.OWN + 9
RENO_CWND = s.OWN + 10
FOUND = s.OWN + 11
ROUND_START = s.OWN + 12
LAST_ACK = s.OWN + 13
END = s.OWN + 14  # sequence number that ends the round
MIN_RTT = s.OWN + 15  # of the round
SAMPLES = s.OWN + 16


@function
def reset(flow):
    for slot in range(COUNT, FOUND + 1):
        flow[slot] = 0.0
    flow[EPOCH] = -1.0


@function
def begin_round(flow):
    flow[ROUND_START] = flow[LAST_ACK] = flow[s.NOW]
    flow[END] = flow[s.NEXT]
    flow[MIN_RTT] = math.inf
    flow[SAMPLES] = 0.0


@function
def begin(flow):
    reset(flow)
    begin_round(flow)


@function
def hystart(flow, delay):
    """Ends slow start, by setting SSTHRESH, where the pipe seems to be full."""
    if flow[s.UNACKED] > flow[END]:
        begin_round(flow)
    if flow[s.CWND] < LOW_WINDOW:
        return
    now = flow[s.NOW]
    if now - flow[LAST_ACK] <= ACK_DELTA:
        flow[LAST_ACK] = now
        pacing = 2.0 * flow[s.CWND] * flow[s.PACKET_BYTES] / max(flow[s.SMOOTHED_RTT], 1.0)  # bytes a ns
        threshold = flow[DELAY_MIN] + min(1_000_000.0, GSO_BYTES / max(pacing, 1e-12))
        if flow[s.PACED] == 0.0:
            threshold /= 2.0
        if now - flow[ROUND_START] > threshold:
            flow[FOUND] = 1.0
            flow[s.SSTHRESH] = flow[s.CWND]
    flow[MIN_RTT] = min(flow[MIN_RTT], delay)
    if flow[SAMPLES] < MIN_SAMPLES:
        flow[SAMPLES] += 1.0
    elif flow[MIN_RTT] > flow[DELAY_MIN] + min(max(flow[DELAY_MIN] / 8.0, MIN_DELAY), MAX_DELAY):
        flow[FOUND] = 1.0
        flow[s.SSTHRESH] = flow[s.CWND]


@function
def sampled(flow):
    delay = flow[s.RTT]
    if delay < 0.0:
        return
    if flow[EPOCH] >= 0.0 and flow[s.NOW] - flow[EPOCH] < AFTER_RECOVERY:
        return
    if flow[DELAY_MIN] == 0.0 or delay < flow[DELAY_MIN]:
        flow[DELAY_MIN] = delay
    if flow[FOUND] == 0.0 and flow[s.CWND] < flow[s.SSTHRESH]:
        hystart(flow, delay)


@function
def update(flow, acked):
    """Sets PER_INCREASE so that the window follows the cubic, or Reno where that is ahead."""
    window = flow[s.CWND]
    now = flow[s.NOW]
    flow[ACK_COUNT] += acked
    if flow[LAST_CWND] == window and now - flow[LAST_TIME] <= 31_000_000.0:
        return
    flow[LAST_CWND] = window
    flow[LAST_TIME] = now
    if flow[EPOCH] < 0.0:
        flow[EPOCH] = now
        flow[ACK_COUNT] = acked
        flow[RENO_CWND] = window
        if flow[LAST_MAX] <= window:
            flow[K] = 0.0
            flow[ORIGIN] = window
        else:
            flow[K] = ((flow[LAST_MAX] - window) / C) ** (1.0 / 3.0)
            flow[ORIGIN] = flow[LAST_MAX]
    t = (now - flow[EPOCH] + flow[DELAY_MIN]) / 1e9 - flow[K]
    target = math.floor(flow[ORIGIN] + C * t * t * t)
    per_increase = window / (target - window) if target > window else 100.0 * window
    if flow[LAST_MAX] == 0.0 and per_increase > 20.0:
        per_increase = 20.0
    per_reno = math.floor(window * FRIENDLY)
    if per_reno > 0.0 and flow[ACK_COUNT] > per_reno:
        steps = math.ceil(flow[ACK_COUNT] / per_reno) - 1.0
        flow[ACK_COUNT] -= steps * per_reno
        flow[RENO_CWND] += steps
    if flow[RENO_CWND] > window:
        per_increase = min(per_increase, window / (flow[RENO_CWND] - window))
    flow[PER_INCREASE] = max(math.floor(per_increase), 2.0)


@function
def acknowledged(flow):
    if flow[s.WINDOW_LIMITED] == 0.0:
        return
    acked = flow[s.ACKED]
    if flow[s.CWND] < flow[s.SSTHRESH]:
        acked = slow_start(flow, acked)
        if acked <= 0.0:
            return
    update(flow, acked)
    increase(flow, flow[PER_INCREASE], acked)


@function
def reduced(flow):
    flow[EPOCH] = -1.0
    window = flow[s.CWND]
    if window < flow[LAST_MAX]:  # fast convergence: leave room to a new flow
        flow[LAST_MAX] = math.floor(window * (1.0 + BETA) / 2.0)
    else:
        flow[LAST_MAX] = window
    return max(math.floor(window * BETA), 2.0)


@function
def changed(flow):
    if flow[s.STATE] == s.LOSS:
        reset(flow)
        begin_round(flow)
