"""Forked processes of a run, each with a socket to the controlling process."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from vulcan.errors import UserError
from vulcan_link.linux.namespace import die_with_parent


def become_real_time(priority: int) -> None:
    """Switch this process to real-time FIFO scheduling, where the system allows it."""
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))


class PipeChannel:
    """Channel of messages and file descriptors between two processes."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def give(self, message: Any, *files: int) -> None:
        data = pickle.dumps(message)
        socket.send_fds(self._end, [len(data).to_bytes(8, "little")], list(files))
        self._end.sendall(data)

    def take(self) -> tuple[Any, list[int]]:
        """Return the next message and the files that came with it. Raises EOFError where the other end is gone."""
        head, files, _, _ = socket.recv_fds(self._end, 8, 4)
        if len(head) < 8:
            raise EOFError
        size = int.from_bytes(head, "little")
        data = bytearray()
        while len(data) < size:
            part = self._end.recv(min(size - len(data), 1 << 20))
            if not part:
                raise EOFError
            data += part
        return pickle.loads(bytes(data)), files

    def close(self) -> None:
        self._end.close()


@dataclass(frozen=True, slots=True)
class _Failed:
    message: str


class TestbedProcess:
    """Forked process that runs `task(channel)`; it ends with its parent at the latest."""

    def __init__(self, role: str, task: Callable[[PipeChannel], None]) -> None:
        self._role = role
        mine, theirs = socket.socketpair()
        self.channel = PipeChannel(mine)
        self._process = multiprocessing.get_context("fork").Process(
            target=_run, args=(task, mine, theirs, os.getpid()), daemon=True
        )
        self._process.start()
        theirs.close()

    def take(self) -> tuple[Any, list[int]]:
        """Wait for the child's next message. Raises UserError with its reason if it failed."""
        try:
            message, files = self.channel.take()
        except EOFError:
            self._process.join()
            raise RuntimeError(
                f"the {self._role} exited without a message (exit code {self._process.exitcode})"
            ) from None
        if isinstance(message, _Failed):
            raise UserError(f"the {self._role} failed: {message.message}")
        return message, files

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self.channel.close()


def _run(task: Callable[[PipeChannel], None], other: socket.socket, mine: socket.socket, parent: int) -> None:
    other.close()
    die_with_parent(parent)
    channel = PipeChannel(mine)
    try:
        task(channel)
    except OSError as error:
        channel.give(_Failed(str(error)))


@contextmanager
def children() -> Iterator[Callable[[str, Callable[[PipeChannel], None]], TestbedProcess]]:
    """Start children; all are terminated on exit."""
    started: list[TestbedProcess] = []

    def start(role: str, task: Callable[[PipeChannel], None]) -> TestbedProcess:
        child = TestbedProcess(role, task)
        started.append(child)
        return child

    try:
        yield start
    finally:
        for child in started:
            child.end()
