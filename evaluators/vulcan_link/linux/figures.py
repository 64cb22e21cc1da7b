"""The figures of one measurement in the kernel, and the simulator's prediction."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Annotated, TypedDict

from vulcan.errors import UserError
from vulcan_link.linux.bottleneck import LinkLog
from vulcan_link.linux.emulator import WakeupLateness
from vulcan_link.linux.transfer import Received, SentFlow
from vulcan_link.result import completion_figures, completion_of, jain, power_of
from vulcan_link.scenario import HEADERS, Flow, Scenario
from vulcan_traces.links import OPPORTUNITY_BYTES

if TYPE_CHECKING:
    from vulcan.anvil import Policy

PAYLOAD = 1500 - HEADERS
"""Bytes of a full packet's data."""


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


class KernelRunDocument(TypedDict):
    """Measurements of `vulcan kernel run`, and the simulator's prediction."""

    algorithm: Annotated[str, "the algorithm or policy"]
    link: Annotated[str, "the link's name"]
    link_digest: Annotated[str, "identifies the link's trace"]
    delay_ms: Annotated[float, "one-way delay"]
    buffer_packets: Annotated[int, "packets that the buffer holds"]
    seconds: Annotated[float, "duration"]
    competing: Annotated[list[str], "the algorithm of each competing flow, which are the last of `flows`"]
    competing_delay_ms: Annotated[float, "their one-way delay"]
    jitter_ms: Annotated[float, "up to how much acknowledgements come late at random"]
    ack_batch_ms: Annotated[float, "acknowledgements arrive together on multiples of this; 0 for at once"]
    random_loss: Annotated[float, "share of packets that are lost at random before the queue"]
    application: Annotated[str, "as the option of the same name; so are the next three"]
    transfers: Annotated[str, "short flows, or `none`"]
    policer: Annotated[str, "a policer, or `none`"]
    reordering: Annotated[str, "packets that come late, or `none`"]
    exact_clock: Annotated[bool, "whether the link acts at exact times, not on Mahimahi's clock of milliseconds"]
    linux: Annotated[str, "the kernel's release"]
    kernel: Annotated[Measurement, "what was measured"]
    simulator: Annotated[LinkFigures | None, "what was predicted; `null` for an algorithm that the simulator lacks"]
    power: Annotated[dict[str, float], "the objective `power` of the flows that do not compete, by the two above"]


def measure(
    log: LinkLog, scenario: Scenario, sent: list[SentFlow], received: dict[int, Received], punctuality: WakeupLateness
) -> Measurement:
    """Return the figures of a run, as `mm-link`'s log gives them. Raises UserError where nothing crossed the link."""
    if not log.departed:
        raise UserError("no packet crossed the link in this time: take a longer run, or another link")
    seconds = scenario.duration_s
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
        transfers=_completion(scenario, sent, received) if transfers_of(scenario) else None,
    )


def power_in(figures: LinkFigures, own: int, round_trip_ms: float) -> float:
    """Return the objective `power` of the first `own` flows; all packets of the link count for delay and loss."""
    capacity = figures.throughput_mbps / figures.utilisation if figures.utilisation else 0.0
    fair = capacity * own / len(figures.flows)
    goodput = sum(flow.goodput_mbps for flow in figures.flows[:own])
    return power_of(goodput, fair, round_trip_ms, figures.queueing_delay_avg_ms, figures.loss)


def transfers_of(scenario: Scenario) -> tuple[Flow, ...]:
    """Return the flows that are short ones, the first of the scenario."""
    return tuple(flow for flow in scenario.flows if flow.stop_s is not None)


def _completion(scenario: Scenario, sent: list[SentFlow], received: dict[int, Received]) -> Completion:
    times, ends = [], []
    for flow, transfer in zip(sent, transfers_of(scenario), strict=False):
        had = received.get(flow.port, Received())
        is_whole = had.size >= transfer.write_packets * PAYLOAD
        times.append(had.latest * 1e-6 - 1e3 * transfer.start_s if is_whole else math.inf)
        ends.append(1e3 * (scenario.duration_s - transfer.start_s))
    return Completion(**completion_figures(times, ends))


# The simulator's prediction for what the kernel runs.

LATENESS_US = 2075.0
"""Up to how late an emulator in user space, with a clock of milliseconds, hands over what it carries. It was chosen so
that BBR, which takes the highest of its rate samples for the bandwidth, has the queue that Linux's has over Mahimahi on
a constant link (`docs/link-validation.md`); other algorithms hardly depend on it."""


def predict(scenario: Scenario, policy: Policy | None = None) -> LinkFigures | None:
    """Return the simulated figures; None for an algorithm that the simulator does not have.

    The flows that are called `policy` ask the given one. Raises UserError for what cannot be simulated.
    """
    from vulcan_link.algorithms import ALGORITHMS
    from vulcan_link.simulate import simulate

    if any(flow.algorithm not in ALGORITHMS for flow in scenario.flows):
        return None
    # A connection opens within a round trip, so the farther flow sends that much later than the nearer; half of it is
    # what its clock runs ahead by in the simulator, where the way to the queue is the whole delay
    nearest = min(flow.delay_ms for flow in scenario.flows)
    simulated = replace(
        scenario,
        flows=tuple(
            flow if flow.stop_s is not None else replace(flow, start_s=1e-3 * (flow.delay_ms - nearest))
            for flow in scenario.flows
        ),
        jitter_us=scenario.jitter_us + (LATENESS_US if scenario.clock_ms else 0.0),
        handshake=True,
    )
    result = simulate(simulated, policy)
    short = len(transfers_of(scenario))
    transfers = completion_of(simulated, result, short) if short else None
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
