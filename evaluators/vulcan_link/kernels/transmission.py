"""Transmission of packets by a sender: window, pacing, retransmissions and probes, as in Linux."""

from __future__ import annotations

import math

from vulcan.kernel_support import function, helper
from vulcan_link import engine_state as m
from vulcan_link.engine_state import MAY_SEND, NEVER, NXT, SERVICE, TIMER, UNA
from vulcan_link.flow_state import (
    CWND,
    IN_FLIGHT,
    LIMITED_UNTIL,
    NEXT_SEND,
    NOW,
    OPEN,
    PACED,
    PACING_RATE,
    PACKET_BYTES,
    RECOVERY,
    REDUCING,
    SMOOTHED_RTT,
    SSTHRESH,
    STARTED,
    WINDOW_LIMITED,
)
from vulcan_link.kernels.bottleneck import admit, note, wake
from vulcan_link.kernels.random_numbers import uniform
from vulcan_link.kernels.scoreboard import in_flight, next_lost
from vulcan_link.kernels.timers import arm, arm_retransmission

# What the application has written.


@function
def written(mine, flow, now):
    """Packets of data that the application has written so far; it writes so many at a time, from the start on."""
    if mine[m.WRITE_PACKETS] == 0:
        return NEVER
    return mine[m.WRITE_PACKETS] * (1 + (now - int(flow[STARTED])) // mine[m.WRITE_INTERVAL])


@function
def next_write(mine, flow, now):
    interval = mine[m.WRITE_INTERVAL]
    return now + interval - (now - int(flow[STARTED])) % interval


# Pacing, as in Linux: rate and burst size.


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
    """Return the rate at which a sender is paced whose algorithm sets none (Linux: tcp_update_pacing_rate)."""
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


@helper
def send(
    mine,
    due,
    flow,
    packets,
    transmissions,
    lost,
    link,
    queue,
    settings,
    times,
    own,
    log,
    f,
    room,
    loss,
    loss_generator,
    retransmit_head,
    probe,
    now,
):
    """Send what window, pacing and receiver allow, and set the timer for it.

    `f` is the flow's number and `room` how many transmissions the network may hold. Whatever the window and the pacing,
    one packet leaves where `retransmit_head` (a timeout has expired) or `probe` (a tail loss probe is due).
    """
    flow[NOW] = now
    may_send = burst(flow) if flow[PACED] == 1.0 else 1 << 30
    due[MAY_SEND] = NEVER
    window = int(flow[CWND])
    mask = packets.shape[0] - 1
    sent = 0
    sent_new = False
    limited = False
    unpaced = retransmit_head or probe
    late = max(now - int(flow[NEXT_SEND]), 0)
    while True:
        flying = in_flight(mine)
        if flying >= window and not unpaced:
            limited = True
            break
        if mine[m.OUTSTANDING] >= room or mine[m.TRANSMISSIONS] - mine[m.OLDEST] >= room:
            break
        if flow[PACED] == 1.0 and not unpaced and now < int(flow[NEXT_SEND]):
            due[MAY_SEND] = int(flow[NEXT_SEND])
            break
        sequence = -1
        if not probe and mine[m.NEW_DATA_FIRST] == 0 and (mine[m.SENDER_STATE] >= RECOVERY or retransmit_head):
            sequence = next_lost(mine, packets, lost)
        again = sequence >= 0
        if not again:
            has_data = now < mine[m.STOP] and mine[NXT] < written(mine, flow, now)
            if has_data and mine[NXT] - mine[UNA] < mine[m.RECEIVE_WINDOW]:
                sequence = mine[NXT]
            elif probe and mine[UNA] < mine[NXT]:
                sequence = mine[NXT] - 1
                again = True
            else:
                if not has_data:
                    flow[LIMITED_UNTIL] = max(mine[m.DELIVERED_COUNT] + flying, 1.0)
                    if now < mine[m.STOP]:
                        due[MAY_SEND] = next_write(mine, flow, now)
                break
        packet = packets[sequence & mask]
        if flying == 0 and mine[UNA] == mine[NXT]:
            mine[m.FIRST_SENT] = mine[m.DELIVERED_TIME] = now
        packet[m.SENT_AT] = now
        packet[m.DELIVERED_THEN] = mine[m.DELIVERED_COUNT]
        packet[m.DELIVERED_TIME_THEN] = mine[m.DELIVERED_TIME]
        packet[m.FIRST_SENT_THEN] = mine[m.FIRST_SENT]
        packet[m.LIMITED_THEN] = 1 if flow[LIMITED_UNTIL] > 0.0 else 0
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
            mine[NXT] += 1
            sent_new = True
        if mine[m.SENDER_STATE] in (REDUCING, RECOVERY):
            mine[m.PRR_OUT] += 1
        mine[m.SENT] += 1
        mine[m.OUTSTANDING] += 1
        if loss > 0.0 and uniform(loss_generator, 0) < loss:
            mine[m.LOST_AT_RANDOM] += 1
            note(link, log, now, m.LOST_BEFORE, f, 0)
            mine[m.OUTSTANDING] -= 1
        else:
            queued = admit(link, queue, settings, own, log, now, f, sequence, now, int(flow[PACKET_BYTES]))
            if queued and link[SERVICE] == NEVER:
                wake(link, times, settings, now)
        sent += 1
        if unpaced:
            if probe:
                mine[m.PROBED_HIGH] = mine[NXT]
                break
            unpaced = False
            retransmit_head = False
        if flow[PACED] == 1.0 and sent % may_send == 0:
            flow[NEXT_SEND] = now + pacing_gap(flow, mine, may_send, late)
            late = 0
    if flow[PACED] == 1.0 and sent % may_send != 0:
        flow[NEXT_SEND] = now + pacing_gap(flow, mine, sent % may_send, late)
    mine[m.NEW_DATA_FIRST] = 0
    if probe:
        arm_retransmission(mine, due, packets, now)
    elif sent_new and (
        due[TIMER] == NEVER
        or mine[m.TIMER_KIND] == m.PROBE
        or (mine[m.SENDER_STATE] == OPEN and mine[m.TIMER_KIND] != m.REORDERING)
    ):
        arm(mine, due, packets, now)
    elif sent > 0 and due[TIMER] == NEVER:
        arm_retransmission(mine, due, packets, now)
    if limited:
        flow[WINDOW_LIMITED] = 1.0
    else:
        slow = flow[CWND] < flow[SSTHRESH] and flow[CWND] < 2.0 * (mine[NXT] - mine[UNA])
        flow[WINDOW_LIMITED] = 1.0 if slow else 0.0
