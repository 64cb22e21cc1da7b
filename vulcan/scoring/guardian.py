"""What ends an evaluator's helper processes when the evaluator is killed and nobody is left to see to them."""

from __future__ import annotations

import os
import select
import signal
import sys
from typing import NoReturn

from vulcan.scoring.descendants import descendants


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
