"""The attack suite of `vulcan doctor --attack` and `make attack`."""

from __future__ import annotations

from collections.abc import Iterator

from vulcan.doctor.attacks.attack import AttackResult, stopper, targets
from vulcan.doctor.attacks.in_evaluator import evaluator_results
from vulcan.doctor.attacks.in_program import ForkedRange
from vulcan.doctor.attacks.local_ray import ray_results
from vulcan.doctor.attacks.system import SYSTEM_ATTACKS


def results() -> Iterator[AttackResult]:
    """Carry out all attacks and yield their results one by one.

    Raises UserError if no child can be started at all, and RayUnavailable if Ray does not start.
    """
    with targets() as given:
        with ForkedRange(given) as arena:
            for attack in SYSTEM_ATTACKS:
                evidence = arena.carry_out(attack)
                by = stopper(attack.stopped_by, evidence)
                yield AttackResult(attack.name, "forked", by, evidence.got or evidence.detail)
        yield from evaluator_results(given)
        yield from ray_results()
