"""Which layers hold on this host: a child tries what a layer forbids, and no other layer helps."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from vulcan.doctor.attacks.attack import Attack, stopper, targets
from vulcan.doctor.attacks.in_program import ForkedRange
from vulcan.doctor.attacks.outliving import outlives_its_keeper
from vulcan.doctor.attacks.suite import key_in_environment
from vulcan.doctor.attacks.system import SYSTEM_ATTACKS
from vulcan.errors import UserError
from vulcan.scoring.sandbox.layers import Layer, Layers

_TRIED_BY = {
    Layer.ENVIRONMENT: "API key in the environment",
    Layer.DESCRIPTORS: "descriptors left open",
    Layer.SESSION: "kill its own group",
    Layer.WALL_CLOCK: "infinite loop",
    Layer.MESSAGES: "giant output",
    Layer.MEMORY: "100 GB of memory in one piece",
    Layer.PROCESSOR: "infinite loop",
    Layer.OPEN_FILES: "read /etc/passwd",
    Layer.FILE_SIZE: "write a file",
    Layer.PROCESSES: "fork bomb",
    Layer.OTHER_LIMITS: "raw system call: io_uring",
    Layer.UNPRIVILEGED: "read the run store",
    Layer.SECCOMP: "raw system call: openat",
    Layer.LANDLOCK: "read /etc/passwd",
    Layer.EMPTY_ROOT: "read /etc/passwd",
    Layer.NETWORK: "TCP connection",
    Layer.PROCESS_NAMESPACE: "kill the parent",
}
"""The attack that each layer is tried by, with the other layers that would stop it left out."""

FOR_POLICIES = frozenset({Layer.ENVIRONMENT, Layer.DESCRIPTORS, Layer.SESSION, Layer.WALL_CLOCK, Layer.MESSAGES})
"""What must hold for policies in Anvil, which can name nothing outside: their language does the rest."""
FOR_PROGRAMS = FOR_POLICIES | {
    Layer.SECCOMP,
    Layer.NO_NEW_PRIVILEGES,
    Layer.MEMORY,
    Layer.PROCESSOR,
    Layer.PARENT_DEATH,
}
"""What must hold for policies in free Python."""


@dataclass(frozen=True, slots=True)
class DefenceCheck:
    """Whether a layer held, how it was tried, and what was seen."""

    layer: Layer
    holds: bool
    tried: str
    seen: str

    @property
    def needed_for(self) -> str:
        """`policies`, `free programs`, or an empty text for what is a second wall behind others."""
        return "policies" if self.layer in FOR_POLICIES else "free programs" if self.layer in FOR_PROGRAMS else ""


def check_defences() -> Iterator[DefenceCheck]:
    """Each layer in turn, in a child of its own."""
    attacks = {attack.name: attack for attack in SYSTEM_ATTACKS}
    with key_in_environment(), targets() as given:
        with ForkedRange(given) as arena:
            defences = arena.start()
        for layer, name in _TRIED_BY.items():
            yield _trial(layer, attacks[name], given)
    privileges = defences.no_new_privileges
    yield DefenceCheck(Layer.NO_NEW_PRIVILEGES, privileges, "PR_SET_NO_NEW_PRIVS", "set" if privileges else "refused")
    survived = outlives_its_keeper("evaluator")
    seen = "it lives on" if survived else "it died with it"
    yield DefenceCheck(Layer.PARENT_DEATH, not survived, "outlive a keeper that is killed", seen)


def _trial(layer: Layer, attack: Attack, given: Mapping[str, object]) -> DefenceCheck:
    if layer is Layer.UNPRIVILEGED and os.geteuid() != 0:
        return DefenceCheck(layer, True, "who runs Vulcan", f"user {os.geteuid()}, not root")
    others = (other for other in attack.stopped_by if other != layer and isinstance(other, Layer))
    try:
        with ForkedRange(given, Layers.without(*others)) as arena:
            evidence = arena.carry_out(attack)
    except UserError as error:
        return DefenceCheck(layer, False, attack.name, str(error))
    return DefenceCheck(layer, stopper((layer,), evidence) is not None, attack.name, evidence.got or evidence.detail)
