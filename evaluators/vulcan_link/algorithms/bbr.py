"""BBR version 1 as Linux's tcp_bbr.c has it (Cardwell et al., "BBR: congestion-based congestion control", ACM Queue
14(5), 2016), with its estimate of acknowledgement aggregation.

Left out is the long-term sampling that detects token-bucket policers.
"""

import math

from vulcan.kernel_support import function
from vulcan_link import flow_state
from vulcan_link import flow_state as s
from vulcan_link.kernels.random_numbers import below

STARTUP, DRAIN, PROBE_BANDWIDTH, PROBE_RTT = range(4)

HIGH_GAIN = 2885.0 / 1000.0
DRAIN_GAIN = 1000.0 / 2885.0
CWND_GAIN = 2.0
FULL_THRESHOLD = 1.25
FULL_ROUNDS = 3.0
MIN_CWND = 4.0
BANDWIDTH_ROUNDS = 10.0
MARGIN = 0.99  # of the rate that is paced at
MIN_RTT_WINDOW = 10_000_000_000.0
PROBE_RTT_TIME = 200_000_000.0
EXTRA_ROUNDS = 5.0
EXTRA_MAX = 100_000_000.0  # ns of bandwidth that is the most of what aggregation may add
CYCLE = 8
UNKNOWN = -1.0

MODE = s.OWN
BEST = s.OWN + 1  # windowed maximum of bandwidth, packets a ns: three samples and the rounds they are of
BEST_ROUND = s.OWN + 4
ROUND = s.OWN + 7
NEXT_ROUND = s.OWN + 8  # DELIVERED that ends the round
ROUND_STARTED = s.OWN + 9
PACING_GAIN = s.OWN + 10
WINDOW_GAIN = s.OWN + 11
FULL_BANDWIDTH = s.OWN + 12
FULL_COUNT = s.OWN + 13
FULL = s.OWN + 14
CYCLE_INDEX = s.OWN + 15
CYCLE_TIME = s.OWN + 16
MIN_RTT = s.OWN + 17
MIN_RTT_TIME = s.OWN + 18
PROBE_DONE = s.OWN + 19  # ns; 0 while it has not been set
PROBE_ROUND_DONE = s.OWN + 20
SAVED_CWND = s.OWN + 21
CONSERVING = s.OWN + 22
SEEN_RTT = s.OWN + 24
EXTRA_EPOCH = s.OWN + 25
EXTRA_DELIVERED = s.OWN + 26
EXTRA = s.OWN + 27  # two maxima
EXTRA_INDEX = s.OWN + 29
EXTRA_ROUND = s.OWN + 30
STATE_SEEN = s.OWN + 31


@function
def bandwidth(flow):
    """Packets a ns."""
    return flow[BEST]


@function
def running_maximum(flow, value):
    """Return the maximum over the last BANDWIDTH_ROUNDS rounds, by Nichols' three samples (Linux: lib/minmax.c)."""
    now = flow[ROUND]
    if value >= flow[BEST] or now - flow[BEST_ROUND + 2] > BANDWIDTH_ROUNDS:
        for k in range(3):
            flow[BEST + k] = value
            flow[BEST_ROUND + k] = now
        return
    if value >= flow[BEST + 1]:
        flow[BEST + 1] = flow[BEST + 2] = value
        flow[BEST_ROUND + 1] = flow[BEST_ROUND + 2] = now
    elif value >= flow[BEST + 2]:
        flow[BEST + 2] = value
        flow[BEST_ROUND + 2] = now
    age = now - flow[BEST_ROUND]
    if age > BANDWIDTH_ROUNDS:
        for _ in range(2):
            if now - flow[BEST_ROUND] > BANDWIDTH_ROUNDS:
                flow[BEST] = flow[BEST + 1]
                flow[BEST_ROUND] = flow[BEST_ROUND + 1]
                flow[BEST + 1] = flow[BEST + 2]
                flow[BEST_ROUND + 1] = flow[BEST_ROUND + 2]
                flow[BEST + 2] = value
                flow[BEST_ROUND + 2] = now
    elif flow[BEST_ROUND + 1] == flow[BEST_ROUND] and age > BANDWIDTH_ROUNDS / 4.0:
        flow[BEST + 1] = flow[BEST + 2] = value
        flow[BEST_ROUND + 1] = flow[BEST_ROUND + 2] = now
    elif flow[BEST_ROUND + 2] == flow[BEST_ROUND + 1] and age > BANDWIDTH_ROUNDS / 2.0:
        flow[BEST + 2] = value
        flow[BEST_ROUND + 2] = now


