"""Scoring on Ray with 1, 2, 4 and 8 nodes, and what a model fitted to that says of 16 to 1,024 workers.

The nodes are Ray's own (`ray.cluster_utils.Cluster`) on this one host, each with a worker: a raylet, an object store,
an actor and its jailed child. A host of a few processors cannot run eight simulations at a time, so jobs on all nodes
sleep for a given time, which measures the way alone; real simulations of a cache run on no more nodes than there are
processors. Each is run with every job by itself and as the executor does it, in turn, several times, of which the
fastest counts: what disturbs a round is the host's other work, and that only makes it longer. The model
(`benchmarks.scale_model`) has its constants from the processor time of the driver and from the smallest cluster, and
is compared with all points.
"""

from __future__ import annotations

import logging
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import BenchmarkResult, BenchmarkTable, Goal, NotMeasurable, run_suite
from benchmarks.scale_model import Cluster, Costs, predict
from benchmarks.throughput import Here
from vulcan.evaluator import Instance, load_evaluator
from vulcan.foreign_code import ForeignCall
from vulcan.registry import find_task
from vulcan.scoring import Job, Outcome, Setup
from vulcan.scoring.job import JobRequest
from vulcan.scoring.local_pool import Worker
from vulcan.scoring.ray_executor import RayExecutor
from vulcan.scoring.ray_runtime import RayRuntime, RayUnavailable
from vulcan.searches.config import SearchConfig, complete_settings
from vulcan.searches.evidence import find_objective, load_evaluation_set, make_scorer, open_run
from vulcan.searches.model_pool import open_model_pool
from vulcan.searches.study import Study
from vulcan.store import RunRecord
from vulcan.store.sqlite import SQLiteStore
from vulcan.task import Split


@dataclass(frozen=True)
class Stages:
    """Seconds a candidate: `draft` until its prompt is there, `keep` from the reply to the rows of the store.

    Its check is part of `keep`, where the study takes the reply.
    """

    draft: float
    keep: float


class Apart(Here):
    """Scores where it is asked to, and knows how long that took the thread that asked."""

    seconds = 0.0

    def submit(self, job: Job) -> Future[Outcome]:
        began = time.thread_time()
        try:
            return super().submit(job)
        finally:
            self.seconds += time.thread_time() - began


def measured_stages(quick: bool) -> Stages:
    """Return a search in this process, with the offline generator's own time and that of scoring left out."""
    candidates = 40 if quick else 150
    task = find_task("cache_eviction")
    config = SearchConfig(
        task=task.name, settings=complete_settings(task, {"trace": [TRACE]}), objective="object",
        tune=0, simplify=0, racing=False, budget_candidates=candidates,
    )  # fmt: skip
    evaluator = load_evaluator(task)
    evidence = load_evaluation_set(task, config, evaluator)
    evaluator.prepare(evidence.everything)
    executor = Apart(evaluator)
    with tempfile.TemporaryDirectory() as directory, closing(open_model_pool(task, config)) as lineup:
        store = SQLiteStore(Path(directory) / "run.db", create=True)
        open_run(task, config, store, evidence, lambda _: None)
        scorer = make_scorer(find_objective(task, config.objective), RunRecord.of(store.events()))
        study = Study(task, config, store, scorer, executor)
        study.begin()
        study.wait_for_scores()
        draft = keep = 0.0

        def apart(step: Callable[[], Any]) -> tuple[Any, float]:
            began, scoring = time.thread_time(), executor.seconds
            done = step()
            return done, time.thread_time() - began - (executor.seconds - scoring)

        while True:
            proposal, seconds = apart(study.ask)
            draft += seconds
            if proposal is None:
                _, seconds = apart(study.wait_for_scores)
                keep += seconds
                if (proposal := study.ask()) is None:
                    break
            reply = lineup.propose(proposal)
            _, seconds = apart(lambda proposal=proposal, reply=reply: study.tell(proposal, reply))
            keep += seconds
        store.close()
        return Stages(draft / study.completed, keep / study.completed)


