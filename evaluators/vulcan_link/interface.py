"""Features of congestion control: what policies read of a sender, and what their handlers set."""

from __future__ import annotations

from vulcan.task import Feature, Global

MIN_WINDOW, MAX_WINDOW = 2.0, 65_535.0  # packets
LATEST = float(2**40)  # microseconds: twelve days
MAX_RTT = 1e9  # microseconds
FASTEST = 1e12  # bits/s
MAX_PACKETS = float(2**40)


def _time(name: str, meaning: str, high: float = LATEST) -> Feature:
    return Feature(name, "int", "us", 0.0, high, meaning)


def _packets(name: str, meaning: str, high: float = MAX_WINDOW, low: float = 0.0) -> Feature:
    return Feature(name, "int", "packets", low, high, meaning)


def _rate(name: str, meaning: str) -> Feature:
    return Feature(name, "float", "bits/s", 0.0, FASTEST, meaning)


STATE = Global(
    name="state",
    meaning="the sender as it is now",
    features=(
        _time("now_us", "the time since the flow began"),
        Feature(
            "cause", "int", "none", 0.0, 3.0,
            "why it is called: 0 an acknowledgement, 1 a loss (once each recovery), 2 a time-out, 3 an ECN mark (at "
            "most once a round-trip time)",
        ),
        Feature(
            "cwnd_packets", "int", "packets", MIN_WINDOW, MAX_WINDOW,
            "the window now: what this function returned last, rounded down, or what slow start made of it",
        ),
        _packets(
            "ssthresh_packets",
            "half of what was in flight at the latest loss, time-out or ECN mark; 65535 before the first",
        ),
        _packets("in_flight_packets", "packets sent, and neither acknowledged nor found to be lost"),
        _packets("acked_packets", "packets that this acknowledgement newly acknowledges"),
        _packets("lost_packets", "packets newly found to be lost"),
        _time("rtt_us", "the latest sample of the round-trip time; 0 before the first", MAX_RTT),
        _time("smoothed_rtt_us", "its moving average (RFC 6298)", MAX_RTT),
        _time("min_rtt_us", "the smallest sample so far", MAX_RTT),
        _time("max_rtt_us", "the largest sample so far", MAX_RTT),
        _rate("delivery_rate_bps", "the latest sample of the rate of delivery, as Linux takes it; 0 before the first"),
        _rate("max_bandwidth_bps", "the largest rate of a completed window so far; 0 before the first"),
        _rate("min_bandwidth_bps", "the smallest rate of a completed window so far; 0 before the first"),
        _packets("delivered_packets", "packets acknowledged so far", MAX_PACKETS),
        _packets("lost_total_packets", "packets found to be lost so far", MAX_PACKETS),
        _packets("ecn_marked_packets", "packets of this acknowledgement that carried an ECN mark"),
        Feature("ecn_enabled", "bool", "flag", 0.0, 1.0, "whether packets can be marked instead of dropped"),
        Feature(
            "max_cwnd_packets", "int", "packets", MIN_WINDOW, MAX_WINDOW, "the largest window so far"
        ),
        Feature("mss_bytes", "int", "bytes", 1.0, 65_535.0, "the payload of a packet"),
        _time("since_loss_us", "the time since the latest loss, time-out or ECN mark, or else since the flow began"),
        Feature("in_recovery", "bool", "flag", 0.0, 1.0, "whether a loss or time-out was being repaired already"),
        _packets("acked_since_change_packets", "packets acknowledged since the window changed", MAX_PACKETS),
        _packets("round_trip_acked_packets", "packets acknowledged since this round trip began", 2 * MAX_WINDOW),
        Feature("round_trips", "int", "round trips", 0.0, MAX_PACKETS, "round trips that are over"),
        Feature(
            "cwnd_exact_packets", "float", "packets", MIN_WINDOW, MAX_WINDOW,
            "the same as cwnd_packets with the fraction of what this function returned, so that changes of less than a "
            "packet add up",
        ),
        _rate(
            "send_rate_bps",
            "the rate at which the packets of that sample of the rate of delivery were sent; 0 before the first",
        ),
    ),
)  # fmt: skip

WINDOW = Global(
    name="window",
    meaning="the latest completed measuring window: about one round-trip time, at least 1 ms; all 0 before the first",
    observed="round_trip",
    features=(
        _time("duration_us", "how long it lasted"),
        _packets("delivered_packets", "packets acknowledged in it", 2 * MAX_WINDOW),
        Feature("delivered_bytes", "int", "bytes", 0.0, 2 * MAX_WINDOW * 1500.0, "their payload"),
        _rate("bandwidth_bps", "the rate of delivery in it"),
        _packets("lost_packets", "packets found to be lost in it", 2 * MAX_WINDOW),
        _packets("ecn_packets", "packets in it that carried an ECN mark", 2 * MAX_WINDOW),
        _time("min_rtt_us", "the smallest round-trip time in it", MAX_RTT),
        _time("avg_rtt_us", "the mean round-trip time in it", MAX_RTT),
        _time("max_rtt_us", "the largest round-trip time in it", MAX_RTT),
    ),
)

FLOW = Global(
    name="flow",
    meaning="what the mechanism does for the flow",
    features=(
        Feature(
            "in_slow_start", "bool", "flag", 0.0, 1.0,
            "whether it grows the window by slow start, and does not ask `cwnd` about this acknowledgement",
        ),
        _time("timer_us", "the time until the policy's timer expires; 0 where it is not set"),
    ),
)  # fmt: skip
"""What only handlers of events are shown."""

TIMER = Global(
    name="flow",
    meaning="the policy's timer, and the rate at which it sends",
    features=(
        _time(
            "timer_after_us",
            "the time from now, rounded down, at which the timer expires, and not before; below 1 it is off",
        ),
        _rate(
            "pacing_bps",
            "the rate of payload from now on at which packets leave, where the window lets them; below 8, and before "
            "the first, they leave as soon as it does",
        ),
    ),
)
