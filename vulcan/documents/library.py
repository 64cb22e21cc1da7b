"""The document of a library of policies, `library.json`, and the values that it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

Method = Literal["trials", "neighbours"]


class FingerprintScale(TypedDict):
    """The features that describe an instance, and how they are scaled."""

    names: Annotated[tuple[str, ...], "the features"]
    centre: Annotated[tuple[float, ...], "what is subtracted from each"]
    scale: Annotated[tuple[float, ...], "what each is divided by"]


@dataclass(frozen=True, slots=True)
class ClusteringTrial:
    """A number of clusters that was tried."""

    clusters: Annotated[int, "number of clusters"]
    silhouette: Annotated[float, "its silhouette (Rousseeuw, 1987)"]


@dataclass(frozen=True, slots=True)
class Clustering:
    """The clusters of the instances."""

    criterion: Annotated[str, "`silhouette`"]
    clusters: Annotated[int, "number of clusters"]
    tried: Annotated[tuple[ClusteringTrial, ...], "the numbers that were tried; none if it was given"] = ()


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload that the library was built on."""

    name: Annotated[str, "its name"]
    sha256: Annotated[str | None, "digest of its file; `null` for a generated one, whose name describes it"]


@dataclass(frozen=True, slots=True)
class FingerprintedInstance:
    """An instance that the library was built on."""

    name: Annotated[str, "its name"]
    workload: Annotated[str, "the workload that it is of"]
    cluster: Annotated[int, "its cluster"]
    fingerprint: Annotated[tuple[float, ...], "its features, in the order of `fingerprint.names`"]


@dataclass(frozen=True, slots=True)
class Origin:
    """The provenance of a member."""

    proposer: Annotated[str, "who wrote it: a model, a generator or a person"]
    origin: Annotated[str, "how it was made: `model`, `seed`, `tuned`, `simplified`, or `file` without a run"]
    workloads: Annotated[tuple[str, ...], "the workloads that it was searched on"] = ()
    seed: Annotated[int | None, "the seed of its search"] = None
    run: Annotated[str | None, "the run that it is from"] = None
    candidate: Annotated[int | None, "its number in the run"] = None
    search: Annotated[Mapping[str, Any] | None, "the options of the search by name; `null` without a search"] = None


@dataclass(frozen=True, slots=True)
class Contribution:
    """An instance on which a member is the best."""

    objective: Annotated[str, "the objective"]
    instance: Annotated[str, "the instance"]
    by: Annotated[float, "how much better it is than all other members and the task's own best policy"]


class MemberDocument(TypedDict):
    """A policy of the library."""

    name: Annotated[str, "its name"]
    policy: Annotated[str, "its file in the library's directory"]
    task: Annotated[str, "the task that it is of"]
    settings: Annotated[Mapping[str, Any], "settings that it runs with"]
    provenance: Annotated[Origin, "where it comes from"]
    earned: Annotated[tuple[Contribution, ...], "the instances on which it is the best"]


@dataclass(frozen=True, slots=True)
class Fallback:
    """The choice if the confidence is low: the best of their kind by mean score on the training instances."""

    baseline: Annotated[str, "the baseline"]
    policy: Annotated[str, "the policy where baselines cannot run: the best of the task's own"]


class ConfidenceDocument(TypedDict):
    """The conversion of a distance to a confidence."""

    reach: Annotated[float, "the distance at which confidence falls off"]
    least: Annotated[float, "the confidence below which the fallback is chosen"]


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """The mean score of a method where each workload is left out in turn."""

    method: Annotated[Method, "the method"]
    objective: Annotated[str, "the objective"]
    score: Annotated[float, "the method's mean score"]
    fallback: Annotated[float, "that of the fallback"]
    single: Annotated[float, "that of the best single member"]
    best: Annotated[float, "that of the best choice each time"]


class SelectionRuleDocument(TypedDict):
    """The selection rule of a library."""

    method: Annotated[Method, "`trials` or `neighbours`"]
    neighbours: Annotated[int, "how many training instances are looked at"]
    left_out: Annotated[tuple[CrossValidation, ...], "the cross-validation of each method"]


Scores = Mapping[str, tuple[float, ...]]
"""Scores on the training instances, in order, by policy."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """The scores of policies on each of `instances`, under one objective."""

    members: Annotated[Scores, "of the members"]
    baselines: Annotated[Scores, "of the baselines"]
    oracles: Annotated[Scores, "of the oracles"]
    own: Annotated[Scores, "of the task's own policies"]
    dropped: Annotated[Scores, "of the candidates that are no members"]


class LibraryDocument(TypedDict):
    """A library as its `library.json` has it; [library.md](library.md) says what it means."""

    format: Annotated[int, "the format of the file"]
    version: Annotated[str, "version of Vulcan"]
    task: Annotated[str, "the task's name"]
    settings: Annotated[Mapping[str, Any], "the task's settings"]
    objectives: Annotated[tuple[str, ...], "the first is the default"]
    seed: Annotated[int, "the seed"]
    prefix: Annotated[int, "how many first events a choice is made by"]
    fingerprint: Annotated[FingerprintScale, "the features of instances"]
    clustering: Annotated[Clustering, "the clusters"]
    workloads: Annotated[tuple[Workload, ...], "what it was built on"]
    instances: Annotated[tuple[FingerprintedInstance, ...], "what it was built on, instance by instance"]
    members: Annotated[tuple[MemberDocument, ...], "its policies"]
    fallback: Annotated[Mapping[str, Fallback], "by objective"]
    confidence: Annotated[ConfidenceDocument, "how confidence is measured"]
    rule: Annotated[SelectionRuleDocument, "how it chooses"]
    margin: Annotated[float, "how much better than the others a member has to be to be taken up"]
    notes: Annotated[tuple[str, ...], "what was noticed while it was built"]
    matrix: Annotated[Mapping[str, Matrix], "by objective"]
