"""A library of policies, and which of them are members and are followed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vulcan.documents.library import Matrix, Origin, Scores, TrainedInstance, Workload
from vulcan.errors import UserError
from vulcan.task import Json

FOLLOWED = 6
"""How many members are followed at once. On training traces four score less, and eight no more."""


@dataclass(frozen=True, slots=True)
class LibraryMember:
    """A policy of the library, with its own task and settings, where these differ from the library's.

    `file` is where its source is, from the library's directory, once it is written.
    """

    name: str
    source: str
    task: str
    settings: Mapping[str, Json]
    provenance: Origin
    file: str = ""


@dataclass(frozen=True)
class Library:
    """A library of policies; `vulcan.portfolio.library_file` reads and writes it.

    `settings` are the task's, without the workloads.
    Members come in the order in which they were added: each adds the most to those before it.
    """

    version: str
    task: str
    settings: Mapping[str, Json]
    objectives: tuple[str, ...]
    workloads: tuple[Workload, ...]
    instances: tuple[TrainedInstance, ...]
    members: tuple[LibraryMember, ...]
    matrix: Mapping[str, Matrix]

    def member(self, name: str) -> LibraryMember:
        """Return the member of that name. Raises KeyError."""
        return {member.name: member for member in self.members}[name]

    def find_objective(self, name: str | None) -> str:
        """Return the objective of that name, or the first where none is given. Raises UserError."""
        chosen = name or self.objectives[0]
        if chosen not in self.matrix:
            raise UserError(
                f"the library was not built for the objective {chosen!r} (it knows: {', '.join(self.objectives)})"
            )
        return chosen

    def to_follow(self, objective: str, names: Sequence[str], best: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the members that are followed, of those named: `best`, and those that add the most to these."""
        return tuple(add_most([{name: self.matrix[objective].members[name] for name in names}], FOLLOWED, best))


def add_most(scores: Sequence[Scores], most: int, start: Sequence[str] = ()) -> list[str]:
    """Return `start` and the names that add the most to it, one by one, until there are `most`.

    `scores` are each policy's on the instances, by objective. What one adds is the increase of the mean, over
    objectives and instances, of the best score of all chosen; of equals the first is added. It goes on where none adds
    anything: on workloads of families that took no part, sixteen members did better than twelve.
    """
    names = list(scores[0])
    tables = np.array([[by_name[name] for name in names] for by_name in scores])  # objective, name, instance
    chosen = [names.index(name) for name in start]
    best = tables[:, chosen].max(axis=1, initial=-np.inf)
    while len(chosen) < min(most, len(names)):
        means = np.maximum(tables, best[:, None]).mean(axis=(0, 2))
        means[chosen] = -np.inf
        added = int(means.argmax())
        chosen.append(added)
        best = np.maximum(best, tables[:, added])
    return [names[number] for number in chosen]
