"""Attacks in the sandboxed evaluator, as if an Anvil policy had broken out into the process that scores it.

`python -m evaluator_attacks LAYERS_OFF` keeps an evaluator with an endless candidate: it prints the
evaluator's process id, and waits for the candidate.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scoring_toys import MIN, TOY_TASK
from waiting import wait_for_end, wait_until

from vulcan.doctor.attacks.attack import Attack, AttackObservation, stopper
from vulcan.doctor.attacks.system import SYSTEM_ATTACKS
from vulcan.documents.host import AttackResult
from vulcan.evaluator import Instance
from vulcan.scoring.evaluator_process import JailedEvaluator
from vulcan.scoring.job import Job, Limits, Setup
from vulcan.scoring.sandbox.layers import ALL, Layer, Layers
from vulcan.scoring.sandbox.processes import descendants, is_alive

HONEST = Instance("honest", "train", {})
"""The instance that an evaluator warms up on."""

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

_ENDLESS = Attack("endless", "while True: pass", ())
_SECONDS = 600.0
_TIMEOUT_SECONDS = 60.0
_BUSY_TICKS = 30


class EvaluatorRange:
    """A range for attacks in one persistent evaluator, which is restarted if an attack ends it."""

    def __init__(self, given: Mapping[str, object], attacks: Sequence[Attack], layers: Layers = ALL) -> None:
        self._instances = {attack.name: _instance(attack, given, bool(layers.off)) for attack in attacks}
        setup = Setup(TOY_TASK, (HONEST, *self._instances.values()), Limits(memory_bytes=256 << 20))
        self.evaluator = JailedEvaluator(setup, layers)

    def carry_out(self, attack: Attack) -> AttackObservation:
        outcome = self.evaluator.run(Job(1, MIN, (self._instances[attack.name],), attack.seconds))
        match outcome.status:
            case "scored":
                came = json.loads(next(iter(outcome.metrics[0][1])))
                return AttackObservation(came.get("got"), came.get("sign", ""), came.get("detail", ""))
            case "timeout" | "memory":
                return AttackObservation(None, outcome.status, outcome.message)
        words = outcome.message.split()
        return AttackObservation(None, words[-1] if words[-1].startswith("SIG") else "exit", outcome.message)

    def close(self) -> None:
        self.evaluator.close()


def _instance(attack: Attack, given: Mapping[str, object], harmless: bool) -> Instance:
    all_given: dict[str, Any] = {**given, **attack.given, **(attack.harmless if harmless else {})}
    return Instance(attack.name, "train", {"code": attack.code, "given": all_given})


def evaluator_results(given: Mapping[str, object]) -> Iterator[AttackResult]:
    """Carry out every attack in the evaluator, one by one."""
    attacks = [attack for attack in SYSTEM_ATTACKS if attack.name not in _ELSEWHERE]
    arena = EvaluatorRange(given, attacks)
    try:
        for attack in attacks:
            evidence = arena.carry_out(attack)
            by = stopper((*attack.stopped_by, Layer.WALL_CLOCK), evidence)
            yield AttackResult(attack.name, by, evidence.got or evidence.detail)
    finally:
        arena.close()


def outlives_keeper(layers: Layers = ALL) -> bool:
    """Check whether an evaluator survives the kill of its keeper, the parent of its sandbox; survivors are killed."""
    command = [sys.executable, "-m", "evaluator_attacks", json.dumps(layers.to_json())]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as keeper:
        assert keeper.stdout is not None
        holder = int(keeper.stdout.readline())
        processes = [holder, *descendants(holder)]
        idle = _ticks(processes[-1])
        # only the endless job takes as much
        wait_until(lambda: _ticks(processes[-1]) >= idle + _BUSY_TICKS, _TIMEOUT_SECONDS)
        keeper.kill()
    gone = wait_for_end(processes, 2.0 if layers.off else _TIMEOUT_SECONDS)
    for pid in filter(is_alive, processes):
        os.kill(pid, 9)
    return not gone


def _ticks(pid: int) -> int:
    """Return the processor time that a process has used, in clock ticks (proc(5)); 0 if there is none."""
    try:
        user, system = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[11:13]
    except OSError:
        return 0
    return int(user) + int(system)


def _keep(layers: Layers) -> None:
    arena = EvaluatorRange({}, (_ENDLESS,), layers)
    arena.evaluator.start()
    sys.stdout.write(f"{arena.evaluator.pid}\n")
    sys.stdout.flush()
    arena.evaluator.run(Job(1, MIN, (_instance(_ENDLESS, {}, False),), _SECONDS))


if __name__ == "__main__":
    _keep(Layers.from_json(json.loads(sys.argv[1])))
