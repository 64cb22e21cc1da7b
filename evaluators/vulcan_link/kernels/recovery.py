"""Congestion states of a sender: window reduction, fast recovery, and recovery from a timeout.

Proportional rate reduction (RFC 6937), and Eifel detection of spurious timeouts with timestamps (RFC 3522) or F-RTO
(RFC 5682), as in Linux.
"""

import math

from vulcan.kernel_support import function, helper
from vulcan_link import engine_state as m
from vulcan_link import flow_state as s
from vulcan_link.algorithms import POLICY, dispatch
from vulcan_link.kernels.scoreboard import in_flight

MAX_STEPS, RECOVERIES_TO_FORGET = 255, 16
"""Linux's bounds of how long RACK waits, and for how many recoveries it remembers why."""


@function
def change_state(mine, flow, state):
    if mine[m.SENDER_STATE] != state:
        flow[s.PRIOR_STATE] = mine[m.SENDER_STATE]
        mine[m.SENDER_STATE] = state
        flow[s.STATE] = state
        dispatch.changed(flow)


@function
def begin_reduction(mine, flow):
    """Linux's tcp_init_cwnd_reduction; CAUSE says what for."""
    mine[m.HIGH] = mine[m.NXT]
    mine[m.PROBED_HIGH] = 0
    mine[m.PRR_DELIVERED] = mine[m.PRR_OUT] = 0
    flow[s.PRIOR_CWND] = flow[s.CWND]
    flow[s.PRIOR_SSTHRESH] = flow[s.SSTHRESH]
    if flow[s.ALGORITHM] != POLICY:
        flow[s.SSTHRESH] = dispatch.reduced(flow)


@function
def begin_recovery(mine, flow):
    mine[m.UNDO_RECOVERY] = 1
    mine[m.UNDO_RETRANSMITTED] = 0
    flow[s.CAUSE] = s.CONGESTION
    if mine[m.SENDER_STATE] == s.REDUCING:
        mine[m.HIGH] = mine[m.NXT]
    else:
        begin_reduction(mine, flow)
    mine[m.ASK] = s.CONGESTION
    change_state(mine, flow, s.RECOVERY)


@helper
def end_reduction(mine, flow):
    if flow[s.CONTROLS] == 0.0 and flow[s.SSTHRESH] < s.NO_THRESHOLD:
        flow[s.CWND] = flow[s.SSTHRESH]


@function
def reduce_proportionally(mine, flow, acked, lost, advanced):
    """Proportional rate reduction (RFC 6937, with Linux's tcp_cwnd_reduction)."""
    flying = in_flight(mine)
    delta = int(flow[s.SSTHRESH]) - flying
    mine[m.PRR_DELIVERED] += acked
    if delta < 0:
        due = math.ceil(flow[s.SSTHRESH] * mine[m.PRR_DELIVERED] / max(flow[s.PRIOR_CWND], 1.0))
        count = int(due) - mine[m.PRR_OUT]
    else:
        count = max(mine[m.PRR_DELIVERED] - mine[m.PRR_OUT], acked)
        if advanced > 0 and lost == 0:
            count += 1
        count = min(delta, count)
    count = max(count, 0 if mine[m.PRR_OUT] > 0 else 1)
    flow[s.CWND] = flying + count


@function
def undo(mine, flow, packets):
    """Undo a needless reduction: nothing is deemed lost, and the window is restored (tcp_undo_cwnd_reduction)."""
    mask = packets.shape[0] - 1
    sequence = mine[m.UNA]
    while sequence < mine[m.NXT]:
        packets[sequence & mask, m.FLAGS] &= ~m.IS_LOST
        sequence += 1
    mine[m.LOST_OUT] = 0
    mine[m.LOST_HEAD] = mine[m.LOST_TAIL]
    flow[s.CWND] = dispatch.undone(flow)
    flow[s.SSTHRESH] = max(flow[s.SSTHRESH], flow[s.PRIOR_SSTHRESH])
    change_state(mine, flow, s.OPEN)


