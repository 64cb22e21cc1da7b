"""Selection from a library: the choice of a policy for a workload, and of the method by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Literal

import numpy as np

from vulcan.documents.library import CrossValidation, FingerprintedInstance, Method, Scores
from vulcan.documents.policy import ChoiceDocument
from vulcan.errors import UserError
from vulcan.evaluator import Evaluator, Instance, load_evaluator
from vulcan.portfolio.features import (
    instances_of_member,
    openings_of_member,
    prefixes_of,
    standard,
    workload_setting_of,
)
from vulcan.portfolio.library_file import FILE
from vulcan.portfolio.measure import MeasurementCache, ReferenceScores, measure_members
from vulcan.portfolio.model import METHODS, Library, LibraryMember, SelectionRule, Table
from vulcan.registry import known_tasks, recorded_task
from vulcan.searches.config import complete_settings
from vulcan.task import Json, Task

SHIPPED = "library"
"""Name of the directory of a task's bundled library, in the task's directory."""

FOLLOWED = 6
"""How many members are followed all at once. On training traces four have less, and eight no more."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The choice of a library for an instance.

    `kind` is `member`, or `baseline` for the fallback. `expected` are the expected scores of all choices, best first.
    `confidence` is 1 within the library's reach and reach / distance beyond it; below the library's minimum, the
    fallback is chosen and `trusted` is false. `nearest` is the most similar training instance, at that `distance`
    between standardised fingerprints. `tried` says whether the choices were tried on the first events. `to_follow` are
    the members of which most is expected, the best first: those that are followed all at once.
    """

    instance: str
    kind: Literal["member", "baseline"]
    name: str
    expected: tuple[tuple[str, float], ...]
    confidence: float
    trusted: bool
    distance: float
    nearest: str
    cluster: int
    tried: bool
    fingerprint: Mapping[str, float]
    to_follow: tuple[str, ...] = ()


def shipped_library(task: Task) -> Path:
    """Return the path of the task's bundled library. Raises UserError where it has none."""
    directory = task.directory / SHIPPED
    if not (directory / FILE).is_file():
        raise UserError(
            f"task {task.name!r} comes with no library: name one by --library, or make one with `vulcan library build`"
        )
    return directory


def only_shipped_library() -> Path:
    """Return the path of the only bundled library. Raises UserError for none or several."""
    places = {name: Path(directory) / SHIPPED for name, directory in known_tasks().items()}
    found = [name for name, directory in places.items() if (directory / FILE).is_file()]
    if not found:
        raise UserError("no task comes with a library: name one by --library, or make one with `vulcan library build`")
    if len(found) > 1:
        raise UserError(f"several tasks come with a library: name one by --task ({', '.join(sorted(found))})")
    return places[found[0]]


def find_objective_of(library: Library, objective: str | None) -> str:
    """Return the objective of that name, or the library's first where none is given. Raises UserError."""
    chosen = objective or library.objectives[0]
    if chosen not in library.matrix:
        raise UserError(
            f"the library was not built for the objective {chosen!r} (it knows: {', '.join(library.objectives)})"
        )
    return chosen


def select(
    library: Library,
    fingerprint: Mapping[str, float],
    objective: str,
    *,
    instance: str = "",
    trials: Mapping[str, float] | None = None,
) -> Choice:
    """Choose a policy for a fingerprint. Raises UserError where the fingerprint lacks a name of the library's."""
    missing = [name for name in library.names if name not in fingerprint]
    if missing:
        raise UserError(
            f"the fingerprint lacks {missing[0]!r}: the library was built by another version of its task; rebuild it"
        )
    table = library.table(objective)
    tried = dict(trials) if trials is not None and library.rule.method == "trials" else None
    decision = table.decide(fingerprint, tried)
    nearest = library.instances[decision.nearest]
    return Choice(
        instance,
        "baseline" if decision.name == table.fallback else "member",
        decision.name,
        tuple(decision.ranked),
        decision.confidence,
        decision.confidence >= library.rule.least,
        decision.distance,
        nearest.name,
        nearest.cluster,
        tried is not None,
        fingerprint,
        tuple(name for name, _ in decision.ranked if name != table.fallback)[:FOLLOWED],
    )


