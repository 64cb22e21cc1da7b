"""A likeness of CUBIC (RFC 9438) without fast convergence: a cubic function of the time since the last loss, or Reno's
growth where that is faster. What it may not remember, the window before the last loss, is twice the slow-start
threshold.
"""

C = 0.4
BETA = 0.7
RENO = 0.529


def cwnd(state, window):
    if state.cause != 0:
        return max(state.cwnd_packets * BETA, 2)
    if state.in_recovery:
        return state.cwnd_packets
    if state.lost_total_packets == 0:
        grown = 4 * state.acked_since_change_packets >= state.cwnd_packets
        return min(state.cwnd_packets + grown, 65535)
    highest = 2 * state.ssthresh_packets
    seconds = (state.since_loss_us + state.min_rtt_us) / 1e6
    plateau = (highest * (1 - BETA) / C) ** (1 / 3)
    target = C * (seconds - plateau) ** 3 + highest
    friendly = BETA * highest + RENO * state.since_loss_us / (state.smoothed_rtt_us + 1)
    most = state.cwnd_packets + state.acked_packets
    return min(max(target, friendly, state.cwnd_packets), most, 65535)
