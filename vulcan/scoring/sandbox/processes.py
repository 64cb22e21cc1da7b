"""Every process that a process has started, directly or not.

What ends an evaluator's helper processes when the evaluator is killed and nobody is left to see to them.
"""

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
    """Process ids of the descendants of `pid` that live now, the nearest first; none where /proc is not there."""
    found = [pid]
    for parent in found:
        found += _children(parent)
    return found[1:]


def _children(pid: int) -> list[int]:
    children: list[int] = []
    with suppress(OSError):  # it may have ended, or /proc may not be there
        for task in Path(f"/proc/{pid}/task").iterdir():
            children += [int(child) for child in (task / "children").read_bytes().split()]
    return children


def kill_descendants(pid: int) -> None:
    """SIGKILL to every descendant, until none is left that is alive: they may be forking meanwhile.

    Those whose parent ends are found only while `pid` itself lives and adopts orphans (`linux.adopt_orphans`).
    """
    for _ in range(_ROUNDS):
        living = [child for child in descendants(pid) if is_alive(child)]
        if not living:
            return
        for child in living:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)


def is_alive(pid: int) -> bool:
    """Whether the process is there and not a zombie; False where /proc is not there."""
    return state(pid) not in ("", "Z", "X")


def state(pid: int) -> str:
    """The state of a process as proc(5) has it, such as `R` for one at work; empty where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0].decode()
    except OSError:
        return ""


def guard_helpers() -> None:
    """Have this process's group killed when this process ends, where it leads one and has started helpers in it.

    Its keeper does that while it lives. When the keeper is killed, the parent-death signal ends this process, and
    helpers would be left. Call it before the process locks itself down.
    """
    leader = os.getpid()
    if sys.platform != "linux" or os.getpgrp() != leader or not descendants(leader):
        return
    if os.fork() == 0:
        _watch(leader)


def _watch(leader: int) -> NoReturn:
    """Not by a parent-death signal, which a process that has locked itself down cannot send any more."""
    os.closerange(0, os.sysconf("SC_OPEN_MAX"))
    ended = select.poll()
    ended.register(os.pidfd_open(leader), select.POLLIN)
    if os.getppid() == leader:
        ended.poll()
    os.killpg(leader, signal.SIGKILL)
    os._exit(0)
