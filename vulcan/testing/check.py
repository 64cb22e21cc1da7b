"""Conformance checks: the task under test, a check, and its result."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ParamSpec, TypeVar

from vulcan.anvil import Policy, Rejected, check
from vulcan.evaluator import BaselineKind, Evaluator, Instance, load_evaluator
from vulcan.foreign_code import ForeignCall
from vulcan.registry import find_task, task_reference
from vulcan.scoring import Job, LocalExecutor, Outcome, Setup
from vulcan.scoring.evaluator_child import BadResult, plain_metrics
from vulcan.searches.config import complete_settings
from vulcan.task import Json, Program, Task

T = TypeVar("T")
P = ParamSpec("P")

NOT_IN_THIS_PROCESS = "policies of this task run in the sandbox only: see `sandbox`"
MAX_SEEDS = 3
_FEW = {"train": 2, "validation": 1, "test": 1}
Measured = dict[str, float]


@dataclass(frozen=True)
class Subject:
    """A task under test: its name or directory, with some of its settings.

    At most two train instances and one of each other split are measured, with at most three of the task's own policies:
    settings that make instances small make the tests fast. `seconds` limits each policy in the sandbox.
    """

    reference: str
    given: Mapping[str, Json] = field(default_factory=dict)
    seconds: float = 300.0

    @cached_property
    def task(self) -> Task:
        """The task. Raises UserError where there is none, or it does not load."""
        return find_task(self.reference)

    @property
    def is_program(self) -> bool:
        """True if policies are free Python, which runs in the sandbox only."""
        return isinstance(self.task.signature, Program)

    @cached_property
    def settings(self) -> dict[str, Json]:
        return complete_settings(self.task, self.given)

    @cached_property
    def evaluator(self) -> Evaluator:
        return load_evaluator(self.task)

    @cached_property
    def instances(self) -> tuple[Instance, ...]:
        """All instances, under the split that the task declares."""
        settings = copy.deepcopy(self.settings)
        return tuple(self.calling("instances", self.evaluator.instances, settings, self.task.split))

    def of(self, split: str) -> tuple[Instance, ...]:
        return tuple(instance for instance in self.instances if instance.split == split)

    @cached_property
    def measured(self) -> tuple[Instance, ...]:
        """The few instances to measure on, prepared."""
        few = tuple(i for split, count in _FEW.items() for i in self.of(split)[:count])
        return self.ready(few)

    @property
    def kinds(self) -> list[Task]:
        """The task for the policies of each of its mechanisms, with all their functions; itself if there is one."""
        return [self.task.of_policy(name) for name in self.task.mechanisms] or [self.task]

    @property
    def searched(self) -> tuple[Instance, ...]:
        return tuple(instance for instance in self.measured if instance.split == "train")

    def ready(self, instances: Sequence[Instance]) -> tuple[Instance, ...]:
        """Prepare copies of the instances, as the check `inputs` tests for changes; return the instances."""
        self.calling("prepare", self.evaluator.prepare, copy.deepcopy(list(instances)))
        return tuple(instances)

    @cached_property
    def sources(self) -> dict[str, str]:
        """The first of the task's own policies, by name."""
        return dict(list(self.task.seed_policies().items())[:MAX_SEEDS])

    @cached_property
    def known(self) -> dict[str, Policy]:
        """All of the task's own policies, checked; only for tasks in the policy language. Raises CheckFailed."""
        found = {}
        for name, source in self.task.seed_policies().items():
            try:
                found[name] = check(source, self.task)
            except Rejected as rejected:
                raise CheckFailed(
                    f"policies/{name}.py is rejected: {rejected.violations[0]}",
                    f"fix it; `vulcan check policies/{name}.py --task {self.reference}` lists all there is",
                ) from None
        return found

    @cached_property
    def seeds(self) -> dict[str, Policy]:
        """The first of them. Raises CheckFailed."""
        return {name: self.known[name] for name in self.sources}

    @cached_property
    def baselines(self) -> dict[str, BaselineKind]:
        return dict(self.calling("baselines", self.evaluator.baselines))

    def evaluate(self, policy: Policy, instance: Instance) -> Measured:
        """Evaluate a policy in this process. Raises CheckFailed for an exception or non-finite metrics."""
        where = f"evaluate, on {instance.name}"
        return self._plain(where, self.calling(where, self.evaluator.evaluate, policy, instance))

    def evaluate_baseline(self, name: str, instance: Instance) -> Measured:
        """Evaluate a baseline in this process. Raises CheckFailed likewise."""
        where = f"evaluate_baseline({name!r}), on {instance.name}"
        return self._plain(where, self.calling(where, self.evaluator.evaluate_baseline, name, instance))

    @cached_property
    def of_seeds(self) -> dict[str, dict[tuple[str, str], Measured]]:
        """Metrics of each policy by name, and by split and name of the instance."""
        return {
            name: {(i.split, i.name): self.evaluate(policy, i) for i in self.measured}
            for name, policy in self.seeds.items()
        }

    @cached_property
    def of_baselines(self) -> dict[str, dict[tuple[str, str], Measured]]:
        """Metrics of each baseline and bound by name, and by split and name of the instance."""
        return {
            name: {(i.split, i.name): self.evaluate_baseline(name, i) for i in self.measured} for name in self.baselines
        }

    def jailed(
        self,
        sources: Iterable[str],
        instances: Sequence[Instance],
        *,
        explain: bool = False,
    ) -> list[Outcome]:
        """Run each policy on the instances in a sandboxed child, as a search does."""
        setup = Setup(task=task_reference(self.reference), instances=tuple(instances), explains=explain)
        with LocalExecutor(setup, 1) as executor:
            jobs = [Job(n, s, tuple(instances), self.seconds, explain=explain) for n, s in enumerate(sources)]
            return [executor.submit(job).result() for job in jobs]

    def calling(self, what: str, step: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Call a method of the evaluator. Raises CheckFailed where it raises anything."""
        with (attempt := ForeignCall()):
            return step(*arguments, **named)
        if isinstance(attempt.error, CheckFailed):
            raise attempt.error
        raise CheckFailed(
            f"{self.task.evaluator}: {what}: {attempt.failure} ({attempt.place})",
            "mend the evaluator, so that it does not",
        )

    def _plain(self, where: str, metrics: object) -> Measured:
        try:
            return plain_metrics(metrics)
        except BadResult as bad:
            raise CheckFailed(
                f"{self.task.evaluator}: {where}: {bad}", "give a mapping of finite numbers by the metric's name"
            ) from None


class CheckFailed(Exception):
    """A failed check, with the problem and the remedy."""

    def __init__(self, problem: str, remedy: str) -> None:
        super().__init__(f"{problem}; {remedy}")
        self.problem = problem
        self.remedy = remedy


@dataclass(frozen=True, slots=True)
class Check:
    """A conformance check. `run` returns a note (what was tested, or why nothing was), or raises CheckFailed.

    `needs` are the checks that must pass first. `promise` completes the sentence "Every task promises that ...".
    """

    name: str
    promise: str
    run: Callable[[Subject], str]
    needs: tuple[str, ...] = ()
