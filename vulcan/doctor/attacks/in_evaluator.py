"""Attacks in the sandboxed evaluator, as if an Anvil policy had broken out into the process that scores it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vulcan.doctor.attacks.attack import (
    INSTANCES,
    PLAIN_VALUES,
    TICKET,
    Attack,
    AttackObservation,
    AttackResult,
    stopper,
)
from vulcan.doctor.attacks.system import SYSTEM_ATTACKS
from vulcan.evaluator import Instance
from vulcan.scoring.evaluator_process import JailedEvaluator
from vulcan.scoring.job import Job, Limits, Outcome, Setup
from vulcan.scoring.sandbox.layers import ALL, Layer, Layers

TASK = str(Path(__file__).parent / "target")
HONEST = Instance("honest", "train", {})
MIN = "def decide(load, room):\n    return min(load, room)\n"
VALUES = ("flattering", "lying", "nan", "truth", "text", "huge")
"""Hostile return values of an evaluator, defined in `vulcan.doctor.attacks.target.evaluator`."""

_ELSEWHERE = frozenset(
    {
        "machine code of its own",  # an evaluator compiles candidates
        "giant output",
        "answers in advance",
        "infinite loop",
        "infinite loop outside of Python",
        "sleep",
        "deep recursion",
        "os._exit",
        "kill its own group",
    }
)
"""Attacks left out: each needs a separate child, and shows nothing about an evaluator that others do not."""

_FORGED_REPLY = """
import os
body = b'{"ticket": "0123456789abcdef", "status": "scored", "message": "", "metrics": [{"sum": 1e9}]}'
os.write(given['channel'], len(body).to_bytes(4, 'big') + body)
"""
FORGED_REPLY = Attack("forged score on the result channel", _FORGED_REPLY, (TICKET,))


def evaluator_attacks() -> tuple[Attack, ...]:
    """Return the attacks on the system that are tried in an evaluator."""
    return tuple(attack for attack in SYSTEM_ATTACKS if attack.name not in _ELSEWHERE)


class EvaluatorRange:
    """A range for attacks in one persistent evaluator, which is restarted if an attack ends it."""

    def __init__(self, given: Mapping[str, object], attacks: Sequence[Attack], layers: Layers = ALL) -> None:
        self._instances = {attack.name: _instance(attack, given, bool(layers.off)) for attack in attacks}
        values = [Instance(f"value {value}", "train", {"value": value}) for value in VALUES]
        self._instances |= {instance.name: instance for instance in values}
        setup = Setup(TASK, (HONEST, *self._instances.values()), Limits(memory_bytes=256 << 20))
        self.evaluator = JailedEvaluator(setup, layers)

    def carry_out(self, attack: Attack) -> AttackObservation:
        outcome = self.run(attack.name, attack.seconds)
        match outcome.status:
            case "scored":
                came = json.loads(next(iter(outcome.metrics[0][1])))
                return AttackObservation(came.get("got"), came.get("sign", ""), came.get("detail", ""))
            case "timeout":
                return AttackObservation(None, "timeout", outcome.message)
            case "memory":
                return AttackObservation(None, "memory", outcome.message)
        words = outcome.message.split()
        return AttackObservation(None, words[-1] if words[-1].startswith("SIG") else "exit", outcome.message)

    def run(self, instance: str, seconds: float = 10.0) -> Outcome:
        """Score an honest policy on the instance of this name."""
        return self.evaluator.run(Job(1, MIN, (self._instances[instance],), seconds))

    def honest(self, source: str = MIN, *, probe: bool = False) -> Outcome:
        """Score a policy on the honest instance."""
        return self.evaluator.run(Job(1, source, (HONEST,), 10.0, probe))

    def close(self) -> None:
        self.evaluator.close()


def _instance(attack: Attack, given: Mapping[str, object], harmless: bool) -> Instance:
    all_given: dict[str, Any] = {**given, **attack.given, **(attack.harmless if harmless else {})}
    return Instance(attack.name, "train", {"code": attack.code, "given": all_given})


IMITATION = "def decide(load, room):\n    if load == 0:\n        return min(load, room)\n    return -1.0\n"
"""A policy that decides as `MIN` does on the probe, and nowhere else."""


def _probe(arena: EvaluatorRange) -> AttackResult:
    model, imitation = arena.honest(probe=True), arena.honest(IMITATION, probe=True)
    fooled = model.signature == imitation.signature and model.metrics == imitation.metrics
    detail = f"its own score: {imitation.metrics}"
    return AttackResult("other behaviour on the probe", "evaluator", None if fooled else INSTANCES, detail)


def evaluator_results(given: Mapping[str, object]) -> Iterator[AttackResult]:
    """Carry out every attack in the evaluator, one by one."""
    attacks = evaluator_attacks()
    arena = EvaluatorRange(given, (*attacks, FORGED_REPLY))
    try:
        for attack in attacks:
            evidence = arena.carry_out(attack)
            by = stopper((*attack.stopped_by, Layer.WALL_CLOCK), evidence)
            yield AttackResult(attack.name, "evaluator", by, evidence.got or evidence.detail)
        forged = arena.run(FORGED_REPLY.name)
        yield AttackResult(
            FORGED_REPLY.name,
            "evaluator",
            TICKET if "not the reply to this job" in forged.message else None,
            forged.message,
        )
        yield _probe(arena)
        for value in VALUES:
            outcome = arena.run(f"value {value}")
            by = PLAIN_VALUES if outcome.status == "failed" and "BadMetrics" in outcome.message else None
            yield AttackResult(f"returned value: {value}", "evaluator", by, outcome.message or str(outcome.metrics))
    finally:
        arena.close()
