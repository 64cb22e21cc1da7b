"""The evaluation set and baselines of a run, and the events that open it."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from queue import Queue
from statistics import fmean

from vulcan import __version__
from vulcan.errors import UserError, did_you_mean
from vulcan.evaluator import Evaluator, Instance, Rung, SplitName, load_evaluator, located, notes_on, rungs_of
from vulcan.foreign_code import ForeignCall
from vulcan.searches.config import SearchConfig
from vulcan.searches.scorer import Scorer
from vulcan.searches.target import carried, not_carried, plain_name
from vulcan.store import RunRecord, Store
from vulcan.store.events import (
    BaselineMeasured,
    Event,
    InstanceMetrics,
    InstancesPrepared,
    LessonsLearnt,
    ReferenceMeasured,
    RunStarted,
    WorkloadDescribed,
)
from vulcan.store.sqlite import DamagedRun
from vulcan.task import Json, Objective, Task

SPLITS: tuple[SplitName, ...] = ("train", "validation", "test")

WINDOWS = 8
"""Number of blocks of time that a held-out instance is cut into."""

MIN_INSTANCES = 4
"""Minimum number of workloads for an interval over them; fewer are cut into blocks of time."""


def find_objective(task: Task, name: str) -> Objective:
    """Return the task's objective of that name. Raises UserError."""
    try:
        return task.objective(name)
    except KeyError:
        known = [objective.name for objective in task.objectives]
        raise UserError(
            f"task {task.name!r} has no objective {name!r}{did_you_mean(name, known)} (known: {', '.join(known)})"
        ) from None


def find_instances(task: Task, config: SearchConfig, evaluator: Evaluator) -> tuple[Instance, ...]:
    """Return the instances of the configuration.

    Raises UserError, also if none is left to search on, or its objective has no score under its settings.
    """
    if why := find_objective(task, config.objective).unfit(config.settings):
        raise UserError(why)
    split = task.split if config.split == "task" else replace(task.split, by="none")
    found = tuple(evaluator.instances(config.settings, split))
    if split.by == "none":
        found = tuple(replace(instance, split="train") for instance in found)
    names = [(instance.split, instance.name) for instance in found]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise UserError(f"two instances are called {min(twice)[1]!r}: give each once, and files names of their own")
    if not any(instance.split == "train" for instance in found):
        raise UserError(f"task {task.name!r}: no instance is left to search on")
    return found


def measure_baselines(
    evaluator: Evaluator,
    instances: Sequence[Instance],
    report: Callable[[str], None] = lambda _: None,
    names: Iterable[str] | None = None,
) -> dict[str, dict[tuple[SplitName, str], dict[str, float]]]:
    """Return the metrics of every known policy, or of those named, on every instance, by policy, split and instance."""
    measured: dict[str, dict[tuple[SplitName, str], dict[str, float]]] = {}
    for policy in evaluator.baselines() if names is None else names:
        results = measure_baseline(evaluator, policy, instances, report)
        measured[policy] = {(i.split, i.name): metrics for i, metrics in zip(instances, results, strict=True)}
    return measured


def measure_baseline(
    evaluator: Evaluator, policy: str, instances: Sequence[Instance], report: Callable[[str], None] = lambda _: None
) -> list[dict[str, float]]:
    """Return the metrics of a known policy on each instance, and report progress. May be interrupted at any time.

    It is measured in daemon threads, which a process that ends does not wait for: one instance may take minutes.
    """
    done: Queue[tuple[int, dict[str, float], ForeignCall]] = Queue()
    waiting = list(enumerate(instances))[::-1]

    def measure() -> None:
        with suppress(IndexError):
            while True:
                number, instance = waiting.pop()
                metrics: dict[str, float] = {}
                with (attempt := ForeignCall()):
                    metrics.update(evaluator.evaluate_baseline(policy, instance))
                done.put((number, metrics, attempt))

    found: dict[int, dict[str, float]] = {}
    try:
        kind = evaluator.baselines_on(instances).get(policy, "baseline")
        report(f"measuring the {kind} {policy}")
        for _ in range(min(os.cpu_count() or 1, len(instances))):
            threading.Thread(target=measure, name="vulcan-baseline", daemon=True).start()
        while len(found) < len(instances):
            number, metrics, attempt = done.get()
            if attempt.error is not None:
                attempt.error.add_note(f"raised in {attempt.place}")
                raise attempt.error
            found[number] = metrics
            if len(found) < len(instances):
                report(f"measuring the {kind} {policy}: {len(found)} of {len(instances)} instances")
    finally:
        waiting.clear()
    return [found[number] for number in range(len(instances))]


