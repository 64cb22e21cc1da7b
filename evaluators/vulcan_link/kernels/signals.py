"""Signals that only some policies read: application limits, one-way delay, ACK aggregation, CUBIC's own window, and
what happened in intervals of time.

They are kept behind a flow's slots, and only for a policy that reads one of them. CUBIC runs on the flow's
acknowledgements and losses with a window of its own, which nothing follows but a policy that returns it.
"""

from __future__ import annotations

import math

from vulcan.kernel_support import function
from vulcan_link import engine_state as m
from vulcan_link.algorithms import cubic
from vulcan_link.flow_state import (
    ACKED,
    ACKNOWLEDGEMENT,
    CAUSE,
    CWND,
    LOSS,
    NEXT,
    NO_THRESHOLD,
    NOW,
    ONE_WAY,
    OPEN,
    PACED,
    PACKET_BYTES,
    PAYLOAD_BYTES,
    PRIOR_CWND,
    RECOVERY,
    REDUCING,
    RTT,
    SAMPLE_INTERVAL,
    SAMPLE_LIMITED,
    SAMPLE_RATE,
    SIGNALS,
    SLOTS,
    SMOOTHED_RTT,
    SSTHRESH,
    STATE,
    TIMEOUT,
    UNACKED,
    WINDOW_LIMITED,
)
from vulcan_link.policy_state import SLOT

ROUNDS = 5.0
"""Round trips after which the older of two maxima is forgotten: both are of the latest 5 to 10, as in Linux's BBR."""

MAX_EPOCH = float(1 << 20)
"""Packets after which an epoch is begun again, as in Linux."""

_APP_LIMITED = SLOT["state.app_limited"]
_ONE_WAY = SLOT["state.one_way_delay_us"]
_EXTRA = SLOT["state.extra_acked_packets"]
_CUBIC = SLOT["state.cubic_cwnd_packets"]
_I_LASTED = SLOT["state.interval_us"]
_I_DELIVERED = SLOT["state.interval_delivered_packets"]
_I_LOST = SLOT["state.interval_lost_packets"]
_I_MIN = SLOT["state.interval_min_rtt_us"]
_I_AVG = SLOT["state.interval_avg_rtt_us"]
_I_MAX = SLOT["state.interval_max_rtt_us"]
_I_RATE = SLOT["state.interval_rate_bps"]
_I_MAX_RATE = SLOT["state.interval_max_rate_bps"]
_RATE = SLOT["state.delivery_rate_bps"]
_ROUND_TRIPS = SLOT["state.round_trips"]

INTERVAL = 100_000_000.0
"""Nanoseconds that an interval lasts, or a multiple of them where nothing is delivered."""

# Behind CUBIC's row.
_LEAST_ONE_WAY = SIGNALS + SLOTS  # ns
_EPOCH_BEGAN = _LEAST_ONE_WAY + 1  # ns, 0 before the first
_EPOCH_ACKED = _LEAST_ONE_WAY + 2  # packets
_PERIOD_BEGAN = _LEAST_ONE_WAY + 3  # round trips when the newer maxima began
_RATES = _LEAST_ONE_WAY + 4  # two maxima of the rate of delivery, bits/s on the wire
_EXTRAS = _LEAST_ONE_WAY + 6  # two of what was acknowledged beyond it, packets
_BEGAN = _LEAST_ONE_WAY + 8  # the interval at hand: ns
_DELIVERED_THEN = _BEGAN + 1  # packets when it began
_LOST_THEN = _BEGAN + 2
_LEAST_RTT = _BEGAN + 3  # ns, of its samples
_MOST_RTT = _BEGAN + 4
_RTT_SUM = _BEGAN + 5
_RTT_SAMPLES = _BEGAN + 6
_MOST_RATE = _BEGAN + 7
_DELIVERED = _BEGAN + 8  # packets before the event at hand
_LOST = _BEGAN + 9


@function
def begin_signals(flow):
    """Initialise the signals at the start of a flow."""
    flow[_LEAST_ONE_WAY] = -1.0
    own = flow[SIGNALS : SIGNALS + SLOTS]
    own[CWND] = flow[CWND]
    own[SSTHRESH] = NO_THRESHOLD
    own[STATE] = OPEN
    own[NOW], own[NEXT] = flow[NOW], flow[NEXT]
    cubic.begin(own)
    flow[_BEGAN] = flow[NOW]
    flow[_LEAST_RTT] = math.inf


@function
def show_signals(mine, flow, shown, over):
    """Write the signals, after an acknowledgement, a loss, a mark or a time-out; `over`: so is a round trip.

    Returns whether an interval is over.
    """
    if flow[CAUSE] != TIMEOUT and flow[SAMPLE_INTERVAL] > 0.0:
        shown[_APP_LIMITED] = flow[SAMPLE_LIMITED]
    if flow[CAUSE] != TIMEOUT and flow[ONE_WAY] >= 0.0:
        if flow[_LEAST_ONE_WAY] < 0.0 or flow[ONE_WAY] < flow[_LEAST_ONE_WAY]:
            flow[_LEAST_ONE_WAY] = flow[ONE_WAY]
        shown[_ONE_WAY] = (flow[ONE_WAY] - flow[_LEAST_ONE_WAY]) // 1e3
    _aggregation(flow, shown, over)
    _cubic(mine, flow)
    shown[_CUBIC] = min(max(flow[SIGNALS + CWND], 1.0), 65_535.0)
    return _observe_interval(mine, flow, shown)


