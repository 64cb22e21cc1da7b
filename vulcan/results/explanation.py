"""Explanations: the evaluator's findings on a policy on some instances, or on the differences of two policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from vulcan.documents.policy import ExplainDocument, FindingRow
from vulcan.errors import UserError
from vulcan.evaluator import Evaluator, Instance, Sweep, load_evaluator, located
from vulcan.findings import EvaluatorFinding, InstanceFinding, SweptTable
from vulcan.registry import recorded_task
from vulcan.results.findings_html import STYLE, by_instance
from vulcan.results.policy_evaluation import part_of
from vulcan.scoring import Job, LocalExecutor, Outcome, Setup
from vulcan.searches.config import make_config
from vulcan.searches.evidence import WINDOWS, describe_workload, find_instances
from vulcan.store import RunRecord
from vulcan.task import Json, Task


@dataclass(frozen=True, slots=True)
class Explanation:
    """Findings about the workloads, and about a policy on them (with `against`, where it differs from another)."""

    task: str
    workload: tuple[InstanceFinding, ...]
    findings: tuple[InstanceFinding, ...]
    is_comparison: bool = False
    headings: tuple[str, str] = ("The workload", "The policy")

    @property
    def instances(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(one.instance for one in (*self.workload, *self.findings)))

    def of(self, instance: str) -> list[EvaluatorFinding]:
        """Return the findings about the policy on an instance, the most telling first."""
        found = [one.content for one in self.findings if one.instance == instance]
        return sorted(found, key=lambda content: -content.weight)

    def html(self) -> str:
        """Return a self-contained page: statements, bar charts of tables and line charts of series."""
        from vulcan.results.report.html_page import findings_page

        title = f"{self.task}: {'where two policies differ' if self.is_comparison else 'what a policy does'}"
        return findings_page(title, self.sections())

    def _repr_html_(self) -> str:
        """Return the same for a notebook."""
        return f'<style>{STYLE}</style><div class="findings">{self.sections()}</div>'

    def sections(self) -> str:
        """Return HTML for an element of the class `findings`: a section for each instance."""
        return by_instance(self.workload, self.findings, *self.headings)

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
    part: str = "whole",
    by_part: bool = False,
    limit: float = 600.0,
    allow_unsandboxed: bool = False,
) -> Explanation:
    """Explain a policy on all instances of these settings, in the sandbox; with `against`, compare it with another.

    `part` is `whole`, or the split whose instances are taken; `by_part` adds a table over parts of their time.
    Raises UserError where the evaluator offers that not, or the policy is rejected or fails.
    """
    task = recorded_task(task_name)
    evaluator = load_evaluator(task)
    if not evaluator.offers(Evaluator.findings if against is None else Evaluator.compare):
        what = "explain a policy" if against is None else "compare policies"
        raise UserError(f"task {task.name!r}: its evaluator does not {what}; `vulcan eval` measures both")
    config, wanted = part_of(task, task_name, settings, part, task.objectives[0].name, evaluator, limit)
    # findings are of the split train: here it is what the user wants explained
    instances = tuple(replace(instance, split="train") for instance in wanted)
    for instance in instances:
        if (reason := evaluator.why_indifferent(instance)) is not None:
            raise UserError(f"{instance.name}: there is nothing to explain: {reason}")
    setup = Setup(config.task, instances, allow_unsandboxed=allow_unsandboxed, explains=True)
    found = _found(setup, Job(1, source, instances, limit, explain=True, against=against)).findings
    measured = replace(setup, explains=False)
    if by_part:
        sources = {"policy": source} if against is None else {"first": source, "second": against}
        found += _over(evaluator, measured, _parts(task, evaluator, instances), sources, limit)
    if against is not None:
        return Explanation(task.name, (), found, is_comparison=True, headings=("", "The differences"))
    swept = _swept(evaluator, measured, source, limit)
    described = describe_workload(evaluator, instances)
    here = "" if part == "whole" else f" (the part {part!r})"
    seen = here.replace("(", "(all up to the end of ") if evaluator.describes_before else here
    headings = f"The workload{seen}", f"The policy{here}"
    return Explanation(task.name, described.located if described else (), (*found, *swept), headings=headings)


def hazards(task_name: str, settings: Mapping[str, Json]) -> Explanation:
    """Return how likely what a policy waits for is, on the training instances of these settings.

    Raises UserError where the evaluator has no such tables.
    """
    task = recorded_task(task_name)
    evaluator = load_evaluator(task)
    config = make_config(task_name, {}, settings)
    training = [one for one in find_instances(task, config, evaluator) if one.split == "train"]
    return Explanation(task.name, (), tuple(f for i in training for f in located(evaluator.hazards(i), i)))


EXPLAIN_SECONDS = 120.0
"""Time limit to explain a candidate on all training instances, where nobody gives another."""


def can_explain(record: RunRecord) -> bool:
    """Return whether the evaluator of the run's task explains policies."""
    return load_evaluator(recorded_task(record.config["task"])).offers(Evaluator.findings)


