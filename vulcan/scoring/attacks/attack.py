"""What an attack is, and what came of one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from vulcan.scoring.layers import Layer

Form = Literal["forked", "evaluator", "source", "scoring", "ray"]
"""Where it is tried: in a forked child, in the jailed evaluator, on the checkers, on the scoring itself, or on the
local Ray that a search starts."""

OWN_PROCESS = "a process of its own"
REPLAY = "scored outside, from decisions alone"
ONE_BLOCK = "told no more than is decided on"
PLAIN_VALUES = "plain numbers only"
TICKET = "ticket of the job"
CHECKER = "language"
INSTANCES = "scored on the instances alone"
"""Layers that are not the operating system's: how Vulcan is built."""


@dataclass(frozen=True)
class Attack:
    """Python to be run as a candidate would be that had broken out of its language.

    The code reaches its end by `got(text)`, and finds what it needs in the mapping `given`. `stopped_by` has the layers
    each of which is enough by itself, the one that is met first in front; `only_root` are those of them that hold only
    where the user to be kept out of is root, and `landlock` is the version of Landlock that it takes.
    """

    name: str
    code: str
    stopped_by: tuple[Layer | str, ...]
    landlock: int = 1
    only_root: frozenset[Layer] = frozenset()
    given: dict[str, object] = field(default_factory=dict)
    harmless: dict[str, object] = field(default_factory=dict)
    """What `given` has instead where the layers that stop it are left out."""
    seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was seen of an attack: what it got, if anything, and otherwise what ended it.

    `sign` is the name of an error number or of an exception, or `timeout`, `memory`, or the name of a signal.
    """

    got: str | None
    sign: str
    detail: str


@dataclass(frozen=True, slots=True)
class Result:
    """One line of the table. `stopped_by` is None where the attack got through, or nobody can say what stopped it."""

    attack: str
    form: Form
    stopped_by: str | None
    detail: str

    @property
    def stopped(self) -> bool:
        return self.stopped_by is not None


_SIGNS: dict[Layer | str, tuple[str, ...]] = {
    Layer.SECCOMP: ("EPERM", "SIGSYS"),
    Layer.LANDLOCK: ("EACCES", "EPERM", "SIGKILL", "nothing"),
    Layer.EMPTY_ROOT: ("ENOENT", "EPERM"),
    Layer.UNPRIVILEGED: ("EACCES", "EPERM"),
    Layer.NETWORK: ("ENETUNREACH", "ECONNREFUSED", "ENOENT", "EADDRNOTAVAIL"),
    Layer.PROCESS_NAMESPACE: ("ESRCH", "nothing", "SIGKILL"),
    Layer.SESSION: ("SIGKILL", "nothing"),
    Layer.OPEN_FILES: ("EMFILE", "EBADF", "exit"),
    Layer.FILE_SIZE: ("EFBIG", "SIGXFSZ"),
    Layer.PROCESSES: ("EAGAIN",),
    Layer.OTHER_LIMITS: ("ENOMEM",),
    Layer.MEMORY: ("memory", "MemoryError", "ENOMEM"),
    Layer.PROCESSOR: ("processor",),
    Layer.WALL_CLOCK: ("timeout",),
    Layer.MESSAGES: ("message",),
    Layer.ENVIRONMENT: ("nothing",),
    Layer.DESCRIPTORS: ("EBADF",),
    OWN_PROCESS: ("exit", "SIGSEGV", "SIGABRT", "SIGBUS", "memory", "MemoryError", "RecursionError"),
}


def stopper(layers: tuple[Layer | str, ...], evidence: Evidence) -> str | None:
    """The first of the layers that can have done what was seen; None where the attack got through, or none can."""
    if evidence.got is not None:
        return None
    return next((str(layer) for layer in layers if evidence.sign in _SIGNS.get(layer, ())), None)
