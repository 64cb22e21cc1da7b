"""Irrevocable lockdown of the current process, with the defences that this host offers.

`lock_down` is for the evaluator, which is started by exec, compiles candidates in-process and serves many of them.
`isolate` and `confine` are for free Python: a warm server isolates itself once, and each child that it forks is
confined.
"""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vulcan.scoring.job import Limits
from vulcan.scoring.sandbox import linux
from vulcan.scoring.sandbox.layers import ALL, Layer, Layers
from vulcan.scoring.sandbox.seccomp_allowlist import this_architecture

_NOTHING = {
    "RLIMIT_NOFILE": Layer.OPEN_FILES,
    "RLIMIT_FSIZE": Layer.FILE_SIZE,
    "RLIMIT_NPROC": Layer.PROCESSES,
    "RLIMIT_CORE": Layer.OTHER_LIMITS,
    "RLIMIT_MEMLOCK": Layer.OTHER_LIMITS,
    "RLIMIT_MSGQUEUE": Layer.OTHER_LIMITS,
}
"""Resource limits that are 0 in a locked-down child: new descriptors, file bytes, processes, core dumps etc."""


@dataclass(frozen=True, slots=True)
class Defences:
    """The defences in force in a child.

    `landlock` is its ABI version, 0 without Landlock; `namespaces` and `limits` name the namespaces and the resource
    limits in force; `unprivileged` means neither root nor any capability; `notes` has one line per missing defence,
    with the reason.
    """

    parent_death_signal: bool = False
    no_new_privileges: bool = False
    landlock: int = 0
    seccomp: bool = False
    limits: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unprivileged: bool = False
    namespaces: tuple[str, ...] = ()
    empty_root: bool = False

    @property
    def missing_for_free_programs(self) -> tuple[str, ...]:
        """The missing defences without which free Python must not run: lacking any one, it could break out."""
        needed = {
            str(Layer.NO_NEW_PRIVILEGES): self.no_new_privileges,
            str(Layer.SECCOMP): self.seccomp,
            str(Layer.MEMORY): "RLIMIT_AS" in self.limits,
            str(Layer.PROCESSOR): "RLIMIT_CPU" in self.limits,
            str(Layer.PARENT_DEATH): self.parent_death_signal,
        }
        return tuple(name for name, holds in needed.items() if not holds)

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Defences:
        fields = dict(plain)
        return cls(**fields | {name: tuple(plain[name]) for name in ("limits", "notes", "namespaces")})


@dataclass(slots=True)
class Notes:
    """A log of the steps that failed, and why."""

    lines: list[str] = field(default_factory=list)

    def attempt(self, what: str, step: Callable[[], object]) -> bool:
        try:
            step()
        except (OSError, ValueError) as error:
            self.lines.append(f"{what}: {error}")
            return False
        return True


@dataclass(frozen=True, slots=True)
class Isolation:
    """The result of `isolate`; `nothing` is the path at which an empty file system is mounted."""

    unprivileged: bool = False
    namespaces: tuple[str, ...] = ()
    nothing: str | None = None


def die_with_parent() -> bool:
    """Request a kill when the starting thread ends; False if the system does not support it."""
    return sys.platform == "linux" and Notes().attempt("parent-death signal", linux.die_with_parent)


def lock_down(limits: Limits, *, parent_death_signal: bool, layers: Layers = ALL) -> Defences:
    """Irrevocably drop every right that serving jobs does not need, and report the defences in force.

    A defence that the host lacks (another system, an old kernel, a container that forbids it) is no error; the report
    says so.
    """
    notes = Notes()
    if not parent_death_signal and Layer.PARENT_DEATH in layers:
        notes.lines.append("parent-death signal: not on this system")
    address_space = address_space_allowed(limits, notes) if Layer.MEMORY in layers else None
    parent = os.getppid()
    isolation = isolate(layers, notes, processes=False)
    if parent_death_signal:
        # changing the user resets it, and the parent may have died meanwhile
        die_with_parent()
        if os.getppid() != parent:
            sys.exit(1)
    return confine(
        limits,
        isolation,
        notes,
        address_space=address_space,
        parent_death_signal=parent_death_signal,
        layers=layers,
        compiling=True,
    )


