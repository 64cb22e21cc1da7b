"""Memory layout of a policy's features: a row of float64 per flow, the first slots of the policy's `globals`.

`STATE` and `WINDOW` give the order: the slot of `state.now_us` is `SLOT["state.now_us"]`. The features of `state` are
written before every call, those of `window` when a round trip is over.
"""

from __future__ import annotations

from types import MappingProxyType

from vulcan.anvil.feature_layout import Layout, Slot

STATE = (
    "now_us",  # since the flow began
    "cause",  # 0 acknowledgement, 1 loss, 2 timeout, 3 ECN mark
    "cwnd_packets",  # the window until now, a whole number
    "ssthresh_packets",  # half of what was in flight at the last loss, mark or timeout; 65535 before the first
    "in_flight_packets",
    "acked_packets",  # newly delivered by this acknowledgement
    "lost_packets",  # newly deemed lost at it
    "rtt_us",  # latest sample
    "smoothed_rtt_us",
    "min_rtt_us",
    "max_rtt_us",
    "delivery_rate_bps",  # latest valid rate sample, of payload
    "max_bandwidth_bps",  # of completed round trips
    "min_bandwidth_bps",
    "delivered_packets",
    "lost_total_packets",
    "ecn_marked_packets",  # newly delivered with a mark
    "ecn_enabled",
    "max_cwnd_packets",  # the largest window so far
    "mss_bytes",
    "since_loss_us",  # since the last loss, mark or timeout that the policy was called for; since the start before it
    "in_recovery",  # whether recovery from a loss, mark or timeout was under way before this call
    "acked_since_change_packets",  # delivered since the window last changed
    "round_trip_acked_packets",  # delivered since the current round trip began
    "round_trips",  # completed
    "cwnd_exact_packets",  # the window until now with the fraction of what the policy returned
    "send_rate_bps",  # the rate at which what the latest rate sample is of was sent, of payload
    "app_limited",  # whether the latest valid rate sample is of a time when there was nothing to send
    "one_way_delay_us",  # the latest sample by timestamps, less the smallest so far
    "extra_acked_packets",  # the most by which acknowledgements ran ahead of the rate, in 5 to 10 round trips
    "cubic_cwnd_packets",  # the window that CUBIC would have
    "interval_us",  # the latest completed interval
    "interval_delivered_packets",
    "interval_lost_packets",
    "interval_min_rtt_us",
    "interval_avg_rtt_us",
    "interval_max_rtt_us",
    "interval_rate_bps",  # of payload
    "interval_max_rate_bps",  # the largest valid rate sample
)
"""The features of `state`. The last twelve cost something, and are written for policies that read them."""

SIGNALS = tuple(f"state.{name}" for name in STATE[-12:])

WINDOW = (
    "duration_us",
    "delivered_packets",
    "delivered_bytes",
    "bandwidth_bps",  # of payload
    "lost_packets",
    "ecn_packets",
    "min_rtt_us",
    "avg_rtt_us",
    "max_rtt_us",
)
"""The features of `window`: the last completed round trip of the sender, of at least 1 ms."""

FLOW = ("in_slow_start", "timer_us")
"""The features of `flow`, which only handlers of events are shown."""

SLOT = MappingProxyType(
    {
        f"{argument}.{name}": slot
        for slot, (argument, name) in enumerate(
            [*(("state", n) for n in STATE), *(("window", n) for n in WINDOW), *(("flow", n) for n in FLOW)]
        )
    }
)

TIMER_AFTER = len(SLOT)
"""The control `flow.timer_after_us`: NaN while a handler has not set it."""
PACING = TIMER_AFTER + 1
"""The control `flow.pacing_bps`, likewise."""

GLOBALS = PACING + 1
"""The float64 slots that are the mechanism's; the policy's own state lies behind them."""


# Layout of a compiled policy's features: in its flow's row.

LAYOUT = Layout(
    features={name: Slot("globals", slot) for name, slot in SLOT.items()},
    global_slots=GLOBALS,
    controls={
        "flow.timer_after_us": Slot("globals", TIMER_AFTER),
        "flow.pacing_bps": Slot("globals", PACING),
    },
)

EVENTS = ("on_timer", "on_window", "on_ack", "on_loss", "on_ecn", "on_timeout")
"""In the order in which they are called."""

ON_TIMER, ON_WINDOW, ON_ACK, ON_LOSS, ON_ECN, ON_TIMEOUT = range(6)