@function
def burst(flow):
    """Packets that leave at a time (Linux: bbr_tso_segs_goal): those of 1 ms, at least 2 above 1.2 Mbit/s."""
    least = 2.0 if flow[s.PACING_RATE] >= 1_200_000.0 else 1.0
    return min(max(math.floor(flow[s.PACING_RATE] / 8000.0 * 1000.0 / 1024.0 / flow[s.PACKET_BYTES]), least), 127.0)


@function
def set_rate(flow, packets_per_ns, gain):
    rate = packets_per_ns * flow[s.PACKET_BYTES] * 8e9 * gain * MARGIN
    if flow[SEEN_RTT] == 0.0 and flow[s.SMOOTHED_RTT] > 0.0:
        initial_rate(flow)
    if flow[FULL] == 1.0 or rate > flow[s.PACING_RATE]:
        flow[s.PACING_RATE] = rate


@function
def initial_rate(flow):
    rtt = 1_000_000.0
    if flow[s.SMOOTHED_RTT] > 0.0:
        rtt = flow[s.SMOOTHED_RTT]
        flow[SEEN_RTT] = 1.0
    flow[s.PACING_RATE] = flow[s.CWND] / rtt * flow[s.PACKET_BYTES] * 8e9 * HIGH_GAIN * MARGIN


@function
def pipe(flow, gain):
    """Return the bandwidth-delay product times the gain, in packets."""
    if flow[MIN_RTT] == 0.0:
        return flow[s.INITIAL_WINDOW]
    return math.ceil(bandwidth(flow) * flow[MIN_RTT] * gain)


@function
def budget(flow, packets, gain):
    """With room for what is under way in bursts (Linux: bbr_quantization_budget)."""
    packets += 3.0 * burst(flow)
    packets = 2.0 * math.floor((packets + 1.0) / 2.0)
    if flow[MODE] == PROBE_BANDWIDTH and flow[CYCLE_INDEX] == 0.0:
        packets += 2.0
    return packets


@function
def in_flight_at(flow, gain):
    return budget(flow, pipe(flow, gain), gain)


@function
def in_network(flow, in_flight):
    """Return the packets still in flight when the next one can leave (Linux: bbr_packets_in_net_at_edt)."""
    delivered = math.floor(bandwidth(flow) * max(flow[s.NEXT_SEND] - flow[s.NOW], 0.0))
    if flow[PACING_GAIN] > 1.0:
        in_flight += burst(flow)
    return max(in_flight - delivered, 0.0)


@function
def begin_cycle(flow):
    flow[MODE] = PROBE_BANDWIDTH
    flow[CYCLE_INDEX] = CYCLE - 1 - below(flow, s.RANDOM, 7)
    advance_cycle(flow)


@function
def advance_cycle(flow):
    flow[CYCLE_INDEX] = (flow[CYCLE_INDEX] + 1.0) % CYCLE
    flow[CYCLE_TIME] = flow[s.NOW]


@function
def leave_probe_rtt(flow):
    if flow[FULL] == 1.0:
        begin_cycle(flow)
    else:
        flow[MODE] = STARTUP


@function
def begin(flow):
    for slot in range(s.OWN, STATE_SEEN + 1):
        flow[slot] = 0.0
    flow[MODE] = STARTUP
    flow[MIN_RTT] = flow[flow_state.MIN_RTT]  # the handshake's, where there is one
    flow[MIN_RTT_TIME] = flow[s.NOW]
    flow[EXTRA_EPOCH] = flow[s.NOW]
    flow[PACING_GAIN] = flow[WINDOW_GAIN] = HIGH_GAIN
    initial_rate(flow)


@function
def update_bandwidth(flow):
    flow[ROUND_STARTED] = 0.0
    if flow[s.SAMPLE_DELIVERED] < 0.0 or flow[s.SAMPLE_INTERVAL] <= 0.0:
        return
    if flow[s.SAMPLE_PRIOR_DELIVERED] >= flow[NEXT_ROUND]:
        flow[NEXT_ROUND] = flow[s.DELIVERED]
        flow[ROUND] += 1.0
        flow[ROUND_STARTED] = 1.0
        flow[CONSERVING] = 0.0
    sample = flow[s.SAMPLE_DELIVERED] / flow[s.SAMPLE_INTERVAL]
    if flow[s.SAMPLE_LIMITED] == 0.0 or sample >= bandwidth(flow):
        running_maximum(flow, sample)


