"""The links and flows that queues are managed on where no link is named: generated, so that no file is needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vulcan.evaluator import SplitName


@dataclass(frozen=True, slots=True)
class Crowd:
    """A link (see `vulcan_traces.links`), and the flows over it: every other one stops half-way and comes again.

    `algorithm` is the congestion control of all of them, or of every other one, `cubic-reno`.
    """

    name: str
    link: str
    delay_ms: float
    flows: int
    algorithm: str


CROWDS: Mapping[SplitName, tuple[Crowd, ...]] = {
    "train": (
        Crowd("few", "constant:rate=20", 20.0, 2, "cubic"),
        Crowd("many", "constant:rate=40", 15.0, 25, "reno"),
        Crowd("slow", "constant:rate=4", 30.0, 4, "cubic-reno"),
        Crowd("steps", "steps:rates=24-6-16-3,every=3", 25.0, 6, "cubic"),
        Crowd("cellular", "markov:low=1.5,high=20,states=10,dwell=0.25,seed=1,seconds=60", 20.0, 5, "cubic"),
    ),
    "validation": (
        Crowd("few", "constant:rate=12", 35.0, 3, "reno"),
        Crowd("many", "constant:rate=30", 25.0, 18, "cubic"),
        Crowd("steps", "steps:rates=8-30-12-20,every=4", 12.0, 8, "cubic-reno"),
        Crowd("cellular", "markov:low=2,high=30,states=12,dwell=0.4,seed=2,seconds=60", 25.0, 4, "cubic"),
    ),
    "test": (
        Crowd("few", "constant:rate=30", 25.0, 1, "cubic"),
        Crowd("many", "constant:rate=50", 10.0, 40, "cubic-reno"),
        Crowd("slow", "constant:rate=2.5", 40.0, 5, "cubic"),
        Crowd("steps", "steps:rates=5-25-2-14,every=3.5", 30.0, 10, "reno"),
        Crowd("cellular", "markov:low=1,high=12,states=9,dwell=0.15,seed=3,seconds=60", 35.0, 6, "cubic"),
    ),
}
