"""Sender events, as in Linux's TCP: an acknowledgement arrives, or the timer expires."""

from vulcan.kernel_support import function, helper
from vulcan_link import engine_state as m
from vulcan_link import flow_state as s
from vulcan_link.algorithms import POLICY, dispatch
from vulcan_link.kernels import recovery
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
    elif mine[m.SENDER_STATE] < s.RECOVERY and mine[m.SACKED_OUT] < DUPLICATES:
        wait = min(mine[m.MIN_RTT] >> 2, mine[m.SRTT] >> 6)
    while mine[m.OLDEST] < mine[m.TRANSMISSIONS]:
        sequence = transmissions[mine[m.OLDEST] & last]
        packet = packets[sequence & mask]
        if (
            sequence >= mine[m.UNA]
            and packet[m.TRANSMISSION] == mine[m.OLDEST]
            and packet[m.FLAGS] & m.IS_DELIVERED == 0
        ):
            if mine[m.OLDEST] > mine[m.RACK]:
                break
            if packet[m.FLAGS] & (m.IS_LOST | m.IS_RETRANSMITTED) != m.IS_LOST:
                remaining = packet[m.SENT_AT] + mine[m.RACK_RTT] + wait - now
                if remaining > 0:
                    mine[m.TIMER_KIND] = m.REORDERING
                    due[m.TIMER] = now + remaining + TICK
                    return True
                mark_lost(mine, packets, lost, sequence)
        mine[m.OLDEST] += 1
    return False