@function
def _aggregation(flow, shown, over):
    """Linux's bbr_update_ack_aggregation: what an epoch acknowledged beyond what the rate of delivery explains."""
    if over and shown[_ROUND_TRIPS] - flow[_PERIOD_BEGAN] >= ROUNDS:
        flow[_PERIOD_BEGAN] = shown[_ROUND_TRIPS]
        flow[_RATES + 1], flow[_RATES] = flow[_RATES], 0.0
        flow[_EXTRAS + 1], flow[_EXTRAS] = flow[_EXTRAS], 0.0
    rate = max(flow[_RATES], flow[_RATES + 1])
    if flow[SAMPLE_RATE] > 0.0 and (flow[SAMPLE_LIMITED] == 0.0 or flow[SAMPLE_RATE] >= rate):
        flow[_RATES] = max(flow[_RATES], flow[SAMPLE_RATE])
        rate = max(rate, flow[SAMPLE_RATE])
    if flow[ACKED] <= 0.0 or rate <= 0.0:
        return
    expected = rate * (flow[NOW] - flow[_EPOCH_BEGAN]) / 8e9 / flow[PACKET_BYTES]
    if flow[_EPOCH_BEGAN] == 0.0 or flow[_EPOCH_ACKED] <= expected or flow[_EPOCH_ACKED] + flow[ACKED] >= MAX_EPOCH:
        flow[_EPOCH_ACKED] = expected = 0.0
        flow[_EPOCH_BEGAN] = flow[NOW]
    flow[_EPOCH_ACKED] += flow[ACKED]
    flow[_EXTRAS] = max(flow[_EXTRAS], min(flow[_EPOCH_ACKED] - expected, flow[CWND]))
    shown[_EXTRA] = max(flow[_EXTRAS], flow[_EXTRAS + 1]) // 1.0


@function
def _observe_interval(mine, flow, shown):
    """Count towards the interval at hand. Returns whether one was over before; the features of intervals then show it.

    An interval ends on a multiple of its length since the flow began, and after something was delivered in it.
    """
    lasted = (flow[NOW] - flow[_BEGAN]) // INTERVAL * INTERVAL
    delivered = flow[_DELIVERED] - flow[_DELIVERED_THEN]
    is_over = lasted > 0.0 and delivered > 0.0
    if is_over:
        shown[_I_LASTED] = lasted // 1e3
        shown[_I_DELIVERED] = delivered
        shown[_I_LOST] = flow[_LOST] - flow[_LOST_THEN]
        if flow[_RTT_SAMPLES] > 0.0:
            shown[_I_MIN] = flow[_LEAST_RTT] // 1e3
            shown[_I_AVG] = flow[_RTT_SUM] / flow[_RTT_SAMPLES] // 1e3
            shown[_I_MAX] = flow[_MOST_RTT] // 1e3
        shown[_I_RATE] = delivered * flow[PAYLOAD_BYTES] * 8e9 / lasted
        shown[_I_MAX_RATE] = flow[_MOST_RATE]
        flow[_BEGAN] += lasted
        flow[_DELIVERED_THEN], flow[_LOST_THEN] = flow[_DELIVERED], flow[_LOST]
        flow[_LEAST_RTT] = math.inf
        flow[_MOST_RTT] = flow[_RTT_SUM] = flow[_RTT_SAMPLES] = flow[_MOST_RATE] = 0.0
    flow[_DELIVERED], flow[_LOST] = mine[m.DELIVERED_COUNT], mine[m.LOST_COUNT]
    if flow[CAUSE] == TIMEOUT:
        return is_over
    if flow[RTT] >= 0.0:
        flow[_LEAST_RTT] = min(flow[_LEAST_RTT], flow[RTT])
        flow[_MOST_RTT] = max(flow[_MOST_RTT], flow[RTT])
        flow[_RTT_SUM] += flow[RTT]
        flow[_RTT_SAMPLES] += 1.0
    if flow[SAMPLE_INTERVAL] > 0.0:
        flow[_MOST_RATE] = max(flow[_MOST_RATE], shown[_RATE])
    return is_over


@function
def _cubic(mine, flow):
    """CUBIC's window after this event. What proportional rate reduction does meanwhile is not part of it."""
    own = flow[SIGNALS : SIGNALS + SLOTS]
    for slot in (NOW, NEXT, ACKED, RTT, SMOOTHED_RTT, UNACKED, PACED, PACKET_BYTES, WINDOW_LIMITED):
        own[slot] = flow[slot]
    cause = mine[m.ASK]
    if cause == ACKNOWLEDGEMENT:
        cubic.sampled(own)
        if flow[STATE] not in (REDUCING, RECOVERY):
            own[STATE] = LOSS if flow[STATE] == LOSS else OPEN
            if flow[ACKED] > 0.0:
                cubic.acknowledged(own)
    elif own[STATE] != LOSS or cause != TIMEOUT:
        own[PRIOR_CWND] = own[CWND]
        own[SSTHRESH] = cubic.reduced(own)
        own[CWND] = own[SSTHRESH]
        if cause == TIMEOUT:
            own[STATE] = LOSS
            cubic.changed(own)
            own[CWND] = 1.0
