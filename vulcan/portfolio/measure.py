"""Measurements of policies on instances."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vulcan.errors import UserError
from vulcan.evaluator import Instance, load_evaluator
from vulcan.portfolio.model import LibraryMember
from vulcan.scoring import Job, LocalExecutor, Setup
from vulcan.scoring.remembering_executor import RememberingExecutor
from vulcan.searches.evidence import find_objective, measure_baselines
from vulcan.searches.scorer import Scorer
from vulcan.task import Metrics, Task
from vulcan.terminal_text import count

log = logging.getLogger(__name__)


InstancesOf = Callable[[LibraryMember], tuple[Instance, ...]]


def measure_members(
    members: Sequence[LibraryMember],
    instances_of: InstancesOf,
    measured: Path,
    *,
    workers: int,
    limit: float,
    report: Callable[[str], None] = lambda _: None,
) -> dict[str, list[Metrics]]:
    """Return the metrics of each member on each instance, without members that fail on one (these are logged).

    Instances depend on the member's task and settings. What is in the file `measured` is not measured again. `limit` is
    the time limit in seconds per member, for all instances.
    """
    found: dict[str, list[Metrics]] = {}
    groups: dict[str, list[LibraryMember]] = {}
    for member in members:
        instances = [[i.name, dict(i.parameters)] for i in instances_of(member)]
        groups.setdefault(json.dumps([member.task, instances], sort_keys=True), []).append(member)
    for group in groups.values():
        task, alike = group[0].task, instances_of(group[0])
        report(f"{count(len(group), 'policy', 'policies')} on {count(len(alike), 'instance')}")
        children = LocalExecutor(Setup(task=task, instances=alike), workers, deferred=True)
        with RememberingExecutor(children, measured, task) as executor:
            jobs = [executor.submit(Job(n, member.source, alike, limit)) for n, member in enumerate(group)]
            for member, job in zip(group, jobs, strict=True):
                outcome = job.result()
                if outcome.status == "scored":
                    found[member.name] = [metrics for _, metrics in outcome.metrics]
                else:
                    log.warning("%s cannot be a member: %s: %s", member.name, outcome.status, outcome.message)
    return {member.name: found[member.name] for member in members if member.name in found}


@dataclass(frozen=True)
class ReferenceScores:
    """The known policies on the instances: their kinds and metrics, by name."""

    task: Task
    instances: tuple[Instance, ...]
    kinds: Mapping[str, str]
    metrics: Mapping[str, list[Metrics]]

    @classmethod
    def of(
        cls, task: Task, instances: Sequence[Instance], report: Callable[[str], None] = lambda _: None
    ) -> ReferenceScores:
        evaluator = load_evaluator(task)
        measured = measure_baselines(evaluator, instances, report)
        by_name: dict[str, list[Metrics]] = {
            policy: [results[i.split, i.name] for i in instances] for policy, results in measured.items()
        }
        return cls(task, tuple(instances), dict(evaluator.baselines()), by_name)

    def scores(self, objective: str, measured: Mapping[str, Sequence[Metrics]]) -> dict[str, tuple[float, ...]]:
        """Return each policy's score on each instance. Raises UserError."""
        chosen = find_objective(self.task, objective)
        scorer = Scorer(chosen, self.instances)
        for policy in chosen.references:
            if policy not in self.metrics:
                raise UserError(f"objective {objective!r} compares with {policy!r}, which is no baseline")
            pairs = tuple((i.name, dict(m)) for i, m in zip(self.instances, self.metrics[policy], strict=True))
            scorer.add_reference(policy, "train", pairs)
        return {
            name: tuple(scorer.on_instance("train", i.name, m) for i, m in zip(self.instances, metrics, strict=True))
            for name, metrics in measured.items()
        }

    def known(self, objective: str, kind: str) -> dict[str, tuple[float, ...]]:
        """Return the scores of the known policies of a kind: baselines or bounds."""
        return self.scores(objective, {n: m for n, m in self.metrics.items() if self.kinds[n] == kind})