@helper
def take_acknowledgement(mine, due, flow, packets, transmissions, lost, arrivals, ack, now):
    """Apply an acknowledgement to everything but the window; sets ASK where a policy is to be asked."""
    mask = packets.shape[0] - 1
    before, lost_before = mine[m.DELIVERED_COUNT], mine[m.LOST_COUNT]
    flow[s.NOW] = now
    flow[s.PRIOR_IN_FLIGHT] = in_flight(mine)
    first, last, original = deliver(mine, flow, packets, arrivals, ack[m.ACK_PACKETS], ack[m.ACK_ECHO], now)
    advanced = ack[m.ACK_NUMBER] - mine[m.UNA]
    while mine[m.UNA] < ack[m.ACK_NUMBER]:
        packets[mine[m.UNA] & mask, m.FLAGS] = m.IS_DELIVERED
        mine[m.UNA] += 1
    mine[m.SACKED_OUT] -= advanced
    mine[m.OUTSTANDING] -= ack[m.ACK_COVERED]
    acked = mine[m.DELIVERED_COUNT] - before
    marked = ack[m.ACK_MARKED]
    mine[m.ACKS] += 1
    if last < 0 and advanced > 0 and ack[m.ACK_ECHO] > 0:  # a retransmission, but its timestamp says which
        first = last = ack[m.ACK_ECHO]
    if last >= 0:
        rtt = now - last
        flow[s.RTT] = rtt
        if mine[m.MIN_RTT] == 0 or rtt < mine[m.MIN_RTT]:
            mine[m.MIN_RTT] = rtt
            flow[s.MIN_RTT] = rtt
        flow[s.MAX_RTT] = max(flow[s.MAX_RTT], rtt)
        mine[m.RTT_SUM] += rtt
        mine[m.RTT_COUNT] += 1
        estimate(mine, now - first)
        flow[s.SMOOTHED_RTT] = mine[m.SRTT] / 8.0
        mine[m.BACKOFF] = 0
    else:
        flow[s.RTT] = -1.0
    if flow[s.SAMPLE_INTERVAL] < mine[m.MIN_RTT]:
        flow[s.SAMPLE_INTERVAL] = -1.0
    if flow[s.SAMPLE_INTERVAL] > 0.0:
        flow[s.SAMPLE_RATE] = flow[s.SAMPLE_DELIVERED] * flow[s.PACKET_BYTES] * 8e9 / flow[s.SAMPLE_INTERVAL]
    else:
        flow[s.SAMPLE_RATE] = 0.0
    if flow[s.LIMITED_UNTIL] > 0.0 and mine[m.DELIVERED_COUNT] > flow[s.LIMITED_UNTIL]:
        flow[s.LIMITED_UNTIL] = 0.0
    single = acked == 1 and advanced == 1 and mine[m.SACKED_OUT] == 0
    flow[s.SAMPLE_DELAYED] = 1.0 if single and flow[s.SAMPLE_PRIOR_DELIVERED] + 1.0 == mine[m.DELIVERED_COUNT] else 0.0
    if mine[m.UNA] >= mine[m.PROBED_HIGH]:
        mine[m.PROBED_HIGH] = 0
    flow[s.ACKED] = acked
    flow[s.ADVANCED] = advanced
    flow[s.MARKED] = marked
    flow[s.UNACKED] = mine[m.UNA]
    flow[s.NEXT] = mine[m.NXT]
    flow[s.DELIVERED] = mine[m.DELIVERED_COUNT]
    flow[s.CAUSE] = s.ACKNOWLEDGEMENT
    mine[m.ASK] = s.ACKNOWLEDGEMENT
    mine[m.RECOVERING] = 1 if mine[m.SENDER_STATE] >= s.REDUCING else 0
    dispatch.sampled(flow)

    state = mine[m.SENDER_STATE]
    needless = ack[m.ACK_COVERED] - ack[m.ACK_PACKETS]
    if mine[m.MAY_REORDER] == 1:
        recovery.wait_longer(mine, acked, int(flow[s.SAMPLE_PRIOR_DELIVERED]), needless)
    if state == s.RECOVERY and recovery.undo_recovery(mine, flow, packets, advanced, ack[m.ACK_ECHO], needless):
        pass
    elif (state == s.REDUCING and mine[m.UNA] > mine[m.HIGH]) or (state == s.RECOVERY and mine[m.UNA] >= mine[m.HIGH]):
        recovery.end_reduction(mine, flow)
        mine[m.FIRST_RETRANSMISSION] = 0
        recovery.change_state(mine, flow, s.OPEN)
    elif state == s.LOSS:
        recovery.process_loss_state(mine, flow, packets, advanced, acked - advanced, original, ack[m.ACK_ECHO])
    waiting = False
    if mine[m.SACKED_OUT] > 0 or mine[m.LOST_OUT] > 0 or mine[m.OLDEST] <= mine[m.RACK]:
        waiting = detect_losses(mine, due, packets, transmissions, lost, now)
    state = mine[m.SENDER_STATE]
    if state < s.RECOVERY:
        if mine[m.LOST_OUT] > 0:
            recovery.begin_recovery(mine, flow)
        elif state != s.REDUCING:
            if marked > 0:
                flow[s.CAUSE] = s.MARK
                recovery.begin_reduction(mine, flow)
                mine[m.ASK] = s.MARK
                recovery.change_state(mine, flow, s.REDUCING)
            else:
                recovery.change_state(mine, flow, s.DISORDER if mine[m.SACKED_OUT] > 0 else s.OPEN)
    newly_lost = mine[m.LOST_COUNT] - lost_before
    if (advanced > 0 or acked > 0) and not waiting:
        arm(mine, due, packets, now)
    flow[s.LOST] = newly_lost
    flow[s.LOST_TOTAL] = mine[m.LOST_COUNT]
    flow[s.IN_FLIGHT] = in_flight(mine)
    if flow[s.ALGORITHM] != POLICY:
        state = mine[m.SENDER_STATE]
        if flow[s.CONTROLS] == 1.0:
            dispatch.acknowledged(flow)
        elif state in (s.REDUCING, s.RECOVERY):
            if acked > 0:
                recovery.reduce_proportionally(mine, flow, acked, newly_lost, advanced)
        elif advanced > 0:
            dispatch.acknowledged(flow)
    mine[m.WINDOW_SUM] += int(flow[s.CWND])


