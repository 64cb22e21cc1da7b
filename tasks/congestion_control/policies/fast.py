"""FAST TCP (Wei, Jin, Low and Hegde, 2006): once a round trip, towards ALPHA packets of its own in the queue."""

ALPHA = 4


def cwnd(state, window):
    if state.cause != 0:
        return max(state.cwnd_packets / 2, 2)
    if state.in_recovery or state.round_trip_acked_packets > state.acked_packets:
        return state.cwnd_packets
    return min(max(state.cwnd_packets * state.min_rtt_us / (state.rtt_us + 1) + ALPHA, 2), 65535)
