"""Vegas (Brakmo and Peterson, IEEE JSAC 1995) as Linux's tcp_vegas.c has it: alpha = 2, beta = 4, gamma = 1 packets.

Once a round trip the window moves by one packet so that between alpha and beta packets wait in the queue. It behaves
as Reno in rounds of at most two round-trip samples, and while it is not in the state OPEN. Linux computes in
microseconds and whole packets, this in float64 with what waits rounded down.
"""

import math

from vulcan.kernel_support import function
from vulcan_link.algorithms import reno
from vulcan_link.flow_state import ACKED, CWND, NEXT, OPEN, OWN, RTT, SSTHRESH, STATE, UNACKED

ALPHA, BETA, GAMMA = 2.0, 4.0, 1.0
MIN_SAMPLES = 3.0

COUNT = OWN  # shared with reno.increase
BASE_RTT = OWN + 1  # ns, the least of the connection
MIN_RTT = OWN + 2  # ns, the least of the round
SAMPLES = OWN + 3  # of the round
END = OWN + 4  # sequence number that ends the round
ENABLED = OWN + 5


@function
def begin_round(flow):
    flow[END] = flow[NEXT]
    flow[MIN_RTT] = math.inf
    flow[SAMPLES] = 0.0


@function
def begin(flow):
    flow[COUNT] = 0.0
    flow[BASE_RTT] = math.inf
    flow[ENABLED] = 1.0
    begin_round(flow)


@function
def sampled(flow):
    rtt = flow[RTT]
    if rtt <= 0.0:
        return
    flow[BASE_RTT] = min(flow[BASE_RTT], rtt)
    flow[MIN_RTT] = min(flow[MIN_RTT], rtt)
    flow[SAMPLES] += 1.0


@function
def lower_threshold(flow):
    flow[SSTHRESH] = min(flow[SSTHRESH], max(flow[CWND] - 1.0, 2.0))


@function
def move(flow):
    """Adjust the window after a round: by one packet, or out of slow start."""
    window = flow[CWND]
    waiting = math.floor(window * (flow[MIN_RTT] - flow[BASE_RTT]) / flow[BASE_RTT])
    if waiting > GAMMA and window < flow[SSTHRESH]:
        target = math.floor(window * flow[BASE_RTT] / flow[MIN_RTT])
        flow[CWND] = max(min(window, target + 1.0), 2.0)
        lower_threshold(flow)
    elif window < flow[SSTHRESH]:
        reno.slow_start(flow, flow[ACKED])
    elif waiting > BETA:
        flow[CWND] = max(window - 1.0, 2.0)
        lower_threshold(flow)
    elif waiting < ALPHA:
        flow[CWND] = window + 1.0


@function
def acknowledged(flow):
    if flow[ENABLED] == 0.0:
        reno.acknowledged(flow)
        return
    if flow[UNACKED] > flow[END]:
        enough = flow[SAMPLES] >= MIN_SAMPLES
        if enough:
            move(flow)
        else:
            reno.acknowledged(flow)
        begin_round(flow)
    elif flow[CWND] < flow[SSTHRESH]:
        reno.slow_start(flow, flow[ACKED])


@function
def changed(flow):
    reno.changed(flow)
    if flow[STATE] == OPEN:
        flow[ENABLED] = 1.0
        begin_round(flow)
    else:
        flow[ENABLED] = 0.0
