"""Memory layout of a queue manager's state: the policy's features first, then its own."""

from vulcan.anvil.feature_layout import Layout, Slot

SHOWN = (
    "now_ms",
    "packets",
    "bytes",
    "limit_packets",
    "delay_ms",  # that the packet waited which left last; 0 while the queue is empty
    "drain_bps",  # at which the queue was emptied lately, while it was not empty
    "expected_delay_ms",  # bytes over that rate
    "idle_ms",  # since the queue became empty, 0 while it is not
    "since_drop_ms",
    "drops",
    "packet_bytes",
)
"""The features of `queue`, and the first slots of the state."""

(
    NOW,
    PACKETS,
    BYTES,
    LIMIT,
    DELAY,
    DRAIN,
    EXPECTED,
    IDLE,
    SINCE_DROP,
    DROPS,
    PACKET,
    LAST_DROP,  # ms
    EMPTY_SINCE,  # ms, below 0 while the queue is not empty
    RANDOM,  # the generator's state
    # measuring the rate at which the queue drains
    BUSY_FROM,
    BUSY_BYTES,
    # RED
    AVERAGE,
    COUNT,
    WEIGHT,
    MIN,
    MAX,
    MAX_PROBABILITY,
    TYPICAL_MS,
    # PIE
    PROBABILITY,
    OLD_DELAY,
    BURST,
    ACCUMULATED,
    NEXT_UPDATE,
    REFERENCE,
    PERIOD_MS,
    DECISIONS,  # a hash of what was decided, as a float64 below 2**53
    CALLS,
    # events
    PACKET_SIZE,
    SOJOURN,
    CAPABLE,
    MARKED,
    OVERFLOWED,
    DROP_REQUEST,  # what a handler has set, 0 if it has not
    TIMER_REQUEST,
    TIMER,  # when the policy's timer is due, ms
    OWN,
) = range(41)

PACKET_SHOWN = {"bytes": PACKET_SIZE, "sojourn_ms": SOJOURN, "ecn": CAPABLE, "marked": MARKED, "overflow": OVERFLOWED}
"""The features of `packet`, which handlers of events are shown."""

LAYOUT = Layout(
    features={f"queue.{name}": Slot("globals", k) for k, name in enumerate(SHOWN)}
    | {f"packet.{name}": Slot("globals", k) for name, k in PACKET_SHOWN.items()},
    global_slots=OWN,
    controls={"packet.drop": Slot("globals", DROP_REQUEST), "queue.timer_ms": Slot("globals", TIMER_REQUEST)},
)

RED, PIE, POLICY = 1, 2, 3
