"""Scoreboard of a sender (RFC 6675, as in Linux): which packets are delivered, lost, or to be retransmitted.

Sequence numbers count packets. The rate sample of an acknowledgement is Linux's tcp_rate.c.
"""

from __future__ import annotations

from vulcan.kernel_support import function, helper
from vulcan_link import engine_state as m
from vulcan_link.engine_state import (
    DELIVERED_COUNT,
    FLAGS,
    HIGH,
    IS_DELIVERED,
    IS_LOST,
    IS_RETRANSMITTED,
    LOST_COUNT,
    LOST_HEAD,
    LOST_OUT,
    LOST_TAIL,
    NXT,
    RETRANSMITTED_OUT,
    SACKED_OUT,
    SENT_AT,
    TRANSMISSION,
    UNA,
    WAS_RETRANSMITTED,
)
from vulcan_link.flow_state import (
    SAMPLE_DELIVERED,
    SAMPLE_INTERVAL,
    SAMPLE_LIMITED,
    SAMPLE_PRIOR_DELIVERED,
    SAMPLE_SENT_INTERVAL,
)

TIMESTAMP = 1_000_000  # the unit of TCP timestamps


@function
def in_flight(mine):
    return mine[NXT] - mine[UNA] - mine[SACKED_OUT] - mine[LOST_OUT] + mine[RETRANSMITTED_OUT]


@function
def to_retransmit(mine, packets, lost, sequence):
    """Put a packet on the list of those to be retransmitted, after dropping what is done with at its head."""
    mask = packets.shape[0] - 1
    while mine[LOST_HEAD] < mine[LOST_TAIL]:
        first = lost[mine[LOST_HEAD] & (lost.shape[0] - 1)]
        if first >= mine[UNA] and packets[first & mask, FLAGS] & (IS_LOST | IS_RETRANSMITTED) == IS_LOST:
            break
        mine[LOST_HEAD] += 1
    lost[mine[LOST_TAIL] & (lost.shape[0] - 1)] = sequence
    mine[LOST_TAIL] += 1


@helper
def next_lost(mine, packets, lost):
    """Return the next packet to retransmit, -1 for none; it stays on the list."""
    mask = packets.shape[0] - 1
    while mine[m.LOST_HEAD] < mine[m.LOST_TAIL]:
        sequence = lost[mine[m.LOST_HEAD] & (lost.shape[0] - 1)]
        flags = packets[sequence & mask, m.FLAGS]
        if sequence >= mine[UNA] and flags & (m.IS_LOST | m.IS_RETRANSMITTED) == m.IS_LOST:
            return sequence
        mine[m.LOST_HEAD] += 1
    return -1


@function
def mark_lost(mine, packets, lost, sequence):
    """Mark a packet, or its retransmission, as lost."""
    packet = packets[sequence & (packets.shape[0] - 1)]
    flags = packet[FLAGS]
    if flags & (IS_LOST | IS_RETRANSMITTED) != IS_LOST:
        mine[LOST_COUNT] += 1
    if flags & IS_LOST == 0:
        mine[LOST_OUT] += 1
    if flags & IS_RETRANSMITTED != 0:
        mine[RETRANSMITTED_OUT] -= 1
    packet[FLAGS] = (flags | IS_LOST) & ~IS_RETRANSMITTED
    to_retransmit(mine, packets, lost, sequence)


@helper
def deliver(mine, flow, packets, arrivals, count, echo, now):
    """Mark the packets that the acknowledgement covers, take the rate sample; returns what is sent first and last.

    The two are the times at which the first and the last of them was sent that was never retransmitted, -1 for none.
    """
    mask = packets.shape[0] - 1
    first = last = -1
    sampled = -1
    original = 0
    for _ in range(count):
        sequence = arrivals[mine[m.ARRIVALS_HEAD] & (arrivals.shape[0] - 1), 0]
        mine[m.ARRIVALS_HEAD] += 1
        packet = packets[sequence & mask]
        flags = packet[FLAGS]
        if flags & IS_LOST != 0:
            mine[LOST_OUT] -= 1
        if flags & IS_RETRANSMITTED != 0:
            mine[RETRANSMITTED_OUT] -= 1
        packet[FLAGS] = (flags | IS_DELIVERED) & ~(IS_LOST | IS_RETRANSMITTED)
        mine[SACKED_OUT] += 1
        mine[DELIVERED_COUNT] += 1
        sent = packet[SENT_AT]
        if flags & WAS_RETRANSMITTED == 0:
            if first < 0:
                first = sent
            last = sent
            if sequence < mine[m.HIGHEST_DELIVERED]:  # and a later one is there
                mine[m.REORDERINGS] += 1
            if sequence < mine[HIGH]:
                original = 1
        # of a retransmission, only where its timestamp comes back: else it may be the original that is acknowledged
        if flags & WAS_RETRANSMITTED == 0 or (now - sent >= mine[m.MIN_RTT] and echo // TIMESTAMP >= sent // TIMESTAMP):
            mine[m.RACK_RTT] = now - sent
            mine[m.RACK] = max(mine[m.RACK], packet[TRANSMISSION])
        mine[m.HIGHEST_DELIVERED] = max(mine[m.HIGHEST_DELIVERED], sequence + 1)
        if packet[TRANSMISSION] > sampled:
            sampled = packet[TRANSMISSION]
            mine[m.FIRST_SENT] = sent
            flow[SAMPLE_PRIOR_DELIVERED] = packet[m.DELIVERED_THEN]
            flow[SAMPLE_LIMITED] = packet[m.LIMITED_THEN]
            # the longer of the times over which the packets were sent and acknowledged
            flow[SAMPLE_SENT_INTERVAL] = sent - packet[m.FIRST_SENT_THEN]
            flow[SAMPLE_INTERVAL] = max(sent - packet[m.FIRST_SENT_THEN], now - packet[m.DELIVERED_TIME_THEN])
    if sampled >= 0:
        flow[SAMPLE_DELIVERED] = mine[DELIVERED_COUNT] - flow[SAMPLE_PRIOR_DELIVERED]
        mine[m.DELIVERED_TIME] = now
    else:
        flow[SAMPLE_DELIVERED] = flow[SAMPLE_INTERVAL] = -1.0
    return first, last, original