def select_for(
    library: Library, workload: str, settings: Mapping[str, Json], objective: str, *, workers: int = 1
) -> tuple[Choice, ...]:
    """Choose a policy for each instance of a workload, from its first `library.first` events alone.

    `settings` are the task's, where they differ from the library's. Raises UserError.
    """
    task = recorded_task(library.task)
    evaluator = load_evaluator(task)
    given: dict[str, Json] = {**library.settings, **settings, workload_setting_of(task, evaluator): [workload]}
    instances = tuple(
        replace(i, split="train")
        for i in evaluator.instances(complete_settings(task, given), replace(task.split, by="none"))
    )
    prefixes = prefixes_of(evaluator, instances, library.first)  # as in training
    fingerprints = [evaluator.fingerprint(i, first) for i, first in zip(instances, prefixes, strict=True)]
    sound = [select(library, values, objective).trusted for values in fingerprints]
    worth_trying = [i for i, s in zip(instances, sound, strict=True) if s and library.rule.method == "trials"]
    trials = _trials(library, task, evaluator, workload, settings, worth_trying, objective, workers)
    return tuple(
        select(library, values, objective, instance=instance.name, trials=trials.get(instance.name))
        for instance, values in zip(instances, fingerprints, strict=True)
    )


def _trials(
    library: Library,
    task: Task,
    evaluator: Evaluator,
    workload: str,
    settings: Mapping[str, Json],
    instances: list[Instance],
    objective: str,
    workers: int,
) -> dict[str, dict[str, float]]:
    """Return the score of every choice on the opening of each instance; those that fail score below the worst."""
    if not instances:
        return {}
    openings = tuple(evaluator.opening(i, library.first) for i in instances)
    fallback = library.fallbacks[objective].baseline
    needed = {fallback, *task.objective(objective).references}
    metrics = {name: [evaluator.evaluate_baseline(name, i) for i in openings] for name in needed}
    reference = ReferenceScores(task, openings, dict(evaluator.baselines()), metrics)
    names = [instance.name for instance in instances]

    def openings_of(member: LibraryMember) -> tuple[Instance, ...]:
        own = instances_of_member(member, {**library.settings, **settings}, [workload], names)
        return openings_of_member(member, own, [library.first] * len(own))

    measured = measure_members(library.members, openings_of, MeasurementCache(), workers=workers, limit=600.0)
    scores = reference.scores(objective, {**measured, fallback: metrics[fallback]})
    worst = {n: min(values[n] for values in scores.values()) for n in range(len(instances))}
    return {
        instance.name: {
            # a policy that fails on the opening must not be chosen
            name: scores[name][n] if name in scores else worst[n] - 1.0
            for name in (*(m.name for m in library.members), fallback)
        }
        for n, instance in enumerate(instances)
    }


NEAREST = 5
MIN = 0.5
REACH_QUANTILE = 0.9


