"""The data model of a library: policies, their scores on the training instances, and the selection rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from vulcan.portfolio.decide import Table
from vulcan.task import Json

Method = Literal["trials", "neighbours"]
METHODS: tuple[Method, ...] = get_args(Method)


@dataclass(frozen=True, slots=True)
class Workload:
    """A training workload. `sha256` is its file's; None for a textual description, which is then its name."""

    name: str
    sha256: str | None


@dataclass(frozen=True, slots=True)
class FingerprintedInstance:
    """A training instance; `fingerprint` has raw values, in the order of `Library.names`."""

    name: str
    workload: str
    cluster: int
    fingerprint: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Contribution:
    """An instance on which a member leads all other members and the task's own best policy, by `by`."""

    objective: str
    instance: str
    by: float


@dataclass(frozen=True, slots=True)
class Origin:
    """The provenance of a policy.

    `proposer` is its author: a model, a generator or a person. `origin` is `model`, `seed`, `tuned`, `simplified`, or
    `file` for a policy from no run. `workloads` are the names of those that it was searched on. `search` has all
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
    """A policy of the library, with its own task and settings, where these differ from the library's."""

    name: str
    source: str
    task: str
    settings: Mapping[str, Json]
    provenance: Origin
    earned: tuple[Contribution, ...] = ()

    @property
    def file(self) -> str:
        """Path of its source in the library's directory."""
        return f"policies/{self.name}.py"


@dataclass(frozen=True, slots=True)
class Fallback:
    """The fallbacks of a library: the best single baseline by mean score on the training instances, and `policy`.

    `policy` is the best of the task's own policies, for use where a baseline cannot be run.
    """

    baseline: str
    policy: str


@dataclass(frozen=True, slots=True)
class Clustering:
    """The number of clusters; `tried` has silhouettes (Rousseeuw, 1987) by number, empty if it was given."""

    clusters: int
    tried: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """The mean score of a selection method under leave-one-workload-out cross-validation.

    For comparison, on the same instances: the fallback, the best single member, and the best choice per instance.
    """

    method: Method
    objective: str
    score: float
    fallback: float
    single: float
    best: float


@dataclass(frozen=True, slots=True)
class SelectionRule:
    """The parameters of selection; see `vulcan.portfolio.decide.Table`."""

    method: Method
    nearest: int
    reach: float
    least: float
    left_out: tuple[CrossValidation, ...] = ()


Scores = Mapping[str, tuple[float, ...]]
"""Scores on the training instances, in order, by policy."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """The score of every policy on every training instance under one objective."""

    members: Scores
    baselines: Scores
    oracles: Scores
    own: Scores
    dropped: Scores


@dataclass(frozen=True)
class Library:
    """A library of policies; `vulcan.portfolio.library_file` reads and writes it.

    `settings` are the task's, without the workloads. A fingerprint covers the first `first` events; `names` are the
    names of its values, and `centre` and `scale` standardise them. `margin` is the minimum gain of a member.
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
        """Return the member of that name. Raises KeyError."""
        for member in self.members:
            if member.name == name:
                return member
        raise KeyError(name)

    def table(self, objective: str) -> Table:
        """Return the selection table of an objective: the members and the fallback.

        Raises KeyError for an objective that the library was not built for.
        """
        matrix, fallback = self.matrix[objective], self.fallbacks[objective]
        scores = {name: list(values) for name, values in matrix.members.items()}
        scores[fallback.baseline] = list(matrix.baselines[fallback.baseline])
        return make_table(self.names, self.centre, self.scale, self.instances, scores, fallback.baseline, self.rule)


def make_table(
    names: tuple[str, ...],
    centre: tuple[float, ...],
    scale: tuple[float, ...],
    instances: tuple[FingerprintedInstance, ...],
    scores: dict[str, list[float]],
    fallback: str,
    rule: SelectionRule,
) -> Table:
    """Make the selection table of training instances and the choices' scores on them."""
    table = Table(
        list(names),
        list(centre),
        list(scale),
        [],
        scores,
        fallback,
        rule.method,
        rule.nearest,
        rule.reach,
        rule.least,
    )
    table.points = [table.standardised(dict(zip(names, i.fingerprint, strict=True))) for i in instances]
    return table
