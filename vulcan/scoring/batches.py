"""How many jobs travel together, so that the way to a worker costs little beside the work."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Self

from vulcan.scoring.job import Outcome
from vulcan.scoring.setup import Request

OVERHEAD = 0.04
"""The share of a batch's work that its way there and back may take: with room to the 5 % that are wanted, for the way
grows longer while the processors are at work."""

MOST_JOBS = 64
LONGEST = 1.0
"""Jobs, and seconds of work, that travel together at most: what has a result should not wait for long."""

REMEMBERED = 15
"""How many of the latest calls count."""


@dataclass(frozen=True)
class Way:
    """Seconds that a call takes beside the work of its jobs: once, and for each job again."""

    call: float = 0.0
    job: float = 0.0

    @classmethod
    def of(cls, calls: Iterable[tuple[int, float]]) -> Self:
        """What calls of so many jobs and so many seconds beside them tell, by medians: a worker's first call is long.

        The line is Theil and Sen's, of those pairs of calls of which one has at least twice the other's jobs; nearer
        ones would tell of the host's other work. Where there is none, all is put down to the call.
        """
        known = tuple(calls)
        slopes = [
            (one[1] - other[1]) / (one[0] - other[0])
            for one, other in combinations(known, 2)
            if max(one[0], other[0]) >= 2 * min(one[0], other[0])
        ]
        job = max(0.0, median(slopes)) if slopes else 0.0
        return cls(max(0.0, median(seconds - job * count for count, seconds in known)) if known else 0.0, job)

    def jobs(self, works: Iterable[float], most: int) -> int:
        """How many of the jobs, of so many seconds of work each, the next call carries: 1 to `most`.

        As few as hold the way under `OVERHEAD` of the work, and no more than `LONGEST` together.
        """
        work, count = 0.0, 0
        for count, seconds in enumerate(works, 1):
            work += seconds
            if count >= most or work >= LONGEST or self.call + self.job * count <= OVERHEAD * work:
                break
        return max(1, count)


class Batching:
    """Learns from calls what their way takes and what jobs take, and says how many jobs the next call carries.

    A job is as long as others on the same instances were; one whose like was never run ends a batch. A batch is as
    short as keeps the overhead under `OVERHEAD`, and at most a worker's share of what waits. Which jobs travel
    together changes when outcomes come, and nothing about them. Use it from one thread at a time.
    """

    def __init__(self) -> None:
        self._calls: deque[tuple[int, float]] = deque(maxlen=REMEMBERED)
        self._work: defaultdict[tuple[int, ...], deque[float]] = defaultdict(lambda: deque(maxlen=REMEMBERED))

    def learn(self, requests: Sequence[Request], outcomes: Sequence[Outcome], seconds: float) -> None:
        """A call with these jobs came back after so many seconds."""
        self._calls.append((len(requests), max(0.0, seconds - math.fsum(outcome.seconds for outcome in outcomes))))
        for request, outcome in zip(requests, outcomes, strict=True):
            if outcome.status == "scored":  # the others end early
                self._work[request.instances].append(outcome.seconds)

    @property
    def way(self) -> Way:
        """What the latest calls took beside the work of their jobs."""
        return Way.of(self._calls)

    def size(self, waiting: Sequence[Request], workers: int) -> int:
        """How many of the jobs that wait, from the first on, travel together; at least 1."""
        most = min(MOST_JOBS, math.ceil(len(waiting) / workers))
        return self.way.jobs(map(self._expected, waiting), most)

    def _expected(self, request: Request) -> float:
        known = self._work.get(request.instances)
        return median(known) if known else math.inf
