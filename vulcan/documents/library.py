"""The document of a library of policies, `library.json`."""

from __future__ import annotations

from typing import Annotated, Any, TypedDict


class FingerprintScale(TypedDict):
    """The features that describe an instance, and how they are scaled."""

    names: Annotated[list[str], "the features"]
    centre: Annotated[list[float], "what is subtracted from each"]
    scale: Annotated[list[float], "what each is divided by"]


class ClusteringTrial(TypedDict):
    """A number of clusters that was tried."""

    clusters: Annotated[int, "number of clusters"]
    silhouette: Annotated[float, "its silhouette"]


class ClusteringDocument(TypedDict):
    """The clusters of the instances."""

    criterion: Annotated[str, "`silhouette`"]
    clusters: Annotated[int, "number of clusters"]
    tried: Annotated[list[ClusteringTrial], "the numbers that were tried"]


class WorkloadDocument(TypedDict):
    """A workload that the library was built on."""

    name: Annotated[str, "its name"]
    sha256: Annotated[str | None, "digest of its file; `null` for a generated one"]


class LibraryInstance(TypedDict):
    """An instance that the library was built on."""

    name: Annotated[str, "its name"]
    workload: Annotated[str, "the workload that it is of"]
    cluster: Annotated[int, "its cluster"]
    fingerprint: Annotated[list[float], "its features, in the order of `fingerprint.names`"]


class MemberProvenance(TypedDict):
    """The provenance of a member."""

    proposer: Annotated[str, "who wrote it"]
    origin: Annotated[str, "how it was made"]
    workloads: Annotated[list[str], "the workloads that it was searched on"]
    seed: Annotated[int | None, "the seed of its search"]
    run: Annotated[str | None, "the run that it is from"]
    candidate: Annotated[int | None, "its number in the run"]
    search: Annotated[dict[str, Any] | None, "the options of the search by name; `null` without a search"]


class MemberAward(TypedDict):
    """An instance on which a member is the best."""

    objective: Annotated[str, "the objective"]
    instance: Annotated[str, "the instance"]
    by: Annotated[float, "how much better it is than the others"]


class MemberDocument(TypedDict):
    """A policy of the library."""

    name: Annotated[str, "its name"]
    policy: Annotated[str, "its file in the library's directory"]
    task: Annotated[str, "the task that it is of"]
    settings: Annotated[dict[str, Any], "settings that it runs with"]
    provenance: Annotated[MemberProvenance, "where it comes from"]
    earned: Annotated[list[MemberAward], "the instances on which it is the best"]


class FallbackDocument(TypedDict):
    """The choice if the confidence is low."""

    baseline: Annotated[str, "the baseline"]
    policy: Annotated[str, "the policy where baselines cannot run"]


class ConfidenceDocument(TypedDict):
    """The conversion of a distance to a confidence."""

    reach: Annotated[float, "the distance at which confidence falls off"]
    least: Annotated[float, "the confidence below which the fallback is chosen"]


class LeftOutScore(TypedDict):
    """The mean score of a method where each workload is left out in turn."""

    method: Annotated[str, "the method"]
    objective: Annotated[str, "the objective"]
    score: Annotated[float, "the method's mean score"]
    fallback: Annotated[float, "that of the fallback"]
    single: Annotated[float, "that of the best single member"]
    best: Annotated[float, "that of the best choice each time"]


class SelectionRuleDocument(TypedDict):
    """The selection rule of a library."""

    method: Annotated[str, "`trials` or `neighbours`"]
    neighbours: Annotated[int, "how many training instances are looked at"]
    left_out: Annotated[list[LeftOutScore], "the cross-validation of each method"]


class LibraryDocument(TypedDict):
    """A library as its `library.json` has it; [library.md](library.md) says what it means."""

    format: Annotated[int, "the format of the file"]
    version: Annotated[str, "version of Vulcan"]
    task: Annotated[str, "the task's name"]
    settings: Annotated[dict[str, Any], "the task's settings"]
    objectives: Annotated[list[str], "the first is the default"]
    seed: Annotated[int, "the seed"]
    prefix: Annotated[int, "how many first events a choice is made by"]
    fingerprint: Annotated[FingerprintScale, "the features of instances"]
    clustering: Annotated[ClusteringDocument, "the clusters"]
    workloads: Annotated[list[WorkloadDocument], "what it was built on"]
    instances: Annotated[list[LibraryInstance], "what it was built on, instance by instance"]
    members: Annotated[list[MemberDocument], "its policies"]
    fallback: Annotated[dict[str, FallbackDocument], "by objective"]
    confidence: Annotated[ConfidenceDocument, "how confidence is measured"]
    rule: Annotated[SelectionRuleDocument, "how it chooses"]
    margin: Annotated[float, "how much better than the others a member has to be to be taken up"]
    notes: Annotated[list[str], "what was noticed while it was built"]
    matrix: Annotated[
        dict[str, dict[str, dict[str, list[float]]]],
        "by objective and then `members`, `baselines`, `oracles`, `own` or `dropped`: the scores of each policy on "
        "each of `instances`",
    ]
