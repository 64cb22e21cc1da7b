"""Signals that only some policies read: application limits, one-way delay, ACK aggregation, CUBIC's own window, and
extremes over time.

They are kept behind a flow's slots, and only for a policy that reads one of them. CUBIC runs on the flow's
acknowledgements and losses with a window of its own, which nothing follows but a policy that returns it.
"""

from __future__ import annotations

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
_MIN_RTT_1S, _MIN_RTT_10S = SLOT["state.min_rtt_1s_us"], SLOT["state.min_rtt_10s_us"]
_MAX_RATE_1S, _MAX_RATE_10S = SLOT["state.max_rate_1s_bps"], SLOT["state.max_rate_10s_bps"]
_RATE = SLOT["state.delivery_rate_bps"]
_ROUND_TRIPS = SLOT["state.round_trips"]

TENTH_OF_A_SECOND, SECOND = 100_000_000, 1_000_000_000
PARTS = 11
"""Tenths of the time that are kept: the one at hand and ten whole ones, so that all of the time is in them."""

# Behind CUBIC's row.
_LEAST_ONE_WAY = SIGNALS + SLOTS  # ns
_EPOCH_BEGAN = _LEAST_ONE_WAY + 1  # ns, 0 before the first
_EPOCH_ACKED = _LEAST_ONE_WAY + 2  # packets
_PERIOD_BEGAN = _LEAST_ONE_WAY + 3  # round trips when the newer maxima began
_RATES = _LEAST_ONE_WAY + 4  # two maxima of the rate of delivery, bits/s on the wire
_EXTRAS = _LEAST_ONE_WAY + 6  # two of what was acknowledged beyond it, packets
_OVER_1S = _LEAST_ONE_WAY + 8  # the latest part's number, and of each part the least round trip and the largest rate
_OVER_10S = _OVER_1S + 1 + 2 * PARTS


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


@function
def show_signals(mine, flow, shown, over):
    """Write the signals, after an acknowledgement, a loss, a mark or a time-out; `over`: so is a round trip."""
    if flow[CAUSE] != TIMEOUT and flow[SAMPLE_INTERVAL] > 0.0:
        shown[_APP_LIMITED] = flow[SAMPLE_LIMITED]
    if flow[CAUSE] != TIMEOUT and flow[ONE_WAY] >= 0.0:
        if flow[_LEAST_ONE_WAY] < 0.0 or flow[ONE_WAY] < flow[_LEAST_ONE_WAY]:
            flow[_LEAST_ONE_WAY] = flow[ONE_WAY]
        shown[_ONE_WAY] = (flow[ONE_WAY] - flow[_LEAST_ONE_WAY]) // 1e3
    _aggregation(flow, shown, over)
    rate = shown[_RATE] if flow[CAUSE] != TIMEOUT and flow[SAMPLE_INTERVAL] > 0.0 else 0.0
    least, most = _over_time(flow, _OVER_1S, TENTH_OF_A_SECOND, rate)
    shown[_MIN_RTT_1S], shown[_MAX_RATE_1S] = least // 1e3, most
    least, most = _over_time(flow, _OVER_10S, SECOND, rate)
    shown[_MIN_RTT_10S], shown[_MAX_RATE_10S] = least // 1e3, most
    _cubic(mine, flow)
    shown[_CUBIC] = min(max(flow[SIGNALS + CWND], 1.0), 65_535.0)


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
def _over_time(flow, at, part, rate):
    """Return the least round trip and the largest rate of the latest ten parts, in ns; 0 where there is none."""
    number = float(flow[NOW] // part) + 1.0
    least, most = at + 1, at + 1 + PARTS
    for passed in range(int(min(number - flow[at], PARTS))):  # parts that have begun since, the one at hand included
        place = int(number - passed) % PARTS
        flow[least + place] = flow[most + place] = 0.0
    flow[at] = number
    place = int(number) % PARTS
    if flow[CAUSE] != TIMEOUT and flow[RTT] >= 0.0 and (flow[least + place] == 0.0 or flow[RTT] < flow[least + place]):
        flow[least + place] = flow[RTT]
    flow[most + place] = max(flow[most + place], rate)
    shortest = largest = 0.0
    for one in range(PARTS):
        if flow[least + one] > 0.0 and (shortest == 0.0 or flow[least + one] < shortest):
            shortest = flow[least + one]
        largest = max(largest, flow[most + one])
    return shortest, largest


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
