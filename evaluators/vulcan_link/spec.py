"""An instance: a part of a link's trace, the path over it, and the flows that share it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from vulcan.errors import UserError
from vulcan.simulator import sparse
from vulcan_link import workloads as w
from vulcan_link.result import LinkResult
from vulcan_link.scenario import Called, Flow, Queue, QueueKind, Scenario, SlowStart
from vulcan_link.workloads import ENDLESS, NONE, Competitors, transfer_starts
from vulcan_traces.links import LinkTrace


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSpec:
    """The link is the trace from `from_ns` to `to_ns`, once it is repeated to a period of `repeated_ns`.

    `digest` is that of the repeated trace. `buffer_packets` is what the queue holds; delays are of one direction,
    `competing_delay_ms` None where it is `delay_ms`. `flows` are the policy's, or of `transfers` so many at a time.
    `competing`, `application`, `policer`, `reordering` and `transfers` are written as in the settings, noise
    is that of `Scenario`. A run is measured from `measure_from_s` to its end, by goodput (`measured_by`).
    """

    link: str
    link_format: str | None
    digest: str
    repeated_ns: int
    from_ns: int
    to_ns: int
    delay_ms: float
    buffer_packets: int
    duration_s: float
    flows: int
    competing: tuple[str, ...]
    queue: QueueKind
    loss_seed: int
    called: Called
    slow_start: SlowStart
    ecn: bool
    application: str = sparse(ENDLESS)
    policer: str = sparse(NONE)
    reordering: str = sparse(NONE)
    transfers: str = sparse(NONE)
    loss: float
    ack_batch_ms: float
    competing_delay_ms: float | None
    handshake: bool
    measured_by: str = "goodput"
    jitter_ms: float
    measure_from_s: float = sparse(0.0)

    def __post_init__(self) -> None:
        if self.transfers != NONE and self.application != ENDLESS:
            raise UserError("transfers and an application: give one of them, for a transfer is what one writes")
        if self.own_flows > w.MAX_FLOWS:
            count = f"{self.own_flows} flows in {self.duration_s:g} s"
            raise UserError(f"transfers {self.transfers}: {count}; at most {w.MAX_FLOWS} are possible")

    @property
    def own_flows(self) -> int:
        """How many of the scenario's flows are the policy's: the first ones."""
        packets, every_ms = w.parse_transfers(self.transfers)
        return self.flows * len(transfer_starts(every_ms, self.duration_s)) if packets else self.flows

    @property
    def competitors(self) -> list[Competitors]:
        return [w.parse_competitors(one) for one in self.competing]

    def scenario(self, link: LinkTrace, algorithm: str, parameter: float = 0.0) -> Scenario:
        """Return what is simulated, with the policy's flows first. Raises UserError for what makes no sense."""
        write_packets, write_ms = w.parse_writes(self.application)
        transfer_packets, every_ms = w.parse_transfers(self.transfers)
        policer_mbps, policer_bytes = w.parse_policer(self.policer)
        late_share, late_ms = w.parse_reordering(self.reordering)
        own = Flow(
            algorithm,
            delay_ms=self.delay_ms,
            ecn=self.ecn,
            parameter=parameter,
            called=self.called,
            slow_start=self.slow_start,
            write_packets=write_packets,
            write_ms=write_ms,
        )
        mine = [own]
        if transfer_packets:
            once = replace(own, write_packets=transfer_packets, write_ms=1e9, stop_s=self.duration_s)
            mine = [replace(once, start_s=start) for start in transfer_starts(every_ms, self.duration_s)]
        delay_ms = self.competing_delay_ms or self.delay_ms
        others = [
            Flow(c.algorithm, delay_ms=delay_ms, start_s=c.start_s, stop_s=c.stop_s, ecn=self.ecn)
            for c in self.competitors
            for _ in range(c.count)
        ]
        packets = self.buffer_packets
        marks = max(1, packets // 2) if self.ecn and self.queue == "droptail" else None
        return Scenario(
            link=link,
            queue=Queue(kind=self.queue, packets=packets, ecn=self.ecn, mark_packets=marks),
            flows=(*mine * self.flows, *others),
            duration_s=self.duration_s,
            measure_from_s=self.measure_from_s,
            loss=self.loss,
            seed=self.loss_seed,
            jitter_us=1e3 * self.jitter_ms,
            ack_batch_ms=self.ack_batch_ms,
            handshake=self.handshake,
            policer_mbps=policer_mbps,
            policer_bytes=policer_bytes,
            late_share=late_share,
            late_ms=late_ms,
        )

    def share_of(self, scenario: Scenario, result: LinkResult) -> float:
        """Return the share of the link's capacity that is fairly the policy's."""
        share = w.fair_share(self.flows, self.competitors, self.duration_s, self.measure_from_s)
        capacity = result.capacity_bps
        if capacity <= 0:
            return share
        if scenario.policer_mbps > 0:  # all of them share what the policer lets through
            share *= min(1.0, 1e6 * scenario.policer_mbps / capacity)
        own = scenario.flows[0]
        if own.write_packets > 0:  # no more is theirs than what their applications write
            every_ms = own.write_ms if self.transfers == NONE else 1e3 * self.duration_s
            written = self.own_flows * own.write_packets * own.packet_bytes * 8e3 / every_ms
            share = min(share, written / capacity)
        return share
