"""Waiting for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from vulcan.scoring.sandbox.processes import is_alive

T = TypeVar("T")


def wait_until(condition: Callable[[], T], seconds: float = 30.0) -> T:
    """What it gives at last: whether it holds, say."""
    until = time.monotonic() + seconds
    while not (holds := condition()) and time.monotonic() < until:
        time.sleep(0.01)
    return holds


def wait_for_end(processes: Iterable[int], seconds: float = 30.0) -> bool:
    """Whether all of them have ended; one that nobody has waited for has."""
    pids = list(processes)
    return wait_until(lambda: not any(map(is_alive, pids)), seconds)
