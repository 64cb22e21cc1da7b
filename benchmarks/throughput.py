"""Candidates an hour of whole searches with the offline generator, and what of their time is not simulation.

The ground is the part of the trace w106 that a search sees, a cache of 10 % of its footprint. Each search is run with a
jailed evaluator on one core and on two, in full (`racing` off) and with sampling and racing, stored on disk as always,
and once more in this process, where simulations can be timed apart, and so can the generator's writing, which with a
language model is another machine's work. Tuning and simplifying are off. Candidates are all that were settled, those
that repeat an earlier one or are rejected too, as in any search; the time is what processors took from the first draft
to the last verdict, the children's share with it but not their start.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.ground import TASK, Ground, ground, opened
from benchmarks.harness import BenchmarkResult, BenchmarkTable, Goal, run_suite
from vulcan.anvil import check
from vulcan.closing import Closing
from vulcan.evaluator import Evaluator, decisions_of
from vulcan.scoring import Executor, Job, Outcome
from vulcan.scoring.job import Setup
from vulcan.scoring.local_pool import LocalExecutor
from vulcan.searches.evidence import find_objective, make_scorer
from vulcan.searches.model_pool import open_model_pool
from vulcan.searches.proposal import Proposal
from vulcan.searches.study import Study
from vulcan.store.sqlite import SQLiteStore

SIMULATION = 0.05
"""Seconds of a simulation from which on the share of other time has its goal."""

CANDIDATES, QUICK_CANDIDATES = (100, 300), (10, 40)
"""In full, and with sampling and racing, where the first ten are always scored in full."""

FULL_GOAL, RACING_GOAL, OTHER_GOAL = 15_000, 100_000, 0.10

WHY_NOT = "a candidate is measured on the whole trace once, and on samples of it at half and double the cache"


@dataclass(frozen=True)
class Measured:
    """One search: seconds of processors, of wall clock, of the generator, and of simulations (0 where not timed)."""

    candidates: int
    simulations: int
    processor: float
    wall: float
    writing: float
    simulating: float = 0.0

    @property
    def hourly(self) -> float:
        """Candidates an hour of one processor."""
        return 3600 * self.candidates / self.processor

    @property
    def by_the_clock(self) -> float:
        """Candidates an hour of wall clock."""
        return 3600 * self.candidates / self.wall

    @property
    def written(self) -> float:
        """The generator's share of the time."""
        return self.writing / self.processor

    @property
    def other(self) -> float:
        """The share of the time that is neither simulation nor the generator's."""
        return 1 - (self.simulating + self.writing) / self.processor


class Here(Closing):
    """An executor that scores where it is asked to, and times what is simulation."""

    name = "in-process"
    workers = 1

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self.simulating = 0.0
        self.simulations = 0

    def forget(self) -> None:
        """Count from here on."""
        self.simulating, self.simulations = 0.0, 0

    def submit(self, job: Job) -> Future[Outcome]:
        policy = check(job.source, TASK)
        signature = decisions_of(self._evaluator, policy) if job.probe else None  # compiles the policy too
        metrics = []
        for instance in job.instances:
            began = time.process_time()
            metrics.append((instance.name, dict(self._evaluator.evaluate(policy, instance))))
            self.simulating += time.process_time() - began
            self.simulations += 1
        done: Future[Outcome] = Future()
        done.set_result(Outcome(job.id, "scored", tuple(metrics), "", 0.0, signature))
        return done

    def close(self) -> None:
        """Do nothing: it holds nothing."""


