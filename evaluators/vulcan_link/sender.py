"""The sender, as Linux's TCP has it: the scoreboard, loss detection by RACK, recovery, timers, and what is sent.

After an acknowledgement: SACK scoreboard and rate sample (tcp_rate.c), round-trip estimate (RFC 6298, with Linux's
bounds), RACK-TLP (RFC 8985), proportional rate reduction (RFC 6937), and Eifel detection of spurious timeouts with
timestamps (RFC 3522) or F-RTO (RFC 5682). Sequence numbers count packets.
"""

from __future__ import annotations

import math

from vulcan.anvil.policy_calls import helper
from vulcan_link import memory as m
from vulcan_link.algorithms import POLICY, dispatch
from vulcan_link.compiled import function
from vulcan_link.memory import (
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
    NEVER,
    NXT,
    OLDEST,
    RETRANSMITTED_OUT,
    SACKED_OUT,
    SENDER_STATE,
    SENT_AT,
    TIMER,
    TIMER_KIND,
    TRANSMISSION,
    TRANSMISSIONS,
    UNA,
    WAS_RETRANSMITTED,
)
from vulcan_link.record import (
    ACKED,
    ACKNOWLEDGEMENT,
    ADVANCED,
    ALGORITHM,
    CAUSE,
    CONGESTION,
    CONTROLS,
    CWND,
    DELIVERED,
    DISORDER,
    IN_FLIGHT,
    LIMITED_UNTIL,
    LOSS,
    LOST,
    LOST_TOTAL,
    MARK,
    MARKED,
    MAX_RTT,
    MIN_RTT,
    NEXT,
    NO_THRESHOLD,
    NOW,
    OPEN,
    PACED,
    PACING_RATE,
    PACKET_BYTES,
    PRIOR_CWND,
    PRIOR_IN_FLIGHT,
    PRIOR_SSTHRESH,
    PRIOR_STATE,
    RECOVERY,
    REDUCING,
    RTT,
    SAMPLE_DELAYED,
    SAMPLE_DELIVERED,
    SAMPLE_INTERVAL,
    SAMPLE_LIMITED,
    SAMPLE_PRIOR_DELIVERED,
    SAMPLE_RATE,
    SMOOTHED_RTT,
    SSTHRESH,
    STATE,
    TIMEOUT,
    UNACKED,
)

LEAST_RTO, MOST_RTO = 200_000_000, 120_000_000_000
TIMESTAMP = 1_000_000  # the unit of TCP timestamps
TICK = 2_000_000  # what Linux adds to the timers of probes and of reordering
DUPLICATES = 3


@function
def in_flight(mine):
    return mine[NXT] - mine[UNA] - mine[SACKED_OUT] - mine[LOST_OUT] + mine[RETRANSMITTED_OUT]


@helper
def estimate(mine, rtt):
    """RFC 6298 with Linux's fast rise and slow fall of the variation (tcp_rtt_estimator)."""
    if mine[m.SRTT] == 0:
        mine[m.SRTT] = rtt * 8
        mine[m.DEVIATION] = rtt * 2
        mine[m.VARIATION] = mine[m.DEVIATION_MOST] = max(rtt * 2, LEAST_RTO)
        mine[m.VARIATION_END] = mine[NXT]
    else:
        error = rtt - (mine[m.SRTT] >> 3)
        mine[m.SRTT] += error
        if error < 0:
            error = -error - (mine[m.DEVIATION] >> 2)
            if error > 0:
                error >>= 3
        else:
            error -= mine[m.DEVIATION] >> 2
        mine[m.DEVIATION] += error
        if mine[m.DEVIATION] > mine[m.DEVIATION_MOST]:
            mine[m.DEVIATION_MOST] = mine[m.DEVIATION]
            mine[m.VARIATION] = max(mine[m.VARIATION], mine[m.DEVIATION_MOST])
        if mine[UNA] > mine[m.VARIATION_END]:
            if mine[m.DEVIATION_MOST] < mine[m.VARIATION]:
                mine[m.VARIATION] -= (mine[m.VARIATION] - mine[m.DEVIATION_MOST]) >> 2
            mine[m.VARIATION_END] = mine[NXT]
            mine[m.DEVIATION_MOST] = LEAST_RTO
    mine[m.RTO] = min((mine[m.SRTT] >> 3) + mine[m.VARIATION], MOST_RTO)


@function
def timeout_after(mine):
    """The retransmission timeout with its backoff, ns."""
    return min(mine[m.RTO] << min(mine[m.BACKOFF], 20), MOST_RTO)


