"""An instance: a part of a link, its queue, and the flows over it; and the links that are embedded."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vulcan.simulator import within
from vulcan.task import SplitName
from vulcan_link.scenario import Flow, Queue, QueueKind, Scenario
from vulcan_traces.links import LinkTrace

WARM_UP_S = 2.0
"""Not measured, while flows begin."""

TO_END_S = 1.5
"""Time that a short flow is given to end."""

SHORT_BUFFER_MS = 10.0
"""Of the baseline that only has a smaller queue."""

SHORT_PACKETS, BURST_PACKETS, BURST_EVERY = 10, 40, 4
"""A short flow is an initial window; every so many is a burst."""

MAX_SHORT_SHARE, MAX_SHORT_FLOWS = 0.1, 50
"""Share of the link that short flows offer at most, and how many there are a second."""

_AT_ONCE_S = 1e-6
"""A short flow sends its initial window and nothing but what is lost of it."""


@dataclass(frozen=True, slots=True)
class QueueSpec:
    """The link is its trace from a share of the period, `from_`, to another one, `to`.

    Every other one of the `flows` stops half-way and comes again; besides, `short_flows` begin a second. `algorithm` is
    the congestion control of all of them, or of every other one, `cubic-reno`. `buffer_ms` is what the queue holds, as
    time at the link's mean rate; `draws` seeds the draws by a policy's probability, and when short flows come.
    """

    link: str
    from_: float
    to: float
    delay_ms: float
    flows: int
    algorithm: str
    duration_s: float
    buffer_ms: float
    ecn: bool
    draws: int
    short_flows: float

    def __post_init__(self) -> None:
        within(self, flows=(1, 200), buffer_ms=(1, 10_000), short_flows=(0, MAX_SHORT_FLOWS))

    @property
    def long_flows(self) -> int:
        """How many flows of the scenario are long: every other one is two, before its rest and after it."""
        return self.flows + self.flows // 2

    def scenario(self, link: LinkTrace, who: str) -> Scenario:
        """Return what is simulated: flows begin in the first second; every other one rests in the third quarter.

        The first flows are the long ones, two entries for each that rests, and the others the short ones.
        """
        duration, packets = self.duration_s, _packets(link, self.buffer_ms)
        kinds = self.algorithm.split("-")
        how: dict[str, Any] = {"delay_ms": self.delay_ms, "ecn": self.ecn}
        flows = []
        for i in range(self.flows):
            start, kind = i / self.flows, kinds[i % len(kinds)]
            if i % 2 == 0:
                flows.append(Flow(kind, start_s=start, **how))
            else:
                flows.append(Flow(kind, start_s=start, stop_s=max(0.5 * duration, start + 0.1), **how))
                flows.append(Flow(kind, start_s=max(0.75 * duration, start + 0.2), **how))
        for start, size in short_flows(self.short_flows, link, duration, self.draws):
            flows.append(Flow(kinds[0], start_s=start, stop_s=start + _AT_ONCE_S, initial_window=size, **how))
        if who == "short_buffer":
            packets = min(packets, _packets(link, SHORT_BUFFER_MS))
        kind_of: dict[str, QueueKind] = {"codel": "codel", "fq_codel": "fq_codel"}
        return Scenario(
            link=link,
            queue=Queue(kind=kind_of.get(who, "droptail"), packets=packets, ecn=self.ecn),
            flows=tuple(flows),
            duration_s=duration,
            measure_from_s=min(WARM_UP_S, duration / 2),
            seed=self.draws,
        )


def _packets(link: LinkTrace, ms: float) -> int:
    """Return how many packets the link carries in that time on average, at least one."""
    return max(1, round(link.mean_rate * ms / 1e3 / 8 / 1500))


def short_flows(rate: float, link: LinkTrace, duration: float, seed: int) -> list[tuple[float, int]]:
    """Return the start and the packets of each: a Poisson process of so many a second, the same for every policy.

    They start in the measured time, not too late to end in it. A slow link has fewer, see `MAX_SHORT_SHARE`.
    """
    mean_bits = 12e3 * (SHORT_PACKETS * (BURST_EVERY - 1) + BURST_PACKETS) / BURST_EVERY
    rate = min(rate, MAX_SHORT_SHARE * link.mean_rate / mean_bits)
    flows: list[tuple[float, int]] = []
    if rate <= 0:
        return flows
    draws = random.Random(seed)
    at = min(WARM_UP_S, duration / 2) + draws.expovariate(rate)
    while at < duration - min(TO_END_S, 0.15 * duration):
        flows.append((at, BURST_PACKETS if len(flows) % BURST_EVERY == BURST_EVERY - 1 else SHORT_PACKETS))
        at += draws.expovariate(rate)
    return flows


@dataclass(frozen=True, slots=True)
class QueueWorkload:
    """A link (see `vulcan_traces.links`), and the flows over it."""

    name: str
    link: str
    delay_ms: float
    flows: int
    algorithm: str


WORKLOADS: Mapping[SplitName, tuple[QueueWorkload, ...]] = {
    "train": (
        QueueWorkload("few", "constant:rate=20", 20.0, 2, "cubic"),
        QueueWorkload("many", "constant:rate=40", 15.0, 25, "reno"),
        QueueWorkload("slow", "constant:rate=4", 30.0, 4, "cubic-reno"),
        QueueWorkload("steps", "steps:rates=24-6-16-3,every=3", 25.0, 6, "cubic"),
        QueueWorkload("cellular", "markov:low=1.5,high=20,states=10,dwell=0.25,seed=1,seconds=60", 20.0, 5, "cubic"),
        QueueWorkload("3g", "markov:low=0.3,high=5,states=10,dwell=0.5,seed=4,seconds=60", 20.0, 3, "cubic"),
        QueueWorkload("wifi", "markov:low=10,high=60,states=8,dwell=0.1,seed=5,seconds=60", 10.0, 8, "cubic"),
        QueueWorkload("5g", "markov:low=20,high=150,states=12,dwell=0.3,seed=6,seconds=60", 12.0, 12, "cubic"),
        QueueWorkload("milliseconds", "constant:rate=300,slot=0.001", 10.0, 8, "cubic"),
        QueueWorkload("evdo", "outage:rate=2.4,every=0.05,length=0.07,seed=13,slot=0.005", 40.0, 2, "cubic"),
        QueueWorkload("starlink", "markov:low=25,high=120,states=6,dwell=3,seed=14,slot=0.004", 25.0, 6, "cubic"),
        QueueWorkload("slots", "markov:low=5,high=60,states=8,dwell=0.5,seed=15,slot=0.02", 15.0, 5, "cubic-reno"),
    ),
    "validation": (
        QueueWorkload("few", "constant:rate=12", 35.0, 3, "reno"),
        QueueWorkload("many", "constant:rate=30", 25.0, 18, "cubic"),
        QueueWorkload("steps", "steps:rates=8-30-12-20,every=4", 12.0, 8, "cubic-reno"),
        QueueWorkload("cellular", "markov:low=2,high=30,states=12,dwell=0.4,seed=2,seconds=60", 25.0, 4, "cubic"),
        QueueWorkload("3g", "markov:low=0.5,high=3,states=8,dwell=1,seed=7,seconds=60", 35.0, 2, "cubic"),
        QueueWorkload("wifi", "markov:low=5,high=40,states=8,dwell=0.2,seed=8,seconds=60", 15.0, 5, "cubic-reno"),
        QueueWorkload("5g", "markov:low=10,high=100,states=12,dwell=0.5,seed=9,seconds=60", 15.0, 20, "cubic"),
        QueueWorkload("milliseconds", "steps:rates=200-120-240,every=3,slot=0.001", 15.0, 12, "reno"),
        QueueWorkload("evdo", "outage:rate=1.8,every=0.03,length=0.03,seed=16,slot=0.01", 50.0, 3, "cubic"),
        QueueWorkload("starlink", "markov:low=40,high=200,states=6,dwell=4,seed=17,slot=0.002", 30.0, 4, "cubic"),
        QueueWorkload("slots", "markov:low=10,high=40,states=8,dwell=0.2,seed=18,slot=0.01", 20.0, 8, "cubic"),
    ),
    "test": (
        QueueWorkload("few", "constant:rate=30", 25.0, 1, "cubic"),
        QueueWorkload("many", "constant:rate=50", 10.0, 40, "cubic-reno"),
        QueueWorkload("slow", "constant:rate=2.5", 40.0, 5, "cubic"),
        QueueWorkload("steps", "steps:rates=5-25-2-14,every=3.5", 30.0, 10, "reno"),
        QueueWorkload("cellular", "markov:low=1,high=12,states=9,dwell=0.15,seed=3,seconds=60", 35.0, 6, "cubic"),
        QueueWorkload("3g", "markov:low=0.2,high=4,states=9,dwell=0.7,seed=10,seconds=60", 25.0, 4, "cubic"),
        QueueWorkload("wifi", "markov:low=8,high=50,states=8,dwell=0.15,seed=11,seconds=60", 8.0, 10, "reno"),
        QueueWorkload("5g", "markov:low=30,high=200,states=12,dwell=0.4,seed=12,seconds=60", 10.0, 15, "cubic-reno"),
        QueueWorkload("milliseconds", "constant:rate=160,slot=0.002", 12.0, 5, "cubic"),
        QueueWorkload("evdo", "outage:rate=3.1,every=0.08,length=0.16,seed=19,slot=0.007", 45.0, 2, "reno"),
        QueueWorkload("starlink", "markov:low=30,high=150,states=6,dwell=2,seed=20,slot=0.003", 20.0, 8, "cubic"),
        QueueWorkload("slots", "markov:low=8,high=80,states=8,dwell=0.3,seed=21,slot=0.015", 10.0, 6, "cubic-reno"),
    ),
}
"""Used where no link is named: generated, so that no file is needed; the rates are those of `vulcan_link.workloads`.

The last four of each deliver in bunches: recordings in whole milliseconds; EVDO, whose scheduler serves a user at up to
2.4 or 3.1 Mbit/s in turns (Bender et al., "CDMA/HDR", 2000); Starlink, with frames of 1.33 ms (Humphreys et al., 2023)
and a rate that steps, here more often than every 15 s so that a short run has some; and slots of 10 to 20 ms.
"""
