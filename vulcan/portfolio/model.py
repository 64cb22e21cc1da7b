"""A library of policies, and the choice among them by a fingerprint."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import get_args

from vulcan.documents.library import (
    Clustering,
    Contribution,
    CrossValidation,
    Fallback,
    FingerprintedInstance,
    Matrix,
    Method,
    Origin,
    Scores,
    Workload,
)
from vulcan.task import Json

METHODS: tuple[Method, ...] = get_args(Method)

TRIAL_SHARE = 0.7
"""How much of the expected score is the trial's, where there is one; the rest is the neighbours'."""


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
class SelectionRule:
    """The parameters of selection.

    `method` is `neighbours`, by the mean over the `nearest` instances weighted by 1 / (distance^2 + (reach / 4)^2); or
    `trials`, by what each choice scored on the first events themselves, mixed with what the neighbours say. Below the
    confidence `least` the fallback is chosen.
    """

    method: Method
    nearest: int
    reach: float
    least: float
    left_out: tuple[CrossValidation, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision: `ranked` are the choices with the scores that are expected of them, the best first.

    The fallback takes part. `name` is the first of them, or the fallback where `confidence` is below what is asked for.
    `distance` is that to the nearest training instance, which has the number `nearest`.
    """

    name: str
    ranked: Sequence[tuple[str, float]]
    confidence: float
    distance: float
    nearest: int


@dataclass(frozen=True)
class Table:
    """The training instances, and what each choice scored there; `centre` and `scale` standardise fingerprints."""

    names: tuple[str, ...]
    centre: tuple[float, ...]
    scale: tuple[float, ...]
    instances: Sequence[FingerprintedInstance]
    scores: Scores
    fallback: str
    rule: SelectionRule

    @cached_property
    def _points(self) -> list[list[float]]:
        return [self._standardised(instance.fingerprint) for instance in self.instances]

    def _standardised(self, fingerprint: Sequence[float]) -> list[float]:
        return [
            (value - centre) / scale for value, centre, scale in zip(fingerprint, self.centre, self.scale, strict=True)
        ]

    def decide(self, fingerprint: Mapping[str, float], trials: Mapping[str, float] | None = None) -> Decision:
        """Return the decision for this fingerprint; it is deterministic.

        `trials` are the scores of every choice on the first events; without them the method `trials` goes by the
        neighbours alone.
        """
        rule, point = self.rule, self._standardised([fingerprint[name] for name in self.names])
        far = [math.dist(point, other) for other in self._points]
        order = sorted(range(len(far)), key=lambda number: (far[number], number))
        softened = (rule.reach / 4) ** 2 + 1e-12
        weights = {number: 1.0 / (far[number] ** 2 + softened) for number in order[: rule.nearest]}
        total = math.fsum(weights.values())
        expected = {
            name: math.fsum(weight * scores[number] for number, weight in weights.items()) / total
            for name, scores in self.scores.items()
        }
        if rule.method == "trials" and trials is not None:
            expected = {
                name: TRIAL_SHARE * trials[name] + (1.0 - TRIAL_SHARE) * score for name, score in expected.items()
            }
        # of equals the fallback, and then the first by name
        ranked = sorted(expected.items(), key=lambda pair: (-pair[1], pair[0] != self.fallback, pair[0]))
        distance = far[order[0]]
        confidence = 1.0 if distance <= rule.reach else rule.reach / distance
        name = ranked[0][0] if confidence >= rule.least else self.fallback
        return Decision(name, ranked, confidence, distance, order[0])


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
    notes: tuple[str, ...] = ()

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
        scores = {**matrix.members, fallback.baseline: matrix.baselines[fallback.baseline]}
        return Table(self.names, self.centre, self.scale, self.instances, scores, fallback.baseline, self.rule)