def baseline_events(
    objective: Objective,
    evaluator: Evaluator,
    instances: Sequence[Instance],
    report: Callable[[str], None],
) -> Iterator[BaselineMeasured]:
    """Measure each known policy on each split. Raises UserError for an objective with an unknown reference."""
    kinds = evaluator.baselines_on(instances)
    measured = measure_baselines(evaluator, instances, report, kinds)
    missing = [name for name in objective.references if name not in measured]
    if missing:
        raise UserError(f"objective {objective.name!r} compares with {missing[0]!r}, which is no baseline")
    scorer = Scorer(objective, instances)
    for policy, results in measured.items():
        for (split, name), metrics in results.items():
            scorer.add_reference(policy, split, ((name, metrics),))
    for policy, kind in kinds.items():
        for split in SPLITS:
            metrics_of = tuple((i.name, measured[policy][split, i.name]) for i in scorer.of(split))
            if metrics_of:
                score = scorer.mean(split, metrics_of)
                yield BaselineMeasured(policy, kind, split, score, metrics_of)


@dataclass(frozen=True, slots=True)
class EvaluationSet:
    """The instances of a search, cheaper versions of those of the split `train`, and blocks of time."""

    instances: tuple[Instance, ...]
    rungs: tuple[Rung, ...] = ()
    windows: tuple[Instance, ...] = ()

    @property
    def everything(self) -> tuple[Instance, ...]:
        """Each instance once: those that an executor must prepare for."""
        cheaper = [instance for rung in self.rungs for instance in rung.instances]
        return tuple({(i.name, i.split): i for i in (*self.instances, *cheaper, *self.windows)}.values())


def load_evaluation_set(task: Task, config: SearchConfig, evaluator: Evaluator) -> EvaluationSet:
    """Load the instances of the configuration, with rungs if candidates race or are tuned.

    Raises UserError, also for a training instance on which every policy measures the same.
    """
    instances = find_instances(task, config, evaluator)
    training = [i for i in instances if i.split == "train"]
    for instance in training:
        if (reason := evaluator.why_indifferent(instance)) is not None:
            raise UserError(f"{instance.name}: there is nothing to search for: {reason}")
    training = list(_chosen_training(evaluator, training, config))
    instances = (*training, *(i for i in instances if i.split != "train"))
    windows = tuple(window for blocks in verdict_windows(evaluator, instances).values() for window in blocks)
    if config.converses:
        asked = [instance for instance in training if not instance.variation_of]
        windows += tuple(window for blocks in equal_blocks(evaluator, asked) for window in blocks)
    return EvaluationSet(instances, rungs_of(evaluator, training) if config.racing or config.tune else (), windows)


def _chosen_training(evaluator: Evaluator, training: Sequence[Instance], config: SearchConfig) -> Iterator[Instance]:
    """Yield the training instances, and what is configured to train on beside them."""
    yield from training
    if config.train_on == "asked" or len(training) > 1:
        return
    copies = [replace(copy, variation_of=i.name) for i in training for copy in evaluator.nearby(i)]
    asked = {instance.name for instance in training}
    yield from {copy.name: copy for copy in copies if copy.name not in asked}.values()


