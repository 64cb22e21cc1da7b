"""Chooses a policy of a library for a workload."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from vulcan.errors import UserError
from vulcan.evaluator import Instance, OffersFingerprints, load_evaluator
from vulcan.libraries.contents import Library, Member
from vulcan.libraries.document import FILE
from vulcan.libraries.measure import Kept, Reference, measure_members
from vulcan.libraries.training import instances_of_member, offering, openings_of_member
from vulcan.registry import find_task, known_tasks
from vulcan.searches.config import complete_settings
from vulcan.task import Json, Task

SHIPPED = "library"
"""The directory of a task's own library, in the task's directory."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What a library chose for an instance.

    `kind` is `member`, or `baseline` for the fallback. `expected` are the scores expected of all choices, the best
    first. `confidence` is 1 within the library's reach and reach / distance beyond it; where it is below what the
    library asks for, the fallback is chosen and `trusted` is false. `nearest` is the training instance most like this
    one, at that `distance` of standardised fingerprints. `tried` says whether the choices were tried on the first
    events.
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


def shipped_library(task: Task) -> Path:
    """Where the library lies that comes with the task. Raises UserError where none does."""
    place = task.directory / SHIPPED
    if not (place / FILE).is_file():
        raise UserError(
            f"task {task.name!r} comes with no library: name one by --library, or make one with `vulcan library build`"
        )
    return place


def only_shipped_library() -> Path:
    """The library of the one task that comes with one. Raises UserError where none does, or several do."""
    places = {name: Path(place) / SHIPPED for name, place in known_tasks().items()}
    found = [name for name, place in places.items() if (place / FILE).is_file()]
    if not found:
        raise UserError("no task comes with a library: name one by --library, or make one with `vulcan library build`")
    if len(found) > 1:
        raise UserError(f"several tasks come with a library: name one by --task ({', '.join(sorted(found))})")
    return places[found[0]]


def find_objective_of(library: Library, objective: str | None) -> str:
    """The objective of that name, the library's first where none is named. Raises UserError."""
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
    """The choice for what has this fingerprint. Raises UserError for a fingerprint with other names."""
    missing = [name for name in library.names if name not in fingerprint]
    if missing:
        raise UserError(
            f"the fingerprint lacks {missing[0]!r}: the library was built by another version of its task; build it anew"
        )
    table = library.table(objective)
    tried = dict(trials) if trials is not None and library.rule.method == "trials" else None
    decision = table.decide(dict(fingerprint), tried)
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
    )


def select_for(
    library: Library, workload: str, settings: Mapping[str, Json], objective: str, *, workers: int = 1
) -> tuple[Choice, ...]:
    """The choice for each instance of a workload, by its first `library.first` events alone.

    `settings` are the task's, where they differ from the library's. Raises UserError.
    """
    task = find_task(library.task)
    evaluator = load_evaluator(task)
    offered = offering(task, evaluator)
    given: dict[str, Json] = {**library.settings, **settings, offered.workload_setting(): [workload]}
    instances = tuple(
        replace(i, split="train")
        for i in evaluator.instances(complete_settings(task, given), replace(task.split, by="none"))
    )
    fingerprints = [offered.fingerprint(instance, library.first) for instance in instances]
    sound = [select(library, values, objective).trusted for values in fingerprints]
    worth_trying = [i for i, s in zip(instances, sound, strict=True) if s and library.rule.method == "trials"]
    trials = _trials(library, task, offered, workload, settings, worth_trying, objective, workers)
    return tuple(
        select(library, values, objective, instance=instance.name, trials=trials.get(instance.name))
        for instance, values in zip(instances, fingerprints, strict=True)
    )


def _trials(
    library: Library,
    task: Task,
    offered: OffersFingerprints,
    workload: str,
    settings: Mapping[str, Json],
    instances: list[Instance],
    objective: str,
    workers: int,
) -> dict[str, dict[str, float]]:
    """The score of every choice on the opening of each instance, by the instance's name; of what could be run."""
    if not instances:
        return {}
    evaluator = load_evaluator(task)
    openings = tuple(offered.opening(i, library.first) for i in instances)
    fallback = library.fallbacks[objective].baseline
    needed = {fallback, *task.objective(objective).references}
    metrics = {name: [evaluator.evaluate_baseline(name, i) for i in openings] for name in needed}
    reference = Reference(task, openings, dict(evaluator.baselines()), metrics)
    names = [instance.name for instance in instances]

    def openings_of(member: Member) -> tuple[Instance, ...]:
        own = instances_of_member(member, {**library.settings, **settings}, [workload], names)
        return openings_of_member(member, own, library.first)

    measured = measure_members(library.members, openings_of, Kept(), workers=workers, limit=600.0)
    scores = reference.scores(objective, {**measured, fallback: metrics[fallback]})
    worst = {n: min(values[n] for values in scores.values()) for n in range(len(instances))}
    return {
        instance.name: {
            # what fails on the opening is not to be chosen
            name: scores[name][n] if name in scores else worst[n] - 1.0
            for name in (*(m.name for m in library.members), fallback)
        }
        for n, instance in enumerate(instances)
    }
