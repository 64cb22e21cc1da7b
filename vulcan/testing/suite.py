"""The list of all checks, and their runners for the command line and pytest.

Checks of declarations: settings, properties, policies to start from, prompts, and objectives; and that scores and
findings are the same in the sandbox of searches, which is another process.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar

from vulcan.anvil.proofs import verify
from vulcan.documents.policy import TaskCheck
from vulcan.errors import UserError
from vulcan.evaluator import Evaluator, Instance, located
from vulcan.findings import EvaluatorFinding, InstanceFinding
from vulcan.searches.config import complete_settings, parse_setting
from vulcan.searches.options import EXECUTION_OPTIONS, OPTIONS
from vulcan.searches.population import ScoredCandidate
from vulcan.searches.prompts import Prompts
from vulcan.searches.scorer import Scorer
from vulcan.searches.strategies.base import Draft
from vulcan.task import Json, Program, Task
from vulcan.terminal_text import count
from vulcan.testing import measurement_checks
from vulcan.testing.check import Check, CheckFailed, Subject

_COMMANDS_OWN = {
    *(*OPTIONS, *EXECUTION_OPTIONS, "task", "config", "replay", "runs_dir", "quiet", "json", "dry_run", "part"),
    *("plot", "help", "output", "policy", "other", "property"),
}
"""Options of the commands that also take a task's options."""

_SECONDS = 5.0
"""Timeout in seconds for the proof of one property."""
_TOLERANCE = 1e-9


def settings(subject: Subject) -> str:
    """Check that no setting clashes with an option of a command, and that every default is valid."""
    for setting in subject.task.settings:
        if setting.name in _COMMANDS_OWN:
            raise CheckFailed(
                f"the setting {setting.name!r} is an option of `vulcan search` or `vulcan eval` too",
                "give it another name",
            )
        if setting.default is not None:
            parse_setting(setting, setting.default, "a default in task.py")
    complete_settings(subject.task, {})
    return f"{len(subject.task.settings)} settings"


def seeds(subject: Subject) -> str:
    """Check that there is a policy to start from, and that all are accepted and none is constant."""
    task = subject.task
    if not task.seed_policies():
        raise CheckFailed(
            f"there is no policy in {task.directory / 'policies'}",
            "write the simplest policy that works, so that a search has something to begin with",
        )
    if subject.is_program:
        return "their checking is part of the sandbox"
    for name, policy in subject.seeds.items():
        if policy.constant is not None:
            raise CheckFailed(
                f"policies/{name}.py decides nothing: {policy.constant}", "have its result depend on a feature"
            )
    return count(len(task.seed_policies()), "policy", "policies")


def properties(subject: Subject) -> str:
    """Check that every property can be stated, and that the task's own policies satisfy the required ones."""
    task = subject.task
    names = [declared.name for kind in task.kinds for declared in kind.properties]
    if not names:
        return "the task declares none"
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise CheckFailed(f"two properties are called {twice[0]!r}", "give each a name of its own")
    for name, policy in subject.seeds.items():
        for declared in policy.task.properties:
            (verdict,) = subject.calling(f"the property {declared.name!r}", verify, policy, [declared], _SECONDS)
            if verdict.outcome == "refuted" and declared.required:
                raise CheckFailed(
                    f"policies/{name}.py breaks the required property {declared.name!r}: {verdict.counterexample}",
                    "a search would reject it: mend the policy, or the property",
                )
    return count(len(names), "property", "properties")


def prompts(subject: Subject) -> str:
    """Check that prompts render for every objective, and name everything a policy may read."""
    task = subject.task
    count = 0
    for objective in task.objectives:
        made = Prompts(task, objective, subject.settings)
        for draft in _drafts(subject):
            _check_names(task, made.propose(draft))
            count += 1
    return f"{count} prompts"


def _drafts(subject: Subject) -> list[Draft]:
    members = tuple(
        ScoredCandidate(n, 0, source, 0.0, (), 1, origin="seed") for n, source in enumerate(subject.sources.values(), 1)
    )
    return [Draft(1, "initial", members), Draft(2, "mutate", members[:1]), Draft(2, "fresh", ())]


def _check_names(task: Task, prompt: str) -> None:
    functions = [declared.function for kind in task.kinds for declared in kind.functions]
    features = [
        name for kind in task.kinds if not isinstance(kind.signature, Program) for name, _ in kind.interface.features()
    ]
    for name in (*functions, *features):
        if not re.search(rf"\b{re.escape(name.rpartition('.')[2])}\b", prompt):
            raise CheckFailed(
                f"the prompt does not name {name!r}",
                "have prompt.md.j2 extend propose.md.j2 and keep its blocks, or write what the policy may read",
            )


