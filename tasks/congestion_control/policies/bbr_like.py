"""A simplification of BBR (Cardwell et al., 2016): the rate at which its model sends becomes a window.

Start-up, drain, a cycle of gains that probes for bandwidth, and every ten seconds a probe for the round-trip time. BBR
paces packets at gain x bandwidth, and its window of twice the bandwidth-delay product is only a bound. A window is all
there is here, so the gains are those of the window itself.
"""

import math

HIGH_GAIN = 2.885
FULL_GROWTH = 1.25
FULL_ROUNDS = 3
PROBE_GAIN = 1.25
DRAIN_GAIN = 0.75
MARGIN = 3  # packets, for acknowledgements that are delayed
MIN_WINDOW = 4
MIN_RTT_US = 10000000
PROBE_RTT_US = 200000


class policy:
    mode = 0  # 0 start-up, 1 drain, 2 probe for bandwidth, 3 drain for the probe of the round-trip time, 4 that probe
    window = 10
    rates = [0] * 10  # the largest sample of each of the latest round trips, as a ring
    round = 0
    bandwidth = 0  # the largest of them
    min_rtt = 0
    probed_rtt = 0
    full_bandwidth = 0
    full_rounds = 0
    is_full = 0
    phase = 0  # of eight, each a round trip
    conserves = 0  # packets are conserved for a round trip after a loss


def packets(gain, mss):
    return gain * policy.bandwidth * policy.min_rtt / (8e6 * mss) + MARGIN


def on_timer(state, window, flow):
    if policy.mode == 4:
        policy.min_rtt = policy.probed_rtt
        policy.mode = 2 if policy.is_full else 0
        policy.phase = (8 - math.floor(7 * random())) % 8
        flow.timer_after_us = MIN_RTT_US
    else:
        policy.mode = 3
        policy.probed_rtt = state.rtt_us


def on_window(state, window, flow):
    policy.conserves = 0
    if policy.mode < 3:
        policy.round += 1
        policy.rates[policy.round] = 0
        policy.phase = (policy.phase + 1) % 8
    if not policy.is_full:
        if policy.bandwidth >= FULL_GROWTH * policy.full_bandwidth:
            policy.full_bandwidth = policy.bandwidth
            policy.full_rounds = 0
        else:
            policy.full_rounds += 1
            if policy.full_rounds >= FULL_ROUNDS:
                policy.is_full = 1
                policy.mode = 1 if policy.mode == 0 else policy.mode


def on_ack(state, window, flow):
    policy.rates[policy.round] = max(policy.rates[policy.round], state.delivery_rate_bps)
    best = 0
    for k in range(10):
        best = max(best, policy.rates[k])
    policy.bandwidth = best
    if state.rtt_us > 0 and (policy.min_rtt == 0 or state.rtt_us < policy.min_rtt):
        policy.min_rtt = state.rtt_us
        if policy.mode < 3:
            flow.timer_after_us = MIN_RTT_US
    policy.probed_rtt = min(policy.probed_rtt, state.rtt_us)

    if policy.mode == 1 and state.in_flight_packets <= packets(1, state.mss_bytes):
        policy.mode = 2
        policy.phase = (8 - math.floor(7 * random())) % 8
    elif policy.mode == 3 and state.in_flight_packets <= MIN_WINDOW:
        policy.mode = 4
        flow.timer_after_us = PROBE_RTT_US
    elif policy.phase == 1 and state.in_flight_packets <= packets(1, state.mss_bytes):
        policy.phase = 2

    gain = HIGH_GAIN
    if policy.mode == 1:
        gain = 1
    elif policy.mode == 2:
        gain = PROBE_GAIN if policy.phase == 0 else DRAIN_GAIN if policy.phase == 1 else 1
    target = packets(gain, state.mss_bytes)
    grown = (state.cwnd_packets if flow.in_slow_start else policy.window) + state.acked_packets
    if policy.mode > 2:
        policy.window = MIN_WINDOW
    elif policy.conserves:
        policy.window = state.in_flight_packets + state.acked_packets
    elif policy.is_full or policy.bandwidth > 0:
        policy.window = min(grown, target)
    else:
        policy.window = grown
    policy.window = min(max(policy.window, MIN_WINDOW), 65535)


def on_loss(state, window, flow):
    policy.conserves = 1
    policy.window = min(max(state.in_flight_packets + state.acked_packets, MIN_WINDOW), 65535)


def on_timeout(state, window, flow):
    policy.window = MIN_WINDOW
    policy.full_bandwidth = 0
    policy.full_rounds = 0


def cwnd(state, window):
    wanted = min(max(policy.window, 2), 65535)
    if 1 <= state.cause <= 2:
        return min(wanted, state.cwnd_packets)
    return wanted
