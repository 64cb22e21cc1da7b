"""Scenario of a simulation: a bottleneck link, its queue, and the flows that share it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from vulcan.errors import UserError
from vulcan.simulator import within

if TYPE_CHECKING:
    from vulcan_traces.links import LinkTrace

QueueKind = Literal["droptail", "codel", "fq_codel"]
Called = Literal["ack", "round"]
SlowStart = Literal["mechanism", "policy"]

MAX_PACKETS = 65_535
"""The largest window, and the largest receive window, in packets."""

MAX_LATE_MS, MAX_SHARE = 10_000.0, 0.999_999

HEADERS = 52
"""Bytes of IP and TCP headers of a packet with the timestamp option."""


@dataclass(frozen=True, slots=True)
class Queue:
    """The bottleneck's queue.

    `packets` is its limit, None for no limit; a packet that would exceed it is dropped as it arrives. `codel` drops
    from the head besides, by RFC 8289 with its `target_ms` and `interval_ms`; `fq_codel` has such a queue for each flow
    (RFC 8290), and drops from the longest where all together exceed the limit. With `ecn`, packets of flows that are
    capable of it are marked where CoDel would drop them, and, where `mark_packets` is given, as they find that many
    packets waiting (RFC 3168 marks; the threshold is that of a step marking queue).
    """

    kind: QueueKind = "droptail"
    packets: int | None = None
    ecn: bool = False
    mark_packets: int | None = None
    target_ms: float = 5.0
    interval_ms: float = 100.0

    def __post_init__(self) -> None:
        if self.kind not in ("droptail", "codel", "fq_codel"):
            raise UserError(f"queue {self.kind!r}: it must be droptail, codel or fq_codel")
        any_number, some_time = (1, math.inf), (1e-6, math.inf)
        within(self, packets=any_number, mark_packets=any_number, target_ms=some_time, interval_ms=some_time)
        if self.mark_packets is not None and not self.ecn:
            raise UserError("queue: mark_packets is given without ecn; set ecn to have packets marked")


@dataclass(frozen=True, slots=True)
class Flow:
    """One sender, and its receiver.

    `algorithm` is a name of `vulcan_link.algorithms.ALGORITHMS`, or `policy` for the policy given to `simulate`;
    `parameter` is its number where it takes one: the packets of `fixed`. `delay_ms` is the propagation one way,
    `return_delay_ms` that of acknowledgements, the same where it is None. `start_s` and `stop_s` bound when the flow
    sends new data (None: until the end). Its application has endless data, or writes `write_packets` of it at a time,
    every `write_ms` from the start on.

    `delayed_acks`: the receiver acknowledges every second packet, or after 40 ms, and at once what is out of order,
    the first 16 packets and what carries a mark, as Linux does. `receive_window` in packets bounds what may be
    unacknowledged; `packet_bytes` is a packet's size on the wire. `ecn` says whether the flow is capable of ECN.

    Of a policy: `called` says whether it is asked at every acknowledgement (`ack`) or at the end of each round trip
    (`round`), besides at losses, marks and timeouts; `slow_start` whether the mechanism runs slow start itself
    (`mechanism`: doubling until a loss, a mark, or a HyStart exit) or asks the policy from the beginning (`policy`).
    """

    algorithm: str = "cubic"
    delay_ms: float = 20.0
    return_delay_ms: float | None = None
    start_s: float = 0.0
    stop_s: float | None = None
    delayed_acks: bool = True
    initial_window: int = 10
    receive_window: int = 4096
    packet_bytes: int = 1500
    ecn: bool = True
    parameter: float = 0.0
    called: Called = "ack"
    slow_start: SlowStart = "mechanism"
    write_packets: int = 0
    write_ms: float = 100.0

    def __post_init__(self) -> None:
        some = (0, math.inf)
        within(
            self, write_packets=some, write_ms=(0.001, math.inf), delay_ms=some, return_delay_ms=some, start_s=some,
            packet_bytes=(HEADERS + 1, 1500), receive_window=(1, MAX_PACKETS), initial_window=(1, self.receive_window),
        )  # fmt: skip
        if self.stop_s is not None and self.stop_s <= self.start_s:
            raise UserError(f"flow: it starts at {self.start_s} s and stops at {self.stop_s} s; start first")
        if self.called not in ("ack", "round"):
            raise UserError(f"flow: called {self.called!r}; it must be ack or round")
        if self.slow_start not in ("mechanism", "policy"):
            raise UserError(f"flow: slow start by {self.slow_start!r}; it must be mechanism or policy")

    @property
    def round_trip_ms(self) -> float:
        """Propagation there and back."""
        return self.delay_ms + (self.delay_ms if self.return_delay_ms is None else self.return_delay_ms)


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything a simulation depends on but the policy.

    Counts and delays are of the time from `measure_from_s` to `duration_s`. `loss` is the probability that a packet
    is lost on its way to the queue, drawn from `seed`. `jitter_us` delays acknowledgements by a random time up to it,
    redrawn for each millisecond, in order.
    With `policer_mbps`, what comes to the queue beyond that rate, on the wire, and a bucket of `policer_bytes` is
    dropped, of all flows together (Flach et al., "An Internet-wide analysis of traffic policing", SIGCOMM 2016).
    With `late_share`, so many of the packets that have crossed the link reach the receiver `late_ms` late, drawn from
    `seed`, and others overtake them.
    With `ack_batch_ms`, acknowledgements arrive together on multiples of it, as an aggregating wireless link delivers
    them. With `handshake`, the least round trip begins with that of the connection's opening, which nothing batches.
    `clock_ms` is for comparisons with an emulator that acts on the ticks of a clock: acknowledgements are handed over
    on multiples of it, and the times that queueing delays count from are rounded down to them (0: exact). With
    `drain`, flows stop sending new data at `duration_s` and the measured time ends when the last packet has left the
    queue.
    """

    link: LinkTrace
    queue: Queue
    flows: tuple[Flow, ...]
    duration_s: float = 30.0
    loss: float = 0.0
    seed: int = 1
    measure_from_s: float = 0.0
    clock_ms: float = 0.0
    jitter_us: float = 0.0
    ack_batch_ms: float = 0.0
    handshake: bool = False
    drain: bool = False
    policer_mbps: float = 0.0
    policer_bytes: int = 0
    late_share: float = 0.0
    late_ms: float = 0.0

    def __post_init__(self) -> None:
        if not self.flows:
            raise UserError("scenario: it has no flow; name at least one")
        share, some = (0, MAX_SHARE), (0, math.inf)
        within(
            self, duration_s=(1e-6, 100_000), late_share=share, late_ms=(0, MAX_LATE_MS), loss=share,
            clock_ms=some, jitter_us=some, ack_batch_ms=some,
        )  # fmt: skip
        if not 0 <= self.measure_from_s < self.duration_s:
            raise UserError(f"scenario: measured from {self.measure_from_s} s to {self.duration_s} s; 0 <= from < to")
        if self.policer_mbps:
            within(self, policer_mbps=(0.01, 100_000), policer_bytes=(1500, 1_000_000_000))