def objective(subject: Subject) -> str:
    """Check that scores are finite, refer to existing baselines, and are higher for better policies.

    An objective after the first may be unfit for the settings, and is then passed over.
    """
    known = subject.baselines
    for declared in subject.task.objectives:
        for reference in declared.references:
            if reference not in known:
                raise CheckFailed(
                    f"the objective {declared.name!r} compares with {reference!r}, which is no baseline",
                    f"name one of {', '.join(known)}",
                )
    rows = {} if subject.is_program else subject.of_seeds
    everything = {**rows, **subject.of_baselines}
    for declared in subject.task.objectives:
        scorer = Scorer(declared, subject.measured)
        for reference in declared.references:
            for (split, name), found in subject.of_baselines[reference].items():
                scorer.add_reference(reference, split, ((name, found),))  # type: ignore[arg-type]
        where = f"the objective {declared.name!r}"
        if declared is not subject.task.objectives[0] and declared.unfit(subject.settings):
            continue
        scores = {
            who: fmean(
                subject.calling(where, scorer.on_instance, i.split, i.name, measured[i.split, i.name])
                for i in subject.measured
            )
            for who, measured in everything.items()
        }
        if declared is subject.task.objectives[0]:
            first = scores
            _check_bounds(declared.name, scores, [name for name, kind in known.items() if kind == "oracle"])
            if len(set(scores.values())) < 2:
                problem = f"the objective {declared.name!r} gives every policy the same score"
                raise CheckFailed(problem, "have it depend on the metrics")
    if "oracle" not in known.values():
        ranked = ", ".join(sorted(first, key=lambda who: -first[who]))
        return f"no bound is declared, and higher must be better: see whether this is from best to worst: {ranked}"
    return "no policy beats the bound"


def _check_bounds(objective_name: str, scores: Mapping[str, float], bounds: list[str]) -> None:
    if not bounds:
        return
    best = max(bounds, key=lambda name: scores[name])
    for name, score in scores.items():
        slack = _TOLERANCE * max(1.0, abs(score), abs(scores[best]))
        if name not in bounds and score > scores[best] + slack:
            raise CheckFailed(
                f"{name!r} scores {score:.6g} on the objective {objective_name!r}, and the bound {best!r} only "
                f"{scores[best]:.6g}",
                "higher must be better: turn the objective's sign, or mend the bound",
            )


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


_MEASURED = ("seeds", "instances")

CHECKS: tuple[Check, ...] = (
    Check("settings", "its settings can be given, and their defaults too", settings),
    Check("seeds", "the checker accepts the policies that come with it", seeds),
    Check(
        "properties", "its properties can be stated, and its policies keep the required ones", properties, ("seeds",)
    ),
    Check("prompts", "what a model is told names all that it may read", prompts, ("seeds",)),
    Check("instances", "it has instances of each split, that can travel", measurement_checks.instances),
    Check("baselines", "its baselines run", measurement_checks.baselines, ("instances",)),
    Check(
        "metrics",
        "every run measures what its objectives are about",
        measurement_checks.metrics,
        (*_MEASURED, "baselines"),
    ),
    Check("deterministic", "a policy measures the same again", measurement_checks.deterministic, _MEASURED),
    Check(
        "inputs",
        "its evaluator changes nothing that it is handed",
        measurement_checks.inputs,
        (*_MEASURED, "baselines"),
    ),
    Check("features", "features are within their declared ranges", measurement_checks.features, _MEASURED),
    Check("statistics", "statistics take in what happens", measurement_checks.statistics, _MEASURED),
    Check("events", "the events that it declares are reported", measurement_checks.events, _MEASURED),
    Check("decides", "what a policy returns decides something", measurement_checks.decides, _MEASURED),
    Check("objective", "higher scores are better", objective, (*_MEASURED, "baselines", "metrics")),
    Check(
        "splits", "what is searched on is in no other split", measurement_checks.splits, (*_MEASURED, "deterministic")
    ),
    Check("rungs", "cheaper instances are cheaper versions of the same", measurement_checks.rungs, _MEASURED),
    Check("decisions", "policies that decide alike are told by a digest", measurement_checks.decisions, _MEASURED),
    Check("sandbox", "the sandbox measures the same", sandbox, (*_MEASURED, "deterministic")),
    Check("findings", "what its evaluator says of a policy is within bounds", findings, _MEASURED),
)
"""All conformance checks, in the order in which they run."""


def examine(subject: Subject) -> Iterator[TaskCheck]:
    """Run every check, yielding findings as they come. Raises UserError where task or evaluator do not load."""
    assert subject.task is not None
    assert subject.evaluator is not None
    passed: set[str] = set()
    for check in CHECKS:
        if missing := [name for name in check.needs if name not in passed]:
            yield TaskCheck(check.name, check.promise, "not tried", note=f"needs {missing[0]!r}")
            continue
        try:
            note = check.run(subject)
        except CheckFailed as broken:
            yield TaskCheck(check.name, check.promise, "failed", "", broken.problem, broken.remedy)
        except UserError as error:
            yield TaskCheck(check.name, check.promise, "failed", "", str(error), "mend what it names")
        else:
            passed.add(check.name)
            yield TaskCheck(check.name, check.promise, "passed", note)


@cache
def _subject(reference: str, settings: str) -> Subject:
    return Subject(reference, json.loads(settings))


class TaskConformance:
    """A pytest class with a test for each check: subclass it, and name the task.

    `settings` are the task's own, to make instances small. Relative paths start from the working directory.
    """

    task: ClassVar[str | Path]
    settings: ClassVar[Mapping[str, Json]] = {}

    @classmethod
    def subject(cls) -> Subject:
        """Return the task under these settings, cached for all tests of a process."""
        return _subject(str(cls.task), json.dumps(dict(cls.settings), sort_keys=True))


def _test_of(check: Check) -> Callable[[TaskConformance], None]:
    def test(self: TaskConformance) -> None:
        check.run(self.subject())

    test.__doc__ = f"Every task promises that {check.promise}."
    test.__name__ = f"test_{check.name.replace(' ', '_')}"
    return test


_class: Any = TaskConformance
for _check in CHECKS:
    setattr(_class, f"test_{_check.name.replace(' ', '_')}", _test_of(_check))
