"""Hooks that call a policy: the features it sees, when it is called, and how its answer is applied."""

import math

from vulcan.anvil.native.policy_calls import call_event, call_score
from vulcan.kernel_support import function, helper
from vulcan_link import engine_state as m
from vulcan_link import flow_state as s
from vulcan_link import policy_state as p
from vulcan_link.algorithms import cubic
from vulcan_link.scenario import MAX_PACKETS

MIN_WINDOW = 2.0
MAX_WINDOW = float(MAX_PACKETS)
MIN_ROUND = 1_000_000.0
MICROSECOND = 1000.0
MIN_PACING, MAX_PACING = 8.0, 1e12  # bits/s; below, packets are not paced

# The policy's bookkeeping, behind the slots that cubic's HyStart uses while the mechanism runs slow start.
LAST_LOSS = s.OWN + 32
CHANGED = s.OWN + 33  # packets delivered when the window last changed
ROUND_BEGAN = s.OWN + 34
ROUND_DELIVERED = s.OWN + 35
ROUND_LOST = s.OWN + 36
ROUND_MARKED = s.OWN + 37
ROUND_MIN = s.OWN + 38
ROUND_MAX = s.OWN + 39
ROUND_SUM = s.OWN + 40
ROUND_SAMPLES = s.OWN + 41
TIMER_DUE = s.OWN + 42  # us since the flow began, infinite while the policy's timer is off
EXACT = s.OWN + 44  # the window with the fraction of what the policy returned
MAX_TIMER = float(1 << 40)


@function
def begin(mine, flow, shown, ecn):
    """Initialise the state at the start of a flow."""
    flow[LAST_LOSS] = flow[ROUND_BEGAN] = flow[s.NOW]
    flow[ROUND_MIN] = flow[TIMER_DUE] = math.inf
    flow[EXACT] = flow[s.CWND]
    mine[m.SLOW_START] = mine[m.SLOW_START_BY_MECHANISM]
    shown[p.SSTHRESH] = MAX_WINDOW
    shown[p.ECN] = ecn
    shown[p.MSS] = flow[s.PAYLOAD_BYTES]
    shown[p.CWND] = shown[p.EXACT] = shown[p.MAX_CWND] = flow[s.CWND]
    cubic.begin(flow)


@function
def observe_round(mine, flow, shown):
    """Count towards the round trip at hand. Returns whether it is over; `window` then shows it."""
    rtt = flow[s.RTT]
    if rtt >= 0.0:
        flow[ROUND_MIN] = min(flow[ROUND_MIN], rtt)
        flow[ROUND_MAX] = max(flow[ROUND_MAX], rtt)
        flow[ROUND_SUM] += rtt
        flow[ROUND_SAMPLES] += 1.0
    flow[ROUND_MARKED] += flow[s.MARKED]
    duration = flow[s.NOW] - flow[ROUND_BEGAN]
    delivered = mine[m.DELIVERED_COUNT] - flow[ROUND_DELIVERED]
    if mine[m.UNA] <= mine[m.ROUND_END] or duration < MIN_ROUND or delivered <= 0.0:
        return False
    shown[p.W_DURATION] = math.floor(duration / 1e3)
    shown[p.W_DELIVERED] = delivered
    shown[p.W_BYTES] = delivered * flow[s.PAYLOAD_BYTES]
    bandwidth = delivered * flow[s.PAYLOAD_BYTES] * 8e9 / duration
    shown[p.W_BANDWIDTH] = bandwidth
    # a packet may be lost more than once in a round trip
    shown[p.W_LOST] = min(mine[m.LOST_COUNT] - flow[ROUND_LOST], 2.0 * MAX_WINDOW)
    shown[p.W_ECN] = flow[ROUND_MARKED]
    if flow[ROUND_SAMPLES] > 0.0:
        shown[p.W_MIN] = math.floor(flow[ROUND_MIN] / 1e3)
        shown[p.W_AVG] = math.floor(flow[ROUND_SUM] / flow[ROUND_SAMPLES] / 1e3)
        shown[p.W_MAX] = math.floor(flow[ROUND_MAX] / 1e3)
    shown[p.MAX_BANDWIDTH] = max(shown[p.MAX_BANDWIDTH], bandwidth)
    if shown[p.ROUNDS] == 0.0 or bandwidth < shown[p.MIN_BANDWIDTH]:
        shown[p.MIN_BANDWIDTH] = bandwidth
    shown[p.ROUNDS] += 1.0
    flow[ROUND_BEGAN] = flow[s.NOW]
    flow[ROUND_DELIVERED] = mine[m.DELIVERED_COUNT]
    flow[ROUND_LOST] = mine[m.LOST_COUNT]
    flow[ROUND_MARKED] = flow[ROUND_MAX] = flow[ROUND_SUM] = flow[ROUND_SAMPLES] = 0.0
    flow[ROUND_MIN] = math.inf
    mine[m.ROUND_END] = mine[m.NXT]
    return True


