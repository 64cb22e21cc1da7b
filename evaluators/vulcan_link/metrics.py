"""What is told of one run: always everything, whatever the objective."""

from __future__ import annotations

from collections.abc import Sequence

from vulcan_link.result import FlowResult, Result

MIN_DELAY_MS = 1e-5
"""What PolicySmith adds to the delay, so that none at all can be divided by."""


def metrics_of(result: Result, flows: int, base_rtt_ms: float, share: float) -> dict[str, float]:
    """The metrics of a run whose first `flows` flows are the policy's.

    `share` is how much of the link is fairly theirs, `base_rtt_ms` their round-trip time without a queue. Of the link,
    with all its flows: `utilisation` (share of its capacity), `capacity_mbps`, `jain` (Jain's index of the flows'
    goodputs; 1 for a single flow). Of the policy's flows together: `throughput_mbps` (on the wire), `goodput_mbps` (of
    payload, once), `queueing_delay_avg_ms`, `queueing_delay_p95_ms` and `queueing_delay_max_ms` (of delivered packets;
    p95 of several flows is the highest of theirs), `rtt_avg_ms`, `rtt_min_ms`, `loss` and `retransmitted` (shares of
    the packets sent), `timeouts`, `window_packets` (on average). From these `share` (of what is fairly theirs, which
    may exceed 1), `power` (see the task's objective) and `throughput_over_delay` (PolicySmith's, Mbit/s and ms).
    """
    mine = result.flows[:flows]
    throughput = sum(flow.throughput_bps for flow in mine) / 1e6
    fair = share * result.capacity_bps / 1e6
    average = _weighted(mine, [flow.queueing_delay_avg_ms for flow in mine])
    p95 = max(flow.queueing_delay_p95_ms for flow in mine)
    sent = sum(flow.sent for flow in mine)
    reached = throughput / fair if fair > 0 else 0.0
    return {
        "utilisation": result.utilisation,
        "throughput_mbps": throughput,
        "goodput_mbps": sum(flow.goodput_bps for flow in mine) / 1e6,
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
        "power": min(1.0, reached) * base_rtt_ms / (base_rtt_ms + average) if base_rtt_ms + average > 0 else 0.0,
        "throughput_over_delay": throughput / (MIN_DELAY_MS + p95),
    }


def _weighted(flows: Sequence[FlowResult], values: Sequence[float]) -> float:
    """The mean over delivered packets."""
    weights = [flow.delivered for flow in flows]
    total = sum(weights)
    return sum(w * v for w, v in zip(weights, values, strict=True)) / total if total else 0.0