TASK = str(Path(__file__).parent / "scale_task")
POLICY = "def decide(load):\n    return load\n"
SECONDS = (0.005, 0.05, 0.2)
"""Sleep times of jobs: a sample of a trace, a short trace, a longer one."""

MAX_OVERHEAD = 0.05
"""The share of a call's time that is wanted at most for its way."""

TRACE = "zipf:requests=1000000,objects=100000,alpha=0.9,seed=1,sizes=lognormal"
NODES = (1, 2, 4, 8)
LARGER = (16, 32, 64, 128, 256, 512, 1024)
STORE_BYTES = 80 << 20
ARRAY_BYTES = 32 << 20
MODEL_SECONDS, CALLS_AT_ONCE = 5.0, 64
"""Of a language model's reply, and how many it writes at once, where the model is a part of the prediction."""


@dataclass(frozen=True)
class Measured:
    """Some jobs on some nodes: wall clock, the driver's processor time, calls, and seconds within the workers.

    `beside` is what a call takes besides its jobs, in seconds, the median over calls.
    """

    nodes: int
    work: float
    alone: bool
    jobs: int
    calls: int
    seconds: float
    driver: float
    within: float
    beside: float
    sleeps: bool = True

    @property
    def overhead(self) -> float:
        """The share of a call's time that is not its jobs'."""
        return self.calls * self.beside / (self.calls * self.beside + self.within)


class Switched(RayExecutor):
    """Has jobs travel alone while that is wanted, and notes what each call takes alongside its jobs."""

    alone = False
    ways: list[float]

    def size_of_batch(self, waiting: Sequence[JobRequest]) -> int:
        return 1 if self.alone else super().size_of_batch(waiting)

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
            if count <= (os.cpu_count() or 1) and not quick:
                found += _simulated(runtime, count, turns, 2.5)
        bandwidth = _bandwidth(runtime.wait(), cluster)
    stages = measured_stages(quick)
    costs = _fitted(found, stages)
    errors, table = _compared(found, costs)
    worst = max(map(abs, errors))
    worst_of_long = max(abs(error) for error, m in zip(errors, found, strict=True) if m.work >= SECONDS[1])
    batched = [m for m in found if not m.alone]
    heavy, light = (
        [m.overhead for m in batched if m.nodes <= (os.cpu_count() or 1) and (m.work < SECONDS[1]) is short]
        for short in (False, True)
    )
    goals = (
        Goal("share of a call's time that is not its jobs', 50 ms and more", max(heavy), MAX_OVERHEAD, at_least=False,
             in_quick=False),
        Goal("share of a call's time that is not its jobs', 5 ms", max(light), MAX_OVERHEAD, at_least=False,
             in_quick=False),
        Goal("error of the model, jobs of 50 ms and more", worst_of_long, 0.15, at_least=False, in_quick=False),
        Goal("error of the model, jobs of 5 ms too", worst, 0.15, at_least=False,
             documented="driver and workers share two processors here, and the model keeps one for the driver"),
        Goal("time of 5 ms jobs on one node, alone over together", _gain(found), 1.1, in_quick=False),
    )  # fmt: skip
    tables = (
        table,
        BenchmarkTable(
            "Constants that the model has from measurements",
            ("what", "measured"),
            (
                ("driver, a call", f"{costs.call * 1e3:.2f} ms"),
                ("driver, a job in a call", f"{costs.job * 1e3:.2f} ms"),
                ("worker, per job, without its simulation", f"{costs.job_at_worker * 1e3:.2f} ms"),
                ("Ray at the worker's end, a call", f"{costs.way * 1e3:.2f} ms"),
                ("driver, a candidate's prompt", f"{stages.draft * 1e3:.2f} ms"),
                ("driver, a candidate's check, verdict and rows of the store", f"{stages.keep * 1e3:.2f} ms"),
                ("into the object store", f"{bandwidth['put'] / 1e9:.2f} GB/s"),
                ("from one node's object store to another's", f"{bandwidth['pull'] / 1e9:.2f} GB/s"),
            ),
        ),
        BenchmarkTable(
            "Predicted: candidates per second, and the busiest part",
            ("workers", "simulation", "scoring alone", "busiest", "a whole search", "busiest part of it"),
            tuple(_predictions(costs, stages, LARGER[::3] if quick else LARGER)),
        ),
    )
    return BenchmarkResult(tables, goals)


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
    """Jobs of each length, alone and together, enough of them for each round to last about this many seconds."""
    instances = {work: Instance(f"nap {work}", "train", {"seconds": work}) for work in SECONDS}
    setup = Setup(TASK, tuple(instances.values()))
    rounds: dict[tuple[float, bool], list[Measured]] = {}
    with Switched(setup, nodes, runtime) as executor:
        executor.ways = []
        _run(executor, [Job(n, POLICY, (instances[SECONDS[0]],), 60.0) for n in range(8 * nodes)])  # starts every child
        for turn in range(turns + 1):
            for work, instance in instances.items():
                for alone in (True, False):
                    executor.alone = alone
                    count = max(4 * nodes, round(lasting * nodes / (work + 0.005)))
                    jobs = [Job(n, POLICY, (instance,), 60.0) for n in range(count)]
                    one = _timed(executor, jobs, nodes, work, alone)
                    if turn:  # the first teaches the executor how long jobs are
                        rounds.setdefault((work, alone), []).append(one)
    found = [min(measured, key=lambda m: m.seconds) for measured in rounds.values()]
    for one in found:
        print(f"{nodes} nodes, {one.work} s, {_way_of(one)}: {one.overhead:.1%}", file=sys.stderr)
    return found


