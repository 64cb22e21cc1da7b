"""That a score is the same in another process, and in the jail where searches make it."""

from __future__ import annotations

from vulcan.testing.check import Broken
from vulcan.testing.elsewhere import Elsewhere, measure_elsewhere
from vulcan.testing.subject import NOT_IN_THIS_PROCESS, Subject


def another_process(subject: Subject) -> str:
    """What a policy measures is the same in another process, where texts hash otherwise."""
    if subject.is_program:
        return NOT_IN_THIS_PROCESS
    try:
        found = measure_elsewhere(subject.reference, subject.sources, subject.measured)
    except Elsewhere as error:
        raise Broken(
            f"measuring in another process ends with: {error}",
            "have `prepare` do all that `evaluate` needs, from the instances' parameters alone",
        ) from None
    for name, rows in found.items():
        for instance, metrics in zip(subject.measured, rows, strict=True):
            mine = subject.of_seeds[name][instance.split, instance.name]
            if metrics != mine:
                raise Broken(
                    f"policies/{name}.py measures {mine} on {instance.name} here, and {metrics} in another process",
                    "depend on nothing but the instance's parameters: not on `hash`, the order of a set, the time or "
                    "the process",
                )
    return f"{len(found)} policies"


def sandbox(subject: Subject) -> str:
    """A policy's score survives the sandbox: the jailed child, which may open no file, measures the same."""
    instances = subject.measured
    outcomes = subject.jailed(subject.sources.values(), instances)
    for name, outcome in zip(subject.sources, outcomes, strict=True):
        if outcome.status == "rejected":
            raise Broken(f"policies/{name}.py is rejected: {outcome.message}", "mend it")
        if outcome.status != "scored":
            raise Broken(
                f"policies/{name}.py ends in the sandbox with {outcome.status}: {outcome.message}",
                "have `prepare` open and compile all that `evaluate` needs: afterwards it may open no file",
            )
        if subject.is_program:
            continue
        for instance, (_, metrics) in zip(instances, outcome.metrics, strict=True):
            mine = subject.of_seeds[name][instance.split, instance.name]
            if metrics != mine:
                raise Broken(
                    f"policies/{name}.py measures {mine} on {instance.name} here, and {metrics} in the sandbox",
                    "depend on nothing but the instance's parameters: not on the environment, the time or the process",
                )
    if subject.is_program:
        again = subject.jailed(subject.sources.values(), instances)
        if [o.metrics for o in again] != [o.metrics for o in outcomes]:
            raise Broken("a policy measures something else in a second sandbox", "seed whatever is drawn")
    return f"{len(outcomes)} policies"
