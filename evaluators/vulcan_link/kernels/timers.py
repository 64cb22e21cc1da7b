"""Round-trip estimate and retransmission timer of a sender (RFC 6298, with Linux's bounds)."""

from vulcan.kernel_support import function, helper
from vulcan_link import engine_state as m
from vulcan_link import flow_state as s

MIN_RTO, MAX_RTO = 200_000_000, 120_000_000_000
TICK = 2_000_000  # what Linux adds to the timers of probes and of reordering


@helper
def estimate(mine, rtt):
    """RFC 6298 with Linux's fast rise and slow fall of the variation (tcp_rtt_estimator)."""
    if mine[m.SRTT] == 0:
        mine[m.SRTT] = rtt * 8
        mine[m.DEVIATION] = rtt * 2
        mine[m.VARIATION] = mine[m.DEVIATION_MAX] = max(rtt * 2, MIN_RTO)
        mine[m.VARIATION_END] = mine[m.NXT]
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
        if mine[m.DEVIATION] > mine[m.DEVIATION_MAX]:
            mine[m.DEVIATION_MAX] = mine[m.DEVIATION]
            mine[m.VARIATION] = max(mine[m.VARIATION], mine[m.DEVIATION_MAX])
        if mine[m.UNA] > mine[m.VARIATION_END]:
            if mine[m.DEVIATION_MAX] < mine[m.VARIATION]:
                mine[m.VARIATION] -= (mine[m.VARIATION] - mine[m.DEVIATION_MAX]) >> 2
            mine[m.VARIATION_END] = mine[m.NXT]
            mine[m.DEVIATION_MAX] = MIN_RTO
    mine[m.RTO] = min((mine[m.SRTT] >> 3) + mine[m.VARIATION], MAX_RTO)


@function
def timeout_after(mine):
    """Return the retransmission timeout with its backoff, ns."""
    return min(mine[m.RTO] << min(mine[m.BACKOFF], 20), MAX_RTO)


@function
def arm_retransmission(mine, due, packets, now):
    """Restart the timer; what a probe or a wait for reordering has used up of it counts (tcp_rearm_rto)."""
    if mine[m.UNA] == mine[m.NXT]:
        due[m.TIMER] = m.NEVER
        return
    wait = timeout_after(mine)
    if due[m.TIMER] != m.NEVER and mine[m.TIMER_KIND] != m.RETRANSMISSION:
        sent = packets[mine[m.UNA] & (packets.shape[0] - 1), m.SENT_AT]
        wait = max(sent + wait - now, 1)
    mine[m.TIMER_KIND] = m.RETRANSMISSION
    due[m.TIMER] = now + wait


@function
def arm(mine, due, packets, now):
    """Restart the timer: for a tail loss probe where one may be sent, else for a retransmission."""
    state = mine[m.SENDER_STATE]
    if mine[m.UNA] != mine[m.NXT] and mine[m.PROBED_HIGH] == 0 and state in (s.OPEN, s.REDUCING):
        wait = (mine[m.SRTT] >> 2) + (MIN_RTO if mine[m.NXT] - mine[m.UNA] == 1 else TICK)
        mine[m.TIMER_KIND] = m.PROBE
        due[m.TIMER] = now + min(wait, timeout_after(mine))
    else:
        arm_retransmission(mine, due, packets, now)
