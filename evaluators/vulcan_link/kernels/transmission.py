"""Transmission of packets by a sender: window, pacing, retransmissions and probes, as in Linux."""

import math

from vulcan.kernel_support import function, helper
from vulcan_link import engine_state as m
from vulcan_link import flow_state as s
from vulcan_link.kernels.bottleneck import admit, note, wake
from vulcan_link.kernels.random_numbers import uniform
from vulcan_link.kernels.scoreboard import in_flight, next_lost
from vulcan_link.kernels.timers import arm, arm_retransmission

# What the application has written.


@function
def written(mine, flow, now):
    """Packets of data that the application has written so far; it writes so many at a time, from the start on."""
    if mine[m.WRITE_PACKETS] == 0:
        return m.NEVER
    return mine[m.WRITE_PACKETS] * (1 + (now - int(flow[s.STARTED])) // mine[m.WRITE_INTERVAL])


@function
def next_write(mine, flow, now):
    interval = mine[m.WRITE_INTERVAL]
    return now + interval - (now - int(flow[s.STARTED])) % interval


# Pacing, as in Linux: rate and burst size.


@function
def pacing_gap(flow, mine, packets, late):
    """ns until the next packet may leave after these; half of it at most makes up for lateness, as in Linux."""
    rate = flow[s.PACING_RATE]
    if rate <= 0.0 or mine[m.SENT] < 10:
        return 0
    gap = int(packets * flow[s.PACKET_BYTES] * 8e9 / rate)
    return gap - min(gap // 2, late)


@function
def burst(flow):
    """Packets that leave at a time where a sender is paced: those of 1/1024 s, at least 2, or 1 below 1.2 Mbit/s."""
    if flow[s.PACED] == 0.0:
        return 1 << 30
    least = 2.0 if flow[s.PACING_RATE] >= 1_200_000.0 else 1.0
    return int(max(math.floor(flow[s.PACING_RATE] / 8192.0 / flow[s.PACKET_BYTES]), least))


@helper
def send(
    mine, due, flow, packets, transmissions, lost, link, queue, settings, times, own, log, f, loss, loss_generator,
    retransmit_head, probe, now,
):  # fmt: skip
    """Send what window, pacing and receiver allow, and set the timer for it.

    `f` is the flow's number. Whatever the window and the pacing, one packet leaves where `retransmit_head` (a timeout
    has expired) or `probe` (a tail loss probe is due).
    """
    flow[s.NOW] = now
    may_send = burst(flow) if flow[s.PACED] == 1.0 else 1 << 30
    due[m.MAY_SEND] = m.NEVER
    window = int(flow[s.CWND])
    mask, room = packets.shape[0] - 1, transmissions.shape[0]
    sent = 0
    sent_new = False
    limited = False
    unpaced = retransmit_head or probe
    late = max(now - int(flow[s.NEXT_SEND]), 0)
    while True:
        flying = in_flight(mine)
        if flying >= window and not unpaced:
            limited = True
            break
        if mine[m.OUTSTANDING] >= room or mine[m.TRANSMISSIONS] - mine[m.OLDEST] >= room:
            break
        if flow[s.PACED] == 1.0 and not unpaced and now < int(flow[s.NEXT_SEND]):
            due[m.MAY_SEND] = int(flow[s.NEXT_SEND])
            break
        sequence = -1
        if not probe and mine[m.NEW_DATA_FIRST] == 0 and (mine[m.SENDER_STATE] >= s.RECOVERY or retransmit_head):
            sequence = next_lost(mine, packets, lost)
        again = sequence >= 0
        if not again:
            has_data = now < mine[m.STOP] and mine[m.NXT] < written(mine, flow, now)
            if has_data and mine[m.NXT] - mine[m.UNA] < mine[m.RECEIVE_WINDOW]:
                sequence = mine[m.NXT]
            elif probe and mine[m.UNA] < mine[m.NXT]:
                sequence = mine[m.NXT] - 1
                again = True
            else:
                if not has_data:
                    flow[s.LIMITED_UNTIL] = max(mine[m.DELIVERED_COUNT] + flying, 1.0)
                    if now < mine[m.STOP]:
                        due[m.MAY_SEND] = next_write(mine, flow, now)
                break
        packet = packets[sequence & mask]
        if flying == 0 and mine[m.UNA] == mine[m.NXT]:
            mine[m.FIRST_SENT] = mine[m.DELIVERED_TIME] = now
        packet[m.SENT_AT] = now
        packet[m.DELIVERED_THEN] = mine[m.DELIVERED_COUNT]
        packet[m.DELIVERED_TIME_THEN] = mine[m.DELIVERED_TIME]
        packet[m.FIRST_SENT_THEN] = mine[m.FIRST_SENT]
        packet[m.LIMITED_THEN] = 1 if flow[s.LIMITED_UNTIL] > 0.0 else 0
        packet[m.TRANSMISSION] = mine[m.TRANSMISSIONS]
        transmissions[mine[m.TRANSMISSIONS] & (transmissions.shape[0] - 1)] = sequence
        mine[m.TRANSMISSIONS] += 1
        if again:
            if packet[m.FLAGS] & m.IS_RETRANSMITTED == 0:
                mine[m.RETRANSMITTED_OUT] += 1
            packet[m.FLAGS] |= m.IS_RETRANSMITTED | m.WAS_RETRANSMITTED
            mine[m.RETRANSMITTED] += 1
            mine[m.UNDO_RETRANSMITTED] += 1
            if mine[m.FIRST_RETRANSMISSION] == 0:
                mine[m.FIRST_RETRANSMISSION] = now
        else:
            packet[m.FLAGS] = 0
            mine[m.NXT] += 1
            sent_new = True
        if mine[m.SENDER_STATE] in (s.REDUCING, s.RECOVERY):
            mine[m.PRR_OUT] += 1
        mine[m.SENT] += 1
        mine[m.OUTSTANDING] += 1
        if loss > 0.0 and uniform(loss_generator, 0) < loss:
            mine[m.LOST_AT_RANDOM] += 1
            note(link, log, now, m.LOST_BEFORE, f, 0)
            mine[m.OUTSTANDING] -= 1
        else:
            queued = admit(link, queue, settings, own, log, now, f, sequence, now, int(flow[s.PACKET_BYTES]))
            if queued and link[m.SERVICE] == m.NEVER:
                wake(link, times, settings, now)
        sent += 1
        if unpaced:
            if probe:
                mine[m.PROBED_HIGH] = mine[m.NXT]
                break
            unpaced = False
            retransmit_head = False
        if flow[s.PACED] == 1.0 and sent % may_send == 0:
            flow[s.NEXT_SEND] = now + pacing_gap(flow, mine, may_send, late)
            late = 0
    if flow[s.PACED] == 1.0 and sent % may_send != 0:
        flow[s.NEXT_SEND] = now + pacing_gap(flow, mine, sent % may_send, late)
    mine[m.NEW_DATA_FIRST] = 0
    if probe:
        arm_retransmission(mine, due, packets, now)
    elif sent_new and (
        due[m.TIMER] == m.NEVER
        or mine[m.TIMER_KIND] == m.PROBE
        or (mine[m.SENDER_STATE] == s.OPEN and mine[m.TIMER_KIND] != m.REORDERING)
    ):
        arm(mine, due, packets, now)
    elif sent > 0 and due[m.TIMER] == m.NEVER:
        arm_retransmission(mine, due, packets, now)
    if limited:
        flow[s.WINDOW_LIMITED] = 1.0
    else:
        slow = flow[s.CWND] < flow[s.SSTHRESH] and flow[s.CWND] < 2.0 * (mine[m.NXT] - mine[m.UNA])
        flow[s.WINDOW_LIMITED] = 1.0 if slow else 0.0
