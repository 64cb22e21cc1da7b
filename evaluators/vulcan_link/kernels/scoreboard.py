"""Scoreboard of a sender (RFC 6675, as in Linux): which packets are delivered, lost, or to be retransmitted.

Sequence numbers count packets. The rate sample of an acknowledgement is Linux's tcp_rate.c.
"""

from vulcan.kernel_support import function, helper
from vulcan_link import engine_state as m
from vulcan_link import flow_state as s

TIMESTAMP = 1_000_000  # the unit of TCP timestamps


@function
def in_flight(mine):
    return mine[m.NXT] - mine[m.UNA] - mine[m.SACKED_OUT] - mine[m.LOST_OUT] + mine[m.RETRANSMITTED_OUT]


@function
def to_retransmit(mine, packets, lost, sequence):
    """Put a packet on the list of those to be retransmitted, after dropping what is done with at its head."""
    mask = packets.shape[0] - 1
    while mine[m.LOST_HEAD] < mine[m.LOST_TAIL]:
        first = lost[mine[m.LOST_HEAD] & (lost.shape[0] - 1)]
        if first >= mine[m.UNA] and packets[first & mask, m.FLAGS] & (m.IS_LOST | m.IS_RETRANSMITTED) == m.IS_LOST:
            break
        mine[m.LOST_HEAD] += 1
    lost[mine[m.LOST_TAIL] & (lost.shape[0] - 1)] = sequence
    mine[m.LOST_TAIL] += 1


@helper
def next_lost(mine, packets, lost):
    """Return the next packet to retransmit, -1 for none; it stays on the list."""
    mask = packets.shape[0] - 1
    while mine[m.LOST_HEAD] < mine[m.LOST_TAIL]:
        sequence = lost[mine[m.LOST_HEAD] & (lost.shape[0] - 1)]
        flags = packets[sequence & mask, m.FLAGS]
        if sequence >= mine[m.UNA] and flags & (m.IS_LOST | m.IS_RETRANSMITTED) == m.IS_LOST:
            return sequence
        mine[m.LOST_HEAD] += 1
    return -1


@function
def mark_lost(mine, packets, lost, sequence):
    """Mark a packet, or its retransmission, as lost."""
    packet = packets[sequence & (packets.shape[0] - 1)]
    flags = packet[m.FLAGS]
    if flags & (m.IS_LOST | m.IS_RETRANSMITTED) != m.IS_LOST:
        mine[m.LOST_COUNT] += 1
    if flags & m.IS_LOST == 0:
        mine[m.LOST_OUT] += 1
    if flags & m.IS_RETRANSMITTED != 0:
        mine[m.RETRANSMITTED_OUT] -= 1
    packet[m.FLAGS] = (flags | m.IS_LOST) & ~m.IS_RETRANSMITTED
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
        flags = packet[m.FLAGS]
        if flags & m.IS_LOST != 0:
            mine[m.LOST_OUT] -= 1
        if flags & m.IS_RETRANSMITTED != 0:
            mine[m.RETRANSMITTED_OUT] -= 1
        packet[m.FLAGS] = (flags | m.IS_DELIVERED) & ~(m.IS_LOST | m.IS_RETRANSMITTED)
        mine[m.SACKED_OUT] += 1
        mine[m.DELIVERED_COUNT] += 1
        sent = packet[m.SENT_AT]
        if flags & m.WAS_RETRANSMITTED == 0:
            if first < 0:
                first = sent
            last = sent
            if sequence < mine[m.HIGHEST_DELIVERED]:  # and a later one is there
                mine[m.REORDERINGS] += 1
            if sequence < mine[m.HIGH]:
                original = 1
        # of a retransmission, only where its timestamp comes back: else it may be the original that is acknowledged
        if flags & m.WAS_RETRANSMITTED == 0 or (
            now - sent >= mine[m.MIN_RTT] and echo // TIMESTAMP >= sent // TIMESTAMP
        ):
            mine[m.RACK_RTT] = now - sent
            mine[m.RACK] = max(mine[m.RACK], packet[m.TRANSMISSION])
        mine[m.HIGHEST_DELIVERED] = max(mine[m.HIGHEST_DELIVERED], sequence + 1)
        if packet[m.TRANSMISSION] > sampled:
            sampled = packet[m.TRANSMISSION]
            mine[m.FIRST_SENT] = sent
            flow[s.SAMPLE_PRIOR_DELIVERED] = packet[m.DELIVERED_THEN]
            flow[s.SAMPLE_LIMITED] = packet[m.LIMITED_THEN]
            # the longer of the times over which the packets were sent and acknowledged
            flow[s.SAMPLE_SENT_INTERVAL] = sent - packet[m.FIRST_SENT_THEN]
            flow[s.SAMPLE_INTERVAL] = max(sent - packet[m.FIRST_SENT_THEN], now - packet[m.DELIVERED_TIME_THEN])
    if sampled >= 0:
        flow[s.SAMPLE_DELIVERED] = mine[m.DELIVERED_COUNT] - flow[s.SAMPLE_PRIOR_DELIVERED]
        mine[m.DELIVERED_TIME] = now
    else:
        flow[s.SAMPLE_DELIVERED] = flow[s.SAMPLE_INTERVAL] = -1.0
    return first, last, original
