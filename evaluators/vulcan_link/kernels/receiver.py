"""Receiver of a flow: duplicate detection and delayed acknowledgements.

It acts when a packet leaves the link, or later by what the packet is late, for the way from there is a constant delay
and its acknowledgement's arrival is reckoned with it. As in Linux, every second packet is acknowledged, or after 40 ms;
at once the first 16, what is out of order or fills a gap, what is a duplicate, and what carries a mark.
"""

from vulcan.kernel_support import helper
from vulcan_link import engine_state as m
from vulcan_link import flow_state as s
from vulcan_link.kernels.random_numbers import noise

DELAY = 40_000_000
MILLISECOND = 1_000_000
QUICK_PACKETS = 16


@helper
def acknowledge(mine, due, flow, acks, settings, link, now):
    """Send an acknowledgement of all that waits, which reaches the sender after the propagation both ways."""
    at = now + int(flow[s.PROPAGATION])
    if settings[m.JITTER] > 0:
        at += int(settings[m.JITTER] * noise(settings[m.NOISE], now // max(settings[m.CLOCK], MILLISECOND)))
    if settings[m.ACK_BATCH] > 0:  # held, and delivered with others
        at += -at % settings[m.ACK_BATCH]
    if settings[m.CLOCK] > 1:  # handed over at a tick of the emulator's clock
        at += -at % settings[m.CLOCK]
    at = max(at, mine[m.LAST_ACK_ARRIVAL])
    mine[m.LAST_ACK_ARRIVAL] = at
    row = acks[mine[m.ACKS_TAIL] & (acks.shape[0] - 1)]
    row[m.ACK_TIME] = at
    row[m.ACK_NUMBER] = mine[m.EXPECTED]
    row[m.ACK_PACKETS] = mine[m.WAITING]
    row[m.ACK_COVERED] = mine[m.WAITING_COVERED]
    row[m.ACK_MARKED] = mine[m.WAITING_MARKED]
    row[m.ACK_ECHO] = mine[m.WAITING_ECHO]
    row[m.ACK_SERIAL] = link[m.SERIAL]
    if mine[m.ACKS_TAIL] == mine[m.ACKS_HEAD]:
        due[m.ACK_ARRIVES] = at
        mine[m.FIRST_SERIAL] = link[m.SERIAL]
    link[m.SERIAL] += 1
    mine[m.ACKS_TAIL] += 1
    mine[m.WAITING] = mine[m.WAITING_COVERED] = mine[m.WAITING_MARKED] = mine[m.WAITING_ECHO] = 0
    due[m.DELAYED_ACK] = m.NEVER


@helper
def receive(mine, received, arrivals, sequence, sent_at, mark):
    """Take a packet in. Returns whether it is to be acknowledged at once."""
    mask = received.shape[0] - 1
    mine[m.WAITING_COVERED] += 1
    mine[m.WAITING_MARKED] += mark
    if sequence < mine[m.EXPECTED] or received[sequence & mask] == 1:
        return True
    gap = mine[m.MAX] > mine[m.EXPECTED]
    received[sequence & mask] = 1
    row = arrivals[mine[m.ARRIVALS_TAIL] & (arrivals.shape[0] - 1)]
    row[0] = sequence
    mine[m.ARRIVALS_TAIL] += 1
    mine[m.WAITING] += 1
    mine[m.RECEIVED] += 1
    if sequence >= mine[m.MAX]:
        mine[m.MAX] = sequence + 1
    expected = mine[m.EXPECTED]
    if sequence == expected:
        if mine[m.WAITING_ECHO] == 0:
            mine[m.WAITING_ECHO] = sent_at
        while received[expected & mask] == 1:
            received[expected & mask] = 0
            expected += 1
        mine[m.EXPECTED] = expected
    if mine[m.QUICK] > 0:
        mine[m.QUICK] -= 1
        return True
    return gap or sequence > expected or mark == 1 or mine[m.WAITING] >= 2 or mine[m.DELAYS_ACKS] == 0


@helper
def take_in(mine, due, flow, received, arrivals, acks, settings, link, sequence, sent_at, mark, now):
    """Take a packet in, and acknowledge it now or later."""
    known = mine[m.RECEIVED]
    at_once = receive(mine, received, arrivals, sequence, sent_at, mark)
    if mine[m.RECEIVED] > known:
        mine[m.LAST_NEW] = now
    if at_once:
        acknowledge(mine, due, flow, acks, settings, link, now)
    elif due[m.DELAYED_ACK] == m.NEVER:
        due[m.DELAYED_ACK] = now + DELAY


# Packets that are late on their way from the link, so that others overtake them.


@helper
def is_late(settings, mine, number):
    """Check whether the latest packet out of the link is late, of flow `number`: drawn for each anew."""
    return noise(settings[m.NOISE] ^ 0x5DEECE66D, (mine[m.GONE] << 8) + number) * 1e6 < settings[m.LATE_SHARE]


@helper
def is_known(mine, received, sequence):
    """Check whether the receiver has had a packet."""
    return sequence < mine[m.EXPECTED] or received[sequence & (received.shape[0] - 1)] == 1


@helper
def hold(mine, due, late, sequence, sent_at, mark, until):
    """Keep a packet until it arrives; all are late by the same time, so that a ring keeps their order."""
    row = late[mine[m.LATE_TAIL] & (late.shape[0] - 1)]
    row[m.L_TIME], row[m.L_SEQUENCE], row[m.L_SENT_AT], row[m.L_MARK] = until, sequence, sent_at, mark
    if mine[m.LATE_TAIL] == mine[m.LATE_HEAD]:
        due[m.LATE_ARRIVES] = until
    mine[m.LATE_TAIL] += 1
