"""One measurement in the kernel: its setup, its result, and the simulator's prediction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from vulcan.errors import UserError
from vulcan_link.kernel.bottleneck import OPPORTUNITY_BYTES, LinkLog
from vulcan_link.kernel.emulator import WakeupLateness
from vulcan_link.kernel.transfer import SentFlow

if TYPE_CHECKING:
    from vulcan_traces.links import LinkTrace
if TYPE_CHECKING:
    from vulcan.anvil import Policy
    from vulcan_link.result import LinkResult


@dataclass(frozen=True, slots=True)
class Cell:
    """Setup of a measurement: a link and the flows over it.

    Args:
        algorithms: the kernel's name of each flow's congestion control.
        delay_ms: one-way propagation delay.
        buffer: packets that may wait at the bottleneck.
        seconds: how long the flows send.
        competing_delay_ms: one-way propagation delay of flows after the first `own`; None for `delay_ms`.
        own: how many of the flows are not competitors; None for all.
        jitter_ms, ack_batch_ms, loss, seed: noise of the path, as of `vulcan_link.Scenario`.
        application, policer, reordering: packets and ms between the writes of the flows that are not competitors,
            Mbit/s and bytes of the bucket, and the share of packets that come late and by how many ms.
        reverse: the kernel's name of the congestion control of a flow that sends the other way; None for no such flow.
        reverse_after_ms: how much later than the others that flow begins.
        exact_clock: whether the emulator acts at the exact time, or on Mahimahi's clock of milliseconds.
    """

    link: LinkTrace
    algorithms: tuple[str, ...]
    delay_ms: float
    buffer: int
    seconds: float
    own: int | None = None
    competing_delay_ms: float | None = None
    jitter_ms: float = 0.0
    ack_batch_ms: float = 0.0
    loss: float = 0.0
    seed: int = 1
    exact_clock: bool = False
    application: tuple[int, float] = (0, 100.0)
    policer: tuple[float, int] = (0.0, 0)
    reordering: tuple[float, float] = (0.0, 0.0)
    reverse: str | None = None
    reverse_after_ms: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.delay_ms <= 10_000:
            raise UserError(f"--delay-ms {self.delay_ms:g}: give a delay of 0 to 10,000 ms")
        if not 1 <= self.buffer <= 1_000_000:
            raise UserError(f"--buffer {self.buffer}: give a buffer of 1 to 1,000,000 packets")
        if not 1 <= self.seconds <= 3600:
            raise UserError(f"--seconds {self.seconds:g}: give a duration of 1 to 3,600 seconds")
        if not 1 <= len(self.algorithms) <= 64:
            raise UserError(f"--flows {len(self.algorithms)}: give 1 to 64 flows, competing ones included")
        for option, value in (("jitter-ms", self.jitter_ms), ("ack-batch-ms", self.ack_batch_ms)):
            if not 0 <= value <= 1000:
                raise UserError(f"--{option} {value:g}: give a time of 0 to 1,000 ms")
        if not 0 <= self.loss < 1:
            raise UserError(f"--loss {self.loss:g}: give a share from 0 to below 1")
        if self.competing_delay_ms is not None and not 0 <= self.competing_delay_ms <= 10_000:
            raise UserError(f"--competing-delay-ms {self.competing_delay_ms:g}: give a delay of 0 to 10,000 ms")

    @property
    def delays_ms(self) -> tuple[float, ...]:
        """One-way propagation delay of each flow."""
        own = len(self.algorithms) if self.own is None else self.own
        other = self.delay_ms if self.competing_delay_ms is None else self.competing_delay_ms
        return tuple(self.delay_ms if number < own else other for number in range(len(self.algorithms)))


@dataclass(frozen=True, slots=True)
class CellFlow:
    goodput_mbps: float  # payload that reached the receiver
    retransmitted: int  # segments
    min_rtt_ms: float
    smoothed_rtt_ms: float  # at the end


@dataclass(frozen=True, slots=True)
class Measurement:
    """Result of a measurement.

    Utilisation is the share of the link's opportunities, in bytes, that packets used. The queueing delay of a packet
    is the time from its arrival to the opportunity that finished it, in whole ms, over all packets that arrived in the
    time and were not dropped, also those that crossed after it.
    """

    utilisation: float
    throughput_mbps: float
    queueing_delay_avg_ms: float
    queueing_delay_p95_ms: float
    queueing_delay_max_ms: float
    delivered: int  # packets, in the time
    dropped: int
    loss: float  # of the packets that arrived
    jain: float
    flows: tuple[CellFlow, ...]
    punctuality: WakeupLateness

    @property
    def goodput_mbps(self) -> float:
        return sum(flow.goodput_mbps for flow in self.flows)

    @property
    def retransmitted(self) -> int:
        return sum(flow.retransmitted for flow in self.flows)


def measure(
    log: LinkLog, seconds: float, sent: list[SentFlow], received: dict[int, int], punctuality: WakeupLateness
) -> Measurement:
    """Return the figures of a run, as `mm-link`'s log gives them. Raises UserError where nothing crossed the link."""
    if not log.departed:
        raise UserError("no packet crossed the link in this time: take a longer run, or another link")
    delays = sorted((when - arrived) / 1e6 for when, _, arrived in log.departed)
    in_time = [size for when, size, _ in log.departed if when <= seconds * 1e9]
    carried = sum(in_time)
    goodputs = [received.get(flow.port, 0) * 8e-6 / seconds for flow in sent]
    squares = len(goodputs) * sum(goodput**2 for goodput in goodputs)
    return Measurement(
        utilisation=carried / (log.opportunities * OPPORTUNITY_BYTES),
        throughput_mbps=carried * 8e-6 / seconds,
        queueing_delay_avg_ms=sum(delays) / len(delays),
        queueing_delay_p95_ms=delays[math.ceil(0.95 * len(delays)) - 1],
        queueing_delay_max_ms=delays[-1],
        delivered=len(in_time),
        dropped=len(log.dropped),
        loss=len(log.dropped) / len(log.arrived),
        jain=sum(goodputs) ** 2 / squares if squares else 0.0,
        flows=tuple(
            CellFlow(goodput, flow.retransmitted, flow.min_rtt_ms, flow.smoothed_rtt_ms)
            for goodput, flow in zip(goodputs, sent, strict=True)
        ),
        punctuality=punctuality,
    )