@function
def arm_retransmission(mine, due, packets, now):
    """Restart the timer; what a probe or a wait for reordering has used up of it counts (tcp_rearm_rto)."""
    if mine[UNA] == mine[NXT]:
        due[TIMER] = NEVER
        return
    wait = timeout_after(mine)
    if due[TIMER] != NEVER and mine[TIMER_KIND] != m.RETRANSMISSION:
        sent = packets[mine[UNA] & (packets.shape[0] - 1), SENT_AT]
        wait = max(sent + wait - now, 1)
    mine[TIMER_KIND] = m.RETRANSMISSION
    due[TIMER] = now + wait


@function
def arm(mine, due, packets, now):
    """Restart the timer: for a tail loss probe where one may be sent, else for a retransmission."""
    state = mine[SENDER_STATE]
    if mine[UNA] != mine[NXT] and mine[m.PROBED_HIGH] == 0 and state in (OPEN, REDUCING):
        wait = (mine[m.SRTT] >> 2) + (LEAST_RTO if mine[NXT] - mine[UNA] == 1 else TICK)
        mine[TIMER_KIND] = m.PROBE
        due[TIMER] = now + min(wait, timeout_after(mine))
    else:
        arm_retransmission(mine, due, packets, now)


@function
def change_state(mine, flow, state):
    if mine[SENDER_STATE] != state:
        flow[PRIOR_STATE] = mine[SENDER_STATE]
        mine[SENDER_STATE] = state
        flow[STATE] = state
        dispatch.changed(flow)


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


@function
def deem_lost(mine, packets, lost, sequence):
    """A packet, or its retransmission, is lost."""
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


@function
def detect_losses(mine, due, packets, transmissions, lost, now):
    """RACK: of what was sent before the latest delivered transmission, what is overdue is lost (RFC 8985).

    The network keeps the order, so that no reordering is ever seen and, in recovery or from 3 packets selectively
    acknowledged on, all of it is overdue. Returns whether a timer for the rest was set.
    """
    mask = packets.shape[0] - 1
    last = transmissions.shape[0] - 1
    wait = 0
    if mine[SENDER_STATE] < RECOVERY and mine[SACKED_OUT] < DUPLICATES:
        wait = min(mine[m.LEAST_RTT] >> 2, mine[m.SRTT] >> 6)
    while mine[OLDEST] < mine[TRANSMISSIONS]:
        sequence = transmissions[mine[OLDEST] & last]
        packet = packets[sequence & mask]
        if sequence >= mine[UNA] and packet[TRANSMISSION] == mine[OLDEST] and packet[FLAGS] & IS_DELIVERED == 0:
            if mine[OLDEST] > mine[m.RACK]:
                break
            if packet[FLAGS] & (IS_LOST | IS_RETRANSMITTED) != IS_LOST:
                remaining = packet[SENT_AT] + mine[m.RACK_RTT] + wait - now
                if remaining > 0:
                    mine[TIMER_KIND] = m.REORDERING
                    due[TIMER] = now + remaining + TICK
                    return True
                deem_lost(mine, packets, lost, sequence)
        mine[OLDEST] += 1
    return False


@function
def begin_reduction(mine, flow):
    """Linux's tcp_init_cwnd_reduction; CAUSE says what for."""
    mine[HIGH] = mine[NXT]
    mine[m.PROBED_HIGH] = 0
    mine[m.PRR_DELIVERED] = mine[m.PRR_OUT] = 0
    flow[PRIOR_CWND] = flow[CWND]
    flow[PRIOR_SSTHRESH] = flow[SSTHRESH]
    if flow[ALGORITHM] != POLICY:
        flow[SSTHRESH] = dispatch.reduced(flow)


@function
def begin_recovery(mine, flow):
    mine[m.RECOVERIES] += 1
    flow[CAUSE] = CONGESTION
    if mine[SENDER_STATE] == REDUCING:
        mine[HIGH] = mine[NXT]
    else:
        begin_reduction(mine, flow)
    mine[m.ASK] = CONGESTION
    change_state(mine, flow, RECOVERY)


@helper
def end_reduction(mine, flow):
    if flow[CONTROLS] == 0.0 and flow[SSTHRESH] < NO_THRESHOLD:
        flow[CWND] = flow[SSTHRESH]


