"""Of a search whose drafts a language model measured, on the task's generated links: FAST's law on the largest rate
since the queue last stood, so that bursts that drain within a round trip cost no window. Beside a flow that fills the
buffer it grows, and tests by the delay whether it is alone.
"""

SLOW_START = "policy"

SHARE = 0.05  # of the base round trip: the queueing delay aimed at
PACKETS = 2.5  # at least so many packets of queue
NOISE = 1.15  # at least so much of the variation within a round trip
USUAL = 0.5  # and of the least delay that is usual, which is not ours where a smaller window leaves it
EMPTY = 0.65  # of the aim: below it the queue counts as empty
BOOST = 5  # growth doubles each round trip that the queue stays empty, to so many SHAREs
SHORT = 1.5  # round trips of the short maximum of the rate
LONG = 10  # and of the long one
STOOD = 1.7  # aims: a least queue of a round trip above it stands
UP = 0.6  # packets a packet acknowledged
DOWN = 0.9
PACE = 1.3
HIGH = 2.0  # aims: a queue above it is not ours
SPAN = 0.3  # and this part of the span of delays: what falls from its peak is ours
ROUNDS = 6  # round trips of it show a competitor
YIELD = 0.5
JOINT = 2.0  # times the share of joint acknowledgements
BATCH = 1.6  # at least so much of the time between batches of acknowledgements, less a packet's
STALL = 0.6  # base round trips without an acknowledgement: the link stood still, and its rate is as before
MORE = 3.0  # packets a round trip beside a competitor
FURTHER = 1.4  # times the window, the next test
ALONE = 0.65  # of the growth of the window: growth of the delay above it is the flow's own
LEAVE = 3  # times below that, the competitor is gone
NONE = 1e12


class policy:
    window = 0
    starting = 1
    boost = 1
    round_end = 0
    empty_at = 0
    rival = 0  # 1 where another flow may fill the buffer, 2 where it gave way
    begun = 0  # the window when the round trip began
    mark = 0  # that window and the standing delay at the latest test
    mark_rtt = 0
    wait = 10  # round trips until the next
    last = 0
    thaw = 0
    batch = 0
    joint = 0
    # minima, each of an older and a newer half: standing and least round-trip time; negative: largest, short, long rate
    older = [NONE] * 5
    newer = [NONE] * 5
    turned = [0] * 5


def on_ack(state, window, flow):
    if policy.window == 0:
        policy.window = state.cwnd_packets
    base = state.min_rtt_us
    gap = state.now_us - policy.last
    policy.last = state.now_us
    part = min(gap, base / 2)
    if not policy.starting:
        policy.batch += 0.1 * part / max(state.smoothed_rtt_us, 1) * (part - policy.batch)
    sample = state.delivery_rate_bps / (8 * state.mss_bytes)  # packets a second
    for k in range(5):
        value = state.rtt_us
        span = 0.5
        if k == 1:
            span = 1.5
        elif k == 2:
            value = -value
            span = 4
        elif k > 2:
            value = -sample
            span = SHORT if k == 3 else LONG
        span *= state.smoothed_rtt_us
        age = state.now_us - policy.turned[k]
        if age >= span / 2:
            policy.older[k] = policy.newer[k] if age < span else NONE
            policy.newer[k] = NONE
            policy.turned[k] = state.now_us
        policy.newer[k] = min(policy.newer[k], value)
    standing = min(policy.older[0], policy.newer[0])
    least = min(policy.older[1], policy.newer[1]) - base
    most = -min(policy.older[2], policy.newer[2])
    short = -min(policy.older[3], policy.newer[3])
    queue = max(standing - base, 0)
    if gap > STALL * base and gap * short > 4e6:
        policy.thaw = state.now_us + 1.2 * base

    noise = window.avg_rtt_us.window_percentile(0.4, 30) - window.min_rtt_us.window_percentile(0.4, 30)
    fastest = window.bandwidth_bps.window_percentile(0.9, 150) / (8 * state.mss_bytes)
    close = 1 if gap * fastest < 2e5 or state.acked_packets > 2 else 0
    policy.joint += 0.02 * (close - policy.joint)
    noise = min(JOINT * policy.joint, 1) * max(NOISE * noise, BATCH * (policy.batch - 1e6 / short), 0)
    aim = max(SHARE * base, noise)
    high = HIGH * max(aim, 1e6 * PACKETS / fastest) + SPAN * (most - base)
    if policy.rival:
        high /= LEAVE
    aim = max(aim, 1e6 * PACKETS / short, USUAL * (window.min_rtt_us.window_percentile(0.4, 50) - base))

    if least > STOOD * aim and state.now_us > policy.thaw:
        policy.older[4] = -short
        policy.newer[4] = -short
    rate = -min(policy.older[4], policy.newer[4])

    if queue <= high:
        policy.empty_at = max(policy.empty_at, state.now_us)
        policy.rival = 0
    elif policy.rival == 0 and state.now_us - policy.empty_at > ROUNDS * state.smoothed_rtt_us:
        policy.rival = 1
        policy.mark = 0

    if state.delivered_packets > policy.round_end:
        policy.boost = min(max(policy.boost * 2, 1), BOOST) if least < EMPTY * aim else 0
        policy.round_end = state.delivered_packets + state.in_flight_packets
        if policy.mark == 0 or policy.begun < policy.mark:
            policy.mark = policy.begun
            policy.mark_rtt = standing
        elif policy.rival and policy.begun > FURTHER * policy.mark:
            # alone, a larger window only brings more delay; else a competitor gives way
            if standing > policy.mark_rtt * (1 + ALONE * (policy.begun / policy.mark - 1)):
                policy.rival -= 1
                if policy.rival == 0:
                    policy.wait = min(2 * policy.wait, 160)
                    policy.empty_at = state.now_us + policy.wait * state.smoothed_rtt_us
            else:
                policy.rival = 2
                policy.wait = 10
            policy.mark = policy.begun
            policy.mark_rtt = standing
        policy.begun = policy.window
    if queue > aim:
        policy.boost = 0

    pace = PACE
    if policy.starting and queue > 2 * aim:
        policy.starting = 0
        policy.empty_at = state.now_us + 4 * state.smoothed_rtt_us
    if policy.starting:
        policy.window += state.acked_packets
        pace = 2
    else:
        target = rate * (base + aim) / 1e6
        if policy.boost > 0:
            target = max(target, policy.window + policy.boost * SHARE * state.acked_packets)
        if policy.rival:
            target = policy.window + min(MORE / policy.window, 0.25) * state.acked_packets
        target = min(target, policy.window + UP * state.acked_packets)
        down = DOWN if state.now_us > policy.thaw else 0
        policy.window = max(target, policy.window - down * state.acked_packets)
    policy.window = max(policy.window, 2)
    flow.pacing_bps = pace * policy.window * state.mss_bytes * 8e6 / max(standing, 1)


def on_loss(state, window, flow):
    policy.starting = 0
    if policy.rival:
        policy.window = max(policy.window * YIELD, 2)


def on_timeout(state, window, flow):
    policy.starting = 0
    policy.window = max(policy.window / 2, 2)


def cwnd(state, window):
    most = 65535
    if 1 <= state.cause <= 2:
        most = state.cwnd_packets
    return min(max(policy.window, 2), most)
