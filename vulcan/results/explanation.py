"""Why a policy does well or badly on some instances, and where two policies differ: the evaluator's findings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from vulcan.documents.policy import ExplainDocument, FindingRow
from vulcan.errors import UserError
from vulcan.evaluator import (
    ComparesPolicies,
    EvaluatorFinding,
    InstanceFinding,
    OffersFindings,
    load_evaluator,
    why_indifferent,
)
from vulcan.registry import find_task, task_reference
from vulcan.results.findings_html import STYLE, by_instance, page
from vulcan.scoring import Job, LocalExecutor, Setup
from vulcan.searches.config import SearchConfig, complete_settings
from vulcan.searches.evidence import describe_workload, find_instances
from vulcan.task import Json


@dataclass(frozen=True, slots=True)
class Explanation:
    """Findings about the workloads, and about a policy on them (with `against`, where it differs from another)."""

    task: str
    workload: tuple[InstanceFinding, ...]
    findings: tuple[InstanceFinding, ...]
    is_comparison: bool = False

    @property
    def instances(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.instance for one in (*self.workload, *self.findings)))

    def of(self, instance: str) -> list[EvaluatorFinding]:
        """Return the findings about the policy on an instance, the most telling first."""
        found = [one.content for one in self.findings if one.instance == instance]
        return sorted(found, key=lambda content: -content.weight)

    def html(self) -> str:
        """Return a self-contained page: statements, bar charts of tables and line charts of series."""
        title = f"{self.task}: {'where two policies differ' if self.is_comparison else 'what a policy does'}"
        return page(title, self._sections())

    def _repr_html_(self) -> str:
        """Return the same for a notebook."""
        return f'<style>{STYLE}</style><div class="findings">{self._sections()}</div>'

    def _sections(self) -> str:
        return by_instance(self.workload, self.findings, "The differences" if self.is_comparison else "The policy")

    def document(self) -> ExplainDocument:
        """Return the explanation as JSON."""
        return {
            "task": self.task,
            "comparison": self.is_comparison,
            "workload": [cast(FindingRow, one.to_json()) for one in self.workload],
            "findings": [cast(FindingRow, one.to_json()) for one in self.findings],
        }


def explain(
    source: str,
    task_name: str,
    settings: Mapping[str, Json],
    *,
    against: str | None = None,
    limit: float = 600.0,
    allow_unsandboxed: bool = False,
) -> Explanation:
    """Explain a policy on all instances of these settings, in the sandbox; with `against`, compare it with another.

    Raises UserError where the evaluator offers that not, or the policy is rejected or fails.
    """
    task = find_task(task_name)
    evaluator = load_evaluator(task)
    if not isinstance(evaluator, OffersFindings if against is None else ComparesPolicies):
        what = "explain a policy" if against is None else "compare policies"
        raise UserError(f"task {task.name!r}: its evaluator does not {what}; `vulcan eval` measures both")
    config = SearchConfig(
        task=task_reference(task_name),
        settings=complete_settings(task, settings),
        objective=task.objectives[0].name,
        split="none",
        limit=limit,
    )
    instances = find_instances(task, config, evaluator)
    for instance in instances:
        if (reason := why_indifferent(evaluator, instance)) is not None:
            raise UserError(f"{instance.name}: there is nothing to explain: {reason}")
    setup = Setup(config.task, instances, allow_unsandboxed=allow_unsandboxed, explains=True)
    with LocalExecutor(setup, 1) as executor:
        outcome = executor.submit(Job(1, source, instances, limit, explain=True, against=against)).result()
    if outcome.status != "scored":
        raise UserError(f"the policy is {outcome.status}: {outcome.message}")
    described = describe_workload(evaluator, instances) if against is None else None
    return Explanation(task.name, described.located if described else (), outcome.findings, against is not None)