@function
def update_aggregation(flow):
    """Return how much more than the bandwidth was acknowledged at once (Linux: bbr_update_ack_aggregation)."""
    if flow[s.SAMPLE_DELIVERED] < 0.0 or flow[s.SAMPLE_INTERVAL] <= 0.0 or flow[s.ACKED] <= 0.0:
        return
    if flow[ROUND_STARTED] == 1.0:
        flow[EXTRA_ROUND] += 1.0
        if flow[EXTRA_ROUND] >= EXTRA_ROUNDS:
            flow[EXTRA_ROUND] = 0.0
            flow[EXTRA_INDEX] = 1.0 - flow[EXTRA_INDEX]
            flow[EXTRA + int(flow[EXTRA_INDEX])] = 0.0
    expected = math.floor(bandwidth(flow) * (flow[s.NOW] - flow[EXTRA_EPOCH]))
    if flow[EXTRA_DELIVERED] <= expected or flow[EXTRA_DELIVERED] + flow[s.ACKED] >= 1048575.0:
        flow[EXTRA_DELIVERED] = 0.0
        flow[EXTRA_EPOCH] = flow[s.NOW]
        expected = 0.0
    flow[EXTRA_DELIVERED] += flow[s.ACKED]
    extra = min(flow[EXTRA_DELIVERED] - expected, flow[s.CWND])
    at = EXTRA + int(flow[EXTRA_INDEX])
    flow[at] = max(flow[at], extra)


@function
def aggregation(flow):
    if flow[FULL] == 0.0:
        return 0.0
    return min(max(flow[EXTRA], flow[EXTRA + 1]), math.floor(bandwidth(flow) * EXTRA_MAX))


@function
def update_cycle(flow):
    if flow[MODE] != PROBE_BANDWIDTH:
        return
    in_flight = in_network(flow, flow[s.PRIOR_IN_FLIGHT])
    full_length = flow[s.NOW] - flow[CYCLE_TIME] > flow[MIN_RTT]
    if flow[PACING_GAIN] == 1.0:
        over = full_length
    elif flow[PACING_GAIN] > 1.0:
        over = full_length and (flow[s.LOST] > 0.0 or in_flight >= in_flight_at(flow, flow[PACING_GAIN]))
    else:
        over = full_length or in_flight <= in_flight_at(flow, 1.0)
    if over:
        advance_cycle(flow)


@function
def check_full(flow):
    if flow[FULL] == 1.0 or flow[ROUND_STARTED] == 0.0 or flow[s.SAMPLE_LIMITED] == 1.0:
        return
    if bandwidth(flow) >= flow[FULL_BANDWIDTH] * FULL_THRESHOLD:
        flow[FULL_BANDWIDTH] = bandwidth(flow)
        flow[FULL_COUNT] = 0.0
        return
    flow[FULL_COUNT] += 1.0
    if flow[FULL_COUNT] >= FULL_ROUNDS:
        flow[FULL] = 1.0


@function
def check_drain(flow):
    if flow[MODE] == STARTUP and flow[FULL] == 1.0:
        flow[MODE] = DRAIN
        flow[s.SSTHRESH] = in_flight_at(flow, 1.0)
    if flow[MODE] == DRAIN and in_network(flow, flow[s.IN_FLIGHT]) <= in_flight_at(flow, 1.0):
        begin_cycle(flow)


@function
def check_probe_rtt_done(flow):
    if flow[PROBE_DONE] == 0.0 or flow[s.NOW] <= flow[PROBE_DONE]:
        return
    flow[MIN_RTT_TIME] = flow[s.NOW]
    flow[s.CWND] = max(flow[s.CWND], flow[SAVED_CWND])
    leave_probe_rtt(flow)


@function
def save_cwnd(flow):
    if flow[STATE_SEEN] < s.RECOVERY and flow[MODE] != PROBE_RTT:
        flow[SAVED_CWND] = flow[s.CWND]
    else:
        flow[SAVED_CWND] = max(flow[SAVED_CWND], flow[s.CWND])


