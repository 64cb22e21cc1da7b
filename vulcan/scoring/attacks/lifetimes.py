"""Attacks by outliving: a candidate in an endless loop, whose keeper is killed where it stands.

`python -m vulcan.scoring.attacks.lifetimes FORM` is such a keeper: it prints the process id of what holds the
candidate, and keeps it at work.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

from vulcan.scoring.attacks.attack import Attack, Form, Result
from vulcan.scoring.attacks.evaluator_range import EvaluatorRange
from vulcan.scoring.attacks.forked_range import RUNNER
from vulcan.scoring.attacks.system import SYSTEM_ATTACKS
from vulcan.scoring.descendants import descendants, is_alive, state
from vulcan.scoring.forked import ForkServer
from vulcan.scoring.layers import ALL, Layer, Layers
from vulcan.scoring.setup import Limits

_SECONDS = 600.0
_PATIENCE = 20.0
_AT_WORK = 0.1
"""Seconds of work after which a candidate is past its start."""
_LOOP = next(attack for attack in SYSTEM_ATTACKS if attack.name == "infinite loop")


def outlives_its_keeper(form: Form, layers: Layers = ALL) -> bool:
    """Whether anything of a candidate is left once its keeper has been killed. Nothing is, when this returns."""
    command = [sys.executable, "-m", "vulcan.scoring.attacks.lifetimes", form, json.dumps(layers.to_json())]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as keeper:
        assert keeper.stdout is not None
        holder = int(keeper.stdout.readline())
        wanted = 2 if form == "forked" else 0
        _wait(lambda: len(descendants(holder)) >= wanted)
        left = [holder, *descendants(holder)]
        _wait(lambda: state(left[-1]) == "R")
        time.sleep(_AT_WORK)
        keeper.kill()
    gone = _wait(lambda: not any(is_alive(pid) for pid in left), 2.0 if layers.off else _PATIENCE)
    for pid in left:
        if is_alive(pid):
            os.kill(pid, 9)
    return not gone


def lifetime_results() -> Iterator[Result]:
    """The attack in each form."""
    forms: tuple[Form, ...] = ("evaluator", "forked")
    for form in forms:
        survived = outlives_its_keeper(form)
        detail = "it lives on" if survived else "it died with its keeper"
        yield Result("outlive a keeper that is killed", form, None if survived else str(Layer.PARENT_DEATH), detail)


def _wait(condition: Callable[[], bool], seconds: float = _PATIENCE) -> bool:
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