def reach_of(points: np.ndarray, workloads: Sequence[str]) -> float:
    """Return the 0.9 quantile of the instances' distances to the nearest instance of another workload.

    With a single workload, of those to the nearest other instance; 0 for a single instance.
    """
    distances = np.sqrt(((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2))
    same = np.array([[one == other for other in workloads] for one in workloads])
    if same.all():
        same = np.eye(len(points), dtype=bool)
    nearest = np.where(same, np.inf, distances).min(axis=1)
    known = nearest[np.isfinite(nearest)]
    return float(np.quantile(known, REACH_QUANTILE)) if len(known) else 0.0


def choose_rule(
    names: tuple[str, ...],
    instances: tuple[FingerprintedInstance, ...],
    scores: Mapping[str, Scores],
    trials: Mapping[str, Scores],
    fallbacks: Mapping[str, str],
    requested: Method | None,
) -> SelectionRule:
    """Choose the method with the best mean score under leave-one-workload-out cross-validation.

    `scores` and `trials` have, by objective, each choice's scores on the instances and on their openings; `fallbacks`
    names the fallback among them. Of equal methods the first in METHODS is chosen; `requested` overrides the choice.
    There is no cross-validation with a single workload.
    """
    rows = np.array([i.fingerprint for i in instances])
    workloads = [i.workload for i in instances]
    centre, scale = standard(rows)
    rule = SelectionRule(requested or METHODS[0], NEAREST, reach_of((rows - centre) / scale, workloads), MIN)
    if len(set(workloads)) < 2:
        return rule
    found: list[CrossValidation] = []
    for method in METHODS:
        for objective in scores:
            chosen = [0.0] * len(instances)
            for workload in dict.fromkeys(workloads):
                for number, score in _left_out(
                    names,
                    instances,
                    workload,
                    scores[objective],
                    trials[objective],
                    fallbacks[objective],
                    replace(rule, method=method),
                ):
                    chosen[number] = score
            found.append(_beside(method, objective, chosen, scores[objective], fallbacks[objective]))
    means = {m: fmean(each.score for each in found if each.method == m) for m in METHODS}
    best = max(METHODS, key=lambda m: means[m])
    return replace(rule, method=requested or best, left_out=tuple(found))


def _left_out(
    names: tuple[str, ...],
    instances: tuple[FingerprintedInstance, ...],
    workload: str,
    scores: Scores,
    trials: Scores,
    fallback: str,
    rule: SelectionRule,
) -> list[tuple[int, float]]:
    """Return number and score of each instance of the workload, by a table of the other workloads alone."""
    others = [n for n, i in enumerate(instances) if i.workload != workload]
    rows = np.array([instances[n].fingerprint for n in others])
    centre, scale = standard(rows)
    reach = reach_of((rows - centre) / scale, [instances[n].workload for n in others])
    table = Table(
        names,
        tuple(map(float, centre)),
        tuple(map(float, scale)),
        [instances[n] for n in others],
        {name: tuple(values[n] for n in others) for name, values in scores.items()},
        fallback,
        replace(rule, reach=reach),
    )
    found = []
    for number, instance in enumerate(instances):
        if instance.workload == workload:
            tried = {name: values[number] for name, values in trials.items()}
            decision = table.decide(dict(zip(names, instance.fingerprint, strict=True)), tried)
            found.append((number, scores[decision.name][number]))
    return found


def _beside(method: Method, objective: str, chosen: list[float], scores: Scores, fallback: str) -> CrossValidation:
    members = {name: values for name, values in scores.items() if name != fallback} or scores
    return CrossValidation(
        method,
        objective,
        fmean(chosen),
        fmean(scores[fallback]),
        max(fmean(v) for v in members.values()),
        fmean(max(column) for column in zip(*scores.values(), strict=True)),
    )


def choice_document(library: Library, directory: Path, choice: Choice) -> ChoiceDocument:
    """Return a choice as JSON; `directory` is where the library's policies are."""
    member = library.member(choice.name) if choice.kind == "member" else None
    return {
        "instance": choice.instance,
        "choice": choice.name,
        "kind": choice.kind,
        "policy": str(directory / member.file) if member else None,
        "task": member.task if member else library.task,
        "settings": dict(member.settings) if member else {},
        "confidence": choice.confidence,
        "min_confidence": library.rule.least,
        "trusted": choice.trusted,
        "distance": choice.distance,
        "nearest": choice.nearest,
        "cluster": choice.cluster,
        "method": library.rule.method,
        "tried": choice.tried,
        "expected": [{"choice": name, "score": score} for name, score in choice.expected],
        "to_follow": list(choice.to_follow),
        "fingerprint": dict(choice.fingerprint),
    }