def _way_of(one: Measured) -> str:
    return "alone" if one.alone else f"{one.jobs / one.calls:.1f} a call"


def _simulated(runtime: RayRuntime, nodes: int, turns: int, lasting: float) -> list[Measured]:
    """Return the same with policies of a cache on a generated trace; `work` is what a job took on this many nodes."""
    task = find_task("cache_eviction")
    settings = complete_settings(task, {"trace": [TRACE]})
    (instance,) = load_evaluator(task).instances(settings, Split(by="none"))
    policy = task.seed_policies()["gdsf"]
    rounds: dict[bool, list[Measured]] = {True: [], False: []}
    with Switched(Setup(task.name, (instance,)), nodes, runtime) as executor:
        executor.ways = []
        first = [Job(n, policy, (instance,), 60.0) for n in range(8 * nodes)]
        work = _run(executor, first) / len(first)
        jobs = [Job(n, policy, (instance,), 60.0) for n in range(max(8 * nodes, round(lasting * nodes / work)))]
        for turn in range(turns + 1):
            for alone, measured in rounds.items():
                executor.alone = alone
                one = _timed(executor, jobs, nodes, 0.0, alone)
                if turn:
                    measured.append(replace(one, work=one.within / one.jobs, sleeps=False))
    return [min(measured, key=lambda m: m.seconds) for measured in rounds.values()]


def _timed(executor: Switched, jobs: list[Job], nodes: int, work: float, alone: bool) -> Measured:
    executor.ways = []
    wall, driver = time.perf_counter(), time.process_time()
    within = _run(executor, jobs)
    wall, driver = time.perf_counter() - wall, time.process_time() - driver
    way = statistics.median(executor.ways)
    return Measured(nodes, work, alone, len(jobs), len(executor.ways), wall, driver, within, way)


def _run(executor: Switched, jobs: list[Job]) -> float:
    """Seconds that the jobs took, summed up, as the workers measured them."""
    outcomes = [future.result() for future in [executor.submit(job) for job in jobs]]
    assert {outcome.status for outcome in outcomes} == {"scored"}
    return sum(outcome.seconds for outcome in outcomes)


