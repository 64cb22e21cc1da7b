"""Every attack is stopped; each layer said to stop it does so alone; and without them all it gets through."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from effort import slow

from vulcan.doctor.attacks.attack import OWN_PROCESS, Attack, AttackObservation, ForkedRange, stopper
from vulcan.doctor.attacks.system import SYSTEM_ATTACKS
from vulcan.scoring.sandbox.layers import ALL, Layer, Layers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="most of these layers are Linux's")

Under = Callable[[Layers], ForkedRange]
LANDLOCK = {"TCP connection": 4, "Unix socket": 6, "kill the parent": 6, "kill everybody": 6, "kill its own group": 6}
"""The version of Landlock that stops an attack, where it is not the first."""


_IN_PROCESS = """
import json, sys
from vulcan.doctor.attacks.breakout import carry_out
order = json.loads(sys.stdin.read())
carry_out(order["code"], order["given"])
print("alive")
"""


def carry_out_in_process(attack: Attack, given: Mapping[str, object]) -> AttackObservation:
    """The attack in the process of whoever asks, as if a candidate had none of its own: a stand-in for Vulcan's."""
    assert OWN_PROCESS in attack.stopped_by
    order = json.dumps({"code": attack.code, "given": {**given, **attack.given, **attack.harmless}})
    done = subprocess.run(
        [sys.executable, "-c", _IN_PROCESS],
        input=order.encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    if b"alive" in done.stdout:
        return AttackObservation(None, "exit", "its host is alive")
    return AttackObservation(f"its host is dead ({done.returncode})", "", "")


def named(attacks: tuple[Any, ...]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("attack", attacks, ids=lambda attack: attack.name)


def patient(attack: Attack) -> Attack:
    """The attack with a time limit that it does not meet on a busy machine, unless it is about the limit."""
    return attack if attack.stopped_by[0] is Layer.WALL_CLOCK else replace(attack, seconds=60.0)


@named(SYSTEM_ATTACKS)
def test_it_is_stopped_by_the_layer_it_meets_first(attack: Attack, under: Under) -> None:
    evidence = under(ALL).carry_out(patient(attack))
    assert evidence.got is None
    assert stopper(attack.stopped_by, evidence) == attack.stopped_by[0], evidence


@named(tuple(attack for attack in SYSTEM_ATTACKS if OWN_PROCESS not in attack.stopped_by))
def test_without_what_stops_it_it_gets_through(attack: Attack, under: Under) -> None:
    evidence = under(Layers.without(*attack.stopped_by)).carry_out(patient(attack))
    assert evidence.got is not None, evidence


@named(tuple(attack for attack in SYSTEM_ATTACKS if OWN_PROCESS in attack.stopped_by))
def test_without_a_process_of_its_own_it_takes_its_host_along(attack: Attack, given: Mapping[str, object]) -> None:
    assert carry_out_in_process(attack, given).got is not None


def enough_for_every_layer() -> tuple[Any, ...]:
    """Attacks that several layers stop; at each commit those only that meet a layer which none before them does."""
    met: set[Layer] = set()
    cases = []
    for attack in sorted(SYSTEM_ATTACKS, key=lambda attack: -len(attack.stopped_by)):
        if len(attack.stopped_by) > 1:
            cases.append(slow(attack) if met.issuperset(attack.stopped_by) else attack)
            met.update(attack.stopped_by)
    return tuple(cases)


@named(enough_for_every_layer())
def test_each_of_its_layers_is_enough_by_itself(attack: Attack, under: Under) -> None:
    defences = under(ALL).start()
    for layer in attack.stopped_by:
        if layer is Layer.LANDLOCK and defences.landlock < LANDLOCK.get(attack.name, 1):
            continue
        if layer is Layer.UNPRIVILEGED and os.geteuid() != 0 and attack.name != "another root directory":
            continue  # what is to be protected is root's
        others = frozenset(attack.stopped_by) - {layer}
        evidence = under(Layers(others)).carry_out(attack)
        assert stopper((layer,), evidence) == layer, (layer, evidence)


def test_every_switchable_layer_stops_something() -> None:
    stopping = {layer for attack in SYSTEM_ATTACKS for layer in attack.stopped_by}
    # the others: what seccomp and Landlock need, shown below; and what lifetimes show
    assert set(Layer) - stopping == {Layer.NO_NEW_PRIVILEGES, Layer.PARENT_DEATH}


def test_without_no_new_privileges_neither_seccomp_nor_landlock_is_in_force(under: Under) -> None:
    defences = under(Layers.without(Layer.NO_NEW_PRIVILEGES)).start()
    assert (defences.no_new_privileges, defences.seccomp, defences.landlock) == (False, False, 0)
    assert not under(ALL).start().notes
