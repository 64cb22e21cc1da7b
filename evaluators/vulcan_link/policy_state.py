"""Memory layout of a policy's features: a row of float64 per flow, the first slots of the policy's `globals`.

They are in the order in which `interface` declares them. Those of `state` are written before every call, those of
`window` when a round trip is over, and those of `flow` for handlers of events.
"""

from __future__ import annotations

from collections.abc import Mapping

from vulcan.anvil.feature_layout import Layout, Slot
from vulcan_link import interface

SLOT: Mapping[str, int] = {
    name: slot
    for slot, name in enumerate(
        f"{declared.name}.{feature.name}"
        for declared in (interface.STATE, interface.WINDOW, interface.FLOW)
        for feature in declared.features
    )
}

# The slots by shorter names: W_ of `window`. After the features come the controls,
# NaN while a handler has not set them; behind GLOBALS lies the policy's own state.
(
    NOW, CAUSE, CWND, SSTHRESH, IN_FLIGHT, ACKED, LOST, RTT, SMOOTHED, MIN_RTT, MAX_RTT, RATE, MAX_BANDWIDTH,
    MIN_BANDWIDTH, DELIVERED, LOST_TOTAL, MARKED, ECN, MAX_CWND, MSS, SINCE_LOSS, RECOVERY, SINCE_CHANGE, ROUND_ACKED,
    ROUNDS, EXACT, SEND_RATE,
    W_DURATION, W_DELIVERED, W_BYTES, W_BANDWIDTH, W_LOST, W_ECN, W_MIN, W_AVG, W_MAX,
    IN_SLOW_START, TIMER, TIMER_AFTER, PACING, GLOBALS,
) = range(41)  # fmt: skip

LAYOUT = Layout(
    features={name: Slot("globals", slot) for name, slot in SLOT.items()},
    global_slots=GLOBALS,
    controls={"flow.timer_after_us": Slot("globals", TIMER_AFTER), "flow.pacing_bps": Slot("globals", PACING)},
)

EVENTS = ("on_timer", "on_window", "on_ack", "on_loss", "on_ecn", "on_timeout")
"""In the order in which they are called."""

ON_TIMER, ON_WINDOW, ON_ACK, ON_LOSS, ON_ECN, ON_TIMEOUT = range(6)
