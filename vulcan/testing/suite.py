"""The list of all checks, and their runners for the command line and pytest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from vulcan.errors import UserError
from vulcan.task import Json
from vulcan.testing import declaration_checks, isolation_checks, measurement_checks
from vulcan.testing.check import Check, CheckFailed, Finding, Subject

_MEASURED = ("seeds", "instances")

CHECKS: tuple[Check, ...] = (
    Check("settings", "its settings can be given, and their defaults too", declaration_checks.settings),
    Check("seeds", "the checker accepts the policies that come with it", declaration_checks.seeds),
    Check("properties", "its properties can be stated, and its policies keep the required ones",
          declaration_checks.properties, ("seeds",)),
    Check("prompts", "what a model is told names all that it may read", declaration_checks.prompts, ("seeds",)),
    Check("instances", "it has instances of each split, that can travel", measurement_checks.instances),
    Check("baselines", "its baselines run", measurement_checks.baselines, ("instances",)),
    Check("metrics", "every run measures what its objectives are about", measurement_checks.metrics,
          (*_MEASURED, "baselines")),
    Check("deterministic", "a policy measures the same again", measurement_checks.deterministic, _MEASURED),
    Check("inputs", "its evaluator changes nothing that it is handed", measurement_checks.inputs,
          (*_MEASURED, "baselines")),
    Check("features", "features are within their declared ranges", measurement_checks.features, _MEASURED),
    Check("decides", "what a policy returns decides something", measurement_checks.decides, _MEASURED),
    Check("objective", "higher scores are better", measurement_checks.objective, (*_MEASURED, "baselines", "metrics")),
    Check("splits", "what is searched on is in no other split", measurement_checks.splits,
          (*_MEASURED, "deterministic")),
    Check("rungs", "cheaper instances are cheaper versions of the same", measurement_checks.rungs, _MEASURED),
    Check("decisions", "policies that decide alike are told by a digest", measurement_checks.decisions, _MEASURED),
    Check("another process", "another process measures the same", isolation_checks.another_process,
          (*_MEASURED, "deterministic")),
    Check("sandbox", "the sandbox measures the same", isolation_checks.sandbox, (*_MEASURED, "deterministic")),
)  # fmt: skip
"""All conformance checks, in the order in which they run."""


def examine(subject: Subject) -> Iterator[Finding]:
    """Run every check, yielding findings as they come. Raises UserError where task or evaluator do not load."""
    assert subject.task is not None
    assert subject.evaluator is not None
    passed: set[str] = set()
    for check in CHECKS:
        if missing := [name for name in check.needs if name not in passed]:
            yield Finding(check.name, check.promise, "not tried", note=f"needs {missing[0]!r}")
            continue
        try:
            note = check.run(subject)
        except CheckFailed as broken:
            yield Finding(check.name, check.promise, "failed", "", broken.problem, broken.remedy)
        except UserError as error:
            yield Finding(check.name, check.promise, "failed", "", str(error), "mend what it names")
        else:
            passed.add(check.name)
            yield Finding(check.name, check.promise, "passed", note)


@cache
def _subject(reference: str, settings: str) -> Subject:
    import json

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
        import json

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