@function
def undo_timeout(mine, flow, packets):
    """Undo a spurious timeout."""
    mine[m.UNDO] = mine[m.FRTO] = mine[m.TIMEOUTS_IN_ROW] = 0
    undo(mine, flow, packets)


# Reordering: only where packets may come late. The queue alone keeps their order.


@function
def wait_longer(mine, acked, prior_delivered, needless):
    """Have RACK wait longer after a needless retransmission, by a quarter of the least round trip.

    `needless` are the duplicates that an acknowledgement reports (RFC 2883), `acked` what it newly acknowledges, and
    `prior_delivered` that of its rate sample. As in tcp_rack_update_reo_wnd.
    """
    if needless > 0:
        mine[m.NEEDLESS] = 1
        mine[m.UNDO_RETRANSMITTED] = max(mine[m.UNDO_RETRANSMITTED] - needless, 0)
    if acked == 0:
        return
    if prior_delivered < mine[m.STEPPED_AT]:  # not a round trip since the latest
        mine[m.NEEDLESS] = 0
    if mine[m.NEEDLESS] == 1:
        mine[m.REORDERING_STEPS] = min(mine[m.REORDERING_STEPS] + 1, MAX_STEPS)
        mine[m.NEEDLESS] = 0
        mine[m.STEPPED_AT] = mine[m.DELIVERED_COUNT]
        mine[m.REORDERING_PERSIST] = RECOVERIES_TO_FORGET
    elif mine[m.REORDERING_PERSIST] == 0:
        mine[m.REORDERING_STEPS] = 1


@function
def undo_recovery(mine, flow, packets, advanced, echo, needless):
    """Undo a recovery that was needless (tcp_try_undo_recovery, _partial and _dsack). Returns whether it was.

    It was where all that was sent again was reported as a duplicate, or where what it waited for arrives and was sent
    before the first retransmission (Eifel).
    """
    if mine[m.UNDO_RECOVERY] == 0 or mine[m.MAY_REORDER] == 0:
        return False
    over = mine[m.UNA] >= mine[m.HIGH]
    retransmitted = mine[m.FIRST_RETRANSMISSION] > 0
    original = advanced > 0 and (not retransmitted or 0 < echo < mine[m.FIRST_RETRANSMISSION])
    if original and not over:
        mine[m.REORDERINGS] += 1
    none_needed = mine[m.UNDO_RETRANSMITTED] == 0 and (needless > 0 or (over and retransmitted))
    if not (none_needed or (original and (over or mine[m.RETRANSMITTED_OUT] == 0))):
        if over and mine[m.REORDERING_PERSIST] > 0:
            mine[m.REORDERING_PERSIST] -= 1
        return False
    mine[m.UNDO_RECOVERY] = 0
    mine[m.FIRST_RETRANSMISSION] = 0
    undo(mine, flow, packets)
    return True


@function
def process_loss_state(mine, flow, packets, advanced, sacked, original, echo):
    """After a timeout (tcp_process_loss): was it spurious, is it over, or is what was lost to be sent again?"""
    spurious = advanced > 0 and 0 < echo < mine[m.FIRST_RETRANSMISSION]
    if mine[m.UNDO] == 1 and (spurious or (mine[m.FRTO] == 1 and original == 1)):
        undo_timeout(mine, flow, packets)
        return
    over = mine[m.UNA] >= mine[m.HIGH]
    if mine[m.FRTO] == 1:
        if mine[m.NXT] > mine[m.HIGH]:
            if sacked > 0:
                mine[m.FRTO] = 0
        elif advanced > 0 and not over:
            mine[m.HIGH] = mine[m.NXT]
            if mine[m.NXT] - mine[m.UNA] < mine[m.RECEIVE_WINDOW]:
                mine[m.NEW_DATA_FIRST] = 1
                return
            mine[m.FRTO] = 0
    if over:
        mine[m.UNDO] = mine[m.FRTO] = mine[m.TIMEOUTS_IN_ROW] = 0
        change_state(mine, flow, s.OPEN)
