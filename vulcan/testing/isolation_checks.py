"""Checks that scores and findings are the same in the sandbox of searches, which is another process."""

from __future__ import annotations

from collections.abc import Sequence

from vulcan.evaluator import Evaluator, Instance, located
from vulcan.findings import EvaluatorFinding, InstanceFinding
from vulcan.terminal_text import count
from vulcan.testing.check import CheckFailed, Subject


def findings(subject: Subject) -> str:
    """Check that findings, if offered, are within bounds, come out of the sandbox, and are the same again."""
    evaluator, instances = subject.evaluator, subject.searched[:1]
    if evaluator.offers(Evaluator.workload):
        for instance in instances:
            described = [
                _located(subject, "workload", subject.calling("workload", evaluator.workload, instance), instance)
                for _ in range(2)
            ]
            _check_same("workload", *described)
    if not evaluator.offers(Evaluator.findings):
        return "described workloads" if evaluator.offers(Evaluator.workload) else "not offered"
    source = next(iter(subject.sources.values()))
    outcomes = subject.jailed([source, source], subject.searched[:1], explain=True)
    for outcome in outcomes:
        if outcome.status != "scored":
            raise CheckFailed(
                f"`findings` in the sandbox: {outcome.status}: {outcome.message}",
                "return Statement, SmallTable or Series within their bounds, and load files in `prepare`",
            )
    _check_same("findings", outcomes[0].findings, outcomes[1].findings)
    return f"{len(outcomes[0].findings)} findings"


def _located(
    subject: Subject, method: str, found: Sequence[EvaluatorFinding], instance: Instance
) -> tuple[InstanceFinding, ...]:
    try:
        return located(found, instance)
    except ValueError as error:
        raise CheckFailed(
            f"{subject.task.evaluator}: {method}: {error}", "return Statement, SmallTable or Series within their bounds"
        ) from None


def _check_same(method: str, first: tuple[InstanceFinding, ...], second: tuple[InstanceFinding, ...]) -> None:
    if first != second:
        raise CheckFailed(f"`{method}` gives two results of the same", "seed whatever is drawn, and keep no state")


def sandbox(subject: Subject) -> str:
    """Check that a policy measures the same in the sandboxed child, which may open no file."""
    instances = subject.measured
    outcomes = subject.jailed(subject.sources.values(), instances)
    for name, outcome in zip(subject.sources, outcomes, strict=True):
        if outcome.status == "rejected":
            raise CheckFailed(f"policies/{name}.py is rejected: {outcome.message}", "fix it")
        if outcome.status != "scored":
            raise CheckFailed(
                f"policies/{name}.py ends in the sandbox with {outcome.status}: {outcome.message}",
                "have `prepare` open and compile all that `evaluate` needs: afterwards it may open no file",
            )
        if subject.is_program:
            continue
        for instance, (_, metrics) in zip(instances, outcome.metrics, strict=True):
            mine = subject.of_seeds[name][instance.split, instance.name]
            if metrics != mine:
                raise CheckFailed(
                    f"policies/{name}.py measures {mine} on {instance.name} here, and {metrics} in the sandbox",
                    "depend on nothing but the instance's parameters: not on the environment, the time or the process",
                )
    if subject.is_program:
        again = subject.jailed(subject.sources.values(), instances)
        if [o.metrics for o in again] != [o.metrics for o in outcomes]:
            raise CheckFailed("a policy measures something else in a second sandbox", "seed whatever is drawn")
    return count(len(outcomes), "policy", "policies")