@function
def show(mine, flow, shown):
    """Write the features of `state`."""
    shown[p.NOW] = math.floor((flow[s.NOW] - flow[s.STARTED]) / 1e3)
    shown[p.CAUSE] = mine[m.ASK]
    shown[p.CWND] = max(math.floor(flow[s.CWND]), MIN_WINDOW)  # at a timeout it may be 1
    # of a window that the mechanism has changed since, the fraction is nothing
    shown[p.EXACT] = flow[EXACT] if math.floor(flow[EXACT]) == shown[p.CWND] else shown[p.CWND]
    shown[p.IN_FLIGHT] = flow[s.IN_FLIGHT]
    shown[p.ACKED] = flow[s.ACKED]
    shown[p.LOST] = flow[s.LOST]
    if flow[s.RTT] >= 0.0:
        shown[p.RTT] = math.floor(flow[s.RTT] / 1e3)
    shown[p.SMOOTHED] = math.floor(flow[s.SMOOTHED_RTT] / 1e3)
    shown[p.MIN_RTT] = math.floor(flow[s.MIN_RTT] / 1e3)
    shown[p.MAX_RTT] = math.floor(flow[s.MAX_RTT] / 1e3)
    if flow[s.SAMPLE_INTERVAL] > 0.0 and flow[s.CAUSE] != s.TIMEOUT:
        shown[p.RATE] = flow[s.SAMPLE_DELIVERED] * flow[s.PAYLOAD_BYTES] * 8e9 / flow[s.SAMPLE_INTERVAL]
        if flow[s.SAMPLE_SENT_INTERVAL] >= MICROSECOND:
            shown[p.SEND_RATE] = flow[s.SAMPLE_DELIVERED] * flow[s.PAYLOAD_BYTES] * 8e9 / flow[s.SAMPLE_SENT_INTERVAL]
    shown[p.DELIVERED] = mine[m.DELIVERED_COUNT]
    shown[p.LOST_TOTAL] = mine[m.LOST_COUNT]
    shown[p.MARKED] = flow[s.MARKED]
    shown[p.SINCE_LOSS] = math.floor((flow[s.NOW] - flow[LAST_LOSS]) / 1e3)
    shown[p.RECOVERY] = mine[m.RECOVERING]
    shown[p.SINCE_CHANGE] = mine[m.DELIVERED_COUNT] - flow[CHANGED]
    shown[p.ROUND_ACKED] = mine[m.DELIVERED_COUNT] - flow[ROUND_DELIVERED]


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
    flow[s.CWND] = flow[EXACT] = min(flow[s.CWND] + flow[s.ACKED], flow[s.SSTHRESH])
    if flow[s.CWND] >= flow[s.SSTHRESH] or flow[s.CWND] >= MAX_WINDOW:
        mine[m.SLOW_START] = 0
    return True


@function
def show_flow(mine, flow, shown):
    """Write the features of `flow`."""
    due = flow[TIMER_DUE]
    shown[p.TIMER] = max(due - shown[p.NOW], 0.0) if due < math.inf else 0.0
    shown[p.IN_SLOW_START] = 1.0 if mine[m.ASK] == s.ACKNOWLEDGEMENT and mine[m.SLOW_START] == 1 else 0.0