@function
def reduce_proportionally(mine, flow, acked, lost, advanced):
    """Proportional rate reduction (RFC 6937, with Linux's tcp_cwnd_reduction)."""
    flying = in_flight(mine)
    delta = int(flow[SSTHRESH]) - flying
    mine[m.PRR_DELIVERED] += acked
    if delta < 0:
        due = math.ceil(flow[SSTHRESH] * mine[m.PRR_DELIVERED] / max(flow[PRIOR_CWND], 1.0))
        count = int(due) - mine[m.PRR_OUT]
    else:
        count = max(mine[m.PRR_DELIVERED] - mine[m.PRR_OUT], acked)
        if advanced > 0 and lost == 0:
            count += 1
        count = min(delta, count)
    count = max(count, 0 if mine[m.PRR_OUT] > 0 else 1)
    flow[CWND] = flying + count


@function
def undo_timeout(mine, flow, packets):
    """The timeout was spurious: nothing is deemed lost, and the window is as before."""
    mask = packets.shape[0] - 1
    sequence = mine[UNA]
    while sequence < mine[NXT]:
        packets[sequence & mask, FLAGS] &= ~IS_LOST
        sequence += 1
    mine[LOST_OUT] = 0
    mine[LOST_HEAD] = mine[LOST_TAIL]
    mine[m.UNDO] = mine[m.FRTO] = mine[m.TIMEOUTS_IN_ROW] = 0
    flow[CWND] = dispatch.undone(flow)
    flow[SSTHRESH] = max(flow[SSTHRESH], flow[PRIOR_SSTHRESH])
    change_state(mine, flow, OPEN)


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
            if sequence < mine[HIGH]:
                original = 1
        # of a retransmission, only where its timestamp comes back: else it may be the original that is acknowledged
        if flags & WAS_RETRANSMITTED == 0 or (
            now - sent >= mine[m.LEAST_RTT] and echo // TIMESTAMP >= sent // TIMESTAMP
        ):
            mine[m.RACK_RTT] = now - sent
            mine[m.RACK] = max(mine[m.RACK], packet[TRANSMISSION])
        if packet[TRANSMISSION] > sampled:
            sampled = packet[TRANSMISSION]
            mine[m.FIRST_SENT] = sent
            flow[SAMPLE_PRIOR_DELIVERED] = packet[m.DELIVERED_THEN]
            flow[SAMPLE_LIMITED] = packet[m.LIMITED_THEN]
            # the longer of the times over which the packets were sent and acknowledged
            flow[SAMPLE_INTERVAL] = max(sent - packet[m.FIRST_SENT_THEN], now - packet[m.DELIVERED_TIME_THEN])
    if sampled >= 0:
        flow[SAMPLE_DELIVERED] = mine[DELIVERED_COUNT] - flow[SAMPLE_PRIOR_DELIVERED]
        mine[m.DELIVERED_TIME] = now
    else:
        flow[SAMPLE_DELIVERED] = flow[SAMPLE_INTERVAL] = -1.0
    return first, last, original


@function
def process_loss_state(mine, flow, packets, advanced, sacked, original, echo):
    """After a timeout (tcp_process_loss): was it spurious, is it over, or is what was lost to be sent again?"""
    spurious = advanced > 0 and 0 < echo < mine[m.FIRST_RETRANSMISSION]
    if mine[m.UNDO] == 1 and (spurious or (mine[m.FRTO] == 1 and original == 1)):
        undo_timeout(mine, flow, packets)
        return
    over = mine[UNA] >= mine[HIGH]
    if mine[m.FRTO] == 1:
        if mine[NXT] > mine[HIGH]:
            if sacked > 0:
                mine[m.FRTO] = 0
        elif advanced > 0 and not over:
            mine[HIGH] = mine[NXT]
            if mine[NXT] - mine[UNA] < mine[m.RECEIVE_WINDOW]:
                mine[m.NEW_DATA_FIRST] = 1
                return
            mine[m.FRTO] = 0
    if over:
        mine[m.UNDO] = mine[m.FRTO] = mine[m.TIMEOUTS_IN_ROW] = 0
        change_state(mine, flow, OPEN)