def measure(quick: bool) -> BenchmarkResult:
    candidates = QUICK_CANDIDATES if quick else CANDIDATES
    rows, goals = [], []
    for racing in (False, True):
        on = ground(racing=racing, budget_candidates=candidates[racing], seed=3)
        if not racing:
            on = replace(on, evidence=replace(on.evidence, rungs=()))
        form = "with sampling and racing" if racing else "in full"
        here = Here(on.evaluator)
        timed = search(on, here, here.forget)
        timed = Measured(
            timed.candidates, here.simulations, timed.processor, timed.wall, timed.writing, here.simulating
        )
        found = {"one core, in this process": timed}
        for workers in (1,) if quick else (1, 2):
            found[f"{workers} jailed"] = jailed(on, workers)
        for where, one in found.items():
            shares = (f"{one.written:.1%}", f"{one.other:.1%}") if one.simulating else ("", "")
            rows.append(
                (f"{form}, {where}", str(one.candidates), f"{one.hourly:,.0f}",
                 f"{one.by_the_clock:,.0f}", *shares)
            )  # fmt: skip
        print(rows[-1], file=sys.stderr)
        wanted = RACING_GOAL if racing else FULL_GOAL
        goals.append(
            Goal(f"candidates per core-hour, a search, {form}", found["1 jailed"].hourly, wanted,
                 in_quick=False, documented=WHY_NOT)
        )  # fmt: skip
        if not racing and timed.simulating / max(1, timed.simulations) >= SIMULATION:
            goals.append(
                Goal(f"overhead share of the time, {form}", timed.other, OTHER_GOAL,
                     at_least=False, margin=0.5)
            )  # fmt: skip
    shares = ("the generator", "overhead excluding simulation")
    columns = ("search", "candidates", "per core-hour", "per wall-clock hour", *shares)
    table = BenchmarkTable(f"Searches on {on.name} at 10%", columns, tuple(rows))
    return BenchmarkResult((table,), tuple(goals))


def jailed(on: Ground, workers: int) -> Measured:
    """A search with so many jailed evaluators. Their start is taken out, and so is that of the interpreter in them."""
    setup = Setup(TASK.name, on.evidence.everything)
    idle = _children()
    with LocalExecutor(setup, workers) as executor:
        _touch(executor, on, workers)
    idle = _children() - idle
    before = _children()
    with LocalExecutor(setup, workers) as executor:
        _touch(executor, on, workers)
        found = search(on, executor)
    children = max(0.0, _children() - before - idle)
    return Measured(found.candidates, 0, found.processor + children, found.wall, found.writing)


def _touch(executor: LocalExecutor, on: Ground, workers: int) -> None:
    """Have every worker started: a job for each, which only asks for decisions."""
    source = next(iter(TASK.seed_policies().values()))
    jobs = [executor.submit(Job(number, source, (), 300.0, probe=True)) for number in range(2 * workers)]
    for job in jobs:
        job.result()


def search(on: Ground, executor: Executor, begun: Callable[[], None] = lambda: None) -> Measured:
    """One search to its last verdict, but for its end. `begun` is called once the task's own policies are scored."""
    with tempfile.TemporaryDirectory() as directory:
        store = SQLiteStore(Path(directory) / "run.db", create=True)
        scorer = make_scorer(find_objective(TASK, on.config.objective), opened(on, store))
        study = Study(TASK, on.config, store, scorer, executor)
        with closing(open_model_pool(TASK, on.config)) as lineup:
            study.begin()
            study.wait_for_scores()
            begun()
            wall, processor = time.perf_counter(), time.process_time()
            settled, writing = study.completed, 0.0
            while (proposal := _next(study)) is not None:
                asked = time.process_time()
                reply = lineup.propose(proposal)
                writing += time.process_time() - asked
                study.tell(proposal, reply)
            took = time.process_time() - processor, time.perf_counter() - wall
            found = Measured(study.completed - settled, 0, *took, writing)
        store.close()
    return found


def _next(study: Study) -> Proposal | None:
    """Return the next proposal; None where the search is through."""
    if (proposal := study.ask()) is None:
        study.wait_for_scores()  # some need the verdict on others first
        proposal = study.ask()
    return proposal


def _children() -> float:
    """Processor seconds of the children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    run_suite(__doc__ or "", measure)
