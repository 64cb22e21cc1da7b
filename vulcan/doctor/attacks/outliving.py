"""Attacks by outliving: a candidate in an endless loop whose keeper, the parent of its sandbox, is killed.

`python -m vulcan.doctor.attacks.outliving FORM LAYERS_OFF` is such a keeper: it prints the process id of the evaluator
or fork server that has the candidate, and waits for the candidate.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

from vulcan.doctor.attacks.attack import Attack, AttackResult, Form
from vulcan.doctor.attacks.in_evaluator import EvaluatorRange
from vulcan.doctor.attacks.in_program import RUNNER
from vulcan.doctor.attacks.system import SYSTEM_ATTACKS
from vulcan.scoring.job import Limits
from vulcan.scoring.program_server_client import ForkServer
from vulcan.scoring.sandbox.layers import ALL, Layer, Layers
from vulcan.scoring.sandbox.processes import descendants, is_alive, state

_SECONDS = 600.0
_TIMEOUT_SECONDS = 20.0
_AT_WORK = 0.1
"""Seconds after which a running candidate is past its start."""
_LOOP = next(attack for attack in SYSTEM_ATTACKS if attack.name == "infinite loop")


def outlives_parent(form: Form, layers: Layers = ALL) -> bool:
    """Check whether any process of a candidate survives the kill of its keeper; survivors are then killed."""
    command = [sys.executable, "-m", "vulcan.doctor.attacks.outliving", form, json.dumps(layers.to_json())]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as keeper:
        assert keeper.stdout is not None
        holder = int(keeper.stdout.readline())
        wanted = 3 if form == "forked" else 0
        _wait(lambda: len(descendants(holder)) >= wanted)
        left = [holder, *descendants(holder)]
        _wait(lambda: state(left[-1]) == "R")
        time.sleep(_AT_WORK)
        keeper.kill()
    gone = _wait(lambda: not any(is_alive(pid) for pid in left), 2.0 if layers.off else _TIMEOUT_SECONDS)
    for pid in left:
        if is_alive(pid):
            os.kill(pid, 9)
    return not gone


def lifetime_results() -> Iterator[AttackResult]:
    """Carry out the attack in each form."""
    forms: tuple[Form, ...] = ("evaluator", "forked")
    for form in forms:
        survived = outlives_parent(form)
        detail = "it lives on" if survived else "it died with its keeper"
        yield AttackResult(
            "outlive a keeper that is killed", form, None if survived else str(Layer.PARENT_DEATH), detail
        )


def _wait(condition: Callable[[], bool], seconds: float = _TIMEOUT_SECONDS) -> bool:
    deadline = time.monotonic() + seconds
    while not (holds := condition()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return holds


def _keep_forked(layers: Layers) -> None:
    with ForkServer(RUNNER, Limits(), layers=layers) as server:
        server.start()
        with server.open(_SECONDS) as child:
            sys.stdout.write(f"{server.pid}\n")
            sys.stdout.flush()
            child.ask(json.dumps({"code": _LOOP.code, "given": {}}).encode())


def _keep_evaluator(layers: Layers) -> None:
    endless = Attack("endless", _LOOP.code, ())
    arena = EvaluatorRange({}, (endless,), layers)
    arena.evaluator.start()
    sys.stdout.write(f"{arena.evaluator.pid}\n")
    sys.stdout.flush()
    arena.run("endless", _SECONDS)


if __name__ == "__main__":
    left_out = Layers.from_json(json.loads(sys.argv[2]))
    {"forked": _keep_forked, "evaluator": _keep_evaluator}[sys.argv[1]](left_out)