@helper
def time_out(mine, due, flow, packets, lost, now):
    """Handle the expiry of the retransmission timer (tcp_retransmit_timer, tcp_enter_loss)."""
    if mine[m.UNA] == mine[m.NXT]:
        due[m.TIMER] = m.NEVER
        return
    mask = packets.shape[0] - 1
    new = mine[m.SENDER_STATE] < s.RECOVERY
    mine[m.TIMEOUTS] += 1
    mine[m.RECOVERING] = 1 if mine[m.SENDER_STATE] >= s.REDUCING else 0
    flow[s.NOW] = now
    flow[s.CAUSE] = s.TIMEOUT
    lost_before = mine[m.LOST_COUNT]
    flow[s.ACKED] = flow[s.ADVANCED] = flow[s.MARKED] = 0.0
    flow[s.PRIOR_IN_FLIGHT] = in_flight(mine)
    if (
        mine[m.SENDER_STATE] <= s.DISORDER
        or mine[m.UNA] >= mine[m.HIGH]
        or (mine[m.SENDER_STATE] == s.LOSS and mine[m.TIMEOUTS_IN_ROW] == 0)
    ):
        recovery.begin_reduction(mine, flow)
        mine[m.UNDO] = 1
        if mine[m.TIMEOUTS_IN_ROW] == 0:
            mine[m.FIRST_RETRANSMISSION] = 0
    mine[m.LOST_HEAD] = mine[m.LOST_TAIL]
    sequence = mine[m.UNA]
    while sequence < mine[m.NXT]:
        packet = packets[sequence & mask]
        if packet[m.FLAGS] & m.IS_DELIVERED == 0:
            if sequence == mine[m.UNA] or packet[m.SENT_AT] + mine[m.RACK_RTT] <= now:
                mark_lost(mine, packets, lost, sequence)
            elif packet[m.FLAGS] & (m.IS_LOST | m.IS_RETRANSMITTED) == m.IS_LOST:
                to_retransmit(mine, packets, lost, sequence)
        sequence += 1
    mine[m.FRTO] = 1 if new or mine[m.TIMEOUTS_IN_ROW] > 0 else 0
    mine[m.HIGH] = mine[m.NXT]
    mine[m.PROBED_HIGH] = 0
    mine[m.TIMEOUTS_IN_ROW] += 1
    mine[m.BACKOFF] += 1
    flow[s.IN_FLIGHT] = in_flight(mine)
    flow[s.LOST] = mine[m.LOST_COUNT] - lost_before
    flow[s.LOST_TOTAL] = mine[m.LOST_COUNT]
    flow[s.CWND] = flow[s.IN_FLIGHT] + 1.0
    mine[m.ASK] = s.TIMEOUT
    if mine[m.SENDER_STATE] == s.LOSS:
        flow[s.PRIOR_STATE] = s.LOSS
        dispatch.changed(flow)
    else:
        recovery.change_state(mine, flow, s.LOSS)
    mine[m.TIMER_KIND] = m.RETRANSMISSION
    due[m.TIMER] = now + timeout_after(mine)


@helper
def stop_waiting_for_reordering(mine, due, flow, packets, transmissions, lost, now):
    """Handle the expiry of RACK's timer: overdue packets are lost (tcp_rack_reo_timeout)."""
    before = mine[m.LOST_COUNT]
    flow[s.NOW] = now
    due[m.TIMER] = m.NEVER
    mine[m.RECOVERING] = 1 if mine[m.SENDER_STATE] >= s.REDUCING else 0
    waiting = detect_losses(mine, due, packets, transmissions, lost, now)
    flow[s.ACKED] = flow[s.ADVANCED] = flow[s.MARKED] = 0.0
    flow[s.LOST] = mine[m.LOST_COUNT] - before
    flow[s.LOST_TOTAL] = mine[m.LOST_COUNT]
    flow[s.IN_FLIGHT] = in_flight(mine)
    if mine[m.LOST_COUNT] > before and mine[m.SENDER_STATE] < s.RECOVERY:
        recovery.begin_recovery(mine, flow)
        if flow[s.CONTROLS] == 0.0:
            recovery.reduce_proportionally(mine, flow, 1, 0, 0)
    if not waiting:
        mine[m.TIMER_KIND] = m.REORDERING
        due[m.TIMER] = now
        arm_retransmission(mine, due, packets, now)