@function
def update_min_rtt(flow):
    expired = flow[s.NOW] > flow[MIN_RTT_TIME] + MIN_RTT_WINDOW
    if flow[s.RTT] >= 0.0 and (
        flow[MIN_RTT] == 0.0 or flow[s.RTT] < flow[MIN_RTT] or (expired and flow[s.SAMPLE_DELAYED] == 0.0)
    ):
        flow[MIN_RTT] = flow[s.RTT]
        flow[MIN_RTT_TIME] = flow[s.NOW]
    if expired and flow[MODE] != PROBE_RTT:
        flow[MODE] = PROBE_RTT
        save_cwnd(flow)
        flow[PROBE_DONE] = 0.0
    if flow[MODE] == PROBE_RTT:
        flow[s.LIMITED_UNTIL] = max(flow[s.DELIVERED] + flow[s.IN_FLIGHT], 1.0)  # its low rates are not the path's
        if flow[PROBE_DONE] == 0.0 and flow[s.IN_FLIGHT] <= MIN_CWND:
            flow[PROBE_DONE] = flow[s.NOW] + PROBE_RTT_TIME
            flow[PROBE_ROUND_DONE] = 0.0
            flow[NEXT_ROUND] = flow[s.DELIVERED]
        elif flow[PROBE_DONE] != 0.0:
            if flow[ROUND_STARTED] == 1.0:
                flow[PROBE_ROUND_DONE] = 1.0
            if flow[PROBE_ROUND_DONE] == 1.0:
                check_probe_rtt_done(flow)


@function
def update_gains(flow):
    mode = flow[MODE]
    if mode == STARTUP:
        flow[PACING_GAIN] = flow[WINDOW_GAIN] = HIGH_GAIN
    elif mode == DRAIN:
        flow[PACING_GAIN] = DRAIN_GAIN
        flow[WINDOW_GAIN] = HIGH_GAIN
    elif mode == PROBE_BANDWIDTH:
        index = flow[CYCLE_INDEX]
        flow[PACING_GAIN] = 1.25 if index == 0.0 else 0.75 if index == 1.0 else 1.0
        flow[WINDOW_GAIN] = CWND_GAIN
    else:
        flow[PACING_GAIN] = flow[WINDOW_GAIN] = 1.0


@function
def set_cwnd(flow):
    acked = flow[s.ACKED]
    if acked > 0.0:
        window = flow[s.CWND]
        if flow[s.LOST] > 0.0:
            window = max(window - flow[s.LOST], 1.0)
        state, before = flow[s.STATE], flow[STATE_SEEN]
        conserving = False
        if state == s.RECOVERY and before != s.RECOVERY:  # packet conservation for the first round of recovery
            flow[CONSERVING] = 1.0
            flow[NEXT_ROUND] = flow[s.DELIVERED]
            window = flow[s.IN_FLIGHT] + acked
        elif before >= s.RECOVERY and state < s.RECOVERY:
            window = max(window, flow[SAVED_CWND])
            flow[CONSERVING] = 0.0
        flow[STATE_SEEN] = state
        if flow[CONSERVING] == 1.0:
            window = max(window, flow[s.IN_FLIGHT] + acked)
            conserving = True
        if not conserving:
            target = budget(flow, pipe(flow, flow[WINDOW_GAIN]) + aggregation(flow), flow[WINDOW_GAIN])
            if flow[FULL] == 1.0:
                window = min(window + acked, target)
            elif window < target or flow[s.DELIVERED] < flow[s.INITIAL_WINDOW]:
                window += acked
            window = max(window, MIN_CWND)
        flow[s.CWND] = window
    if flow[MODE] == PROBE_RTT:
        flow[s.CWND] = min(flow[s.CWND], MIN_CWND)


@function
def acknowledged(flow):
    update_bandwidth(flow)
    update_aggregation(flow)
    update_cycle(flow)
    check_full(flow)
    check_drain(flow)
    update_min_rtt(flow)
    update_gains(flow)
    set_rate(flow, bandwidth(flow), flow[PACING_GAIN])
    set_cwnd(flow)


@function
def reduced(flow):
    save_cwnd(flow)
    return flow[s.SSTHRESH]


@function
def changed(flow):
    if flow[s.STATE] == s.LOSS:
        flow[STATE_SEEN] = s.LOSS
        flow[FULL_BANDWIDTH] = 0.0
        flow[ROUND_STARTED] = 1.0


@function
def undone(flow):
    flow[FULL_BANDWIDTH] = 0.0
    flow[FULL_COUNT] = 0.0
    return flow[s.CWND]
