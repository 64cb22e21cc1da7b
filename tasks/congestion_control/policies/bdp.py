"""The bandwidth-delay product, from the best rate of the last ten round trips, and a little more to find out."""

GAIN = 1.1
MAX_WINDOW = 65535


def cwnd(state, window):
    bits = window.bandwidth_bps.window_percentile(1, 10) * state.min_rtt_us / 1e6
    packets = min(GAIN * bits / (8 * state.mss_bytes) + 2, MAX_WINDOW)
    if state.cause != 0:
        return min(packets, state.cwnd_packets)
    return packets