def explain_candidate(record: RunRecord, candidate: int, limit: float) -> Explanation:
    """Explain a candidate of a run on the run's training instances, in the sandbox, as it is now.

    Raises UserError as `explain` does.
    """
    task, source = recorded_task(record.config["task"]), record.candidates[candidate].source
    evaluator = load_evaluator(task)
    if not evaluator.offers(Evaluator.findings):
        raise UserError(f"task {task.name!r}: its evaluator does not explain a policy")
    instances = tuple(instance for instance in record.instances if instance.split == "train")
    setup = Setup(record.config["task"], instances, explains=True)
    found = _found(setup, Job(1, source, instances, limit, explain=True)).findings
    swept = _swept(evaluator, replace(setup, explains=False), source, limit)
    return Explanation(task.name, record.workload.located if record.workload else (), (*found, *swept))


def _found(setup: Setup, job: Job) -> Outcome:
    with LocalExecutor(setup, 1) as executor:
        outcome = executor.submit(job).result()
    if outcome.status != "scored":
        raise UserError(f"the policy is {outcome.status}: {outcome.message}")
    return outcome


_SHOWN_BASELINES = 3
"""Of a sweep: the best on the instance itself."""


def _swept(evaluator: Evaluator, setup: Setup, source: str, limit: float) -> tuple[InstanceFinding, ...]:
    """Return the tables over each instance's sweep; empty from an evaluator that offers none."""
    sweeps = [(one, sweep) for one in setup.instances if (sweep := evaluator.sweep(one)) and len(sweep.steps) > 1]
    return _over(evaluator, setup, sweeps, {"policy": source}, limit)


def _parts(task: Task, evaluator: Evaluator, instances: Sequence[Instance]) -> list[tuple[Instance, Sweep]]:
    """Return the parts of each instance's time. Raises UserError where an instance has none."""
    found = []
    for instance in instances:
        windows = evaluator.windows(instance, WINDOWS)
        if not windows:
            raise UserError(f"{instance.name}: --by-part: it is too short, or its evaluator cuts none into parts")
        steps = tuple((f"{n}/{WINDOWS}", window) for n, window in enumerate(windows, 1))
        found.append((instance, Sweep("part of the time", task.objectives[0].metric, steps)))
    return found


def _over(
    evaluator: Evaluator,
    setup: Setup,
    sweeps: Sequence[tuple[Instance, Sweep]],
    sources: Mapping[str, str],
    limit: float,
) -> tuple[InstanceFinding, ...]:
    """Return a table of a metric over each sweep: that of the policies, of the best baselines and of an oracle."""
    steps = tuple(one for _, sweep in sweeps for _, one in sweep.steps)
    if not steps:
        return ()
    own = [
        dict(_found(replace(setup, instances=steps), Job(1, source, steps, limit)).metrics)
        for source in sources.values()
    ]
    evaluator.prepare((*setup.instances, *steps))
    score, kinds = recorded_task(setup.task).objectives[0].score, evaluator.baselines()
    found = []
    for instance, sweep in sweeps:
        here = {name: evaluator.evaluate_baseline(name, instance) for name in kinds}
        ranked = sorted(kinds, key=lambda name: -score(here[name], here))
        shown = [name for name in ranked if kinds[name] == "baseline"][:_SHOWN_BASELINES]
        shown += [name for name in ranked if kinds[name] != "baseline"][:1]
        rows: tuple[tuple[str | float, ...], ...] = tuple(
            (
                label,
                *(o[one.name][sweep.metric] for o in own),
                *(evaluator.evaluate_baseline(n, one)[sweep.metric] for n in shown),
            )
            for label, one in sweep.steps
        )
        names = (n if kinds[n] == "baseline" else f"{n} ({kinds[n]})" for n in shown)
        title = f"{sweep.metric.replace('_', ' ')} by {sweep.x.split(',')[0]}"
        found.append(
            InstanceFinding(instance.name, instance.split, SweptTable(title, (sweep.x, *sources, *names), rows, 0.0))
        )
    return tuple(found)
