"""One measurement in the kernel: its setup, its result, and the simulator's prediction."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated

from vulcan.errors import UserError
from vulcan_link.linux.bottleneck import OPPORTUNITY_BYTES, LinkLog
from vulcan_link.linux.emulator import WakeupLateness
from vulcan_link.linux.transfer import Received, SentFlow
from vulcan_link.result import completion_figures, completion_of, jain
from vulcan_link.scenario import HEADERS
from vulcan_link.workloads import MAX_FLOWS, transfer_starts

if TYPE_CHECKING:
    from vulcan.anvil import Policy
    from vulcan_link.scenario import Called, Scenario, SlowStart
    from vulcan_traces.links import LinkTrace

PAYLOAD = 1500 - HEADERS
"""Bytes of a full packet's data."""


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
        transfers: packets of each flow that is not a competitor's, an entry of `algorithms`, and ms between their
            starts; 0 packets for flows that begin together and do not end.
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
    transfers: tuple[int, float] = (0, 500.0)

    def __post_init__(self) -> None:
        for option, value, least, most in (
            ("delay-ms", self.delay_ms, 0, 10_000),
            ("competing-delay-ms", self.competing_delay_ms or 0.0, 0, 10_000),
            ("buffer", self.buffer, 1, 1_000_000),
            ("seconds", self.seconds, 1, 3600),
            ("flows", len(self.algorithms), 1, MAX_FLOWS),  # transfers and competing ones included
            ("jitter-ms", self.jitter_ms, 0, 1000),
            ("ack-batch-ms", self.ack_batch_ms, 0, 1000),
            ("loss", self.loss, 0, 0.99),
        ):
            if not least <= value <= most:
                raise UserError(f"--{option} {value:g}: give {least:g} to {most:,g}")

    @property
    def own_flows(self) -> int:
        """How many of the flows, the first, are not competitors."""
        return len(self.algorithms) if self.own is None else self.own

    @property
    def transfer_starts_s(self) -> tuple[float, ...]:
        """When each of the flows that are not competitors starts; of several at a time one series follows the other."""
        if not self.transfers[0]:
            return ()
        starts = transfer_starts(self.transfers[1], self.seconds)
        return tuple(starts[number % len(starts)] for number in range(self.own_flows))

    @property
    def delays_ms(self) -> tuple[float, ...]:
        """One-way propagation delay of each flow."""
        own = self.own_flows
        other = self.delay_ms if self.competing_delay_ms is None else self.competing_delay_ms
        return tuple(self.delay_ms if number < own else other for number in range(len(self.algorithms)))


@dataclass(frozen=True, slots=True)
class FlowFigures:
    """Figures of one flow."""

    goodput_mbps: Annotated[float, "payload that reached the receiver, in Mbit/s"]
    retransmitted: Annotated[int, "retransmitted segments"]
    min_rtt_ms: Annotated[float, "smallest round-trip time"]


@dataclass(frozen=True, slots=True)
class MeasuredFlow(FlowFigures):
    """Figures of one flow that was measured."""

    smoothed_rtt_ms: Annotated[float, "smoothed round-trip time at the end, of the kernel"]


@dataclass(frozen=True, slots=True)
class Completion:
    """How long short flows took, the connection's opening included."""

    completion_ms: Annotated[float, "mean; one that is not complete counts as if it were at the end"]
    completion_p95_ms: Annotated[float, "95th percentile"]
    completed: Annotated[float, "share of those that are complete"]


@dataclass(frozen=True, kw_only=True)
class LinkFigures:
    """Figures of a link, measured or simulated.

    Utilisation is the share of the link's opportunities, in bytes, that packets used. The queueing delay of a packet
    is the time from its arrival to the opportunity that finished it, in whole ms, over all packets that arrived in the
    time and were not dropped, also those that crossed after it.
    """

    utilisation: Annotated[float, "share of the link's capacity that was used"]
    throughput_mbps: Annotated[float, "what left the link, in Mbit/s"]
    goodput_mbps: Annotated[float, "payload that reached the receivers, in Mbit/s"]
    queueing_delay_avg_ms: Annotated[float, "mean queueing delay"]
    queueing_delay_p95_ms: Annotated[float, "95th percentile of the queueing delay"]
    queueing_delay_max_ms: Annotated[float, "largest queueing delay"]
    delivered: Annotated[int, "packets that left the link"]
    dropped: Annotated[int, "packets that were dropped"]
    loss: Annotated[float, "share of the packets that arrived at the link and were dropped"]
    jain: Annotated[float, "Jain's fairness index of the flows' goodputs"]
    retransmitted: Annotated[int, "retransmitted segments"]
    flows: Annotated[tuple[FlowFigures, ...], "figures of each flow"]
    transfers: Annotated[Completion | None, "of `--transfers`"]


@dataclass(frozen=True, kw_only=True)
class Measurement(LinkFigures):
    """Figures of a link that was measured."""

    flows: Annotated[tuple[MeasuredFlow, ...], "figures of each flow"]
    punctuality: Annotated[WakeupLateness, "how punctual the emulated link was"]


