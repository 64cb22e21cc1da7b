"""Sender events, as in Linux's TCP: an acknowledgement arrives, or the timer expires."""

from __future__ import annotations

from vulcan.kernel_support import function, helper
from vulcan_link import engine_state as m
from vulcan_link.algorithms import POLICY, dispatch
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
    NEVER,
    NXT,
    OLDEST,
    SACKED_OUT,
    SENDER_STATE,
    SENT_AT,
    TIMER,
    TIMER_KIND,
    TRANSMISSION,
    TRANSMISSIONS,
    UNA,
)
from vulcan_link.flow_state import (
    ACKED,
    ACKNOWLEDGEMENT,
    ADVANCED,
    ALGORITHM,
    CAUSE,
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
    NOW,
    ONE_WAY,
    OPEN,
    PACKET_BYTES,
    PRIOR_IN_FLIGHT,
    PRIOR_STATE,
    RECOVERY,
    REDUCING,
    RTT,
    SAMPLE_DELAYED,
    SAMPLE_DELIVERED,
    SAMPLE_INTERVAL,
    SAMPLE_PRIOR_DELIVERED,
    SAMPLE_RATE,
    SMOOTHED_RTT,
    TIMEOUT,
    UNACKED,
)
from vulcan_link.kernels.recovery import (
    begin_recovery,
    begin_reduction,
    change_state,
    end_reduction,
    process_loss_state,
    reduce_proportionally,
    undo_recovery,
    wait_longer,
)
from vulcan_link.kernels.scoreboard import deliver, in_flight, mark_lost, to_retransmit
from vulcan_link.kernels.timers import TICK, arm, arm_retransmission, estimate, timeout_after

# Loss detection by transmission time: RACK (RFC 8985).

DUPLICATES = 3


@function
def detect_losses(mine, due, packets, transmissions, lost, now):
    """RACK: of what was sent before the latest delivered transmission, what is overdue is lost (RFC 8985).

    Where no reordering was seen, all of it is overdue in recovery, and from 3 packets selectively acknowledged on. Else
    a packet is given some quarters of the least round trip more. Returns whether a timer for the rest was set.
    """
    mask = packets.shape[0] - 1
    last = transmissions.shape[0] - 1
    wait = 0
    if mine[m.REORDERINGS] > 0:
        wait = min((mine[m.MIN_RTT] >> 2) * mine[m.REORDERING_STEPS], mine[m.SRTT] >> 3)
    elif mine[SENDER_STATE] < RECOVERY and mine[SACKED_OUT] < DUPLICATES:
        wait = min(mine[m.MIN_RTT] >> 2, mine[m.SRTT] >> 6)
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
                mark_lost(mine, packets, lost, sequence)
        mine[OLDEST] += 1
    return False


@helper
def take_acknowledgement(mine, due, flow, packets, transmissions, lost, arrivals, ack, now):
    """Apply an acknowledgement to everything but the window; sets ASK where a policy is to be asked."""
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
        if mine[m.MIN_RTT] == 0 or rtt < mine[m.MIN_RTT]:
            mine[m.MIN_RTT] = rtt
            flow[MIN_RTT] = rtt
        flow[MAX_RTT] = max(flow[MAX_RTT], rtt)
        mine[m.RTT_SUM] += rtt
        mine[m.RTT_COUNT] += 1
        estimate(mine, now - first)
        flow[SMOOTHED_RTT] = mine[m.SRTT] / 8.0
        mine[m.BACKOFF] = 0
    else:
        flow[RTT] = -1.0
    flow[ONE_WAY] = ack[m.ACK_LEFT] - ack[m.ACK_ECHO] if ack[m.ACK_ECHO] > 0 else -1.0
    if flow[SAMPLE_INTERVAL] < mine[m.MIN_RTT]:
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
    needless = ack[m.ACK_COVERED] - ack[m.ACK_PACKETS]
    if mine[m.MAY_REORDER] == 1:
        wait_longer(mine, acked, int(flow[SAMPLE_PRIOR_DELIVERED]), needless)
    if state == RECOVERY and undo_recovery(mine, flow, packets, advanced, ack[m.ACK_ECHO], needless):
        pass
    elif (state == REDUCING and mine[UNA] > mine[HIGH]) or (state == RECOVERY and mine[UNA] >= mine[HIGH]):
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
    """Handle the expiry of the retransmission timer (tcp_retransmit_timer, tcp_enter_loss)."""
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
                mark_lost(mine, packets, lost, sequence)
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
    """Handle the expiry of RACK's timer: overdue packets are lost (tcp_rack_reo_timeout)."""
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
