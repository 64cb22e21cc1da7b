"""Descendants of a process: finding and killing them, and a watchdog for an evaluator's helper processes."""

from __future__ import annotations

import os
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

_ROUNDS = 100


def descendants(pid: int) -> list[int]:
    """List the process ids of the current descendants of `pid`, nearest first; empty without /proc."""
    found = [pid]
    for parent in found:
        found += _children(parent)
    return found[1:]


def _children(pid: int) -> list[int]:
    children: list[int] = []
    with suppress(OSError):  # it may have ended, or there may be no /proc
        for task in Path(f"/proc/{pid}/task").iterdir():
            children += [int(child) for child in (task / "children").read_bytes().split()]
    return children


def kill_descendants(pid: int) -> None:
    """Send SIGKILL to every descendant, repeatedly until none is alive, as they may fork meanwhile.

    Orphans are found only while `pid` itself lives and adopts them (`linux.adopt_orphans`).
    """
    for _ in range(_ROUNDS):
        living = [child for child in descendants(pid) if is_alive(child)]
        if not living:
            return
        for child in living:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)


def is_alive(pid: int) -> bool:
    """Check whether the process exists and is not a zombie; False without /proc."""
    return state(pid) not in ("", "Z", "X")


def state(pid: int) -> str:
    """Return the state of a process by proc(5), for example `R` for running; empty if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0].decode()
    except OSError:
        return ""


def guard_helpers() -> None:
    """Have this process's group killed when this process ends, if it leads one and has started helpers.

    The parent does that while it lives. If the parent is killed, the parent-death signal ends this process, but not its
    helpers. Call it before the process locks itself down.
    """
    leader = os.getpid()
    if sys.platform != "linux" or os.getpgrp() != leader or not descendants(leader):
        return
    if os.fork() == 0:
        _watch(leader)


def _watch(leader: int) -> NoReturn:
    """Kill the group when its leader ends. A parent-death signal does not do: a locked-down process cannot send it."""
    os.closerange(0, os.sysconf("SC_OPEN_MAX"))
    ended = select.poll()
    ended.register(os.pidfd_open(leader), select.POLLIN)
    if os.getppid() == leader:
        ended.poll()
    os.killpg(leader, signal.SIGKILL)
    os._exit(0)
