"""Opening a run: what it is measured on, and what it is compared with."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from vulcan import __version__
from vulcan.errors import UserError, nearest
from vulcan.evaluator import Evaluator, Instance, SplitName, load_evaluator
from vulcan.search.config import SearchConfig
from vulcan.search.score import Scorer
from vulcan.store import RunRecord, Store
from vulcan.store.events import BaselineMeasured, Event, Prepared, Started
from vulcan.task import Objective, Task

SPLITS: tuple[SplitName, ...] = ("train", "validation", "test")


def find_objective(task: Task, name: str) -> Objective:
    """The task's objective of that name. Raises UserError."""
    try:
        return task.objective(name)
    except KeyError:
        known = [objective.name for objective in task.objectives]
        raise UserError(
            f"task {task.name!r} has no objective {name!r}{nearest(name, known)} (known: {', '.join(known)})"
        ) from None


def find_instances(task: Task, config: SearchConfig, evaluator: Evaluator) -> tuple[Instance, ...]:
    """What the configuration measures on. Raises UserError, also where there is nothing to search on."""
    if config.split not in ("task", "none"):
        raise UserError(f"split is {config.split!r}: write task (as the task declares it) or none")
    split = task.split if config.split == "task" else replace(task.split, by="none")
    found = tuple(evaluator.instances(config.settings, split))
    if split == replace(split, by="none"):
        found = tuple(replace(instance, split="train") for instance in found)
    names = [(instance.split, instance.name) for instance in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise UserError(f"two instances are called {min(twice)[1]!r}: give each trace and cache size once")
    if not any(instance.split == "train" for instance in found):
        raise UserError(f"task {task.name!r}: no instance is left to search on")
    return found


def measure_baselines(
    evaluator: Evaluator, instances: Sequence[Instance], told: Callable[[str], None] = lambda _: None
) -> dict[str, dict[tuple[SplitName, str], dict[str, float]]]:
    """The metrics of every known policy on every instance, by policy, split and instance."""
    measured: dict[str, dict[tuple[SplitName, str], dict[str, float]]] = {}
    with ThreadPoolExecutor(os.cpu_count() or 1) as threads:
        for policy in evaluator.baselines():
            told(policy)
            results = threads.map(lambda i, p=policy: evaluator.evaluate_baseline(p, i), instances)
            measured[policy] = {
                (instance.split, instance.name): dict(metrics)
                for instance, metrics in zip(instances, results, strict=True)
            }
    return measured


def baseline_events(
    objective: Objective, evaluator: Evaluator, instances: Sequence[Instance], told: Callable[[str], None]
) -> Iterator[BaselineMeasured]:
    """Each known policy on each split, references of the objective first."""
    measured = measure_baselines(evaluator, instances, told)
    missing = [name for name in objective.references if name not in measured]
    if missing:
        raise UserError(f"objective {objective.name!r} compares with {missing[0]!r}, which is no baseline")
    scorer = Scorer(objective, instances)
    for policy, results in measured.items():
        for (split, name), metrics in results.items():
            scorer.add_reference(policy, split, ((name, metrics),))
    for policy, kind in evaluator.baselines().items():
        for split in SPLITS:
            metrics_of = tuple((i.name, measured[policy][split, i.name]) for i in scorer.of(split))
            if metrics_of:
                score = scorer.mean(split, metrics_of)
                yield BaselineMeasured(policy, kind, split, score, metrics_of)


def open_run(
    task: Task, config: SearchConfig, store: Store, instances: Sequence[Instance], told: Callable[[str], None]
) -> tuple[Event, ...]:
    """Write the beginning of a run to its store, as far as it is not there yet; the events that were added."""
    record = RunRecord.of(store.events())
    added: list[Event] = []
    if not record.config:
        added.append(Started(config.to_json(), __version__))
    if not record.instances:
        plain = tuple({"name": i.name, "split": i.split, "parameters": dict(i.parameters)} for i in instances)
        added.append(Prepared(plain))  # type: ignore[arg-type]
    store.append(*added)
    if not record.baselines:
        objective = find_objective(task, config.objective)
        measured = tuple(baseline_events(objective, load_evaluator(task), instances, told))
        store.append(*measured)
        added.extend(measured)
    return tuple(added)


def make_scorer(objective: Objective, record: RunRecord) -> Scorer:
    """The scorer of a run that is open."""
    scorer = Scorer(objective, record.instances)
    for event in record.baselines.values():
        scorer.add_baseline(event)
    return scorer