@helper
def take_acknowledgement(mine, due, flow, packets, transmissions, lost, arrivals, ack, now):
    """All that an acknowledgement changes but the window; sets ASK where a policy is to be asked."""
    mask = packets.shape[0] - 1
    before, lost_before = mine[DELIVERED_COUNT], mine[LOST_COUNT]
    flow[NOW] = now
    flow[PRIOR_IN_FLIGHT] = in_flight(mine)
    first, last, original = deliver(mine, flow, packets, arrivals, ack[m.ACK_PACKETS], ack[m.ACK_ECHO], now)
    advanced = ack[m.ACK_NUMBER] - mine[UNA]
    while mine[UNA] < ack[m.ACK_NUMBER]:
        packets[mine[UNA] & mask, FLAGS] = IS_DELIVERED
        mine[UNA] += 1
    mine[SACKED_OUT] -= advanced
    mine[m.OUTSTANDING] -= ack[m.ACK_COVERED]
    acked = mine[DELIVERED_COUNT] - before
    marked = ack[m.ACK_MARKED]
    mine[m.ACKS] += 1
    if last < 0 and advanced > 0 and ack[m.ACK_ECHO] > 0:  # a retransmission, but its timestamp says which
        first = last = ack[m.ACK_ECHO]
    if last >= 0:
        rtt = now - last
        flow[RTT] = rtt
        if mine[m.LEAST_RTT] == 0 or rtt < mine[m.LEAST_RTT]:
            mine[m.LEAST_RTT] = rtt
            flow[MIN_RTT] = rtt
        flow[MAX_RTT] = max(flow[MAX_RTT], rtt)
        mine[m.RTT_SUM] += rtt
        mine[m.RTT_COUNT] += 1
        estimate(mine, now - first)
        flow[SMOOTHED_RTT] = mine[m.SRTT] / 8.0
        mine[m.BACKOFF] = 0
    else:
        flow[RTT] = -1.0
    if flow[SAMPLE_INTERVAL] < mine[m.LEAST_RTT]:
        flow[SAMPLE_INTERVAL] = -1.0
    if flow[SAMPLE_INTERVAL] > 0.0:
        flow[SAMPLE_RATE] = flow[SAMPLE_DELIVERED] * flow[PACKET_BYTES] * 8e9 / flow[SAMPLE_INTERVAL]
    else:
        flow[SAMPLE_RATE] = 0.0
    if flow[LIMITED_UNTIL] > 0.0 and mine[DELIVERED_COUNT] > flow[LIMITED_UNTIL]:
        flow[LIMITED_UNTIL] = 0.0
    single = acked == 1 and advanced == 1 and mine[SACKED_OUT] == 0
    flow[SAMPLE_DELAYED] = 1.0 if single and flow[SAMPLE_PRIOR_DELIVERED] + 1.0 == mine[DELIVERED_COUNT] else 0.0
    if mine[UNA] >= mine[m.PROBED_HIGH]:
        mine[m.PROBED_HIGH] = 0
    flow[ACKED] = acked
    flow[ADVANCED] = advanced
    flow[MARKED] = marked
    flow[UNACKED] = mine[UNA]
    flow[NEXT] = mine[NXT]
    flow[DELIVERED] = mine[DELIVERED_COUNT]
    flow[CAUSE] = ACKNOWLEDGEMENT
    mine[m.ASK] = ACKNOWLEDGEMENT
    mine[m.RECOVERING] = 1 if mine[SENDER_STATE] >= REDUCING else 0
    dispatch.sampled(flow)

    state = mine[SENDER_STATE]
    if (state == REDUCING and mine[UNA] > mine[HIGH]) or (state == RECOVERY and mine[UNA] >= mine[HIGH]):
        end_reduction(mine, flow)
        mine[m.FIRST_RETRANSMISSION] = 0
        change_state(mine, flow, OPEN)
    elif state == LOSS:
        process_loss_state(mine, flow, packets, advanced, acked - advanced, original, ack[m.ACK_ECHO])
    waiting = False
    if mine[SACKED_OUT] > 0 or mine[LOST_OUT] > 0 or mine[OLDEST] <= mine[m.RACK]:
        waiting = detect_losses(mine, due, packets, transmissions, lost, now)
    state = mine[SENDER_STATE]
    if state < RECOVERY:
        if mine[LOST_OUT] > 0:
            begin_recovery(mine, flow)
        elif state != REDUCING:
            if marked > 0:
                flow[CAUSE] = MARK
                begin_reduction(mine, flow)
                mine[m.ASK] = MARK
                change_state(mine, flow, REDUCING)
            else:
                change_state(mine, flow, DISORDER if mine[SACKED_OUT] > 0 else OPEN)
    newly_lost = mine[LOST_COUNT] - lost_before
    if (advanced > 0 or acked > 0) and not waiting:
        arm(mine, due, packets, now)
    flow[LOST] = newly_lost
    flow[LOST_TOTAL] = mine[LOST_COUNT]
    flow[IN_FLIGHT] = in_flight(mine)
    if flow[ALGORITHM] != POLICY:
        state = mine[SENDER_STATE]
        if flow[CONTROLS] == 1.0:
            dispatch.acknowledged(flow)
        elif state in (REDUCING, RECOVERY):
            if acked > 0:
                reduce_proportionally(mine, flow, acked, newly_lost, advanced)
        elif advanced > 0:
            dispatch.acknowledged(flow)
    mine[m.WINDOW_SUM] += int(flow[CWND])


