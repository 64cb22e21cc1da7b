"""Copa (Arun and Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018).

The target rate is 1 / (delta x queueing delay) packets a second, with delta = 0.5; the window moves towards it by
velocity / (delta x window) packets an acknowledgement, and the velocity doubles each round trip in which the window
keeps its direction, from the third on, as far as that at most doubles the window in one. Where the queue was not nearly
empty for 5 round trips a buffer-filling flow is taken to compete, and 1 / delta grows by 1 a round trip and is halved
at a loss, as Reno's window is. Packets are paced at 2 x window / standing round-trip time.

That limit of the velocity, and 0.7 of the window where over 30 % of the packets of two round trips are lost, are in the
authors' code (venkatarun95/genericCC) and not in the paper: without them a flow whose buffer is far below its
bandwidth-delay product loses up to half of what it sends.

Nearly empty is a standing delay below a tenth of the span of the delays of 4 round trips, as in the paper, and the time
of two packets besides, for that is how many an acknowledgement covers. What slow start left in the queue is not taken
for somebody else's for 10 round trips. The minima over the standing window (half a smoothed round trip) and over 10 s
are kept in two halves each, so that they reach back between half of the time and all of it.
"""

import math

from vulcan.kernel_support import function
from vulcan_link import flow_state as s
from vulcan_link.algorithms import bdp_oracle, fixed

DELTA = 0.5
MIN_CWND = 2.0
BASE_WINDOW = 10_000_000_000.0
NEARLY_EMPTY = 0.1
ROUNDS_TO_EMPTY = 5.0
ROUNDS_OF_MAXIMUM = 4.0
ROUNDS_BEFORE_DOUBLING = 3.0
HEAVY_LOSS = 0.3
HEAVY_LOSS_ROUNDS = 2.0
HEAVY_LOSS_PACKETS = 20.0
HEAVY_LOSS_CUT = 0.7
ROUNDS_TO_DRAIN = 10.0  # before it is asked who fills the buffer: what slow start left there is its own

STANDING = s.OWN  # the minimum over the standing window: of its older half, of its newer one, and when that began
BASE = s.OWN + 3  # the same over 10 s
MAX = s.OWN + 6  # the same, of maxima, over 4 round trips
VELOCITY = s.OWN + 9
DIRECTION = s.OWN + 10  # 1 up, -1 down, 0 not known
SAME_ROUNDS = s.OWN + 11  # round trips that it has kept
ROUND_END = s.OWN + 12  # sequence number that ends the round
ROUND_CWND = s.OWN + 13  # the window as the round began
SLOW_START = s.OWN + 14
EMPTY_AT = s.OWN + 15  # ns, when the queue was last nearly empty
FASTEST = s.OWN + 17  # bits/s, the highest rate of delivery seen
COUNTED_AT = s.OWN + 18  # ns, since when losses are counted; what was lost and delivered by then
COUNTED_LOST = s.OWN + 19
COUNTED_DELIVERED = s.OWN + 20
COMPETITIVE = s.OWN + 16  # 1 / delta where a buffer-filling flow competes; 0 where none does


@function
def begin(flow):
    for slot in (STANDING, STANDING + 1, BASE, BASE + 1):
        flow[slot] = math.inf
    for slot in (STANDING + 2, BASE + 2, MAX + 2, EMPTY_AT, COUNTED_AT):
        flow[slot] = flow[s.NOW]
    flow[MAX] = flow[MAX + 1] = 0.0
    flow[VELOCITY] = 1.0
    flow[DIRECTION] = flow[SAME_ROUNDS] = flow[ROUND_END] = flow[COMPETITIVE] = flow[FASTEST] = 0.0
    flow[COUNTED_LOST] = flow[COUNTED_DELIVERED] = 0.0
    flow[ROUND_CWND] = flow[s.CWND]
    flow[SLOW_START] = 1.0


@function
def turn(flow, slot, window, nothing):
    """Begin a new half where the newer one is as old as half of the window."""
    age = flow[s.NOW] - flow[slot + 2]
    if age >= window / 2.0:
        flow[slot] = flow[slot + 1] if age < window else nothing
        flow[slot + 1] = nothing
        flow[slot + 2] = flow[s.NOW]


@function
def sampled(flow):
    rtt = flow[s.RTT]
    flow[FASTEST] = max(flow[FASTEST], flow[s.SAMPLE_RATE])
    if rtt <= 0.0:
        return
    turn(flow, STANDING, flow[s.SMOOTHED_RTT] / 2.0, math.inf)
    turn(flow, BASE, BASE_WINDOW, math.inf)
    turn(flow, MAX, ROUNDS_OF_MAXIMUM * flow[s.SMOOTHED_RTT], 0.0)
    flow[STANDING + 1] = min(flow[STANDING + 1], rtt)
    flow[BASE + 1] = min(flow[BASE + 1], rtt)
    flow[MAX + 1] = max(flow[MAX + 1], rtt)


