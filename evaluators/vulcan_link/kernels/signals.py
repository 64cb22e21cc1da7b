"""Signals that only some policies read: application limits, one-way delay, ACK aggregation, and what happened in
intervals of time. They are kept behind a flow's slots, and only for a policy that reads one of them.
"""

import math

from vulcan.kernel_support import function
from vulcan_link import engine_state as m
from vulcan_link import flow_state as s
from vulcan_link import policy_state as p

ROUNDS = 5.0
"""Round trips after which the older of two maxima is forgotten: both are of the latest 5 to 10, as in Linux's BBR."""

MAX_EPOCH = float(1 << 20)
"""Packets after which an epoch is begun again, as in Linux."""


INTERVAL = 100_000_000.0
"""Nanoseconds that an interval lasts, or a multiple of them where nothing is delivered."""

_LEAST_ONE_WAY = s.SIGNALS  # ns
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
    flow[_BEGAN] = flow[s.NOW]
    flow[_LEAST_RTT] = math.inf


@function
def show_signals(mine, flow, shown, over):
    """Write the signals, after an acknowledgement, a loss, a mark or a time-out; `over`: so is a round trip.

    Returns whether an interval is over.
    """
    if flow[s.CAUSE] != s.TIMEOUT and flow[s.SAMPLE_INTERVAL] > 0.0:
        shown[p.APP_LIMITED] = flow[s.SAMPLE_LIMITED]
    if flow[s.CAUSE] != s.TIMEOUT and flow[s.ONE_WAY] >= 0.0:
        if flow[_LEAST_ONE_WAY] < 0.0 or flow[s.ONE_WAY] < flow[_LEAST_ONE_WAY]:
            flow[_LEAST_ONE_WAY] = flow[s.ONE_WAY]
        shown[p.ONE_WAY] = (flow[s.ONE_WAY] - flow[_LEAST_ONE_WAY]) // 1e3
    _aggregation(flow, shown, over)
    return _observe_interval(mine, flow, shown)


@function
def _aggregation(flow, shown, over):
    """Linux's bbr_update_ack_aggregation: what an epoch acknowledged beyond what the rate of delivery explains."""
    if over and shown[p.ROUNDS] - flow[_PERIOD_BEGAN] >= ROUNDS:
        flow[_PERIOD_BEGAN] = shown[p.ROUNDS]
        flow[_RATES + 1], flow[_RATES] = flow[_RATES], 0.0
        flow[_EXTRAS + 1], flow[_EXTRAS] = flow[_EXTRAS], 0.0
    rate = max(flow[_RATES], flow[_RATES + 1])
    if flow[s.SAMPLE_RATE] > 0.0 and (flow[s.SAMPLE_LIMITED] == 0.0 or flow[s.SAMPLE_RATE] >= rate):
        flow[_RATES] = max(flow[_RATES], flow[s.SAMPLE_RATE])
        rate = max(rate, flow[s.SAMPLE_RATE])
    if flow[s.ACKED] <= 0.0 or rate <= 0.0:
        return
    expected = rate * (flow[s.NOW] - flow[_EPOCH_BEGAN]) / 8e9 / flow[s.PACKET_BYTES]
    if flow[_EPOCH_BEGAN] == 0.0 or flow[_EPOCH_ACKED] <= expected or flow[_EPOCH_ACKED] + flow[s.ACKED] >= MAX_EPOCH:
        flow[_EPOCH_ACKED] = expected = 0.0
        flow[_EPOCH_BEGAN] = flow[s.NOW]
    flow[_EPOCH_ACKED] += flow[s.ACKED]
    flow[_EXTRAS] = max(flow[_EXTRAS], min(flow[_EPOCH_ACKED] - expected, flow[s.CWND]))
    shown[p.EXTRA] = max(flow[_EXTRAS], flow[_EXTRAS + 1]) // 1.0


@function
def _observe_interval(mine, flow, shown):
    """Count towards the interval at hand. Returns whether one was over before; the features of intervals then show it.

    An interval ends on a multiple of its length since the flow began, and after something was delivered in it.
    """
    lasted = (flow[s.NOW] - flow[_BEGAN]) // INTERVAL * INTERVAL
    delivered = flow[_DELIVERED] - flow[_DELIVERED_THEN]
    is_over = lasted > 0.0 and delivered > 0.0
    if is_over:
        shown[p.I_LASTED] = lasted // 1e3
        shown[p.I_DELIVERED] = delivered
        shown[p.I_LOST] = flow[_LOST] - flow[_LOST_THEN]
        if flow[_RTT_SAMPLES] > 0.0:
            shown[p.I_MIN] = flow[_LEAST_RTT] // 1e3
            shown[p.I_AVG] = flow[_RTT_SUM] / flow[_RTT_SAMPLES] // 1e3
            shown[p.I_MAX] = flow[_MOST_RTT] // 1e3
        shown[p.I_RATE] = delivered * flow[s.PAYLOAD_BYTES] * 8e9 / lasted
        shown[p.I_MAX_RATE] = flow[_MOST_RATE]
        flow[_BEGAN] += lasted
        flow[_DELIVERED_THEN], flow[_LOST_THEN] = flow[_DELIVERED], flow[_LOST]
        flow[_LEAST_RTT] = math.inf
        flow[_MOST_RTT] = flow[_RTT_SUM] = flow[_RTT_SAMPLES] = flow[_MOST_RATE] = 0.0
    flow[_DELIVERED], flow[_LOST] = mine[m.DELIVERED_COUNT], mine[m.LOST_COUNT]
    if flow[s.CAUSE] == s.TIMEOUT:
        return is_over
    if flow[s.RTT] >= 0.0:
        flow[_LEAST_RTT] = min(flow[_LEAST_RTT], flow[s.RTT])
        flow[_MOST_RTT] = max(flow[_MOST_RTT], flow[s.RTT])
        flow[_RTT_SUM] += flow[s.RTT]
        flow[_RTT_SAMPLES] += 1.0
    if flow[s.SAMPLE_INTERVAL] > 0.0:
        flow[_MOST_RATE] = max(flow[_MOST_RATE], shown[p.RATE])
    return is_over
