"""What a library is: policies, what each scored on the training instances, and how one of them is chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from vulcan.portfolio.decide import Table
from vulcan.task import Json

Method = Literal["trials", "neighbours", "clusters"]
METHODS: tuple[Method, ...] = get_args(Method)


@dataclass(frozen=True, slots=True)
class Workload:
    """What policies were trained on. `sha256` is the file's; None for a text that describes the workload, its name."""

    name: str
    sha256: str | None


@dataclass(frozen=True, slots=True)
class FingerprintedInstance:
    """A training instance: `fingerprint` are raw values, in the order of `Library.names`."""

    name: str
    workload: str
    cluster: int
    fingerprint: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Contribution:
    """Why a member is there: on this instance it scores `by` more than every other member and the best of the
    task's own policies."""

    objective: str
    instance: str
    by: float


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a policy comes from.

    `proposer` is who wrote it: a model or a generator, or a person. `origin` is `model`, `seed`, `tuned`, `simplified`,
    or `file` for one that no run knows. `workloads` are those that it was searched on, by name. `search` are all the
    options of its search, None where there was none.
    """

    proposer: str
    origin: str
    workloads: tuple[str, ...] = ()
    seed: int | None = None
    run: str | None = None
    candidate: int | None = None
    search: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class LibraryMember:
    """A policy of the library. `task` and `settings` are what it runs under where they are not the library's own."""

    name: str
    source: str
    task: str
    settings: Mapping[str, Json]
    provenance: Origin
    earned: tuple[Contribution, ...] = ()

    @property
    def file(self) -> str:
        """Where its source lies in the library's directory."""
        return f"policies/{self.name}.py"


@dataclass(frozen=True, slots=True)
class Fallback:
    """The best single baseline by its mean over the training instances, and the best of the task's own policies, for
    where a baseline cannot be run."""

    baseline: str
    policy: str


@dataclass(frozen=True, slots=True)
class Clustering:
    """`tried` are numbers of clusters with their silhouettes (Rousseeuw, 1987), None where a number was given."""

    clusters: int
    tried: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """What a rule comes to where each workload in turn is left out of the table: the mean score of what it chooses.

    Beside it, on the same instances: the fallback, the best single member, and the best member each time.
    """

    method: Method
    objective: str
    score: float
    fallback: float
    single: float
    best: float


@dataclass(frozen=True, slots=True)
class SelectionRule:
    """How a member is chosen; see `vulcan.portfolio.decide.Table`."""

    method: Method
    nearest: int
    reach: float
    least: float
    left_out: tuple[CrossValidation, ...] = ()


Scores = Mapping[str, tuple[float, ...]]
"""A score for each training instance, in their order, by policy."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """The score of every policy on every training instance under one objective."""

    members: Scores
    baselines: Scores
    bounds: Scores
    own: Scores
    dropped: Scores


@dataclass(frozen=True)
class Library:
    """Everything that a library knows; `vulcan.portfolio.library_file` reads and writes it.

    `settings` are the task's, but for the workloads. A fingerprint is of the first `first` events; `names` are its
    values' names, and `centre` and `scale` standardise them. `margin` is what a member had to earn its place by.
    """

    task: str
    settings: Mapping[str, Json]
    objectives: tuple[str, ...]
    seed: int
    first: int
    names: tuple[str, ...]
    centre: tuple[float, ...]
    scale: tuple[float, ...]
    clustering: Clustering
    workloads: tuple[Workload, ...]
    instances: tuple[FingerprintedInstance, ...]
    members: tuple[LibraryMember, ...]
    fallbacks: Mapping[str, Fallback]
    rule: SelectionRule
    margin: float
    matrix: Mapping[str, Matrix]
    version: str = ""
    notes: tuple[str, ...] = field(default=())

    def member(self, name: str) -> LibraryMember:
        """Raises KeyError."""
        for member in self.members:
            if member.name == name:
                return member
        raise KeyError(name)

    def table(self, objective: str, *, deployable: bool = False) -> Table:
        """The choices under an objective: the members and the fallback.

        The fallback is the best baseline; with `deployable` the best of the task's own policies in its place. Raises
        KeyError for an objective that the library was not built for.
        """
        matrix, fallback = self.matrix[objective], self.fallbacks[objective]
        scores = {name: list(values) for name, values in matrix.members.items()}
        name = fallback.policy if deployable else fallback.baseline
        scores[name] = list((matrix.own if deployable else matrix.baselines)[name])
        return make_table(self.names, self.centre, self.scale, self.instances, scores, name, self.rule)


def make_table(
    names: tuple[str, ...],
    centre: tuple[float, ...],
    scale: tuple[float, ...],
    instances: tuple[FingerprintedInstance, ...],
    scores: dict[str, list[float]],
    fallback: str,
    rule: SelectionRule,
) -> Table:
    """The table of some training instances and the scores of the choices on them."""
    table = Table(
        list(names), list(centre), list(scale), [], [i.cluster for i in instances], scores, fallback,
        rule.method, rule.nearest, rule.reach, rule.least,
    )  # fmt: skip
    table.points = [table.standardised(dict(zip(names, i.fingerprint, strict=True))) for i in instances]
    return table