@helper
def time_out(mine, due, flow, packets, lost, now):
    """The retransmission timer has expired (tcp_retransmit_timer, tcp_enter_loss)."""
    if mine[UNA] == mine[NXT]:
        due[TIMER] = NEVER
        return
    mask = packets.shape[0] - 1
    new = mine[SENDER_STATE] < RECOVERY
    mine[m.TIMEOUTS] += 1
    mine[m.RECOVERING] = 1 if mine[SENDER_STATE] >= REDUCING else 0
    flow[NOW] = now
    flow[CAUSE] = TIMEOUT
    lost_before = mine[LOST_COUNT]
    flow[ACKED] = flow[ADVANCED] = flow[MARKED] = 0.0
    flow[PRIOR_IN_FLIGHT] = in_flight(mine)
    if (
        mine[SENDER_STATE] <= DISORDER
        or mine[UNA] >= mine[HIGH]
        or (mine[SENDER_STATE] == LOSS and mine[m.TIMEOUTS_IN_ROW] == 0)
    ):
        begin_reduction(mine, flow)
        mine[m.UNDO] = 1
        if mine[m.TIMEOUTS_IN_ROW] == 0:
            mine[m.FIRST_RETRANSMISSION] = 0
    mine[LOST_HEAD] = mine[LOST_TAIL]
    sequence = mine[UNA]
    while sequence < mine[NXT]:
        packet = packets[sequence & mask]
        if packet[FLAGS] & IS_DELIVERED == 0:
            if sequence == mine[UNA] or packet[SENT_AT] + mine[m.RACK_RTT] <= now:
                deem_lost(mine, packets, lost, sequence)
            elif packet[FLAGS] & (IS_LOST | IS_RETRANSMITTED) == IS_LOST:
                to_retransmit(mine, packets, lost, sequence)
        sequence += 1
    mine[m.FRTO] = 1 if new or mine[m.TIMEOUTS_IN_ROW] > 0 else 0
    mine[HIGH] = mine[NXT]
    mine[m.PROBED_HIGH] = 0
    mine[m.TIMEOUTS_IN_ROW] += 1
    mine[m.BACKOFF] += 1
    flow[IN_FLIGHT] = in_flight(mine)
    flow[LOST] = mine[LOST_COUNT] - lost_before
    flow[LOST_TOTAL] = mine[LOST_COUNT]
    flow[CWND] = flow[IN_FLIGHT] + 1.0
    mine[m.ASK] = TIMEOUT
    if mine[SENDER_STATE] == LOSS:
        flow[PRIOR_STATE] = LOSS
        dispatch.changed(flow)
    else:
        change_state(mine, flow, LOSS)
    mine[TIMER_KIND] = m.RETRANSMISSION
    due[TIMER] = now + timeout_after(mine)


@helper
def stop_waiting_for_reordering(mine, due, flow, packets, transmissions, lost, now):
    """The timer of RACK has expired: what is overdue is lost (tcp_rack_reo_timeout)."""
    before = mine[LOST_COUNT]
    flow[NOW] = now
    due[TIMER] = NEVER
    mine[m.RECOVERING] = 1 if mine[SENDER_STATE] >= REDUCING else 0
    waiting = detect_losses(mine, due, packets, transmissions, lost, now)
    flow[ACKED] = flow[ADVANCED] = flow[MARKED] = 0.0
    flow[LOST] = mine[LOST_COUNT] - before
    flow[LOST_TOTAL] = mine[LOST_COUNT]
    flow[IN_FLIGHT] = in_flight(mine)
    if mine[LOST_COUNT] > before and mine[SENDER_STATE] < RECOVERY:
        begin_recovery(mine, flow)
        if flow[CONTROLS] == 0.0:
            reduce_proportionally(mine, flow, 1, 0, 0)
    if not waiting:
        mine[TIMER_KIND] = m.REORDERING
        due[TIMER] = now
        arm_retransmission(mine, due, packets, now)


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
    """The rate at which a sender is paced whose algorithm sets none (Linux: tcp_update_pacing_rate)."""
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
