"""How many jobs travel together, so that the way to a worker costs little beside the work."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Sequence
from statistics import median

from vulcan.scoring.job import Outcome
from vulcan.scoring.setup import Request

OVERHEAD = 0.04
"""The share of a batch's work that its way there and back may take: with room to the 5 % that are wanted, for the way
grows longer while the processors are at work."""

MOST_JOBS = 64
LONGEST = 1.0
"""Jobs, and seconds of work, that travel together at most: what has a result should not wait for long."""

_REMEMBERED = 15


class Batching:
    """Learns from calls what their way takes and what jobs take, and says how many jobs the next call carries.

    A job is as long as others on the same instances were; one whose like was never run ends a batch. A batch is as
    short as keeps the overhead under `OVERHEAD`, and at most a worker's share of what waits. Which jobs travel
    together changes when outcomes come, and nothing about them. Use it from one thread at a time.
    """

    def __init__(self) -> None:
        self._ways: deque[float] = deque(maxlen=_REMEMBERED)
        self._work: defaultdict[tuple[int, ...], deque[float]] = defaultdict(lambda: deque(maxlen=_REMEMBERED))

    def learn(self, requests: Sequence[Request], outcomes: Sequence[Outcome], seconds: float) -> None:
        """A call with these jobs came back after so many seconds."""
        self._ways.append(max(0.0, seconds - math.fsum(outcome.seconds for outcome in outcomes)))
        for request, outcome in zip(requests, outcomes, strict=True):
            if outcome.status == "scored":  # the others end early
                self._work[request.instances].append(outcome.seconds)

    @property
    def way(self) -> float:
        """Seconds that a call takes beside the work of its jobs: the median of late, for a worker's first is long."""
        return median(self._ways) if self._ways else 0.0

    def size(self, waiting: Sequence[Request], workers: int) -> int:
        """How many of the jobs that wait, from the first on, travel together; at least 1."""
        wanted = min(self.way / OVERHEAD, LONGEST)
        most = min(MOST_JOBS, math.ceil(len(waiting) / workers))
        work = 0.0
        for count, request in enumerate(waiting[:most]):
            if work >= wanted:
                return max(1, count)
            work += self._expected(request)
        return max(1, most)

    def _expected(self, request: Request) -> float:
        known = self._work.get(request.instances)
        return median(known) if known else math.inf
