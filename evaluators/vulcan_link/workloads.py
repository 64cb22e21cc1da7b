"""The links that a search is measured on where none is named: generated, so that a first search needs no file.

Each resembles a path that senders meet, and they call for different windows: wired links with small and with bloated
buffers, rates that step, cellular links whose rate wanders, links that stop for a while, and links shared with CUBIC or
Reno. The three parts are of the same kinds with other rates, delays and buffers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vulcan.evaluator import SplitName


@dataclass(frozen=True, slots=True)
class Workload:
    """A generated link (see `vulcan_traces.links`) and what is around it, written as in the settings."""

    name: str
    link: str
    delay_ms: float
    buffer: str
    competing: str = "none"


WORKLOADS: Mapping[SplitName, tuple[Workload, ...]] = {
    "train": (
        Workload("wired", "constant:rate=12", 20.0, "1bdp"),
        Workload("fast", "constant:rate=40", 8.0, "2bdp"),
        Workload("bloated", "constant:rate=6", 30.0, "6bdp"),
        Workload("steps", "steps:rates=24-6-16-3,every=3", 25.0, "2bdp"),
        Workload("cellular", "markov:low=1.5,high=20,states=10,dwell=0.25,seed=1,seconds=60", 20.0, "150"),
        Workload("outages", "outage:rate=10,every=5,length=0.4,seed=1,seconds=60", 30.0, "2bdp"),
        Workload("shared", "constant:rate=20", 15.0, "2bdp", "cubic"),
    ),
    "validation": (
        Workload("wired", "constant:rate=18", 35.0, "0.5bdp"),
        Workload("bloated", "constant:rate=9", 15.0, "8bdp"),
        Workload("steps", "steps:rates=8-30-12-20,every=4", 12.0, "1bdp"),
        Workload("cellular", "markov:low=2,high=30,states=12,dwell=0.4,seed=2,seconds=60", 25.0, "200"),
        Workload("outages", "outage:rate=16,every=4,length=0.25,seed=2,seconds=60", 20.0, "1bdp"),
        Workload("shared", "constant:rate=15", 25.0, "1bdp", "cubic"),
    ),
    "test": (
        Workload("wired", "constant:rate=30", 25.0, "1bdp"),
        Workload("bloated", "constant:rate=5", 20.0, "10bdp"),
        Workload("steps", "steps:rates=5-25-2-14,every=3.5", 30.0, "3bdp"),
        Workload("cellular", "markov:low=1,high=12,states=9,dwell=0.15,seed=3,seconds=60", 35.0, "100"),
        Workload("outages", "outage:rate=8,every=6,length=0.6,seed=3,seconds=60", 15.0, "3bdp"),
        Workload("shared", "constant:rate=24", 20.0, "3bdp", "reno"),
    ),
}