# The simulator's prediction for a cell that the kernel runs.

LATENESS_US = 2075.0
"""Up to how late an emulator in user space, with a clock of milliseconds, hands over what it carries. It was chosen so
that BBR, which takes the highest of its rate samples for the bandwidth, has the queue that Linux's has over Mahimahi on
a constant link (`docs/link-validation.md`); other algorithms hardly depend on it."""

Called = Literal["ack", "round"]
SlowStart = Literal["mechanism", "policy"]


def predict(
    cell: Cell, policy: Policy | None = None, called: Called = "ack", slow_start: SlowStart = "mechanism"
) -> LinkResult | None:
    """Return the same link, buffer, delay and flows, simulated; None for an algorithm that the simulator does not have.

    The flows that are called `policy` ask the given one; `called` and `slow_start` are then those of
    `vulcan_link.Flow`. Raises UserError for others.
    """
    from vulcan_link import Flow, Queue, Scenario, simulate
    from vulcan_link.algorithms import ALGORITHMS

    if any(name not in ALGORITHMS for name in (*cell.algorithms, cell.reverse or "cubic")):
        return None
    own = len(cell.algorithms) if cell.own is None else cell.own
    scenario = Scenario(
        link=cell.link,
        queue=Queue("droptail", packets=cell.buffer),
        flows=tuple(
            Flow(
                algorithm=name,
                delay_ms=delay,
                # A connection opens within a round trip: the farther flow sends data that much later than the nearer
                start_s=2e-3 * (delay - min(cell.delays_ms)),
                called=called,
                slow_start=slow_start,
                write_packets=cell.application[0] if number < own else 0,
                write_ms=cell.application[1],
            )
            for number, (name, delay) in enumerate(zip(cell.algorithms, cell.delays_ms, strict=True))
        ),
        duration_s=cell.seconds,
        loss=cell.loss,
        seed=cell.seed,
        clock_ms=0.0 if cell.exact_clock else 1.0,
        jitter_us=1000 * cell.jitter_ms + (0.0 if cell.exact_clock else LATENESS_US),
        ack_batch_ms=cell.ack_batch_ms,
        handshake=True,
        policer_mbps=cell.policer[0],
        policer_bytes=cell.policer[1],
        late_share=cell.reordering[0],
        late_ms=cell.reordering[1],
        reverse=Flow(cell.reverse, delay_ms=cell.delay_ms, start_s=1e-3 * cell.reverse_after_ms)
        if cell.reverse
        else None,
    )
    return simulate(scenario, policy)