def _bandwidth(ray: Any, cluster: Any) -> dict[str, float]:
    """Bytes a second into the store of the driver's node, and from there to another node's."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    mine = ray.get_runtime_context().get_node_id()
    others = [node["NodeID"] for node in ray.nodes() if node["Alive"] and node["NodeID"] != mine]
    array = np.ones(ARRAY_BYTES // 8)

    def pulled(references: list[Any]) -> float:
        import ray

        began = time.perf_counter()
        ray.get(references[0])
        return time.perf_counter() - began

    put, pull = [], []
    where = NodeAffinitySchedulingStrategy(others[0], soft=False) if others else None
    task = ray.remote(pulled).options(num_cpus=0, scheduling_strategy=where)
    for _ in range(4):
        began = time.perf_counter()
        reference = ray.put(array)
        put.append(time.perf_counter() - began)
        pull.append(ray.get(task.remote([reference])))
        del reference
    return {"put": ARRAY_BYTES / min(put), "pull": ARRAY_BYTES / min(pull)}


def _fitted(found: Sequence[Measured], stages: Stages) -> Costs:
    """Return the driver's processor time by least squares over all rounds; the rest from the smallest cluster."""
    equations = np.array([(m.calls, m.jobs) for m in found], float)
    (call, job), *_ = np.linalg.lstsq(equations, np.array([m.driver for m in found]), rcond=None)
    least = [m for m in found if m.nodes == min(NODES) and m.alone and m.sleeps]
    within = statistics.median(m.within / m.jobs - m.work for m in least)
    call, job = max(float(call), 0.0), max(float(job), 0.0)
    way = max(0.0, statistics.median(m.beside for m in least) - call - job)
    return Costs(call=call, job=job, job_at_worker=max(0.0, within), way=way)


def _compared(found: Sequence[Measured], costs: Costs) -> tuple[list[float], BenchmarkTable]:
    """Return the model's error for each, as a share of its time."""
    errors, rows = [], []
    for m in found:
        cluster = Cluster(workers=m.nodes, cores=os.cpu_count() or 1, sleeps=m.sleeps)
        # what a simulation took has the worker's own time in it
        known = costs if m.sleeps else replace(costs, job_at_worker=0.0)
        said = predict(known, cluster, m.jobs, m.work, together=not m.alone)
        error = said.seconds / m.seconds - 1
        errors.append(error)
        rows.append(
            (str(m.nodes), f"{'sleeps' if m.sleeps else 'simulates'} {m.work * 1e3:.0f} ms", _way_of(m),
             f"{m.jobs / m.seconds:.1f}", f"{m.overhead:.1%}", f"{m.jobs / said.seconds:.1f}", f"{error:+.1%}")
        )  # fmt: skip
    columns = ("nodes", "a job", "jobs", "jobs per second", "overhead", "the model's", "its error")
    return errors, BenchmarkTable("Jobs on Ray, by nodes", columns, tuple(rows))


def _gain(found: Sequence[Measured]) -> float:
    alone, together = (
        next(m.seconds for m in found if m.nodes == 1 and m.work == SECONDS[0] and m.sleeps and m.alone is alone)
        for alone in (True, False)
    )
    return alone / together


def _predictions(costs: Costs, stages: Stages, larger: Sequence[int]) -> Iterator[tuple[str, ...]]:
    """Clusters with a processor a worker: executor alone with all jobs waiting, and a search with a language model."""
    whole = replace(costs, draft=stages.draft, keep=stages.keep)
    for workers in larger:
        for work in (0.05, 1.0):
            cluster = Cluster(workers=workers, cores=workers)
            jobs = max(4000, 20 * workers)
            scoring = predict(costs, cluster, jobs, work)
            searching = predict(
                whole,
                replace(
                    cluster, model_seconds=MODEL_SECONDS, calls_at_once=max(CALLS_AT_ONCE, 2 * workers),
                    in_flight=4 * workers,
                ),
                jobs,
                work,
            )  # fmt: skip
            yield (
                f"{workers:,}", f"{work:g} s", f"{scoring.rate:,.0f}", f"{scoring.limit} {_busiest(scoring):.0%}",
                f"{searching.rate:,.0f}", f"{searching.limit} {_busiest(searching):.0%}",
            )  # fmt: skip


def _busiest(prediction: Any) -> float:
    return float(max(prediction.driver, prediction.working, prediction.model))


if __name__ == "__main__":
    run_suite(__doc__ or "", measure)
