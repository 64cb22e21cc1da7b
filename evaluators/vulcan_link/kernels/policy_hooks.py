"""Hooks that call a policy: the features it sees, when it is called, and how its answer is applied."""

from __future__ import annotations

import math

from vulcan.anvil.native.policy_calls import call_event, call_score
from vulcan.kernel_support import function, helper
from vulcan_link import engine_state as m
from vulcan_link.algorithms import cubic
from vulcan_link.engine_state import DELIVERED_COUNT, LOST_COUNT
from vulcan_link.flow_state import (
    ACKED,
    ACKNOWLEDGEMENT,
    CAUSE,
    CONGESTION,
    CWND,
    IN_FLIGHT,
    LOST,
    MARK,
    MARKED,
    MAX_RTT,
    MIN_RTT,
    NO_THRESHOLD,
    NOW,
    OWN,
    PACED,
    PACING_RATE,
    PACKET_BYTES,
    PAYLOAD_BYTES,
    RTT,
    SAMPLE_DELIVERED,
    SAMPLE_INTERVAL,
    SAMPLE_SENT_INTERVAL,
    SMOOTHED_RTT,
    SSTHRESH,
    STARTED,
    TIMEOUT,
)
from vulcan_link.kernels.signals import begin_signals, show_signals
from vulcan_link.policy_state import (
    ON_ACK,
    ON_ECN,
    ON_LOSS,
    ON_TIMEOUT,
    ON_TIMER,
    ON_WINDOW,
    PACING,
    SLOT,
    TIMER_AFTER,
)
from vulcan_link.scenario import MAX_PACKETS

MIN_WINDOW = 2.0
MAX_WINDOW = float(MAX_PACKETS)
MIN_ROUND = 1_000_000.0
MICROSECOND = 1000.0
MIN_PACING, MAX_PACING = 8.0, 1e12  # bits/s; below, packets are not paced

# The policy's bookkeeping, behind the slots that cubic's HyStart uses while the mechanism runs slow start.
LAST_LOSS = OWN + 32
CHANGED = OWN + 33  # packets delivered when the window last changed
ROUND_BEGAN = OWN + 34
ROUND_DELIVERED = OWN + 35
ROUND_LOST = OWN + 36
ROUND_MARKED = OWN + 37
ROUND_MIN = OWN + 38
ROUND_MAX = OWN + 39
ROUND_SUM = OWN + 40
ROUND_SAMPLES = OWN + 41
TIMER_DUE = OWN + 42  # us since the flow began, infinite while the policy's timer is off
IS_PACED = OWN + 43  # 1 where the policy has set the rate
EXACT = OWN + 44  # the window with the fraction of what the policy returned
CONFIGURED = OWN + 45  # whether the flow is paced where the policy sets no rate
MAX_TIMER = float(1 << 40)

_NOW = SLOT["state.now_us"]
_CAUSE = SLOT["state.cause"]
_CWND = SLOT["state.cwnd_packets"]
_SSTHRESH = SLOT["state.ssthresh_packets"]
_IN_FLIGHT = SLOT["state.in_flight_packets"]
_ACKED = SLOT["state.acked_packets"]
_LOST = SLOT["state.lost_packets"]
_RTT = SLOT["state.rtt_us"]
_SMOOTHED = SLOT["state.smoothed_rtt_us"]
_MIN_RTT = SLOT["state.min_rtt_us"]
_MAX_RTT = SLOT["state.max_rtt_us"]
_RATE = SLOT["state.delivery_rate_bps"]
_MAX_BANDWIDTH = SLOT["state.max_bandwidth_bps"]
_MIN_BANDWIDTH = SLOT["state.min_bandwidth_bps"]
_DELIVERED = SLOT["state.delivered_packets"]
_LOST_TOTAL = SLOT["state.lost_total_packets"]
_MARKED = SLOT["state.ecn_marked_packets"]
_ECN = SLOT["state.ecn_enabled"]
_MAX_CWND = SLOT["state.max_cwnd_packets"]
_MSS = SLOT["state.mss_bytes"]
_SINCE_LOSS = SLOT["state.since_loss_us"]
_RECOVERY = SLOT["state.in_recovery"]
_SINCE_CHANGE = SLOT["state.acked_since_change_packets"]
_ROUND_ACKED = SLOT["state.round_trip_acked_packets"]
_ROUNDS = SLOT["state.round_trips"]
_EXACT = SLOT["state.cwnd_exact_packets"]
_SEND_RATE = SLOT["state.send_rate_bps"]
_CUBIC = SLOT["state.cubic_cwnd_packets"]
_W_DURATION = SLOT["window.duration_us"]
_W_DELIVERED = SLOT["window.delivered_packets"]
_W_BYTES = SLOT["window.delivered_bytes"]
_W_BANDWIDTH = SLOT["window.bandwidth_bps"]
_W_LOST = SLOT["window.lost_packets"]
_W_ECN = SLOT["window.ecn_packets"]
_W_MIN = SLOT["window.min_rtt_us"]
_W_AVG = SLOT["window.avg_rtt_us"]
_W_MAX = SLOT["window.max_rtt_us"]
_IN_SLOW_START = SLOT["flow.in_slow_start"]
_TIMER = SLOT["flow.timer_us"]


