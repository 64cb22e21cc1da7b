"""Scoring: from metrics to the number that a search maximizes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev

from vulcan.errors import UserError
from vulcan.evaluator import Instance, SplitName
from vulcan.store.events import BaselineMeasured, InstanceMetrics
from vulcan.task import Metrics, Objective


@dataclass(frozen=True, slots=True)
class Aggregate:
    """The aggregation of training scores: `mean`, `worst-quarter`, or `deviation`, less `weight` of these."""

    name: str = "mean"
    weight: float = 0.0

    @classmethod
    def of(cls, option: str | None) -> Aggregate:
        """Return the aggregate of the option `robust`, whose form is checked where it is declared."""
        name, _, weight = (option or "mean").partition(":")
        return cls(name, float(weight or 1.0) if name == "deviation" else 0.0)

    def __call__(self, scores: Sequence[float]) -> float:
        if self.name == "worst-quarter":
            return fmean(sorted(scores)[: _quarter(len(scores))])
        return fmean(scores) - self.weight * pstdev(scores) if self.name == "deviation" else fmean(scores)

    def highest(self, seen: Sequence[float], count: int) -> float:
        """Return an upper bound of the aggregate of `count` scores of which some are known.

        Further scores can only lower the sum of the lowest few. Nothing bounds a mean or a deviation so.
        """
        few = _quarter(count)
        return fmean(sorted(seen)[:few]) if self.name == "worst-quarter" and len(seen) >= few else math.inf


def _quarter(count: int) -> int:
    return (count + 3) // 4


class Scorer:
    """An objective with the metrics of its reference policies on every instance.

    `aggregate` is how scores on training instances make one; those on held-out instances are averaged.
    """

    def __init__(self, objective: Objective, instances: Sequence[Instance], aggregate: Aggregate | None = None) -> None:
        self.objective = objective
        self.aggregate = aggregate or Aggregate()
        self.instances = tuple(instances)
        self._references: dict[tuple[SplitName, str], dict[str, Metrics]] = {}

    def add_reference(self, policy: str, split: SplitName, metrics: InstanceMetrics) -> None:
        """Store a baseline's metrics if the objective compares with it."""
        if policy in self.objective.references:
            for name, values in metrics:
                self._references.setdefault((split, name), {})[policy] = values

    def add_baseline(self, event: BaselineMeasured) -> None:
        self.add_reference(event.policy, event.split, event.metrics)

    def of(self, split: SplitName) -> tuple[Instance, ...]:
        return tuple(i for i in self.instances if i.split == split)

    def on_instance(self, split: SplitName, instance: str, metrics: Metrics) -> float:
        """Return the objective on one instance. Raises UserError if the task's declaration gives no finite number."""
        references: Mapping[str, Metrics] = self._references.get((split, instance), {})
        score = float(self.objective.score(metrics, references))
        if not math.isfinite(score):
            raise UserError(f"objective {self.objective.name!r} is {score} on {instance}: its scores must be finite")
        return score

    def on_each(self, instances: Sequence[Instance], metrics: InstanceMetrics) -> tuple[float, ...]:
        """Return the objective on each instance, in their order; a missing instance is an error."""
        measured = dict(metrics)
        return tuple(self.on_instance(i.split, i.name, measured[i.name]) for i in instances)

    def mean(self, split: SplitName, metrics: InstanceMetrics) -> float:
        """Return the mean objective over all instances of a split, or the aggregate on train."""
        scores = self.on_each(self.of(split), metrics)
        return self.aggregate(scores) if split == "train" else fmean(scores)

    def mean_on(self, instances: Sequence[Instance], metrics: InstanceMetrics) -> float:
        """Return the aggregate of the objective over some training instances."""
        return self.aggregate(self.on_each(instances, metrics))
