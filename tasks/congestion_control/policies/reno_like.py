"""A likeness of Reno (RFC 5681), without its state: a packet more each round-trip time, half as many at a loss."""


def cwnd(state, window):
    if state.cause != 0:
        return max(state.cwnd_packets / 2, 2)
    if state.in_recovery or state.acked_since_change_packets < state.cwnd_packets:
        return state.cwnd_packets
    return min(state.cwnd_packets + 1, 65535)
