"""Congestion control: how many packets a sender may have in flight."""

import math
from pathlib import Path

from vulcan.task import (
    Caution,
    Feature,
    Global,
    Mechanism,
    Metrics,
    Objective,
    Picture,
    Property,
    Setting,
    StateLimits,
    Task,
    Value,
    event,
)

MIN_WINDOW, MAX_WINDOW = 2.0, 65_535.0  # packets
LATEST = float(2**40)  # microseconds: twelve days
MAX_RTT = 1e9  # microseconds
FASTEST = 1e12  # bits/s
MAX_PACKETS = float(2**40)

# What counts in `balanced`, adding up to 1.
GOODPUT, DELAY, LOSS, FAIRNESS = 0.4, 0.3, 0.1, 0.2
LOSS_SCALE = 10.0  # a tenth of all packets lost takes the whole of its part
MIN_LOSS_FACTOR = 0.01  # where a logarithm is taken


def _against_cubic(metrics: Metrics, references: "dict[str, Metrics]") -> float:
    """Doublings of PolicySmith's objective, with the goodput and the loss factor, against CUBIC."""
    return math.log2(_efficiency(metrics) / _efficiency(references["cubic"]))


def _efficiency(metrics: Metrics) -> float:
    if "drop_discount" not in metrics:  # recorded before drops counted
        return max(metrics["throughput_over_delay"], 1e-9)
    return max(metrics["goodput_over_delay"] * max(metrics["drop_discount"], MIN_LOSS_FACTOR), 1e-9)


def _balance(metrics: Metrics, references: "dict[str, Metrics]") -> float:
    """The weighted sum; metrics recorded before drops counted have no loss factor."""
    delay = metrics["queueing_delay_p95_ms"]
    parts = (
        GOODPUT * metrics.get("goodput_utilisation", metrics["utilisation"])
        + DELAY * metrics["base_rtt_ms"] / (metrics["base_rtt_ms"] + delay)
        + LOSS * max(0.0, 1.0 - LOSS_SCALE * metrics["loss"])
        + FAIRNESS * metrics["jain"]
    )
    return parts * metrics.get("drop_discount", 1.0)


POWER = Objective(
    name="power",
    metric="power",
    meaning="Kleinrock's power, normalised to be at most 1: the goodput as a share of what is fairly the policy's "
    "(the whole link where it has no competitor; more than its share counts as all of it), times the round-trip time "
    "without a queue over that with the mean queueing delay, times 1 - 10 x the share of its packets that the queue "
    "drops (at least 0); 1 is a full link, an empty queue and no drop",
    score=lambda metrics, _: metrics["power"],
    lowest=0.0,
    highest=1.0,
)
BALANCED = Objective(
    name="balanced",
    metric="utilisation",
    meaning=f"({GOODPUT} x the link's utilisation by goodput + {DELAY} x base RTT / (base RTT + p95 queueing delay) + "
    f"{LOSS} x (1 - {LOSS_SCALE:g} x loss, at least 0) + {FAIRNESS} x Jain's index of all flows), times 1 - 10 x the "
    "share of its packets that the queue drops (at least 0); from 0 to 1",
    score=_balance,
    lowest=0.0,
    highest=1.0,
)
POLICYSMITH = Objective(
    name="policysmith",
    metric="throughput_over_delay",
    meaning="PolicySmith's goodput / (1e-5 + p95 queueing delay), in Mbit/s and ms, times 1 - 10 x the share of its "
    "packets that the queue drops (at least 0.01), as the logarithm to base 2 of its ratio to that of CUBIC, so that "
    "links of all speeds count alike: 1 is twice as good as CUBIC, 0 as good",
    score=_against_cubic,
    references=("cubic",),
)


EXTENDED = ("signals", "extended")


def _time(name: str, meaning: str, high: float = LATEST) -> Feature:
    return Feature(name, "int", "us", 0.0, high, meaning)


def _packets(name: str, meaning: str, high: float = MAX_WINDOW, low: float = 0.0) -> Feature:
    return Feature(name, "int", "packets", low, high, meaning)


def _rate(name: str, meaning: str) -> Feature:
    return Feature(name, "float", "bits/s", 0.0, FASTEST, meaning)


