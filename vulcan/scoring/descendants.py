"""Every process that a process has started, directly or not."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

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