def workload_of(instance: Instance) -> str:
    """Return what identifies the instance's workload: its digest, or where it has none, the instance's name."""
    return str(instance.parameters.get("digest", instance.name))


def workloads(instances: Iterable[Instance]) -> int:
    """Count the workloads of the instances: several settings of one trace tell no more of others than one."""
    return len(set(map(workload_of, instances)))


def by_workload(instances: Sequence[Instance], scores: Iterable[float]) -> list[float]:
    """Return the mean score of each workload: instances of one, such as two cache sizes, are not independent."""
    of: dict[str, list[float]] = {}
    for instance, score in zip(instances, scores, strict=True):
        of.setdefault(workload_of(instance), []).append(score)
    return [fmean(found) for found in of.values()]


def verdict_windows(
    evaluator: Evaluator, instances: Sequence[Instance]
) -> dict[tuple[SplitName, str], tuple[Instance, ...]]:
    """Return the blocks of time of held-out instances, by split and name, where workloads are too few to compare on.

    Those of training instances are with them, if there are any.
    """
    found: dict[tuple[SplitName, str], tuple[Instance, ...]] = {}
    for split in (*SPLITS[1:], SPLITS[0]):
        own = [i for i in instances if i.split == split and not i.variation_of]
        blocks = equal_blocks(evaluator, own) if workloads(own) < MIN_INSTANCES else ()
        found |= {(split, i.name): of for i, of in zip(own, blocks, strict=False)}
    return found if any(split != "train" for split, _ in found) else {}


def equal_blocks(evaluator: Evaluator, instances: Sequence[Instance]) -> tuple[tuple[Instance, ...], ...]:
    """Return the blocks of time of instances, equally many of each; none where one of them has none."""
    found = tuple(tuple(replace(block, block_of=i.name) for block in evaluator.windows(i, WINDOWS)) for i in instances)
    return found if all(found) and len(set(map(len, found))) == 1 else ()


def reference_events(
    objective: Objective, evaluator: Evaluator, rungs: Sequence[Rung], report: Callable[[str], None]
) -> Iterator[ReferenceMeasured]:
    """Measure the objective's reference policies on each rung."""
    for rung in rungs:
        for policy in objective.references:
            report(f"measuring {policy} on {rung.name}")
            results = measure_baseline(evaluator, policy, rung.instances)
            metrics = tuple((i.name, one) for i, one in zip(rung.instances, results, strict=True))
            yield ReferenceMeasured(policy, rung.name, metrics)


def open_run(
    task: Task, config: SearchConfig, store: Store, evidence: EvaluationSet, report: Callable[[str], None]
) -> None:
    """Write the missing opening events of a run to its store."""
    record = RunRecord.of(store.events())

    def add(*events: Event | None) -> None:
        store.append(*(event for event in events if event is not None))

    evaluator = load_evaluator(task)
    opening: list[Event] = [] if record.config else [RunStarted(config.to_json(), __version__)]
    if not record.instances:
        rungs: tuple[dict[str, Json], ...] = tuple(
            {"name": r.name, "instances": [i.to_json() for i in r.instances], "keep": r.keep, "cost": r.cost}
            for r in evidence.rungs
        )
        notes = notes_on(evaluator, evidence.instances)
        opening.append(InstancesPrepared(tuple(i.to_json() for i in evidence.instances), rungs, notes))
    add(*opening)
    if not record.baselines:
        objective = find_objective(task, config.objective)
        left = not_carried(config.offered(task), config.target)
        measured = baseline_events(objective, evaluator, evidence.instances, report)
        add(
            *(replace(b, kind="not carried") if plain_name(b.policy) in left else b for b in measured),
            *reference_events(objective, evaluator, evidence.rungs, report),
        )
    training = [i for i in evidence.instances if i.split == "train" and not i.variation_of]
    if config.generates and record.lessons is None:
        learnt = learn_lessons(task.offered(config.settings), evaluator, training, config.objective, report)
        if learnt is not None:
            add(LessonsLearnt(carried(learnt.programs, config.offered(task), config.target)))
    if tells_findings(config) and record.workload is None:
        add(describe_workload(evaluator, training, report))


