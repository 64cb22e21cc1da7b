"""Policies measured beside every baseline, for `vulcan eval` and `vulcan.evaluate`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any, cast

from vulcan.anvil import Rejected
from vulcan.documents.policy import EvalDocument, EvalRow, PolicyMean
from vulcan.errors import UserError
from vulcan.evaluator import Evaluator, Instance, guarded_by, load_evaluator, notes_on
from vulcan.interface import Json
from vulcan.python_policy.check import check_policy
from vulcan.registry import find_task, task_reference
from vulcan.scoring import Job, LocalExecutor, Setup
from vulcan.searches.config import SearchConfig, complete_settings
from vulcan.searches.evidence import baseline_events, find_instances, find_objective
from vulcan.searches.options import PARTS, check_choice
from vulcan.searches.scorer import Scorer
from vulcan.store.events import InstanceMetrics
from vulcan.task import Objective, Task

_WORDS = frozenset({"policy", "kind", "instance"})


class PolicyFailed(UserError):
    """A policy that is rejected, or fails while it is measured."""


@dataclass(frozen=True)
class PolicyEvaluation:
    """Policies and all baselines on the same instances, in the order in which they were measured.

    `settings` are the task's, defaults included. `metrics` has for each policy its name, its kind (`candidate`,
    `baseline` or `oracle`) and what was measured. `notes` say what to know of the instances, `indifferent` on which of
    them every policy measures the same, and why.
    """

    task: Task
    settings: Mapping[str, Json]
    part: str
    objective: Objective
    scorer: Scorer
    metrics: tuple[tuple[str, str, InstanceMetrics], ...]
    notes: tuple[str, ...]
    indifferent: tuple[str, ...]

    @property
    def instances(self) -> tuple[Instance, ...]:
        return self.scorer.instances

    def rows(self) -> list[EvalRow]:
        """Return the metrics and the score of each policy on each instance, instance by instance."""
        return [
            self._row(name, kind, instance, dict(dict(metrics)[instance.name]))
            for instance in self.instances
            for name, kind, metrics in self.metrics
        ]

    def _row(self, name: str, kind: str, instance: Instance, metrics: dict[str, float]) -> EvalRow:
        score = self.scorer.on_instance(instance.split, instance.name, metrics)
        row = {"policy": name, "kind": kind, "instance": instance.name, **metrics, "score": score}
        return cast("EvalRow", row)

    def means(self) -> list[PolicyMean]:
        """Return each policy's mean score, and the mean of each metric that all instances have."""
        of_each: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
        for row in self.rows():
            of_each.setdefault((row["policy"], row["kind"]), []).append(row)
        means = []
        for (name, kind), rows in of_each.items():
            shared = [key for key in rows[0] if key not in _WORDS and all(key in row for row in rows)]
            mean = {key: fmean(float(row[key]) for row in rows) for key in shared}
            means.append(cast("PolicyMean", {"policy": name, "kind": kind, **mean}))
        return means

    def document(self) -> EvalDocument:
        return {
            "task": self.task.name,
            "part": self.part,
            "objective": self.objective.name,
            "notes": list(self.notes),
            "rows": self.rows(),
            "means": self.means(),
        }


def evaluate_policies(
    sources: Mapping[str, str],
    task: str,
    settings: Mapping[str, Json],
    *,
    part: str = "whole",
    objective: str | None = None,
    guard: str | None = None,
    limit: float = 600.0,
    allow_unsandboxed: bool = False,
) -> PolicyEvaluation:
    """Measure policies, by name, in the sandbox, and every baseline beside them.

    `part` is `whole`, `train`, `validation` or `test`; with the name of a safe policy as `guard` each is measured
    guarded by it too. `limit` is in seconds for one policy and all instances. Raises PolicyFailed for the first policy
    that is rejected or fails, UserError for other errors.
    """
    declared = find_task(task)
    chosen = find_objective(declared, objective or declared.objectives[0].name)
    _check(sources, declared)
    evaluator = load_evaluator(declared)
    config, instances = part_of(declared, task, settings, part, chosen.name, evaluator, limit)
    guarded = guarded_by(evaluator, instances, guard) if guard is not None else ()
    scorer = Scorer(chosen, instances)
    baselines = list(baseline_events(chosen, evaluator, instances, lambda _: None))
    for event in baselines:
        scorer.add_reference(event.policy, event.split, event.metrics)
    setup = Setup(task=config.task, instances=(*instances, *guarded), allow_unsandboxed=allow_unsandboxed)
    jobs = [(name, name, source, instances) for name, source in sources.items()]
    jobs += [(f"{name}, guarded by {guard}", name, source, guarded) for name, source in sources.items() if guard]
    metrics: list[tuple[str, str, InstanceMetrics]] = []
    with LocalExecutor(setup, 1) as executor:
        for number, (label, name, source, measured_on) in enumerate(jobs):
            outcome = executor.submit(Job(number, source, measured_on, limit)).result()
            if outcome.status != "scored":
                raise PolicyFailed(f"{_of(name, sources)}{outcome.status}: {outcome.message}")
            on_each = dict(outcome.metrics)
            own = tuple((i.name, on_each[on.name]) for i, on in zip(instances, measured_on, strict=True))
            metrics.append((label, "candidate", own))
    metrics += [(b.policy, b.kind, b.metrics) for b in baselines]
    notes, indifferent = tuple(notes_on(evaluator, instances)), tuple(_indifferent(evaluator, instances))
    return PolicyEvaluation(declared, config.settings, part, chosen, scorer, tuple(metrics), notes, indifferent)


def part_of(
    task: Task,
    reference: str,
    settings: Mapping[str, Json],
    part: str,
    objective: str,
    evaluator: Evaluator,
    limit: float,
) -> tuple[SearchConfig, tuple[Instance, ...]]:
    """Return the instances of `whole`, or of a split, and a configuration that has them. Raises UserError."""
    check_choice("part", part, PARTS)
    config = SearchConfig(
        task=task_reference(reference),
        settings=complete_settings(task, settings),
        objective=objective,
        split="none" if part == "whole" else "task",
        limit=limit,
    )
    wanted = "train" if part == "whole" else part
    instances = tuple(i for i in find_instances(task, config, evaluator) if i.split == wanted)
    if not instances:
        raise UserError(f"there is no instance in the part {part!r}")
    return config, instances


def _check(sources: Mapping[str, str], task: Task) -> None:
    for name, source in sources.items():
        try:
            check_policy(source, task)
        except Rejected as rejected:
            raise PolicyFailed(f"{_of(name, sources)}rejected: {rejected.summary}") from None


def _of(name: str, sources: Mapping[str, str]) -> str:
    return f"{name}: " if len(sources) > 1 else ""


def _indifferent(evaluator: Evaluator, instances: tuple[Instance, ...]) -> list[str]:
    reasons = [(instance.name, evaluator.why_indifferent(instance)) for instance in instances]
    return [f"{name}: every policy measures the same: {reason}" for name, reason in reasons if reason]