@function
def begin(mine, flow, shown, ecn):
    """Initialise the state at the start of a flow."""
    flow[LAST_LOSS] = flow[ROUND_BEGAN] = flow[NOW]
    flow[ROUND_MIN] = flow[TIMER_DUE] = math.inf
    flow[EXACT] = flow[CWND]
    flow[CONFIGURED] = flow[PACED]
    mine[m.SLOW_START] = mine[m.SLOW_START_BY_MECHANISM]
    shown[_SSTHRESH] = MAX_WINDOW
    shown[_ECN] = ecn
    shown[_MSS] = flow[PAYLOAD_BYTES]
    shown[_CWND] = shown[_EXACT] = shown[_MAX_CWND] = shown[_CUBIC] = flow[CWND]
    cubic.begin(flow)
    if mine[m.SIGNALS] == 1:
        begin_signals(flow)


@function
def observe_round(mine, flow, shown):
    """Count towards the round trip at hand. Returns whether it is over; `window` then shows it."""
    rtt = flow[RTT]
    if rtt >= 0.0:
        flow[ROUND_MIN] = min(flow[ROUND_MIN], rtt)
        flow[ROUND_MAX] = max(flow[ROUND_MAX], rtt)
        flow[ROUND_SUM] += rtt
        flow[ROUND_SAMPLES] += 1.0
    flow[ROUND_MARKED] += flow[MARKED]
    duration = flow[NOW] - flow[ROUND_BEGAN]
    delivered = mine[DELIVERED_COUNT] - flow[ROUND_DELIVERED]
    if mine[m.UNA] <= mine[m.ROUND_END] or duration < MIN_ROUND or delivered <= 0.0:
        return False
    shown[_W_DURATION] = math.floor(duration / 1e3)
    shown[_W_DELIVERED] = delivered
    shown[_W_BYTES] = delivered * flow[PAYLOAD_BYTES]
    bandwidth = delivered * flow[PAYLOAD_BYTES] * 8e9 / duration
    shown[_W_BANDWIDTH] = bandwidth
    # a packet may be lost more than once in a round trip
    shown[_W_LOST] = min(mine[LOST_COUNT] - flow[ROUND_LOST], 2.0 * MAX_WINDOW)
    shown[_W_ECN] = flow[ROUND_MARKED]
    if flow[ROUND_SAMPLES] > 0.0:
        shown[_W_MIN] = math.floor(flow[ROUND_MIN] / 1e3)
        shown[_W_AVG] = math.floor(flow[ROUND_SUM] / flow[ROUND_SAMPLES] / 1e3)
        shown[_W_MAX] = math.floor(flow[ROUND_MAX] / 1e3)
    shown[_MAX_BANDWIDTH] = max(shown[_MAX_BANDWIDTH], bandwidth)
    if shown[_ROUNDS] == 0.0 or bandwidth < shown[_MIN_BANDWIDTH]:
        shown[_MIN_BANDWIDTH] = bandwidth
    shown[_ROUNDS] += 1.0
    flow[ROUND_BEGAN] = flow[NOW]
    flow[ROUND_DELIVERED] = mine[DELIVERED_COUNT]
    flow[ROUND_LOST] = mine[LOST_COUNT]
    flow[ROUND_MARKED] = flow[ROUND_MAX] = flow[ROUND_SUM] = flow[ROUND_SAMPLES] = 0.0
    flow[ROUND_MIN] = math.inf
    mine[m.ROUND_END] = mine[m.NXT]
    return True