@function
def handle(handler, mine, flow, shown, records, statistics):
    """Call a handler, if there is one, and set the timer and the pacing rate if it says so."""
    if handler == 0:
        return
    show_flow(mine, flow, shown)
    shown[p.TIMER_AFTER] = shown[p.PACING] = math.nan
    call_event(handler, shown, records, 0, statistics, 0, 0.0)
    after = shown[p.TIMER_AFTER]
    if after >= 1.0:
        flow[TIMER_DUE] = shown[p.NOW] + math.floor(min(after, MAX_TIMER))
    elif after < 1.0:
        flow[TIMER_DUE] = math.inf
    rate = shown[p.PACING]
    if rate >= MIN_PACING:
        flow[s.PACED] = 1.0
        # of payload, as Linux paces, where the mechanism counts headers
        flow[s.PACING_RATE] = min(rate, MAX_PACING) * flow[s.PACKET_BYTES] / flow[s.PAYLOAD_BYTES]
    elif rate < MIN_PACING:
        flow[s.PACED] = flow[s.PACING_RATE] = 0.0


@function
def handle_events(mine, flow, handlers, shown, records, statistics, over, acknowledged):
    """Call the policy's handlers of what has happened."""
    cause = mine[m.ASK]
    if flow[TIMER_DUE] <= shown[p.NOW]:
        flow[TIMER_DUE] = math.inf
        handle(handlers[p.ON_TIMER], mine, flow, shown, records, statistics)
    if over:
        handle(handlers[p.ON_WINDOW], mine, flow, shown, records, statistics)
    if acknowledged:
        handle(handlers[p.ON_ACK], mine, flow, shown, records, statistics)
    if cause == s.CONGESTION:
        handle(handlers[p.ON_LOSS], mine, flow, shown, records, statistics)
    elif cause == s.MARK:
        handle(handlers[p.ON_ECN], mine, flow, shown, records, statistics)
    elif cause == s.TIMEOUT:
        handle(handlers[p.ON_TIMEOUT], mine, flow, shown, records, statistics)


@helper
def ask(mine, flow, policy, handlers, shown, records, statistics, acknowledged):
    """Let the policy observe the event, and set the window to its answer if one is due."""
    score, update, round_over, handles = policy
    cause = mine[m.ASK]
    over = observe_round(mine, flow, shown) if cause != s.TIMEOUT else False
    show(mine, flow, shown)
    if handles:
        show_flow(mine, flow, shown)
    if over and round_over != 0:
        call_event(round_over, shown, records, 0, statistics, 0, 0.0)
    if update != 0:
        call_event(update, shown, records, 0, statistics, 0, 0.0)
    if handles:
        handle_events(mine, flow, handlers, shown, records, statistics, over, acknowledged)
    before = math.floor(flow[s.CWND])
    if cause != s.ACKNOWLEDGEMENT:
        flow[LAST_LOSS] = flow[s.NOW]
        shown[p.SSTHRESH] = max(math.floor(flow[s.IN_FLIGHT] / 2.0), MIN_WINDOW)
        mine[m.SLOW_START] = 0
    elif slow_start_continues(mine, flow) or (mine[m.CALLED] == 1 and not over):
        note(mine, flow, shown, before)
        return
    exact = clamped(call_score(score, shown, records, 0, statistics, 0, 0.0))
    answer = math.floor(exact)
    mine[m.CALLS] += 1
    mine[m.DECISIONS] = mine[m.DECISIONS] * 6364136223846793005 + int(answer) + 1  # Knuth's multiplier, modulo 2**64
    if cause == s.TIMEOUT and mine[m.SLOW_START_BY_MECHANISM] == 1:
        flow[s.SSTHRESH] = answer
        cubic.begin(flow)
        mine[m.SLOW_START] = 1
    else:
        flow[s.CWND] = answer
        flow[EXACT] = exact
        if cause in (s.TIMEOUT, s.CONGESTION) or flow[s.SSTHRESH] == s.NO_THRESHOLD:
            flow[s.SSTHRESH] = answer
    note(mine, flow, shown, before)


@function
def note(mine, flow, shown, before):
    """Record when the window last changed, and its maximum."""
    window = math.floor(flow[s.CWND])
    if window != before:
        flow[CHANGED] = mine[m.DELIVERED_COUNT]
    shown[p.MAX_CWND] = max(shown[p.MAX_CWND], window)
