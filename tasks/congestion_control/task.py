"""Congestion control: how many packets a sender may have in flight."""

import math
from collections.abc import Mapping
from pathlib import Path

from vulcan.task import (
    Caution,
    Json,
    Mechanism,
    Metrics,
    Objective,
    Property,
    Setting,
    StateLimits,
    Task,
    Value,
    event,
)
from vulcan_link.interface import FLOW, MAX_WINDOW, MIN_WINDOW, STATE, TIMER, WINDOW

# What counts in `balanced`, adding up to 1.
GOODPUT, DELAY, LOSS, FAIRNESS = 0.4, 0.3, 0.1, 0.2
LOSS_SCALE = 10.0  # a tenth of all packets lost takes the whole of its part
MIN_LOSS_FACTOR = 0.01  # where a logarithm is taken


def _against_cubic(metrics: Metrics, references: "dict[str, Metrics]") -> float:
    """Doublings of PolicySmith's objective, with the goodput and the loss factor, against CUBIC."""
    return math.log2(_efficiency(metrics) / _efficiency(references["cubic"]))


def _efficiency(metrics: Metrics) -> float:
    return max(metrics["goodput_over_delay"] * max(metrics["drop_discount"], MIN_LOSS_FACTOR), 1e-9)


def _balance(metrics: Metrics, references: "dict[str, Metrics]") -> float:
    """The weighted sum, times the loss factor."""
    delay = metrics["queueing_delay_p95_ms"]
    parts = (
        GOODPUT * metrics["goodput_utilisation"]
        + DELAY * metrics["base_rtt_ms"] / (metrics["base_rtt_ms"] + delay)
        + LOSS * max(0.0, 1.0 - LOSS_SCALE * metrics["loss"])
        + FAIRNESS * metrics["jain"]
    )
    return parts * metrics["drop_discount"]


def _without_transfers(settings: Mapping[str, Json]) -> str | None:
    if settings.get("transfers") in (None, "none"):
        return "the objective completion is of transfers: give --transfers, such as 100/500"
    return None


def _completion(metrics: Metrics, references: "dict[str, Metrics]") -> float:
    return metrics["completion"] * metrics["drop_discount"]


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
    beside=("loss",),
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
    beside=("loss",),
)
POLICYSMITH = Objective(
    name="policysmith",
    metric="throughput_over_delay",
    meaning="PolicySmith's goodput / (1e-5 + p95 queueing delay), in Mbit/s and ms, times 1 - 10 x the share of its "
    "packets that the queue drops (at least 0.01), as the logarithm to base 2 of its ratio to that of CUBIC, so that "
    "links of all speeds count alike: 1 is twice as good as CUBIC, 0 as good",
    score=_against_cubic,
    references=("cubic",),
    beside=("loss",),
)


COMPLETION = Objective(
    name="completion",
    metric="power",
    meaning="of transfers (--transfers): the mean of the least possible time over the time that each takes, opening "
    "included, 0 for one that is not complete in the run; times 1 - 10 x the share of its packets that the queue drops "
    "(at least 0)",
    score=_completion,
    lowest=0.0,
    highest=1.0,
    beside=("completion_ms", "completed", "loss"),
    unfit=_without_transfers,
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
    evaluator="vulcan_link.simulator:LinkSimulator",
    objectives=(POWER, BALANCED, POLICYSMITH, COMPLETION),
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
            "windows of a named link's part in which runs take place, evenly spread, and at most as many as do not "
            "overlap; default: at most 32 of a recorded link, and 1 of a generated one",
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
            "reordering",
            "text",
            "the share of packets that come late and are overtaken, and by how many milliseconds, such as 0.01/10; "
            "default: none",
        ),
        Setting(
            "transfers",
            "text",
            "short flows in place of an endless one: packets of each and the milliseconds between their starts, such "
            "as 100/500; default: none",
        ),
        Setting("called", "text", "how often the policy is called", "ack", choices=("ack", "round")),
        Setting(
            "slow_start",
            "text",
            "who runs slow start, for policies that do not say so themselves",
            "mechanism",
            choices=("mechanism", "policy"),
            in_policy=True,
        ),
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
    axes=("queueing_delay_p95_ms", "throughput_mbps"),
)  # fmt: skip
