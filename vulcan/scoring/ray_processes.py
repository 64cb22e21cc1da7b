"""Processes of Ray: whether its head is alive, and that those of a private one end with this process."""

from __future__ import annotations

import ctypes
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from vulcan.scoring.sandbox.processes import descendants, is_alive

_REACH_SECONDS = 5.0
"""Seconds in which the head of a cluster has to accept a connection."""

_MISSED = 3
"""Connections that a cluster's head may fail to accept, one after the other, before it counts as gone."""


def reach(address: str) -> None:
    """Connect to the address of a cluster and hang up. Raises OSError if nothing accepts the connection."""
    host, separator, port = address.removeprefix("ray://").rpartition(":")
    if separator and port.isdigit():  # otherwise it is `auto`, or for Ray to understand
        socket.create_connection((host.strip("[]"), int(port)), _REACH_SECONDS).close()


def ray_processes() -> dict[str, int]:
    """Return the process ids of the Ray that this process started, by role, with those that they started in turn."""
    from ray._private import worker

    node = worker._global_node
    own = {} if node is None else node.all_processes
    found = {role: info.process.pid for role, processes in own.items() for info in processes}
    return found | {str(pid): pid for parent in found.values() for pid in descendants(parent)}


class Head:
    """The head of Ray: a process of this host if `address` is None, else a server."""

    def __init__(self, address: str | None) -> None:
        self._address = address
        self._pid = ray_processes().get("gcs_server") if address is None else None
        self._missed = 0

    def answers(self) -> bool:
        """Check whether it is alive, or accepted one of the latest connections."""
        if self._address is None:
            return self._pid is None or is_alive(self._pid) or sys.platform != "linux"
        try:
            reach(self._address)
            self._missed = 0
        except OSError:
            self._missed += 1
        return self._missed < _MISSED


_GUARD = """
import os, signal, sys
held = []
for pid in sys.argv[1:]:
    try:
        held.append(os.pidfd_open(int(pid)))
    except OSError:
        pass
sys.stdin.buffer.read()
for process in held:
    try:
        signal.pidfd_send_signal(process, signal.SIGKILL)
    except OSError:
        pass
"""


class ProcessGuard:
    """A process that kills others when this one ends, however that comes about; on Linux only.

    Ray's own processes notice only after some seconds that they are alone.
    """

    def __init__(self, processes: dict[str, int]) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        if sys.platform == "linux" and processes:
            command: Sequence[str] = (sys.executable, "-I", "-S", "-c", _GUARD, *map(str, processes.values()))
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True, env={})

    def close(self) -> None:
        """Kill what is left of the processes, and end."""
        if self._process is not None:
            self._process.communicate()


@contextmanager
def signal_handler_kept(number: signal.Signals) -> Iterator[None]:
    """Restore the system's handler of a signal after the block, in any thread; `signal.signal` needs the main one."""
    if sys.platform != "linux":
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    before = ctypes.create_string_buffer(_SIGACTION_BYTES)
    known = libc.sigaction(ctypes.c_int(number), None, before) == 0
    try:
        yield
    finally:
        if known:
            libc.sigaction(ctypes.c_int(number), before, None)


_SIGACTION_BYTES = 256
"""More than any C library's `struct sigaction` takes."""
