"""The attack suite of `vulcan doctor --attack` and `make attack`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from vulcan.doctor.attacks.attack import KEY_VARIABLE, AttackResult, stopper, targets
from vulcan.doctor.attacks.in_evaluator import evaluator_results
from vulcan.doctor.attacks.in_program import ForkedRange
from vulcan.doctor.attacks.local_ray import ray_results
from vulcan.doctor.attacks.memory import memory_results
from vulcan.doctor.attacks.outliving import lifetime_results
from vulcan.doctor.attacks.system import SYSTEM_ATTACKS


@contextmanager
def key_in_environment() -> Iterator[None]:
    """Set an API key in the environment, for attacks to look for."""
    before = os.environ.get(KEY_VARIABLE)
    os.environ[KEY_VARIABLE] = "sk-of-the-attack-suite"
    yield
    if before is None:
        del os.environ[KEY_VARIABLE]
    else:
        os.environ[KEY_VARIABLE] = before


def results() -> Iterator[AttackResult]:
    """Carry out all attacks and yield their results one by one.

    Raises UserError if no child can be started at all, and RayUnavailable if Ray does not start.
    """
    with key_in_environment(), targets() as given:
        with ForkedRange(given) as arena:
            for attack in SYSTEM_ATTACKS:
                evidence = arena.carry_out(attack)
                by = stopper(attack.stopped_by, evidence)
                yield AttackResult(attack.name, "forked", by, evidence.got or evidence.detail)
        yield from evaluator_results(given)
    yield from memory_results()
    yield from lifetime_results()
    with key_in_environment():
        yield from ray_results()