def measure(
    log: LinkLog, cell: Cell, sent: list[SentFlow], received: dict[int, Received], punctuality: WakeupLateness
) -> Measurement:
    """Return the figures of a run, as `mm-link`'s log gives them. Raises UserError where nothing crossed the link."""
    if not log.departed:
        raise UserError("no packet crossed the link in this time: take a longer run, or another link")
    seconds = cell.seconds
    delays = sorted((when - arrived) / 1e6 for when, _, arrived in log.departed)
    in_time = [size for when, size, _ in log.departed if when <= seconds * 1e9]
    carried = sum(in_time)
    goodputs = [received.get(flow.port, Received()).size * 8e-6 / seconds for flow in sent]
    return Measurement(
        utilisation=carried / (log.opportunities * OPPORTUNITY_BYTES),
        throughput_mbps=carried * 8e-6 / seconds,
        goodput_mbps=sum(goodputs),
        queueing_delay_avg_ms=sum(delays) / len(delays),
        queueing_delay_p95_ms=delays[math.ceil(0.95 * len(delays)) - 1],
        queueing_delay_max_ms=delays[-1],
        delivered=len(in_time),
        dropped=len(log.dropped),
        loss=len(log.dropped) / len(log.arrived),
        jain=jain(goodputs),
        retransmitted=sum(flow.retransmitted for flow in sent),
        flows=tuple(
            MeasuredFlow(goodput, flow.retransmitted, flow.min_rtt_ms, flow.smoothed_rtt_ms)
            for goodput, flow in zip(goodputs, sent, strict=True)
        ),
        punctuality=punctuality,
        transfers=_completion(cell, sent, received) if cell.transfers[0] else None,
    )


def _completion(cell: Cell, sent: list[SentFlow], received: dict[int, Received]) -> Completion:
    times, ends = [], []
    for flow, start in zip(sent[: cell.own_flows], cell.transfer_starts_s, strict=True):
        had = received.get(flow.port, Received())
        times.append(had.latest * 1e-6 - 1e3 * start if had.size >= cell.transfers[0] * PAYLOAD else math.inf)
        ends.append(1e3 * (cell.seconds - start))
    return Completion(**completion_figures(times, ends))


# The simulator's prediction for a cell that the kernel runs.

LATENESS_US = 2075.0
"""Up to how late an emulator in user space, with a clock of milliseconds, hands over what it carries. It was chosen so
that BBR, which takes the highest of its rate samples for the bandwidth, has the queue that Linux's has over Mahimahi on
a constant link (`docs/link-validation.md`); other algorithms hardly depend on it."""


def scenario_of(cell: Cell, called: Called = "ack", slow_start: SlowStart = "mechanism") -> Scenario | None:
    """Return the same link, buffer, delay and flows for the simulator; None for an algorithm that it does not have.

    `called` and `slow_start` are those of `vulcan_link.Flow`. Raises UserError for what it cannot simulate.
    """
    from vulcan_link.algorithms import ALGORITHMS
    from vulcan_link.scenario import Flow, Queue, Scenario

    if any(name not in ALGORITHMS for name in cell.algorithms):
        return None
    packets, write_ms = cell.transfers if cell.transfers[0] else cell.application
    starts = cell.transfer_starts_s
    flows = [
        Flow(
            algorithm=name,
            delay_ms=delay,
            # A connection opens within a round trip, so the farther flow sends that much later than the nearer; half
            # of it is what its clock runs ahead by in the simulator, where the way to the queue is the whole delay
            start_s=1e-3 * (delay - min(cell.delays_ms)),
            called=called,
            slow_start=slow_start,
            write_packets=packets if number < cell.own_flows else 0,
            write_ms=write_ms,
        )
        for number, (name, delay) in enumerate(zip(cell.algorithms, cell.delays_ms, strict=True))
    ]
    for number, start in enumerate(starts):
        flows[number] = replace(flows[number], start_s=start, stop_s=cell.seconds, write_ms=1e9)
    return Scenario(
        link=cell.link,
        queue=Queue("droptail", packets=cell.buffer),
        flows=tuple(flows),
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
    )


def predict(
    cell: Cell, policy: Policy | None = None, called: Called = "ack", slow_start: SlowStart = "mechanism"
) -> LinkFigures | None:
    """Return the cell's simulated figures; None for an algorithm that the simulator does not have.

    The flows that are called `policy` ask the given one. Raises UserError for others.
    """
    from vulcan_link.simulate import simulate

    scenario = scenario_of(cell, called, slow_start)
    if scenario is None:
        return None
    result = simulate(scenario, policy)
    transfers = completion_of(scenario, result, cell.own_flows) if cell.transfers[0] else None
    return LinkFigures(
        throughput_mbps=result.throughput_bps * 1e-6,
        goodput_mbps=result.goodput_bps * 1e-6,
        loss=result.drop_share,
        flows=tuple(FlowFigures(f.goodput_bps * 1e-6, f.retransmitted, f.rtt_min_ms) for f in result.flows),
        transfers=Completion(*(transfers[each.name] for each in fields(Completion))) if transfers else None,
        **{name: getattr(result, name) for name in _ALIKE},
    )


_ALIKE = (
    *("utilisation", "queueing_delay_avg_ms", "queueing_delay_p95_ms", "queueing_delay_max_ms"),
    *("delivered", "dropped", "jain", "retransmitted"),
)
"""Figures that the simulator's result has by the same names."""