@function
def show(mine, flow, shown):
    """Write the features of `state`."""
    shown[_NOW] = math.floor((flow[NOW] - flow[STARTED]) / 1e3)
    shown[_CAUSE] = mine[m.ASK]
    shown[_CWND] = max(math.floor(flow[CWND]), MIN_WINDOW)  # at a timeout it may be 1
    # of a window that the mechanism has changed since, the fraction is nothing
    shown[_EXACT] = flow[EXACT] if math.floor(flow[EXACT]) == shown[_CWND] else shown[_CWND]
    shown[_IN_FLIGHT] = flow[IN_FLIGHT]
    shown[_ACKED] = flow[ACKED]
    shown[_LOST] = flow[LOST]
    if flow[RTT] >= 0.0:
        shown[_RTT] = math.floor(flow[RTT] / 1e3)
    shown[_SMOOTHED] = math.floor(flow[SMOOTHED_RTT] / 1e3)
    shown[_MIN_RTT] = math.floor(flow[MIN_RTT] / 1e3)
    shown[_MAX_RTT] = math.floor(flow[MAX_RTT] / 1e3)
    if flow[SAMPLE_INTERVAL] > 0.0 and flow[CAUSE] != TIMEOUT:
        shown[_RATE] = flow[SAMPLE_DELIVERED] * flow[PAYLOAD_BYTES] * 8e9 / flow[SAMPLE_INTERVAL]
        if flow[SAMPLE_SENT_INTERVAL] >= MICROSECOND:
            shown[_SEND_RATE] = flow[SAMPLE_DELIVERED] * flow[PAYLOAD_BYTES] * 8e9 / flow[SAMPLE_SENT_INTERVAL]
    shown[_DELIVERED] = mine[DELIVERED_COUNT]
    shown[_LOST_TOTAL] = mine[LOST_COUNT]
    shown[_MARKED] = flow[MARKED]
    shown[_SINCE_LOSS] = math.floor((flow[NOW] - flow[LAST_LOSS]) / 1e3)
    shown[_RECOVERY] = mine[m.RECOVERING]
    shown[_SINCE_CHANGE] = mine[DELIVERED_COUNT] - flow[CHANGED]
    shown[_ROUND_ACKED] = mine[DELIVERED_COUNT] - flow[ROUND_DELIVERED]


@function
def clamped(answer):
    """Return a number of packets in the declared range."""
    return min(max(answer, MIN_WINDOW), MAX_WINDOW)


@function
def slow_start_continues(mine, flow):
    """Return the mechanism's slow start: doubles until SSTHRESH, which HyStart may set (see `algorithms/cubic.py`)."""
    if mine[m.SLOW_START] == 0:
        return False
    cubic.sampled(flow)
    flow[CWND] = flow[EXACT] = min(flow[CWND] + flow[ACKED], flow[SSTHRESH])
    if flow[CWND] >= flow[SSTHRESH] or flow[CWND] >= MAX_WINDOW:
        mine[m.SLOW_START] = 0
    return True


@function
def show_flow(mine, flow, shown):
    """Write the features of `flow`."""
    due = flow[TIMER_DUE]
    shown[_TIMER] = max(due - shown[_NOW], 0.0) if due < math.inf else 0.0
    shown[_IN_SLOW_START] = 1.0 if mine[m.ASK] == ACKNOWLEDGEMENT and mine[m.SLOW_START] == 1 else 0.0


