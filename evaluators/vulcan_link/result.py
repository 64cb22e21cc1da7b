"""Results of a simulation, and the metrics computed from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from vulcan_link.engine_state import LOG_SLOTS
from vulcan_link.scenario import HEADERS, Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketCounts:
    """What is known alike of a flow and of a link with all of its flows."""

    goodput_bps: float
    throughput_bps: float
    sent: int
    delivered: int
    dropped: int
    lost: int
    marked: int
    retransmitted: int
    queueing_delay_avg_ms: float
    queueing_delay_p95_ms: float
    queueing_delay_max_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowResult(PacketCounts):
    """One flow. Packets are transmissions, so that a retransmission counts again; all are of the measured time.

    `sent` = `lost` (at random, before the queue) + `dropped` (by the queue) + `delivered` (out of the link) + those in
    the queue, over the whole of a simulation that is measured from 0. `goodput_bps` is of payload that came for the
    first time, `throughput_bps` of all that left the link, on the wire; both over the measured time in which the flow
    ran. Delays are of delivered packets, in the queue; round trips are those of acknowledgements. `window_avg` is the
    mean over acknowledgements. `calls` counts those of the policy, and `decisions` is a hash of all that it answered,
    in order, as 64 bits; both 0 for known algorithms. `completion_ms` is the time from the start of a flow that stops
    until its receiver had all of it, infinite for others.
    """

    algorithm: str
    rtt_avg_ms: float
    rtt_min_ms: float
    timeouts: int
    window_avg: float
    calls: int
    decisions: int
    completion_ms: float = math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkResult(PacketCounts):
    """Result of a simulation: totals of the link, and each flow.

    `utilisation` is the share of the link's capacity in the measured time that was used: of the bytes that its
    delivery opportunities could carry, or its rates. `queueing_delay_p95_ms` is the smallest delay that at least 95 %
    of the packets did not exceed, in bins of 10 us up to 1 s and 10 ms above. `jain` is Jain's index of the flows'
    goodputs. `events` counts what the simulator did; `management` is a hash of what a policy that manages the queue
    asked for. `log`, where it is asked for, is what happened at the queue in order, of the whole simulation: rows as
    `engine_state` has them. `states` has a row for each flow, of what its policy was shown last and its own state.
    """

    flows: tuple[FlowResult, ...]
    seconds: float
    capacity_bps: float
    utilisation: float
    jain: float
    events: int
    management: int = 0
    log: NDArray[np.int64] = field(
        default_factory=lambda: np.zeros((0, LOG_SLOTS), np.int64), repr=False, compare=False
    )
    states: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)), repr=False, compare=False)

    @property
    def decisions(self) -> int:
        """A hash of all that a policy decided, of senders or of the queue."""
        digest = self.management
        for flow in self.flows:
            digest = (digest * 31 + flow.decisions) % 2**64 if flow.decisions else digest
        return digest

    @property
    def drop_share(self) -> float:
        """Of the packets that came to the queue, those it dropped."""
        arrived = self.sent - self.lost
        return self.dropped / arrived if arrived else 0.0


def jain(shares: list[float]) -> float:
    """Jain, Chiu and Hawe, DEC-TR-301, 1984; 1 where nobody gets anything."""
    squares = sum(x * x for x in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 1.0


# Metrics of a run: all of them, whatever the objective.

_WIRE = 1500 / (1500 - HEADERS)
"""Bytes on the wire for each byte of payload."""

MIN_DELAY_MS = 1e-5
"""Constant that PolicySmith adds to the delay, to avoid a division by zero."""


LOSS_SCALE = 10.0
"""A queue that drops a tenth of all packets takes the whole score."""


def metrics_of(result: LinkResult, flows: int, base_rtt_ms: float, share: float) -> dict[str, float]:
    """Return the metrics of a run whose first `flows` flows are the policy's.

    `share` is how much of the link is fairly theirs, `base_rtt_ms` their round-trip time without a queue. Of the link,
    with all its flows: `utilisation` (share of its capacity), `capacity_mbps`, `jain` (Jain's index of the flows'
    goodputs; 1 for a single flow). Of the policy's flows together: `throughput_mbps` (on the wire), `goodput_mbps` (of
    payload, once), `queueing_delay_avg_ms`, `queueing_delay_p95_ms` and `queueing_delay_max_ms` (of delivered packets;
    p95 of several flows is the highest of theirs), `rtt_avg_ms`, `rtt_min_ms`, `loss` and `retransmitted` (shares of
    the packets sent), `dropped` (the share of them that the queue dropped), `timeouts`, `window_packets` (on average).
    From these `share` (of what is fairly theirs, which may exceed 1; goodput with its headers), `drop_discount` (1
    without drops, 0 from a tenth of the packets on), `power` and `goodput_over_delay` (see the task's objectives), and
    `throughput_over_delay` (PolicySmith's, Mbit/s and ms). `goodput_utilisation` is the share of the link's capacity
    that carried payload for the first time, of all flows, with its headers.
    """
    mine = result.flows[:flows]
    throughput = sum(flow.throughput_bps for flow in mine) / 1e6
    fair = share * result.capacity_bps / 1e6
    average = _weighted(mine, [flow.queueing_delay_avg_ms for flow in mine])
    p95 = max(flow.queueing_delay_p95_ms for flow in mine)
    sent = sum(flow.sent for flow in mine)
    goodput = sum(flow.goodput_bps for flow in mine) / 1e6
    dropped = sum(flow.dropped for flow in mine) / sent if sent else 0.0
    factor = max(0.0, 1.0 - LOSS_SCALE * dropped)
    reached = goodput * _WIRE / fair if fair > 0 else 0.0
    carried = sum(flow.goodput_bps for flow in result.flows) * _WIRE
    return {
        "utilisation": result.utilisation,
        "throughput_mbps": throughput,
        "goodput_mbps": goodput,
        "queueing_delay_avg_ms": average,
        "queueing_delay_p95_ms": p95,
        "queueing_delay_max_ms": max(flow.queueing_delay_max_ms for flow in mine),
        "rtt_avg_ms": _weighted(mine, [flow.rtt_avg_ms for flow in mine]),
        "rtt_min_ms": min(flow.rtt_min_ms for flow in mine),
        "base_rtt_ms": base_rtt_ms,
        "loss": sum(flow.dropped + flow.lost for flow in mine) / sent if sent else 0.0,
        "retransmitted": sum(flow.retransmitted for flow in mine) / sent if sent else 0.0,
        "timeouts": float(sum(flow.timeouts for flow in mine)),
        "jain": result.jain,
        "capacity_mbps": result.capacity_bps / 1e6,
        "share": reached,
        "window_packets": sum(flow.window_avg for flow in mine),
        "sent_packets": float(sent),
        "delivered_packets": float(sum(flow.delivered for flow in mine)),
        "power": power_of(goodput, fair, base_rtt_ms, average, dropped),
        "throughput_over_delay": throughput / (MIN_DELAY_MS + p95),
        "dropped": dropped,
        "drop_discount": factor,
        "goodput_over_delay": goodput / (MIN_DELAY_MS + p95),
        "goodput_utilisation": min(1.0, carried / result.capacity_bps) if result.capacity_bps > 0 else 0.0,
    }


def power_of(goodput_mbps: float, fair_mbps: float, base_rtt_ms: float, delay_ms: float, dropped: float) -> float:
    """Return Kleinrock's power, at most 1: share of what is fair, delay factor and drop discount multiplied."""
    reached = goodput_mbps * _WIRE / fair_mbps if fair_mbps > 0 else 0.0
    prompt = base_rtt_ms / (base_rtt_ms + delay_ms) if base_rtt_ms + delay_ms > 0 else 0.0
    return min(1.0, reached) * prompt * max(0.0, 1.0 - LOSS_SCALE * dropped)


def _weighted(flows: Sequence[FlowResult], values: Sequence[float]) -> float:
    """Return the mean over delivered packets."""
    weights = [flow.delivered for flow in flows]
    total = sum(weights)
    return sum(w * v for w, v in zip(weights, values, strict=True)) / total if total else 0.0


def completion_times(scenario: Scenario, result: LinkResult, flows: int) -> list[float]:
    """Return the ms from the start of each of the first `flows` flows, transfers, until its receiver had all.

    The handshake is a round trip of it. Infinite for a transfer that is not complete.
    """
    return [
        flow.round_trip_ms + found.completion_ms if found.sent - found.retransmitted >= flow.write_packets else math.inf
        for flow, found in zip(scenario.flows[:flows], result.flows[:flows], strict=True)
    ]


def completion_figures(times: Sequence[float], at_the_end: Sequence[float]) -> dict[str, float]:
    """Return the mean and the 95th percentile of the ms that transfers took, and the share of them that are complete.

    A transfer that is not complete counts with the ms that it had until the end.
    """
    took = sorted(time if math.isfinite(time) else end for time, end in zip(times, at_the_end, strict=True))
    return {
        "completion_ms": fmean(took),
        "completion_p95_ms": took[math.ceil(0.95 * len(took)) - 1],
        "completed": sum(map(math.isfinite, times)) / len(times),
    }


def completion_of(scenario: Scenario, result: LinkResult, flows: int) -> dict[str, float]:
    """Return the metrics of transfers, the first `flows` flows.

    Besides the figures above, `completion` is the mean of the least possible time over that time, 0 for one that is not
    complete: a round trip, and the time that the link takes for the packets at its mean rate.
    """
    times = completion_times(scenario, result, flows)
    transfers = scenario.flows[:flows]
    rate = max(result.capacity_bps, 1.0)
    least = [flow.round_trip_ms + 8e3 * flow.write_packets * flow.packet_bytes / rate for flow in transfers]
    at_the_end = [flow.round_trip_ms + 1e3 * (scenario.duration_s - flow.start_s) for flow in transfers]
    shares = [min(1.0, shortest / time) for shortest, time in zip(least, times, strict=True)]
    return {**completion_figures(times, at_the_end), "completion": fmean(shares)}
