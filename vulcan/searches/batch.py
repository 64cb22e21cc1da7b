"""Evaluation of many programs at a time on some instances, for tuning and simplifying."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean

from vulcan.anvil import Rejected
from vulcan.evaluator import Instance
from vulcan.python_policy.check import check_policy
from vulcan.scoring import Executor, Job, Outcome
from vulcan.searches.reply import refutation
from vulcan.searches.scorer import Scorer
from vulcan.searches.tuning import Evaluate
from vulcan.store.events import InstanceMetrics
from vulcan.task import Task

TOLERANCE = 1e-4
"""Score that a simpler program may lose on any training instance: policies on real traces differ by ten times as much.

What costs nothing in the mean alone may cost half of the lead on other data."""


@dataclass
class BatchEvaluation:
    """A batch evaluator: mean objectives of programs on some instances, in parallel; None where one failed.

    A program that the search would reject gives None without evaluation: an optimum without its guards is useless.
    """

    task: Task
    instances: tuple[Instance, ...]
    scorer: Scorer
    executor: Executor
    limit: float
    outcomes: dict[str, Outcome] = field(default_factory=dict)

    @property
    def count(self) -> int:
        return len(self.outcomes)

    def outcome(self, source: str) -> Outcome:
        """Return the outcome of a program of known score; measured now if the score is that of an equal program."""
        if source not in self.outcomes:
            self([source])
        return self.outcomes[source]

    def __call__(self, sources: Sequence[str]) -> list[float | None]:
        sound = [source for source in dict.fromkeys(sources) if self._keeps_required(source)]
        running = [self.executor.submit(Job(i, s, self.instances, self.limit)) for i, s in enumerate(sound)]
        self.outcomes.update(zip(sound, [future.result() for future in running], strict=True))
        return [self._mean(self.outcomes.get(source)) for source in sources]

    def worst_beside(self, metrics: InstanceMetrics) -> Evaluate:
        """Return an evaluator of the least gain on any instance over results there."""
        before = self.scorer.on_each(self.instances, metrics)

        def worst(sources: Sequence[str]) -> list[float | None]:
            means = self(sources)
            after = [None if m is None else self._each(self.outcomes[s]) for s, m in zip(sources, means, strict=True)]
            return [None if new is None else min(map(operator.sub, new, before)) for new in after]

        return worst

    def _mean(self, outcome: Outcome | None) -> float | None:
        if outcome is None or outcome.status != "scored":
            return None
        return fmean(self._each(outcome))

    def _each(self, outcome: Outcome) -> Sequence[float]:
        return self.scorer.on_each(self.instances, outcome.metrics)

    def _keeps_required(self, source: str) -> bool:
        try:
            return refutation(check_policy(source, self.task)) is None
        except Rejected:
            return True  # the evaluation will report it


@dataclass
class FirstLook:
    """Where a changed program is measured first: the share of a full score that this costs, and the one unchanged."""

    batch: BatchEvaluation
    share: float
    before: InstanceMetrics
    tolerance: float = TOLERANCE

    @property
    def cost(self) -> float:
        return self.share * self.batch.count