def tells_findings(config: SearchConfig) -> bool:
    """Check whether any prompt of the search has findings, or a tool: the offline generator reads none."""
    return (config.feedback == "full" and not config.offline) or config.converses


def describe_workload(
    evaluator: Evaluator, training: Sequence[Instance], report: Callable[[str], None] = lambda _: None
) -> WorkloadDescribed | None:
    """Return the evaluator's description of training instances; None from one that offers none.

    Raises UserError for a description that breaks the contract, ValueError for an instance of another split.
    """
    if not evaluator.offers(Evaluator.workload):
        return None
    report("describing the workload")
    try:
        findings = [one for i in training for one in located(evaluator.workload(i), i)]
    except ValueError as error:
        raise UserError(f"{type(evaluator).__name__}.workload: {error}") from error
    return WorkloadDescribed.of(findings)


def learn_lessons(
    task: Task,
    evaluator: Evaluator,
    training: Sequence[Instance],
    objective: str,
    report: Callable[[str], None] = lambda _: None,
) -> LessonsLearnt | None:
    """Return the programs fitted to training instances; None from an evaluator that offers no lessons.

    Raises UserError for lessons that break the contract, ValueError for an instance of another split.
    """
    if not evaluator.offers(Evaluator.lessons):
        return None
    from vulcan.generator.fits import fitted_programs

    report("fitting programs to the training instances")
    if held_out := [instance.name for instance in training if instance.split != "train"]:
        raise ValueError(f"lessons of {held_out[0]}, which no search may see")
    try:
        metric = find_objective(task, objective).metric
        found = [lesson for instance in training for lesson in evaluator.lessons(instance, metric)]
        return LessonsLearnt(fitted_programs(task, found))
    except ValueError as error:
        raise UserError(f"{type(evaluator).__name__}.lessons: {error}") from error


def make_scorer(objective: Objective, record: RunRecord) -> Scorer:
    """Return the scorer of an open run. Raises DamagedRun where scores are not those of the metrics beside them."""
    scorer = Scorer(objective, record.instances)
    for event in record.baselines.values():
        scorer.add_reference(event.policy, event.split, event.metrics)
    for reference in record.references.values():
        scorer.add_reference(reference.policy, "train", reference.metrics)
    _check_scores(record, scorer)
    return scorer


def _check_scores(record: RunRecord, scorer: Scorer) -> None:
    scores: list[tuple[str, SplitName, InstanceMetrics, float | None]] = [
        *((f"candidate {c.candidate}", "train", c.metrics, c.score) for c in record.ranked()),
        *((f"candidate {f.candidate}", f.split, f.metrics, f.score) for f in record.confirmed.values()),
        *((f"baseline {b.policy}", b.split, b.metrics, b.score) for b in record.baselines.values()),
    ]
    for policy, split, metrics, score in scores:
        if score is not None:
            mean = _mean(scorer, policy, split, metrics)
            if not math.isclose(mean, score, rel_tol=1e-9, abs_tol=1e-12):
                what = f"{policy} has the score {score:.6g} on {split}, and by its metrics {mean:.6g}"
                raise DamagedRun(None, f"{what} (or the objective of its task has changed since)")
    for candidate, split, metrics in record.held_out.metrics if record.held_out is not None else ():
        _mean(scorer, f"candidate {candidate}", split, metrics)


def _mean(scorer: Scorer, policy: str, split: SplitName, metrics: InstanceMetrics) -> float:
    try:
        return scorer.mean(split, metrics)
    except (LookupError, TypeError, ValueError, ArithmeticError) as error:
        raise DamagedRun(None, f"{policy} was not measured on the instances of {split}") from error
