"""Scoring on Ray with 1, 2, 4 and 8 nodes.

The nodes are Ray's own (`ray.cluster_utils.Cluster`) on this one host, each with a worker: a raylet, an object store,
an actor and its jailed child. A host of a few processors cannot run eight simulations at a time, so jobs sleep for a
given time, which measures the way alone. Each round is run several times, of which the fastest counts: what disturbs it
is the host's other work, and that only makes it longer.
"""

from __future__ import annotations

import logging
import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import BenchmarkResult, BenchmarkTable, Goal, NotMeasurable, run_suite
from vulcan.evaluator import Instance
from vulcan.foreign_code import ForeignCall
from vulcan.scoring import Job, Setup
from vulcan.scoring.job import JobRequest
from vulcan.scoring.local_pool import Worker
from vulcan.scoring.ray_executor import RayExecutor
from vulcan.scoring.ray_runtime import RayRuntime, RayUnavailable

TASK = str(Path(__file__).parent / "scale_task")
POLICY = "def decide(load):\n    return load\n"
SECONDS = (0.005, 0.05, 0.2)
"""Sleep times of jobs: a sample of a trace, a short trace, a longer one."""

MAX_OVERHEAD = 0.05
"""The share of a call's time that is wanted at most for its way."""

NODES = (1, 2, 4, 8)
STORE_BYTES = 80 << 20


@dataclass(frozen=True)
class Measured:
    """Some jobs on some nodes: wall clock, calls, and seconds within the workers.

    `beside` is what a call takes besides its jobs, in seconds, the median over calls.
    """

    nodes: int
    work: float
    jobs: int
    calls: int
    seconds: float
    within: float
    beside: float

    @property
    def overhead(self) -> float:
        """The share of a call's time that is not its jobs'."""
        return self.calls * self.beside / (self.calls * self.beside + self.within)


class Timed(RayExecutor):
    """Notes what each call takes alongside its jobs."""

    ways: list[float]

    def serve_on(self, worker: Worker, requests: Sequence[JobRequest]) -> Any:
        began = time.perf_counter()
        outcomes = super().serve_on(worker, requests)
        self.ways.append(time.perf_counter() - began - sum(o.seconds for o in outcomes))
        return outcomes


def measure(quick: bool) -> BenchmarkResult:
    nodes = NODES[:2] if quick else NODES
    turns = 1 if quick else 3
    with _cluster() as (cluster, runtime):
        found: list[Measured] = []
        for count in nodes:
            while len(cluster.list_all_nodes()) < count:
                cluster.add_node(num_cpus=1, object_store_memory=STORE_BYTES)
            cluster.wait_for_nodes()
            found += _on_nodes(runtime, count, turns, 0.6 if quick else 1.5)
    heavy, light = (
        [m.overhead for m in found if m.nodes <= (os.cpu_count() or 1) and (m.work < SECONDS[1]) is short]
        for short in (False, True)
    )
    goals = (
        Goal("share of a call's time that is not its jobs', 50 ms and more", max(heavy), MAX_OVERHEAD, at_least=False,
             in_quick=False),
        Goal("share of a call's time that is not its jobs', 5 ms", max(light), MAX_OVERHEAD, at_least=False,
             in_quick=False),
    )  # fmt: skip
    rows = tuple(
        (
            str(m.nodes), f"sleeps {m.work * 1e3:.0f} ms", f"{m.jobs / m.calls:.1f}",
            f"{m.jobs / m.seconds:.1f}", f"{m.overhead:.1%}",
        )
        for m in found
    )  # fmt: skip
    columns = ("nodes", "a job", "jobs a call", "jobs per second", "overhead")
    return BenchmarkResult((BenchmarkTable("Jobs on Ray, by nodes", columns, rows),), goals)


@contextmanager
def _cluster() -> Iterator[tuple[Any, RayRuntime]]:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        from ray.cluster_utils import Cluster as Nodes
    except ImportError as error:
        raise NotMeasurable("Ray is not installed; pip install ray") from error
    logging.getLogger("vulcan").setLevel(logging.ERROR)
    attempt = ForeignCall()
    with attempt:
        nodes = Nodes(initialize_head=True, head_node_args={"num_cpus": 1, "object_store_memory": STORE_BYTES})
    if attempt.failure is not None:
        raise NotMeasurable(f"Ray does not start on this host: {attempt.failure}")
    try:
        with RayRuntime(1, nodes.address, limit=120.0) as runtime:
            try:
                runtime.wait()
            except RayUnavailable as error:
                raise NotMeasurable(f"Ray does not come up here: {error}") from error
            yield nodes, runtime
    finally:
        for node in nodes.list_all_nodes()[::-1]:  # the head last; a graceful end would have to be waited for
            nodes.remove_node(node, allow_graceful=False)


def _on_nodes(runtime: RayRuntime, nodes: int, turns: int, lasting: float) -> list[Measured]:
    """Jobs of each length, enough of them for each round to last about this many seconds."""
    instances = {work: Instance(f"nap {work}", "train", {"seconds": work}) for work in SECONDS}
    setup = Setup(TASK, tuple(instances.values()))
    rounds: dict[float, list[Measured]] = {}
    with Timed(setup, nodes, runtime) as executor:
        executor.ways = []
        _run(executor, [Job(n, POLICY, (instances[SECONDS[0]],), 60.0) for n in range(8 * nodes)])  # starts every child
        for turn in range(turns + 1):
            for work, instance in instances.items():
                count = max(4 * nodes, round(lasting * nodes / (work + 0.005)))
                jobs = [Job(n, POLICY, (instance,), 60.0) for n in range(count)]
                one = _timed(executor, jobs, nodes, work)
                if turn:  # the first teaches the executor how long jobs are
                    rounds.setdefault(work, []).append(one)
    found = [min(measured, key=lambda m: m.seconds) for measured in rounds.values()]
    for one in found:
        print(f"{nodes} nodes, {one.work} s: {one.overhead:.1%}", file=sys.stderr)
    return found


def _timed(executor: Timed, jobs: list[Job], nodes: int, work: float) -> Measured:
    executor.ways = []
    began = time.perf_counter()
    within = _run(executor, jobs)
    wall = time.perf_counter() - began
    way = statistics.median(executor.ways)
    return Measured(nodes, work, len(jobs), len(executor.ways), wall, within, way)


def _run(executor: Timed, jobs: list[Job]) -> float:
    """Seconds that the jobs took, summed up, as the workers measured them."""
    outcomes = [future.result() for future in [executor.submit(job) for job in jobs]]
    assert {outcome.status for outcome in outcomes} == {"scored"}
    return sum(outcome.seconds for outcome in outcomes)


if __name__ == "__main__":
    run_suite(__doc__ or "", measure)
