"""Scoring: from metrics to the number that a search maximizes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from vulcan.errors import UserError
from vulcan.evaluator import Instance, SplitName
from vulcan.foreign_code import ForeignCall
from vulcan.store.events import InstanceMetrics
from vulcan.task import Metrics, Objective


class Scorer:
    """An objective with the metrics of its reference policies on every instance."""

    def __init__(self, objective: Objective, instances: Sequence[Instance]) -> None:
        self.objective = objective
        self.instances = tuple(instances)
        self._references: dict[tuple[SplitName, str], dict[str, Metrics]] = {}

    def add_reference(self, policy: str, split: SplitName, metrics: InstanceMetrics) -> None:
        """Store a baseline's metrics if the objective compares with it."""
        if policy in self.objective.references:
            for name, values in metrics:
                self._references.setdefault((split, name), {})[policy] = values

    def of(self, split: SplitName) -> tuple[Instance, ...]:
        return tuple(i for i in self.instances if i.split == split)

    @property
    def asked(self) -> tuple[Instance, ...]:
        """The training instances that the user asked for: findings about variations would say the same again."""
        return tuple(i for i in self.of("train") if not i.variation_of)

    def on_instance(self, split: SplitName, instance: str, metrics: Metrics) -> float:
        """Return the objective on one instance. Raises UserError if the task's declaration gives no finite number."""
        references: Mapping[str, Metrics] = self._references.get((split, instance), {})
        named = f"objective {self.objective.name!r}"
        with (attempt := ForeignCall()):
            score = float(self.objective.score(metrics, references))
            if not math.isfinite(score):
                raise UserError(f"{named} is {score} on {instance}: its scores must be finite")
            return score
        raise attempt.user_error(f"{named} on {instance} ({attempt.place})")

    def on_each(self, instances: Sequence[Instance], metrics: InstanceMetrics) -> tuple[float, ...]:
        """Return the objective on each instance, in their order; a missing instance is an error."""
        measured = dict(metrics)
        return tuple(self.on_instance(i.split, i.name, measured[i.name]) for i in instances)

    def mean(self, split: SplitName, metrics: InstanceMetrics) -> float:
        """Return the mean objective over all instances of a split."""
        return fmean(self.on_each(self.of(split), metrics))
