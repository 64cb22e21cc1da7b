"""A discrete-event model of a search on many workers: what it would do on clusters larger than there are to measure.

A candidate waits for a language model, which answers this many calls at a time; the driver drafts, checks and keeps it,
one thing at a time, and sends it to a worker, in a call with others where jobs are short; the answer comes back to
the driver. Every part is a queue with this many servers. Constants are measured by `benchmarks.scale`.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass
from itertools import repeat

from vulcan.scoring.ray_executor import MAX_JOBS, batch_size

Process = Generator["tuple[Queue | None, float]", None, None]
"""Yields what it needs next: a server of a queue, or None for nobody's, and for how many seconds."""


class Simulation:
    """Runs processes in the order of their events; events at one time in the order in which they were made."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._serial = 0

    def at(self, time: float, step: Callable[[], None]) -> None:
        self._serial += 1
        heapq.heappush(self._events, (time, self._serial, step))

    def start(self, process: Process) -> None:
        """Have a process go on until it needs time, and again whenever it has had it."""
        needed = next(process, None)
        if needed is None:
            return
        queue, seconds = needed
        if queue is None:
            self.at(self.now + seconds, lambda: self.start(process))
        else:
            queue.serve(seconds, lambda: self.start(process))

    def run(self) -> None:
        while self._events:
            self.now, _, step = heapq.heappop(self._events)
            step()


class Queue:
    """First come, first served, by `servers` at a time. `busy` adds up the seconds of service, `waited` of waiting."""

    def __init__(self, simulation: Simulation, servers: int) -> None:
        self.servers = servers
        self.busy = self.waited = 0.0
        self._simulation = simulation
        self._free = servers
        self._waiting: deque[tuple[float, float, Callable[[], None]]] = deque()

    def serve(self, seconds: float, then: Callable[[], None]) -> None:
        self._waiting.append((self._simulation.now, seconds, then))
        self._begin()

    def _begin(self) -> None:
        while self._free and self._waiting:
            since, seconds, then = self._waiting.popleft()
            self._free -= 1
            self.busy += seconds
            self.waited += self._simulation.now - since
            self._simulation.at(self._simulation.now + seconds, lambda then=then: self._end(then))

    def _end(self, then: Callable[[], None]) -> None:
        self._free += 1
        self._begin()
        then()


@dataclass(frozen=True)
class Costs:
    """Seconds of processors, as measured. A call's and a job's are of the driver, `job_at_worker` of a worker's.

    `way` is what a call takes beside all that: the work of Ray's processes at the worker's end, for between processes
    of one host nothing waits for a network. `draft` and `keep` are what the driver does for a candidate before and
    after it is scored: its prompt; and its check, verdict and rows of the run store.
    """

    call: float
    job: float
    job_at_worker: float
    way: float
    draft: float = 0.0
    keep: float = 0.0


@dataclass(frozen=True)
class Cluster:
    """`cores` are those that workers and their jobs share: as many as workers on a real cluster.

    `calls_at_once` to a model of `model_seconds` a reply, exponentially distributed; 0 seconds: no model. With
    `sleeps`, jobs need no processor. `replies_in_flight` is how many candidates are under way at most.
    """

    workers: int
    cores: int
    sleeps: bool = False
    model_seconds: float = 0.0
    calls_at_once: int = 1
    in_flight: int = 0


@dataclass(frozen=True)
class Prediction:
    """`rate` in jobs per second; shares of time in which the driver, the workers' jobs and the model are at work."""

    seconds: float
    rate: float
    driver: float
    working: float
    model: float

    @property
    def limit(self) -> str:
        """The part that is busiest: what limits the rate where its share is near 1."""
        shares = {"the driver": self.driver, "the workers": self.working, "the model": self.model}
        return max(shares, key=lambda part: shares[part])


def predict(
    costs: Costs,
    cluster: Cluster,
    jobs: int,
    work: float,
    *,
    together: bool = True,
    seed: int = 1,
) -> Prediction:
    """Predict the throughput of `jobs` jobs of `work` seconds each.

    Calls are filled as `vulcan.scoring.ray_executor` does it, by the way that the latest calls had; unless `together`,
    each job travels alone.
    """
    simulation = Simulation()
    rng = random.Random(seed)
    driver, host = Queue(simulation, 1), Queue(simulation, cluster.cores)
    model = Queue(simulation, cluster.calls_at_once)
    ready: deque[int] = deque()
    idle = deque(range(cluster.workers))
    in_flight = cluster.in_flight or jobs
    asked = done = 0
    worked = ended = 0.0

    def candidate() -> Process:
        if cluster.model_seconds:
            yield model, rng.expovariate(1 / cluster.model_seconds)
        if costs.draft:
            yield driver, costs.draft
        ready.append(1)
        hand_out()

    def call(size: int) -> Process:
        nonlocal done, worked, ended
        yield driver, (costs.call + costs.job * size) / 2
        if costs.way:
            yield host, costs.way / 2
        if costs.job_at_worker:
            yield host, costs.job_at_worker * size
        yield None if cluster.sleeps else host, work * size
        worked += work * size
        if costs.way:
            yield host, costs.way / 2
        yield driver, (costs.call + costs.job * size) / 2
        idle.append(1)
        hand_out()
        if costs.keep:
            yield driver, costs.keep * size
        done += size
        ended = simulation.now
        ask()

    def hand_out() -> None:
        while ready and idle:
            idle.popleft()
            size = 1
            if together:
                most = min(MAX_JOBS, math.ceil(len(ready) / cluster.workers))
                size = batch_size(repeat(work + costs.job_at_worker), most)
            for _ in range(size):
                ready.popleft()
            simulation.start(call(size))

    def ask() -> None:
        nonlocal asked
        while asked < jobs and asked - done < in_flight:
            asked += 1
            simulation.start(candidate())

    simulation.at(0.0, ask)
    simulation.run()
    return Prediction(
        seconds=ended,
        rate=jobs / ended,
        driver=driver.busy / ended,
        working=worked / (cluster.workers * ended),
        model=model.busy / (cluster.calls_at_once * ended),
    )