def isolate(layers: Layers, notes: Notes, *, processes: bool) -> Isolation:
    """Drop root and the network and, with `processes`, the host's other processes, where the host allows it.

    With `processes`, the next child of this process is the one in the new process namespace.
    """
    if sys.platform != "linux":
        return Isolation(os.geteuid() != 0)
    if Layer.UNPRIVILEGED in layers:
        notes.attempt(Layer.UNPRIVILEGED, linux.become_nobody)
        # after a change of user the kernel makes root the owner of the files in /proc/self
        notes.attempt(Layer.UNPRIVILEGED, lambda: linux.allow_own_proc_files(True))
    wanted = {
        Layer.NETWORK: linux.NEW_NETWORK | linux.NEW_MESSAGES | linux.NEW_NAMES,
        Layer.EMPTY_ROOT: linux.NEW_MOUNTS,
    }
    if processes:
        wanted[Layer.PROCESS_NAMESPACE] = linux.NEW_PROCESSES
    wanted = {layer: kinds for layer, kinds in wanted.items() if layer in layers}
    unprivileged = os.geteuid() != 0
    if not wanted:
        return Isolation(unprivileged)
    kinds = sum(wanted.values())
    enter = linux.enter_new_users if unprivileged else linux.unshare
    if not notes.attempt("namespaces", lambda: enter(kinds)):
        return Isolation(unprivileged)
    names = (*(["user"] if unprivileged else []), *_NAMES_OF[Layer.NETWORK] * (Layer.NETWORK in wanted))
    names += _NAMES_OF[Layer.PROCESS_NAMESPACE] * (Layer.PROCESS_NAMESPACE in wanted)
    nothing: list[str] = []
    if Layer.EMPTY_ROOT in wanted:
        names += ("mount",)
        notes.attempt(Layer.EMPTY_ROOT, lambda: nothing.append(linux.mount_empty_directory()))
    return Isolation(unprivileged, names, nothing[0] if nothing else None)


_NAMES_OF = {Layer.NETWORK: ("network", "ipc", "uts"), Layer.PROCESS_NAMESPACE: ("pid",)}


def confine(
    limits: Limits,
    isolation: Isolation,
    notes: Notes,
    *,
    address_space: int | None,
    parent_death_signal: bool,
    layers: Layers,
    compiling: bool,
) -> Defences:
    """Apply the defences of this process alone. With `compiling`, it may still make memory executable."""
    on_linux = sys.platform == "linux"
    empty_root = isolation.nothing is not None and notes.attempt(
        Layer.EMPTY_ROOT, lambda: linux.change_root(isolation.nothing or "/")
    )
    if not on_linux:
        notes.lines.append(f"no_new_privs, namespaces, Landlock, seccomp: not on {sys.platform}")
    unprivileged = isolation.unprivileged
    if on_linux and unprivileged and Layer.UNPRIVILEGED in layers:
        unprivileged = notes.attempt(Layer.UNPRIVILEGED, linux.drop_capabilities)
    privileges = (
        on_linux and Layer.NO_NEW_PRIVILEGES in layers and notes.attempt("no_new_privs", linux.forbid_new_privileges)
    )
    abi = _forbid_paths(notes) if privileges and Layer.LANDLOCK in layers else 0
    in_force = _limit_resources(limits, address_space, layers, notes)
    # last, because it forbids all the calls above
    seccomp = privileges and Layer.SECCOMP in layers and _forbid_system_calls(notes, compiling)
    return Defences(
        parent_death_signal,
        privileges,
        abi,
        seccomp,
        in_force,
        tuple(notes.lines),
        unprivileged,
        isolation.namespaces,
        empty_root,
    )


def _forbid_paths(notes: Notes) -> int:
    abi = 0

    def step() -> None:
        nonlocal abi
        abi = linux.forbid_paths()

    notes.attempt("Landlock", step)
    return abi


def _forbid_system_calls(notes: Notes, compiling: bool) -> bool:
    architecture = this_architecture()
    if architecture is None:
        notes.lines.append("seccomp: no call table for this architecture")
        return False
    return notes.attempt("seccomp", lambda: linux.forbid_system_calls(architecture, compiling=compiling))


def address_space_allowed(limits: Limits, notes: Notes) -> int | None:
    """Return the address-space limit in bytes: current size, mapped traces and libraries included, plus allowance."""
    statistics = Path("/proc/self/statm")
    if not statistics.exists():
        notes.lines.append("RLIMIT_AS: the size of the process is not known on this system")
        return None
    pages = int(statistics.read_bytes().split()[0])
    return pages * resource.getpagesize() + limits.memory_bytes


def _limit_resources(limits: Limits, address_space: int | None, layers: Layers, notes: Notes) -> tuple[str, ...]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    wanted = {}
    if Layer.PROCESSOR in layers:
        wanted["RLIMIT_CPU"] = int(used.ru_utime + used.ru_stime) + 1 + limits.cpu_seconds
    if address_space is not None:
        wanted["RLIMIT_AS"] = address_space
    wanted |= {name: 0 for name, layer in _NOTHING.items() if layer in layers}
    return tuple(name for name, value in wanted.items() if _limit(name, value, notes))


def _limit(name: str, value: int, notes: Notes) -> bool:
    number = getattr(resource, name, None)
    if number is None:
        notes.lines.append(f"{name}: not on this system")
        return False
    return notes.attempt(name, lambda: resource.setrlimit(number, (value, value)))
