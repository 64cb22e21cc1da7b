"""From the text of a reply to a score, by stage, for any task: what `vulcan bench` measures of the way to an evaluator.

Candidates are the task's own policies and some of the offline generator, and the ground is the first instance that a
search with the task's defaults would score on. Figures are processor time.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from vulcan.anvil import Rejected, check
from vulcan.benchmark import BenchmarkResult, BenchmarkTable, Goal, NotMeasurable
from vulcan.evaluator import Evaluator, Instance, OffersBenchmark, decisions_of, load_evaluator
from vulcan.generator import OfflineEvolve
from vulcan.models import NoSource, Reply, Request, extract_source
from vulcan.registry import find_task, task_reference
from vulcan.scoring import Job
from vulcan.scoring.evaluator_process import JailedEvaluator
from vulcan.scoring.job import Setup
from vulcan.searches.config import SearchConfig, complete_settings
from vulcan.searches.evidence import find_instances
from vulcan.task import Program, Task

LONG = 0.05
"""Seconds of a simulation from which on the share of other time has its goal."""

MAX_OTHER = 0.10
STAGES = ("read the reply", "check", "look for doubts", "compile", "simulate")


def measure_task(name: str, quick: bool) -> BenchmarkResult:
    """The turn-around of a task's candidates, and what its evaluator measures of itself.

    Raises UserError for a task that there is not, NotMeasurable for one whose policies are free Python.
    """
    task = find_task(name)
    if isinstance(task.signature, Program):
        raise NotMeasurable(f"{task.name}: its policies are free Python, and there is nothing to compile")
    evaluator = load_evaluator(task)
    found = turnaround(task, task_reference(name), evaluator, quick)
    if not isinstance(evaluator, OffersBenchmark):
        return found
    try:
        own = evaluator.benchmark(task, quick)
    except NotMeasurable as reason:
        return replace(found, left_out=(*found.left_out, str(reason)))
    return BenchmarkResult(
        (*found.tables, *own.tables), (*found.goals, *own.goals), {**found.document, **own.document}, own.left_out
    )


def turnaround(task: Task, reference: str, evaluator: Evaluator, quick: bool) -> BenchmarkResult:
    """The stages of each candidate on one instance; `reference` is what the jailed child knows the task by."""
    config = SearchConfig(task=task.name, settings=complete_settings(task, {}), objective=task.objectives[0].name)
    instance = next(i for i in find_instances(task, config, evaluator) if i.split == "train")
    evaluator.prepare([instance])
    seconds = by_stage(task, evaluator, instance, _replies(task, 6 if quick else 40))
    source = next(iter(task.seed_policies().values()), None)
    isolation = isolation_seconds(task, reference, evaluator, instance, source, 10 if quick else 50) if source else 0.0
    means = {stage: statistics.mean(values) for stage, values in seconds.items()}
    total = sum(means.values()) + means["check"] + isolation  # checked where the reply is read, and where it is run
    rows = [
        (stage, f"{statistics.median(values) * 1e3:.2f}", f"{means[stage] * 1e3:.2f}")
        for stage, values in seconds.items()
    ]
    rows += [("isolation", f"{isolation * 1e3:.2f}", ""), ("a candidate", "", f"{total * 1e3:.2f}"),
             ("candidates an hour a core", "", f"{3600 / total:,.0f}")]  # fmt: skip
    table = BenchmarkTable(
        f"{task.name}: from reply to score on {instance.name}", ("stage", "ms, median", "mean"), tuple(rows)
    )
    goals: tuple[Goal, ...] = ()
    if means["simulate"] >= LONG:
        other = 1 - means["simulate"] / total
        goal = Goal(f"{task.name}: share of time that is not simulation", other, MAX_OTHER, at_least=False, margin=0.5)
        goals = (goal,)
    return BenchmarkResult(
        (table,), goals, {"turnaround": {"seconds": seconds, "isolation": isolation, "total": total}}
    )


def by_stage(task: Task, evaluator: Evaluator, instance: Instance, replies: Sequence[Reply]) -> dict[str, list[float]]:
    """Processor seconds of each stage, for each reply that holds a policy; the first does not count.

    What an evaluator compiles it compiles in its first run of a policy, so the difference to the second is that.
    """
    others = tuple(declared.function for declared in task.others)
    seconds: dict[str, list[float]] = {stage: [] for stage in STAGES}
    for number, reply in enumerate((replies[0], *replies)):
        try:
            reading, source = _timed(extract_source, reply, task.signature.function, None, others)
            checking, policy = _timed(check, source, task)
        except (NoSource, Rejected):
            continue
        doubting, _ = _timed(lambda policy: policy.warnings, policy)
        first, _ = _timed(evaluator.evaluate, policy, instance)
        second, _ = _timed(evaluator.evaluate, policy, instance)
        if number:
            took = (reading, checking, doubting, max(0.0, first - second), second)
            for stage, taken in zip(STAGES, took, strict=True):
                seconds[stage].append(taken)
    return seconds


def isolation_seconds(
    task: Task, reference: str, evaluator: Evaluator, instance: Instance, source: str, turns: int
) -> float:
    """What the way to a jailed child and back takes of processors, in both processes, over the same work done here.

    Where the time of another process cannot be read, the wall clock is taken; the least of all turns of either.
    """
    job = Job(1, source, (), 60.0, probe=True)
    here, there = [], []
    jailed = JailedEvaluator(Setup(reference, (instance,)))
    try:
        jailed.start()
        seconds = partial(_processors, jailed.pid) if _processor_seconds(jailed.pid) else time.perf_counter
        for _ in range(turns):
            began = seconds()
            decisions_of(evaluator, check(source, task))
            between = seconds()
            outcome = jailed.run(job)
            here.append(between - began)
            there.append(seconds() - between)
            if outcome.status != "scored":
                raise RuntimeError(f"the task's own policy is {outcome.status}: {outcome.message}")
    finally:
        jailed.close()
    return max(0.0, min(there) - min(here))


def _processors(pid: int | None) -> float:
    """Processor seconds of this process and of another."""
    return time.process_time() + _processor_seconds(pid)


def _processor_seconds(pid: int | None) -> float:
    """Processor seconds of a process's main thread; 0 where they cannot be read."""
    place = Path(f"/proc/{pid}/schedstat")
    return int(place.read_text().split()[0]) / 1e9 if place.is_file() else 0.0


def _replies(task: Task, count: int) -> list[Reply]:
    """The task's own policies, as a model would write them, and what the offline generator writes; of a fixed seed."""
    generator = OfflineEvolve(task)
    written = [generator.propose(Request(number, 0, (), (), seed=7)) for number in range(count)]
    own = [replace(written[0], text=f"```python\n{source}\n```\n") for source in task.seed_policies().values()]
    return [*own, *written]


def _timed(work: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    began = time.process_time()
    result = work(*arguments)
    return time.process_time() - began, result