@function
def least(flow, slot):
    return min(flow[slot], flow[slot + 1])


@function
def steer(flow, waiting, base):
    """Check whether others fill the buffer: the queue has not been nearly empty for 5 round trips."""
    spread = max(flow[MAX], flow[MAX + 1]) - base
    two_packets = 2.0 * flow[s.PACKET_BYTES] * 8e9 / max(flow[FASTEST], 1.0)
    if waiting <= NEARLY_EMPTY * spread + two_packets:
        flow[EMPTY_AT] = max(flow[EMPTY_AT], flow[s.NOW])
    if flow[s.NOW] - flow[EMPTY_AT] > ROUNDS_TO_EMPTY * flow[s.SMOOTHED_RTT]:
        flow[COMPETITIVE] = max(flow[COMPETITIVE], 1.0 / DELTA)
    else:
        flow[COMPETITIVE] = 0.0


@function
def end_round(flow):
    """Once a round trip: the velocity, and delta where others fill the buffer."""
    direction = 1.0 if flow[s.CWND] > flow[ROUND_CWND] else -1.0
    if direction == flow[DIRECTION]:
        flow[SAME_ROUNDS] += 1.0
        if flow[SAME_ROUNDS] >= ROUNDS_BEFORE_DOUBLING:
            flow[VELOCITY] *= 2.0
    else:
        flow[VELOCITY] = 1.0
        flow[SAME_ROUNDS] = 0.0
    flow[DIRECTION] = direction
    flow[ROUND_CWND] = flow[s.CWND]
    flow[ROUND_END] = flow[s.NEXT]
    if flow[COMPETITIVE] > 0.0:
        flow[COMPETITIVE] += 1.0


@function
def yield_to_loss(flow):
    lost, delivered = flow[s.LOST_TOTAL] - flow[COUNTED_LOST], flow[s.DELIVERED] - flow[COUNTED_DELIVERED]
    late = flow[s.NOW] > flow[COUNTED_AT] + HEAVY_LOSS_ROUNDS * flow[s.SMOOTHED_RTT]
    if late and lost + delivered > HEAVY_LOSS_PACKETS:
        if lost > HEAVY_LOSS * (lost + delivered):
            flow[s.CWND] = max(HEAVY_LOSS_CUT * flow[s.CWND], MIN_CWND)
        flow[COUNTED_AT] = flow[s.NOW]
        flow[COUNTED_LOST], flow[COUNTED_DELIVERED] = flow[s.LOST_TOTAL], flow[s.DELIVERED]


@function
def acknowledged(flow):
    if flow[s.CAUSE] == s.CONGESTION and flow[COMPETITIVE] > 0.0:
        flow[COMPETITIVE] = max(flow[COMPETITIVE] / 2.0, 1.0 / DELTA)
    base, standing = least(flow, BASE), least(flow, STANDING)
    if not base < math.inf or not standing < math.inf:
        return
    waiting = max(standing - base, 0.0)
    steer(flow, waiting, base)
    inverse = flow[COMPETITIVE] if flow[COMPETITIVE] > 0.0 else 1.0 / DELTA
    window = flow[s.CWND]
    below = window * waiting <= inverse * standing  # window / standing <= inverse / waiting, with no division by 0
    if flow[SLOW_START] == 1.0:
        if below:
            flow[s.CWND] = window + flow[s.ACKED]
            flow[ROUND_CWND] = flow[s.CWND]
        else:
            flow[SLOW_START] = 0.0
            flow[EMPTY_AT] = flow[s.NOW] + ROUNDS_TO_DRAIN * flow[s.SMOOTHED_RTT]
    if flow[SLOW_START] == 0.0:
        if flow[s.UNACKED] > flow[ROUND_END]:
            end_round(flow)
        if (below and flow[DIRECTION] < 0.0) or (not below and flow[DIRECTION] > 0.0):
            flow[VELOCITY] = 1.0
            flow[SAME_ROUNDS] = 0.0
        if flow[VELOCITY] * inverse > window:
            flow[VELOCITY] = max(flow[VELOCITY] / 2.0, 1.0)
        change = flow[VELOCITY] * inverse * flow[s.ACKED] / max(window, 1.0)
        flow[s.CWND] = max(window + change if below else window - change, MIN_CWND)
    yield_to_loss(flow)
    flow[s.PACING_RATE] = 2.0 * flow[s.CWND] * flow[s.PACKET_BYTES] * 8e9 / standing


@function
def changed(flow):
    if flow[s.STATE] == s.LOSS:
        flow[VELOCITY] = 1.0
        flow[DIRECTION] = flow[SAME_ROUNDS] = 0.0


reduced, undone = fixed.reduced, bdp_oracle.undone
