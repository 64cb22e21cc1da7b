"""What a simulation measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class FlowResult:
    """One flow. Packets are transmissions, so that a retransmission counts again; all but `in_flight` are of the
    measured time.

    `sent` = `lost` (at random, before the queue) + `dropped` (by the queue) + `delivered` (out of the link) + those in
    the queue, over the whole of a simulation that is measured from 0. `in_flight` is what the network holds at the
    end: in the queue, or on its way back as an acknowledgement. `goodput_bps` is of payload that came for the first
    time, `throughput_bps` of all that left the link, on the wire; both over the measured time in which the flow ran.
    Delays are of delivered packets, in the queue; round trips are those of acknowledgements. `window_avg` is the mean
    over acknowledgements. `calls` counts those of the policy, and `decisions` is a hash of all that it answered, in
    order, as 64 bits; both 0 for known algorithms.
    """

    algorithm: str
    sent: int
    delivered: int
    dropped: int
    lost: int
    marked: int
    retransmitted: int
    acknowledged: int
    queued: int
    in_flight: int
    goodput_bps: float
    throughput_bps: float
    queueing_delay_avg_ms: float
    queueing_delay_p95_ms: float
    queueing_delay_max_ms: float
    rtt_avg_ms: float
    rtt_min_ms: float
    rtt_max_ms: float
    recoveries: int
    timeouts: int
    window_avg: float
    calls: int
    decisions: int

    @property
    def loss_share(self) -> float:
        """Of the packets that were sent."""
        return (self.dropped + self.lost) / self.sent if self.sent else 0.0


@dataclass(frozen=True, slots=True)
class Result:
    """A simulation: totals of the link, and each flow.

    `utilisation` is the share of the link's capacity in the measured time that was used: of the bytes that its
    delivery opportunities could carry, or its rates. `queueing_delay_p95_ms` is the smallest delay that at least 95 %
    of the packets did not exceed, in bins of 10 us up to 1 s and 10 ms above. `jain` is Jain's index of the flows'
    goodputs. `events` counts what the simulator did; `management` is a hash of what a
    policy that manages the queue asked for; `series` is there when asked for: each of shape (samples, flows).
    """

    flows: tuple[FlowResult, ...]
    seconds: float
    capacity_bps: float
    utilisation: float
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
    jain: float
    events: int
    management: int = 0
    series: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def drop_share(self) -> float:
        """Of the packets that came to the queue, those it dropped."""
        arrived = self.sent - self.lost
        return self.dropped / arrived if arrived else 0.0

    @property
    def loss_share(self) -> float:
        """Of the packets sent, those dropped or lost at random."""
        return (self.dropped + self.lost) / self.sent if self.sent else 0.0
