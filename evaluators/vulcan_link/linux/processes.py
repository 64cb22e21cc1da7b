"""Forked processes of a run, each with a pipe to the controlling process."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, TypeAlias

from vulcan.errors import UserError
from vulcan_link.linux.namespace import die_with_parent

Channel: TypeAlias = "Connection[Any, Any]"


def become_real_time(priority: int) -> None:
    """Switch this process to real-time FIFO scheduling, where the system allows it."""
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))


@dataclass(frozen=True, slots=True)
class _Failed:
    message: str


class TestbedProcess:
    """Forked process that runs `task(channel)`; it ends with its parent at the latest."""

    def __init__(self, role: str, task: Callable[[Channel], None]) -> None:
        self._role = role
        context = multiprocessing.get_context("fork")
        self.channel, theirs = context.Pipe()
        self._process = context.Process(target=_run, args=(task, self.channel, theirs, os.getpid()), daemon=True)
        self._process.start()
        theirs.close()

    def take(self) -> Any:
        """Wait for the child's next message. Raises UserError with its reason if it failed."""
        try:
            message = self.channel.recv()
        except EOFError:
            self._process.join()
            raise RuntimeError(
                f"the {self._role} exited without a message (exit code {self._process.exitcode})"
            ) from None
        if isinstance(message, _Failed):
            raise UserError(f"the {self._role} failed: {message.message}")
        return message

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self.channel.close()


def _run(task: Callable[[Channel], None], other: Channel, mine: Channel, parent: int) -> None:
    other.close()
    die_with_parent(parent)
    try:
        task(mine)
    except OSError as error:
        mine.send(_Failed(str(error)))


@contextmanager
def children() -> Iterator[Callable[[str, Callable[[Channel], None]], TestbedProcess]]:
    """Start children; all are terminated on exit."""
    with ExitStack() as ending:

        def start(role: str, task: Callable[[Channel], None]) -> TestbedProcess:
            child = TestbedProcess(role, task)
            ending.callback(child.end)
            return child

        yield start
