"""Checks that scores are the same in another process, and in the sandbox of searches.

`python -m vulcan.testing.isolation_checks FILE` reads a request from standard input and measures in its own process,
which is not sandboxed: a difference there is due to the change of process alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from vulcan.anvil import check
from vulcan.evaluator import Evaluator, Instance, load_evaluator, located
from vulcan.findings import EvaluatorFinding, InstanceFinding
from vulcan.registry import load_task, task_reference
from vulcan.scoring.evaluator_child import plain_metrics
from vulcan.scoring.sandbox.environment import child_environment
from vulcan.testing.check import NOT_IN_THIS_PROCESS, CheckFailed, Subject

HASH_SEED = "4242"
"""PYTHONHASHSEED of the other process, so that sets of strings iterate in another order there."""

Table = dict[str, list[dict[str, float]]]


class SubprocessMeasurement(Exception):
    """The failure of the other process, with the last line of its standard error."""


def measure_in_subprocess(reference: str, sources: Mapping[str, str], instances: Sequence[Instance]) -> Table:
    """Measure each policy on each instance in another process. Raises SubprocessMeasurement."""
    wanted = {
        "task": task_reference(reference),
        "sources": dict(sources),
        "instances": [{**asdict(i), "parameters": dict(i.parameters)} for i in instances],
    }
    environment = {**child_environment(), "PYTHONHASHSEED": HASH_SEED}
    with tempfile.TemporaryDirectory() as directory:
        answer = Path(directory) / "metrics.json"
        ended = subprocess.run(
            [sys.executable, "-m", "vulcan.testing.isolation_checks", str(answer)],
            input=json.dumps(wanted),
            text=True,
            env=environment,
            capture_output=True,
            check=False,
        )
        if ended.returncode != 0:
            raise SubprocessMeasurement((ended.stderr.strip().splitlines() or [f"exit code {ended.returncode}"])[-1])
        found: Table = json.loads(answer.read_text(encoding="utf-8"))
        return found


def main(answer: Path) -> None:
    wanted = json.load(sys.stdin)
    task = load_task(wanted["task"])
    evaluator = load_evaluator(task)
    instances = [Instance(**plain) for plain in wanted["instances"]]
    evaluator.prepare(instances)
    found = {
        name: [plain_metrics(evaluator.evaluate(check(source, task), instance)) for instance in instances]
        for name, source in wanted["sources"].items()
    }
    answer.write_text(json.dumps(found), encoding="utf-8")


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
    if evaluator.offers(Evaluator.findings_beside):
        _in_the_sandbox(subject, "findings_beside", source)
    return f"{_in_the_sandbox(subject, 'findings', source)} findings"


def _in_the_sandbox(subject: Subject, method: str, source: str) -> int:
    """Return how many findings a method gives, the same twice; `findings_beside` of a policy as its own parent."""
    parent = source if method == "findings_beside" else None
    outcomes = subject.jailed([source, source], subject.searched[:1], explain=True, parent=parent)
    for outcome in outcomes:
        if outcome.status != "scored":
            raise CheckFailed(
                f"`{method}` in the sandbox: {outcome.status}: {outcome.message}",
                "return Statement, SmallTable or Series within their bounds, and load files in `prepare`",
            )
    _check_same(method, outcomes[0].findings, outcomes[1].findings)
    return len(outcomes[0].findings)


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


if __name__ == "__main__":
    main(Path(sys.argv[1]))


def another_process(subject: Subject) -> str:
    """Check that a policy measures the same in another process, with another hash seed."""
    if subject.is_program:
        return NOT_IN_THIS_PROCESS
    try:
        found = measure_in_subprocess(subject.reference, subject.sources, subject.measured)
    except SubprocessMeasurement as error:
        raise CheckFailed(
            f"measuring in another process ends with: {error}",
            "have `prepare` do all that `evaluate` needs, from the instances' parameters alone",
        ) from None
    for name, rows in found.items():
        for instance, metrics in zip(subject.measured, rows, strict=True):
            mine = subject.of_seeds[name][instance.split, instance.name]
            if metrics != mine:
                raise CheckFailed(
                    f"policies/{name}.py measures {mine} on {instance.name} here, and {metrics} in another process",
                    "depend on nothing but the instance's parameters: not on `hash`, the order of a set, the time or "
                    "the process",
                )
    return f"{len(found)} policies"


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
    return f"{len(outcomes)} policies"
