"""Copa (Arun and Balakrishnan, NSDI 2018), as the simulator's `copa` has it.

It aims at 1 / (delta x queueing delay) packets a second, with a velocity that doubles while the window keeps its
direction. Where the queue was not nearly empty for five round trips, a flow that fills buffers is taken to compete, and
1 / delta behaves as Reno's window does. The limit of the velocity and what it does at heavy loss are those of the
authors' code.
"""

SLOW_START = "policy"  # its own, not the mechanism's

DELTA = 0.5
BASE_US = 10000000  # what is the least round-trip time of this long has no queue
ROUNDS_OF_MAXIMUM = 4
NEARLY_EMPTY = 0.1  # of the span from the least to the largest delay
ROUNDS_TO_EMPTY = 5
ROUNDS_TO_DRAIN = 10  # what slow start left in the queue is not somebody else's
ROUNDS_BEFORE_DOUBLING = 3
HEAVY_LOSS = 0.3  # of the packets of two round trips
NONE = 1e12


class policy:
    window = 0  # packets; 0 before the first acknowledgement
    in_slow_start = 1
    velocity = 1
    direction = 0  # 1 up, -1 down
    same_rounds = 0  # round trips that it has kept
    round_end = 0  # packets delivered when the round trip is over
    round_window = 0  # the window when it began
    empty_at = 0  # when the queue was last nearly empty
    fastest = 0
    counted_at = 0  # since when losses are counted
    counted_lost = 0
    counted_delivered = 0
    competitive = 0  # 1 / delta where another flow fills the buffer, else 0
    # minima over half a round trip (the standing one) and over BASE_US, and of the negative over 4 round trips: each of
    # an older and a newer half, and when the newer one began
    older = [NONE] * 3
    newer = [NONE] * 3
    turned = [0] * 3


def on_ack(state, window, flow):
    if policy.window == 0 or flow.in_slow_start:
        policy.window = state.cwnd_packets
        policy.round_window = state.cwnd_packets
    elif policy.in_slow_start == 2 and state.cause == 0:  # the mechanism's, which is over
        policy.window = state.cwnd_packets
        policy.round_window = state.cwnd_packets
        policy.in_slow_start = 0
        policy.empty_at = state.now_us + ROUNDS_TO_DRAIN * state.smoothed_rtt_us
    if flow.in_slow_start:
        policy.in_slow_start = 2

    policy.fastest = max(policy.fastest, state.delivery_rate_bps)
    for k in range(3):
        span = ROUNDS_OF_MAXIMUM * state.smoothed_rtt_us
        if k == 0:
            span = state.smoothed_rtt_us / 2
        elif k == 1:
            span = BASE_US
        age = state.now_us - policy.turned[k]
        if age >= span / 2:
            policy.older[k] = policy.newer[k] if age < span else NONE
            policy.newer[k] = NONE
            policy.turned[k] = state.now_us
        policy.newer[k] = min(policy.newer[k], state.rtt_us if k < 2 else -state.rtt_us)
    standing = min(policy.older[0], policy.newer[0])
    base = min(policy.older[1], policy.newer[1])
    most = -min(policy.older[2], policy.newer[2])
    waiting = max(standing - base, 0)

    two_packets = 16e6 * state.mss_bytes / max(policy.fastest, 1)
    if waiting <= NEARLY_EMPTY * (most - base) + two_packets:
        policy.empty_at = max(policy.empty_at, state.now_us)
    if state.now_us - policy.empty_at > ROUNDS_TO_EMPTY * state.smoothed_rtt_us:
        policy.competitive = max(policy.competitive, 1 / DELTA)
    else:
        policy.competitive = 0
    inverse = policy.competitive if policy.competitive > 0 else 1 / DELTA
    below = policy.window * waiting <= inverse * standing

    if policy.in_slow_start == 1:
        if below:
            policy.window += state.acked_packets
            policy.round_window = policy.window
        else:
            policy.in_slow_start = 0
            policy.empty_at = state.now_us + ROUNDS_TO_DRAIN * state.smoothed_rtt_us
    if policy.in_slow_start == 0:
        if state.delivered_packets > policy.round_end:
            direction = 1 if policy.window > policy.round_window else -1
            if direction != policy.direction:
                policy.velocity = 1
                policy.same_rounds = 0
            else:
                policy.same_rounds += 1
                if policy.same_rounds >= ROUNDS_BEFORE_DOUBLING:
                    policy.velocity *= 2
            policy.direction = direction
            policy.round_window = policy.window
            policy.round_end = state.delivered_packets + state.in_flight_packets
            if policy.competitive > 0:
                policy.competitive += 1
        if (policy.direction < 0 and below) or (policy.direction > 0 and not below):
            policy.velocity = 1
            policy.same_rounds = 0
        if policy.velocity * inverse > policy.window:  # it at most doubles the window in a round trip
            policy.velocity = max(policy.velocity / 2, 1)
        change = policy.velocity * inverse * state.acked_packets / max(policy.window, 1)
        policy.window += change if below else -change
    lost = state.lost_total_packets - policy.counted_lost
    delivered = state.delivered_packets - policy.counted_delivered
    if state.now_us > policy.counted_at + 2 * state.smoothed_rtt_us and lost + delivered > 20:
        if lost > HEAVY_LOSS * (lost + delivered):
            policy.window *= 0.7
        policy.counted_at = state.now_us
        policy.counted_lost = state.lost_total_packets
        policy.counted_delivered = state.delivered_packets
    policy.window = min(max(policy.window, 2), 65535)
    flow.pacing_bps = 2 * policy.window * state.mss_bytes * 8e6 / max(standing, 1)


def on_loss(state, window, flow):
    if policy.in_slow_start == 2:
        policy.window = max(state.cwnd_packets / 2, 2)
        policy.round_window = policy.window
        policy.in_slow_start = 0
        policy.empty_at = state.now_us + ROUNDS_TO_DRAIN * state.smoothed_rtt_us
    if policy.competitive > 0:
        policy.competitive = max(policy.competitive / 2, 1 / DELTA)


def on_timeout(state, window, flow):
    policy.window = min(max(state.in_flight_packets + 1, 2), 65535)
    policy.velocity = 1
    policy.direction = 0
    policy.same_rounds = 0


def cwnd(state, window):
    wanted = min(max(policy.window, 2), 65535)
    if 1 <= state.cause <= 2:
        return min(wanted, state.cwnd_packets)
    return wanted
