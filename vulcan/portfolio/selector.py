"""Choice from a library: the policies that do best on the first events of a workload."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from vulcan.documents.policy import ChoiceDocument
from vulcan.errors import UserError
from vulcan.evaluator import Instance, load_evaluator
from vulcan.portfolio.library_file import FILE
from vulcan.portfolio.measure import MeasurementCache, ReferenceScores, measure_members
from vulcan.portfolio.model import Library, LibraryMember
from vulcan.portfolio.workloads import instances_of_member, prefixes_of, workload_setting_of
from vulcan.registry import known_tasks, recorded_task
from vulcan.searches.config import complete_settings
from vulcan.task import Json, Task

SHIPPED = "library"
"""Name of the directory of a task's bundled library, in the task's directory."""

MAX_TRIAL_S = 600.0
"""Seconds that a member may take for the first events of all instances of a workload."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The choice of a library for an instance.

    `trials` are the members with their scores on the first events, best first, without those that failed there; the
    first is chosen. `to_follow` are the members to follow at once, the first to begin with.
    """

    instance: str
    trials: tuple[tuple[str, float], ...]
    to_follow: tuple[str, ...]

    @property
    def name(self) -> str:
        """Name of the chosen member."""
        return self.trials[0][0]


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


def select(library: Library, objective: str, instance: str, trials: Mapping[str, float]) -> Choice:
    """Choose by the members' scores on the first events. Raises UserError where none has any."""
    if not trials:
        raise UserError(f"{instance}: no member of the library could run on its first events")
    ranked = sorted(trials.items(), key=lambda pair: -pair[1])  # of equals the one that adds more
    names = [name for name, _ in ranked]
    return Choice(instance, tuple(ranked), library.to_follow(objective, names, names))


def select_for(
    library: Library, workload: str, settings: Mapping[str, Json], objective: str, *, workers: int = 1
) -> tuple[Choice, ...]:
    """Choose for each instance of a workload, from its first `library.prefix` events alone, at most a fifth of all.

    `settings` are the task's, where they differ from the library's. Raises UserError.
    """
    task = recorded_task(library.task)
    evaluator = load_evaluator(task)
    given: dict[str, Json] = {**library.settings, **settings, workload_setting_of(task, evaluator): [workload]}
    instances = tuple(
        replace(i, split="train")
        for i in evaluator.instances(complete_settings(task, given), replace(task.split, by="none"))
    )
    firsts = prefixes_of(evaluator, instances, library.prefix)
    openings = tuple(evaluator.opening(i, first) for i, first in zip(instances, firsts, strict=True))
    names = [instance.name for instance in instances]

    def openings_of(member: LibraryMember) -> tuple[Instance, ...]:
        own, evaluates = instances_of_member(member, {**library.settings, **settings}, [workload], names), member.task
        opening = load_evaluator(recorded_task(evaluates)).opening
        return tuple(opening(instance, first) for instance, first in zip(own, firsts, strict=True))

    references = task.objective(objective).references
    metrics = {name: [evaluator.evaluate_baseline(name, i) for i in openings] for name in references}
    reference = ReferenceScores(task, openings, dict(evaluator.baselines()), metrics)
    measured = measure_members(library.members, openings_of, MeasurementCache(), workers=workers, limit=MAX_TRIAL_S)
    scores = reference.scores(objective, measured)
    return tuple(
        select(library, objective, name, {member: values[n] for member, values in scores.items()})
        for n, name in enumerate(names)
    )


def choice_document(library: Library, directory: Path, choice: Choice) -> ChoiceDocument:
    """Return a choice as JSON; `directory` is where the library is."""
    member = library.member(choice.name)
    return {
        "instance": choice.instance,
        "choice": choice.name,
        "policy": os.path.normpath(directory / member.file),
        "task": member.task,
        "settings": dict(member.settings),
        "trials": [{"choice": name, "score": score} for name, score in choice.trials],
        "to_follow": list(choice.to_follow),
    }
