"""A likeness of Vegas (Brakmo and Peterson, 1995): keeps between ALPHA and BETA packets of its own in the queue."""

ALPHA = 2
BETA = 4


def cwnd(state, window):
    if state.cause != 0:
        return max(state.cwnd_packets / 2, 2)
    if state.in_recovery or state.acked_since_change_packets < state.cwnd_packets:
        return state.cwnd_packets
    queued = state.cwnd_packets * (state.rtt_us - state.min_rtt_us) / (state.rtt_us + 1)
    if queued < ALPHA:
        return min(state.cwnd_packets + 1, 65535)
    if queued > BETA:
        return max(state.cwnd_packets - 1, 2)
    return state.cwnd_packets
