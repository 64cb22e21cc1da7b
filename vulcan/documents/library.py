"""The document of a library of policies, `library.json`, and the values that it is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload that the library was built on."""

    name: Annotated[str, "its name"]
    sha256: Annotated[str | None, "digest of its file; `null` for a generated one, whose name describes it"]


@dataclass(frozen=True, slots=True)
class TrainedInstance:
    """An instance that the library was built on."""

    name: Annotated[str, "its name"]
    workload: Annotated[str, "the workload that it is of"]


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


class MemberDocument(TypedDict):
    """A policy of the library."""

    name: Annotated[str, "its name"]
    policy: Annotated[str, "its file, from the library's directory"]
    task: Annotated[str, "the task that it is of"]
    settings: Annotated[Mapping[str, Any], "settings that it runs with"]
    provenance: Annotated[Origin, "where it comes from"]


Scores = Mapping[str, tuple[float, ...]]
"""Scores on the training instances, in order, by policy."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """The scores of policies on each of `instances`, under one objective."""

    members: Annotated[Scores, "of the members"]
    baselines: Annotated[Scores, "of the baselines"]
    oracles: Annotated[Scores, "of the oracles"]
    dropped: Annotated[Scores, "of the candidates that are no members"]


class LibraryDocument(TypedDict):
    """A library as its `library.json` has it; [library.md](library.md) says what it means."""

    format: Annotated[int, "the format of the file"]
    version: Annotated[str, "version of Vulcan"]
    task: Annotated[str, "the task's name"]
    settings: Annotated[Mapping[str, Any], "the task's settings"]
    objectives: Annotated[tuple[str, ...], "the first is the default"]
    workloads: Annotated[tuple[Workload, ...], "what it was built on"]
    instances: Annotated[tuple[TrainedInstance, ...], "what it was built on, instance by instance"]
    members: Annotated[tuple[MemberDocument, ...], "its policies; each adds the most to those before it"]
    matrix: Annotated[Mapping[str, Matrix], "by objective"]