def _over_time(name: str, unit: str, high: float, meaning: str) -> Feature:
    kind, unit = ("int", "us") if unit == "us" else ("float", "bits/s")
    return Feature(name, kind, unit, 0.0, high, f"{meaning}; 0 where there was none", only=EXTENDED)


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
        Feature(
            "app_limited", "bool", "flag", 0.0, 1.0,
            "whether that sample begins with a packet that was sent when the application had no more data: the rate "
            "is then what it writes, and perhaps not what the link carries", only=EXTENDED,
        ),
        Feature(
            "one_way_delay_us", "int", "us", 0.0, MAX_RTT,
            "the latest time from sending a packet to when its acknowledgement left the receiver, by timestamps, less "
            "the smallest so far: the queue on the way there, and what the receiver waited to acknowledge two at once "
            "(RFC 6817)", only=EXTENDED,
        ),
        Feature(
            "extra_acked_packets", "int", "packets", 0.0, MAX_WINDOW,
            "the most packets by which acknowledgements ran ahead of the rate of delivery in the latest 5 to 10 round "
            "trips, as BBR counts them: how much they are aggregated on their way", only=EXTENDED,
        ),
        Feature(
            "cubic_cwnd_packets", "float", "packets", 1.0, MAX_WINDOW,
            "the window that CUBIC (RFC 9438) would have had, given the same acknowledgements, losses and marks",
            only=EXTENDED,
        ),
        *(
            _over_time(f"{name}_{seconds}s_{unit}", unit, high, f"{meaning} of the latest {long}, or a tenth more")
            for name, unit, high, meaning in (
                ("min_rtt", "us", MAX_RTT, "the smallest sample of the round-trip time"),
                ("max_rate", "bps", FASTEST, "the largest sample of the rate of delivery"),
            )
            for seconds, long in ((1, "second"), (10, "ten seconds"))
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

_EVENTS = {
    "on_timer": "The timer that a handler has set expired. As in Linux, a policy runs when something happens to its "
    "flow: this is called at the first of the other events that happens then or later, before its handler.",
    "on_window": "A round trip is over, by the acknowledgement that is being handled; `window` shows it.",
    "on_ack": "An acknowledgement arrived, also where the mechanism runs slow start or repairs a loss.",
    "on_loss": "Packets were found to be lost, and their repair begins: once each recovery. Of an acknowledgement that "
    "shows it, `on_ack` is called before.",
    "on_ecn": "An acknowledgement carried an ECN mark, at most once a round-trip time; `on_ack` is called before.",
    "on_timeout": "The retransmission time-out expired: what is in flight is deemed lost.",
}

EVENTS = tuple(
    event(name, (STATE, WINDOW, FLOW), meaning, (TIMER,), rare=name in ("on_ecn", "on_timeout"))
    for name, meaning in _EVENTS.items()
)
"""In the order in which handlers are called of what happens at one time, and before `cwnd`."""

STATE_LIMITS = StateLimits(registers=64, elements=4096, fields=0)
"""Of 33 KiB: Linux holds at most 64 KiB for a BPF program with each socket, beside 104 bytes for a module."""

WINDOW_LIMIT = Mechanism(
    "window",
    "`cwnd` is called at every loss, time-out and ECN mark, and besides once per {called} (`ack`: for every "
    "acknowledgement; `round`: once a round-trip time). What it returns, kept between 2 and 65535 packets, is the "
    "window until the next call: the sender sends whenever fewer packets than that (rounded down) are in flight. "
    "Slow start is run by the {slow_start}: where that is the `mechanism`, the window grows by each acknowledged "
    "packet until the first loss, mark or sign of a growing delay, and after a time-out from one packet up to what "
    "`cwnd` returned for it, and `cwnd` is not called for acknowledgements meanwhile; where it is the `policy`, it "
    "decides from the first acknowledgement on. The statistics of `state` observe at every acknowledgement, loss, mark "
    "and time-out, those of `window` once a window is complete.",
)

TASK = Task(
    name="congestion_control",
    summary="Choose how many packets a sender may have in flight, so that the link is full, queues are short and other "
    "flows get their share.",
    signature=Value(
        function="cwnd",
        arguments=(STATE, WINDOW),
        returns="the congestion window in packets",
        low=MIN_WINDOW,
        high=MAX_WINDOW,
        mechanisms=(WINDOW_LIMIT,),
    ),
    events=EVENTS,
    state_limits=STATE_LIMITS,
    evaluator="vulcan_link.evaluator:LinkEvaluator",
    objectives=(POWER, BALANCED, POLICYSMITH),
    directory=Path(__file__).parent,
    settings=(
        Setting(
            "link",
            "text",
            "a link trace, or a generated one such as constant:rate=12; default: generated links",
            repeatable=True,
        ),
        Setting("link_format", "text", "the format of the link traces; default: detected"),
        Setting(
            "delay_ms",
            "float",
            "propagation delay in one direction; default: 20, or as the generated links have it",
            repeatable=True,
        ),
        Setting(
            "buffer",
            "text",
            "what the link's queue holds: packets (100) or multiples of the bandwidth-delay product (1bdp); "
            "default: 1bdp, at least 150 packets for a recorded link and 20 for a generated one, or as the links that "
            "are searched on without --link have it",
            repeatable=True,
        ),
        Setting("duration_s", "float", "seconds that a run lasts", 20.0),
        Setting("flows", "int", "flows that the policy controls", 1),
        Setting(
            "competing",
            "text",
            "flows beside them: an algorithm and how many (cubic:2), and when (cubic:2@5-15, in seconds), or none; "
            "default: none, or as the generated links have it",
            repeatable=True,
        ),
        Setting("queue", "text", "how the link's queue drops", "droptail", choices=("droptail", "codel")),
        Setting("ecn", "flag", "have the queue mark packets where it would drop them early"),
        Setting(
            "loss", "float", "share of packets that are lost at random; default: 0, or as the generated links have it"
        ),
        Setting("loss_seed", "int", "seed of that loss", 1),
        Setting(
            "jitter_ms",
            "float",
            "acknowledgements come up to this much late, at random, in order; default: 0.5, or as the generated links "
            "have it",
            repeatable=True,
        ),
        Setting(
            "ack_batch_ms",
            "float",
            "acknowledgements arrive together on multiples of this time; default: 0, or as the generated links have it",
        ),
        Setting(
            "competing_delay_ms",
            "float",
            "propagation delay in one direction of competing flows; default: the policy's, or as the generated links "
            "have it",
        ),
        Setting(
            "handshake",
            "text",
            "whether the least round trip begins with that of the connection's opening, which is not batched",
            "measured",
            choices=("measured", "none"),
        ),
        Setting(
            "windows",
            "int",
            "windows of a named link's part in which runs take place, evenly spread; default: as many as cover a "
            "recorded link, at most 32, and 1 of a generated one",
        ),
        Setting(
            "application",
            "text",
            "what the application of the policy's flows writes: packets and the milliseconds between writes, such as "
            "20/100; default: endless data",
        ),
        Setting(
            "policer",
            "text",
            "what drops packets beyond a rate before the queue: Mbit/s and a bucket in kilobytes, such as 8/64; "
            "default: none",
        ),
        Setting(
            "reverse",
            "text",
            "the algorithm of a flow that sends the other way, such as cubic: acknowledgements wait behind its "
            "packets; default: none",
        ),
        Setting(
            "reordering",
            "text",
            "the share of packets that come late and are overtaken, and by how many milliseconds, such as 0.01/10; "
            "default: none",
        ),
        Setting(
            "signals",
            "text",
            "whether a search offers app_limited, one_way_delay_us, extra_acked_packets, cubic_cwnd_packets, and the "
            "least round trip and the largest rate of the latest second and ten seconds",
            "basic",
            choices=("basic", "extended"),
        ),
        Setting("called", "text", "how often the policy is called", "ack", choices=("ack", "round")),
        Setting("slow_start", "text", "who runs slow start", "mechanism", choices=("mechanism", "policy")),
    ),
    properties=(
        Property(
            "window within bounds",
            "bounded",
            "the window stays from 2 to 65535 packets without the clamp",
            low=MIN_WINDOW,
            high=MAX_WINDOW,
            required=True,
        ),
        Property(
            "backs off at a loss",
            "holds",
            "a loss does not raise the window",
            claim="result <= state.cwnd_packets",
            when="state.cause == 1 and state.lost_packets > 0",
            required=True,
        ),
        Property(
            "backs off at a time-out",
            "holds",
            "a time-out does not raise the window",
            claim="result <= state.cwnd_packets",
            when="state.cause == 2",
            required=True,
        ),
        Property(
            "longer delay, no larger window",
            "nonincreasing",
            "all else equal",
            subject="state.rtt_us",
            when="0 < state.min_rtt_us <= state.rtt_us <= state.max_rtt_us",
        ),
        Property(
            "backs off under delay",
            "holds",
            "a window of 16 packets or more does not grow at four times the least round-trip time",
            claim="result <= state.cwnd_packets",
            when="state.cwnd_packets >= 16 and state.min_rtt_us > 0 and state.rtt_us >= 4 * state.min_rtt_us and "
            "state.smoothed_rtt_us >= 4 * state.min_rtt_us and window.min_rtt_us >= 4 * state.min_rtt_us and "
            "window.avg_rtt_us >= 4 * state.min_rtt_us",
        ),
    ),
    advice=(
        "A window of (rate of the link) x (round-trip time without a queue) fills the link and leaves the queue empty; "
        "more only makes the queue longer, and less leaves the link idle.",
        "The link's rate may change at any time: what was measured seconds ago may be wrong.",
    ),
    cautions=(Caution("loss", 0.05, "loses over 5 % of its packets"),),
    pictures=(
        Picture(
            name="throughput and delay",
            x="queueing_delay_p95_ms",
            y="throughput_mbps",
            x_label="95th percentile of the queueing delay (ms)",
            y_label="throughput (Mbit/s)",
            x_log=True,
            x_reversed=True,
        ),
    ),
)  # fmt: skip