@function
def handle(handler, mine, flow, shown, records, statistics):
    """Call a handler, if there is one, and set the timer and the pacing rate if it says so."""
    if handler == 0:
        return
    show_flow(mine, flow, shown)
    shown[TIMER_AFTER] = shown[PACING] = math.nan
    call_event(handler, shown, records, 0, statistics, 0, 0.0)
    after = shown[TIMER_AFTER]
    if after >= 1.0:
        flow[TIMER_DUE] = shown[_NOW] + min(math.floor(after), MAX_TIMER)
    elif after < 1.0:
        flow[TIMER_DUE] = math.inf
    rate = shown[PACING]
    if rate >= MIN_PACING:
        flow[IS_PACED] = flow[PACED] = 1.0
        # of payload, as Linux paces, where the mechanism counts headers
        flow[PACING_RATE] = min(rate, MAX_PACING) * flow[PACKET_BYTES] / flow[PAYLOAD_BYTES]
    elif rate < MIN_PACING:
        flow[IS_PACED] = flow[PACING_RATE] = 0.0
        flow[PACED] = flow[CONFIGURED]


@function
def handle_events(mine, flow, handlers, shown, records, statistics, over, acknowledged):
    """Call the policy's handlers of what has happened."""
    cause = mine[m.ASK]
    if flow[TIMER_DUE] <= shown[_NOW]:
        flow[TIMER_DUE] = math.inf
        handle(handlers[ON_TIMER], mine, flow, shown, records, statistics)
    if over:
        handle(handlers[ON_WINDOW], mine, flow, shown, records, statistics)
    if acknowledged:
        handle(handlers[ON_ACK], mine, flow, shown, records, statistics)
    if cause == CONGESTION:
        handle(handlers[ON_LOSS], mine, flow, shown, records, statistics)
    elif cause == MARK:
        handle(handlers[ON_ECN], mine, flow, shown, records, statistics)
    elif cause == TIMEOUT:
        handle(handlers[ON_TIMEOUT], mine, flow, shown, records, statistics)


@helper
def ask(mine, flow, policy, handlers, shown, records, statistics, acknowledged):
    """Let the policy observe the event, and set the window to its answer if one is due."""
    score, update, round_over, interval_over, handles = policy
    cause = mine[m.ASK]
    over = observe_round(mine, flow, shown) if cause != TIMEOUT else False
    show(mine, flow, shown)
    interval = show_signals(mine, flow, shown, over) if mine[m.SIGNALS] == 1 else False
    if handles:
        show_flow(mine, flow, shown)
    if over and round_over != 0:
        call_event(round_over, shown, records, 0, statistics, 0, 0.0)
    if interval and interval_over != 0:
        call_event(interval_over, shown, records, 0, statistics, 0, 0.0)
    if update != 0:
        call_event(update, shown, records, 0, statistics, 0, 0.0)
    if handles:
        handle_events(mine, flow, handlers, shown, records, statistics, over, acknowledged)
    before = math.floor(flow[CWND])
    if cause != ACKNOWLEDGEMENT:
        flow[LAST_LOSS] = flow[NOW]
        shown[_SSTHRESH] = max(math.floor(flow[IN_FLIGHT] / 2.0), MIN_WINDOW)
        mine[m.SLOW_START] = 0
    elif slow_start_continues(mine, flow) or (mine[m.CALLED] == 1 and not over):
        note(mine, flow, shown, before)
        return
    exact = clamped(call_score(score, shown, records, 0, statistics, 0, 0.0))
    answer = math.floor(exact)
    mine[m.CALLS] += 1
    mine[m.DECISIONS] = mine[m.DECISIONS] * 6364136223846793005 + int(answer) + 1  # Knuth's multiplier, modulo 2**64
    if cause == TIMEOUT and mine[m.SLOW_START_BY_MECHANISM] == 1:
        flow[SSTHRESH] = answer
        cubic.begin(flow)
        mine[m.SLOW_START] = 1
    else:
        flow[CWND] = answer
        flow[EXACT] = exact
        if cause in (TIMEOUT, CONGESTION) or flow[SSTHRESH] == NO_THRESHOLD:
            flow[SSTHRESH] = answer
    note(mine, flow, shown, before)


@function
def note(mine, flow, shown, before):
    """Record when the window last changed, and its maximum."""
    window = math.floor(flow[CWND])
    if window != before:
        flow[CHANGED] = mine[DELIVERED_COUNT]
    shown[_MAX_CWND] = max(shown[_MAX_CWND], window)
