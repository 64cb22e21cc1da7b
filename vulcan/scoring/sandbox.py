"""Locks the current process down, for good, with whatever this host has to offer."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vulcan.scoring import linux
from vulcan.scoring.setup import Limits
from vulcan.scoring.system_calls import this_architecture

_NOTHING = (
    "RLIMIT_NOFILE",
    "RLIMIT_FSIZE",
    "RLIMIT_NPROC",
    "RLIMIT_CORE",
    "RLIMIT_MEMLOCK",
    "RLIMIT_MSGQUEUE",
)
"""What a locked-down child gets none of: new descriptors, file bytes, processes, core dumps ..."""


@dataclass(frozen=True, slots=True)
class Defences:
    """Which defences took hold in a child.

    `landlock` is the version of its ABI, 0 where there is none; `limits` names the resource limits in force;
    `notes` says in a line each why a defence is missing.
    """

    parent_death_signal: bool = False
    no_new_privileges: bool = False
    landlock: int = 0
    seccomp: bool = False
    limits: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether nothing is missing that Vulcan knows to use."""
        return not self.notes

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Defences:
        fields = dict(plain)
        return cls(**fields | {"limits": tuple(plain["limits"]), "notes": tuple(plain["notes"])})


@dataclass(slots=True)
class _Notes:
    """Runs a step and keeps why it failed."""

    lines: list[str] = field(default_factory=list)

    def attempt(self, what: str, step: Callable[[], object]) -> bool:
        try:
            step()
        except (OSError, ValueError) as error:
            self.lines.append(f"{what}: {error}")
            return False
        return True


def die_with_parent() -> bool:
    """Ask to be killed when the starting thread ends; False where the system has no such thing."""
    return sys.platform == "linux" and _Notes().attempt("parent-death signal", linux.die_with_parent)


def lock_down(limits: Limits, *, parent_death_signal: bool) -> Defences:
    """Take every right from this process that serving jobs does not need. There is no way back.

    A host without one of the defences (another system, an old kernel, a container that forbids it) is no
    error: the report says so.
    """
    notes = _Notes()
    if not parent_death_signal:
        notes.lines.append("parent-death signal: not on this system")
    address_space = _address_space(limits, notes)
    on_linux = sys.platform == "linux"
    if not on_linux:
        notes.lines.append(f"no_new_privs, Landlock, seccomp: not on {sys.platform}")
    privileges = on_linux and notes.attempt("no_new_privs", linux.forbid_new_privileges)
    abi = _forbid_paths(notes) if privileges else 0
    in_force = _limit_resources(limits, address_space, notes)
    # last, for it forbids all the calls above
    seccomp = privileges and _forbid_system_calls(notes)
    return Defences(parent_death_signal, privileges, abi, seccomp, in_force, tuple(notes.lines))


def _forbid_paths(notes: _Notes) -> int:
    abi = 0

    def step() -> None:
        nonlocal abi
        abi = linux.forbid_paths()

    notes.attempt("Landlock", step)
    return abi


def _forbid_system_calls(notes: _Notes) -> bool:
    architecture = this_architecture()
    if architecture is None:
        notes.lines.append("seccomp: no call table for this architecture")
        return False
    return notes.attempt("seccomp", lambda: linux.forbid_system_calls(architecture))


def _address_space(limits: Limits, notes: _Notes) -> int | None:
    """What the process has, mapped traces and libraries too, and what it may add, in bytes."""
    statistics = Path("/proc/self/statm")
    if not statistics.exists():
        notes.lines.append("RLIMIT_AS: the size of the process is not known on this system")
        return None
    pages = int(statistics.read_text(encoding="ascii").split()[0])
    return pages * resource.getpagesize() + limits.memory_bytes


def _limit_resources(limits: Limits, address_space: int | None, notes: _Notes) -> tuple[str, ...]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    wanted = {"RLIMIT_CPU": int(used.ru_utime + used.ru_stime) + 1 + limits.cpu_seconds}
    if address_space is not None:
        wanted["RLIMIT_AS"] = address_space
    wanted |= dict.fromkeys(_NOTHING, 0)
    return tuple(name for name, value in wanted.items() if _limit(name, value, notes))


def _limit(name: str, value: int, notes: _Notes) -> bool:
    number = getattr(resource, name, None)
    if number is None:
        notes.lines.append(f"{name}: not on this system")
        return False
    return notes.attempt(name, lambda: resource.setrlimit(number, (value, value)))
